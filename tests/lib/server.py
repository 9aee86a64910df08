"""Starts and stops servers for scripts in Python: tests and measurements.

A server listens on 127.0.0.1 on a port that is tried and, when another process has it, replaced."""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'site_scons'))

import staging  # noqa: E402

SCRATCH = os.path.join(TOP, 'build', 'scratch')
EXIT_PORT_IN_USE = 48
READY_SECONDS_MAX = 60  # only ends a start that hangs
# Only ends a stop that hangs: with 11,000 collections and indexes wiredTiger writes as many files.
STOPPED_SECONDS_MAX = 600

# What a sanitizer finds ends the program; leaks are part of the address sanitizer's job. Other
# builds do not look at these.
SANITIZER_ENVIRONMENT = {
    'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
    'TSAN_OPTIONS': 'halt_on_error=1:second_deadlock_stack=1',
}

# What tests/conftest.py has built before it starts parts: the tree, then lines of
# SELECTION:TARGET. A part may run the tests of another tree.
BUILT = 'TESTS_BUILT'

# The storage engine of all servers, where it is not mmapv1: tests/engines/run.py.
ENGINE = 'TESTS_ENGINE'
# Options that say how mmapv1 writes its files, with their number of values.
OF_MMAPV1 = {'--smallfiles': 0, '--noprealloc': 0, '--nopreallocj': 0, '--nssize': 1,
             '--journalOptions': 1, '--directoryperdb': 0}


def for_engine(options):
    """The options for the engine under test: those of mmapv1 only for that."""
    engine = os.environ.get(ENGINE)
    if not engine or '--storageEngine' in options:
        return list(options)
    kept, left = [], iter(options)
    for option in left:
        if option not in OF_MMAPV1:
            kept.append(option)
        for _ in range(OF_MMAPV1.get(option, 0)):
            next(left)
    return kept + ['--storageEngine', engine]


def scratch(prefix='test-'):
    """A folder below build/, on a disk, for the length of a block."""
    os.makedirs(SCRATCH, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=prefix, dir=SCRATCH)


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as free:
        return free.getsockname()[1]


def note_built(targets):
    """Tells the tests of this tree that this process starts what need not be built again."""
    os.environ[BUILT] = '\n'.join([TOP, *targets])


def is_built(selection, targets):
    """Whether these targets, for this machine and without a sanitizer, need not be built again."""
    tree, *built = os.environ.get(BUILT, '').split('\n')
    return tree == TOP and {'%s:%s' % (selection, target) for target in targets} <= set(built)


def scons(selection, sanitize=''):
    """The command that builds what tests run: with a sanitizer, or else with the DCHECKs."""
    engine = os.environ.get(ENGINE)
    return ['scons', '-Q', 'patches=' + selection,
            'sanitize=' + sanitize if sanitize else 'checks=1'] + (
                ['engines=mmapv1,' + engine] if engine else [])


def folder_of(selection, sanitize=''):
    """Where that goes."""
    return os.path.join(TOP, staging.folder_of(staging.select(TOP, selection), sanitize,
                                               variant='' if sanitize else 'checked'))


def build(selection, sanitize, targets):
    """Builds targets of a selection; returns the folder that has their bin/."""
    if sanitize or not is_built(selection, targets):
        if subprocess.run(scons(selection, sanitize) + targets, cwd=TOP).returncode != 0:
            sys.exit('the build of patches=%s failed; the compiler\'s message is above' % selection)
    return folder_of(selection, sanitize)


def memory_bytes(pid):
    """What the process holds in memory of its own; mapped files do not count."""
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        for line in status:
            if line.startswith('RssAnon:'):
                return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)


class ServerError(Exception):
    """The server did not start or did not stop; the text has its last log lines."""


class Server:
    """A running mongod. Use as a context manager: it is stopped cleanly, or killed on an error."""

    process_options = {}  # of Popen, beside those that are the same for all
    ready_seconds_max = READY_SECONDS_MAX
    old_wire = False  # whether today's drivers refuse it

    def __init__(self, program, dbpath, options=()):
        os.makedirs(dbpath, exist_ok=True)
        self.program, self.dbpath, self.options = program, dbpath, for_engine(options)
        self.log_path = dbpath.rstrip('/') + '.log'
        for _ in range(20):
            self.port = random.randrange(20000, 30000)
            if self._start():
                return
        raise ServerError('no free port in 20 tries')

    def _start(self):
        """Returns False when the port is taken."""
        self.command = self.command_line()
        with open(self.log_path, 'ab') as log:
            start_of_log = log.tell()
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT,
                                            env=dict(os.environ, **SANITIZER_ENVIRONMENT),
                                            **self.process_options)
        limit = time.monotonic() + self.ready_seconds_max
        while self.process.poll() is None:
            if self.is_ready(start_of_log):
                return True
            if time.monotonic() > limit:
                self.kill()
                raise ServerError('%s is not ready:\n%s' % (' '.join(self.command), self.tail()))
            time.sleep(0.01)
        if self.process.returncode == EXIT_PORT_IN_USE:
            return False
        raise ServerError('%s ended with %d:\n%s'
                          % (' '.join(self.command), self.process.returncode, self.tail()))

    def command_line(self):
        return [self.program, '--port', str(self.port), '--dbpath', self.dbpath] + self.options

    def is_ready(self, start_of_log):
        """Whether it has said so in its log since that offset."""
        ready = ('waiting for connections on port %d' % self.port).encode()
        with open(self.log_path, 'rb') as log:
            log.seek(start_of_log)
            return ready in log.read()

    @property
    def pid(self):
        return self.process.pid

    @property
    def uri(self):
        return 'mongodb://127.0.0.1:%d/?directConnection=true' % self.port

    def tail(self, lines=20):
        with open(self.log_path, encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-lines:])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=STOPPED_SECONDS_MAX) != 0:
            raise ServerError('mongod ended with %d:\n%s' % (self.process.returncode, self.tail()))

    def kill(self):
        """Kills it as a crash would; nothing is flushed."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is not None:
            return
        if kind is None:
            self.stop()
        else:
            self.kill()
