"""Hostile clients against a real server: what they send is answered or refused, other clients are
served all the same, and memory, threads and the process stay.

The server's threads have 1 MB of stack, an eighth of the usual, so that the deepest input that is
legal proves to be far from what brings it down."""

import os
import resource
import tempfile

import hostile
import pytest

import parts
import server

STACK_BYTES = 1 << 20
OPTIONS = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1']
PROFILE = ['--config', os.path.join(parts.TOP, 'conf', 'durable.yaml'), '--journalFileMB', '2']


def pytest_addoption(parser):
    parser.addoption('--profile', action='store_true',
                     help='with conf/durable.yaml, for the full series')


@pytest.fixture(scope='session', autouse=True)
def running(programs, request):
    program = programs('mongod', 'journal_dump', 'dbpath_check')
    if not request.config.getoption('sanitize'):  # their frames are several times as large
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, hard))
    options = OPTIONS + (PROFILE if request.config.getoption('profile') else [])
    with tempfile.TemporaryDirectory(prefix='hostile-', dir=os.path.join(
            parts.TOP, 'build', 'scratch')) as folder, \
            server.Server(program, os.path.join(folder, 'db'), options) as hostile.Case.server:
        yield
