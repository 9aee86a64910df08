"""Tests perf/append.py: how calls on files are counted in a trace, what is read from the kernel's
counters, how moves of a file's time are seen, and its table."""

import os
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import append  # noqa: E402
from peers import syncs  # noqa: E402

TRACE = '''\
71 openat(AT_FDCWD</tmp>, "/db/meta", O_RDWR|O_SYNC, 0600) = 4</db/meta>
71 openat(AT_FDCWD</tmp>, "/db/log", O_RDWR|O_DSYNC, 0600) = 3</db/log>
71 pwrite64(3</db/log>, ""..., 4096, 0) = 4096
71 pwrite64(4</db/meta>, ""..., 56, 0 <unfinished ...>
72 write(5<socket:[99]>, ""..., 10) = 10
72 pwrite64(6</db/data>, ""..., 100, 0) = 100
71 <... pwrite64 resumed>) = 56
72 fdatasync(6</db/data> <unfinished ...>
71 fsync(7</db/dir>) = 0
72 <... fdatasync resumed>) = 0
72 pwritev2(6</db/data>, [{iov_base=""..., iov_len=8192}], 1, 0, RWF_DSYNC) = 8192
72 write(9<pipe:[7]>, "", 1) = 1
71 openat(AT_FDCWD</tmp>, "/db/log", O_RDWR) = 3</db/log>
71 pwrite64(3</db/log>, ""..., 10, 0) = 10
'''

STATS = '''\
   8       0 vdx 5 0 40 3 1000 0 160 9 0 12 12 0 0 0 0 77 6
   8       1 old 5 0 40 3 20 0 160 9 0 12 12
'''


class Calls(unittest.TestCase):
    def test_syncs_that_write_the_times_are_distinguished_from_those_that_need_not(self):
        found = syncs.tally(TRACE.splitlines())
        self.assertEqual(found, {
            'writes': 5, 'bytes': 4096 + 56 + 100 + 8192 + 10, 'fsyncs': 2, 'datasyncs': 3,
            'files': {'/db/log': [2, 4106], '/db/meta': [1, 56], '/db/data': [2, 8292]}})

    def test_what_was_open_before_counts_too(self):
        line = ['5 pwrite64(8</db/x>, ""..., 7, 0) = 7']
        self.assertEqual(syncs.tally(line, {'8</db/x>'})['datasyncs'], 1)
        self.assertEqual(syncs.tally(line)['datasyncs'], 0)


class Counters(unittest.TestCase):
    def test_flushes_of_a_device(self):
        self.assertEqual(append.flushes('vdx', STATS.splitlines()), 77)
        self.assertIsNone(append.flushes('old', STATS.splitlines()))
        self.assertIsNone(append.flushes('nosuch', STATS.splitlines()))

    def test_transactions_of_the_file_system(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, 'vdx-8'))
            with open(os.path.join(folder, 'vdx-8', 'info'), 'w', encoding='ascii') as file:
                file.write('1234 transactions (1200 requested), each up to 65536 blocks\n')
            self.assertEqual(append.log_transactions('vdx', folder), 1234)
            self.assertIsNone(append.log_transactions('vdy', folder))
        self.assertIsNone(append.log_transactions('vdx', folder))

    def test_moves_of_a_file_time_are_seen(self):
        with tempfile.NamedTemporaryFile() as file:
            watch = append.TimeWatch([file.name])
            limit = time.monotonic() + 60
            stamp = 1
            while watch.moved < 3 and time.monotonic() < limit:
                stamp += 1
                os.utime(file.name, ns=(stamp, stamp))
            moved = watch.moved
            self.assertGreater(watch.stop(), 0)
        self.assertGreaterEqual(moved, 3)

    def test_without_a_file_nothing_moves(self):
        self.assertEqual(append.TimeWatch([]).stop(), 0)
        self.assertEqual(append.TimeWatch(['/nosuch']).stop(), 0)


class Table(unittest.TestCase):
    def test_has_rates_and_calls(self):
        run = {'per_second': 900, 'cpu_us': 80, 'flushes': 1.0, 'device_writes': 2.5,
               'log_transactions': None, 'time_moved': 240}
        text = append.table({
            'idle': [{'seconds': 1, 'busy': 0.01}], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
            'load': 0.5, 'floors': [5000.0], 'contenders': {'A': {
                'settings': 'a=1', 'runs': {1: [run, {**run, 'per_second': 1100}], 8: []},
                'traced': {'writes': 1.02, 'bytes': 8194, 'fsyncs': 0.01, 'datasyncs': 1.0,
                           'files': [['journal/j._0', 1.0, 8192.0]]}}}})
        lines = [line.split() for line in text.splitlines()]
        self.assertIn(['A', '1', '1000', '(900..1100)', '1.00', '80', '1.00', '2.50'], lines)
        self.assertIn(['A', '1.02', '8194', '0.01', '1.00', '240', 'journal/j._0', '(1.00)'], lines)
        self.assertIn('A: a=1', text.splitlines())


if __name__ == '__main__':
    unittest.main()
