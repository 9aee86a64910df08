"""TLS: who may connect in which mode, by which certificate, and that nothing is lost on the way."""

import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import bson
import pymongo

import access
import certificates
import messages
import server
from set_member import wait_until

ENDED = (ConnectionError, ssl.SSLError, BrokenPipeError)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(server.scratch('tls-'))
        cls.files = certificates.Certificates(os.path.join(cls.folder, 'certificates'))

    def start(self, *options):
        folder = self.enterContext(tempfile.TemporaryDirectory(dir=self.folder))
        return self.enterContext(server.Server(access.Case.program, os.path.join(folder, 'db'),
                                               ['--smallfiles', '--nssize', '1', *options]))

    def require(self, *options, certificate=None):
        return self.start('--tlsMode', 'requireTLS', '--tlsCertificateKeyFile',
                          certificate or self.files.server, *options)

    def client(self, running, **fields):
        client = pymongo.MongoClient('127.0.0.1', running.port, directConnection=True, tls=True,
                                     tlsCAFile=self.files.ca, serverSelectionTimeoutMS=10000,
                                     **fields)
        self.addCleanup(client.close)
        return client

    def connect(self, running, certificate=None, version=None):
        context = ssl.create_default_context(cafile=self.files.ca)
        if certificate:
            context.load_cert_chain(certificate)
        if version:
            context.minimum_version = context.maximum_version = version
        connection = access.Connection(running.port)
        self.addCleanup(lambda: connection.close())
        connection.socket = context.wrap_socket(connection.socket, server_hostname='127.0.0.1')
        return connection

    def refused(self, running, certificate=None):
        """In TLS 1.3 the client learns only from what it reads next."""
        with self.assertRaises(ENDED):
            self.connect(running, certificate).run({'ping': 1})

    def test_what_is_required(self):
        running = self.require()
        client = self.client(running)
        client.test.c.insert_many([{'_id': i, 'text': 'x' * 1000} for i in range(5000)])
        self.assertEqual(client.test.c.count_documents({}), 5000)
        with self.assertRaises(ENDED):
            access.Connection(running.port).run({'ping': 1})
        self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)  # it lives on
        self.assertIn('TLS failed', running.tail(20))

    def test_a_client_that_leaves_has_not_failed(self):
        hello = b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
        for mode in ('requireTLS', 'allowTLS'):
            running = self.start('--tlsMode', mode, '--tlsCertificateKeyFile', self.files.server)
            for sent in (b'', hello[:3], hello):
                with access.Connection(running.port) as begun:
                    begun.socket.sendall(sent)
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                for says_goodbye in (False, True):
                    connection = self.connect(running, version=version)
                    self.assertEqual(connection.run({'ping': 1})['ok'], 1)
                    if says_goodbye:
                        connection.socket.unwrap()
                    connection.socket.close()
            running.stop()
            log = running.tail(200)
            self.assertNotIn('TLS failed', log)
            self.assertGreaterEqual(log.count('end connection'), 7)

    def test_what_is_allowed(self):
        for mode in ('allowTLS', 'preferTLS'):
            running = self.start('--tlsMode', mode, '--tlsCertificateKeyFile', self.files.server)
            self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)
            with access.Connection(running.port) as plain:
                # Lengths whose first byte is that of a handshake, and others.
                for length in (278, 790, 16 + 6 + 256 * 4, 100):
                    with access.Connection(running.port) as other:
                        empty = len(bson.encode({'ping': 1, '$db': 'admin', 'comment': ''})) + 21
                        reply = other.run({'ping': 1, 'comment': 'x' * (length - empty)})
                        self.assertEqual(reply['ok'], 1, length)
                self.assertEqual(plain.run({'ping': 1})['ok'], 1)

    def test_the_unix_socket_stays_plain(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(dir='/tmp'))
        running = self.require('--unixSocketPrefix', folder)
        path = os.path.join(folder, 'mongodb-%d.sock' % running.port)
        connection = access.Connection.__new__(access.Connection)
        connection.socket, connection.request = socket.socket(socket.AF_UNIX), 0
        connection.socket.connect(path)
        self.addCleanup(connection.close)
        self.assertEqual(connection.run({'ping': 1})['ok'], 1)

    def test_the_health_check_of_the_image(self):
        program = os.path.join(access.TOP, 'docker', 'healthcheck')
        folder = self.enterContext(tempfile.TemporaryDirectory(dir='/tmp'))

        def healthy(running, prefix=folder):
            return subprocess.run([program], stderr=subprocess.DEVNULL, env=dict(
                os.environ, MONGOD_PORT=str(running.port),
                MONGOD_SOCKET_PREFIX=prefix)).returncode == 0
        running = self.require('--unixSocketPrefix', folder)
        self.assertTrue(healthy(running))
        self.assertFalse(healthy(running, prefix='/nowhere'))
        running.stop()
        self.assertFalse(healthy(running))
        self.assertTrue(healthy(self.start('--nounixsocket')))

    def test_handshakes_have_their_time(self):
        for mode in ('requireTLS', 'allowTLS'):
            running = self.start('--tlsMode', mode, '--tlsCertificateKeyFile', self.files.server,
                                 '--setParameter', 'incompleteMessageSeconds=1')
            idle = self.connect(running)
            self.assertEqual(idle.run({'ping': 1})['ok'], 1)
            hello = b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
            for sent in (hello, hello[:3]) + ((b'',) if mode == 'requireTLS' else ()):
                with access.Connection(running.port) as begun:
                    begun.socket.sendall(sent)
                    self.assertEqual(begun.socket.recv(1), b'')
            self.assertEqual(idle.run({'ping': 1})['ok'], 1)

    def test_handshakes_that_announce_much_share_the_budget(self):
        """The library makes room for as long a hello as is announced."""
        budget, clients = 16 << 20, 400  # a quarter
        running = self.require('--setParameter', 'memoryLimitMB=64')
        idle = self.connect(running)
        before = server.memory_bytes(running.pid)
        hello = b'\x16\x03\x01\x00\x40' + b'\x01\x01\xff\xc8' + b'\x03\x03' + bytes(58)
        most = 0
        with contextlib.ExitStack() as stack:
            begun = [stack.enter_context(access.Connection(running.port)) for _ in range(clients)]
            for each in begun:
                each.socket.sendall(hello)
            # There is no room for all: the first to come is the first to go.
            while not select.select([begun[0].socket], [], [], 0.01)[0]:
                most = max(most, server.memory_bytes(running.pid) - before)
            self.assertEqual(idle.run({'ping': 1})['ok'], 1)
        # The connections that wait hold something, too.
        self.assertLess(most, 2 * budget)

    def test_half_records_have_their_time(self):
        running = self.require('--setParameter', 'incompleteMessageSeconds=1')
        idle = self.connect(running)
        self.assertEqual(idle.run({'ping': 1})['ok'], 1)
        record = b'\x17\x03\x03\x40\x00' + bytes(16000)
        for size in (1, 5, 1000, len(record)):
            begun = self.connect(running)
            self.assertEqual(begun.run({'ping': 1})['ok'], 1)
            os.write(begun.socket.fileno(), record[:size])
            self.assertRaises(ENDED, begun.receive)
        trickling = self.connect(running)
        with self.assertRaises(ENDED):
            for byte in record[:200]:
                os.write(trickling.socket.fileno(), bytes([byte]))
                time.sleep(0.05)
        self.assertEqual(idle.run({'ping': 1})['ok'], 1)

    def test_who_leaves_before_it_is_clear(self):
        """Whether a handshake begins or a message; the server does not wait for more."""
        for mode in ('requireTLS', 'allowTLS'):
            running = self.start('--tlsMode', mode, '--tlsCertificateKeyFile', self.files.server,
                                 '--setParameter', 'incompleteMessageSeconds=3600')
            hello = b'\x16\x03\x01\x02\x00\x01\x00'
            for sent in (hello[:1], hello[:5], hello, b'\x20\0\0'):
                with access.Connection(running.port) as begun:
                    begun.socket.sendall(sent)
                    begun.socket.shutdown(socket.SHUT_WR)
                    while begun.socket.recv(100):  # an alert, perhaps, and the end
                        pass

    def test_many_handshakes_and_the_others(self):
        running = self.require()
        other = self.connect(running)
        failures = []

        def knock():
            try:
                for _ in range(20):
                    self.connect(running).run({'ping': 1})
            except Exception as error:  # reported by the test
                failures.append(error)
        threads = [threading.Thread(target=knock) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(other.run({'ping': 1})['ok'], 1)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_versions(self):
        for disabled, spoken, other in (('TLS1_2', ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2),
                                        ('TLS1_0,TLS1_3', ssl.TLSVersion.TLSv1_2,
                                         ssl.TLSVersion.TLSv1_3)):
            running = self.require('--tlsDisabledProtocols', disabled)
            self.assertEqual(self.connect(running, version=spoken).run({'ping': 1})['ok'], 1)
            with self.assertRaises(ENDED):
                self.connect(running, version=other)

    def test_certificates_of_clients(self):
        running = self.require('--tlsCAFile', self.files.ca)
        self.assertEqual(self.connect(running, self.files.client).run({'ping': 1})['ok'], 1)
        self.assertEqual(self.client(running, tlsCertificateKeyFile=self.files.client)
                         .admin.command('ping')['ok'], 1)
        self.refused(running)
        self.refused(running, self.files.unknown)

    def test_certificates_that_may_be_left_out(self):
        running = self.require('--tlsCAFile', self.files.ca,
                               '--tlsAllowConnectionsWithoutCertificates')
        self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)
        self.assertEqual(self.connect(running, self.files.client).run({'ping': 1})['ok'], 1)
        self.refused(running, self.files.unknown)

    def test_more_certificates_than_lead_to_an_authority(self):
        """The server reads all of them before it knows whether one is good, and keeps them."""
        running = self.require('--tlsCAFile', self.files.ca)
        chain = self.files.branch()
        self.assertEqual(self.connect(running, chain).run({'ping': 1})['ok'], 1)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            many = self.files.joined('many', chain, *[self.files.path('branch.pem')] * 100)
            with self.assertRaises(ENDED):
                self.connect(running, many, version=version).run({'ping': 1})
        self.assertEqual(self.connect(running, chain).run({'ping': 1})['ok'], 1)

    def test_revoked_certificates(self):
        running = self.require('--tlsCAFile', self.files.ca, '--tlsCRLFile', self.files.crl)
        self.assertEqual(self.connect(running, self.files.client).run({'ping': 1})['ok'], 1)
        self.refused(running, self.files.revoked)

    def test_a_revoked_authority(self):
        """Those between the client and the file of authorities count, too, where theirs has a list
        in the file."""
        client = self.files.branch()
        own = self.files.revocations('branch')
        for upper, good in ((None, True), (self.files.crl, True),
                            (self.files.revocations('ca', 'branch'), False)):
            lists = self.files.joined('lists', own, *([upper] if upper else []))
            running = self.require('--tlsCAFile', self.files.ca, '--tlsCRLFile', lists)
            if good:
                self.assertEqual(self.connect(running, client).run({'ping': 1})['ok'], 1)
            else:
                self.refused(running, client)
                limit = time.monotonic() + access.ANSWER_SECONDS_MAX
                while 'certificate revoked' not in running.tail():
                    self.assertLess(time.monotonic(), limit, running.tail())
                    time.sleep(0.01)

    def test_new_certificates_without_a_restart(self):
        path = os.path.join(self.folder, 'changing.pem')
        shutil.copyfile(self.files.server, path)
        running = self.start('--tlsMode', 'allowTLS', '--tlsCertificateKeyFile', path)
        stays = self.client(running)
        stays.test.c.insert_one({'_id': 1})
        shutil.copyfile(self.files.for_another_name, path)
        self.client(running).test.c.insert_one({'_id': 2})
        running.process.send_signal(signal.SIGHUP)
        wait_until('it has read them', lambda: 'were read anew' in running.tail())
        self.refused(running)
        with open(path, 'w', encoding='ascii'):
            pass
        running.process.send_signal(signal.SIGHUP)
        wait_until('it refuses them', lambda: "certificate in '%s'" % path in running.tail())
        with self.assertRaisesRegex(pymongo.errors.OperationFailure, path):
            stays.admin.command('rotateCertificates')
        self.refused(running)
        shutil.copyfile(self.files.server, path)
        stays.admin.command('rotateCertificates', message='the first ones again')
        self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)
        self.assertEqual(stays.test.c.count_documents({}), 2)

    def test_an_encrypted_key_whose_password_is_shown_nowhere(self):
        password = certificates.KEY_PASSWORD
        config = os.path.join(self.folder, 'password.yaml')
        pathlib.Path(config).write_text('net.ssl.PEMKeyPassword: %s\n' % password, 'utf-8')
        for words in (('--tlsCertificateKeyFilePassword', password),
                      ('--sslPEMKeyPassword', password), ('-sslPEMKeyPassword=' + password,),
                      ('--config', config)):
            running = self.require(*words, certificate=self.files.encrypted)
            client = self.client(running)
            shown = str(client.admin.command('getCmdLineOpts'))
            self.assertIn('requireTLS', shown)
            with open(running.log_path, encoding='utf-8') as log:
                with open('/proc/%d/cmdline' % running.process.pid, encoding='utf-8') as process:
                    for text in (shown, log.read(), str(client.local.startup_log.find_one()),
                                 process.read()):
                        self.assertNotIn(password, text, words)
            running.stop()

    def test_the_old_names(self):
        running = self.start('--sslMode', 'requireSSL', '--sslPEMKeyFile', self.files.server,
                             '--sslCAFile', self.files.ca, '--sslWeakCertificateValidation')
        self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)
        config = os.path.join(self.folder, 'old.yaml')
        with open(config, 'w', encoding='utf-8') as file:
            file.write('net: {ssl: {mode: requireSSL, PEMKeyFile: %s}}\n' % self.files.server)
        self.assertEqual(self.connect(self.start('--config', config)).run({'ping': 1})['ok'], 1)
        pathlib.Path(config).write_text('net: {tls: {mode: requireTLS, certificateKeyFile: %s}}\n'
                                        % self.files.server, 'utf-8')
        self.assertEqual(self.connect(self.start('--config', config)).run({'ping': 1})['ok'], 1)

    def test_options_that_cannot_be(self):
        for words, said in (
                (['--tlsMode', 'requireTLS'], '--tlsCertificateKeyFile'),
                (['--tlsMode', 'maybe'], 'tlsMode must be'),
                (['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', '/no/file'], '/no/file'),
                (['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', self.files.ca],
                 'the private key in'),
                (['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', self.files.encrypted,
                  '--tlsCertificateKeyFilePassword', 'wrong'], 'the private key in'),
                (['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', self.files.server,
                  '--tlsCRLFile', self.files.crl], '--tlsCRLFile needs'),
                (['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', self.files.server,
                  '--tlsDisabledProtocols', 'TLS1_2,TLS1_3'], 'leaves no protocol'),
                (['--tlsMode', 'requireTLS', '--sslMode', 'allowSSL', '--tlsCertificateKeyFile',
                  self.files.server], 'different things')):
            with self.assertRaises(server.ServerError) as caught:
                self.start(*words)
            self.assertIn(said, str(caught.exception))

    def test_large_messages_both_ways(self):
        connection = self.connect(self.require())
        text = os.urandom(8 << 20).hex()[:15 << 20]
        self.assertEqual(connection.run({'insert': 'c', 'documents': [{'_id': 1, 't': text}]},
                                        'test')['n'], 1)
        for _ in range(3):
            reply = connection.run({'find': 'c'}, 'test')
            self.assertEqual(reply['cursor']['firstBatch'][0]['t'], text)

    def test_replies_that_are_not_read_for_a_while(self):
        """The socket's buffers fill up in the middle of a reply; others are served all the same."""
        running = self.require()
        text = 'x' * (4 << 20)
        lazy = self.connect(running)
        lazy.run({'insert': 'c', 'documents': [{'_id': 1, 't': text}]}, 'test')
        count = 20
        for _ in range(count):
            lazy.send_message({'find': 'c', '$db': 'test'})
        other = self.connect(running)
        for _ in range(50):
            self.assertEqual(other.run({'ping': 1})['ok'], 1)
        for _ in range(count):
            reply = bson.decode(lazy.receive()[21:])
            self.assertEqual(reply['cursor']['firstBatch'][0]['t'], text)

    def test_many_small_messages_in_one_record(self):
        connection = self.connect(self.require())
        body = struct.pack('<IB', 0, 0) + bson.encode({'ping': 1, '$db': 'admin'})
        one = struct.pack('<iiii', len(body) + 16, 7, 0, messages.OP_MSG) + body
        connection.socket.sendall(one * 1000)
        for _ in range(1000):
            self.assertEqual(bson.decode(connection.receive()[21:])['ok'], 1)
        # And bytes one by one.
        for byte in one:
            connection.socket.sendall(bytes([byte]))
        self.assertEqual(bson.decode(connection.receive()[21:])['ok'], 1)

    def test_handshakes_that_end_in_the_middle(self):
        running = self.require()
        hello = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
        for beginning in (b'', hello[:1], hello, hello + bytes(600), b'GET / HTTP/1.1\r\n\r\n',
                          bytes(100), os.urandom(5000)):
            with messages.Connection(running.port, 30) as half:
                try:
                    half.socket.sendall(beginning)
                    half.socket.shutdown(socket.SHUT_WR)
                    while half.socket.recv(4096):
                        pass
                except OSError as error:  # closed before all was sent; never left hanging
                    self.assertNotIsInstance(error, TimeoutError)
        waiting = [messages.Connection(running.port, 30) for _ in range(200)]
        for connection in waiting:
            connection.socket.sendall(hello)
        self.assertEqual(self.connect(running).run({'ping': 1})['ok'], 1)
        for connection in waiting:
            connection.close()

    def test_shutting_down_with_connections_open(self):
        running = self.require()
        connection = self.connect(running)
        self.assertEqual(connection.run({'ping': 1})['ok'], 1)
        running.stop()
        with self.assertRaises(ENDED):
            connection.run({'ping': 1})
