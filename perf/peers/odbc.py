"""Any database by its ODBC driver, as --odbc 'NAME=CONNECTION STRING' names it; it runs already.
Its C program is odbc_load.c over embedded_load.c: threads as clients, and a prepared statement."""

import argparse
import contextlib
import json
import os
import re
import subprocess

from peers.embedded import compile_load, has_header
from peers.peer import WARMUP_SECONDS, Peer, program

NAME_MAX = 26  # what the table has room for
ANSWER_SECONDS_MAX = 15  # FreeTDS tries each version of its protocol, each for 5 s
# What Debian calls the drivers that it has.
DRIVERS = {'postgresql unicode': 'odbc-postgresql', 'postgresql ansi': 'odbc-postgresql',
           'mariadb unicode': 'odbc-mariadb', 'freetds': 'tdsodbc'}
VALUE = r'(\{(?:[^}]|\}\})*\}|[^;]*)'  # of a keyword in a connection string
SECRET = re.compile(r'(?i)\b(pwd|password|accesstoken)\s*=\s*' + VALUE)
DRIVER = re.compile(r'(?i)\bdriver\s*=\s*' + VALUE)
HELP = ("a database beside ours, by its ODBC driver, e.g. 'SQL Server=Driver=FreeTDS;Server=db;"
        "Port=1433;Database=test;UID=sa;PWD=...'; its table mongod_dur_load is dropped; may be "
        'given again')


def parse(text):
    """(name, connection string); argparse turns the errors into a sentence and exit code 2."""
    name, equals, connection = text.partition('=')
    name = name.strip()
    if not equals or not name or ';' in name:
        raise argparse.ArgumentTypeError(
            "'%s' does not begin with NAME=; write 'NAME=CONNECTION STRING'" % masked(text))
    if len(name) > NAME_MAX or not name.isprintable():
        raise argparse.ArgumentTypeError("the name '%s' is no text of at most %d characters"
                                         % (name, NAME_MAX))
    if '=' not in connection:
        raise argparse.ArgumentTypeError(
            "%s: '%s' is no connection string; write for instance Driver=FreeTDS;Server=..."
            % (name, connection))
    return name, connection


def masked(connection):
    """A connection string without its passwords, to be shown and kept."""
    return SECRET.sub(r'\1=***', connection)


class ODBC(Peer):
    def __init__(self, folder, name, connection):
        super().__init__(None, {'cc': program('cc'), 'sql.h': has_header('sql.h')})
        self.name, self.connection = name, connection
        self.package, self.folder = 'unixodbc-dev', folder
        self.program = os.path.join(folder, 'odbc_load')

    @property
    def settings(self):
        return 'each insert a transaction, as durable as it is set; %s%s' % (
            masked(self.connection),
            ' (%(server)s by %(driver)s)' % self.about if self.about else '')

    about = None  # what answers; known while it is served

    def packages(self):
        """What Debian calls the driver, where it has it, and what compiling needs."""
        named = DRIVER.search(self.connection)
        driver = named and DRIVERS.get(named[1].strip('{}').strip().lower())
        return [self.package] + ([driver] if driver else [])

    def run(self, *words, seconds_max=None):
        """What the program prints, a JSON object. Raises RuntimeError with what is wrong."""
        try:
            done = subprocess.run([self.program, *words], capture_output=True, text=True,
                                  errors='replace', timeout=seconds_max,
                                  env=dict(os.environ, ODBC_CONNECTION=self.connection))
        except subprocess.TimeoutExpired:
            raise RuntimeError('%s: connect: no answer in %d s' % (self.name, seconds_max)) \
                from None
        if done.returncode != 0:
            raise RuntimeError('%s: %s' % (self.name, ' '.join(done.stderr.split())
                                           or 'the program ended with %d' % done.returncode))
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def serve(self):
        compile_load(self.programs['cc'], 'odbc_load', self.program, 'odbc')
        self.about = self.run('about', seconds_max=ANSWER_SECONDS_MAX)
        yield

    def insert(self, clients, seconds):
        found = self.run(self.name, str(clients), str(seconds), str(WARMUP_SECONDS))
        del found['cpu_seconds']  # the client's: the engine's is in another process
        return found
