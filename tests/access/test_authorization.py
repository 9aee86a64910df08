"""Requests of clients that have not logged in, and sessions of others; each command for each role,
by roles.txt; users in messages that no driver sends, and by an old driver. Only whether the answer
is code 13 counts for a role, so a command that fails for want of an argument will do. What else
becomes of users is in jstests/access/."""

import os
import re
import subprocess
import unittest

import bson
from bson.binary import Binary
from bson.int64 import Int64

import access
import command_requests
import messages
import server
from access import LOGIN_FAILED, UNAUTHORIZED


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


# Of the database `test`, and of admin; `elsewhere` reads another database, `none` has no role.
OF_DATABASES = ['read', 'readWrite', 'dbAdmin', 'userAdmin', 'dbOwner']
OF_ADMIN = ['readAnyDatabase', 'readWriteAnyDatabase', 'dbAdminAnyDatabase',
            'userAdminAnyDatabase', 'clusterMonitor', 'hostManager', 'clusterManager',
            'clusterAdmin', 'backup', 'restore', 'root']
ALL = set(OF_DATABASES + OF_ADMIN + ['none', 'elsewhere'])


def allowed():
    """{command: its roles} of roles.txt."""
    sets, found = {}, {}

    def roles(words):
        return {role for word in words.split() for role in sets.get(word, [word])}
    with open(os.path.join(access.TOP, 'tests', 'access', 'roles.txt'), encoding='utf-8') as file:
        for line in file:
            if match := re.fullmatch(r'([A-Z_]+) =(.*)\n', line):
                sets[match[1]] = roles(match[2])
            elif match := re.fullmatch(r'([^#:]+): (.*)\n', line):
                found.update(dict.fromkeys(match[2].split(), roles(match[1])))
    return found


# Without a login too.
OPEN = {'authenticate', 'buildInfo', 'connectionStatus', 'getLastError', 'getPrevError',
        'getnonce', 'handshake', 'hello', 'isMaster', 'ping', 'resetError', 'whatsmyuri'}
# They end a login or the server, or take the users away; the other tests have them.
ELSEWHERE = {'dropAllUsersFromDatabase', 'fsyncUnlock', 'logout', 'saslContinue', 'saslStart',
             'shutdown'}


class Matrix(access.Case):
    def test_each_command_for_each_role(self):
        who = {'no login': self.connect()}
        for role in sorted(ALL):
            database = {'elsewhere': 'other'}.get(role, 'test' if role not in OF_ADMIN else 'admin')
            roles = {'none': [], 'elsewhere': ['read']}.get(role, [role])
            self.root[database].command('createUser', 'has ' + role, pwd='pw', roles=roles)
            who[role] = self.connect()
            self.assertEqual(who[role].log_in('has ' + role, 'pw', database)['ok'], 1)
        commands = self.root.admin.command('listCommands')['commands']
        of_roles = allowed()
        self.assertEqual(set(of_roles) - set(commands), set(), 'there is no such command')
        for name in sorted(set(commands) - ELSEWHERE):
            database = 'admin' if commands[name]['adminOnly'] else 'test'
            request = dict(command_requests.REQUESTS.get(name) or {name: 1})
            for key, value in request.items():
                if isinstance(value, str):
                    request[key] = value.replace('DB.', database + '.')
            let_in = set()
            for role, client in who.items():
                self.root.test.c.update_one({'_id': 1}, {'$set': {'a': 1}}, upsert=True)
                if client.run(request, database).get('code') != UNAUTHORIZED:
                    let_in.add(role)
            expected = of_roles.get(name, ALL)
            self.assertEqual(let_in, set(who) if name in OPEN else expected, name)


BAD_VALUE = 2


class Users(access.Case):
    def test_made_anew_under_the_same_name(self):
        """A user with the name of a dropped one is another user."""
        for drop in (lambda: self.root.anew.command('dropUser', 'again'),
                     lambda: self.root.anew.command('dropAllUsersFromDatabase')):
            session = {'id': Binary(os.urandom(16), 4)}
            self.root.anew.c.insert_many([{'i': i} for i in range(10)])
            self.make('again', ['read'], 'anew')
            first = self.connect()
            self.assertEqual(first.log_in('again', 'pw', 'anew')['ok'], 1)
            find = {'find': 'c', 'batchSize': 2}
            cursors = [first.run(dict(find, **more), 'anew')['cursor']['id']
                       for more in ({}, {'lsid': session})]
            drop()
            self.make('again', ['read'], 'anew')
            second = self.connect()
            self.assertEqual(second.log_in('again', 'pw', 'anew')['ok'], 1)
            listed = second.run({'aggregate': 1, 'pipeline': [{'$listLocalSessions': {}}],
                                 'cursor': {}}, 'admin')
            self.assertNotIn(session['id'], [each['_id']['id'] for each in
                                             listed['cursor']['firstBatch']])
            for client in (first, second):
                for cursor, more in zip(cursors, ({}, {'lsid': session})):
                    self.assertEqual(client.run(dict({'getMore': Int64(cursor), 'collection': 'c'},
                                                     **more), 'anew')['ok'], 0)
            self.assertEqual(first.run({'find': 'c'}, 'anew')['code'], UNAUTHORIZED)
            own = second.run(dict(find, lsid=session), 'anew')['cursor']['id']
            self.assertEqual(second.run({'getMore': Int64(own), 'collection': 'c',
                                         'lsid': session}, 'anew')['ok'], 1)
            self.root.anew.command('dropUser', 'again')

    def test_a_password_that_changes_during_a_login(self):
        self.make('half-way', ['read'])
        begun = self.connect()
        proven = self.connect()
        logins = [access.Login('half-way', 'pw', 'test') for _ in range(2)]
        reply = begun.start_login(logins[0])
        long = proven.run({'saslStart': 1, 'mechanism': 'SCRAM-SHA-256',
                           'payload': Binary(logins[1].first())}, 'test')
        self.assertFalse(proven.end_login(logins[1], long)['done'])
        self.root.test.command('updateUser', 'half-way', pwd='other')
        self.assertEqual(begun.end_login(logins[0], reply)['code'], LOGIN_FAILED)
        self.assertEqual(proven.run({'saslContinue': 1, 'conversationId': long['conversationId'],
                                     'payload': Binary(b'')}, 'test')['code'], LOGIN_FAILED)
        self.assertEqual(begun.log_in('half-way', 'other', 'test')['ok'], 1)

    def test_texts_that_others_could_not_read(self):
        """A client that makes a user cannot spoil the list of all."""
        for command in ({'createUser': 'MARK', 'pwd': 'x', 'roles': []},
                        {'createUser': 'x', 'pwd': 'x', 'roles': [], 'customData': {'a': 'MARK'}},
                        {'createUser': 'x', 'pwd': 'x', 'roles': [], 'customData': {'MARK': 1}},
                        {'updateUser': access.ROOT, 'customData': {'a': ['MARK']}}):
            connection = self.connect()
            connection.log_in()
            body = bson.encode(dict(command, **{'$db': 'admin'}))
            connection.send_message(body.replace(b'MARK', b'\xff\xfe\xc3('))
            self.assertEqual(connection.finish()['code'], BAD_VALUE, command)
        self.root.admin.command('usersInfo', {'forAllDBs': True})

    def test_the_old_driver(self):
        python = os.path.join(access.TOP, 'build', 'venv-old-driver', 'bin', 'python')
        run = subprocess.run([python, os.path.join(access.TOP, 'tests/access/old_driver.py'),
                              str(self.server.port), access.ROOT, access.ROOT_PASSWORD],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)


class Starts(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(server.scratch('access-'))

    def start(self, *options):
        return server.Server(access.Case.program, os.path.join(self.folder, 'db'),
                             ['--smallfiles', '--nssize', '1', *options])

    def test_the_way_in_stays_closed_though_it_was_not_tried(self):
        """Users come and go between two looks for the way in."""
        path = os.path.join(self.folder, 'first')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('first\nx\n')
        for options in ((), ('--firstUserFile', path)):
            with self.start('--auth', *options) as running:
                first, unknown = (access.Connection(running.port) for _ in range(2))
                self.addCleanup(first.close)
                self.addCleanup(unknown.close)
                made = {'createUser': 'first', 'pwd': 'x', 'roles': ['root']}
                if not options:
                    self.assertEqual(first.run(made)['ok'], 1)
                self.assertEqual(first.log_in('first', 'x')['ok'], 1)
                self.assertEqual(first.run({'dropAllUsersFromDatabase': 1})['n'], 1)
                self.assertEqual(unknown.run(made)['code'], UNAUTHORIZED)

    def test_first_users_at_once(self):
        """One is made, however many ask while its password is hashed."""
        with self.start('--auth') as running:
            clients = [access.Connection(running.port) for _ in range(8)]
            for number, unknown in enumerate(clients):
                self.addCleanup(unknown.close)
                unknown.start({'createUser': 'first%d' % number, 'pwd': 'x', 'roles': ['root']})
            replies = [unknown.finish() for unknown in clients]
            made = [number for number, reply in enumerate(replies) if reply['ok'] == 1]
            self.assertEqual(len(made), 1, replies)
            self.assertEqual({reply['code'] for reply in replies if reply['ok'] != 1},
                             {UNAUTHORIZED})
            first = clients[made[0]]
            self.assertEqual(first.log_in('first%d' % made[0], 'x')['ok'], 1)
            self.assertEqual(len(first.run({'usersInfo': 1})['users']), 1)
