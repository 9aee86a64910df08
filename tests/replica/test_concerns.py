"""Writes that wait for other members: what their answers promise, over kills."""

import random
import threading

import pymongo
from pymongo import ReadPreference, errors

from set_member import SECONDARY, WAIT_SECONDS_MAX, wait_until
from sets import Case, Worker


def with_concern(member, **concern):
    return member.client.test.get_collection('first', write_concern=pymongo.WriteConcern(**concern))


def numbers_of(member):
    """Of what acknowledged writers have written, all that a member has."""
    near = ReadPreference.SECONDARY_PREFERRED
    database = member.client.get_database('load', read_preference=near)
    return {each['_id'] for each in database.acknowledged.find({}, {'_id': 1})}


class AcknowledgedWriter(Worker):
    """Inserts numbers of its own, and notes those of which the answer says that two have them in
    their journals."""

    def __init__(self, member, remainder):
        super().__init__()
        self.member, self.next = member, remainder
        self.acknowledged = set()

    def one(self):
        number = self.next
        self.next += 10
        try:
            self.member.client.load.get_collection(
                'acknowledged', write_concern=pymongo.WriteConcern(w=2, j=True)).insert_one(
                    {'_id': number})
            self.acknowledged.add(number)
        except errors.WriteConcernError as error:
            if error.code not in (91, 189, 11600):
                raise


class Concerns(Case):
    def test_members_have_what_was_acknowledged(self):
        primary, others = self.begin(3)
        near = [other.client.get_database('test', read_preference=ReadPreference.SECONDARY).first
                for other in others]
        for number in range(2, 60):
            with_concern(primary, w=3).insert_one({'_id': number})
            for collection in near:
                self.assertEqual(collection.count_documents({}), number)
        for concern in ({'w': 2}, {'w': 'majority'}, {'w': 3, 'j': True}, {'w': 'majority',
                                                                         'wtimeout': 60000}):
            with_concern(primary, **concern).update_one({'_id': 1}, {'$inc': {'n': 1}})
        waits = primary.run('serverStatus')['metrics']['getLastError']
        self.assertGreater(waits['wtime']['num'], 60)
        self.assertEqual(waits['wtimeouts'], 0)
        with_concern(primary, w=3, j=True).insert_one({'_id': 'last'})
        of_self, *of_others = primary.status()['members']
        for seen in of_others:
            self.assertEqual(seen['optime'], of_self['optime'])
            self.assertEqual(seen['optimeDurable'], of_self['optime'])

    def test_members_that_are_away(self):
        primary, (second, third) = self.begin(3)
        second.kill()
        with_concern(primary, w='majority').insert_one({'_id': 2})
        with_concern(primary, w=2, j=True).insert_one({'_id': 3})
        third.kill()
        for concern in ({'w': 2}, {'w': 'majority'}, {'w': 3}):
            with self.assertRaises(errors.WTimeoutError) as raised:
                with_concern(primary, wtimeout=50, **concern).insert_one({'by': str(concern)})
            self.assertEqual(raised.exception.code, 64)
        self.assertEqual(primary.client.test.first.count_documents({}), 6)
        # A write that waits gets its answer when one is back.
        waiting = threading.Thread(target=with_concern(primary, w=2).insert_one,
                                   args=({'_id': 'late'},), daemon=True)
        waiting.start()
        wait_until('it waits', lambda: [each for each in primary.run('currentOp')['inprog']
                                        if each['ns'] == 'test.first'])
        third.start_again()
        waiting.join(WAIT_SECONDS_MAX)
        self.assertFalse(waiting.is_alive())
        self.wait_until_equal(third, primary)

    def test_a_member_without_a_journal_counts_for_no_journal(self):
        primary, (second,) = self.begin(2)
        second.stop()
        second.options.append('--nojournal')
        second.start_again()
        with_concern(primary, w=2).insert_one({'_id': 2})
        with self.assertRaises(errors.WTimeoutError):
            with_concern(primary, w=2, j=True, wtimeout=500).insert_one({'_id': 3})
        self.wait_until_equal(second, primary)


class Kills(Case):
    def test_kills_lose_nothing_that_was_acknowledged_by_two(self):
        """Of whatever member: what two had in their journals, two have after the kills, and the
        secondary that had it still has it."""
        primary, others = self.begin(3)
        writers = [AcknowledgedWriter(primary, number) for number in range(4)]
        for writer in writers:
            writer.start()
        rng = random.Random(primary.port)
        for _ in range(8):
            before = sum(len(writer.acknowledged) for writer in writers)
            wait_until('writes are acknowledged', lambda: sum(
                len(writer.acknowledged) for writer in writers)
                > before + 20)  # pylint: disable=cell-var-from-loop
            victim = rng.choice(self.members)
            victim.kill()
            if victim is primary:
                acknowledged = {number for writer in writers for number in writer.acknowledged}
                self.assertEqual(set(), acknowledged - (numbers_of(others[0])
                                                        | numbers_of(others[1])))
            victim.start_again()
            for other in others:
                self.wait_for_state(other, SECONDARY)
        for writer in writers:
            writer.end()
        acknowledged = {number for writer in writers for number in writer.acknowledged}
        for other in others:
            self.wait_until_equal(other, primary)
        self.assertEqual(set(), acknowledged - numbers_of(primary))
