"""Requests of clients that have not logged in, and sessions of others."""

import os

import access
import messages
from access import UNAUTHORIZED


class Unauthenticated(access.Case):
    def test_every_opcode(self):
        cursor = self.root.test.c.find(batch_size=2)
        next(cursor)
        client = self.connect()
        documents, flags = client.query('test.c', {})
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        for command in ('inprog', 'killop', 'unlock'):
            documents, _ = client.query('admin.$cmd.sys.' + command, {}, 1)
            self.assertEqual(documents[0]['code'], UNAUTHORIZED, command)
        documents, flags = client.query('test.$cmd', {'count': 'c'}, -1)
        self.assertEqual(documents[0]['code'], UNAUTHORIZED)
        documents, flags = client.get_more('test.c', cursor.cursor_id)
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        documents, flags = client.get_more('test.c', 4711)
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        for send in (lambda: client.send_insert('test.c', {'_id': 'new'}),
                     lambda: client.send_insert('test.system.indexes',
                                             {'ns': 'test.c', 'key': {'a': 1}, 'name': 'a_1'}),
                     lambda: client.send_insert('admin.system.users', {'_id': 'admin.me'}),
                     lambda: client.send_update('test.c', {'_id': 1}, {'$set': {'a': 1}}),
                     lambda: client.send_update('test.c', {'_id': 'x'}, {'a': 1}, 1),
                     lambda: client.send_delete('test.c', {})):
            send()
            self.assertEqual(client.run({'getLastError': 1}, 'test')['code'], UNAUTHORIZED)
        locks = len(self.root.admin.command('serverStatus')['locks'])
        for namespace in ('test.c', 'test.nothing', 'nowhere.c', 'admin.system.users'):
            documents, flags = client.get_more(namespace, 4711)
            self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2), namespace)
        self.assertEqual(len(self.root.admin.command('serverStatus')['locks']), locks)
        client.send_kill_cursors(cursor.cursor_id, 4711)
        self.assertEqual(client.run({'ping': 1})['ok'], 1)
        self.assertEqual(len(list(cursor)), 299)
        self.assertEqual(self.root.test.c.count_documents({}), 300)
        self.assertEqual(self.root.test.c.count_documents({'a': {'$exists': True}}), 0)
        self.assertEqual(list(self.root.test.c.index_information()), ['_id_'])
        self.assertEqual(self.root.admin.command('usersInfo', 'me')['users'], [])

    def test_what_needs_no_login(self):
        client = self.connect()
        for command in ('hello', 'isMaster', 'ping', 'buildInfo', 'connectionStatus', 'whatsmyuri',
                        'getLastError', 'logout'):
            self.assertEqual(client.run({command: 1})['ok'], 1, command)
        self.assertNotIn('saslSupportedMechs', client.run({'hello': 1}))
        error = client.run({'find': 'c', 'filter': {'a': 1}}, 'test')
        self.assertEqual((error['code'], error['codeName']), (UNAUTHORIZED, 'Unauthorized'))
        self.assertTrue(error['errmsg'].startswith(
            'not authorized on test to execute command { find: "c", filter: { a: 1 }'), error)

    def test_messages_are_small(self):
        for size, answered in ((15 << 10, True), (17 << 10, False), (40 << 20, False)):
            client = self.connect()
            try:
                reply = client.run({'ping': 1, 'comment': 'x' * size})
                self.assertTrue(answered, size)
                self.assertEqual(reply['ok'], 1)
            except (ConnectionError, BrokenPipeError):
                self.assertFalse(answered, size)
        user = self.connect()
        self.assertEqual(user.log_in()['ok'], 1)
        self.assertEqual(user.run({'ping': 1, 'comment': 'x' * (1 << 20)})['ok'], 1)
        user.run({'logout': 1})
        with self.assertRaises((ConnectionError, BrokenPipeError)):
            user.run({'ping': 1, 'comment': 'x' * (1 << 20)})

    def test_what_cannot_be_read_is_logged_once(self):
        """With a line in the log for each message an unknown client could fill the disk."""
        for opcode, body in ((999, b''), (messages.OP_KILL_CURSORS, bytes(8)),
                             (messages.OP_INSERT, bytes(4) + b'a.b\0' + bytes(5)),
                             (messages.OP_QUERY, bytes(4)), (messages.OP_MSG, b'')):
            with self.subTest(opcode):
                client = self.connect()
                client.send(opcode, body)
                with self.assertRaises(ConnectionError):
                    for _ in range(2):  # the first one may be an answer to that message
                        client.run({'ping': 1})
        early = {'hello': 1, 'speculativeAuthenticate': {
            'saslStart': 1, 'mechanism': 'SCRAM-SHA-256', 'payload': b'x', 'db': 'told-once'}}
        client = self.connect()
        with open(self.server.log_path, encoding='utf-8', errors='replace') as log:
            log.seek(0, os.SEEK_END)
            for _ in range(100):
                self.assertNotIn('speculativeAuthenticate', client.run(early))
            told = log.read()
        self.assertNotIn('authentication failed', told)
        user = self.connect()
        user.log_in()
        user.send_kill_cursors()
        self.assertEqual(user.run({'ping': 1})['ok'], 1)


class Sessions(access.Case):
    def test_sessions_of_others(self):
        one = self.make('session-one', ['read'])
        two = self.make('session-two', ['readWrite'])
        with one.start_session() as session:
            cursor = one.test.c.find(batch_size=2, session=session)
            next(cursor)
            own = bytes(session.session_id['id'])

            def listed(client, spec):
                return [bytes(each['_id']['id']) for each in
                        client.admin.aggregate([{'$listLocalSessions': spec}])]
            self.assertIn(own, listed(one, {}))
            self.assertNotIn(own, listed(two, {}))
            self.refused(UNAUTHORIZED, listed, two, {'allUsers': True})
            self.assertIn(own, listed(self.root, {'allUsers': True}))
            for command in ('endSessions', 'killSessions'):
                two.admin.command(command, [{'id': session.session_id['id']}])
            two.admin.command('killSessions', [])
            self.refused(UNAUTHORIZED, two.admin.command, 'killAllSessions', [])
            self.assertEqual(len(list(cursor)), 299)
