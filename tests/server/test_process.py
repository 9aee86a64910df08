"""A mongod as a process, where a shell does not reach: sockets by hand, calls and limits of the
system, a full disk. Exit codes, signals, logs and files are in jstests/options/."""

import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import unittest.mock

import pymongo

import server
from process_case import CLEAN, NET_ERROR, SECONDS_MAX, UNCAUGHT, ProcessCase, read
from set_member import wait_until


class Process(ProcessCase):
    def test_a_client_that_waits_does_not_hold_up_the_end(self):
        running = self.start()
        idle = socket.create_connection(('127.0.0.1', running.port))
        half = socket.create_connection(('127.0.0.1', running.port))
        half.sendall(struct.pack('<iiii', 100, 1, 0, 2013))
        running.process.send_signal(signal.SIGTERM)
        self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)
        for client in (idle, half):
            try:
                self.assertEqual(client.recv(1), b'')
            except ConnectionResetError:
                pass  # what it had sent was not read any more
            client.close()

    def test_the_manager_of_services_is_notified(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(SECONDS_MAX)
            manager.bind(self.path('notify'))
            with unittest.mock.patch.dict(os.environ, NOTIFY_SOCKET=self.path('notify')):
                running = self.start()
            self.assertRegex(manager.recv(200), b'^STATUS=opening the data')
            self.assertRegex(manager.recv(200), b'^READY=1\n')
            running.process.terminate()
            self.assertRegex(manager.recv(200), b'^STOPPING=1\n')
            self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)

    # --- what the program that starts it has set ---

    def test_no_file_gets_the_number_of_a_closed_stream(self):
        for closed in (0, 1), (1, 2), (0, 1, 2):
            port = server.free_port()
            process = subprocess.Popen(
                ['sh', '-c', 'exec "$0" "$@" ' + ' '.join('%d>&-' % each for each in closed),
                 self.program, '--dbpath', self.dbpath, '--port', str(port), '--smallfiles',
                 '--nounixsocket'])
            self.addCleanup(lambda process=process: process.poll() is None and process.kill())
            with pymongo.MongoClient('127.0.0.1', port) as client:
                client.test.c.with_options(
                    write_concern=pymongo.WriteConcern(j=True)).insert_one({})
            for number in closed:
                self.assertEqual(os.readlink('/proc/%d/fd/%d' % (process.pid, number)), '/dev/null')
            self.assertEqual(self.lock_file(), '%d\n' % process.pid)
            process.terminate()
            self.assertEqual(process.wait(SECONDS_MAX), CLEAN)

    def test_a_limit_for_the_size_of_files(self):
        """As a full disk: what does not fit is refused, the rest is served."""
        process_options = {'preexec_fn': lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (20 << 20, resource.RLIM_INFINITY))}
        with unittest.mock.patch.object(server.Server, 'process_options', process_options):
            running = self.start('--nssize', '1')
        with pymongo.MongoClient(running.uri) as client:
            with self.assertRaisesRegex(pymongo.errors.OperationFailure, 'File too large'):
                for _ in range(400):
                    client.test.c.insert_one({'a': 'x' * 100000})
            self.assertGreater(client.test.c.count_documents({}), 0)
        running.stop()

    # --- what the system refuses ---

    def test_a_start_without_threads_or_loops_works_or_says_why_not(self):
        for call in ('pthread_create', 'epoll_create1', 'epoll_ctl', 'epoll_wait', 'eventfd',
                     'timerfd_create', 'socket', 'listen'):
            codes = []
            for number in range(1, 20):
                code, log, refused = self.start_refused(call, number)
                with self.subTest(call=call, number=number, code=code, log=log[-1000:]):
                    self.assertIn(code, (CLEAN, NET_ERROR, UNCAUGHT))
                    if 'waiting for connections' in log:
                        self.assertEqual(code, CLEAN)
                    else:
                        self.assertNotEqual(code, CLEAN)
                        self.assertRegex(log, r'\] ERROR: .*(Resource temporarily unavailable|'
                                              r'No space left on device|Too many open files|'
                                              r'Address already in use)')
                    if call != 'pthread_create':  # that may be before it can end in order
                        self.assertEqual(self.lock_file(), '')
                codes.append(code)
                if not refused:
                    break
            self.assertGreater(len(codes), 1, call)
            self.assertEqual(codes[-1], CLEAN, call)

    def test_a_driver_that_takes_this_for_8_0_loses_no_write(self):
        """An unacknowledged write that is refused would be lost in silence."""
        running = self.start('--setParameter', 'announcedVersion=8.0.0')
        with pymongo.MongoClient('mongodb://127.0.0.1:%d/?w=0' % running.port) as client:
            self.assertEqual(client.server_info()['version'], '8.0.0')
            self.assertEqual(client.admin.command('hello')['maxWireVersion'], 25)
            client.bulk_write([pymongo.InsertOne({'_id': n}, namespace='test.c')
                               for n in range(3)], ordered=False)
            wait_until('the inserts', lambda: client.test.c.count_documents({}) == 3)
            client.test.c.update_one({}, {'$set': {'last': 1}}, sort={'_id': -1})
            wait_until('the update', lambda: client.test.c.find_one({'_id': 2, 'last': 1}))
        running.stop()

    # --- a full disk ---

    def mount(self, *options):
        command = ['mount', '-t', 'tmpfs', '-o', ','.join(options), 'full-disk', self.dbpath]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest('no file system can be mounted here')

    def test_a_full_disk_is_a_line_when_it_begins_and_one_when_it_ends(self):
        self.mount('size=100m')
        self.addCleanup(lambda: subprocess.run(['umount', self.dbpath], check=True))
        running = self.start('--nojournal', '--nssize', '1')
        self.addCleanup(lambda: running.process.poll() is None and running.stop())

        def errors():
            return [line for line in read(running.log_path).splitlines() if '] ERROR: ' in line]

        document = {'text': 'x' * 100000}
        with pymongo.MongoClient('127.0.0.1', running.port) as client:
            with self.assertRaises(pymongo.errors.WriteError) as caught:
                while True:
                    client.test.c.insert_one(dict(document))
            self.assertEqual(caught.exception.code, 14031)
            full = os.listdir(self.dbpath)
            documents = [dict(document) for _ in range(200)]
            with self.assertRaises(pymongo.errors.BulkWriteError) as caught:
                client.test.c.insert_many(documents, ordered=False)
            refused = caught.exception.details['writeErrors']
            self.assertEqual({each['code'] for each in refused}, {14031})
            self.assertEqual(len(refused), 200)
            self.assertEqual(os.listdir(self.dbpath), full)
            self.assertEqual(len(errors()), 1, errors())
            self.assertIn('the disk is full: test.2 needs 64 MB', errors()[0])
            self.mount('remount', 'size=400m')
            client.test.c.insert_many([dict(document) for _ in range(100)])
        self.assertEqual(len(errors()), 2, errors())
        self.assertRegex(errors()[1], 'has room again: .* in which 201 writes were refused')
        running.stop()

    def test_connections_are_logged_unless_quiet(self):
        for options, expected in (((), True), (('--quiet',), False)):
            running = self.start(*options)
            with socket.create_connection(('127.0.0.1', running.port)) as client:
                client.sendall(b'\xff' * 16)  # the endian probe: the smallest request there is
                self.assertEqual(client.recv(4), b'\x40\x30\x20\x10')
            running.stop()
            log = read(running.log_path)
            self.assertEqual('connection accepted from 127.0.0.1:' in log, expected)
            self.assertEqual('end connection 127.0.0.1:' in log, expected)
            os.unlink(running.log_path)

    # --- addresses ---

    def test_one_address_by_two_names(self):
        running = self.start('--bind_ip', '127.0.0.1,localhost,127.0.0.1')
        with socket.create_connection(('127.0.0.1', running.port)):
            pass
        running.stop()

    def test_a_unix_socket_that_is_in_use_stays(self):
        def start(*options):
            return server.Server(self.program, self.dbpath, ('--smallfiles', *options))

        running = start('--unixSocketPrefix', self.folder.name)
        self.addCleanup(lambda: running.process.poll() is None and running.kill())
        path = os.path.join(self.folder.name, 'mongodb-%d.sock' % running.port)
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o700)
        os.makedirs(self.path('other'))
        # Another address, so that only the socket's file is in the way.
        code, out, _ = self.run_mongod(
            '--dbpath', self.path('other'), '--smallfiles', '--bind_ip', '127.0.0.2', '--port',
            str(running.port), '--unixSocketPrefix', self.folder.name)
        self.assertEqual(code, NET_ERROR)
        self.assertIn(path, out)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
        running.kill()
        with socket.socket(socket.AF_UNIX) as client:
            self.assertRaises(ConnectionRefusedError, client.connect, path)
        self.assertTrue(running._start())  # over what the crash has left
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
        running.stop()
        self.assertFalse(os.path.exists(path))
