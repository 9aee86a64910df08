"""FerretDB, MongoDB's protocol over SQLite or PostgreSQL; a Go program, built from its module by
`./lab bench peers --install` as setup/go-ferretdb/ pins it."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import measuring

from peers.mongod import Mongod
from peers.peer import running
from peers.postgresql import PostgreSQL

PROGRAM = os.path.join(measuring.TOP, 'build', 'peers', 'ferretdb')
PINS = os.path.join(measuring.TOP, 'setup', 'go-ferretdb')
MODULE = 'github.com/FerretDB/FerretDB'
GO_MIN = (1, 24)  # go.mod says so
PING = ('import pymongo, sys; '
        'pymongo.MongoClient(sys.argv[1], serverSelectionTimeoutMS=500).admin.command("ping")')


def go_version():
    """Of the Go on the path; (0, 0) without one."""
    try:
        said = subprocess.run(['go', 'env', 'GOVERSION'], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    found = re.match(r'go(\d+)\.(\d+)', said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def build(folder):
    """Builds PROGRAM, with `folder` for what is in between. The program refuses to start unless a
    file in its sources says its version, which the module has not; so a copy of them is built.
    Raises CalledProcessError."""
    for name in ('go.mod', 'go.sum'):
        shutil.copy(os.path.join(PINS, name), folder)
    # Only the Go that is installed, and no other one that it might fetch.
    options = {'check': True, 'env': dict(os.environ, GOTOOLCHAIN='local')}
    module = json.loads(subprocess.run(['go', 'mod', 'download', '-json', MODULE], cwd=folder,
                                       stdout=subprocess.PIPE, text=True, **options).stdout)
    copy = os.path.join(folder, 'ferretdb')
    shutil.copytree(module['Dir'], copy)
    for path, _, _ in os.walk(copy):
        os.chmod(path, 0o755)  # what Go has downloaded is read-only
    with open(os.path.join(copy, 'build', 'version', 'version.txt'), 'w', encoding='utf-8') as file:
        file.write(module['Version'] + '\n')
    os.makedirs(os.path.dirname(PROGRAM), exist_ok=True)
    subprocess.run(['go', 'build', '-o', PROGRAM, './cmd/ferretdb'], cwd=copy, stdout=sys.stderr,
                   **options)


class FerretDB(Mongod):
    """On SQLite."""

    name = 'FerretDB on SQLite'
    settings = 'its own settings of SQLite, each write a transaction'

    def __init__(self, folder):
        super().__init__(folder)
        self.programs = {'ferretdb': os.path.exists(PROGRAM) and PROGRAM}

    def hint(self):
        if self.programs['ferretdb']:
            return super().hint()
        return './lab bench peers --install builds it with Go %d.%d or newer' % GO_MIN

    def install(self):
        """Builds it, some minutes the first time; nothing where it is there or Go is too old."""
        if os.path.exists(PROGRAM) or go_version() < GO_MIN:
            return
        measuring.say('building FerretDB; some minutes')
        with tempfile.TemporaryDirectory() as folder:
            try:
                build(folder)
            except subprocess.CalledProcessError:
                measuring.say('FerretDB could not be built; the message is above')

    def backend(self):
        return ['--handler=sqlite', '--sqlite-url=file:%s/' % self.data]

    @contextlib.contextmanager
    def serve(self):
        with self.folders():
            socket = os.path.join(self.sockets, 'ferretdb.sock')
            uri = 'mongodb://%s/?directConnection=true' % urllib.parse.quote(socket, safe='')
            with running([PROGRAM, '--listen-addr=', '--listen-unix=' + socket, '--debug-addr=-',
                          '--telemetry=disable', '--log-level=error', '--state-dir=' + self.data]
                         + self.backend(), [sys.executable, '-c', PING, uri],
                         os.path.join(self.sockets, 'log'), cwd=self.sockets) as process:
                self.uri, self.pid = uri, process.pid
                yield


class FerretPostgreSQL(FerretDB):
    name = 'FerretDB on PostgreSQL'
    settings = PostgreSQL.settings

    def __init__(self, folder):
        super().__init__(folder)
        self.below = PostgreSQL(os.path.join(folder, 'ferretdb'))
        self.programs.update(self.below.programs)
        self.package = self.below.package

    def backend(self):
        return ['--handler=postgresql', '--postgresql-url=postgres://postgres@/postgres?host='
                + urllib.parse.quote(self.below.sockets, safe='')]

    def pids(self):
        return super().pids() + self.below.pids()

    @contextlib.contextmanager
    def serve(self):
        with self.below.serve(), super().serve():
            yield
