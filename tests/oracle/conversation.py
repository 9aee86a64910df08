"""Replays one recorded conversation of raw messages and compares the replies (README.md)."""

import re
import select
import socket
import struct

import ejson
import matching
import messages
import wire
from ejson import Doc

PROBE_SECONDS = 0.2  # how long an answer that may not come is waited for
REPLY_SECONDS_MAX = 8  # a conversation in which a reply never comes has failed


class Differs(Exception):
    """The conversation cannot go on as recorded."""


def parse_hex(text):
    """The bytes of "0102(61*4000)"."""
    data = b''
    parts = re.findall(r'([0-9a-f]+)(?![0-9a-f]*\*)|\(([0-9a-f]+)\*(\d+)\)', text)
    for plain, unit, count in parts:
        data += bytes.fromhex(plain) if plain else bytes.fromhex(unit) * int(count)
    return data


def differences(fields, port):
    """Sentences on what differs; none when all agrees."""
    databases = [fields['id']] + fields.get('dbs', [])
    admin = wire.Connection(port)
    _drop(admin, databases)
    talk = Talk(port)
    found = []
    try:
        for number, step in enumerate(fields['steps'], 1):
            found += ['step %d: %s' % (number, text) for text in talk.step(dict(step))]
    except (Differs, OSError) as error:
        found.append('step %d: %s: %s' % (number, type(error).__name__, error))
    talk.close()
    _drop(admin, databases)
    admin.close()
    return found


def _drop(admin, databases):
    for database in databases:
        admin.run(database, Doc([('dropDatabase', 1)]))


class Talk:
    def __init__(self, port):
        self.port = port
        self.connections = {}
        self.cursors = []
        self.held = b''
        self.later = []  # (connection, step, request id) whose reply is still to be read

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def connection(self, number):
        if number not in self.connections:
            self.connections[number] = wire.Connection(self.port, REPLY_SECONDS_MAX)
        return self.connections[number]

    def step(self, step):
        number = step.get('conn', 0)
        connection = self.connection(number)
        found = self.collect_later(connection)
        data = self.with_cursors(parse_hex(step['send']), step.get('cursor_at'))
        request, = struct.unpack_from('<i', data, 4) if len(data) >= 8 else (0,)
        if step.get('hold'):
            self.held += data
            return found
        self.send(connection, self.held + data, step)
        self.held = b''
        if step.get('later'):
            self.later.append((connection, step, request))
            return found
        found += self.read_replies(connection, step, request)
        if step.get('closed'):
            found += self.expect_close(connection, step)
            connection.close()
            del self.connections[number]
        return found

    def collect_later(self, connection):
        found = []
        for entry in [entry for entry in self.later if entry[0] is connection]:
            found += self.read_replies(*entry)
            self.later.remove(entry)
        return found

    def with_cursors(self, data, places):
        """Puts the ids of opened cursors where the recording had others. Where it had opened
        fewer, it sent what is there."""
        if places is None:
            return data
        for place in places if isinstance(places, list) else [places]:
            offset, which = place if isinstance(place, list) else (place, -1)
            if which < len(self.cursors) and self.cursors:
                data = data[:offset] + struct.pack('<q', self.cursors[which]) + data[offset + 8:]
        return data

    @staticmethod
    def send(connection, data, step):
        size = step.get('split') or len(data) or 1
        try:
            for at in range(0, len(data), size):
                connection.socket.sendall(data[at:at + size])
            if step.get('eof'):
                connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            if not step.get('closed'):
                raise

    @staticmethod
    def readable(connection, seconds):
        return bool(select.select([connection.socket], [], [], seconds)[0])

    def read_replies(self, connection, step, request):
        wanted = step['reply']
        if wanted is None:
            if step.get('probe') and not step.get('closed') \
                    and self.readable(connection, PROBE_SECONDS):
                return ['an answer (or the end), recorded: none']
            return []
        found = self.read_reply(connection, step, dict(wanted), request)
        for more in step.get('more', []):
            found += self.read_reply(connection, step, dict(more), self.last_id)
        return found

    def read_reply(self, connection, step, wanted, request):
        if 'raw' in wanted and 'opCode' not in wanted:
            return self.read_raw(connection, bytes.fromhex(wanted['raw']))
        try:
            message = connection.receive()
        except ConnectionError:
            raise Differs('the connection is closed, recorded: %s'
                          % matching.show(ejson.plain(wanted))[:300]) from None
        _, self.last_id, to, opcode = struct.unpack_from('<iiii', message)
        if opcode != wanted.get('opCode', messages.OP_REPLY):
            return ['opcode %d' % opcode]
        if 'raw' in wanted:
            return [] if message[16:] == bytes.fromhex(wanted['raw']) else ['another text']
        found = []
        if to != wanted.get('responseTo', request):
            found.append('responseTo %d, recorded: %d' % (to, wanted.get('responseTo', request)))
        return found + self.compare(step, wanted, message)

    @staticmethod
    def read_raw(connection, wanted):
        """Bytes that are no message. The sentence for a browser is ours."""
        if wanted.startswith(b'HTTP'):
            status = wanted.split(b'\r\n')[0]
            got = connection.read(len(status))
            return [] if got == status else ['%r, recorded: %r' % (got, status)]
        got = connection.read(len(wanted))
        return [] if got == wanted else ['%r, recorded: %r' % (got, wanted)]

    def compare(self, step, wanted, message):
        flags, cursor, start, returned = struct.unpack_from('<iqii', message, 16)
        if cursor != 0:
            self.cursors.append(cursor)
        documents, at = [], 36
        for _ in range(returned):
            documents.append(ejson.decode_exactly(message, at))
            at += struct.unpack_from('<i', message, at)[0]
        self.remember_command_cursor(documents)
        found = []
        for name, value in (('flags', flags), ('cursor', 'open' if cursor else 'zero'),
                            ('startingFrom', start), ('numberReturned', returned)):
            if value != wanted[name]:
                found.append('%s %s, recorded: %s' % (name, value, wanted[name]))
        docs = ejson.plain(wanted['docs'])
        ignored = step.get('any', [])
        for index, (left, right) in enumerate(zip(docs, documents)):
            found += ['document %d: %s' % (index, text) for text in
                      matching.document_differences(left, right, step.get('shape'), ignored)]
        if found and documents:
            found.append('we said %s' % matching.show(documents[0])[:400])
        return found

    def remember_command_cursor(self, documents):
        if documents and isinstance(documents[0].get('cursor'), dict):
            cursor = ejson.number(documents[0]['cursor'].get('id'))
            if cursor:
                self.cursors.append(cursor)

    @staticmethod
    def expect_close(connection, step):
        """The recording saw the end of the connection here."""
        if step['reply'] is not None and 'raw' in dict(step['reply']):
            return []
        try:
            rest = connection.socket.recv(1)
        except ConnectionError:
            return []
        except socket.timeout:
            return ['the connection stays open, recorded: closed']
        return ['more bytes, recorded: closed'] if rest else []
