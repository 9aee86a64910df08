"""Tests perf/compare.py and perf/peers/: what is read from the others' clients, how their syncs are
counted, and what is left out."""

import argparse
import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import compare  # noqa: E402
import measuring  # noqa: E402
from peers import (  # noqa: E402
    embedded, ferretdb, iibench, mariadb, mongod, odbc, postgresql, syncs)

PGBENCH = '''pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: insert.sql
number of clients: 2
duration: 1 s
number of transactions actually processed: 293
number of failed transactions: 0 (0.000%)
latency average = 6.831 ms
initial connection time = 10.970 ms
tps = 292.802066 (without initial connection time)
'''

SLAP = ',mixed,0.455,0.450,0.460,2,240\n\n'

LOAD = {'workload': 'insert', 'clients': 8, 'per_second': 234.9, 'errors': 0}


class Outputs(unittest.TestCase):
    def test_pgbench(self):
        self.assertEqual(postgresql.pgbench_rate(PGBENCH),
                         {'per_second': 292.802066, 'inserts': 293})
        with self.assertRaisesRegex(RuntimeError, 'connection refused'):
            postgresql.pgbench_rate('connection refused')

    def test_mariadb_slap(self):
        self.assertEqual(mariadb.slap_seconds(SLAP), 0.455)
        self.assertEqual(mariadb.slap_seconds('a warning, with commas, in it\ninnodb' + SLAP),
                         0.455)
        self.assertGreater(mariadb.slap_seconds(SLAP.replace('0.455', '0.000')), 0)
        with self.assertRaisesRegex(RuntimeError, 'no such socket'):
            mariadb.slap_seconds('no such socket, tried all, twice')

    def test_mariadb_slap_is_asked_for_as_many_as_fill_the_time(self):
        peer = mariadb.MariaDB('unused')
        peer.sockets = 'unused'
        with mock.patch.object(mariadb, 'run', side_effect=[
                ',mixed,0.5,0,0,2,200\n', ',mixed,2.0,0,0,2,200\n']) as run:
            peer.programs = dict.fromkeys(peer.programs, 'unused')
            self.assertEqual(peer.insert(2, 3), {'per_second': 2400 / 2.0, 'inserts': 2800})
        self.assertEqual([word for call in run.call_args_list for word in call.args[0]
                          if 'number-of-queries' in word],
                         ['--number-of-queries=400', '--number-of-queries=2400'])

    def test_rows_of_the_insert_benchmark_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = iibench.PostgreSQLRows('unused')
            peer.sockets = folder
            peer.programs = dict.fromkeys(peer.programs, 'unused')
            with mock.patch.object(iibench, 'run', return_value=PGBENCH) as run:
                found = peer.fill(300, 2, 5)
            self.assertEqual(found['rows'], 293)
            self.assertAlmostEqual(found['seconds'], 293 / 292.802066)
            words = run.call_args.args[0]
            self.assertEqual(words[words.index('-t') + 1], '150')
            with open(os.path.join(folder, 'rows.sql'), encoding='utf-8') as file:
                self.assertIn(":price, 'xxxxx')", file.read())
        peer = iibench.InnoDBRows('unused')
        peer.sockets = 'unused'
        peer.programs = dict.fromkeys(peer.programs, 'unused')
        with mock.patch.object(iibench, 'run', return_value=SLAP) as run:
            self.assertEqual(peer.fill(301, 2, 5), {'rows': 300, 'seconds': 0.455,
                                                    'per_second': 300 / 0.455})
        self.assertIn('--number-of-queries=300', run.call_args.args[0])

    def test_the_log_of_innodb_is_what_its_server_says(self):
        peer = iibench.InnoDBRows('unused')
        for said, found in (('Innodb_lsn_current\t70\nInnodb_os_log_written\t512\n',
                             {'log_raw': 70, 'log_padded': 512}),
                            ('Innodb_lsn_current\t70\n', {'log_raw': 70})):
            with mock.patch.object(iibench.InnoDBRows, 'query', lambda *_, said=said: said.strip()):
                self.assertEqual(peer.log(), found)

    def test_the_tables_of_both_have_the_columns_and_indexes_of_iibench(self):
        with open(os.path.join(TOP, 'perf', 'iibench.c'), encoding='utf-8') as file:
            source = ' '.join(file.read().split())
        for name in ('CASH_REGISTERS', 'CUSTOMERS', 'PRODUCTS', 'PRICE_MAX'):
            self.assertIn('%s = %d' % (name, getattr(iibench, name)), source)
        for column in iibench.COLUMNS.split(', '):
            self.assertIn('(row, "%s"' % column, source)
        for columns in iibench.INDEXES:
            keys = ', '.join('"%s", BCON_INT32(1)' % column for column in columns.split(', '))
            self.assertIn('BCON_NEW(%s)' % keys, source)

    def test_load_client_over_a_socket(self):
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'load_client')
            with open(program, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho "$*" > %s/words\necho \'%s\'\n'
                           % (folder, json.dumps(LOAD)))
            os.chmod(program, stat.S_IRWXU)
            peer = mongod.Mongod(folder)
            peer.tools = measuring.Bench(folder, folder, 0)
            peer.uri = mongod.socket_uri('/tmp/a b', 27017)
            with mock.patch.object(mongod.pymongo, 'MongoClient') as client:
                command = client.return_value.__enter__.return_value.perf.command
                command.return_value = {'n': 530}
                self.assertEqual(peer.insert(8, 2), {'per_second': 234.9, 'inserts': 530})
            with open(os.path.join(folder, 'words'), encoding='utf-8') as file:
                seen = file.read().split()
        self.assertEqual(seen[seen.index('--uri') + 1],
                         'mongodb://%2Ftmp%2Fa%20b%2Fmongodb-27017.sock/?directConnection=true')
        self.assertEqual([seen[seen.index(name) + 1] for name in ('--clients', '--seconds')],
                         ['8', '2'])


class Missing(unittest.TestCase):
    def installed(self, there):
        """Names of the peers that would run, and what is said, when only `there` is installed."""
        said = io.StringIO()
        def program(name, *_):
            return name in there and name
        with mock.patch.object(postgresql, 'program', program), \
                mock.patch.object(mariadb, 'program', program), \
                mock.patch.object(mariadb.glob, 'glob', lambda path: []), \
                mock.patch.object(embedded, 'program', program), \
                mock.patch.object(embedded, 'has_header', program), \
                mock.patch.object(os.path, 'exists',
                                  lambda path: os.path.basename(path) in there), \
                contextlib.redirect_stderr(said):
            names = [peer.name for peer in compare.installed('unused')]
        return names, said.getvalue().splitlines()

    def test_what_is_missing_is_reported(self):
        names, said = self.installed(['initdb', 'psql', 'mariadbd'])
        self.assertEqual(names, [])
        self.assertRegex(said[0], r'^left out: mongod-dur, durable.yaml \(\S+/mongod not found\)$')
        self.assertEqual(said[1:], [
            'left out: PostgreSQL (postgres, pgbench not found; apt install postgresql-15)',
            'left out: MariaDB InnoDB (mariadb-install-db, mariadb-slap, mariadb-admin, mariadb '
            'not found; apt install mariadb-server)',
            'left out: MariaDB MyRocks (mariadb-install-db, mariadb-slap, mariadb-admin, mariadb, '
            'ha_rocksdb.so not found; apt install mariadb-plugin-rocksdb)',
            'left out: FerretDB on SQLite (ferretdb not found; ./lab bench peers --install builds '
            'it with Go 1.24 or newer)',
            'left out: FerretDB on PostgreSQL (ferretdb, postgres, pgbench not found; ./lab bench '
            'peers --install builds it with Go 1.24 or newer)',
            'left out: SQLite, in process (cc, sqlite3.h not found; apt install libsqlite3-dev)',
            'left out: LMDB, in process (cc, lmdb.h not found; apt install liblmdb-dev)',
            'left out: RocksDB, in process (cc, rocksdb/c.h not found; apt install '
            'librocksdb-dev)',
            'left out: WiredTiger, in process (cc, wiredtiger.h not found; apt install '
            'libwiredtiger-dev)'])

    def test_the_others_run(self):
        names, said = self.installed(['mongod', 'initdb', 'psql', 'postgres', 'pgbench'])
        self.assertEqual(names, ['mongod-dur, durable.yaml', 'PostgreSQL'])
        self.assertEqual(len(said), 8)

    def test_what_is_built_with_go_wants_a_new_one(self):
        for said, version in (('go1.19.8', (1, 19)), ('go1.26.8', (1, 26)), ('devel', (0, 0))):
            run = mock.Mock(stdout=said)
            with mock.patch.object(ferretdb.subprocess, 'run', return_value=run):
                self.assertEqual(ferretdb.go_version(), version)
        with mock.patch.object(ferretdb.subprocess, 'run', side_effect=FileNotFoundError):
            self.assertEqual(ferretdb.go_version(), (0, 0))
        with mock.patch.object(ferretdb.os.path, 'exists', return_value=False), \
                mock.patch.object(ferretdb, 'go_version', return_value=(1, 19)), \
                mock.patch.object(ferretdb.subprocess, 'run') as build:
            ferretdb.FerretDB('unused').install()
        build.assert_not_called()

    def test_a_database_below_counts_too(self):
        peer = ferretdb.FerretPostgreSQL('unused')
        self.assertEqual(peer.pids(), [])
        peer.pid, peer.below.pid = 71, 72
        self.assertEqual(peer.pids(), [71, 72])

    def test_only_those_that_are_asked_for(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            names = {peer.name for peer in compare.installed('unused', only=['sqlite, in'])}
        self.assertLessEqual(names, {'SQLite, in process'})
        self.assertNotIn('MariaDB', said.getvalue())

    def test_a_name_that_is_none_is_answered_with_the_names(self):
        with self.assertRaises(SystemExit) as end:
            list(compare.installed('unused', only=['PostgreSQL', 'nothing']))
        for text in ("'nothing'", 'PostgreSQL', 'LMDB'):
            self.assertIn(text, end.exception.code)


class ODBC(unittest.TestCase):
    def test_a_name_and_a_connection_string(self):
        self.assertEqual(odbc.parse('SQL Server = Driver={a;b};UID=sa'),
                         ('SQL Server', ' Driver={a;b};UID=sa'))
        for text, sentence in (
                ('', 'does not begin with NAME='), ('=DSN=x', 'does not begin with NAME='),
                ('Driver', 'does not begin with NAME='),
                ('a;Driver=x', 'does not begin with NAME='),
                ('a' * 27 + '=DSN=x', 'at most 26 characters'), ('a=x', 'is no connection string')):
            with self.subTest(text), self.assertRaisesRegex(argparse.ArgumentTypeError, sentence):
                odbc.parse(text)

    def test_no_password_is_shown(self):
        for string in ('UID=sa;PWD=secret', 'uid=sa;pwd = secret ;x=1', 'Password={sec;ret};UID=a',
                       'UID=a;PWD={sec}}ret;}', 'AccessToken=secret'):
            shown = odbc.masked(string)
            self.assertRegex(shown, r'(?i)(pwd|password|token)=\*\*\*')
            self.assertNotIn('sec', shown)
            self.assertNotIn('ret', shown)
            peer = odbc.ODBC('unused', 'x', string)
            self.assertNotIn('sec', peer.settings)
        with self.assertRaisesRegex(argparse.ArgumentTypeError, r'PWD=\*\*\*'):
            odbc.parse('Driver;PWD=secret')

    def test_packages_of_the_drivers_that_debian_has(self):
        for string, packages in (
                ('Driver=FreeTDS;Server=x', ['unixodbc-dev', 'tdsodbc']),
                ('driver={PostgreSQL Unicode};x=1', ['unixodbc-dev', 'odbc-postgresql']),
                ('UID=x;DRIVER = MariaDB Unicode', ['unixodbc-dev', 'odbc-mariadb']),
                ('Driver=Oracle', ['unixodbc-dev']), ('DSN=x', ['unixodbc-dev'])):
            self.assertEqual(odbc.ODBC('unused', 'x', string).packages(), packages)

    def test_what_is_named_runs_whatever_only_says(self):
        with mock.patch.object(odbc, 'program', lambda name: name), \
                mock.patch.object(odbc, 'has_header', lambda name: name), \
                contextlib.redirect_stderr(io.StringIO()):
            names = [peer.name for peer in compare.installed('unused', ['FerretDB on SQLite'], None,
                                                             [('Mine', 'DSN=x')])]
            alone = [peer.name for peer in compare.installed('unused', ['mine'], None,
                                                             [('Mine', 'DSN=x')])]
        self.assertEqual(names[-1:], ['Mine'])
        self.assertEqual(alone, ['Mine'])

    def test_without_the_manager_it_is_left_out(self):
        with mock.patch.object(odbc, 'program', lambda name: name), \
                mock.patch.object(odbc, 'has_header', lambda name: None), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            names = [peer.name for peer in compare.installed('unused', ['SQLite'], None,
                                                             [('Mine', 'DSN=x')])]
        self.assertNotIn('Mine', names)
        self.assertIn('left out: Mine (sql.h not found; apt install unixodbc-dev)',
                      said.getvalue())

    def test_a_name_twice_is_refused(self):
        for words in (['--odbc', 'a=DSN=x', '--odbc', 'a=DSN=y'], ['--odbc', 'PostgreSQL=DSN=x']):
            done = subprocess.run([sys.executable, os.path.join(TOP, 'perf', 'compare.py'), *words],
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "argument --odbc: the name '.*' is taken")


TRACE = '''\
71 openat(AT_FDCWD</tmp>, "/tmp/data", O_RDWR|O_CREAT, 0600) = 3</tmp/data>
71 openat(AT_FDCWD</tmp>, "/tmp/meta", O_RDWR|O_DSYNC, 0600) = 4</tmp/meta>
71 pwrite64(3</tmp/data>, ""..., 4096, 0) = 4096
71 fdatasync(3</tmp/data> <unfinished ...>
72 write(5<socket:[99]>, ""..., 10) = 10
71 <... fdatasync resumed>) = 0
71 pwrite64(4</tmp/meta>, ""..., 56, 0) = 56
71 openat(AT_FDCWD</tmp>, "/tmp/meta", O_RDWR) = 8</tmp/meta>
71 pwrite64(8</tmp/meta>, ""..., 56, 0) = 56
72 pwritev2(6</tmp/j._0>, [{iov_base=""..., iov_len=8192}], 1, 0, RWF_DSYNC) = 8192
72 pwritev2(6</tmp/j._0>, [{iov_base=""..., iov_len=8192}], 1, 0, 0) = 8192
72 msync(0x7f0000000000, 4096, MS_ASYNC) = 0
72 msync(0x7f0000000000, 4096, MS_SYNC) = 0
72 fsync(7</tmp/old>) = 0
'''


class Syncs(unittest.TestCase):
    def test_calls_and_writes_to_what_is_opened_for_synced_writes(self):
        self.assertEqual(syncs.count(TRACE.splitlines()), 5)
        self.assertEqual(syncs.count(TRACE.splitlines(), {'5<socket:[99]>'}), 6)

    def test_open_files_of_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            synced, plain = os.path.join(folder, 'synced'), os.path.join(folder, 'plain')
            files = [os.open(synced, os.O_CREAT | os.O_WRONLY | os.O_DSYNC),
                     os.open(plain, os.O_CREAT | os.O_WRONLY)]
            found = syncs.opened_for_sync(os.getpid())
            for each in files:
                os.close(each)
        self.assertEqual({each for each in found if folder in each},
                         {'%d<%s>' % (files[0], synced)})

    def test_a_tree_of_processes(self):
        child = subprocess.Popen(['sleep', '60'])
        try:
            self.assertIn(child.pid, syncs.tree(os.getpid()))
        finally:
            child.kill()
            child.wait()


class Programs(unittest.TestCase):
    @unittest.skipUnless(shutil.which('strace'), 'needs strace')
    def test_a_helper_that_has_ended_is_left_out(self):
        ended = subprocess.Popen(['true'])
        ended.wait()
        with subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as lives:
            with mock.patch.object(syncs, 'tree', return_value=[ended.pid, lives.pid]):
                self.assertEqual(syncs.Trace(lives.pid).stop(), 0)

    def driven(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            peer = kind(folder)
            if peer.missing() or not shutil.which('strace'):
                self.skipTest('needs strace, a compiler and ' + peer.package)
            with peer.serve():
                run = peer.insert(2, 0.2)
                self.assertGreater(run['inserts'], 0)
                self.assertGreater(run['cpu_seconds'], 0)
                self.assertGreater(syncs.per_insert(peer, 0.2), 0.9)

    def test_a_library_is_driven_and_its_syncs_are_counted(self):
        self.driven(embedded.SQLite)

    def test_wiredtiger_syncs_each_insert(self):
        self.driven(embedded.WiredTiger)


class Table(unittest.TestCase):
    def test_has_median_and_range_of_each(self):
        def runs(*rates):
            return [{'per_second': rate, 'cpu_us': 10 * rate} for rate in rates]
        result = {
            'floors': [6700.0, 6807.4, 6900.0], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
            'load': 0.5, 'idle': [{'seconds': 1, 'busy': 0.01}],
            'peers': {'A': {'settings': 'a=1', 'syncs': 1.0, 'in_process': False,
                            'runs': {1: runs(3.0, 1.0, 2.0), 8: runs(30.0, 10.0, 20.0)}},
                      'B': {'settings': 'b=2', 'syncs': None, 'in_process': True,
                            'runs': {1: runs(4.0, 6.0, 5.0), 8: []}}}}
        text = compare.table(result)
        lines = [line.split() for line in text.splitlines()]
        self.assertEqual(' '.join(lines[0][:5]), 'This machine was quiet enough')
        self.assertIn('6807', lines[1])
        self.assertIn('(6700..6900).', lines[1])
        self.assertEqual(lines[4:9], [['clients', 'syncs', '1', '8'],
                                      ['A', '1.00', '2', '(1..3)', '20', '(10..30)'],
                                      ['20.0', 'us', '200.0', 'us'],
                                      ['B', '5', '(4..6)'],
                                      ['50.0', 'us']])
        begin = lines.index(['A:', 'a=1'])
        self.assertEqual(lines[begin + 1], ['B:', 'b=2'])
        slower = compare.table(dict(result, device_delay_ms=8)).splitlines()
        self.assertEqual(slower[0], 'SIMULATED DEVICE: every flush made 8 ms slower '
                         '(--device-delay 8).')
        self.assertEqual(slower[1:], text.splitlines())


if __name__ == '__main__':
    unittest.main()
