"""Connections that claim, stall, break off or wait: they cost little, and other clients nothing."""

import contextlib
import os
import resource
import struct
import time

import bson
import server
from hostile import (ANSWER_SECONDS_MAX, OP_DELETE, OP_GET_MORE, OP_INSERT, OP_KILL_CURSORS, OP_MSG,
                     OP_QUERY, OP_UPDATE, Case, Connection, Refused, Witness, document, element,
                     encode, fill, long, thread_count)

CLAIMED_BYTES = 48000000
BODIES = [b'', struct.pack('<I', 0xffff), struct.pack('<IBi', 0, 0, -5),
          struct.pack('<IBi', 0, 0, 2 ** 31 - 1), struct.pack('<IBi', 0, 1, -1),
          struct.pack('<IBi', 0, 1, 2 ** 31 - 1) + b'a\0', struct.pack('<IBi', 0, 1, 6) + b'a\0',
          b'\0' * 30, b'\xff' * 40, struct.pack('<i', 0) + b'a.b\0' + struct.pack('<i', -1)]


class Framing(Case):
    def test_lying_lengths(self):
        with Witness(self.server) as witness:
            for opcode in (1, 1000, OP_UPDATE, OP_INSERT, 2003, OP_QUERY, OP_GET_MORE, OP_DELETE,
                           OP_KILL_CURSORS, 2010, 2011, 2012, OP_MSG, 0, -1):
                for body in BODIES:
                    with Connection(self.server.port) as client:
                        client.send(opcode, body)
                        with contextlib.suppress(OSError, ConnectionError, struct.error):
                            client.socket.shutdown(1)
                            client.receive()
            for length in (-1, 0, 15, 16, CLAIMED_BYTES, CLAIMED_BYTES + 1, 2 ** 31 - 1, -2 ** 31):
                with Connection(self.server.port) as client:
                    client.send(OP_MSG, b'', length)
        self.check_witness(witness)

    def test_claims_cost_nothing(self):
        before = server.memory_bytes(self.server.pid)
        claims = [Connection(self.server.port) for _ in range(300)]
        with Witness(self.server) as witness:
            for claim in claims:
                claim.send(OP_MSG, b'x' * 1000, CLAIMED_BYTES)
            self.wait_until(lambda: witness.asked >= 20 or witness.failure, 'another is served')
        self.check_witness(witness)
        self.assertLess(server.memory_bytes(self.server.pid) - before, 200 << 20)
        for claim in claims:
            claim.close()

    def test_half_open(self):
        waiting = []
        with Witness(self.server) as witness:
            for i in range(800):
                waiting.append(Connection(self.server.port))
                waiting[-1].socket.sendall(struct.pack('<iiii', 100, 1, 0, OP_MSG)[:i % 16])
        self.check_witness(witness)
        for each in waiting:
            each.close()


class Texts(Case):
    """What is no UTF-8 is not returned to others, whose clients could not read the answer."""

    def string(self, name, text):
        return bytes([2]) + name + b'\0' + struct.pack('<i', len(text) + 1) + text + b'\0'

    def command(self, *elements, database=b'hostile'):
        return document(*elements, self.string(b'$db', database))

    def readable(self, command, database='hostile'):
        self.client.start(command, database)
        return bson.decode(self.client.receive()[21:])

    def shown(self, name, ready=lambda each: True):
        """The operation of that name, as soon as it is ready."""
        return self.wait_until(lambda: [
            each for each in self.readable({'currentOp': 1}, 'admin')['inprog']
            if name in each.get('query', {}) and ready(each)], name + ' is shown')[0]

    def test_requests_that_are_shown(self):
        none = b'\xff\xfe\xe2\x82'
        with Connection(self.server.port) as writer, Connection(self.server.port) as waiting:
            writer.start({'sleep': 1, 'w': True, 'millis': 1000 * ANSWER_SECONDS_MAX}, 'admin')
            sleeping = self.shown('sleep', lambda each: each['locks'].get('^') == 'W')
            waiting.start(self.command(self.string(b'find', b'c'), self.string(b'comment', none),
                                       element(3, 'filter', document(
                                           bytes([3]) + none + b'\0' + document()))))
            self.assertEqual(self.shown('find')['query']['comment'], '????')
            self.client.run({'killOp': 1, 'op': sleeping['opid']}, 'admin')
            with self.assertRaises(Refused):
                writer.finish()
            waiting.finish()
        self.client.run({'profile': 2})
        self.client.run(self.command(self.string(b'find', b'c'), self.string(b'comment', none)))
        self.client.run({'profile': 0})
        rows = self.readable({'find': 'system.profile'})['cursor']['firstBatch']
        self.assertIn('????', [row.get('command', {}).get('comment') for row in rows])
        self.client.run({'drop': 'system.profile'})

    def test_errors(self):
        none = b'\xff\xfe'
        for command in (self.command(bytes([16]) + none + b'\0' + bytes(4)),
                        self.command(self.string(b'drop', b'c'), database=b'a b' + none),
                        encode({'insert': 'one', '$db': 'hostile', 'documents': [
                            {'_id': 'x' * 149 + '\u20ac' * 20}] * 2})):
            reply = self.readable(command)
            self.assertTrue(reply.get('errmsg') or reply['writeErrors'])

    def test_names(self):
        none = b'a\xff'
        definition = document(element(3, 'key', encode({'b': 1})), self.string(b'name', none))
        for code, command in (
                (73, self.command(self.string(b'create', none))),
                (73, self.command(self.string(b'create', b'c'), database=none)),
                (73, self.command(self.string(b'insert', none), element(4, 'documents', document(
                    element(3, '0', document()))))),
                (73, self.command(self.string(b'renameCollection', b'hostile.ordinary'),
                                  self.string(b'to', b'hostile.' + none), database=b'admin')),
                (67, self.command(self.string(b'createIndexes', b'ordinary'), element(
                    4, 'indexes', document(element(3, '0', definition)))))):
            self.refused(code, command)
        for name in ('listDatabases', 'top', 'serverStatus'):
            self.readable({name: 1}, 'admin')
        for command in ({'listCollections': 1}, {'listIndexes': 'ordinary'}):
            self.readable(command)


class Slow(Case):
    """What has begun to arrive has its time, and all of it together its memory."""

    def connect(self):
        client = Connection(self.server.port)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def is_closed(client):
        """Waits for it."""
        try:
            return client.socket.recv(1) == b''
        except ConnectionError:
            return True

    def test_half_messages_have_their_time(self):
        self.set_parameter('incompleteMessageSeconds', 1)
        idle = self.connect()
        begun = [self.connect() for _ in range(5)]
        message = struct.pack('<iiii', 100000, 1, 0, OP_MSG) + b'x' * 70000
        for client, size in zip(begun, (1, 15, 16, 1000, 70000)):
            client.socket.sendall(message[:size])
        trickling = self.connect()
        for byte in message[:10]:
            trickling.socket.sendall(bytes([byte]))
            time.sleep(0.05)
        for client in begun + [trickling]:
            self.assertTrue(self.is_closed(client))
        idle.run({'ping': 1})
        self.client.run({'ping': 1})

    def test_half_messages_share_their_memory(self):
        self.set_parameter('memoryLimitMB', 256)
        self.set_parameter('incompleteMessageSeconds', 10)
        before = server.memory_bytes(self.server.pid)
        with Witness(self.server) as witness:
            for _ in range(25):
                client = self.connect()
                client.socket.setblocking(False)
                head = struct.pack('<iiii', CLAIMED_BYTES, 1, 0, OP_MSG)
                waiting, end = head + b'x' * (20 << 20), time.monotonic() + 0.3
                while waiting and time.monotonic() < end:  # as much as the server takes
                    try:
                        waiting = waiting[client.socket.send(waiting[:1 << 18]):]
                    except BlockingIOError:
                        time.sleep(0.005)
                    except ConnectionError:
                        break
            # A large message of another client is received all the same.
            self.client.run({'insert': 'large', 'documents': [{'_id': 1, 's': 'x' * 15000000}]})
        self.check_witness(witness)
        self.assertLess(witness.memory_max - before, 250 << 20)
        self.client.run({'drop': 'large'})

    def test_halves_of_small_messages_share_their_memory(self):
        """They may have half of it: the oldest ones end, and what comes in pieces gets its turn."""
        self.set_parameter('memoryLimitMB', 64)
        body = struct.pack('<IB', 0, 0) + encode({'ping': 1, 'comment': 'x' * 50000,
                                                  '$db': 'hostile'})
        begun = [self.connect() for _ in range(800)]
        for client in begun:
            client.run({'ping': 1})
        before = server.memory_bytes(self.server.pid)
        with Witness(self.server) as witness:
            for client in begun:
                client.send(OP_MSG, body[:-1], len(body) + 16)
            other = self.connect()
            other.send(OP_MSG, body[:-1], len(body) + 16)
            other.socket.sendall(body[-1:])
            other.finish()
            self.assertTrue(self.is_closed(begun[0]))
        self.check_witness(witness)
        self.assertLess(witness.memory_max - before, 24 << 20)

    def test_thousands_of_slow_ones(self):
        slow = []
        count = min(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
        with Witness(self.server) as witness:
            for i in range(count):
                slow.append(Connection(self.server.port))
                slow[-1].socket.sendall(struct.pack('<iiii', 100000, 1, 0, OP_MSG)[:1 + i % 16])
            for part in range(5):
                for client in slow:
                    client.socket.sendall(b'\0' * 16 if part else b'\0' * 15)
            self.client.run({'insert': 'plain', 'documents': [{'s': 'x' * 1000000}]})
        self.check_witness(witness)
        for client in slow:
            client.close()
        self.client.run({'drop': 'plain'})


class Waiting(Case):
    """A getMore that waits for news holds nothing once no client waits for its answer."""

    def setUp(self):
        super().setUp()
        self.client.run({'create': 'ring', 'capped': True, 'size': 4096})
        self.addCleanup(lambda: self.client.run({'drop': 'ring'}))
        self.client.run({'insert': 'ring', 'documents': [{'_id': 1}]})
        self.other = Connection(self.server.port)
        self.addCleanup(self.other.close)
        self.cursor = self.other.run({'find': 'ring', 'tailable': True,
                                      'awaitData': True})['cursor']['id']
        self.other.start({'getMore': self.cursor, 'collection': 'ring', 'maxTimeMS': 3600000})
        self.wait_until(self.waiting, 'it waits')

    def waiting(self):
        """The operation, if it goes on."""
        return next(iter(self.operations(lambda each: (each['op'], each['ns']) == (
            'getmore', 'hostile.ring'))), None)

    def test_its_client_goes_away(self):
        self.other.close()
        self.wait_until(lambda: not self.waiting(), 'it ends')

    def test_its_client_goes_away_with_more_to_say(self):
        """It has begun its next request."""
        self.other.socket.sendall(b'x')
        self.other.close()
        self.wait_until(lambda: not self.waiting(), 'it ends')

    def test_its_client_stays_with_more_to_say(self):
        """Both requests are answered."""
        self.other.start({'ping': 1})
        limit = time.monotonic() + 2.5
        while time.monotonic() < limit:  # longer than it takes to look again
            self.assertTrue(self.waiting())
            time.sleep(0.1)
        self.test_news_come()
        self.other.finish()

    def test_its_cursor_is_killed(self):
        self.client.run({'killCursors': 'ring', 'cursors': [self.cursor]})
        self.refused(43, self.other.finish)

    def test_it_is_killed(self):
        self.client.run({'killOp': 1, 'op': self.waiting()['opid']}, 'admin')
        self.refused(11601, self.other.finish)

    def test_its_collection_is_dropped(self):
        self.client.run({'drop': 'ring'})
        with self.assertRaises(Refused):
            self.other.finish()
        self.client.run({'create': 'ring', 'capped': True, 'size': 4096})

    def test_news_come(self):
        self.client.run({'insert': 'ring', 'documents': [{'_id': 2}]})
        self.assertEqual([d['_id'] for d in self.other.finish()['cursor']['nextBatch']], [2])


class ManyOperations(Case):
    def test_what_runs_is_shown_in_one_document(self):
        """However many there are and whatever they say: who looks for what to kill is answered."""
        count = min(2500, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
        self.client.run({'create': 'ring', 'capped': True, 'size': 4096})
        self.addCleanup(lambda: self.client.run({'drop': 'ring'}))
        self.client.run({'insert': 'ring', 'documents': [{'_id': 1}]})
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                other = stack.enter_context(Connection(self.server.port))
                cursor = other.run({'find': 'ring', 'tailable': True,
                                    'awaitData': True})['cursor']['id']
                other.start({'getMore': cursor, 'collection': 'ring', 'maxTimeMS': 3600000,
                             'comment': 'x' * 8000})
            self.wait_until(lambda: len(self.operations(
                lambda each: each['op'] == 'getmore')) == count, 'they begin')
            shown = self.client.run({'currentOp': 1}, 'admin')
            self.assertLess(len(shown.raw), (4 << 20) + 1000 * count)


def open_connections(client):
    return client.run({'serverStatus': 1}, 'admin')['connections']['current']


class Blocked(Case):
    def test_writers_while_the_server_is_locked(self):
        """They wait, cost few threads, and all get their answers."""
        idle = thread_count(self.server.pid)
        self.client.run({'fsync': 1, 'lock': True}, 'admin')
        writers = [Connection(self.server.port) for _ in range(400)]
        try:
            with Witness(self.server) as witness:
                for i, writer in enumerate(writers):
                    writer.start({'insert': 'blocked', 'documents': [{'_id': i}]})
                self.wait_until(lambda: witness.asked >= 50 or witness.failure, 'one is served')
                self.assertLess(thread_count(self.server.pid) - idle, 100)
            self.check_witness(witness)
        finally:
            self.client.run({'fsyncUnlock': 1}, 'admin')
        for writer in writers:
            writer.finish()
            writer.close()
        self.assertEqual(self.client.run({'count': 'blocked'})['n'], len(writers))

    def test_replies_that_are_not_read(self):
        """They share a budget of memory; beyond it the oldest connections end. On a server of its
        own: what these replies held the allocator keeps."""
        own = self.own_server()
        fill(own)
        client = self.enterContext(Connection(own.port))
        client.run({'insert': 'huge', 'documents': [{'_id': 1, 's': 'x' * 15000000}]})
        readers = [self.enterContext(Connection(own.port)) for _ in range(60)]
        with Witness(own) as witness:
            for reader in readers:
                reader.start({'find': 'huge'})
            self.wait_until(lambda: open_connections(client) <= 30 and witness.asked >= 20,
                            'replies are not kept for ever')
            # There is memory for the work of others.
            self.assertEqual(len(list(client.run(
                {'find': 'huge', 'sort': {'s': 1}})['cursor']['firstBatch'])), 1)
        self.assertIsNone(witness.failure)

    def test_replies_that_are_not_read_do_not_hold_up_the_end(self):
        own = self.own_server()
        client = self.enterContext(Connection(own.port))
        client.run({'insert': 'huge', 'documents': [{'_id': 1, 's': 'x' * 15000000}]})
        for _ in range(5):
            reader = self.enterContext(Connection(own.port))
            reader.start({'find': 'huge'})
            reader.socket.recv(1)  # it is being sent
        own.stop()
        with open(own.log_path, encoding='utf-8') as log:
            self.assertNotIn('still running after', log.read())

    @long
    def test_what_idle_connections_keep(self):
        """Next to nothing, whatever went over them before. On a server of its own, whose memory
        no other client changes. What its threads keep for the next request does not count."""
        allowed = (64 + 48 * os.cpu_count()) << 20
        own = self.own_server()
        client = self.enterContext(Connection(own.port))
        some, large = 'x' * 900000, 'x' * (8 << 20)
        client.run({'insert': 'some', 'documents': [{'_id': 1, 's': some}]})
        client.run_old({'create': 'free', 'autoIndexId': False})
        before = server.memory_bytes(own.pid)
        upsert = {'q': {'_id': large}, 'u': {'$set': {'a': 1}}, 'upsert': True}
        for size, command in ((len(some), {'find': 'some'}),
                              (len(large), {'insert': 'any', 'documents': [{'s': large}]}),
                              (len(large), {'update': 'free', 'updates': [upsert]}),
                              (len(large), {'find': large})):
            with contextlib.ExitStack() as others:
                for _ in range(2 * allowed // size):
                    other = others.enter_context(Connection(own.port))
                    for each in (command, {'ping': 1}):
                        with contextlib.suppress(Refused):
                            other.run(each)
                for collection in ('any', 'free'):
                    client.run({'delete': collection, 'deletes': [{'q': {}, 'limit': 0}]})
                self.wait_until(lambda: client.run({'ping': 1}) and server.memory_bytes(
                    own.pid) - before <= allowed, 'it is given back')

    def test_clients_that_do_not_read(self):
        readers = [Connection(self.server.port) for _ in range(30)]
        with Witness(self.server) as witness:
            for reader in readers:
                for _ in range(3):
                    reader.start({'find': 'long'})
            self.wait_until(lambda: witness.asked >= 20 or witness.failure, 'another is served')
        self.check_witness(witness)
        for reader in readers:
            reader.close()
        with self.assertRaises(Refused):
            self.client.run({'getMore': 1, 'collection': 'long'})
