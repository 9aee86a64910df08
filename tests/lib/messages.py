"""A connection to a server that sends and receives messages of every kind, by hand: the client of
all tests that want something else than a driver, and the place where messages are put together."""

import socket
import struct

OP_REPLY, OP_UPDATE, OP_INSERT, OP_QUERY, OP_GET_MORE = 1, 2001, 2002, 2004, 2005
OP_DELETE, OP_KILL_CURSORS, OP_MSG = 2006, 2007, 2013
SECONDS_MAX = 60  # only ends a wait for a server that hangs
QUERY_FAILED = 2  # a flag of OP_REPLY


class Refused(RuntimeError):
    """No answer, an answer that is none, or the server's own refusal; the text says which."""


def encoded(document):
    """The bytes of a document; those of one that is bytes already are itself."""
    if isinstance(document, bytes):
        return document
    import bson  # recorded answers are replayed without it
    return bson.encode(document)


def connect(host, port, seconds):
    """A socket: by TCP, or, where the host is a path, to a Unix socket."""
    if not host.startswith('/'):
        connected = socket.create_connection((host, port), timeout=seconds)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(seconds)
    try:
        connected.connect(host)
    except OSError:
        connected.close()
        raise
    return connected


def ask_by_query(port, database, command, host='127.0.0.1'):
    """The reply to a command by OP_QUERY (wire spec 1.3), for servers that the driver refuses.
    Raises Refused."""
    import bson
    try:
        with Connection(port, host=host) as connection:
            connection.send_query(database + '.$cmd', command, count=-1)
            message = connection.receive()
    except (OSError, struct.error) as error:
        raise Refused('no answer at %s:%s: %s' % (host, port, error)) from None
    answered, opcode = struct.unpack_from('<ii', message, 8)
    if opcode != OP_REPLY or answered != connection.request or len(message) < 36:
        raise Refused('the answer is no OP_REPLY to what was asked')
    try:
        reply = bson.decode(message[36:])
    except bson.errors.InvalidBSON as error:
        raise Refused('the answer is no document: %s' % error) from None
    if struct.unpack_from('<i', message, 16)[0] & QUERY_FAILED or not reply.get('ok'):
        raise Refused('%s: %s' % (next(iter(command)),
                                  reply.get('errmsg') or reply.get('$err') or reply))
    return reply


class Connection:
    """Every wait has an end: `seconds`. Documents are of pymongo, or bytes."""

    seconds_max = SECONDS_MAX

    def __init__(self, port, seconds=None, host='127.0.0.1'):
        self.socket = connect(host, port, seconds or self.seconds_max)
        self.request = 0

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, opcode, body, length=None):
        """With a header in front, which may lie about the length."""
        self.request += 1
        length = len(body) + 16 if length is None else length
        self.socket.sendall(struct.pack('<iiii', length, self.request, 0, opcode) + body)

    def read(self, count):
        parts = []
        while count > 0:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise ConnectionError('the server closed the connection')
            parts.append(part)
            count -= len(part)
        return b''.join(parts)

    def receive(self):
        head = self.read(16)
        return head + self.read(struct.unpack_from('<i', head)[0] - 16)

    # Each kind of message.

    def send_message(self, command, sequences=(), flags=0):
        """A command by OP_MSG, with (name, documents) in further sections."""
        body = struct.pack('<IB', flags, 0) + encoded(command)
        for name, documents in sequences:
            section = name.encode() + b'\0' + b''.join(map(encoded, documents))
            body += b'\1' + struct.pack('<i', len(section) + 4) + section
        self.send(OP_MSG, body)

    def send_query(self, namespace, query, skip=0, count=0, flags=0, projection=b''):
        self._send_about(OP_QUERY, namespace, struct.pack('<ii', skip, count), query, projection,
                         first=flags)

    def send_get_more(self, namespace, cursor, count=0):
        self._send_about(OP_GET_MORE, namespace, struct.pack('<iq', count, cursor))

    def send_insert(self, namespace, *documents, flags=0):
        self._send_about(OP_INSERT, namespace, *documents, first=flags)

    def send_update(self, namespace, query, change, flags=0):
        self._send_about(OP_UPDATE, namespace, struct.pack('<i', flags), query, change)

    def send_delete(self, namespace, query, flags=0):
        self._send_about(OP_DELETE, namespace, struct.pack('<i', flags), query)

    def send_kill_cursors(self, *cursors):
        self.send(OP_KILL_CURSORS, struct.pack('<ii%dq' % len(cursors), 0, len(cursors), *cursors))

    def _send_about(self, opcode, namespace, *parts, first=0):
        self.send(opcode, struct.pack('<i', first) + namespace.encode() + b'\0'
                  + b''.join(map(encoded, parts)))

    def receive_message(self):
        """The bytes of the document of an OP_MSG."""
        return self.receive()[16 + 5:]

    def receive_reply(self):
        """(flags, cursor, first, number, bytes of the documents) of an OP_REPLY."""
        message = self.receive()
        return (*struct.unpack_from('<iqii', message, 16), message[36:])

    def by_query(self, database, command):
        """The bytes of the reply to a command by OP_QUERY."""
        self.send_query(database + '.$cmd', command, count=-1)
        return self.receive_reply()[-1]
