"""What tests of a mongod as a process share."""

import os
import subprocess
import unittest

import server
from set_member import wait_until

SECONDS_MAX = 60  # only ends what hangs

CLEAN, NET_ERROR, UNCAUGHT = 0, 48, 100  # exit codes


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


class ProcessCase(unittest.TestCase):
    program = None
    preloaded = None  # refuse_calls.so
    seed = 0  # conftest.py sets these

    def setUp(self):
        self.folder = server.scratch()
        self.addCleanup(self.folder.cleanup)
        self.dbpath = self.path('db')
        os.makedirs(self.dbpath)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_mongod(self, *options):
        """Runs a mongod that ends by itself; returns (exit code, stdout, stderr)."""
        run = subprocess.run([self.program, *options], cwd=self.folder.name, timeout=SECONDS_MAX,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
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
                 '1', '--unixSocketPrefix', self.folder.name], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=dict(os.environ, LD_PRELOAD=self.preloaded,
                                     REFUSED_CALL='%s:%d' % (call, number)))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        wait_until('a start or its end', lambda: process.poll() is not None
                   or 'waiting for connections on port' in read(path))
        if process.poll() is None:
            process.terminate()
        return process.wait(SECONDS_MAX), read(path), 'a call is refused' in read(path)

    def lock_file(self):
        return read(os.path.join(self.dbpath, 'mongod.lock'))
