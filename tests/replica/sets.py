"""What the tests of tests/replica/ share: members that can be started again, a writer, a set."""

import contextlib
import os
import random
import threading
import unittest

import bson
import pymongo
from pymongo import errors

import messages
import server
from set_member import OPTIONS, PRIMARY, SECONDARY, SETTINGS, SetMember, wait_until

DURABLE = pymongo.WriteConcern(j=True)
# What a driver makes of them.
REFUSALS = (errors.NotPrimaryError, errors.OperationFailure)


class Member(SetMember):
    def __init__(self, dbpath, options=OPTIONS):
        super().__init__(Case.program, dbpath, options)
        self.client = self.connect()

    def connect(self):
        return pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=30000)

    def start_again(self):
        super().start_again()
        # The connections of the old one have ended.
        self.client = self.connect()

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
        return self.run('hello')['lastWrite']['opTime']

    def send(self, database, command):
        """As it stands: a driver would give it the session and the number of its own."""
        with messages.Connection(self.port, 60) as connection:
            connection.send_message({**command, '$db': database})
            return bson.decode(connection.receive_message())

    def hashes(self, database):
        return self.client[database].command('dbHash')['collections']


def code_of(refusal):
    return refusal.details['code']


class Worker(threading.Thread):
    """Does one() over and over until end(); goes on once the primary is there again."""

    passing = (errors.AutoReconnect, errors.NotPrimaryError)

    def __init__(self):
        super().__init__(daemon=True)
        self.is_over, self.failure = threading.Event(), None

    def run(self):
        while not self.is_over.is_set():
            try:
                self.one()
            except self.passing:
                self.is_over.wait(0.05)
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error
                return

    def end(self):
        self.is_over.set()
        self.join()
        if self.failure is not None:
            raise self.failure


class Writer(Worker):
    """Writes one document after the other, numbered, and changes others at random."""

    kinds = 100  # of changes: the last one is an $out

    def __init__(self, member, seed):
        super().__init__()
        self.member, self.random = member, random.Random(seed)
        self.next = 0  # what comes next in `numbered`

    def one(self):
        # What is acknowledged outlives a kill of the primary, so that no number is left out.
        db = self.member.client.get_database('load', write_concern=DURABLE)
        with contextlib.suppress(errors.DuplicateKeyError):
            db.numbered.insert_one({'_id': self.next, 'pad': 'x' * self.random.randrange(300)})
        self.next += 1
        key = self.random.randrange(400)
        kind = self.random.randrange(self.kinds)
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


class Case(unittest.TestCase):
    program = ''

    def setUp(self):
        self.folder = self.enterContext(server.scratch())
        self.members = []

    def start(self, count, options=OPTIONS):
        for _ in range(count):
            self.members.append(self.enterContext(
                Member(os.path.join(self.folder, str(len(self.members))), options)))
        return self.members

    def config(self, version, primary=0, count=None):
        members = self.members[:count]
        return {'_id': 'rs0', 'version': version, 'settings': SETTINGS, 'members': [
            {'_id': number, 'host': each.host, 'priority': int(number == primary)}
            for number, each in enumerate(members)]}

    def wait_for_state(self, member, *states):
        wait_until('state %s of %s; %s' % (states, member.host, member.tail(5)),
                   lambda: member.state() in states)

    def hand_over(self, old, new):
        old.run({'replSetStepDown': 60, 'secondaryCatchUpPeriodSecs': 60})
        self.assertNotEqual(old.state(), PRIMARY)
        self.wait_for_state(new, PRIMARY)

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
        return {spec['name']: spec.to_dict()
                for spec in member.client[database][name].list_indexes()}

    def assert_prefix(self, member):
        """Of the numbered documents it has the first ones, and all of them."""
        numbers = [doc['_id'] for doc in member.client.load.numbered.find({}, {'_id': 1})]
        numbers.sort()
        self.assertEqual(numbers, list(range(len(numbers))))

    def begin(self, count, options=OPTIONS):
        primary, *others = self.start(count, options)
        primary.run('replSetInitiate', self.config(1))
        primary.client.test.first.insert_one({'_id': 1})
        for other in others:
            self.wait_for_state(other, SECONDARY)
            self.wait_until_equal(other, primary)
        return primary, others
