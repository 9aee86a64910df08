"""replSetStepDown: another member becomes the primary, and nothing is lost by it."""

import os
import shutil
import threading
import uuid

import bson
import pymongo
from bson.int64 import Int64
from pymongo import errors

from set_member import PRIMARY, SECONDARY, wait_until
from sets import REFUSALS, Case, Member, Worker, code_of


class DriverWriter(Worker):
    """Inserts numbers of its own by a driver at its defaults that knows the set, and notes those
    that were acknowledged."""

    def __init__(self, members, remainder):
        super().__init__()
        self.client = pymongo.MongoClient([each.host for each in members], replicaSet='rs0')
        self.next, self.acknowledged, self.failures = remainder, [], []

    def one(self):
        number = self.next
        self.next += 10
        try:
            self.client.load.acknowledged.insert_one({'_id': number})
            self.acknowledged.append(number)
        except errors.PyMongoError as error:
            self.failures.append(error)

    def end(self):
        super().end()
        self.client.close()


class HandOver(Case):
    def setUp(self):
        super().setUp()
        self.writers = []

    def begin_writes(self):
        self.writers = [DriverWriter(self.members, number) for number in range(3)]
        for writer in self.writers:
            writer.start()
            self.addCleanup(writer.end)
        self.wait_for_writes()

    def wait_for_writes(self):
        counts = [len(writer.acknowledged) for writer in self.writers]
        wait_until('each writer goes on', lambda: all(
            len(writer.acknowledged) > count + 5 for writer, count in zip(self.writers, counts)))

    def end_writes(self):
        """What was acknowledged, by any."""
        for writer in self.writers:
            writer.end()
        return {number for writer in self.writers for number in writer.acknowledged}

    def assert_has(self, member, numbers):
        found = {each['_id'] for each in member.client.load.acknowledged.find({}, {'_id': 1})}
        self.assertEqual(numbers - found, set())

    def test_there_and_back_under_writes(self):
        first, (second,) = self.begin(2)
        first.run('replSetReconfig', dict(self.config(2), members=[
            {'_id': 0, 'host': first.host, 'priority': 3, 'tags': {'at': 'first'}},
            {'_id': 1, 'host': second.host, 'priority': 0, 'votes': 0}]))
        self.begin_writes()
        old, new = first, second
        for _ in range(4):
            self.hand_over(old, new)
            self.wait_for_writes()
            self.wait_for_state(old, SECONDARY)
            old, new = new, old
        acknowledged = self.end_writes()
        # A driver sends a write again by itself; each of its writes was answered.
        self.assertEqual([failure for writer in self.writers for failure in writer.failures], [])
        self.wait_until_equal(second, first)
        for member in self.members:
            self.assert_has(member, acknowledged)
        config = first.run('replSetGetConfig')['config']
        self.assertEqual(config['version'], 6)
        self.assertEqual([(each['priority'], each['votes']) for each in config['members']],
                         [(3, 1), (0, 0)])
        self.assertEqual(config['members'][0]['tags'], {'at': 'first'})
        terms = [entry['t'] for entry in first.client.local['oplog.rs'].find()]
        self.assertEqual(terms, sorted(terms))
        self.assertEqual(terms[-1], 5)

    def test_a_third_member_follows_the_new_one(self):
        first, (second, third) = self.begin(3)
        first.run('replSetReconfig', dict(self.config(2), members=[
            {'_id': 0, 'host': first.host}, {'_id': 1, 'host': second.host, 'priority': 0},
            {'_id': 2, 'host': third.host, 'priority': 0, 'hidden': True}]))
        connected = first.client.admin.command('hello')['connectionId']
        self.hand_over(first, second)
        self.assertEqual(first.client.admin.command('hello')['connectionId'], connected)
        second.client.test.get_collection(
            'first', write_concern=pymongo.WriteConcern(w=3, j=True)).insert_one({'_id': 2})
        for member in (first, third):
            self.wait_until_equal(member, second)
        with self.assertRaises(REFUSALS) as raised:
            first.client.test.command({'insert': 'first', 'documents': [{'_id': 3}]})
        self.assertEqual(code_of(raised.exception), 10107)
        with self.assertRaises(REFUSALS) as raised:
            first.run({'replSetStepDown': 60})
        self.assertEqual(code_of(raised.exception), 10107)

    def test_each_member_hears_of_a_new_state_at_once(self):
        first, (second, third) = self.begin(3)
        # So that no member asks by itself.
        settings = {'heartbeatIntervalMillis': 10 * 60 * 1000}
        config = dict(self.config(2), settings=settings)
        config['members'][2]['votes'] = 0  # so that the second one is the heir
        first.run('replSetReconfig', config)
        wait_until('all have it', lambda: all(
            each.run('replSetGetConfig')['config']['version'] == 2 for each in self.members))
        self.hand_over(first, second)
        for member in self.members:
            wait_until('it knows all states; ' + member.tail(5), lambda: [
                each['state'] for each in member.status()['members']] == [  # pylint: disable=W0640
                    SECONDARY, PRIMARY, SECONDARY])

    def test_one_that_is_stopped_does_not_get_it(self):
        first, (second,) = self.begin(2)
        version = first.run('replSetGetConfig')['config']['version']
        second.halt()
        try:
            with self.assertRaises(REFUSALS) as raised:
                first.run({'replSetStepDown': 60, 'secondaryCatchUpPeriodSecs': 1})
            self.assertEqual(code_of(raised.exception), 50)
            self.assertIn('No electable secondaries caught up', str(raised.exception))
            self.assertTrue(first.run('hello')['isWritablePrimary'])
            first.client.test.first.insert_one({'_id': 2})
        finally:
            second.go_on()
        with self.assertRaises(REFUSALS) as raised:
            first.run({'replSetStepDown': 60, 'force': True})
        self.assertEqual(code_of(raised.exception), 20)
        self.wait_until_equal(second, first)
        self.assertEqual(first.run('replSetGetConfig')['config']['version'], version)
        # While it waits no write is taken, and what waits for members is not ended by that.
        second.halt()
        done = []
        stepping = threading.Thread(
            target=lambda: done.append(first.run({'replSetStepDown': 60})), daemon=True)
        stepping.start()
        try:
            wait_until('it takes no writes', lambda: not first.run('hello')['isWritablePrimary'])
            with self.assertRaises(REFUSALS) as raised:
                first.client.test.command({'insert': 'first', 'documents': [{'_id': 3}]})
            self.assertEqual(code_of(raised.exception), 10107)
        finally:
            second.go_on()
        stepping.join()
        self.assertEqual(done[0]['ok'], 1)
        self.wait_for_state(second, PRIMARY)

    def test_the_old_one_is_killed_right_after(self):
        first, (second,) = self.begin(2)
        self.begin_writes()
        old, new = first, second
        for _ in range(3):
            old.run({'replSetStepDown': 60, 'secondaryCatchUpPeriodSecs': 60})
            old.kill()
            # Whether the new one has heard of it or not: one is the primary, when both are up.
            old.start_again()
            self.wait_for_state(new, PRIMARY)
            self.wait_for_writes()
            self.wait_for_state(old, SECONDARY)
            old, new = new, old
        acknowledged = self.end_writes()
        self.wait_until_equal(second, first)
        for member in self.members:
            self.assert_has(member, acknowledged)


class Retries(Case):
    """What was written before a member had its first copy is done once, too."""

    def begin_alone(self):
        first, _ = self.begin(1)
        sessions = [{'id': bson.Binary.from_uuid(uuid.uuid4())} for _ in range(3)]
        count = {'$inc': {'count': 1}}
        self.numbered = [
            {'update': 'first', 'updates': [{'q': {'_id': 1}, 'u': count}], 'lsid': sessions[0],
             'txnNumber': Int64(7)},
            {'findAndModify': 'first', 'query': {'_id': 1}, 'update': count, 'new': True,
             'lsid': sessions[1], 'txnNumber': Int64(1)},
            {'insert': 'first', 'documents': [{'_id': 2}, {'_id': 3}], 'lsid': sessions[2],
             'txnNumber': Int64(1)}]
        self.answers = self.send_all(first)
        self.assertEqual(self.answers[1], {'_id': 1, 'count': 2})
        return first

    def send_all(self, member):
        answers = [member.send('test', each) for each in self.numbered]
        self.assertEqual([each['ok'] for each in answers], [1] * len(answers), answers)
        return [each.get('value', each.get('n')) for each in answers]

    def assert_done_once(self, member):
        before = member.position()
        self.assertEqual(self.send_all(member), self.answers)
        self.assertEqual(list(member.client.test.first.find(sort=[('_id', 1)])),
                         [{'_id': 1, 'count': 2}, {'_id': 2}, {'_id': 3}])
        self.assertEqual(member.position(), before)

    def add(self, first):
        first.run('replSetReconfig', self.config(len(self.members)))
        self.wait_for_state(self.members[-1], SECONDARY)
        self.wait_until_equal(self.members[-1], first)

    def test_by_a_copy(self):
        first = self.begin_alone()
        second = self.start(1)[-1]
        self.add(first)
        self.hand_over(first, second)
        self.assert_done_once(second)
        self.wait_until_equal(first, second)
        self.hand_over(second, first)
        self.assert_done_once(first)

    def test_by_a_copy_that_was_cut_short_and_a_start(self):
        first = self.begin_alone()
        first.client.load.numbered.insert_many({'pad': 'x' * 300} for _ in range(5000))
        second = self.start(1)[-1]
        first.run('replSetReconfig', self.config(2))
        for _ in range(3):
            wait_until('it has begun', lambda: 'initial sync: copying' in second.tail(20))
            second.kill()
            second.start_again()
        self.wait_for_state(second, SECONDARY)
        second.kill()
        second.start_again()
        self.wait_until_equal(second, first)
        self.hand_over(first, second)
        self.assert_done_once(second)

    def test_by_the_files_of_another_member(self):
        first = self.begin_alone()
        self.start(1)
        self.add(first)
        second = self.members.pop()
        second.stop()
        folder = os.path.join(self.folder, 'copied')
        shutil.copytree(second.dbpath, folder, ignore=shutil.ignore_patterns('*.lock'))
        self.members.append(self.enterContext(Member(folder)))
        first.run('replSetReconfig', self.config(3))
        self.wait_for_state(self.members[-1], SECONDARY)
        self.wait_until_equal(self.members[-1], first)
        self.hand_over(first, self.members[-1])
        self.assert_done_once(self.members[-1])
