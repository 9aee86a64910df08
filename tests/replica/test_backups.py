"""A backup while others write: all documents, and the log of the time that it took. What mongodump
--oplog reads and mongorestore --oplogReplay sends, command by command: these programs are in no
registry."""

import contextlib
import os

import pymongo
from pymongo import errors

import server
from set_member import OPTIONS, wait_until
from sets import Case, Writer

DATABASE = 'load'
BATCH = 50
PAUSE_AT = 1000  # documents of a collection


class Dump:
    """The documents and indexes of a database, and what was written from before the first one was
    read until end() is called. `pause` is called in the middle of a large collection."""

    def __init__(self, client, pause):
        self.client, self.log = client, client.local['oplog.rs']
        self.begin = self.newest()
        self.documents, self.indexes = {}, {}
        for name in self.client[DATABASE].list_collection_names():
            self.documents[name] = []
            for document in self.client[DATABASE][name].find().batch_size(BATCH):
                self.documents[name].append(document)
                if len(self.documents[name]) == PAUSE_AT:
                    pause()
            self.indexes[name] = list(self.client[DATABASE][name].list_indexes())
        self.entries = []

    def newest(self):
        return next(self.log.find().sort('$natural', -1).limit(-1))['ts']

    def end(self):
        times = {'$gte': self.begin, '$lte': self.newest()}
        self.entries = list(self.log.find({'ts': times}, oplog_replay=True))


def restore(dump, client):
    for name, documents in dump.documents.items():
        collection = client[DATABASE][name]
        for start in range(0, len(documents), 1000):
            with contextlib.suppress(errors.BulkWriteError):
                collection.insert_many(documents[start:start + 1000], ordered=False)
        specs = [dict(spec, ns=collection.full_name) for spec in dump.indexes[name]
                 if spec['name'] != '_id_']
        if specs:
            client[DATABASE].command('createIndexes', name, indexes=specs)
    for entry in dump.entries:
        if entry['op'] != 'n':
            client.admin.command('applyOps', [entry])


class Backups(Case):
    def test_a_dump_with_the_log_of_its_time_is_the_state_at_its_end(self):
        primary, _ = self.begin(1)
        primary.client[DATABASE].numbered.insert_many(
            {'_id': number, 'pad': 'x' * 300} for number in range(3000))
        writer = Writer(primary, primary.port)
        writer.next = 3000
        writer.kinds = 99
        writer.start()

        def count():
            return primary.client.local['oplog.rs'].estimated_document_count()

        def wait_for_writes():
            before = count()
            wait_until('it is written to', lambda: count() > before + 60)
        wait_for_writes()
        dump = Dump(primary.client, wait_for_writes)
        wait_for_writes()
        writer.end()
        dump.end()
        self.assertGreater(len(dump.entries), 100)
        options = server.for_engine(OPTIONS[:OPTIONS.index('--oplogSize')])
        with server.Server(Case.program, os.path.join(self.folder, 'restored'), options) as other, \
                pymongo.MongoClient(other.uri) as client:
            restore(dump, client)
            self.assertEqual(client[DATABASE].command('dbHash')['collections'],
                             primary.hashes(DATABASE))
            for name in primary.client[DATABASE].list_collection_names():
                self.assertEqual({spec['name'] for spec in client[DATABASE][name].list_indexes()},
                                 set(self.indexes(primary, DATABASE, name)))
