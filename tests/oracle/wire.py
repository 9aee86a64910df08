"""One connection to a server, speaking the messages by hand: OP_MSG, OP_QUERY, OP_GET_MORE."""

import struct

import ejson
import messages

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
    seconds_max = SECONDS_MAX

    def run_raw(self, database, command):
        """A command by OP_MSG; returns the bytes of its reply."""
        pairs = [pair for pair in command if pair[0] != '$db'] + [('$db', database)]
        self.send_message(ejson.encode(ejson.Doc(pairs)))
        return self.receive_message()

    def run(self, database, command):
        reply = ejson.decode(self.run_raw(database, command))
        if ejson.number(reply.get('ok')) != 1:
            raise Refused(reply)
        return reply

    def query(self, namespace, query, projection=None, skip=0, count=0, flags=0):
        """A query by OP_QUERY; returns (cursor id, documents)."""
        self.send_query(namespace, ejson.encode(query), skip, count, flags,
                        b'' if projection is None else ejson.encode(projection))
        return self._documents()

    def get_more(self, namespace, cursor, count=0):
        self.send_get_more(namespace, cursor, count)
        return self._documents()

    def reply(self):
        """(flags, cursor, documents, number of the first one) of an OP_REPLY."""
        flags, cursor, start, returned, data = self.receive_reply()
        documents, at = [], 0
        for _ in range(returned):
            documents.append(ejson.decode(data, at))
            at += struct.unpack_from('<i', data, at)[0]
        return flags, cursor, documents, start

    def _documents(self):
        flags, cursor, documents, _ = self.reply()
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
