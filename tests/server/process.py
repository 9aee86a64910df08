"""Starts, stops, forks, signals and breaks a mongod as an operator and the system do.

Checks exit codes, what is printed and logged, and what is left in the dbpath: the facts that
scripts around a server rely on.
Usage: python3 tests/server/process.py [--selection none] [TEST...]
"""

import argparse
import glob
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402

SECONDS_MAX = 60  # only ends what hangs

# Exit codes
CLEAN, ERROR, BAD_OPTIONS, ABRUPT, NET_ERROR, UNCAUGHT = 0, 1, 2, 14, 48, 100


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def wait_until(condition, what):
    limit = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError('%s did not happen' % what)
        time.sleep(0.01)


class Process(unittest.TestCase):
    program = None
    preloaded = None  # refuse_calls.so

    def setUp(self):
        scratch = os.path.join(TOP, 'build', 'scratch')
        self.folder = tempfile.TemporaryDirectory(dir=scratch)
        self.addCleanup(self.folder.cleanup)
        self.dbpath = self.path('db')
        os.makedirs(self.dbpath)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_mongod(self, *options):
        """Runs a mongod that ends by itself; returns (exit code, stdout, stderr)."""
        run = subprocess.run([self.program, *options], cwd=self.folder.name, timeout=SECONDS_MAX,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=False)
        return run.returncode, run.stdout, run.stderr

    def start(self, *options):
        running = server.Server(self.program, self.dbpath,
                                ('--smallfiles', '--nounixsocket') + options)
        self.addCleanup(lambda: running.process.poll() is None and running.kill())
        return running

    def start_refused(self, call, number):
        """A start to whom the Nth call of a function is refused. Returns the code that it ended
        with by itself or after SIGTERM, its log, and whether anything was refused."""
        path = self.path('log')
        with open(path, 'wb') as log:
            process = subprocess.Popen(
                [self.program, '--dbpath', self.dbpath, '--port', '0', '--smallfiles', '--nssize',
                 '1', '--unixSocketPrefix', self.folder.name],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, LD_PRELOAD=self.preloaded,
                         REFUSED_CALL='%s:%d' % (call, number)))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        wait_until(lambda: process.poll() is not None
                   or 'waiting for connections on port' in read(path), 'a start or its end')
        if process.poll() is None:
            process.terminate()
        return process.wait(SECONDS_MAX), read(path), 'a call is refused' in read(path)

    def lock_file(self):
        return read(os.path.join(self.dbpath, 'mongod.lock'))

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
        code, out, _ = self.run_mongod('--dbpath', missing, '--port', str(free_port()))
        self.assertEqual(code, UNCAUGHT)
        self.assertIn('dbpath (%s) does not exist.' % missing, out)
        running = self.start()
        code, out, _ = self.run_mongod('--dbpath', self.dbpath, '--port', str(free_port()))
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
                                       '--port', str(free_port()))
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
                                       '--port', str(free_port()))
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
        log, pid_file, port = self.path('fork.log'), self.path('fork.pid'), free_port()
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
        port = free_port()
        code, out, _ = self.run_mongod(
            '--fork', '--logpath', 'fork.log', '--dbpath', 'db', '--port', str(port),
            '--smallfiles', '--unixSocketPrefix', 'sockets')
        self.assertEqual(code, CLEAN, out)
        self.assertEqual(os.listdir(self.path('sockets')), ['mongodb-%d.sock' % port])
        self.assertEqual(self.run_mongod('--shutdown', '--dbpath', self.dbpath)[0], CLEAN)
        self.assertEqual(os.listdir(self.path('sockets')), [])

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

    # --- what the program that starts it has set ---

    def test_no_file_gets_the_number_of_a_closed_stream(self):
        for closed in (0, 1), (1, 2), (0, 1, 2):
            port = free_port()
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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    tests = choice.exactly(arguments.tests,
                           unittest.defaultTestLoader.getTestCaseNames(Process), 'test')
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    stage = server.build(arguments.selection, '', ['mongod', 'refuse_calls.so'])
    binaries = os.path.join(stage, 'bin')
    Process.program = os.path.join(binaries, 'mongod')
    Process.preloaded = os.path.join(binaries, 'refuse_calls.so')
    suite = unittest.TestSuite(map(Process, tests))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    bad = len(result.failures) + len(result.errors)
    print('%d passed, %d failed' % (max(result.testsRun - bad, 0), bad))
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
