"""What the tests of tests/hostile/ share: raw sockets, documents that no driver would make, and a
witness that tells how the server fares during it."""

import os
import select
import struct
import threading
import time
import unittest

import bson
import pytest
from bson.raw_bson import RawBSONDocument

import messages
import server
import set_member
from messages import (OP_DELETE, OP_GET_MORE, OP_INSERT, OP_KILL_CURSORS, OP_MSG,  # noqa: F401
                      OP_QUERY, OP_UPDATE)  # for the tests

LAZY = bson.CodecOptions(document_class=RawBSONDocument, unicode_decode_error_handler='replace')
ANSWER_SECONDS_MAX = 60  # generous: a server that does not answer by then hangs

# A test that takes many seconds: it runs with --whole, and when it is named.
long = pytest.mark.takes_long


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, document):
        super().__init__(str(document)[:300])
        self.document = document
        self.code = document.get('code')
        self.text = document.get('errmsg', document.get('$err', ''))


class Raw(bytes):
    """A document that is encoded already."""


def element(kind, name, value):
    return bytes([kind]) + name.encode() + b'\0' + value


def document(*elements):
    body = b''.join(elements)
    return Raw(struct.pack('<i', len(body) + 5) + body + b'\0')


def encode(value):
    return value if isinstance(value, Raw) else Raw(bson.encode(value))


def nested(depth, name='a', leaf=None, kind=3):
    """A document in a document, `depth` times; kind 4: an array in an array."""
    leaf = document() if leaf is None else leaf
    head = bytes([kind]) + name.encode() + b'\0'
    sizes = [len(leaf)]
    for _ in range(depth):
        sizes.append(sizes[-1] + len(head) + 5)
    parts = [struct.pack('<i', size) + head for size in reversed(sizes[1:])]
    return Raw(b''.join(parts) + leaf + b'\0' * depth)


def wrapped(depth, wrap):
    """wrap(wrap(...)) by a function from document to document."""
    value = {'a': 1}
    for _ in range(depth):
        value = wrap(value)
    return value


def dotted(parts, name='a'):
    return '.'.join([name] * parts)


class Connection(messages.Connection):
    """Commands by OP_MSG, queries by OP_QUERY."""

    seconds_max = ANSWER_SECONDS_MAX

    def start(self, command, database='hostile', sequences=()):
        """Sends a command. Raw ones must have their $db."""
        if not isinstance(command, Raw):
            command = encode(dict(command, **{'$db': database}))
        self.send_message(command, sequences)

    def finish(self):
        # Documents in it stay as they are: they may be nested more deeply than Python recurses.
        reply = RawBSONDocument(self.receive_message(), LAZY)
        if reply.get('ok') != 1 or reply.get('writeErrors'):
            raise Refused(reply['writeErrors'][0] if reply.get('writeErrors') else reply)
        return reply

    def run(self, command, database='hostile', sequences=()):
        self.start(command, database, sequences)
        return self.finish()

    def run_old(self, command, database='hostile'):
        """A command by OP_QUERY, which may have fields that none of its kind knows."""
        if not isinstance(command, Raw):
            command = encode(command)
        reply = RawBSONDocument(self.by_query(database, command), LAZY)
        if reply.get('ok') != 1:
            raise Refused(reply)
        return reply

    def query(self, namespace, query, count=0):
        self.send_query(namespace, query, count=count)
        flags, _, _, returned, documents = self.receive_reply()
        if flags & 2:
            raise Refused(bson.decode(documents))
        return returned

    def count_readable(self, cursors, collection):
        """How many of these cursors give another batch; the others must be gone."""
        readable = 0
        for cursor in cursors:
            try:
                self.run({'getMore': cursor, 'collection': collection})
                readable += 1
            except Refused as error:
                if error.code != 43:
                    raise
        return readable


def thread_count(pid):
    return len(os.listdir('/proc/%d/task' % pid))


class Witness:
    """While in scope, an ordinary client asks again and again, and memory is watched."""

    def __init__(self, server):
        self.server = server
        self.memory_max = self.slowest = 0
        self.asked, self.failure = 0, None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        try:
            with Connection(self.server.port) as client:
                while not self._over.wait(0.01):
                    begin = time.monotonic()
                    client.run({'find': 'ordinary', 'filter': {'_id': 1}})
                    self.slowest = max(self.slowest, time.monotonic() - begin)
                    self.asked += 1
                    self.memory_max = max(self.memory_max, server.memory_bytes(self.server.pid))
        except Exception as error:  # reported by the test
            self.failure = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


class Case(unittest.TestCase):
    """A test against the one server that conftest.py has started."""

    server = None
    MEMORY_BYTES_MAX = 900 << 20  # several times what one operation may hold

    @classmethod
    def setUpClass(cls):
        fill(cls.server)  # what one attack left must not make another one easy, or endless

    def setUp(self):
        self.client = Connection(self.server.port)
        self.addCleanup(self.client.close)

    def own_server(self):
        """Like the one that the others attack, without other clients."""
        folder = self.enterContext(server.scratch('own-'))
        return self.enterContext(server.Server(
            self.server.program, os.path.join(folder, 'db'), self.server.options))

    def run_all(self, attacks):
        """Sends commands, one after the other; each is answered, well or with an error. Returns the
        replies, and None for errors."""
        replies = []
        with Witness(self.server) as witness:
            for name, command in attacks:
                with self.subTest(name):
                    try:
                        replies.append(self.client.run(command))
                    except Refused as error:
                        replies.append(None)
                        self.assertLessEqual(len(error.text.encode()), 1200, name)
                    except (OSError, ConnectionError) as error:
                        self.fail('%s: %r\n%s' % (name, error, self.server.tail(3)))
        self.check_witness(witness)
        return replies

    def wait_until(self, condition, what):
        return set_member.wait_until(what, condition)

    def operations(self, fits):
        """Those at work that are of this kind."""
        return [each for each in self.client.run({'currentOp': 1}, 'admin')['inprog'] if fits(each)]

    def find_operation(self, collection, command='aggregate'):
        return self.wait_until(lambda: self.operations(
            lambda each: each.get('query', {}).get(command) == collection), command)[0]['opid']

    def check_witness(self, witness):
        self.assertIsNone(self.server.process.poll(), 'the server has ended')
        self.assertIsNone(witness.failure, 'another client was not served')
        self.assertLess(witness.memory_max, self.MEMORY_BYTES_MAX)

    def others_write_during(self, command):
        """Some of their inserts begin and end while it is at work."""
        def at_work():  # also where it is too large to be shown
            return bool(self.operations(
                lambda each: {next(iter(command)), '$msg'} & set(each.get('query', {}))))
        served = 0
        with Connection(self.server.port) as worker:
            worker.start(command)
            while not select.select([worker.socket], [], [], 0)[0]:
                began = at_work()
                self.client.run({'insert': 'neighbour', 'documents': [{}]})
                served += began and at_work()
            worker.finish()
        self.client.run({'drop': 'neighbour'})
        # One may come before the lock is taken.
        self.assertGreater(served, 2)

    def set_parameter(self, name, value):
        """Until the test ends."""
        was = self.client.run({'getParameter': 1, name: 1}, 'admin')[name]
        self.client.run({'setParameter': 1, name: value}, 'admin')
        self.addCleanup(lambda: self.client.run({'setParameter': 1, name: was}, 'admin'))

    def refused(self, code, work, *arguments):
        """A command, or a call, with one of these codes; the error."""
        with self.assertRaises(Refused) as caught:
            if not callable(work):
                self.client.run(work, *arguments)
            else:
                work(*arguments)
        self.assertIn(caught.exception.code, code if isinstance(code, tuple) else (code,),
                      caught.exception)
        return caught.exception

    def slowest_insert(self, worker, *databases):
        """Of those that others make until the worker has its answer, in seconds."""
        slowest = 0
        while not select.select([worker.socket], [], [], 0)[0]:
            began = time.monotonic()
            for each in databases or ('hostile',):
                self.client.run({'insert': 'neighbour', 'documents': [{}]}, each)
            slowest = max(slowest, time.monotonic() - began)
        return slowest


def fill(server):
    """What the tests find; `ordinary` is the witness's."""
    branching = [{'0': 1}]
    for _ in range(60):
        branching = [{'0': branching}]
    wide = {'f%d' % i: i for i in range(FIELDS)}
    with Connection(server.port) as client:
        client.run({'dropDatabase': 1})
        for collection, documents in {
                'ordinary': [{'_id': 1}],
                'one': [{'_id': 1, 'a': {'a': 1}, 'arr': [], 's': 'aaaa'},
                        {'_id': 2, 'a': [{'a': 1}]}],
                'text': [{'_id': i, 's': 'a' * 30000 + '!'} for i in range(20)],
                'branching': [{'_id': 1, '0': branching}],
                'lists': [dict({'_id': 1}, **{'u%d' % i: list(range(100)) for i in range(8)})],
                'wide': [dict({'_id': 1, 'arr': list(range(FIELDS)), 'set': []}, **wide)],
                'long': [{'_id': 1, 's': 'x' * 1000000}],
        }.items():
            client.run({'insert': collection, 'documents': documents})


FIELDS = 100000
