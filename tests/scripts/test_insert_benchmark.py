"""Tests perf/insert_benchmark.py: how journaled writes are sorted by what they are for, its table,
and what it refuses."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import claims  # noqa: E402
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
       'rows': 3000, 'device_bytes': 123300000, 'stored_bytes': 1500000,
       'log_raw': 4286.0, 'log_compressed': 2153.0,
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
            'base,', 'sync', '500', '11.0', '123.3', '11.2', '41100', '268', '(200..270)', '24.6',
            '8197', '4286', '2153', '32911', '280'])
        self.assertEqual(lines[8].split(), ['elsewhere', '500', '11.2', '268', '(268..268)',
                                            '24.6', '8197', '4286', '2153', '280'])
        self.assertNotIn('never', text)
        sources = [line.split()[0] for line in lines if line.startswith(('trees', 'record'))]
        self.assertEqual(sources, ['trees', 'record'])
        self.assertRegex(text, 'the same: bytes of log an insert .* 8,733 .* 8,197 .* reproduced')

    def test_has_the_article_s_lines_in_the_same_columns(self):
        lines = [line.split() for line in insert_benchmark.table({
            'rows': 3000, 'clients': 1, 'host': {'file_system': 'ext4', 'kernel': '6.1'},
            'floors': [6700.0], 'steal': 0, 'floors_moved': 0, 'device': 'vdx', 'load': 0.5,
            'idle': [{'seconds': 1, 'busy': 0.01}], 'lines': []}).splitlines()]
        self.assertIn(['MongoDB,', 'sync', '492', '23.1', '312000', '13535', '32712', '739',
                       '83300', '8733', '4772'], lines)
        self.assertIn(['MongoDB', 'without', 'a', 'journal', '440', '34.1', '42000', '1226', '4401',
                       '8154'], lines)


class Lines(unittest.TestCase):
    def test_what_is_not_installed_is_left_out_and_said(self):
        with mock.patch.object(insert_benchmark.peers.iibench.PostgreSQLRows, 'missing',
                               lambda self: 'initdb'), \
                mock.patch.object(insert_benchmark.peers.iibench.InnoDBRows, 'missing',
                                  lambda self: ''), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            names = [run.name for run in insert_benchmark.chosen(['sync'])]
        self.assertEqual(names, ['base, sync', 'series, sync', 'InnoDB, sync'])
        self.assertIn('left out: PostgreSQL, sync (initdb not found; apt install postgresql-15)',
                      said.getvalue())

    def test_sql_servers_get_the_cache_that_is_asked_for(self):
        with contextlib.ExitStack() as stack:
            for kind in insert_benchmark.peers.iibench.EVERY:
                stack.enter_context(mock.patch.object(kind, 'missing', lambda self: ''))
            runs = [run for run in insert_benchmark.chosen(['SQL, sync', 'DB, sync'], cache_mb=4096)
                    if isinstance(run, insert_benchmark.Sql)]
            for run in runs:
                self.assertIn(', 4096 MB of cache', run.settings)
                with mock.patch.object(run.kind, 'serve', contextlib.nullcontext), \
                        mock.patch.object(run.kind, 'prepare'), run.serve('unused') as peer:
                    self.assertEqual(peer.cache_mb, 4096)
        self.assertEqual(len(runs), 2)

    def test_the_patches_of_the_article_s_requests_come_one_after_the_other(self):
        options = {run.name: run.settings for run in insert_benchmark.all_runs()}
        self.assertEqual(options['series, at flush'], options['series, sync']
                         + ' without storage.journal.insertEntries')
        self.assertEqual(options['series, at commit'], options['series, at flush']
                         + ' without storage.dataFileWrites')
        self.assertLessEqual(set(claims.LINES.values()), set(options))
        for request in claims.all_requests():
            self.assertLessEqual(set(request.line[:2]), set(options))

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


class Arguments(unittest.TestCase):
    def test_rows(self):
        self.assertEqual(insert_benchmark.rows_of('1e5'), 100000)
        for bad in ('x', '99', '2e9', '1000.5', '-1'):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, 'no number of rows'):
                insert_benchmark.rows_of(bad)

    def test_lines_are_chosen_by_their_names_as_the_table_shows_them(self):
        def names(text):
            only = insert_benchmark.make_parser().parse_args(['--only', text]).only
            return [run.name for run in insert_benchmark.chosen(only)]
        with mock.patch.object(insert_benchmark.peers.iibench.InnoDBRows, 'missing',
                               lambda self: ''):
            self.assertEqual(names('series, sync,InnoDB, sync'), ['series, sync', 'InnoDB, sync'])
            self.assertEqual(names('innodb,no journal'),
                             ['base, no journal', 'InnoDB, sync', 'InnoDB, lazy'])


if __name__ == '__main__':
    unittest.main()
