"""pymongo of today: the types of reply fields, connections, what must be refused."""

import contextlib
import datetime
import unittest

import case
import pymongo
from bson import int64
from pymongo import errors, write_concern

# What the driver makes of a BSON type; an int64 becomes an Int64, never an int.
INT, DOUBLE, BOOL, DATE = int, float, bool, datetime.datetime


class Replies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(pymongo.MongoClient(case.URI))

    def assert_types(self, document, expected):
        self.assertEqual({name: type(document.get(name)) for name in expected}, expected)

    def test_hello_has_the_types_that_drivers_insist_on(self):
        for name, flag in (('hello', 'isWritablePrimary'), ('isMaster', 'ismaster'),
                           ('ismaster', 'ismaster')):
            self.assert_types(self.client.admin.command(name), {
                flag: BOOL, 'maxBsonObjectSize': INT, 'maxMessageSizeBytes': INT,
                'maxWriteBatchSize': INT, 'localTime': DATE, 'minWireVersion': INT,
                'maxWireVersion': INT, 'logicalSessionTimeoutMinutes': INT, 'ok': DOUBLE})

    def test_write_replies_count_in_int32(self):
        self.client.test.types.drop()
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
        with pymongo.MongoClient(case.URI, maxPoolSize=1) as single:
            c = single.test.get_collection('w0', write_concern=write_concern.WriteConcern(w=0))
            for number in range(100):
                c.insert_one({'_id': number})
            self.assertEqual(single.test.w0.count_documents({}), 100)

    def test_cursors_are_shared_by_connections(self):
        c = self.client.test.shared
        c.drop()
        c.insert_many([{'_id': n} for n in range(300)])
        with pymongo.MongoClient(case.URI, minPoolSize=2) as client, \
                client.start_session() as session:
            cursor = client.test.command({'find': 'shared', 'batchSize': 10},
                                         session=session)['cursor']
            # Another cursor keeps the first connection to itself until it is read to its end.
            with contextlib.closing(client.test.shared.find(
                    cursor_type=pymongo.CursorType.EXHAUST, batch_size=10)) as exhausted:
                next(exhausted)
                more = client.test.command({'getMore': cursor['id'], 'collection': 'shared'},
                                           session=session)
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


if __name__ == '__main__':
    case.main(Replies)
