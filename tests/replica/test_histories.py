"""Snapshot isolation by histories of transactions (histories.py), over kills, hand-overs and
changes of indexes; what transactions leave that an end meets on their way. With --whole: ten
minutes of histories on each engine, 5,000 transactions for each kind of end."""

import os
import random
import time
import unittest
import unittest.mock

import pymongo
import pytest

import server
import sets
from histories import APPEND, FAILED, OK, READ, History, Transaction
from lists import GROUP, Appender, Changer, Group, Load
from set_member import OPTIONS, PRIMARY, SECONDARY, wait_until

SECONDS, SECONDS_OF_WHOLE, ROUND_SECONDS = 6, 600, 30
ENDS, ENDS_OF_WHOLE = 100, 5000
WORKERS = 4
OF_A_SET = OPTIONS[OPTIONS.index('--oplogSize'):]


def transactions(*all_steps):
    return [Transaction(str(number), steps, OK) for number, steps in enumerate(all_steps)]


class Checker(unittest.TestCase):
    """Each fault is planted, and named."""

    def check(self, history, final, fault):
        faults, has_skew = History(history, final).check()
        self.assertEqual([each.split(':')[0] for each in faults], [fault] if fault else [])
        return has_skew

    def test_writes_in_a_circle(self):
        history = transactions([(APPEND, 'x', 1), (APPEND, 'y', 1)],
                               [(APPEND, 'x', 2), (APPEND, 'y', 2)])
        self.assertFalse(self.check(history, {'x': [1, 2], 'y': [1, 2]}, None))
        faults, _ = History(history, {'x': [1, 2], 'y': [2, 1]}).check()
        self.assertTrue(faults[0].startswith('G0'))

    def test_reads_of_what_was_aborted_or_not_all(self):
        aborted = Transaction('aborted', [(APPEND, 'x', 1)], FAILED)
        self.check([aborted, *transactions([(READ, 'x', [1])])], {'x': []},
                   'not the first of a list')
        self.check([aborted], {'x': [1]}, 'G1a')
        self.check([], {'x': [1]}, 'G1a')
        self.check(transactions([(APPEND, 'x', 1), (APPEND, 'x', 2)], [(READ, 'x', [1])]),
                   {'x': [1, 2]}, 'G1b')

    def test_reads_in_a_circle(self):
        self.check(transactions([(APPEND, 'x', 1), (READ, 'y', [1])],
                                [(APPEND, 'y', 1), (READ, 'x', [1])]), {'x': [1], 'y': [1]}, 'G1c')

    def test_a_lost_update(self):
        self.check(transactions([(READ, 'x', []), (APPEND, 'x', 1)],
                                [(READ, 'x', []), (APPEND, 'x', 2)]), {'x': [1, 2]},
                   'G-single or G2')

    def test_read_skew(self):
        self.check(transactions([(APPEND, 'x', 1), (APPEND, 'y', 1)],
                                [(READ, 'x', []), (READ, 'y', [1])]), {'x': [1], 'y': [1]},
                   'G-single or G2')

    def test_two_that_see_other_orders(self):
        self.check(transactions([(APPEND, 'x', 1)], [(APPEND, 'y', 1)],
                                [(READ, 'x', [1]), (READ, 'y', [])],
                                [(READ, 'x', []), (READ, 'y', [1])]), {'x': [1], 'y': [1]},
                   'G-single or G2')

    def test_own_writes_and_reads_again(self):
        self.check(transactions([(APPEND, 'x', 1), (READ, 'x', [])]), {'x': [1]}, 'internal')
        self.check(transactions([(APPEND, 'x', 1)], [(READ, 'x', []), (READ, 'x', [1])]),
                   {'x': [1]}, 'internal')

    def test_what_is_lost_or_in_parts(self):
        history = transactions([(APPEND, 'x', 1), (APPEND, 'y', 1)])
        self.check(history, {'x': [], 'y': []}, 'lost')
        history[0].outcome = 'unknown'
        self.check(history, {'x': [], 'y': []}, None)
        self.check(history, {'x': [1], 'y': []}, 'lost')
        self.check(history, {'x': [1, 1], 'y': [1]}, 'twice in a list')

    def test_write_skew_is_allowed_and_found(self):
        self.assertTrue(self.check(transactions([(READ, 'x', []), (APPEND, 'y', 1)],
                                                [(READ, 'y', []), (APPEND, 'x', 1)]),
                                   {'x': [1], 'y': [1]}, None))


class Histories:
    engine = ''

    @pytest.fixture(autouse=True)
    def sizes(self, request):
        is_whole = request.config.getoption('whole')
        self.seconds = SECONDS_OF_WHOLE if is_whole else SECONDS
        self.ends = ENDS_OF_WHOLE if is_whole else ENDS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with unittest.mock.patch.dict(os.environ, {server.ENGINE: 'wiredTiger,rocksdb'}):
            server.build('none', '', ['mongod', 'engine_wiredtiger.so', 'engine_rocksdb.so'])

    def setUp(self):
        super().setUp()
        self.primary, others = self.begin(2, OF_A_SET + ['--storageEngine', self.engine])
        self.secondary = others[0]
        self.uri = 'mongodb://%s,%s/?replicaSet=rs0' % (self.primary.host, self.secondary.host)
        self.client = self.connect()
        self.chance = random.Random(int(time.time()))

    def connect(self):
        return self.enterContext(pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=60000))

    def kill(self):
        self.primary.kill()
        self.primary.start_again()
        self.wait_for_state(self.primary, PRIMARY)

    def exchange(self):
        self.hand_over(self.primary, self.secondary)
        self.wait_for_state(self.primary, SECONDARY)
        self.primary, self.secondary = self.secondary, self.primary

    def test_snapshots_hold(self):
        until, has_skew, turn = time.monotonic() + self.seconds, False, 0
        while time.monotonic() < until or not has_skew:
            turn += 1
            self.client.drop_database('h')
            load = Load()
            load.begin(self.client)
            workers = [Appender(load, self.connect(), number, self.chance.random())
                       for number in range(WORKERS)]
            workers.append(Changer(self.client))
            for worker in workers:
                worker.start()
            end = time.monotonic() + min(ROUND_SECONDS, self.seconds)
            while time.monotonic() < end:
                count = len(load.history)
                wait_until('transactions go on', lambda count=count: any(
                    worker.failure for worker in workers) or len(load.history) > count + 100)
                self.chance.choice([self.kill, self.exchange])()
            for worker in workers:
                worker.end()
            self.assertGreater(workers[-1].done, 0)
            faults, found = load.check(self.client)
            self.assertEqual(faults, [], faults)
            has_skew = has_skew or found
            committed = sum(each.outcome == OK for each in load.history)
            self.assertGreater(committed, 0)
            print('round %d: %d transactions, %d committed' % (turn, len(load.history), committed))
            self.wait_until_equal(self.secondary, self.primary)
            self.assertEqual(self.secondary.hashes('h'), self.primary.hashes('h'))

    def test_each_that_an_end_meets_is_whole_or_absent(self):
        first = 0
        for end in (self.kill, self.exchange):
            acknowledged = there = 0
            for _ in range(0, self.ends, GROUP):
                group = Group(self.primary.port, first)
                first += GROUP
                group.meet(end, self.chance.randrange(GROUP), self.chance.uniform(0, 0.02))
                acknowledged += len(group.acknowledged)
                with self.primary.connect() as client:
                    self.assertEqual(group.faults(client), [])
                there += len(group.there[0])
                self.wait_until_equal(self.secondary, self.primary)
                self.assertEqual(self.secondary.hashes('h'), self.primary.hashes('h'))
            print('%s: %d, of them %d there, %d acknowledged'
                  % (end.__name__, self.ends, there, acknowledged))
            self.assertGreater(acknowledged, 0)


class WiredTiger(Histories, sets.Case):
    engine = 'wiredTiger'


class RocksDB(Histories, sets.Case):
    engine = 'rocksdb'
