"""A thousand connections that write at the same time, then a kill: each finds its documents.

Connection c inserts documents with _id c * LARGE + 1, + 2 and so on, one after the other, most of
them with j: true. After the kill those of each connection are there without a gap, at least up to
the last one that was acknowledged with j: true."""

import random
import resource
import selectors
import struct

import bson
from client import MB, Client, Failure, Skipped, Watched, at_most, checked, documents_of

LARGE = 1_000_000
DESCRIPTORS_BESIDE = 200  # of the server: its files; of this process: its own
# Buffers of a connection, twice what they were when this was measured, and the rest of the server.
CONNECTION_BYTES, SERVER_BYTES = 64 << 10, 256 * MB


class Member(Client):
    """A connection with at most one insert under way, and no thread."""

    def __init__(self, port, number):
        super().__init__(port)
        self.number, self.sent, self.durable = number, 0, 0
        self.chance = random.Random(number)
        self.journaled, self.buffer = False, b''

    def write(self):
        self.sent += 1
        self.journaled = self.chance.random() < 0.8
        document = {'_id': self.number * LARGE + self.sent, 'c': self.number, 'text': 'x' * 100}
        self.ask({'insert': 'c', 'writeConcern': {'w': 1, 'j': self.journaled}}, 'load',
                 ('documents', bson.encode(document)))

    def take(self):
        """Reads what is there; whether that completes the answer."""
        part = self.socket.recv(1 << 16)
        if not part:
            raise Failure('connection %d was closed after %d documents' % (self.number, self.sent))
        self.buffer += part
        if len(self.buffer) < 16 or len(self.buffer) < struct.unpack_from('<i', self.buffer)[0]:
            return False
        checked(self.buffer[21:], 'insert')
        self.buffer = b''
        if self.journaled:
            self.durable = self.sent
        return True


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise Skipped('%d open files are allowed here, %d connections need %d (ulimit -Hn)'
                      % (hard, count - DESCRIPTORS_BESIDE, count))
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def write_all(port, connections, documents, watched):
    """Until every connection has written so many; then one more each, unanswered."""
    members = [Member(port, number) for number in range(connections)]
    selector = selectors.DefaultSelector()
    peak = 0
    try:
        for member in members:
            selector.register(member.socket, selectors.EVENT_READ, member)
            member.write()
        busy = connections
        while busy:
            events = selector.select(60)
            if not events:
                raise Failure('no answer for a minute')
            for key, _ in events:
                if key.data.take():
                    if key.data.sent < documents:
                        key.data.write()
                    else:
                        busy -= 1
            peak = max(peak, watched.memory())
        for member in members:
            member.write()
        watched.kill()
    finally:
        selector.close()
        for member in members:
            member.close()
    return members, peak


def check(port, members):
    with Client(port) as client:
        by_connection = {}
        for document in documents_of(client, 'load', {'find': 'c', 'sort': {'_id': 1},
                                                      'projection': {'_id': 1}}):
            number, place = divmod(document['_id'], LARGE)
            by_connection.setdefault(number, []).append(place)
        for member in members:
            there = by_connection.pop(member.number, [])
            if there != list(range(1, len(there) + 1)) \
                    or not member.durable <= len(there) <= member.sent:
                raise Failure('connection %d: acknowledged up to %d, sent up to %d; there: %r'
                              % (member.number, member.durable, member.sent, there))
        if by_connection:
            raise Failure('not written by a client: %r' % sorted(by_connection)[:5])


def run(stage, directory, connections, documents=10):
    allow_descriptors(connections + DESCRIPTORS_BESIDE)
    with Watched(stage, directory, ['--smallfiles', '--nssize', '1',
                                    '--journalCommitInterval', '10']) as watched:
        port = watched.start()
        with Client(port) as client:
            client.run({'create': 'c'}, 'load')
        members, peak = write_all(port, connections, documents, watched)
        at_most('memory of its own, MB', peak, SERVER_BYTES + connections * CONNECTION_BYTES)
        check(watched.start(), members)
        watched.close()
    return '%d connections, %d documents each, %d MB' % (connections, documents, peak / MB)
