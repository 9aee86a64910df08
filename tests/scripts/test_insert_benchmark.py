"""Tests perf/insert_benchmark.py: how journaled writes are sorted by what they are for, its table,
and what it refuses."""

import argparse
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import insert_benchmark  # noqa: E402

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
RUN = {'document_bytes': 216.4, 'seconds': 11.25, 'per_second': 268.0,
       'rows': 3000, 'device_bytes': 123300000, 'log_raw': 4286.0, 'log_compressed': 2153.0,
       'log_padded': 8197.0, 'data_bytes_per_insert': 32911.0, 'server_cpu_us': 280.0}


class Sources(unittest.TestCase):
    def test_writes_by_what_they_are_for(self):
        found = insert_benchmark.split_by_kind(DUMP, EXTENTS, 2)
        self.assertEqual(found, {
            'record: header and document': (128, 0.5),
            'links between records and free space': (10, 0.5),
            'trees: nodes and keys moved or written': (600, 0.5),
            'trees: headers and counts of nodes': (3.5, 0.5),
            'free lists, counts, roots of the trees (.ns)': (8, 0.5)})


class Table(unittest.TestCase):
    def test_has_the_columns_of_the_article(self):
        elsewhere = {name: value for name, value in RUN.items()
                     if name not in ('device_bytes', 'data_bytes_per_insert')}
        text = insert_benchmark.table({
            'rows': 3000, 'clients': 1, 'host': {'file_system': 'ext4', 'kernel': '6.1'},
            'floors': [6700.0], 'steal': 0, 'floors_moved': 0, 'device': 'vdx', 'load': 0.5,
            'idle': [{'seconds': 1, 'busy': 0.01}],
            'lines': [{'name': 'base, sync', 'runs': [
                RUN, {**RUN, 'per_second': 270.0}, {**RUN, 'per_second': 200.0}]},
                      {'name': 'elsewhere', 'runs': [elsewhere]},
                      {'name': 'never', 'runs': []}],
            'sources': {'trees': (3634.0, 3.0), 'record': (232.0, 1.0)}})
        lines = text.splitlines()
        self.assertEqual(lines[0], 'This machine was quiet enough for conclusions. Load average '
                         'at the start 0.5.')
        self.assertEqual(lines[3], '3000 rows, 1 client; ext4, Linux 6.1')
        self.assertEqual(lines[7].split(), [
            'base,', 'sync', '216', '11.2', '268', '(200..270)', '123.3', '41100', '0.06', '4286',
            '2153', '8197', '32911', '280'])
        self.assertEqual(lines[8].split(), ['elsewhere', '216', '11.2', '268', '(268..268)',
                                            '0.06', '4286', '2153', '8197', '280'])
        self.assertNotIn('never', text)
        self.assertEqual([line.split()[0] for line in lines[-2:]], ['trees', 'record'])


class Arguments(unittest.TestCase):
    def test_rows(self):
        self.assertEqual(insert_benchmark.rows_of('1e5'), 100000)
        for bad in ('x', '99', '2e9', '1000.5', '-1'):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, 'no number of rows'):
                insert_benchmark.rows_of(bad)


if __name__ == '__main__':
    unittest.main()
