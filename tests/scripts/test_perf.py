"""Tests the table of one option against the base, and how it gets into a patch's header."""

import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'perf'))

import ab_table  # noqa: E402
import write_through_table  # noqa: E402


def run(per_second, p50_us=1000):
    return {'per_second': per_second, 'p50_us': p50_us, 'p99_us': 2000, 'server_cpu_us': 50}


def traced(size, inserts):
    return {'bytes_per_commit': size, 'writes_per_commit': 1, 'syncs_per_commit': 1,
            'sync_us_per_commit': 150, 'inserts_per_commit': inserts}


RESULT = {
    'workload': 'insertOne of 200 bytes, j:true', 'runs': 3, 'seconds': 1, 'warmup': 0.3,
    'host': {'cores': 2, 'file_system': 'ext4', 'kernel': '6.1'},
    'options': {'base': ['--a', '2'], 'option': ['--a', '1']},
    'floor': {'overwrite_4k': {'p50_us': 150, 'p99_us': 400}, 'append_8k': {'p50_us': 250}},
    'cells': [{'clients': 8, 'base': [run(100), run(110), run(90)],
               'option': [run(130), run(140, 900), run(115)],
               'base_traced': traced(8192, 8), 'option_traced': traced(4096, 8)}],
}

PATCH = '''From: Jane Doe <jane@example.org>
Subject: x

The problem.

%s

How to read it.

Option: a
Result: perf/results/old.json
Last-update: 2026-01-01

--- a/x
+++ b/x
@@ -1 +1 @@
-insertOne of 100 bytes
+insertOne of 300 bytes
'''


class Table(unittest.TestCase):
    def test_figures_of_traced_runs_are_per_insert(self):
        self.assertRegex(ab_table.table(RESULT), r'journal bytes per insert +1024 +512 +-50%')

    def test_the_band_is_the_wider_range_of_the_two(self):
        # 90..110 of 100 are 20 %, 115..140 of 130 are 19 %.
        self.assertRegex(ab_table.table(RESULT), r'inserts/s +100 .* \+30% \(20%\)')

    def test_only_what_leaves_the_band_is_called_a_change(self):
        self.assertEqual(ab_table.verdict(RESULT)[-1], '    8 clients: inserts/s +30%')
        same = dict(RESULT, cells=[dict(RESULT['cells'][0], option=[run(105), run(99), run(95)])])
        self.assertEqual(ab_table.verdict(same)[-1], '    8 clients: nothing')


class Header(unittest.TestCase):
    def test_the_new_table_replaces_the_old_one_and_nothing_else(self):
        old = ab_table.table(dict(RESULT, runs=9))
        new = ab_table.with_table(PATCH % old, ab_table.table(RESULT), 'perf/results/new.json',
                                  '2026-02-02')
        wanted = PATCH.replace('old.json', 'new.json').replace('2026-01-01', '2026-02-02')
        self.assertEqual(new, wanted % ab_table.table(RESULT))

    def test_a_header_without_a_table_is_refused(self):
        with self.assertRaises(ValueError):
            ab_table.with_table(PATCH % 'No table.', ab_table.table(RESULT), 'x', '2026-02-02')


def appends(requests, flushes, kilobytes):
    return {'appends': 100, 'device_writes': requests, 'flushes': flushes, 'kilobytes': kilobytes,
            'p50_us': 500}


class WriteThrough(unittest.TestCase):
    RESULT = {
        'appends': 100, 'device': 'a loop device of its own',
        'host': {'file_system': 'ext4', 'kernel': '6.1'},
        'runs': [{mode: appends(100 * n, 100, 800) for mode, _ in write_through_table.MODES}
                 for n in (2, 3, 2)]}

    def test_figures_are_per_append_with_their_spread(self):
        lines = write_through_table.table(self.RESULT).splitlines()
        self.assertEqual(len(lines), 4 + len(write_through_table.MODES))
        for line in lines[4:]:
            self.assertRegex(line, r' 2\.0 \(2\.0\.\.3\.0\) +1\.0 \(1\.0\.\.1\.0\) +8\.0 .* 0\.50 ')

    def test_the_new_table_replaces_the_old_one_and_nothing_else(self):
        table = write_through_table.table(self.RESULT)
        patch = 'Why.\n\n%s\n\nWhat it shows.\n\nResult: old\nLast-update: 2026-01-01\n'
        other = table.replace('2.0 (', '7.0 (')
        self.assertEqual(
            write_through_table.with_table(patch % other, table, 'new', '2026-02-02'),
            (patch % table).replace('old', 'new').replace('2026-01-01', '2026-02-02'))


if __name__ == '__main__':
    unittest.main()
