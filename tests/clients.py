"""Drives a server with real drivers: pymongo of today and of old, and libmongoc.

Checks what a shell in JavaScript cannot see: the types of reply fields, the legacy opcodes that an
old driver sends, and that a driver in C counts what it inserted.
Usage: build/venv/bin/python tests/clients.py [--selection none]
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import unittest

import bson
import pymongo
from bson import int64
from pymongo import errors, write_concern

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests')]

import server  # noqa: E402
import staging  # noqa: E402

OLD_DRIVER = os.path.join(TOP, 'build', 'venv-old-driver', 'bin', 'python')

# What the driver makes of a BSON type; an int64 becomes an Int64, never an int.
INT, DOUBLE, BOOL, DATE = int, float, bool, datetime.datetime

# Run by the old pymongo: what it prints is compared below.
OLD_PROGRAM = '''
import json, sys
import pymongo
client = pymongo.MongoClient(sys.argv[1])
c = client.old_driver.c
c.drop()
c.insert_many([{'_id': n, 'n': n % 3} for n in range(250)])
c.create_index([('n', 1)])
unacknowledged = c.with_options(write_concern=pymongo.WriteConcern(w=0))
unacknowledged.insert_one({'_id': 'w0'})
print(json.dumps({
    'version': pymongo.version,
    'count': c.count_documents({}),
    'page': [d['_id'] for d in c.find({'n': 1}).sort('_id', -1).batch_size(10)][:3],
    'distinct': sorted(c.distinct('n')),
    'modified': c.update_many({'n': 2}, {'$inc': {'n': 1}}).modified_count,
    'deleted': c.delete_many({'n': 3}).deleted_count,
    'last_error': client.old_driver.command('getlasterror', j=True)['err'],
    'names': sorted(name for name in client.old_driver.list_collection_names()
                    if not name.startswith('system.')),
    'indexes': sorted(c.index_information()),
}))
'''


class Clients(unittest.TestCase):
    programs = None  # folder with mongod and load_client

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build', 'scratch'))
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = server.Server(os.path.join(cls.programs, 'mongod'),
                                   os.path.join(cls.folder.name, 'db'), ['--smallfiles'])
        cls.addClassCleanup(cls.server.stop)
        cls.client = pymongo.MongoClient(cls.server.uri)
        cls.addClassCleanup(cls.client.close)

    def assert_types(self, document, expected):
        types = {name: type(document.get(name)) for name in expected}
        self.assertEqual(types, expected)

    def test_hello_has_the_types_that_drivers_insist_on(self):
        for name, flag in (('hello', 'isWritablePrimary'), ('isMaster', 'ismaster'),
                           ('ismaster', 'ismaster')):
            self.assert_types(self.client.admin.command(name), {
                flag: BOOL, 'maxBsonObjectSize': INT, 'maxMessageSizeBytes': INT,
                'maxWriteBatchSize': INT, 'localTime': DATE, 'minWireVersion': INT,
                'maxWireVersion': INT, 'ok': DOUBLE})

    def test_write_replies_count_in_int32(self):
        c = self.client.test.types
        c.drop()
        self.assert_types(self.client.test.command({'insert': 'types', 'documents': [{'_id': 1}]}),
                          {'n': INT, 'ok': DOUBLE})
        self.assert_types(self.client.test.command({'update': 'types', 'updates': [
            {'q': {'_id': 1}, 'u': {'$set': {'a': 1}}}]}),
            {'n': INT, 'nModified': INT, 'ok': DOUBLE})
        self.assert_types(self.client.test.command({'delete': 'types', 'deletes': [
            {'q': {}, 'limit': 0}]}), {'n': INT, 'ok': DOUBLE})

    def test_cursor_ids_are_int64(self):
        self.client.test.ids.insert_one({})
        for command in ({'find': 'ids'}, {'aggregate': 'ids', 'pipeline': [], 'cursor': {}},
                        {'listCollections': 1, 'cursor': {}}, {'listIndexes': 'ids'}):
            self.assertIsInstance(self.client.test.command(command)['cursor']['id'], int64.Int64)

    def test_server_status_has_no_fractions_where_mongostat_wants_integers(self):
        status = self.client.admin.command('serverStatus')
        self.assertEqual(status['uptime'], int(status['uptime']))
        for name in ('commits', 'journaledMB', 'writeToDataFilesMB', 'compression',
                     'commitsInWriteLock', 'earlyCommits'):
            self.assertEqual(status['dur'][name], int(status['dur'][name]), name)

    def test_a_batch_larger_than_one_message(self):
        c = self.client.test.large_batch
        c.drop()
        documents = [{'_id': n, 'text': 'x' * 100000} for n in range(600)]  # 60 MB
        self.assertEqual(len(c.insert_many(documents).inserted_ids), 600)
        self.assertEqual(sum(1 for _ in c.find({}, {'_id': 1})), 600)
        c.drop()

    def test_unacknowledged_writes_arrive_in_order(self):
        self.client.test.w0.drop()
        with pymongo.MongoClient(self.server.uri, maxPoolSize=1) as single:
            c = single.test.get_collection('w0', write_concern=write_concern.WriteConcern(w=0))
            for number in range(100):
                c.insert_one({'_id': number})
            self.assertEqual(single.test.w0.count_documents({}), 100)

    def test_cursors_are_shared_by_connections(self):
        c = self.client.test.shared
        c.drop()
        c.insert_many([{'_id': n} for n in range(300)])
        cursor = self.client.test.command({'find': 'shared', 'batchSize': 10})['cursor']
        with pymongo.MongoClient(self.server.uri) as other:
            more = other.test.command({'getMore': cursor['id'], 'collection': 'shared'})
            self.assertEqual(len(more['cursor']['nextBatch']), 290)
            self.assertEqual(more['cursor']['id'], 0)

    def test_errors_carry_code_and_name(self):
        with self.assertRaises(errors.OperationFailure) as caught:
            self.client.test.command('noSuchCommand')
        self.assertEqual(caught.exception.code, 59)
        self.assertEqual(caught.exception.details['codeName'], 'CommandNotFound')
        with self.assertRaises(errors.DuplicateKeyError):
            self.client.test.duplicates.insert_one({'_id': 1})
            self.client.test.duplicates.insert_one({'_id': 1})

    def test_sessions_and_transactions_are_refused(self):
        with self.assertRaises(errors.ConfigurationError), self.client.start_session() as session:
            self.client.test.sessions.insert_one({}, session=session)

    def test_the_old_driver(self):
        run = subprocess.run([OLD_DRIVER, '-c', OLD_PROGRAM, self.server.uri],
                             stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(json.loads(run.stdout), {
            'version': '3.13.0', 'count': 251, 'page': [247, 244, 241], 'distinct': [0, 1, 2],
            'modified': 83, 'deleted': 83, 'last_error': None,
            'names': ['c'], 'indexes': ['_id_', 'n_1']})

    def test_the_c_driver_counts_what_the_server_has(self):
        for arguments, per_operation in ((['--clients', '4'], 1), (['--batch', '100'], 100)):
            run = subprocess.run(
                [os.path.join(self.programs, 'load_client'), 'insert', '--uri', self.server.uri,
                 '--seconds', '1', '--warmup', '0', '--collection', 'from_c'] + arguments,
                stdout=subprocess.PIPE, text=True, check=True)
            report = json.loads(run.stdout)
            self.assertEqual(report['errors'], 0)
            self.assertEqual(report['documents'], report['operations'] * per_operation)
            # What each thread did before its clock was on is in the collection but not counted.
            self.assertGreaterEqual(self.client.perf.from_c.count_documents({}),
                                    report['documents'])
            self.assertEqual(len(bson.encode(self.client.perf.from_c.find_one())), 200)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--selection', default='none')
    arguments = parser.parse_args()
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    subprocess.run(['scons', '-Q', 'patches=' + arguments.selection, 'mongod', 'load_client'],
                   cwd=TOP, check=True)
    Clients.programs = os.path.join(TOP, 'build', staging.select(TOP, arguments.selection).name,
                                    'bin')
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Clients)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    bad = len(result.failures) + len(result.errors)
    print('%d passed, %d failed' % (max(result.testsRun - bad, 0), bad))
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
