"""Commands by OP_QUERY (wire spec 1.3), for servers that the driver refuses.

What perf/old_wire.c is for the load client this is for the scripts: their counts and figures.
"""

import socket
import struct

import late

bson = late.Module('bson')

OP_REPLY, OP_QUERY = 1, 2004
HEADER = struct.Struct('<iiii')
REPLY = struct.Struct('<iqii')  # flags, cursor, starting from, documents
QUERY_FAILED = 2
ANSWER_SECONDS_MAX = 60  # only ends a wait for a server that hangs


class OldWireError(RuntimeError):
    """No answer, an answer that is none, or the server's own refusal; the text says which."""


def connect(host, port):
    if not host.startswith('/'):
        return socket.create_connection((host, port), ANSWER_SECONDS_MAX)
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(ANSWER_SECONDS_MAX)
    try:
        connected.connect(host)
    except OSError:
        connected.close()
        raise
    return connected


class Connection:
    """A connection by TCP, or, where the host is a path, to a Unix socket. Use as a context
    manager."""

    def __init__(self, port, host='127.0.0.1'):
        self.requests = 0
        try:
            self.socket = connect(host, port)
        except OSError as error:
            raise OldWireError('no answer at %s:%s: %s' % (host, port, error)) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _read(self, size):
        data = b''
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise OldWireError('the server closed the connection')
            data += part
        return data

    def command(self, database, command):
        """The reply of a command, which is a dict whose first key is its name."""
        self.requests += 1
        body = (struct.pack('<i', 0) + database.encode() + b'.$cmd\0' + struct.pack('<ii', 0, -1)
                + bson.encode(command))
        try:
            self.socket.sendall(HEADER.pack(HEADER.size + len(body), self.requests, 0, OP_QUERY)
                                + body)
            length, _, answered, opcode = HEADER.unpack(self._read(HEADER.size))
            data = self._read(max(0, length - HEADER.size))
        except OSError as error:
            raise OldWireError('no answer: %s' % error) from None
        if opcode != OP_REPLY or answered != self.requests or len(data) < REPLY.size:
            raise OldWireError('the answer is no OP_REPLY to what was asked')
        flags = REPLY.unpack_from(data)[0]
        try:
            reply = bson.decode(data[REPLY.size:])
        except bson.errors.InvalidBSON as error:
            raise OldWireError('the answer is no document: %s' % error) from None
        if flags & QUERY_FAILED or not reply.get('ok'):
            raise OldWireError('%s: %s' % (next(iter(command)),
                                           reply.get('errmsg') or reply.get('$err') or reply))
        return reply
