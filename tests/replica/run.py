"""Replica sets of several real servers on this machine: a copy under writes, kills of primary and
secondaries, what each state refuses, a secondary that is made the primary.

Usage: build/venv/bin/python tests/replica/run.py [--selection none] [TEST...]
"""

import argparse
import contextlib
import os
import random
import sys
import tempfile
import threading
import time
import unittest

import pymongo
from pymongo import ReadPreference, errors

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))

import choice  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

WAIT_SECONDS_MAX = 60  # only ends a wait that hangs
PRIMARY, SECONDARY, RECOVERING, STARTUP2, DOWN = 1, 2, 3, 5, 8
OPTIONS = ['--smallfiles', '--nssize', '1', '--noprealloc', '--nopreallocj', '--oplogSize', '32',
           '--replSet', 'rs0']
DURABLE = pymongo.WriteConcern(j=True)
# What a driver makes of them.
REFUSALS = (errors.NotPrimaryError, errors.OperationFailure)
SETTINGS = {'heartbeatIntervalMillis': 100}


class Member(server.Server):
    """One that can be started again, with its port."""

    def __init__(self, dbpath):
        super().__init__(Case.program, dbpath, OPTIONS)
        self.client = self.connect()

    def connect(self):
        return pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=30000)

    def start_again(self):
        if not self._start():
            raise server.ServerError('another process has taken port %d' % self.port)
        # The connections of the old one have ended.
        self.client = self.connect()

    @property
    def host(self):
        return '127.0.0.1:%d' % self.port

    def run(self, command, *arguments, **more):
        return self.client.admin.command(command, *arguments, **more)

    def status(self):
        return self.run('replSetGetStatus')

    def state(self):
        try:
            return self.status()['myState']
        except errors.OperationFailure:
            return None  # no configuration yet

    def position(self):
        hello = self.run('hello')
        return hello['lastWrite']['opTime']

    def hashes(self, database):
        return self.client[database].command('dbHash')['collections']


def code_of(refusal):
    return refusal.details['code']


def wait_until(what, condition):
    limit = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError('waited in vain: ' + what)
        time.sleep(0.02)


class Writer(threading.Thread):
    """Writes one document after the other, numbered, and changes others at random; goes on once
    the primary is there again."""

    def __init__(self, member, seed):
        super().__init__(daemon=True)
        self.member, self.random = member, random.Random(seed)
        self.is_over = threading.Event()
        self.next = 0  # what comes next in `numbered`
        self.failure = None

    def run(self):
        while not self.is_over.is_set():
            try:
                self.one()
            except (errors.AutoReconnect, errors.NotPrimaryError):
                self.is_over.wait(0.05)
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error
                return

    def one(self):
        # What is acknowledged outlives a kill of the primary, so that no number is left out.
        db = self.member.client.get_database('load', write_concern=DURABLE)
        with contextlib.suppress(errors.DuplicateKeyError):
            db.numbered.insert_one({'_id': self.next, 'pad': 'x' * self.random.randrange(300)})
        self.next += 1
        key = self.random.randrange(400)
        kind = self.random.randrange(100)
        if kind < 50:
            db.changed.update_one({'_id': key}, {'$inc': {'n': 1}, '$push': {'list': kind}},
                                  upsert=True)
        elif kind < 70:
            db.changed.replace_one({'_id': key}, {'grown': 'y' * self.random.randrange(3000)})
        elif kind < 90:
            db.changed.delete_one({'_id': key})
        elif kind < 97:
            db.changed.update_many({'n': {'$gt': 1}}, {'$unset': {'list': 1}})
        elif kind == 97:
            db.brief.drop()
        elif kind == 98:
            db.brief.create_index('b')
            db.brief.insert_one({'b': key})
        else:
            db.changed.aggregate([{'$match': {'n': 1}}, {'$out': 'made'}])

    def end(self):
        self.is_over.set()
        self.join()
        if self.failure is not None:
            raise self.failure


class Case(unittest.TestCase):
    program = ''

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(
            dir=os.path.join(TOP, 'build', 'scratch')))
        self.members = []

    def start(self, count):
        for _ in range(count):
            self.members.append(self.enterContext(
                Member(os.path.join(self.folder, str(len(self.members))))))
        return self.members

    def config(self, version, primary=0, count=None):
        members = self.members[:count]
        return {'_id': 'rs0', 'version': version, 'settings': SETTINGS, 'members': [
            {'_id': number, 'host': each.host, 'priority': int(number == primary)}
            for number, each in enumerate(members)]}

    def wait_for_state(self, member, *states):
        wait_until('state %s of %s; %s' % (states, member.host, member.tail(5)),
                   lambda: member.state() in states)

    def wait_until_equal(self, one, other):
        """No writes are under way."""
        wait_until('%s has what %s has; %s' % (one.host, other.host, one.tail(5)),
                   lambda: one.position() == other.position())
        for database in ('load', 'test'):
            self.assertEqual(one.hashes(database), other.hashes(database))
            for name in one.client[database].list_collection_names():
                self.assertEqual(self.indexes(one, database, name),
                                 self.indexes(other, database, name))

    @staticmethod
    def indexes(member, database, name):
        return {spec['name']: spec['key'].to_dict()
                for spec in member.client[database][name].list_indexes()}

    def assert_prefix(self, member):
        """Of the numbered documents it has the first ones, and all of them."""
        numbers = [doc['_id'] for doc in member.client.load.numbered.find({}, {'_id': 1})]
        numbers.sort()
        self.assertEqual(numbers, list(range(len(numbers))))

    def begin(self, count):
        """A set whose members have the same."""
        primary, *others = self.start(count)
        primary.run('replSetInitiate', self.config(1))
        primary.client.test.first.insert_one({'_id': 1})
        for other in others:
            self.wait_for_state(other, SECONDARY)
            self.wait_until_equal(other, primary)
        return primary, others


class States(Case):
    def test_members_find_each_other_and_say_so(self):
        primary, others = self.begin(3)
        hosts = [member.host for member in self.members]

        def all_known():
            return [each['state'] for each in others[0].status()['members']] == [
                PRIMARY, SECONDARY, SECONDARY]

        wait_until('a secondary knows the states of all', all_known)
        hello = others[0].run('hello')
        self.assertEqual((hello['isWritablePrimary'], hello['secondary'], hello['passive']),
                         (False, True, True))
        self.assertEqual((hello['hosts'], hello['passives']), (hosts[:1], hosts[1:]))
        self.assertEqual((hello['primary'], hello['me']), (hosts[0], hosts[1]))
        self.assertNotIn('electionId', hello)
        primary.client.test.first.insert_one({'_id': 2})
        self.wait_until_equal(others[0], primary)
        wait_until('the primary knows of it', lambda: primary.status()['members'][1]['optimeDate']
                   == primary.status()['members'][0]['optimeDate'])
        seen = primary.status()['members'][1]
        self.assertEqual((seen['name'], seen['stateStr'], seen['health'], seen['syncingTo']),
                         (hosts[1], 'SECONDARY', 1.0, hosts[0]))
        for field in ('lastHeartbeat', 'lastHeartbeatRecv', 'pingMs', 'uptime', 'optime'):
            self.assertIn(field, seen)
        repl = others[0].run('serverStatus')['repl']
        self.assertEqual((repl['syncSourceHost'], repl['lagSeconds']), (hosts[0], 0))
        others[1].kill()
        wait_until('the primary misses it',
                   lambda: primary.status()['members'][2]['state'] == DOWN)
        self.assertEqual(primary.status()['members'][2]['health'], 0.0)

    def test_a_secondary_takes_only_reads(self):
        primary, (secondary,) = self.begin(2)
        c = secondary.client.get_database('test', read_preference=ReadPreference.PRIMARY).first
        for write in (lambda: c.insert_one({}), lambda: c.drop(), lambda: c.create_index('a'),
                      lambda: c.aggregate([{'$out': 'x'}])):
            with self.assertRaises(REFUSALS) as raised:
                write()
            self.assertEqual(code_of(raised.exception), 10107)
        raw = secondary.client.test
        with self.assertRaises(REFUSALS) as raised:
            raw.command({'find': 'first', '$readPreference': {'mode': 'primary'}})
        self.assertEqual(code_of(raised.exception), 13435)
        self.assertEqual(c.database.client.test.first.count_documents({}), 1)
        # Its own database is its own.
        secondary.client.local.own.insert_one({'_id': 1})
        self.assertEqual(primary.client.local.own.count_documents({}), 0)
        # A write concern that would need others is not taken for done.
        with self.assertRaises(errors.WriteConcernError) as raised:
            primary.client.test.get_collection(
                'first', write_concern=pymongo.WriteConcern(w=2)).insert_one({'_id': 2})
        self.assertEqual(raised.exception.code, 100)

    def test_a_driver_reads_from_secondaries(self):
        primary, (secondary,) = self.begin(2)
        with pymongo.MongoClient(primary.host, replicaSet='rs0', retryWrites=False) as client:
            client.test.first.insert_one({'_id': 2})
            self.wait_until_equal(secondary, primary)
            before = secondary.run('serverStatus')['opcounters']['query']
            near = client.get_database('test', read_preference=ReadPreference.SECONDARY)
            self.assertEqual(near.first.count_documents({}), 2)
            self.assertEqual(len(list(near.first.find().batch_size(1))), 2)
            self.assertGreater(secondary.run('serverStatus')['opcounters']['query'], before)
            self.assertEqual(client.primary, ('127.0.0.1', primary.port))
            self.assertEqual(client.secondaries, {('127.0.0.1', secondary.port)})


class Kills(Case):
    def test_a_copy_under_writes_with_kills(self):
        primary, = self.start(1)
        primary.run('replSetInitiate', self.config(1))
        rng = random.Random(primary.port)
        writer = Writer(primary, primary.port)
        primary.client.load.numbered.insert_many(
            {'_id': number, 'pad': 'x' * 300} for number in range(5000))
        writer.next = 5000
        writer.start()
        secondary = self.start(1)[1]
        primary.run('replSetReconfig', self.config(2))
        # While it copies and just after.
        for _ in range(4):
            time.sleep(rng.uniform(0.05, 0.6))
            secondary.kill()
            secondary.start_again()
        self.wait_for_state(secondary, SECONDARY)
        self.assert_prefix(secondary)
        for _ in range(3):
            count = secondary.run('serverStatus')['metrics']['repl']['apply']['ops']
            wait_until('it follows', lambda: secondary.run('serverStatus')['metrics']['repl'][
                'apply']['ops'] > count + 20)  # pylint: disable=cell-var-from-loop
            self.assert_prefix(secondary)
            secondary.kill()
            secondary.start_again()
            self.wait_for_state(secondary, SECONDARY)
            self.assert_prefix(secondary)
        for _ in range(3):
            wrote = writer.next
            wait_until('the primary is written to',
                       lambda: writer.next > wrote + 10)  # pylint: disable=cell-var-from-loop
            primary.kill()
            self.assert_prefix(secondary)
            primary.start_again()
            self.wait_for_state(primary, PRIMARY)
        writer.end()
        self.wait_until_equal(secondary, primary)

    def test_a_secondary_is_made_the_primary(self):
        primary, (second, third) = self.begin(3)
        primary.kill()
        self.assertEqual(second.state(), SECONDARY)
        with self.assertRaises(REFUSALS):
            second.run('replSetReconfig', self.config(2, primary=1))
        second.run({'replSetReconfig': self.config(2, primary=1), 'force': True})
        self.assertEqual(second.state(), PRIMARY)
        second.client.test.first.insert_one({'_id': 'of the second'})
        self.wait_until_equal(third, second)
        # The old primary asks first, and takes no writes.
        primary.start_again()
        self.wait_for_state(primary, SECONDARY)
        self.wait_until_equal(primary, second)
        terms = [entry['t'] for entry in second.client.local['oplog.rs'].find()]
        self.assertEqual(terms, sorted(terms))
        self.assertGreater(terms[-1], terms[0])

    def test_histories_that_have_parted_stay_apart(self):
        primary, (second,) = self.begin(2)
        second.kill()
        primary.client.test.get_collection('first', write_concern=DURABLE).insert_one(
            {'_id': 'of the first'})
        primary.kill()
        second.start_again()
        second.run({'replSetReconfig': self.config(2, primary=1), 'force': True})
        second.client.test.first.insert_one({'_id': 'of the second'})
        primary.start_again()
        self.wait_for_state(primary, RECOVERING)
        self.assertIn('histories have parted', primary.status()['members'][0]['infoMessage'])
        with self.assertRaises(REFUSALS) as raised:
            primary.client.test.command({'find': 'first',
                                         '$readPreference': {'mode': 'secondary'}})
        self.assertEqual(code_of(raised.exception), 13436)

    def test_a_new_member_brings_no_data(self):
        primary, newcomer = self.start(2)
        newcomer.stop()
        of_set = newcomer.options
        newcomer.options = server.for_engine(OPTIONS[:OPTIONS.index('--oplogSize')])
        newcomer.start_again()
        newcomer.client.own.c.insert_one({'_id': 1})
        newcomer.stop()
        newcomer.options = of_set
        newcomer.start_again()
        primary.run('replSetInitiate', self.config(1))
        with open(newcomer.log_path, encoding='utf-8', errors='replace') as log:
            wait_until('it says so', lambda: 'has data of its own' in log.read())
        self.assertIsNone(newcomer.state())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    suites = [unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (States, Kills)]
    names = choice.with_any(arguments.tests, [case.id() for suite in suites for case in suite],
                            'test')
    tests = unittest.TestSuite(case for suite in suites for case in suite if case.id() in names)
    programs = os.path.join(server.build(arguments.selection, arguments.sanitize, ['mongod']),
                            'bin')
    Case.program = os.path.join(programs, 'mongod')
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    tally = totals.Totals()
    tally.run('replica', tests)
    tally.close()


if __name__ == '__main__':
    main()
