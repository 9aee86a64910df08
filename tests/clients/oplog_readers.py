"""What tails the log of a replica set of one member: a driver's cursor that awaits data, what
mongodump --oplog asks, and writes at a driver's defaults. Run by drivers of today and of old.

The server was started with --replSet rs0; this client initiates it."""

import threading
import unittest

import case
import pymongo
from bson import Timestamp
from pymongo import CursorType, WriteConcern, errors

COUNT = 60
FIRST_SECONDS_MAX = 60  # only ends a reader that hangs


class OplogReaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        host = '127.0.0.1:%d' % case.PORT
        with pymongo.MongoClient(host, directConnection=True) as alone:
            config = {'_id': 'rs0', 'members': [{'_id': 0, 'host': host}]}
            alone.admin.command('replSetInitiate', config)
        cls.client = cls.enterClassContext(pymongo.MongoClient(host, replicaSet='rs0'))
        cls.local = cls.client.local

    def setUp(self):
        self.c = self.client.readers[self.id().rsplit('.', 1)[-1]]

    def newest(self):
        return next(self.local['oplog.rs'].find().sort('$natural', -1).limit(-1))

    def entries_since(self, ts, **options):
        return self.local['oplog.rs'].find({'ts': {'$gt': ts}}, **options)

    def test_the_set_is_found(self):
        self.client.admin.command('ping')
        self.assertEqual(self.client.primary, ('127.0.0.1', case.PORT))
        self.assertEqual(self.client.nodes, {('127.0.0.1', case.PORT)})
        self.assertTrue(self.client.is_primary)

    def test_a_cursor_that_awaits_data_gets_each_entry_once(self):
        start = self.newest()['ts']

        def write():
            for number in range(COUNT):
                self.c.insert_one({'_id': number, 'a': 0})
                self.c.update_one({'_id': number}, {'$inc': {'a': 5}})

        writer = threading.Thread(target=write)
        seen, last = [], start
        cursor = self.entries_since(start, cursor_type=CursorType.TAILABLE_AWAIT, oplog_replay=True)
        writer.start()
        ended = threading.Event()
        limit = threading.Timer(FIRST_SECONDS_MAX, ended.set)
        limit.start()
        while len(seen) < 2 * COUNT and cursor.alive and not ended.is_set():
            for entry in cursor:
                self.assertGreater(entry['ts'], last)
                last = entry['ts']
                if entry['ns'] == self.c.full_name:
                    seen.append((entry['op'], entry['o'], entry.get('o2')))
                if len(seen) == 2 * COUNT:
                    break
        limit.cancel()
        writer.join()
        cursor.close()
        wanted = []
        for number in range(COUNT):
            wanted.append(('i', {'_id': number, 'a': 0}, None))
            wanted.append(('u', {'$set': {'a': 5}}, {'_id': number}))
        self.assertEqual(seen, wanted)

    def test_a_reader_begins_anew_at_any_entry(self):
        start = self.newest()['ts']
        self.c.insert_many([{'_id': number} for number in range(COUNT)])
        times = [entry['ts'] for entry in self.entries_since(start)]
        for place, ts in enumerate(times):
            self.assertEqual([entry['ts'] for entry in self.entries_since(ts)], times[place + 1:])

    def test_the_form_of_entries(self):
        start = self.newest()['ts']
        self.c.insert_one({'_id': 1})
        self.c.delete_one({'_id': 1})
        create, insert, delete = self.entries_since(start)
        numbered = ['lsid', 'txnNumber', 'stmtId']  # by a driver at its defaults
        self.assertEqual(list(insert), ['ts', 't', 'h', 'v', 'op', 'ns', 'o', 'wall'] + numbered)
        self.assertEqual(list(delete),
                         ['ts', 't', 'h', 'v', 'op', 'ns', 'b', 'o', 'wall'] + numbered)
        self.assertEqual((insert['stmtId'], delete['stmtId']), (0, 0))
        self.assertEqual(delete['txnNumber'], insert['txnNumber'] + 1)
        self.assertEqual(create['o'], {'create': self.c.name})
        self.assertEqual((insert['t'], insert['v']), (1, 2))
        self.assertIsInstance(insert['ts'], Timestamp)
        self.assertNotEqual(insert['h'], delete['h'])

    def test_what_mongodump_asks_for_its_oplog(self):
        self.c.insert_many([{'_id': number} for number in range(5)])
        command = self.local.command
        self.assertIn('setName', self.client.admin.command('isMaster'))
        started = command('find', 'oplog.rs', filter={}, sort={'$natural': -1}, limit=1)
        begin = started['cursor']['firstBatch'][0]['ts']
        open_transactions = self.client.config.command(
            'find', 'transactions', readConcern={'level': 'local'}, limit=1,
            filter={'state': {'$in': ['prepared', 'inProgress']}})
        self.assertEqual(open_transactions['cursor']['firstBatch'], [])
        self.c.insert_one({'_id': 'during'})
        end = command('find', 'oplog.rs', filter={}, sort={'$natural': -1},
                      limit=1)['cursor']['firstBatch'][0]['ts']
        found = command('find', 'oplog.rs', filter={'ts': {'$gte': begin, '$lte': end}},
                        oplogReplay=True, noCursorTimeout=True)['cursor']['firstBatch']
        self.assertEqual([entry['o'].get('_id') for entry in found], [4, 'during'])
        oldest = command('find', 'oplog.rs', filter={}, sort={'$natural': 1},
                         limit=1)['cursor']['firstBatch'][0]['ts']
        self.assertLess(oldest, begin)

    def test_writes_at_the_defaults_of_the_driver(self):
        self.assertEqual(self.c.insert_many([{'_id': 1}, {'_id': 2}]).inserted_ids, [1, 2])
        self.c.find_one_and_update({'_id': 1}, {'$set': {'a': 1}})
        self.c.bulk_write([pymongo.UpdateOne({'_id': 2}, {'$set': {'a': 2}}),
                           pymongo.DeleteOne({'_id': 1})])
        self.assertEqual(list(self.c.find()), [{'_id': 2, 'a': 2}])
        with self.client.start_session() as session:
            self.c.insert_one({'_id': 3}, session=session)
            self.assertEqual(self.c.find_one({'_id': 3}, session=session), {'_id': 3})
            with self.assertRaises(errors.OperationFailure) as raised, session.start_transaction():
                self.c.insert_one({'_id': 4}, session=session)
            self.assertEqual(raised.exception.code, 20)
        self.assertEqual(self.newest()['o'], {'_id': 3})

    def test_write_concerns(self):
        self.c.with_options(write_concern=WriteConcern('majority', wtimeout=60000)).insert_one({})
        with self.assertRaises(errors.WriteConcernError) as raised:
            self.c.with_options(write_concern=WriteConcern(2)).insert_one({'_id': 'two'})
        self.assertEqual(raised.exception.code, 100)
        self.assertIsNotNone(self.c.find_one('two'))


if __name__ == '__main__':
    case.main(OplogReaders)
