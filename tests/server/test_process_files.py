"""Logs, pid files, sockets and the modes of files: what a mongod leaves beside its data, and what
it does not follow or overwrite. Run by process.py."""

import glob
import os
import signal
import socket
import stat
import subprocess

import pymongo
import server
from process_case import (
    BAD_OPTIONS, CLEAN, ERROR, NET_ERROR, SECONDS_MAX, UNCAUGHT, ProcessCase, read, wait_until)


class Files(ProcessCase):
    # --- a full disk ---

    def mount(self, *options):
        command = ['mount', '-t', 'tmpfs', '-o', ','.join(options), 'full-disk', self.dbpath]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0:
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

    # --- damage ---

    def test_damaged_databases_are_listed_with_the_others(self):
        def overwrite(name, *places):
            with open(os.path.join(self.dbpath, name), 'r+b') as file:
                for place in places:
                    file.seek(place)
                    file.write(b'\xee' * 64)

        def entries(name):
            """Where the hash table has any, 628 bytes each."""
            with open(os.path.join(self.dbpath, name), 'rb') as file:
                data = file.read()
            return [place for place in range(0, len(data) - 628, 628)
                    if any(data[place:place + 4])]

        running = self.start()
        with pymongo.MongoClient('127.0.0.1', running.port) as client:
            names = ['cut', 'entries', 'gone', 'header', 'names', 'whole']
            for name in names:
                client[name].c.insert_one({'_id': 1})
                client[name].c.create_index('a')
        running.stop()
        os.truncate(os.path.join(self.dbpath, 'cut.ns'), 4096)
        overwrite('entries.ns', *(place + 132 for place in entries('entries.ns')))
        os.truncate(os.path.join(self.dbpath, 'gone.0'), 0)
        overwrite('header.0', 0)
        overwrite('names.0', *range(8192, 65536, 64))
        running = self.start()
        with pymongo.MongoClient('127.0.0.1', running.port) as client:
            reply = client.admin.command('listDatabases')
            by_name = {each['name']: each for each in reply['databases']}
            self.assertEqual(sorted(by_name), ['admin', *names[:4], 'local', *names[4:]])
            self.assertEqual(reply['totalSize'], sum(
                each['sizeOnDisk'] for each in reply['databases'] if each['name'] != 'admin'))
            damaged = []
            for name in names:
                with self.subTest(name):
                    sizes = [os.path.getsize(path) for path in
                             glob.glob(os.path.join(self.dbpath, name + '.*'))]
                    self.assertEqual(by_name[name]['sizeOnDisk'], sum(sizes))
                try:
                    client[name].list_collection_names()
                except pymongo.errors.OperationFailure:
                    damaged.append(name)
                    self.assertFalse(by_name[name]['empty'])
            self.assertEqual(client.admin.command('listDatabases', nameOnly=True)['databases'],
                             [{'name': name} for name in sorted(by_name)])
            self.assertIn('cut', damaged)
            self.assertIn('header', damaged)
            self.assertNotIn('whole', damaged)
            self.assertEqual(client.whole.c.find_one(), {'_id': 1})
        log = read(running.log_path)
        for name in damaged:
            self.assertRegex(log, 'ERROR: .*database %s' % name)
        running.stop()

    # --- the log ---

    def test_log_files(self):
        log = self.dbpath + '.log'  # where the harness looks for the line that it is ready
        running = self.start('--logpath', log, '--logappend')
        running_log = read(log)
        for line in ('MongoDB starting : pid=%d port=%d dbpath=%s 64-bit host='
                     % (running.pid, running.port, self.dbpath), 'db version v2.6.12',
                     'git version: ', 'build info: ', 'allocator: ', 'options: { net: {'):
            self.assertIn(line, running_log)
        running.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: glob.glob(log + '.2*'), 'rotation')
        running.process.send_signal(signal.SIGTERM)
        self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)
        self.assertIn('really exiting now', read(log))
        self.assertNotIn('MongoDB starting', read(log))
        self.assertIn('MongoDB starting', read(glob.glob(log + '.2*')[0]))

    def test_a_log_that_cannot_be_rotated_goes_on(self):
        folder = self.path('logs')
        os.mkdir(folder)
        log = os.path.join(folder, 'log')
        with open(self.dbpath + '.log', 'w', encoding='utf-8'):
            os.link(self.dbpath + '.log', log)  # where the harness looks for the line
        running = self.start('--logpath', log, '--logappend')
        os.rename(folder, folder + '.away')
        running.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: 'cannot open the log file' in read(running.log_path), 'the complaint')
        running.stop()
        self.assertIn('really exiting now', read(running.log_path))

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

    def test_a_log_that_is_a_link_to_a_file_is_refused(self):
        for name, target in (('file', 'other'), ('nothing', 'missing')):
            log = self.path(name)
            os.symlink(self.path(target), log)
            if name == 'file':
                with open(self.path(target), 'w', encoding='utf-8') as file:
                    file.write('theirs')
            code, _, err = self.run_mongod('--dbpath', self.dbpath, '--logpath', log,
                                           '--logappend', '--repair')
            self.assertEqual(code, ERROR)
            self.assertIn('it is a link to another file', err)
        self.assertEqual(read(self.path('other')), 'theirs')
        self.assertFalse(os.path.exists(self.path('missing')))
        os.symlink('/dev/null', self.path('null'))
        self.assertEqual(self.run_mongod('--dbpath', self.dbpath, '--logpath', self.path('null'),
                                         '--repair')[0], CLEAN)

    # --- files beside the data ---

    def mode_of(self, path):
        return stat.S_IMODE(os.lstat(path).st_mode)

    def test_a_second_start_leaves_the_pid_file(self):
        pid_file = self.path('pid')
        running = self.start('--pidfilepath', pid_file)
        self.assertEqual(read(pid_file), '%d\n' % running.pid)
        self.assertEqual(self.mode_of(pid_file) & 0o022, 0)
        other = self.path('other')
        os.makedirs(other)
        busy = ('--port', str(running.port), '--nounixsocket', '--pidfilepath', pid_file)
        self.assertEqual(self.run_mongod('--dbpath', self.dbpath, *busy)[0], UNCAUGHT)
        self.assertEqual(read(pid_file), '%d\n' % running.pid)
        code, out, _ = self.run_mongod('--dbpath', other, '--smallfiles', *busy)
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('is that of another server', out)
        self.assertEqual(read(pid_file), '%d\n' % running.pid)
        code, _, _ = self.run_mongod('--dbpath', other, '--smallfiles', '--nounixsocket', '--port',
                                     str(running.port), '--pidfilepath', self.path('second'))
        self.assertEqual(code, NET_ERROR)
        self.assertFalse(os.path.exists(self.path('second')))
        running.stop()
        self.assertFalse(os.path.exists(pid_file))

    def test_a_pid_file_that_a_crash_has_left_is_taken_over(self):
        pid_file = self.path('pid')
        with open(pid_file, 'w', encoding='utf-8') as file:
            file.write('123456789012\n')
        running = self.start('--pidfilepath', pid_file)
        self.assertEqual(read(pid_file), '%d\n' % running.pid)
        os.unlink(pid_file)  # another process puts its own there: it stays
        with open(pid_file, 'w', encoding='utf-8') as file:
            file.write('theirs')
        running.stop()
        self.assertEqual(read(pid_file), 'theirs')

    def test_a_pid_file_that_is_a_link_is_refused(self):
        with open(self.path('other'), 'w', encoding='utf-8') as file:
            file.write('theirs')
        os.symlink(self.path('other'), self.path('pid'))
        code, out, err = self.run_mongod('--dbpath', self.dbpath, '--pidfilepath',
                                         self.path('pid'))
        self.assertEqual(code, ERROR)
        self.assertIn('pid file', out + err)
        self.assertEqual(read(self.path('other')), 'theirs')

    def test_a_pid_file_that_is_something_else_is_refused(self):
        for name, text in ('other', 'theirs'), ('number', '7' * 100):
            with open(self.path(name), 'w', encoding='utf-8') as file:
                file.write(text)
            code, out, err = self.run_mongod('--dbpath', self.dbpath, '--pidfilepath',
                                             self.path(name))
            self.assertEqual(code, ERROR)
            self.assertIn('something else than a process id', out + err)
            self.assertEqual(read(self.path(name)), text)
        os.link(self.path('number'), self.path('pid'))
        self.assertEqual(self.run_mongod('--dbpath', self.dbpath, '--pidfilepath',
                                         self.path('pid'))[0], ERROR)
        self.assertEqual(read(self.path('number')), '7' * 100)

    def test_log_and_pid_file_take_no_place_of_the_databases(self):
        """Not by any name of the dbpath; what an unclean end has left there, too."""
        os.symlink(self.dbpath, self.path('link'))
        os.makedirs(os.path.join(self.dbpath, 'test'))
        for name in ('mongod.lock', 'test.0', 'test.ns', 'test/test.0', 'storage.bson'):
            with open(os.path.join(self.dbpath, name), 'w', encoding='utf-8') as file:
                file.write('4711\n')
            for option in '--logpath', '--pidfilepath':
                for folder in self.dbpath, self.path('link'):
                    code, out, err = self.run_mongod('--dbpath', self.dbpath, option,
                                                     os.path.join(folder, name))
                    self.assertEqual(code, BAD_OPTIONS)
                    self.assertIn('give it another name', out + err)
            self.assertEqual(read(os.path.join(self.dbpath, name)), '4711\n')
        for name in ('journal/log', '_tmp/log'):
            self.assertEqual(self.run_mongod('--dbpath', self.dbpath, '--logpath',
                                             os.path.join(self.dbpath, name))[0], BAD_OPTIONS)
        self.assertEqual(sorted(os.listdir(self.dbpath)),
                         ['mongod.lock', 'storage.bson', 'test', 'test.0', 'test.ns'])

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
        self.assertEqual(self.mode_of(path), 0o700)
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

    def test_files_with_documents_are_the_owners_alone(self):
        running = self.start('--logpath', self.dbpath + '.log', '--logappend', '--nopreallocj')
        for name in ('local.ns', 'local.0', 'journal/j._0'):
            self.assertEqual(self.mode_of(os.path.join(self.dbpath, name)), 0o600, name)
        running.stop()
