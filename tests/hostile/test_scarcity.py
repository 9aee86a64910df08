"""A server to whom the system gives no more memory, or no more descriptors: what needs it ends with
an error or its connection does, the process stays, what was acknowledged is there. A sort that uses
files and is killed; data directories whose files are pipes (the rest of these is in
jstests/hostile/)."""

import os
import resource
import socket
import subprocess
import threading
import unittest

import hostile
import server
from hostile import ANSWER_SECONDS_MAX, Case, Connection, Refused, encode, fill
from test_sizes import aggregate

ROOM_BYTES = 24 << 20  # beyond what the idle server has
CLIENTS = 8
ROUNDS = 6


def requests():
    """Each wants more than there is, alone or together with the others; none goes on in files."""
    large = {'s': 'y' * 12000000}
    return [
        {'find': 'wide', 'sort': {'arr': 1, 'f1': 1}, 'allowDiskUse': False},
        {'find': 'long', 'sort': {'s': 1}, 'allowDiskUse': False},
        aggregate('wide', {'$unwind': '$arr'}, {'$group': {'_id': 1, 'x': {'$push': '$$ROOT'}}},
                  allowDiskUse=False),
        aggregate('wide', {'$unwind': '$arr'}, {'$sort': {'arr': -1}}, allowDiskUse=False),
        aggregate('long', {'$project': {'x': {'$concat': ['$s'] * 12}}}),
        {'insert': 'large', 'documents': [large]},
        {'update': 'large', 'updates': [{'q': {}, 'u': {'$set': {'t': 'z' * 3000000}},
                                         'multi': True}]},
        {'findAndModify': 'large', 'query': {}, 'update': {'$push': {'p': large}}},
        {'createIndexes': 'wide', 'indexes': [{'key': {'arr': 1, 'f2': 1}, 'name': 'i'}]},
        {'dropIndexes': 'wide', 'index': '*'},
        {'find': 'one', 'filter': {'a' * 400000: {'$in': list(range(90000))}}},
        {'delete': 'large', 'deletes': [{'q': {}, 'limit': 0}]},
        {'serverStatus': 1}, {'ping': 1}]


class Own(Case):
    """With a server for the test alone."""

    def setUp(self):
        super().setUp()
        self.own = self.own_server()
        self.addCleanup(self.own.kill)


class Descriptors(Own):
    LIMIT = 120
    DOCUMENTS, DOCUMENT_BYTES = 10, 1000000
    JOURNAL_FILE_BYTES = 128 << 20  # with smallfiles

    def taken(self):
        return len(os.listdir('/proc/%d/fd' % self.own.pid))

    def test_clients_leave_the_journal_some(self):
        """Databases and connections take all that they get; the journal goes on in a new file."""
        with Connection(self.own.port) as client:
            for i in range(self.DOCUMENTS):
                client.run({'insert': 'c', 'documents': [
                    {'_id': i, 's': os.urandom(self.DOCUMENT_BYTES)}]})
            resource.prlimit(self.own.pid, resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))
            with self.assertRaises(Refused) as caught:
                for i in range(self.LIMIT):
                    client.run({'insert': 'c', 'documents': [{'_id': 1}]}, 'd%d' % i)
            self.assertIn('Too many open files', caught.exception.text)
            others = [socket.create_connection(('127.0.0.1', self.own.port))
                      for _ in range(self.LIMIT)]
            try:
                for i in range(self.JOURNAL_FILE_BYTES // self.DOCUMENT_BYTES + 20):
                    client.run({'update': 'c', 'updates': [
                        {'q': {'_id': i % self.DOCUMENTS},
                         'u': {'$set': {'s': os.urandom(self.DOCUMENT_BYTES)}}}],
                        'writeConcern': {'j': i % 10 == 0}})
                self.assertLess(self.taken(), self.LIMIT)
                self.assertIn('j._1', os.listdir(os.path.join(self.own.dbpath, 'journal')))
            finally:
                for other in others:
                    other.close()
        self.own.stop()

    def test_idle_cursors_leave_others_some(self):
        """Each holds the files of a sort; those that hold most end."""
        with Connection(self.own.port) as client:
            client.run({'setParameter': 1, 'memoryLimitMB': 128}, 'admin')
            for _ in range(60):
                client.run({'insert': 'c', 'documents': [{'s': 'x' * 10000}] * 100})
            client.run({'fsync': 1}, 'admin')  # what a commit carries is memory, too
            resource.prlimit(self.own.pid, resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))
            before = self.taken()
            for _ in range(10):
                client.run({'aggregate': 'c', 'pipeline': [{'$sort': {'s': 1}}],
                            'cursor': {'batchSize': 1}, 'allowDiskUse': True})
            self.assertGreater(client.run({'serverStatus': 1}, 'admin')['cursors']['timedOut'], 0)
            self.assertLessEqual(self.taken() - before, self.LIMIT // 4)
            with Connection(self.own.port) as other:
                other.run({'ping': 1})
        self.own.stop()


class Memory(Own):
    def address_space(self):
        with open('/proc/%d/statm' % self.own.pid, encoding='ascii') as file:
            return int(file.read().split()[0]) * os.sysconf('SC_PAGESIZE')

    def limit(self, bytes_):
        resource.prlimit(self.own.pid, resource.RLIMIT_AS, (bytes_, resource.RLIM_INFINITY))

    def attack(self, number, messages, acknowledged, answers):
        """Sends all of them in an order of its own; a connection that ends is made again."""
        client = None
        for i in range(ROUNDS * len(messages)):
            try:
                client = client or Connection(self.own.port)
                client.run(messages[(i * (2 * number + 1) + number) % len(messages)])
                answers.append('ok')
            except Refused as error:
                answers.append(error.code)
            except (OSError, ConnectionError):
                answers.append('closed')
                client = None
            if i % 5 or client is None:
                continue
            try:
                client.run({'insert': 'acknowledged', 'documents': [{'_id': number * 10000 + i}],
                            'writeConcern': {'j': True}})
                acknowledged.append(number * 10000 + i)
            except Refused:
                pass
            except (OSError, ConnectionError):
                client = None
        if client:
            client.close()

    def test_nothing_left(self):
        fill(self.own)
        messages = [encode(dict(request, **{'$db': 'hostile'})) for request in requests()]
        acknowledged, answers = [], []
        self.limit(self.address_space() + ROOM_BYTES)
        threads = [threading.Thread(target=self.attack, args=(i, messages, acknowledged, answers))
                   for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ANSWER_SECONDS_MAX * len(messages))
            self.assertFalse(thread.is_alive(), 'a request is not answered')
        self.limit(resource.RLIM_INFINITY)
        self.assertIsNone(self.own.process.poll(), self.own.tail())
        self.assertEqual(len(answers), CLIENTS * ROUNDS * len(messages))
        self.assertTrue({146, 'closed'} & set(answers), 'there was enough for all of this')
        with Connection(self.own.port) as client:
            there = {row['_id'] for row in client.run(
                {'find': 'acknowledged', 'batchSize': 100000})['cursor']['firstBatch']}
            self.assertLessEqual(set(acknowledged), there)
            self.assertTrue(acknowledged)
            for name in ('wide', 'large', 'acknowledged'):
                try:
                    report = client.run({'validate': name, 'full': True})
                    self.assertTrue(report['valid'], report)
                except Refused as error:
                    self.assertEqual(error.code, 26, error)
            status = client.run({'serverStatus': 1}, 'admin')
            self.assertEqual(status['globalLock']['currentQueue']['total'], 0)
            running = list(client.run({'currentOp': 1}, 'admin')['inprog'])
            self.assertEqual(len(running), 1, running)
        self.own.stop()


ROWS, ROW_BYTES = 1500, 100000  # more than one operation may hold
SORT = {'$sort': {'k': 1}}
GROUP = {'$group': {'_id': '$_id', 'k': {'$first': '$k'}, 's': {'$first': '$s'}}}


class Spilled(Case):
    def files(self):
        folder = os.path.join(self.server.dbpath, '_tmp')
        return os.listdir(folder) if os.path.isdir(folder) else []

    def test_a_kill_takes_its_files_away(self):
        for begin in range(0, ROWS, 100):
            self.client.run({'insert': 'big', 'documents': [
                {'_id': i, 'k': i * 7919 % 100, 's': 'x' * ROW_BYTES}
                for i in range(begin, begin + 100)]})
        with Connection(self.server.port) as client:
            client.start(aggregate('big', SORT, GROUP, {'$sort': {'s': 1, 'k': -1}}, GROUP, SORT,
                                   comment='to be killed', allowDiskUse=True))
            self.wait_until(self.files, 'a file')
            operation = self.find_operation('to be killed', 'comment')
            self.client.run({'killOp': 1, 'op': operation}, 'admin')
            self.refused(11601, client.finish)
        self.assertEqual(self.files(), [])
        self.client.run({'drop': 'big'})


class Directories(unittest.TestCase):
    def test_tools_that_meet_pipes(self):
        folder = self.enterContext(server.scratch())
        dbpath = os.path.join(folder, 'db')
        os.makedirs(os.path.join(dbpath, 'journal'))
        mongod = hostile.Case.server.program
        for number, name in enumerate(['journal/j._0', 'x.0', 'x.ns', 'mongod.lock']):
            os.mkfifo(os.path.join(dbpath, name))
            for tool in (['journal_dump', dbpath],
                         ['journal_dump', os.path.join(dbpath, 'journal', 'j._0')],
                         ['dbpath_check', dbpath],
                         ['mongod', '--dbpath', dbpath, '--salvage',
                          os.path.join(folder, 'dump-%d' % number)]):
                with self.subTest(name=name, tool=tool[0]):
                    tool[0] = os.path.join(os.path.dirname(mongod), tool[0])
                    done = subprocess.run(tool, capture_output=True, text=True,
                                          timeout=hostile.ANSWER_SECONDS_MAX)
                    self.assertNotEqual(0, done.returncode)
                    self.assertNotEqual('', done.stdout + done.stderr)
            os.remove(os.path.join(dbpath, name))
