"""What the tests of tests/access/ share: servers that ask for a login, a login by hand, messages of
every kind."""

import base64
import hashlib
import hmac
import os
import unittest

import bson
import pymongo
from bson.binary import Binary

import messages
import secured
import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ANSWER_SECONDS_MAX = 60  # generous: a server that does not answer by then hangs
UNAUTHORIZED, LOGIN_FAILED, PROTOCOL_ERROR = 13, 18, 17
ROOT, ROOT_PASSWORD = secured.USER, secured.PASSWORD


class Connection(messages.Connection):
    """Commands by OP_MSG, the old messages, and logging in by hand."""

    seconds_max = ANSWER_SECONDS_MAX

    def run(self, command, database='admin'):
        self.start(command, database)
        return self.finish()

    def start(self, command, database='admin'):
        self.send_message(dict(command, **{'$db': database}))

    def finish(self):
        return bson.decode(self.receive_message())

    def query(self, namespace, query, count=0):
        """The documents of an OP_REPLY, and its flags."""
        self.send_query(namespace, query, count=count)
        return self.old_reply()

    def get_more(self, namespace, cursor):
        self.send_get_more(namespace, cursor)
        return self.old_reply()

    def old_reply(self):
        flags, *_, documents = self.receive_reply()
        return bson.decode_all(documents), flags

    def start_login(self, login):
        return self.run({'saslStart': 1, 'mechanism': login.mechanism,
                         'payload': Binary(login.first()),
                         'options': {'skipEmptyExchange': True}}, login.database)

    def end_login(self, login, reply):
        return self.run({'saslContinue': 1, 'conversationId': reply['conversationId'],
                         'payload': Binary(login.last(reply['payload']))}, login.database)

    def log_in(self, user=ROOT, password=ROOT_PASSWORD, database='admin',
               mechanism='SCRAM-SHA-256'):
        login = Login(user, password, database, mechanism)
        return self.end_login(login, self.start_login(login))


class Login:
    """The client's half of SCRAM."""

    def __init__(self, user, password, database='admin', mechanism='SCRAM-SHA-256'):
        self.user, self.database, self.mechanism = user, database, mechanism
        if mechanism == 'SCRAM-SHA-1':
            password = hashlib.md5(('%s:mongo:%s' % (user, password)).encode()).hexdigest()
        self.password = password.encode()
        self.digest = {'SCRAM-SHA-1': 'sha1', 'SCRAM-SHA-256': 'sha256'}[mechanism]
        self.nonce = base64.b64encode(os.urandom(18)).decode()

    def first(self):
        self.bare = 'n=%s,r=%s' % (self.user.replace('=', '=3D').replace(',', '=2C'), self.nonce)
        return ('n,,' + self.bare).encode()

    def last(self, server_first):
        server_first = bytes(server_first).decode()
        fields = dict(part.split('=', 1) for part in server_first.split(','))
        salted = hashlib.pbkdf2_hmac(self.digest, self.password, base64.b64decode(fields['s']),
                                     int(fields['i']))

        def sign(key, text):
            return hmac.digest(key, text.encode(), self.digest)
        key = sign(salted, 'Client Key')
        without_proof = 'c=biws,r=' + fields['r']
        signature = sign(hashlib.new(self.digest, key).digest(),
                         ','.join((self.bare, server_first, without_proof)))
        proof = bytes(a ^ b for a, b in zip(key, signature))
        return (without_proof + ',p=' + base64.b64encode(proof).decode()).encode()


class Refusals(unittest.TestCase):
    def refused(self, code, work, *arguments, **fields):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            work(*arguments, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class Case(Refusals):
    """A test against a server of its class, with the first user and an ordinary collection."""

    program = None  # conftest.py sets it
    options = []

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(server.scratch('access-'))
        cls.server = cls.enterClassContext(secured.Server(
            cls.program, os.path.join(cls.folder, 'db'), cls.options))
        cls.root = cls.client()
        cls.addClassCleanup(cls.root.close)
        cls.root.test.c.insert_many([{'_id': i} for i in range(300)])

    @classmethod
    def client(cls, user=ROOT, password=ROOT_PASSWORD, database='admin', **options):
        """A client of pymongo; closed by who asks for it, or with the class."""
        client = pymongo.MongoClient('127.0.0.1', cls.server.port, directConnection=True,
                                     username=user, password=password, authSource=database,
                                     serverSelectionTimeoutMS=ANSWER_SECONDS_MAX * 1000, **options)
        cls.addClassCleanup(client.close)
        return client

    @classmethod
    def make(cls, user, roles, database='test', password='pw', **fields):
        """Makes a user; a client that logs in as that one."""
        cls.root[database].command('createUser', user, pwd=password, roles=roles, **fields)
        return cls.client(user, password, database)

    def connect(self):
        connection = Connection(self.server.port)
        self.addCleanup(connection.close)
        return connection
