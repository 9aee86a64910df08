"""pymongo of today: many connections at once, each with another kind of work.

Writers, readers, commands that make, change and drop collections and databases, and those that look
into the server or stop operations run side by side. The thread sanitizer finds here what single
clients don't show it; without one, no acknowledged document may be missing and no connection lost.
"""

import datetime
import itertools
import random
import threading
import unittest

import case
import pymongo
from bson.int64 import Int64
from pymongo import errors

SEED = 20
ROUNDS = 30  # of each thread
INTERRUPTED = 11601
LOGIN = ['hello', 'isMaster', 'ismaster', 'saslStart', 'saslContinue']
DATABASES = ['concurrent_a', 'concurrent_b']

LOOKS = [
    {'currentOp': 1, '$all': True}, {'serverStatus': 1}, {'top': 1}, {'listDatabases': 1},
    {'getLog': 'global'}, {'cursorInfo': 1}, {'journalLatencyTest': 1}, {'fsync': 1},
    {'getParameter': '*'}, {'setParameter': 1, 'logLevel': 1}, {'setParameter': 1, 'logLevel': 0},
    {'setParameter': 1, 'journalCommitInterval': 2}, {'setParameter': 1, 'syncdelay': 1},
    {'setParameter': 1, 'journalCommitInterval': 30}, {'closeAllDatabases': 1},
]

OF_DATABASE = [
    {'dbStats': 1}, {'listCollections': 1}, {'profile': 0}, {'profile': 2}, {'collStats': 'c'},
    {'count': 'c', 'query': {'n': {'$gt': 5}}}, {'distinct': 'c', 'key': 'n'}, {'dbHash': 1},
    {'validate': 'c', 'full': True}, {'listIndexes': 'c'}, {'planCacheClear': 'c'},
    {'explain': {'find': 'c', 'filter': {'n': 5}}, 'verbosity': 'executionStats'},
    {'aggregate': 'c', 'pipeline': [{'$group': {'_id': '$n', 's': {'$sum': 1}}}], 'cursor': {}},
    {'find': 'c', 'sort': {'text': 1}, 'batchSize': 3}, {'find': 'system.profile', 'batchSize': 3},
    {'parallelCollectionScan': 'c', 'numCursors': 2}, {'touch': 'c', 'data': True, 'index': True},
]

CHANGES = [
    {'create': 'ring', 'capped': True, 'size': 20000}, {'emptycapped': 'ring'}, {'drop': 'ring'},
    {'createIndexes': 'c', 'indexes': [{'key': {'n': 1}, 'name': 'n', 'background': True}]},
    {'createIndexes': 'c', 'indexes': [{'key': {'text': 1}, 'name': 't'}]},
    {'createIndexes': 'c', 'indexes': [{'key': {'h': 1}, 'name': 'h', 'expireAfterSeconds': 1}]},
    {'dropIndexes': 'c', 'index': '*'}, {'reIndex': 'c'}, {'compact': 'c'},
    {'collMod': 'c', 'usePowerOf2Sizes': False}, {'convertToCapped': 'other', 'size': 10000},
    {'drop': 'other'}, {'dropDatabase': 1}, {'repairDatabase': 1},
]


class Concurrent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = pymongo.MongoClient(case.URI, retryWrites=False, retryReads=False)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.random, self.failures, self.acknowledged = {}, [], []

    def run_all(self, members):
        def run(number, member):
            chance = random.Random(SEED + number)
            try:
                for turn in range(ROUNDS):
                    member(chance, number, turn)
            except Exception as error:
                self.failures.append('%s: %r' % (member.__name__, error))

        threads = [threading.Thread(target=run, args=each) for each in enumerate(members)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.failures, [])

    def try_command(self, name, command):
        """What the others do at the same time decides whether it succeeds; it must be answered."""
        try:
            return self.client[name].command(command)
        except errors.OperationFailure:
            return None

    def write_own(self, chance, number, turn):
        """Documents that no other thread touches: those acknowledged must be there at the end."""
        key = '%d.%d' % (number, turn)
        c = self.client.concurrent_kept.get_collection(
            'c', write_concern=pymongo.WriteConcern(j=bool(turn % 2)))
        try:
            c.insert_one({'_id': key, 'text': 'x' * chance.randrange(2000)})
            self.acknowledged.append(key)
            c.update_one({'_id': key}, {'$set': {'more': 'y' * chance.randrange(3000)}})
        except errors.OperationFailure as error:
            if error.code != INTERRUPTED:
                raise

    def write_shared(self, chance, _number, _turn):
        name = chance.choice(DATABASES)
        now = datetime.datetime.now(datetime.timezone.utc)  # for the TTL index on h
        documents = [{'n': chance.randrange(20), 'text': 'z' * chance.randrange(400), 'h': now}
                     for _ in range(chance.randrange(1, 30))]
        which = {'n': chance.randrange(20)}
        self.try_command(name, chance.choice([
            {'insert': chance.choice(['c', 'other', 'ring']), 'documents': documents},
            {'update': 'c', 'updates': [{'q': which, 'u': {'$push': {'a': 1}}, 'multi': True}]},
            {'findAndModify': 'c', 'query': which, 'update': {'$inc': {'m': 1}}, 'upsert': True},
            {'delete': 'c', 'deletes': [{'q': which, 'limit': chance.randrange(2)}]}]))

    def read(self, chance, _number, _turn):
        name = chance.choice(DATABASES)
        reply = self.try_command(name, chance.choice(OF_DATABASE))
        cursor = (reply or {}).get('cursor', {}).get('id')
        if cursor:
            self.try_command(name, chance.choice([
                {'getMore': Int64(cursor), 'collection': 'c', 'batchSize': 2},
                {'killCursors': 'c', 'cursors': [Int64(cursor)]}]))

    def follow_ring(self, chance, _number, _turn):
        ring = self.client[chance.choice(DATABASES)].ring
        try:
            cursor = ring.find(cursor_type=pymongo.CursorType.TAILABLE_AWAIT).max_await_time_ms(20)
            list(itertools.islice(cursor, 3))
        except errors.OperationFailure:
            pass

    def change(self, chance, _number, _turn):
        self.try_command(chance.choice(DATABASES), chance.choice(CHANGES))

    def look(self, chance, _number, _turn):
        self.try_command('admin', chance.choice(LOOKS))

    def kill(self, chance, _number, _turn):
        # A login that is killed is one connection lost, which the others need.
        running = [each for each in self.client.admin.command('currentOp')['inprog']
                   if next(iter(each.get('query', {})), '') not in LOGIN]
        self.client.admin.command('killOp', op=chance.choice(running)['opid'])

    def stop_writes(self, _chance, _number, turn):
        if turn % 5:  # else all the others would mostly wait
            return
        self.try_command('admin', {'fsync': 1, 'lock': True})
        self.client.admin.command('currentOp')
        self.try_command('admin', {'fsyncUnlock': 1})

    def come_and_go(self, _chance, _number, _turn):
        with pymongo.MongoClient(case.URI) as guest:
            guest.admin.command('ping')

    def test_everything_at_once(self):
        self.run_all([self.write_own, self.write_own, self.write_shared, self.write_shared,
                      self.read, self.read, self.follow_ring, self.change, self.look, self.look,
                      self.kill, self.stop_writes, self.come_and_go])
        kept = {document['_id'] for document in self.client.concurrent_kept.c.find({}, {'_id': 1})}
        self.assertEqual(set(self.acknowledged) - kept, set())
        self.assertGreater(len(kept), ROUNDS)
        for name in ['concurrent_kept'] + DATABASES:
            db = self.client[name]
            for collection in db.list_collection_names():
                result = db.command('validate', collection, full=True)
                self.assertTrue(result['valid'], result)


if __name__ == '__main__':
    case.main(Concurrent)
