#!/usr/bin/env python3
"""Copies every database of one server to another, through any versions of the two: collections with
their options, documents byte by byte, indexes. Then reads the copy and compares.

Usage: copy_databases.py [--database NAME]... FROM TO

FROM and TO are mongodb:// addresses. Nothing on FROM is changed; no client should write to it until
this is done. A collection that has documents on TO already is refused. What TO will not have (an
index of a kind that it does not know, a document that it finds too deep) is named, and the exit
code is 1 then. `local`, `config`, users, roles and profiles are left out. Needs pymongo 3.11 or
newer.
"""

import argparse
import hashlib
import sys

import pymongo
from bson.raw_bson import RawBSONDocument
from pymongo import errors

LEFT_OUT = ('local', 'config')
BATCH_DOCUMENTS = 1000
BATCH_BYTES = 8 << 20
# The options that every server of today takes; the others are about files of the old one.
COLLECTION_OPTIONS = ('capped', 'size', 'max')
NOT_OF_INDEXES = ('v', 'ns', 'key', 'background', 'dropDups')


class Content:
    """A checksum of documents that does not depend on their order, and how many there were."""

    def __init__(self):
        self.count, self.sum = 0, 0

    def add(self, raw):
        self.count += 1
        self.sum += int.from_bytes(hashlib.sha256(raw).digest(), 'big')

    def __eq__(self, other):
        return (self.count, self.sum) == (other.count, other.sum)


class Copy:
    def __init__(self, source, target):
        self.source, self.target = source, target
        self.complaints = []

    def complain(self, where, error):
        text = '%s: %s' % (where, error)
        self.complaints.append(text)
        print('  NOT COPIED  ' + text)

    def database(self, name):
        for info in sorted(self.source[name].list_collections(), key=lambda info: info['name']):
            collection = info['name']
            if not collection.startswith('system.'):
                self.collection(name, collection, info.get('options', {}))

    def collection(self, database, name, options):
        where = database + '.' + name
        target = self.target[database][name]
        if target.find_one() is not None:
            self.complain(where, 'it has documents on the target already')
            return
        try:
            self.target[database].create_collection(
                name, **{key: options[key] for key in COLLECTION_OPTIONS if key in options})
        except errors.CollectionInvalid:
            pass  # empty
        except errors.OperationFailure as error:
            self.complain(where, error)
            return
        sent = self.documents(database, name, where)
        built = self.indexes(database, name, where)
        arrived = Content()
        for document in self.raw(self.target, database, name).find():
            arrived.add(document.raw)
        if arrived == sent:
            print('%s: %d documents, %d indexes, the same on both' % (where, sent.count, built))
        else:
            self.complain(where, '%d documents were sent, the target has %d, not all the same'
                          % (sent.count, arrived.count))

    @staticmethod
    def raw(client, database, name):
        options = client.codec_options.with_options(document_class=RawBSONDocument)
        return client[database].get_collection(name, codec_options=options)

    def documents(self, database, name, where):
        """Sends all, in their natural order; returns what was sent."""
        sent = Content()
        target = self.raw(self.target, database, name)
        batch, size = [], 0

        def send():
            try:
                if batch:
                    target.insert_many(batch, ordered=False)
            except errors.BulkWriteError as error:
                for one in error.details['writeErrors']:
                    self.complain(where, 'a document: ' + one['errmsg'])

        for document in self.raw(self.source, database, name).find().sort('$natural', 1):
            sent.add(document.raw)
            batch.append(document)
            size += len(document.raw)
            if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
                send()
                batch, size = [], 0
        send()
        return sent

    def indexes(self, database, name, where):
        """Builds those of the source; returns how many there are then, with that of _id."""
        target = self.target[database][name]
        for index in self.source[database][name].list_indexes():
            if list(index['key'].items()) == [('_id', 1)]:
                continue
            options = {key: value for key, value in index.items() if key not in NOT_OF_INDEXES}
            try:
                target.create_index(list(index['key'].items()), **options)
            except (errors.PyMongoError, TypeError, ValueError) as error:
                self.complain('%s, index %s' % (where, index['name']), error)
        return len(list(target.list_indexes()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--database', action='append', metavar='NAME')
    parser.add_argument('source', metavar='FROM')
    parser.add_argument('target', metavar='TO')
    arguments = parser.parse_args()
    try:
        with pymongo.MongoClient(arguments.source, serverSelectionTimeoutMS=5000) as source, \
                pymongo.MongoClient(arguments.target, serverSelectionTimeoutMS=5000) as target:
            copy = Copy(source, target)
            for name in arguments.database or sorted(source.list_database_names()):
                if name not in LEFT_OUT:
                    copy.database(name)
    except (errors.PyMongoError, ValueError) as error:
        sys.exit('copy_databases.py: %s' % error)
    if copy.complaints:
        sys.exit('copy_databases.py: %d things were not copied, or not as they are'
                 % len(copy.complaints))


if __name__ == '__main__':
    main()
