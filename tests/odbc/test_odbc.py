"""The peer odbc of ./lab bench peers (perf/peers/odbc.py): durable inserts into servers of
PostgreSQL and of MariaDB by their own ODBC drivers, and FreeTDS, for which there is no server here,
as far as it goes without one."""

import contextlib
import io
import json
import os
import re
import shutil
import socket
import tempfile
import time
import unittest
from unittest import mock

import compare
import experiment
import peers
import server
from peers import mariadb, odbc, peer as base, postgresql, syncs

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRATCH = os.path.join(TOP, 'build', 'scratch')
COUNTED_SECONDS_MAX = 60  # only ends a wait for figures that never come


class Case(unittest.TestCase):
    def setUp(self):
        os.makedirs(SCRATCH, exist_ok=True)
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix='odbc-', dir=SCRATCH))
        os.chmod(self.folder, 0o755)

    def peer(self, connection, name='it'):
        found = odbc.ODBC(self.folder, name, connection)
        self.assertEqual(found.missing(), '')
        return found

    def why_not(self, connection):
        """The sentence with which a connection fails."""
        with self.assertRaises(RuntimeError) as caught, self.peer(connection).serve():
            pass
        self.assertRegex(str(caught.exception), '^it: connect: .')
        return str(caught.exception)


class Drivers(Case):
    def driven(self, server_kind, connection_of, ask, rows_inserted):
        below = server_kind(self.folder)
        self.assertEqual(below.missing(), '')
        with below.serve():
            found = self.peer(connection_of(below))
            found.pid = below.pid  # so that its syncs are counted
            before = rows_inserted(below)
            with found.serve():
                self.assertIn(server_kind.name.split()[0].lower(), found.settings.lower())
                made = 0
                for clients in (1, 4):
                    run = found.insert(clients, 0.4)
                    made += run['inserts']
                    self.assertGreater(run['inserts'], clients)
                    self.assertGreater(run['per_second'], 0)
                    self.assertGreater(run['max_us'], 0)
                    self.assertNotIn('cpu_seconds', run)
                limit = time.monotonic() + COUNTED_SECONDS_MAX
                while rows_inserted(below) - before < made and time.monotonic() < limit:
                    time.sleep(0.1)
                self.assertGreaterEqual(rows_inserted(below) - before, made)
                if shutil.which('strace'):
                    self.assertGreater(syncs.per_insert(found, 0.3), 0.9)
            self.assertNotIn('mongod_dur_load', ask(below))
            with self.assertRaisesRegex(RuntimeError, '^it: connect: .*nowhere'):
                self.peer(connection_of(below).replace(below.sockets, '/nowhere')).run('about')

    def test_postgresql(self):
        def query(below, text):
            return base.run(below.client('psql') + ['-At', '-c', text])
        self.driven(postgresql.PostgreSQL,
                    lambda below: 'Driver=PostgreSQL Unicode;Servername=%s;Database=postgres;'
                    'UID=postgres' % below.sockets,
                    lambda below: query(below, 'select tablename from pg_tables'),
                    lambda below: int(query(below, "select tup_inserted from pg_stat_database "
                                            "where datname = 'postgres'")))

    def test_mariadb(self):
        def query(below, text):
            return base.run(below.client('mariadb') + ['-N', '-e', text])
        self.driven(mariadb.MariaDB,
                    lambda below: 'Driver={MariaDB Unicode};SOCKET=%s/socket;UID=root;'
                    'DATABASE=perf' % below.sockets,
                    lambda below: query(below, 'show tables from perf'),
                    lambda below: int(re.search(r'\d+', query(
                        below, "show global status like 'Handler_write'"))[0]))

    def test_it_stands_in_the_table_and_its_password_nowhere(self):
        below = postgresql.PostgreSQL(self.folder)
        with below.serve(), contextlib.redirect_stderr(io.StringIO()) as said, \
                mock.patch.object(peers, 'every', return_value=[]), \
                mock.patch.object(experiment, 'PROGRAMS', os.path.join(
                    server.build('none', '', ['sync_floor']), 'bin')):
            arguments = compare.make_parser().parse_args([
                '--seconds', '0.2', '--rounds', '1', '--clients', '1,2', '--odbc',
                'My PG=Driver=PostgreSQL Unicode;Servername=%s;Database=postgres;UID=postgres;'
                'PWD={quite}} secret}' % below.sockets])
            result = compare.run(arguments, self.folder)
        self.assertNotIn('stopped', result)
        text = compare.table(result)
        self.assertRegex(text, r'(?m)^My PG +\d+ \(')
        self.assertRegex(text, r'My PG: .*PWD=\*\*\* \(PostgreSQL [\d.]+ by psqlodbc')
        self.assertNotIn('quite', text + json.dumps(result) + said.getvalue())

    def test_what_fails_ends_the_comparison_with_a_sentence(self):
        with contextlib.redirect_stderr(io.StringIO()), \
                mock.patch.object(peers, 'every', return_value=[]), \
                mock.patch.object(experiment, 'PROGRAMS', os.path.join(
                    server.build('none', '', ['sync_floor']), 'bin')):
            arguments = compare.make_parser().parse_args([
                '--seconds', '0.2', '--odbc', 'X=Driver=No such driver;Server=x'])
            result = compare.run(arguments, self.folder)
        self.assertRegex(result['stopped'], "X: connect: .*the drivers here are: .*PostgreSQL")


class NoServer(Case):
    """FreeTDS, by which SQL Server is asked, and others, where no server answers."""

    def test_the_driver_says_that_none_answers(self):
        for connection in ('Driver=FreeTDS;Server=127.0.0.1;Port=%d;UID=sa;PWD=x',
                           'Driver=PostgreSQL Unicode;Servername=127.0.0.1;Port=%d;Database=x',
                           'Driver=MariaDB Unicode;SERVER=127.0.0.1;PORT=%d'):
            self.assertRegex(self.why_not(connection % server.free_port()),
                             '(?i)connect.*(refused|unavailable|does not exist|connect)')

    def test_one_that_takes_connections_and_is_silent_is_not_waited_for(self):
        with socket.create_server(('127.0.0.1', 0)) as silent, \
                mock.patch.object(odbc, 'ANSWER_SECONDS_MAX', 2):
            for connection in ('Driver=FreeTDS;Server=127.0.0.1;Port=%d;UID=sa;PWD=x',
                               'Driver=PostgreSQL Unicode;Servername=127.0.0.1;Port=%d;Database=x'):
                self.assertEqual(self.why_not(connection % silent.getsockname()[1]),
                                 'it: connect: no answer in 2 s')

    def test_a_driver_that_is_not_there_is_answered_with_those_that_are(self):
        said = self.why_not('Driver=Oracle;Server=x')
        for name in ('FreeTDS', 'PostgreSQL Unicode', 'MariaDB Unicode'):
            self.assertIn(name, said)
