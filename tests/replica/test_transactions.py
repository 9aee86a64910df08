"""Transactions over several documents by a driver of today, on sets of one and two members: what
followers of this and another engine see of a bank, commits that are sent again, clients that are
gone, what parked ones cost. Kills and hand-overs are in test_histories.py."""

import contextlib
import os
import random
import unittest.mock
import uuid

import bson
import pymongo
from pymongo import errors

import server
import sets
from set_member import OPTIONS, PRIMARY, SECONDARY

ACCOUNTS, EACH = 20, 100
MAJORITY = pymongo.WriteConcern('majority', j=True)


def options_of(engine):
    kept = OPTIONS[OPTIONS.index('--oplogSize'):]
    return kept + ['--storageEngine', engine]


class Teller(sets.Worker):
    """Moves money between accounts; each transfer leaves its number, in the same transaction."""

    def __init__(self, client, seed, number):
        super().__init__()
        self.client, self.random, self.number = client, random.Random(seed), number
        self.moved, self.done, self.audits = 0, [], 0

    def one(self):
        key = '%d-%d' % (self.number, self.moved)
        self.moved += 1
        bank = self.client.bank
        one, other = self.random.sample(range(ACCOUNTS), 2)

        def transfer(session):
            accounts = list(bank.accounts.find({}, session=session))
            if sum(each['n'] for each in accounts) != ACCOUNTS * EACH:
                raise AssertionError('a snapshot of %s' % accounts)
            self.audits += 1
            bank.accounts.update_one({'_id': one}, {'$inc': {'n': -1}}, session=session)
            bank.accounts.update_one({'_id': other}, {'$inc': {'n': 1}}, session=session)
            bank.transfers.insert_one({'_id': key, 'from': one, 'to': other}, session=session)

        with self.client.start_session() as session:
            session.with_transaction(transfer, write_concern=MAJORITY)
        self.done.append(key)


class Transactions:
    engine = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with unittest.mock.patch.dict(os.environ, {server.ENGINE: 'wiredTiger,rocksdb'}):
            server.build('none', '', ['mongod', 'engine_wiredtiger.so', 'engine_rocksdb.so'])

    def wait_for_primary(self, member):
        self.wait_for_state(member, PRIMARY)
        member.client = member.connect()  # one that has known no other state

    def begin_bank(self, count, others=None):
        members = self.start(1, options_of(self.engine))
        if count > 1:
            self.start(count - 1,
                       OPTIONS if others == 'mmapv1' else options_of(others or self.engine))
        primary = members[0]
        primary.run('replSetInitiate', self.config(1))
        self.wait_for_primary(primary)
        bank = primary.client.bank
        bank.accounts.insert_many([{'_id': i, 'n': EACH} for i in range(ACCOUNTS)])
        bank.create_collection('transfers')
        return primary

    def check_bank(self, client, done):
        accounts = {each['_id']: each['n'] for each in client.bank.accounts.find()}
        self.assertEqual(sum(accounts.values()), ACCOUNTS * EACH)
        transfers = {each['_id']: each for each in client.bank.transfers.find()}
        self.assertEqual(set(done) - set(transfers), set())
        expected = dict.fromkeys(range(ACCOUNTS), EACH)
        for each in transfers.values():
            expected[each['from']] -= 1
            expected[each['to']] += 1
        self.assertEqual(accounts, expected)

    @staticmethod
    def in_transaction(member, command, lsid, number, starts=False, database='test'):
        more = {'startTransaction': True} if starts else {}
        return member.send(database, {**command, 'lsid': lsid, 'txnNumber': bson.Int64(number),
                                      'autocommit': False, **more})

    def commit(self, member, lsid, number, **more):
        return self.in_transaction(member, {'commitTransaction': 1, **more}, lsid, number,
                                   database='admin')

    @staticmethod
    def an_lsid():
        return {'id': bson.Binary.from_uuid(uuid.uuid4())}

    def test_a_commit_is_answered_once_after_a_kill(self):
        primary = self.begin_bank(1)
        lsid, change = self.an_lsid(), {'update': 'c', 'updates': [
            {'q': {'_id': 1}, 'u': {'$inc': {'n': 1}}, 'upsert': True}]}
        for number in (1, 2):
            reply = self.in_transaction(primary, change, lsid, number, True)
            self.assertEqual(reply['ok'], 1, reply)
            if number == 1:
                self.assertEqual(self.commit(primary, lsid, 1, writeConcern={'j': True})['ok'], 1)
            primary.kill()
            primary.start_again()
            self.wait_for_primary(primary)
            reply = self.commit(primary, lsid, number)
            if number == 1:
                self.assertEqual(reply['ok'], 1, reply)
            else:
                self.assertEqual((reply['code'], reply['errorLabels']),
                                 (251, ['TransientTransactionError']))
            self.assertEqual(primary.client.test.c.find_one()['n'], 1)

    def follow(self, others):
        primary = self.begin_bank(2, others)
        other = self.members[1]
        self.wait_for_state(other, SECONDARY)
        reader = pymongo.MongoClient(other.uri, directConnection=True,
                                     readPreference='secondaryPreferred')
        with primary.client.bank.watch() as stream, contextlib.closing(reader):
            tellers = [Teller(primary.client, i, i) for i in range(4)]
            for each in tellers:
                each.start()
            sums = set()
            while sum(len(each.done) for each in tellers) < 60:
                sums.add(sum(each['n'] for each in reader.bank.accounts.aggregate(
                    [{'$group': {'_id': None, 'n': {'$sum': '$n'}}}])))
            for each in tellers:
                each.end()
            self.assertEqual(sums, {ACCOUNTS * EACH})
            done = [key for each in tellers for key in each.done]
            events = [stream.next() for _ in range(3 * len(done))]
            for at in range(0, len(events), 3):
                self.assertEqual([each['operationType'] for each in events[at:at + 3]],
                                 ['update', 'update', 'insert'])
                self.assertEqual(len({(each['lsid']['id'], each['txnNumber'])
                                      for each in events[at:at + 3]}), 1)
            self.wait_until_equal(other, primary)
            self.check_bank(reader, done)
        return primary, other

    def test_followers_apply_each_as_a_unit(self):
        primary, other = self.follow(None)
        lsid = self.an_lsid()
        change = {'insert': 'c', 'documents': [{'_id': 1}]}
        for number in (1, 2):
            reply = self.in_transaction(primary, change, lsid, number, True)
            self.assertEqual(reply['ok'], 1, reply)
            change = {'insert': 'c', 'documents': [{'_id': 2}]}
            if number == 1:
                self.assertEqual(self.commit(primary, lsid, 1)['ok'], 1)
        self.wait_until_equal(other, primary)
        other.run('replSetReconfig', self.config(2, 1), force=True)
        self.wait_for_primary(other)
        reply = self.commit(other, lsid, 1)
        self.assertEqual(reply['ok'], 1, reply)
        self.assertEqual(self.commit(other, lsid, 2)['code'], 251)
        self.assertIn(self.commit(primary, lsid, 2)['code'], (251, 10107, 11602))
        self.assertEqual(list(other.client.test.c.find()), [{'_id': 1}])

    def test_a_follower_has_another_engine(self):
        self.follow('mmapv1')

    def test_what_a_client_has_left_goes(self):
        primary = self.begin_bank(1)
        primary.run('setParameter', transactionLifetimeLimitSeconds=1)
        lsid = self.an_lsid()
        reply = self.in_transaction(primary, {'update': 'accounts', 'updates': [
            {'q': {'_id': 1}, 'u': {'$set': {'n': 0}}}]}, lsid, 1, True, 'bank')
        self.assertEqual(reply['nModified'], 1, reply)
        primary.client.bank.accounts.update_one({'_id': 1}, {'$inc': {'n': 1}})
        self.assertEqual(primary.client.bank.accounts.find_one({'_id': 1})['n'], EACH + 1)
        counts = primary.run('serverStatus')['transactions']
        self.assertEqual((counts['currentOpen'], counts['totalAborted']), (0, 1))

    def test_a_thousand_parked_are_small(self):
        primary = self.begin_bank(1)
        many = [self.an_lsid() for _ in range(1000)]
        self.in_transaction(primary, {'find': 'accounts'}, self.an_lsid(), 1, True, 'bank')

        def resident():
            return primary.run('serverStatus')['mem']['resident']

        before = resident()
        for number, lsid in enumerate(many):
            reply = self.in_transaction(primary, {'insert': 'c', 'documents': [{'_id': number}]},
                                        lsid, 1, True)
            self.assertEqual(reply['ok'], 1, reply)
        grown = resident() - before
        self.assertLessEqual(grown, self.parked_mb_max)
        # Writers beside them go on, and each of them can end.
        primary.client.test.c.insert_many([{} for _ in range(1000)])
        for lsid in many:
            self.assertEqual(self.commit(primary, lsid, 1)['ok'], 1)
        self.assertEqual(primary.client.test.c.count_documents({}), 2000)


class WiredTiger(Transactions, sets.Case):
    engine = 'wiredTiger'
    parked_mb_max = 96  # a session of the library takes more than half of it


class RocksDB(Transactions, sets.Case):
    engine = 'rocksdb'
    parked_mb_max = 64


class Mmapv1(sets.Case):
    def test_names_the_engines_that_have_them(self):
        primary, _ = self.begin(1)
        primary.client = primary.connect()
        with primary.client.start_session() as session, \
                self.assertRaisesRegex(errors.OperationFailure, 'wiredTiger or rocksdb'):
            with session.start_transaction():
                primary.client.test.c.insert_one({}, session=session)
