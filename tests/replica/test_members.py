"""Members of sets: a copy under writes, kills of primary and secondaries, what each state refuses,
a secondary that is made the primary."""

import random
import time

import pymongo
from pymongo import ReadPreference, errors

import server
from set_member import DOWN, OPTIONS, PRIMARY, RECOVERING, SECONDARY, wait_until
from sets import DURABLE, REFUSALS, Case, Writer, code_of


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
        wait_until('the primary misses it', lambda: primary.status()['members'][2]['state'] == DOWN)
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
        # A write concern that would need more members is not taken for done.
        with self.assertRaises(errors.WriteConcernError) as raised:
            primary.client.test.get_collection(
                'first', write_concern=pymongo.WriteConcern(w=3)).insert_one({'_id': 2})
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

    def test_a_primary_that_stands_still_is_left(self):
        """A secondary that waits for its answer leaves it when there is another one."""
        first, (second, third) = self.begin(3)
        first.halt()
        try:
            second.run({'replSetReconfig': self.config(2, primary=1), 'force': True})
            # An answer is waited for longer than that.
            second.client.test.get_collection('first', write_concern=pymongo.WriteConcern(
                'majority', wtimeout=30_000)).insert_one({'_id': 'of the second'})
            self.assertEqual(third.client.test.first.count_documents({}), 2)
        finally:
            first.go_on()
        self.wait_for_state(first, SECONDARY)
        self.wait_until_equal(first, second)

    def test_no_member_is_forced_past_one_that_has_more(self):
        first, (second, third) = self.begin(3)
        third.kill()
        first.client.test.get_collection('first', write_concern=pymongo.WriteConcern(
            2, j=True)).insert_one({'_id': 'of two'})
        first.kill()
        third.start_again()
        with self.assertRaises(REFUSALS) as raised:
            third.run({'replSetReconfig': self.config(2, primary=2), 'force': True})
        self.assertEqual(code_of(raised.exception), 93)
        self.assertIn(second.host, str(raised.exception))
        second.run({'replSetReconfig': self.config(2, primary=1), 'force': True})
        self.wait_until_equal(third, second)
        self.assertEqual(second.client.test.first.count_documents({}), 2)

    def test_of_two_forced_primaries_one_stays(self):
        first, (second, third) = self.begin(3)
        first.kill()
        third.halt()
        try:
            second.run({'replSetReconfig': self.config(2, primary=1), 'force': True})
            second.halt()
        finally:
            third.go_on()
        try:
            third.run({'replSetReconfig': self.config(2, primary=2), 'force': True})
        finally:
            second.go_on()
        wait_until('they have one configuration', lambda: (
            second.run('replSetGetConfig')['config'] == third.run('replSetGetConfig')['config']))
        wait_until('there is one primary', lambda: sorted(
            [second.state() == PRIMARY, third.state() == PRIMARY]) == [False, True])

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
            primary.client.test.command({'find': 'first', '$readPreference': {'mode': 'secondary'}})
        self.assertEqual(code_of(raised.exception), 13436)

    def test_each_entry_overwrites_all_before_it(self):
        small = [*OPTIONS[:OPTIONS.index('--oplogSize')], '--oplogSize', '8', '--replSet', 'rs0']
        first, (second,) = self.begin(2, small)
        for number, megabytes in enumerate([5, 7, 4, 6]):
            answer = first.client.test.command({
                'insert': 'large', 'documents': [{'_id': number, 'pad': 'x' * (megabytes << 20)}],
                'writeConcern': {'w': 2, 'wtimeout': 60000}})
            self.assertNotIn('writeConcernError', answer)
            if number > 0:
                self.assertEqual(first.client.local['oplog.rs'].count_documents({}), 1)
        self.assertEqual(second.state(), SECONDARY)
        self.wait_until_equal(second, first)

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
