"""A connection to a server that sends and receives whole messages, by hand."""

import socket
import struct


class Connection:
    """Every wait has an end: `seconds`."""

    def __init__(self, port, seconds):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
        """Exactly so many bytes."""
        parts = []
        while count > 0:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise ConnectionError('the server closed the connection')
            parts.append(part)
            count -= len(part)
        return b''.join(parts)

    def receive(self):
        """One whole message, with its header."""
        head = self.read(16)
        return head + self.read(struct.unpack_from('<i', head)[0] - 16)
