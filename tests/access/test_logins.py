"""Logging in by hand: what unknown clients learn, and what failures cost; the rest of logging in is
in jstests/access/."""

import base64
import concurrent.futures
import os
import threading
import time

import pymongo
from bson.binary import Binary

import access
from access import LOGIN_FAILED, PROTOCOL_ERROR, UNAUTHORIZED

MECHANISMS = ('SCRAM-SHA-1', 'SCRAM-SHA-256')


class Logins(access.Case):
    def test_who_is_not_who_he_says(self):
        self.make('bob', ['read'])

        def fail(user, password, database, mechanism):
            client = self.client(user, password, database, authMechanism=mechanism)
            return str(self.refused(LOGIN_FAILED, client.test.c.find_one))
        tried = [(*who, mechanism) for mechanism in MECHANISMS
                 for who in (('bob', 'wrong', 'test'), ('bob', 'pw', 'admin'),
                             ('alice', 'pw', 'test'), ('bob', 'pw ', 'test'))]
        # At once: their answers are held back.
        with concurrent.futures.ThreadPoolExecutor(len(tried)) as pool:
            for error in pool.map(fail, *zip(*tried)):
                self.assertIn('Authentication failed', error)

    def test_an_unknown_user_is_answered_like_a_known_one(self):
        self.make('known', ['read'])
        for mechanism in MECHANISMS:
            answers = {}
            for user in ('known', 'unknown'):
                seen = []
                for _ in range(2):
                    login = access.Login(user, 'guess', 'test', mechanism)
                    connection = self.connect()
                    reply = connection.start_login(login)
                    fields = dict(part.split('=', 1)
                                  for part in bytes(reply['payload']).decode().split(','))
                    seen.append((fields['s'], fields['i']))
                    end = connection.end_login(login, reply)
                    self.assertEqual((end['code'], end['errmsg']),
                                     (LOGIN_FAILED, 'Authentication failed.'))
                self.assertEqual(*seen)  # the salt stays
                answers[user] = (sorted(reply), len(base64.b64decode(seen[0][0])), seen[0][1])
            self.assertEqual(answers['known'], answers['unknown'])
            hello = [self.connect().run({'hello': 1, 'saslSupportedMechs': 'test.' + user})
                     for user in answers]
            self.assertEqual(*[reply['saslSupportedMechs'] for reply in hello])

    def test_a_recorded_login_is_worth_nothing(self):
        login = access.Login(access.ROOT, access.ROOT_PASSWORD)
        connection = self.connect()
        reply = connection.start_login(login)
        last = {'saslContinue': 1, 'conversationId': reply['conversationId'],
                'payload': Binary(login.last(reply['payload']))}
        self.assertEqual(connection.run(last)['ok'], 1)
        self.assertEqual(connection.run(last)['code'], PROTOCOL_ERROR)
        listener = self.connect()
        self.assertEqual(listener.run(last)['code'], PROTOCOL_ERROR)
        self.assertEqual(listener.start_login(login)['ok'], 1)
        self.assertEqual(listener.run(last)['code'], LOGIN_FAILED)
        self.assertEqual(listener.run({'find': 'c'}, 'test')['code'], UNAUTHORIZED)

    def test_what_is_no_login(self):
        connection = self.connect()
        for command, code in (
                ({'saslStart': 1, 'mechanism': 'PLAIN', 'payload': Binary(b'\0a\0b')}, 2),
                ({'saslStart': 1, 'mechanism': 'MONGODB-X509', 'payload': Binary(b'')}, 2),
                ({'saslStart': 1, 'mechanism': 'SCRAM-SHA-256', 'payload': 'n,,n=a,r=b'}, 14),
                ({'saslStart': 1, 'mechanism': 'SCRAM-SHA-256', 'payload': Binary(b'\xff' * 50)},
                 LOGIN_FAILED),
                ({'saslStart': 1}, 14),
                ({'saslContinue': 1}, PROTOCOL_ERROR),
                ({'saslContinue': 1, 'conversationId': 1, 'payload': Binary(b'')}, PROTOCOL_ERROR),
                ({'authenticate': 1, 'user': 'root', 'nonce': 'x', 'key': 'y'}, LOGIN_FAILED),
                ({'logout': 1}, None)):
            self.assertEqual(connection.run(command).get('code'), code, command)

    def test_several_users_on_one_connection(self):
        self.make('one', [{'role': 'read', 'db': 'test'}], 'first')
        self.make('two', [{'role': 'read', 'db': 'other'}], 'second')
        connection = self.connect()
        for user, database in (('one', 'first'), ('two', 'second')):
            self.assertEqual(connection.log_in(user, 'pw', database)['ok'], 1)
        for database in ('test', 'other'):
            self.assertEqual(connection.run({'find': 'c'}, database)['ok'], 1)
        status = connection.run({'connectionStatus': 1, 'showPrivileges': True})['authInfo']
        self.assertEqual(status['authenticatedUsers'],
                         [{'user': 'one', 'db': 'first'}, {'user': 'two', 'db': 'second'}])
        self.assertEqual(status['authenticatedUserRoles'],
                         [{'role': 'read', 'db': 'test'}, {'role': 'read', 'db': 'other'}])
        self.assertIn({'db': 'test', 'collection': ''},
                      [entry['resource'] for entry in status['authenticatedUserPrivileges']])
        connection.run({'logout': 1}, 'first')
        self.assertEqual(connection.run({'find': 'c'}, 'test')['code'], UNAUTHORIZED)
        self.assertEqual(connection.run({'find': 'c'}, 'other')['ok'], 1)

    def test_failures_count_over_connections(self):
        """The answer is held back for what others have tried; who knows the password gets in."""
        self.make('target', ['read'])
        waits = []
        for _ in range(8):
            connection = self.connect()
            login = access.Login('target', 'wrong', 'test')
            reply = connection.start_login(login)
            begin = time.monotonic()
            self.assertEqual(connection.end_login(login, reply)['code'], LOGIN_FAILED)
            waits.append(time.monotonic() - begin)
        self.assertGreater(waits[-1], 1.5, waits)
        self.assertEqual(self.connect().log_in('target', 'pw', 'test')['ok'], 1)

    def test_failures_wait_without_holding_a_thread(self):
        waiting = []
        for _ in range(100):
            login = access.Login(access.ROOT, 'wrong')
            connection = self.connect()
            reply = connection.start_login(login)
            # Sent, and not read: all of them wait at once.
            waiting.append((connection, connection.run, login, reply))
        before = self.threads()
        most = [before]
        begun = threading.Barrier(len(waiting) + 1)
        answers = []

        def fail(connection, login, reply):
            begun.wait()
            answers.append(connection.end_login(login, reply)['code'])
        threads = [threading.Thread(target=fail, args=(connection, login, reply))
                   for connection, _, login, reply in waiting]
        for thread in threads:
            thread.start()
        begun.wait()
        while any(thread.is_alive() for thread in threads):
            self.root.test.c.find_one()
            most.append(self.threads())
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [LOGIN_FAILED] * len(waiting))
        self.assertLess(max(most), before + 10)

    def threads(self):
        return len(os.listdir('/proc/%d/task' % self.server.pid))

    def test_many_new_users_at_once_hold_few_threads(self):
        before = self.threads()
        most = [before]
        failures = []

        def make(number):
            try:
                self.root.many.command('createUser', 'user%d' % number, pwd='pw', roles=['read'])
            except pymongo.errors.PyMongoError as error:
                failures.append(error)
        threads = [threading.Thread(target=make, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.root.test.c.find_one()
            most.append(self.threads())
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(self.root.many.command('usersInfo')['users']), 40)
        self.assertLess(max(most), before + 20)
