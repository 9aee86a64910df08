"""A proxy in front of a server that keeps what kind of message its clients send."""

import contextlib
import socket
import struct
import threading

HEADER = struct.Struct('<iiii')
OP_QUERY = 2004
FLAGS_BYTES, NUMBERS_BYTES = 4, 8  # in front of the namespace of an OP_QUERY, and behind it


def read_whole(connection, size):
    """So many bytes; fewer where the client has closed the connection."""
    data = b''
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            break
        data += part
    return data


def command_of(body):
    """The name of the command that an OP_QUERY is; None where it is none."""
    ns, rest = body[FLAGS_BYTES:].split(b'\0', 1)
    if not ns.endswith(b'.$cmd'):
        return None
    first = rest[NUMBERS_BYTES + 4 + 1:]  # behind the document's length and its first type
    return first.split(b'\0', 1)[0].decode()


class Recorder:
    """Listens on `port` of 127.0.0.1 until the end of its block. `opcodes` and `commands`, those
    by OP_QUERY, are what was sent."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.opcodes, self.commands = set(), set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]

    @property
    def uri(self):
        return 'mongodb://127.0.0.1:%d/?directConnection=true' % self.port

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    @staticmethod
    def _start(function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # of the end
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(('127.0.0.1', self.server_port))
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._start(self._record, client, server)
                self._start(self._copy, server, client)

    def _record(self, client, server):
        with client, server, contextlib.suppress(OSError):
            while len(head := read_whole(client, HEADER.size)) == HEADER.size:
                length, _, _, opcode = HEADER.unpack(head)
                body = read_whole(client, length - HEADER.size)
                self.opcodes.add(opcode)
                if opcode == OP_QUERY:
                    self.commands.add(command_of(body))
                server.sendall(head + body)
            server.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _copy(server, client):
        with contextlib.suppress(OSError):
            while part := server.recv(1 << 16):
                client.sendall(part)
            client.shutdown(socket.SHUT_RDWR)
