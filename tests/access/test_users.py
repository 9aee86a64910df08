"""Users in messages that no driver sends, in halves of logins and by an old driver; two ways in at
once. What else becomes of users is in jstests/access/."""

import os
import subprocess
import unittest

import bson
from bson.binary import Binary
from bson.int64 import Int64

import access
import server
from access import LOGIN_FAILED, UNAUTHORIZED

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
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
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
