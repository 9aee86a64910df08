"""Starts, stops, forks, signals and breaks a mongod as an operator and the system do.

Checks exit codes, what is printed and logged, and what is left in the dbpath: the facts that
scripts around a server rely on.
"""

import glob
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import unittest
import unittest.mock

import pymongo


import server
from process_case import (
    ABRUPT, BAD_OPTIONS, CLEAN, ERROR, NET_ERROR, SECONDS_MAX, UNCAUGHT, ProcessCase,
    read, wait_until)


class Process(ProcessCase):
    # --- ending ---

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            running = self.start()
            self.assertEqual(self.lock_file(), '%d\n' % running.pid)
            running.process.send_signal(number)
            self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)
            self.assertEqual(self.lock_file(), '')
            self.assertEqual(glob.glob(os.path.join(self.dbpath, 'journal', 'j._*')), [])
        log = read(running.log_path)
        steps = ['got signal 1 (Hangup), will terminate after current cmd ends', 'dbexit: ',
                 'shutdown: going to close listening sockets...',
                 'shutdown: going to close sockets...',
                 'shutdown: waiting for fs preallocator...',
                 'shutdown: lock for final commit...', 'shutdown: final commit...',
                 'shutdown: closing all files...', 'closeAllFiles() finished',
                 'journalCleanup...', 'removeJournalFiles', 'shutdown: removing fs lock...',
                 'dbexit: really exiting now']
        at = 0
        for step in steps:
            at = log.find(step, at)
            self.assertNotEqual(at, -1, '%s is missing or too early in\n%s' % (step, log))

    def test_other_signals_change_nothing(self):
        running = self.start('--logpath', self.dbpath + '.log', '--logappend')
        for number in (signal.SIGPIPE, signal.SIGUSR2, signal.SIGWINCH, signal.SIGUSR2):
            running.process.send_signal(number)
        running.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: glob.glob(self.dbpath + '.log.2*'), 'rotation')
        running.process.send_signal(signal.SIGTERM)
        self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)

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

    def test_a_crash_writes_a_trace_and_is_recovered(self):
        for number, name in ((signal.SIGSEGV, '11 (Segmentation fault)'),
                             (signal.SIGABRT, '6 (Aborted)')):
            running = self.start()
            running.process.send_signal(number)
            self.assertEqual(running.process.wait(SECONDS_MAX), ABRUPT)
            log = read(running.log_path)
            self.assertIn('SEVERE: Got signal: %s.\nBacktrace:\n' % name, log)
            self.assertEqual(self.lock_file(), '%d\n' % running.pid)
        running = self.start()
        self.assertIn('recover begin', read(running.log_path))
        running.stop()

    def test_shutdown_ends_the_other_server_and_waits(self):
        running = self.start()
        code, out, _ = self.run_mongod('--shutdown', '--dbpath', self.dbpath)
        self.assertEqual((code, out), (CLEAN, 'killing process with pid: %d\n' % running.pid))
        self.assertEqual(running.process.wait(SECONDS_MAX), CLEAN)
        self.assertEqual(self.lock_file(), '')
        code, _, err = self.run_mongod('--shutdown', '--dbpath', self.dbpath)
        self.assertEqual(code, ERROR)
        self.assertIn("There doesn't seem to be a server running with dbpath", err)

    def test_shutdown_leaves_other_processes_alone(self):
        # What a crash leaves behind: a process id that may belong to another process by now.
        with open(os.path.join(self.dbpath, 'mongod.lock'), 'w', encoding='utf-8') as file:
            file.write('%d\n' % os.getpid())
        code, _, err = self.run_mongod('--shutdown', '--dbpath', self.dbpath)
        self.assertEqual(code, ERROR)
        self.assertIn("There doesn't seem to be a server", err)

    def test_shutdown_follows_no_link(self):
        # Of a directory of another user: that user's file, or a pipe that would wait.
        running = self.start()
        for make in (os.symlink, os.link, lambda _, name: os.mkfifo(name)):
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                name = os.path.join(folder, 'mongod.lock')
                make(os.path.join(self.dbpath, 'mongod.lock'), name)
                code, out, err = self.run_mongod('--shutdown', '--dbpath', folder)
                self.assertEqual((code, out), (ERROR, ''))
                self.assertIn(name, err)
        self.assertIsNone(running.process.poll())
        running.stop()

    def test_shutdown_leaves_other_processes_alone_whose_number_a_server_elsewhere_has(self):
        # As from another container, whose processes have numbers of their own.
        running = self.start()
        with open(os.path.join(self.dbpath, 'mongod.lock'), 'w', encoding='utf-8') as file:
            file.write('%d\n' % os.getpid())
        code, out, err = self.run_mongod('--shutdown', '--dbpath', self.dbpath)
        self.assertEqual((code, out), (ERROR, ''))
        self.assertIn('the server with dbpath %s runs in another container: process %d is another '
                      'program here; stop it there' % (self.dbpath, os.getpid()), err)
        running.stop()

    # --- not starting ---

    def test_options_that_are_wrong(self):
        for options, code, text in (
                (['--nosuch'], BAD_OPTIONS,
                 "Error parsing command line: unknown option nosuch\n"
                 "try 'mongod --help' for more information\n"),
                (['--port', '65536'], BAD_OPTIONS, 'bad --port number'),
                (['--journalCommitInterval', '301'], BAD_OPTIONS,
                 '--journalCommitInterval out of allowed range (0-300ms)'),
                (['--setParameter', 'nosuch=1'], BAD_OPTIONS, 'nosuch'),
                (['--setParameter', 'announcedMaxWireVersion=30'], BAD_OPTIONS,
                 'announcedMaxWireVersion'),
                (['--fork'], BAD_OPTIONS, '--fork has to be used with --logpath or --syslog'),
                (['--config', self.path('nosuch')], BAD_OPTIONS, self.path('nosuch')),
                (['--syslog', '--syslogFacility', 'nosuch'], BAD_OPTIONS, "named 'nosuch'"),
                (['--config', '/'], BAD_OPTIONS,
                 'Error reading config file: /\nit is a directory\n'),
                (['--config', '/dev/zero'], BAD_OPTIONS, 'it is longer than 1048576 bytes'),
                (['--config', '/nowhere'], BAD_OPTIONS,
                 'Error reading config file: /nowhere\nNo such file or directory\n'),
                (['frobnicate'], ERROR, 'Invalid command: frobnicate')):
            result, out, err = self.run_mongod(*options)
            self.assertEqual(result, code, options)
            self.assertIn(text, err)
            self.assertEqual(out, '')

    def test_a_dbpath_that_cannot_be_used(self):
        missing = self.path('nosuch')
        code, out, _ = self.run_mongod('--dbpath', missing, '--port', str(server.free_port()))
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('dbpath (%s) does not exist.' % missing, out)
        running = self.start()
        code, out, _ = self.run_mongod('--dbpath', self.dbpath, '--port', str(server.free_port()))
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('Is a mongod instance already running?', out)
        self.assertEqual(self.lock_file(), '%d\n' % running.pid)
        running.stop()

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            code, out, _ = self.run_mongod('--dbpath', self.dbpath, '--port', port,
                                           '--nojournal', '--nounixsocket')
        self.assertEqual(code, NET_ERROR)
        self.assertIn('Address already in use for socket: 127.0.0.1:%s' % port, out)
        self.assertEqual(self.lock_file(), '')

    def test_no_journal_over_a_journal(self):
        running = self.start()
        running.kill()
        code, out, _ = self.run_mongod('--dbpath', self.dbpath, '--nojournal',
                                       '--port', str(server.free_port()))
        self.assertEqual(code, UNCAUGHT)
        self.assertIn("can't start without --journal enabled when journal/ files are present",
                      out)
        self.start().stop()

    def test_a_kill_when_the_journal_has_no_files(self):
        running = self.start()
        client = pymongo.MongoClient(running.uri)
        client.kept.c.insert_one({'_id': 1})
        client.dropped.c.insert_one({})
        client.drop_database('dropped')
        client.close()
        self.assertEqual(glob.glob(os.path.join(self.dbpath, 'journal', 'j._*')), [])
        running.kill()
        code, out, _ = self.run_mongod('--dbpath', self.dbpath, '--nojournal',
                                       '--port', str(server.free_port()))
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('old lock file', out)
        running = self.start()
        client = pymongo.MongoClient(running.uri)
        self.assertEqual(client.kept.c.count_documents({}), 1)
        self.assertEqual(client.list_database_names().count('dropped'), 0)
        client.close()
        running.stop()

    # --- the background ---

    def test_fork(self):
        log, pid_file, port = self.path('fork.log'), self.path('fork.pid'), server.free_port()
        code, out, _ = self.run_mongod(
            '--fork', '--logpath', 'fork.log', '--pidfilepath', 'fork.pid', '--dbpath', 'db',
            '--port', str(port), '--smallfiles', '--nounixsocket')
        self.assertEqual(code, CLEAN)
        lines = out.splitlines()
        self.assertIn('about to fork child process, waiting until server is ready for connections.',
                      lines)
        pid = int(re.search(r'^forked process: (\d+)$', out, re.MULTILINE).group(1))
        self.assertEqual(lines[-1], 'child process started successfully, parent exiting')
        self.assertEqual(read(pid_file), '%d\n' % pid)
        socket.create_connection(('127.0.0.1', port)).close()
        self.assertEqual(os.readlink('/proc/%d/cwd' % pid), '/')
        self.assertEqual(os.readlink('/proc/%d/fd/1' % pid), log)
        self.assertEqual(self.run_mongod('--shutdown', '--dbpath', self.dbpath)[0], CLEAN)
        self.assertFalse(os.path.exists(pid_file))
        self.assertIn('waiting for connections on port %d' % port, read(log))

    def test_fork_of_a_server_that_cannot_start(self):
        code, out, _ = self.run_mongod('--fork', '--logpath', 'fork.log', '--dbpath', 'nosuch')
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('ERROR: child process failed, exited with error number 100', out)
        self.assertIn('does not exist', read(self.path('fork.log')))

    def test_fork_says_what_is_wrong_with_its_files(self):
        code, out, err = self.run_mongod('--fork', '--logpath', 'nosuch/log', '--dbpath', 'db')
        self.assertEqual(code, ERROR)
        self.assertIn('cannot open the log file %s' % self.path('nosuch/log'), err)
        self.assertNotIn('forked process', out)
        code, out, _ = self.run_mongod('--fork', '--logpath', 'fork.log', '--dbpath', 'db',
                                       '--pidfilepath', 'nosuch/pid')
        self.assertEqual(code, ERROR)
        self.assertIn('ERROR: child process failed, exited with error number 1', out)
        self.assertIn('cannot write the pid file %s' % self.path('nosuch/pid'),
                      read(self.path('fork.log')))

    def test_fork_with_a_relative_socket_folder(self):
        os.mkdir(self.path('sockets'))
        port = server.free_port()
        code, out, _ = self.run_mongod(
            '--fork', '--logpath', 'fork.log', '--dbpath', 'db', '--port', str(port),
            '--smallfiles', '--unixSocketPrefix', 'sockets')
        self.assertEqual(code, CLEAN, out)
        self.assertEqual(os.listdir(self.path('sockets')), ['mongodb-%d.sock' % port])
        self.assertEqual(self.run_mongod('--shutdown', '--dbpath', self.dbpath)[0], CLEAN)
        self.assertEqual(os.listdir(self.path('sockets')), [])

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
                self.assertEqual(os.readlink('/proc/%d/fd/%d' % (process.pid, number)),
                                 '/dev/null')
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

    # --- the program ---

    def test_the_program_is_hardened(self):
        def readelf(option):
            return subprocess.run(['readelf', '-W', option, self.program], text=True, check=True,
                                  stdout=subprocess.PIPE).stdout

        self.assertRegex(readelf('--file-header'), r'Type: +DYN')
        dynamic = readelf('--dynamic')
        self.assertRegex(dynamic, r'FLAGS.*BIND_NOW')
        self.assertRegex(dynamic, r'FLAGS_1.*NOW.*PIE')
        segments = readelf('--program-headers')
        self.assertIn('GNU_RELRO', segments)
        self.assertRegex(segments, r'GNU_STACK .* RW +0x')
        self.assertNotRegex(segments, r'LOAD .* RWE ')
        symbols = readelf('--dyn-syms')
        for name in ('__stack_chk_fail@', r'__mem\w+_chk@', '__glibcxx_assert_fail'):
            self.assertRegex(symbols, name)

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

    # --- texts ---

    def test_a_driver_that_takes_this_for_8_0_loses_no_write(self):
        """An unacknowledged write that is refused would be lost in silence."""
        running = self.start('--setParameter', 'announcedVersion=8.0.0')
        uri = 'mongodb://127.0.0.1:%d/?w=0' % running.port
        with pymongo.MongoClient(uri) as client:
            self.assertEqual(client.server_info()['version'], '8.0.0')
            self.assertEqual(client.admin.command('hello')['maxWireVersion'], 25)
            client.bulk_write([pymongo.InsertOne({'_id': n}, namespace='test.c')
                               for n in range(3)], ordered=False)
            wait_until(lambda: client.test.c.count_documents({}) == 3, 'the inserts')
            client.test.c.update_one({}, {'$set': {'last': 1}}, sort={'_id': -1})
            wait_until(lambda: client.test.c.find_one({'_id': 2, 'last': 1}), 'the update')
        running.stop()

    def test_help_version_and_dbpath(self):
        code, out, err = self.run_mongod('--help')
        self.assertEqual((code, err), (CLEAN, ''))
        for words in ('--dbpath DIR', '--journalCommitInterval MS', 'Network:', 'Journal:'):
            self.assertIn(words, out)
        code, out, err = self.run_mongod('--version')
        self.assertEqual((code, err), (CLEAN, ''))
        self.assertTrue(out.startswith('db version v2.6.12\n'))
        self.assertIn('\npatches: ', out)
        self.assertEqual(self.run_mongod('dbpath')[:2], (CLEAN, '/data/db\n'))
