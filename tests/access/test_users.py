"""Users: made, changed, dropped, dumped; kept over restarts; the way in before the first one."""

import os
import subprocess

import bson
import pymongo
from bson.binary import Binary
from bson.int64 import Int64

import access
import server
from access import LOGIN_FAILED, UNAUTHORIZED

BAD_VALUE = 2


class Users(access.Case):
    def test_as_they_are_stored(self):
        self.make('stored', ['read', {'role': 'readWrite', 'db': 'other'}],
                  customData={'team': 'a'})
        document = self.root.admin['system.users'].find_one({'_id': 'test.stored'})
        self.assertEqual(list(document), ['_id', 'user', 'db', 'credentials', 'roles',
                                          'customData'])
        self.assertEqual(document['roles'], [{'role': 'read', 'db': 'test'},
                                             {'role': 'readWrite', 'db': 'other'}])
        for mechanism, iterations, key_letters in (('SCRAM-SHA-1', 10000, 28),
                                                   ('SCRAM-SHA-256', 15000, 44)):
            credential = document['credentials'][mechanism]
            self.assertEqual(credential['iterationCount'], iterations)
            self.assertEqual(len(credential['storedKey']), key_letters)
            self.assertEqual(len(credential['serverKey']), key_letters)
        self.assertEqual(self.root.admin['system.version'].find_one(),
                         {'_id': 'authSchema', 'currentVersion': 3})
        self.assertEqual(
            self.root.admin.command('getParameter', 1, authSchemaVersion=1)['authSchemaVersion'], 3)
        self.assertIn('user_1_db_1', self.root.admin['system.users'].index_information())

    def test_dumped_by_who_may(self):
        self.make('dumped', ['read'])
        for role in ('backup', 'userAdminAnyDatabase', 'root'):
            client = self.make('dumper-' + role, [role], 'admin')
            self.assertTrue(client.admin['system.users'].find_one({'_id': 'test.dumped'}))
        for role in ('readAnyDatabase', 'readWriteAnyDatabase', 'dbAdminAnyDatabase',
                     'clusterAdmin'):
            client = self.make('no-dumper-' + role, [role], 'admin')
            self.refused(UNAUTHORIZED, client.admin['system.users'].find_one)
            self.refused(UNAUTHORIZED, client.admin.command, 'collStats', 'system.users')

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

    def test_what_commands_answer(self):
        test = self.root.test
        test.command('createUser', 'answers', pwd='pw', roles=['read'])
        self.refused(51003, test.command, 'createUser', 'answers', pwd='pw', roles=[])
        self.refused(31, test.command, 'createUser', 'new', pwd='pw', roles=['nothing'])
        self.refused(31, test.command, 'grantRolesToUser', 'answers', roles=['root'])
        self.refused(11, test.command, 'dropUser', 'absent')
        self.refused(11, test.command, 'updateUser', 'absent', pwd='x')
        self.refused(11, test.command, 'grantRolesToUser', 'absent', roles=['read'])
        self.refused(2, test.command, 'createUser', 'new', roles=[])
        self.refused(2, test.command, 'createUser', 'new', pwd='pw')
        self.refused(40415, test.command, 'createUser', 'new', pwd='pw', roles=[], colour='red')
        self.refused(2, test.command, 'updateUser', 'answers')
        powerless = self.make('no-roles', [])
        for command in ('grantRolesToUser', 'revokeRolesFromUser'):
            for name in ('answers', 'absent'):  # the answer does not say which one there is
                self.refused(2, powerless.test.command, command, name, roles=[])
        test.command('grantRolesToUser', 'answers', roles=['readWrite', 'read'])
        user = test.command('usersInfo', 'answers')['users'][0]
        self.assertEqual(sorted(role['role'] for role in user['roles']), ['read', 'readWrite'])
        test.command('revokeRolesFromUser', 'answers', roles=['readWrite'])
        user = test.command('usersInfo', {'user': 'answers', 'db': 'test'},
                            showPrivileges=True)['users'][0]
        self.assertEqual(user['roles'], [{'role': 'read', 'db': 'test'}])
        self.assertTrue(user['inheritedPrivileges'])
        self.assertNotIn('credentials', user)
        self.assertIn('answers', [user['user'] for user in self.root.admin.command(
            'usersInfo', {'forAllDBs': True})['users']])
        roles = test.command('rolesInfo', 1, showBuiltinRoles=True)['roles']
        self.assertEqual([role['role'] for role in roles],
                         ['dbAdmin', 'dbOwner', 'read', 'readWrite', 'userAdmin'])
        self.assertTrue(test.command('rolesInfo', 'read', showPrivileges=True)
                        ['roles'][0]['privileges'])
        test.command('dropUser', 'answers')
        self.assertEqual(test.command('usersInfo', 'answers')['users'], [])

    def test_a_changed_password(self):
        client = self.make('changer', ['read'])
        client.test.c.find_one()
        self.root.test.command('updateUser', 'changer', pwd='other')
        client.test.c.find_one()  # who is in stays in
        self.refused(LOGIN_FAILED, self.client('changer', 'pw', 'test').test.c.find_one)
        self.client('changer', 'other', 'test').test.c.find_one()

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

    def test_names_that_read_alike(self):
        """A user b.c of one database is no user c of a database b."""
        self.make('b.c', ['read'], 'alike', customData={'n': 1})
        other = {'user': 'c', 'db': 'alike.b'}
        for command in ({'usersInfo': other}, {'dropUser': other},
                        {'updateUser': other, 'customData': {}},
                        {'grantRolesToUser': other, 'roles': ['readWrite']},
                        {'killAllSessions': [other]}):
            self.refused(BAD_VALUE, self.root.admin.command, command)
        self.assertEqual(self.root.alike.command('usersInfo', 'b.c')['users'][0]['customData'],
                         {'n': 1})

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
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout)


class Running(server.Server):
    """Closes its clients before it ends: afterwards they would look for it for half a minute."""

    def __init__(self, *arguments):
        self.clients = []
        super().__init__(*arguments)

    def stop(self):
        self.close_clients()
        super().stop()

    def kill(self):
        self.close_clients()
        super().kill()

    def close_clients(self):
        for client in self.clients:
            client.close()


class Starts(access.Refusals):
    """Each test starts servers of its own on one directory."""

    def setUp(self):
        self.folder = self.enterContext(server.scratch('access-'))

    def start(self, *options):
        return Running(access.Case.program, os.path.join(self.folder, 'db'),
                       ['--smallfiles', '--nssize', '1', *options])

    def client(self, running, **fields):
        client = pymongo.MongoClient('127.0.0.1', running.port, directConnection=True, **fields)
        running.clients.append(client)
        return client

    def test_the_way_in_before_the_first_user(self):
        with self.start('--auth', '--unixSocketPrefix', self.folder) as running:
            unknown = self.client(running)
            self.refused(UNAUTHORIZED, unknown.test.c.find_one)
            self.refused(UNAUTHORIZED, unknown.test.c.insert_one, {})
            self.refused(UNAUTHORIZED, unknown.admin.command, 'usersInfo')
            self.refused(UNAUTHORIZED, unknown.admin.command, 'shutdown')
            self.refused(UNAUTHORIZED, unknown.test.command, 'createUser', 'a', pwd='x', roles=[])
            unknown.admin.command('createUser', 'first', pwd='x', roles=['root'])
            self.refused(UNAUTHORIZED, unknown.admin.command, 'createUser', 'second', pwd='x',
                         roles=['root'])
            first = self.client(running, username='first', password='x')
            first.test.c.insert_one({})
            # Not even when that one is gone.
            first.admin.command('dropUser', 'first')
            self.refused(UNAUTHORIZED, unknown.admin.command, 'createUser', 'third', pwd='x',
                         roles=['root'])
        with self.start('--auth') as running:  # but at the next start, without users
            self.client(running).admin.command('createUser', 'next', pwd='x', roles=['root'])

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
            first = self.client(running, username='first%d' % made[0], password='x')
            self.assertEqual(len(first.admin.command('usersInfo')['users']), 1)

    def test_the_way_in_can_be_closed(self):
        with self.start('--auth', '--setParameter', 'enableLocalhostAuthBypass=false') as running:
            self.refused(UNAUTHORIZED, self.client(running).admin.command, 'createUser', 'a',
                         pwd='x', roles=['root'])

    def test_users_outlive_the_server(self):
        with self.start() as running:
            self.client(running).admin.command('createUser', 'early', pwd='x', roles=['root'])
        with self.start('--auth') as running:
            early = self.client(running, username='early', password='x')
            early.test.command('createUser', 'late', pwd='y', roles=['read'])
            running.kill()  # an acknowledged user has been synced
        with self.start('--auth') as running:
            self.client(running, username='late', password='y',
                        authSource='test').test.c.find_one()
            early = self.client(running, username='early', password='x')
            early.test.command('dropUser', 'late')
            running.kill()
        with self.start('--auth') as running:
            self.refused(LOGIN_FAILED, self.client(running, username='late', password='y',
                                                   authSource='test').test.c.find_one)

    def test_without_access_control_no_login_is_needed(self):
        with self.start() as running:
            client = self.client(running)
            client.admin.command('createUser', 'a', pwd='x', roles=['read'])
            client.test.c.insert_one({})
            logged_in = self.client(running, username='a', password='x')
            logged_in.test.c.insert_one({})
            self.refused(LOGIN_FAILED, self.client(running, username='a',
                                                   password='y').test.c.find_one)

    def test_the_first_user_from_a_file(self):
        path = os.path.join(self.folder, 'first')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('filed\npass word\n')
        with self.start('--auth', '--firstUserFile', path) as running:
            self.client(running, username='filed', password='pass word').test.c.insert_one({})
            self.refused(UNAUTHORIZED, self.client(running).admin.command, 'createUser', 'a',
                         pwd='x', roles=['root'])
        os.remove(path)  # is read once
        with self.start('--auth', '--firstUserFile', path) as running:
            self.client(running, username='filed', password='pass word').test.c.find_one()

    def test_a_file_without_a_user_ends_the_start(self):
        path = os.path.join(self.folder, 'first')
        for text in (None, '', 'name only\n', '\npassword only\n'):
            if text is not None:
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)
            with self.assertRaises(server.ServerError) as caught:
                self.start('--auth', '--firstUserFile', path)
            self.assertIn('--firstUserFile', str(caught.exception))
        for other, why in ((self.folder, 'it is a directory'), ('/dev/zero', 'it is longer than')):
            with self.assertRaises(server.ServerError) as caught:
                self.start('--auth', '--firstUserFile', other)
            self.assertIn('--firstUserFile %s: %s' % (other, why), str(caught.exception))

    def test_options_that_contradict_each_other(self):
        for words in (['--auth', '--noauth'], ['--firstUserFile', 'x']):
            with self.assertRaises(server.ServerError):
                self.start(*words)

    def test_users_of_an_old_server_who_cannot_log_in(self):
        with self.start() as running:
            client = self.client(running)
            client.admin['system.users'].insert_one(
                {'_id': 'admin.old', 'user': 'old', 'db': 'admin',
                 'credentials': {'MONGODB-CR': '0' * 32},
                 'roles': [{'role': 'root', 'db': 'admin'}]})
        with self.start('--auth') as running:
            self.assertIn('no client can log in', running.tail(50))
            self.refused(UNAUTHORIZED, self.client(running).admin.command, 'createUser', 'a',
                         pwd='x', roles=['root'])
            self.refused(LOGIN_FAILED, self.client(running, username='old',
                                                   password='x').test.c.find_one)
        with self.start() as running:
            self.client(running).admin.command('updateUser', 'old', pwd='new')
        with self.start('--auth') as running:
            self.client(running, username='old', password='new').test.c.insert_one({})
