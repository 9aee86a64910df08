"""Tests perf/insert_benchmark.py: how journaled writes are sorted by what they are for, and
from where to where a server's writes are counted."""

import argparse
import os
import tempfile
import unittest
from unittest import mock


import insert_benchmark

DUMP = '''\
j._0
  section       8192  seq 5  300 bytes, 8192 on disk  495 raw  checksum ok
    write    perf.0           @4352          256 bytes  00010000..
    write    perf.0           @4608           20 bytes  00010000..
    write    perf.0           @9000         1200 bytes  00010000..
    write    perf.0           @8192            7 bytes  00010000
    write    perf.ns          @628            16 bytes  00010000..
    write    local.0          @4096          100 bytes  00010000..
'''
EXTENTS = [('perf.0', 4096, 4096)]


class Sources(unittest.TestCase):
    def test_writes_by_what_they_are_for(self):
        found = insert_benchmark.split_by_kind(DUMP, EXTENTS, 2)
        self.assertEqual(found, {
            'record: header and document': (128, 0.5),
            'links between records and free space': (10, 0.5),
            'trees: nodes and keys moved or written': (600, 0.5),
            'trees: headers and counts of nodes': (3.5, 0.5),
            'free lists, counts, roots of the trees (.ns)': (8, 0.5)})


class Lines(unittest.TestCase):
    def test_what_a_server_writes_is_counted_from_the_first_row_to_the_flush(self):
        class Filled:
            log_bytes, calls = 1000, []

            def pids(self):
                return [os.getpid()]

            def fill(self, rows, clients, text_bytes):
                self.calls.append(('fill', rows, clients, text_bytes))
                self.log_bytes += 500
                return {'rows': rows, 'per_second': 1.0}

            def flush(self):
                self.calls.append('flush')

            def log(self):
                return {'log_padded': self.log_bytes, 'log_raw': 2 * self.log_bytes}

            def stored_bytes(self):
                return 77
        filled = Filled()
        run = mock.MagicMock()
        run.serve.return_value.__enter__.return_value = filled
        written = [10000, 12000]
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(insert_benchmark.experiment.measuring, 'programs', str), \
                mock.patch.object(insert_benchmark, 'written', lambda _: written.pop(0)):
            trial = insert_benchmark.experiment.Experiment(folder, argparse.Namespace())
            row = insert_benchmark.measure_run(
                run, argparse.Namespace(rows=10, clients=2, text=5), trial)
        self.assertEqual(filled.calls, [('fill', 10, 2, 5), 'flush'])
        self.assertEqual((row['log_padded'], row['log_raw'], row['device_bytes'],
                          row['data_bytes_per_insert'], row['stored_bytes']),
                         (50, 100, 2000, 150, 77))
