"""Everything at once: writers, cursors and indexes, while others kill all operations and cursors,
lock and unlock the server, close and drop databases, rotate the log, break off in the middle of a
message; then an end in the midst of it.

A build with sanitize=thread looks for races in it: what it finds ends the server, and so the
test. TEST_EFFORT=N in the environment makes it N times as long."""

import glob
import os
import random
import struct
import subprocess
import threading
import time

import bson
import server
from hostile import (ANSWER_SECONDS_MAX, OP_GET_MORE, OP_KILL_CURSORS, OP_MSG, OP_QUERY, Case,
                     Connection, Refused)

SECONDS = 2 * float(os.environ.get('TEST_EFFORT', 1))
KEPT, FLEETING = 'kept', 'fleeting'  # databases: one that is never dropped, others that go
NOT_LOCKED = 'not locked'


class Logged(server.Server):
    """With a log file that it may rotate."""

    def command_line(self):
        return super().command_line() + ['--logpath', self.log_path, '--logappend']

    def reports(self):
        """What a sanitizer or a signal's handler has written, wherever the log went."""
        found = []
        for path in sorted(glob.glob(self.log_path + '*')):
            with open(path, encoding='utf-8', errors='replace') as log:
                text = log.read()
            for mark in ('Sanitizer', 'SEVERE', 'Got signal'):
                if mark in text:
                    found.append(text[max(0, text.index(mark) - 200):][:12000])
                    break
        return '\n'.join(found) or self.tail()


class Worker(threading.Thread):
    """Does one kind of work until asked to end. A refusal is an answer; a connection that is closed
    is none, unless the server is about to end."""

    def __init__(self, turmoil, kind, number):
        super().__init__(daemon=True)
        self.turmoil, self.kind, self.number = turmoil, kind, number
        self.chance = random.Random('%s %d' % (kind, number))
        self.last_key = 1000000 * number
        self.work = getattr(self, kind)
        self.done, self.failure = 0, None
        self.acknowledged, self.client = [], None

    def run(self):
        try:
            self.client = Connection(self.turmoil.port)
            while not self.turmoil.over.is_set():
                try:
                    self.work()
                    self.done += 1
                except Refused:
                    pass
        except (OSError, ConnectionError, struct.error) as error:
            if not self.turmoil.ending.is_set():
                self.failure = error
        finally:
            if self.client:
                self.client.close()

    def call(self, command, database=KEPT):
        return self.client.run(command, database)

    def fleeting(self):
        return '%s%d' % (FLEETING, self.chance.randrange(2))

    def insert(self):
        self.last_key = key = self.last_key + 1
        self.call({'insert': 'c', 'writeConcern': {'j': True},
                   'documents': [{'_id': key, 'k': key % 97, 's': 'x' * (key % 700)}]})
        self.acknowledged.append(key)

    def change(self):
        self.call({'update': 'c', 'writeConcern': {'j': self.chance.random() < 0.5},
                   'updates': [{'q': {'k': self.chance.randrange(97)}, 'multi': True,
                                'u': {'$set': {'t': 'y' * self.chance.randrange(300)}}}]})

    def read(self):
        database = self.chance.choice([KEPT, self.fleeting()])
        cursor = self.call({'find': 'c', 'batchSize': 2}, database)['cursor']
        for _ in range(self.chance.randrange(6)):
            if not cursor['id']:
                return
            cursor = self.call({'getMore': bson.Int64(cursor['id']), 'collection': 'c',
                                'batchSize': 3}, database)['cursor']
        if cursor['id'] and self.chance.random() < 0.7:
            self.call({'killCursors': 'c', 'cursors': [bson.Int64(cursor['id'])]}, database)

    def read_as_of_old(self):
        """By the opcodes; two connections share the cursor."""
        namespace = ('%s.c' % self.chance.choice([KEPT, self.fleeting()])).encode() + b'\0'
        self.client.send(OP_QUERY, struct.pack('<i', 4) + namespace + struct.pack('<ii', 0, 2)
                         + bson.encode({}))
        cursor, = struct.unpack_from('<q', self.client.receive(), 20)
        with Connection(self.turmoil.port) as other:
            get_more = struct.pack('<i', 0) + namespace + struct.pack('<iq', 3, cursor)
            self.client.send(OP_GET_MORE, get_more)
            other.send(OP_GET_MORE, get_more)
            if self.chance.random() < 0.5:
                other.send(OP_KILL_CURSORS, struct.pack('<iiq', 0, 1, cursor))
            self.client.receive()
            other.receive()

    def sort(self):
        self.call({'aggregate': 'c', 'cursor': {'batchSize': 2}, 'pipeline': [
            {'$sort': {'s': 1, 'k': -1}}, {'$group': {'_id': '$k', 'n': {'$sum': 1}}}]},
            self.chance.choice([KEPT, self.fleeting()]))

    def wait_for_news(self):
        cursor = self.call({'find': 'ring', 'tailable': True, 'awaitData': True})['cursor']
        for _ in range(self.chance.randrange(1, 4)):
            if not cursor['id']:
                return
            cursor = self.call({'getMore': bson.Int64(cursor['id']), 'collection': 'ring',
                                'maxTimeMS': self.chance.choice([1, 5, 500])})['cursor']
            self.done += 1

    def news(self):
        self.call({'insert': 'ring', 'documents': [{'s': 'x' * self.chance.randrange(200)}]})

    def come_and_go(self):
        """Drops under others' cursors."""
        database, dice = self.fleeting(), self.chance.random()
        if dice < 0.6:
            self.call({'insert': 'c', 'documents': [
                {'k': i, 's': 'x' * (37 * i % 500)} for i in range(40)]}, database)
        elif dice < 0.8:
            self.call({'drop': 'c'}, database)
        elif dice < 0.9:
            self.call({'renameCollection': database + '.c', 'to': database + '.d',
                       'dropTarget': True}, 'admin')
        else:
            self.call({'dropDatabase': 1}, database)

    def index(self):
        database = self.chance.choice([KEPT, self.fleeting()])
        self.call({'createIndexes': 'c', 'indexes': [
            {'key': {'k': 1}, 'name': 'k', 'background': self.chance.random() < 0.5}]}, database)
        self.done += 1
        self.call(self.chance.choice([{'dropIndexes': 'c', 'index': 'k'}, {'reIndex': 'c'},
                                      {'compact': 'c'}]), database)

    def kill_operations(self):
        operations = list(self.call({'currentOp': 1, '$all': True}, 'admin')['inprog'])
        operations += self.call({'aggregate': 1, 'cursor': {}, 'pipeline': [{'$currentOp': {}}]},
                                'admin')['cursor']['firstBatch']
        for operation in operations:
            # Not every one, so that others end, too.
            if isinstance(operation.get('opid'), int) and self.chance.random() < 0.3:
                self.call({'killOp': 1, 'op': operation['opid']}, 'admin')

    def lock(self):
        self.call({'fsync': 1, 'lock': True}, 'admin')
        try:
            time.sleep(self.chance.random() * 0.03)  # how long others wait, not for anything
        finally:
            self.unlock(self.call)

    @staticmethod
    def unlock(call):
        """Until it is: the operation that unlocks may be killed, too."""
        while True:
            try:
                call({'fsyncUnlock': 1}, 'admin')
                return
            except Refused as error:
                if NOT_LOCKED in error.text:
                    return

    def close_databases(self):
        self.call({'closeAllDatabases': 1}, 'admin')
        time.sleep(0.02)

    def hold(self):
        """Everything, for reading or writing; the loop of a waiting client is taken over."""
        self.call({'sleep': 1, 'w': self.chance.random() < 0.5, 'millis': 5}, 'admin')

    def administer(self):
        self.call(self.chance.choice([
            {'setParameter': 1, 'journalCommitInterval': self.chance.randrange(2, 20)},
            {'setParameter': 1, 'logLevel': self.chance.randrange(2)},
            {'setParameter': 1, 'memoryLimitMB': self.chance.choice([1, 64, 256])},
            {'logRotate': 1}, {'fsync': 1}, {'serverStatus': 1}, {'top': 1}, {'hostInfo': 1},
            {'listDatabases': 1}, {'getLog': 'global'}, {'connPoolStats': 1},
            {'cursorInfo': 1}, {'getParameter': '*'}]), 'admin')
        self.call(self.chance.choice([
            {'profile': self.chance.randrange(3)}, {'dbStats': 1}, {'collStats': 'c'},
            {'validate': 'c', 'full': True}, {'dbHash': 1}, {'listCollections': 1}]),
            self.fleeting())

    def sessions(self):
        session = {'id': bson.Binary(self.chance.randbytes(16), 4)}
        self.call({'find': 'c', 'batchSize': 2, 'lsid': session})
        self.call(self.chance.choice([{'endSessions': [session]}, {'killSessions': [session]},
                                      {'killAllSessions': []}]), 'admin')

    def break_off(self):
        """In the middle of a message, or of an answer."""
        with Connection(self.turmoil.port) as other:
            if self.chance.random() < 0.5:
                head = struct.pack('<iiii', 5000, 1, 0, OP_MSG)
                other.socket.sendall((head + b'x' * 200)[:1 + self.chance.randrange(200)])
            else:
                other.start({'find': 'c', 'batchSize': 10000}, KEPT)
                other.socket.recv(self.chance.choice([1, 16, 5000]))


KINDS = {'insert': 3, 'change': 1, 'read': 2, 'read_as_of_old': 1, 'sort': 1, 'wait_for_news': 2,
         'news': 1, 'come_and_go': 2, 'index': 1, 'kill_operations': 1, 'lock': 1,
         'close_databases': 1, 'hold': 1, 'administer': 2, 'sessions': 1, 'break_off': 1}


class Turmoil(Case):
    def setUp(self):
        super().setUp()
        folder = self.enterContext(server.scratch('turmoil-'))
        self.own = Logged(self.server.program, os.path.join(folder, 'db'),
                          self.server.options + ['--syncdelay', '1'])
        self.addCleanup(lambda: self.own.kill())
        self.port = self.own.port
        self.over, self.ending = threading.Event(), threading.Event()

    def end_in_the_midst(self, end):
        """`end` is called under load, with a client; the server is to end by itself, with 0, and
        what it leaves is whole and holds all that was acknowledged."""
        with Connection(self.port) as client:
            client.run({'create': 'ring', 'capped': True, 'size': 8192}, KEPT)
            client.run({'insert': 'ring', 'documents': [{'_id': 1}]}, KEPT)
        workers = [Worker(self, kind, number) for kind, count in KINDS.items()
                   for number in range(1, count + 1)]
        for worker in workers:
            worker.start()
        begin = time.monotonic()
        limit = begin + SECONDS + ANSWER_SECONDS_MAX
        while time.monotonic() < limit and self.own.process.poll() is None:
            idle = set(KINDS) - {worker.kind for worker in workers if worker.done}
            if time.monotonic() - begin > SECONDS and not idle:
                break
            time.sleep(0.01)
        self.ending.set()
        if self.own.process.poll() is None:
            end()
        try:
            code = self.own.process.wait(ANSWER_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            code = 'not ended'
        self.over.set()
        for worker in workers:
            worker.join(ANSWER_SECONDS_MAX)
        self.assertEqual(code, 0, self.own.reports())
        self.assertEqual(idle, set(), 'work that never succeeded')
        self.assertEqual([(w.kind, w.failure) for w in workers if w.failure], [])
        self.assertFalse(any(worker.is_alive() for worker in workers))
        self.check_what_is_left(workers)

    def check_what_is_left(self, workers):
        self.assertEqual(os.path.getsize(os.path.join(self.own.dbpath, 'mongod.lock')), 0)
        self.assertEqual(glob.glob(os.path.join(self.own.dbpath, 'journal', 'j._*')), [])
        self.own = server.Server(self.server.program, self.own.dbpath, self.server.options)
        with Connection(self.own.port) as client:
            there = set()
            cursor = client.run({'find': 'c', 'batchSize': 10000}, KEPT)['cursor']
            there.update(row['_id'] for row in cursor['firstBatch'])
            while cursor['id']:
                cursor = client.run({'getMore': bson.Int64(cursor['id']), 'collection': 'c'},
                                    KEPT)['cursor']
                there.update(row['_id'] for row in cursor['nextBatch'])
            for worker in workers:
                self.assertLessEqual(set(worker.acknowledged), there)
            for database in client.run({'listDatabases': 1}, 'admin')['databases']:
                name = database['name']
                for row in client.run({'listCollections': 1}, name)['cursor']['firstBatch']:
                    report = client.run({'validate': row['name'], 'full': True}, name)
                    self.assertTrue(report['valid'], report)
        self.own.stop()

    def test_a_signal(self):
        self.end_in_the_midst(self.own.process.terminate)

    def test_shutdown(self):
        def shut_down():
            while self.own.process.poll() is None:
                try:
                    with Connection(self.port) as client:
                        client.run({'shutdown': 1, 'force': True}, 'admin')
                except Refused:  # it may have been killed
                    continue
                except (OSError, ConnectionError):
                    return
        self.end_in_the_midst(shut_down)
