"""One connection to a server, speaking the messages by hand: OP_MSG, OP_QUERY, OP_GET_MORE."""

import struct

import ejson
import messages

OP_REPLY, OP_QUERY, OP_GET_MORE, OP_KILL_CURSORS, OP_MSG = 1, 2004, 2005, 2007, 2013
QUERY_FAILURE = 2
SECONDS_MAX = 120  # only ends a reply that never comes


class Refused(Exception):
    """An error document; `code` is -1 when it has none."""

    def __init__(self, document):
        super().__init__(str(document))
        self.document = document
        code = ejson.number(document.get('code'))
        self.code = -1 if code is None else int(code)


class Connection(messages.Connection):
    def __init__(self, port, seconds=SECONDS_MAX):
        super().__init__(port, seconds)

    def exchange(self, opcode, body):
        self.send(opcode, body)
        return self.receive()

    def run_raw(self, database, command):
        """A command by OP_MSG; returns the bytes of its reply."""
        pairs = [pair for pair in command if pair[0] != '$db'] + [('$db', database)]
        body = struct.pack('<IB', 0, 0) + ejson.encode(ejson.Doc(pairs))
        return self.exchange(OP_MSG, body)[16 + 5:]

    def run(self, database, command):
        """As run_raw, but returns plain values, or raises Refused."""
        reply = ejson.decode(self.run_raw(database, command))
        if ejson.number(reply.get('ok')) != 1:
            raise Refused(reply)
        return reply

    def query(self, namespace, query, projection=None, skip=0, count=0, flags=0):
        """A query by OP_QUERY; returns (cursor id, documents)."""
        body = (struct.pack('<i', flags) + namespace.encode() + b'\0'
                + struct.pack('<ii', skip, count) + ejson.encode(query))
        if projection is not None:
            body += ejson.encode(projection)
        return self._documents(self.exchange(OP_QUERY, body))

    def get_more(self, namespace, cursor, count=0):
        body = (struct.pack('<i', 0) + namespace.encode() + b'\0'
                + struct.pack('<iq', count, cursor))
        return self._documents(self.exchange(OP_GET_MORE, body))

    @staticmethod
    def _documents(message):
        flags, cursor, _, returned = struct.unpack_from('<iqii', message, 16)
        documents, at = [], 36
        for _ in range(returned):
            documents.append(ejson.decode(message, at))
            at += struct.unpack_from('<i', message, at)[0]
        if flags & QUERY_FAILURE:
            raise Refused(documents[0])
        return cursor, documents


class OldConnection(Connection):
    """Commands travel by OP_QUERY too, as from a driver that knows no OP_MSG."""

    def run(self, database, command):
        _, (reply,) = self.query(database + '.$cmd', command, count=-1)
        if ejson.number(reply.get('ok')) != 1:
            raise Refused(reply)
        return reply
