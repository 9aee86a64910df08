"""Tests perf/compare.py and perf/peers/: what is read from the others' clients, how their syncs are
counted, and what is left out."""

import argparse
import contextlib
import io
import os
import shutil
import tempfile
import unittest
from unittest import mock


import compare
from peers import embedded, mariadb, odbc, postgresql, syncs

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


class ODBC(unittest.TestCase):
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


class Programs(unittest.TestCase):
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
