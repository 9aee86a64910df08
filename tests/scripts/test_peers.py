"""Tests perf/peers.py: what it reads from the other servers' clients, and what it leaves out."""

import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'perf'))

import measuring  # noqa: E402
import peers  # noqa: E402

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
        self.assertEqual(peers.pgbench_rate(PGBENCH), 292.802066)
        with self.assertRaisesRegex(RuntimeError, 'connection refused'):
            peers.pgbench_rate('connection refused')

    def test_mariadb_slap(self):
        self.assertEqual(peers.slap_seconds(SLAP), 0.455)
        self.assertEqual(peers.slap_seconds('a warning, with commas, in it\ninnodb' + SLAP), 0.455)
        self.assertGreater(peers.slap_seconds(SLAP.replace('0.455', '0.000')), 0)
        with self.assertRaisesRegex(RuntimeError, 'no such socket'):
            peers.slap_seconds('no such socket, tried all, twice')

    def test_mariadb_slap_is_asked_for_as_many_as_fill_the_time(self):
        peer = peers.MariaDB('unused')
        peer.sockets = 'unused'
        with mock.patch.object(peers, 'run', side_effect=[',mixed,0.5,0,0,2,200\n',
                                                          ',mixed,2.0,0,0,2,200\n']) as run:
            peer.programs = dict.fromkeys(peer.programs, 'unused')
            self.assertEqual(peer.insert(2, 3), 2400 / 2.0)
        self.assertEqual([word for call in run.call_args_list for word in call.args[0]
                          if 'number-of-queries' in word],
                         ['--number-of-queries=400', '--number-of-queries=2400'])

    def test_load_client_over_a_socket(self):
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'load_client')
            with open(program, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho "$*" > %s/words\necho \'%s\'\n'
                           % (folder, json.dumps(LOAD)))
            os.chmod(program, stat.S_IRWXU)
            peer = peers.Mongod(folder)
            peer.tools = measuring.Bench(folder, folder, 0)
            peer.uri = peers.socket_uri('/tmp/a b', 27017)
            self.assertEqual(peer.insert(8, 2), 234.9)
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
        with mock.patch.object(peers, 'program', lambda name, *_: name in there and name), \
                mock.patch.object(os.path, 'exists', lambda path: 'mongod' in there), \
                contextlib.redirect_stderr(said):
            names = [peer.name for peer in peers.installed('unused')]
        return names, said.getvalue().splitlines()

    def test_what_is_missing_is_told(self):
        names, said = self.installed(['initdb', 'psql', 'mariadbd'])
        self.assertEqual(names, [])
        self.assertRegex(said[0], r'^left out: mongod-dur, durable.yaml \(\S+/mongod not found\)$')
        self.assertEqual(said[1:], [
            'left out: PostgreSQL (postgres, pgbench not found)',
            'left out: MariaDB InnoDB (mariadb-install-db, mariadb-slap, mariadb-admin, mariadb '
            'not found)'])

    def test_the_others_run(self):
        names, said = self.installed(['mongod', 'initdb', 'psql', 'postgres', 'pgbench'])
        self.assertEqual(names, ['mongod-dur, durable.yaml', 'PostgreSQL'])
        self.assertEqual(len(said), 1)


class Table(unittest.TestCase):
    def test_has_median_and_range_of_each(self):
        text = peers.table({
            'floors': [6700.0, 6807.4, 6900.0], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
            'load': 0.5, 'idle': [{'seconds': 1, 'busy': 0.01}],
            'servers': {'A': {1: [3.0, 1.0, 2.0], 8: [30.0, 10.0, 20.0]},
                        'B': {1: [4.0, 6.0, 5.0], 8: [40.0, 60.0, 50.0]}}})
        lines = [line.split() for line in text.splitlines()]
        self.assertEqual(' '.join(lines[0][:5]), 'This machine was quiet enough')
        self.assertIn('6807', lines[1])
        self.assertIn('(6700..6900).', lines[1])
        self.assertEqual(lines[4:], [['clients', '1', '8'],
                                     ['A', '2', '(1..3)', '20', '(10..30)'],
                                     ['B', '5', '(4..6)', '50', '(40..60)']])


if __name__ == '__main__':
    unittest.main()
