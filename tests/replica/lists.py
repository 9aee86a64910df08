"""Transactions over lists, for histories.py, and groups of transactions that an end meets.

A list is an array, rows of a unique index, or a document that is removed and inserted anew, so that
updates, inserts and removals, cursors over what is not committed and unique keys all take part."""

import contextlib
import random
import threading

import bson
import pymongo
from pymongo import errors

import messages
import sets
from histories import APPEND, FAILED, OK, READ, UNKNOWN, History, Transaction

MAJORITY = pymongo.WriteConcern('majority', j=True)
LENGTH = 20  # of a list, about, before another one takes its place
LISTS = 6  # that are in use together, two of each kind
GROUP = 100  # transactions that one end meets


class Arrays:
    """{_id: list, values: [...]}"""

    name = 'arrays'

    @classmethod
    def read(cls, db, key, session):
        found = db[cls.name].find_one({'_id': key}, session=session)
        return found['values'] if found else []

    @staticmethod
    def append(db, key, value, _, session):
        db.arrays.update_one({'_id': key}, {'$push': {'values': value}}, upsert=True,
                             session=session)


class Rows:
    """{list: list, at: 0.., value: value}, unique"""

    @staticmethod
    def read(db, key, session):
        return [each['value'] for each in db.rows.find({'list': key}, sort=[('at', 1)],
                                                       session=session)]

    @staticmethod
    def append(db, key, value, before, session):
        db.rows.insert_one({'list': key, 'at': len(before), 'value': value}, session=session)


class Moved(Arrays):
    """{_id: list, values: [...]}, always another document"""

    name = 'moved'

    @staticmethod
    def append(db, key, value, before, session):
        db.moved.delete_one({'_id': key}, session=session)
        db.moved.insert_one({'_id': key, 'values': [*before, value]}, session=session)


KINDS = (Arrays, Rows, Moved)


def kind_of(key):
    return KINDS[key % len(KINDS)]


class Load:
    """What all workers share: the lists in use, and what each transaction did."""

    def __init__(self):
        self.history = []

    def keys(self):
        first = len(self.history) // LENGTH
        return range(first, first + LISTS)

    def begin(self, client):
        client.h.rows.create_index([('list', 1), ('at', 1)], unique=True)
        for name in ('arrays', 'moved'):
            client.h.create_collection(name)

    def check(self, client):
        """(faults, whether there is write skew) of all there was so far."""
        history = list(self.history)
        last = max((key for each in history for _, key, _ in each.steps), default=-1)
        final = {key: kind_of(key).read(client.h, key, None) for key in range(last + 1)}
        return History(history, final).check()


class Appender(sets.Worker):
    def __init__(self, load, client, number, seed):
        super().__init__()
        self.load, self.client, self.number = load, client, number
        self.chance, self.turn = random.Random(seed), 0

    def steps(self, found, session):
        for _ in range(self.chance.randrange(1, 5)):
            key = self.chance.choice(self.load.keys())
            kind = kind_of(key)
            is_append = self.chance.random() < 0.5
            before = None
            if not is_append or kind is not Arrays:
                before = kind.read(self.client.h, key, session)
                found.steps.append((READ, key, before))
            if is_append:
                value = '%d.%d.%d' % (self.number, self.turn, len(found.steps))
                found.steps.append((APPEND, key, value))
                kind.append(self.client.h, key, value, before, session)

    def one(self):
        self.turn += 1
        found = Transaction('%d.%d' % (self.number, self.turn))
        self.load.history.append(found)
        with self.client.start_session() as session:
            session.start_transaction(write_concern=MAJORITY)
            try:
                self.steps(found, session)
                if self.chance.random() < 0.1:
                    session.abort_transaction()
                    found.outcome = FAILED
                    return
            except errors.DuplicateKeyError:
                raise  # the snapshot did not have it, so that this is a conflict
            except errors.PyMongoError:
                found.outcome = FAILED
                return
            found.outcome = self.commit(session)

    def commit(self, session):
        while True:
            try:
                session.commit_transaction()
                return OK
            except errors.PyMongoError as error:
                if not error.has_error_label('UnknownTransactionCommitResult'):
                    if error.has_error_label('TransientTransactionError'):
                        return FAILED
                    raise
                if self.is_over.wait(0.05):
                    return UNKNOWN


class Changer(sets.Worker):
    """Indexes come and go, and so does a collection."""

    def __init__(self, client):
        super().__init__()
        self.client, self.done = client, 0

    def one(self):
        db = self.client.h
        for name in ('arrays', 'rows', 'moved'):
            with contextlib.suppress(errors.OperationFailure):
                db[name].create_index('value')
                db.other.insert_one({})
                db[name].drop_index('value_1')
                db.other.drop()
                self.done += 1
            self.is_over.wait(0.2)


class Group:
    """Transactions of three documents each, whose commits are sent at once. Each has a session."""

    def __init__(self, port, first):
        self.port, self.numbers = port, range(first, first + GROUP)
        self.acknowledged, self.there = set(), None

    def meet(self, end, before, seconds):
        """The end comes when the first so many are answered, and the others have been on their way
        for so long."""
        with contextlib.ExitStack() as stack:
            sent = [stack.enter_context(messages.Connection(self.port, 60)) for _ in self.numbers]
            pairs = list(zip(self.numbers, sent))
            for number, connection in pairs:
                self.change(number, connection)
            for number, connection in pairs[:before]:
                self.commit(number, connection)
            for number, connection in pairs[:before]:
                self.receive(number, connection)
            ending = threading.Timer(seconds, end)
            ending.start()
            for number, connection in pairs[before:]:
                with contextlib.suppress(OSError):
                    self.commit(number, connection)
            for number, connection in pairs[before:]:
                with contextlib.suppress(OSError, messages.Refused):
                    self.receive(number, connection)
            ending.join()

    def commit(self, number, connection):
        self.send(number, connection, {'commitTransaction': 1, 'writeConcern': {
            'w': 'majority', 'j': True}}, 'admin')

    def receive(self, number, connection):
        if bson.decode(connection.receive_message())['ok'] == 1:
            self.acknowledged.add(number)

    def change(self, number, connection):
        for name in ('arrays', 'rows', 'moved'):
            more = {'startTransaction': True} if name == 'arrays' else {}
            self.send(number, connection, {'insert': 'group_' + name, 'documents': [
                {'_id': number}], **more}, 'h')
            reply = bson.decode(connection.receive_message())
            if reply['ok'] != 1:
                raise AssertionError(reply)

    @staticmethod
    def send(number, connection, command, database):
        connection.send_message({
            **command, 'lsid': {'id': bson.Binary(number.to_bytes(16, 'big'), 4)},
            'txnNumber': bson.Int64(1), 'autocommit': False, '$db': database})

    def faults(self, client):
        self.there = there = [{each['_id'] for each in client.h['group_' + name].find(
            {'_id': {'$gte': self.numbers[0]}})} for name in ('arrays', 'rows', 'moved')]
        found = []
        if len(set(map(frozenset, there))) != 1:
            found.append('parts of a transaction: %s' % there)
        if self.acknowledged - there[0]:
            found.append('lost: %s' % (self.acknowledged - there[0]))
        return found
