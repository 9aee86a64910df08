"""A small MongoDB-compatible server for tests: mongod-dur, as a program and as fixtures of pytest.

    with mongod_dur.temporary() as uri:                   a server until the block ends
    with mongod_dur.temporary(replica_set='rs0') as uri:  the primary of a set of one"""

import contextlib
import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin')
PROGRAM = os.path.join(FOLDER, 'mongod')


@contextlib.contextmanager
def temporary(*options, replica_set=''):
    """The address of a server on a free port and in a temporary directory. `options`: of mongod."""
    words = [os.path.join(FOLDER, 'temporary'), *(['--set', replica_set] if replica_set else []),
             *options]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        address = run.stdout.readline().strip()
        if not address:
            raise RuntimeError('mongod-dur did not start; what it said is on standard error')
        yield address
