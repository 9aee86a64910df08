"""Tests what perf/ab.py compares, its table, and how that gets into a patch's header."""

import random
import tempfile
import unittest


import ab
import ab_table
import measuring
import write_through_table


def run(per_second, p50_us=1000, counter=0):
    return {'per_second': per_second, 'p50_us': p50_us, 'p99_us': 2000, 'server_cpu_us': 50,
            'counter': counter, 'documents_in_all': 100}


def traced(size, inserts):
    return {'bytes_per_commit': size, 'writes_per_commit': 1, 'inserts_per_commit': inserts}


CELL = {'options': {'without': ['--a', '2'], 'with': ['--a', '2', '--b', '1']},
        'without': 2 * [run(100), run(110), run(90)],
        'with': 2 * [run(130, counter=50), run(140, 900, counter=60), run(99, counter=40)],
        'without_traced': traced(8192, 8), 'with_traced': traced(4096, 8)}
RESULT = {
    'runs': 6, 'seconds': 10, 'warmup': 2, 'counter': 'openGateBytes.passed',
    'host': {'cores': 2, 'file_system': 'ext4', 'kernel': '6.1'},
    'floor': {'overwrite_4k': {'p50_us': 150, 'p99_us': 400}, 'append_8k': {'p50_us': 250}},
    'blocks': [{'workload': 'insert --no-journal --clients 64 at 100 ms', 'alone': CELL,
                'company': CELL}],
}
# As results were in November 2026 at first.
OLD_RESULT = {
    'runs': 3, 'seconds': 1, 'host': RESULT['host'], 'floor': RESULT['floor'],
    'options': {'base': ['--a', '2'], 'option': ['--a', '1']},
    'cells': [{'clients': clients, 'base': CELL['without'], 'option': CELL['with'],
               'base_traced': CELL['without_traced'], 'option_traced': CELL['with_traced']}
              for clients in (1, 8, 64)],
}

PATCH = '''From: Jane Doe <jane@doe.net>
Date: Thu, 1 Jan 2026 12:00:00 +0000
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


MEASURED = '2026-02-02T08:09:10+00:00'


def measured_again(patch):
    return (patch.replace('old.json', 'new.json').replace('2026-01-01', '2026-02-02')
            .replace('Thu, 1 Jan 2026 12:00:00', 'Mon, 2 Feb 2026 08:09:10'))


class Table(unittest.TestCase):
    def test_figures_of_traced_runs_are_per_insert(self):
        self.assertRegex(ab_table.table(RESULT), r'journal bytes/insert +1024 +512 -50%')

    def test_a_change_is_the_middle_of_the_pairs(self):
        # 130 after 100, 140 after 110, 99 after 90.
        self.assertRegex(ab_table.table(RESULT), r'inserts/s +100 +130 \+27%\* \(\+10\.\.\+30\)')


def beside(row, before, after):
    """The run with what is measured beside it."""
    return dict(row, server_kernel_us=20, client_cpu_us=30, client_kernel_us=12,
                floor_before=before, floor_after=after)


class Method(unittest.TestCase):
    CELL = dict(CELL, without=[beside(row, 200, 220) for row in CELL['without']],
                **{'with': [beside(row, 100, 160) for row in CELL['with']]})
    LONE = {'workload': 'insert --clients 1', 'alone': CELL, 'company': CELL,
            'servers': {'ported': CELL}}
    RESULT = dict(RESULT, blocks=[LONE], floors=[200, 100, 300], idle=[
        {'seconds': 1, 'busy': 0.9, 'writes_per_second': 0, 'bytes_per_second': 0}], steal=0,
                  floors_moved=0, device='vdx', load=1.0,
                  servers=[{'name': 'ported', 'version': '2.6.12', 'program': '/x/mongod',
                            'options': ['--smallfiles']}])

    def test_a_header_quotes_none_of_it(self):
        alone = dict(self.RESULT, servers=[], blocks=[dict(self.LONE, servers={})])
        self.assertEqual(ab_table.table(self.RESULT), ab_table.table(alone))

    def test_what_is_interrupted_keeps_whole_pairs(self):
        begun = dict(self.CELL, without=self.CELL['without'][:1], **{'with': []})
        part = dict(self.CELL, without=self.CELL['without'][:2], **{'with': self.CELL['with'][:1]})
        result = dict(self.RESULT, stopped='interrupted', blocks=[
            {'workload': 'insert --clients 1', 'alone': part, 'company': begun, 'servers': {}},
            {'workload': 'insert --clients 8', 'alone': dict(begun), 'servers': {}}])
        ab.prune(result)
        self.assertEqual(len(result['blocks']), 1)
        self.assertNotIn('company', result['blocks'][0])
        self.assertEqual((len(part['without']), len(part['with']), result['runs']), (1, 1, 1))
        self.assertIn('ended before its end: interrupted', ab_table.whole_table(result))


class SignTest(unittest.TestCase):
    def test_six_that_agree_are_the_fewest_that_are_marked(self):
        self.assertEqual(ab_table.chance(6, 0), 2 / 64)
        self.assertTrue(ab_table.is_clear(6 * [1.0]))
        self.assertFalse(ab_table.is_clear(5 * [1.0]))
        self.assertFalse(ab_table.is_clear(5 * [1.0] + [-0.1]))
        self.assertFalse(ab_table.is_clear(5 * [1.0] + [0.0]), 'no change is not for it')

    def test_where_nothing_moves_few_are_marked(self):
        chance = random.Random(1)

        def marked(pairs, runs=20000):
            # What both sides measure has the same noise, now and then with a disturbance.
            def figure():
                return chance.lognormvariate(0, 0.05) * (3 if chance.random() < 0.05 else 1)
            return sum(ab_table.is_clear([figure() - figure() for _ in range(pairs)])
                       for _ in range(runs)) / runs
        for pairs in (6, 7, 9, 12):
            self.assertLess(marked(pairs), ab_table.P_MAX, pairs)
        self.assertAlmostEqual(marked(6), 2 / 64, delta=0.006)
        self.assertEqual(marked(3, 100), 0, 'one in four was marked once')

    def test_what_moves_by_more_than_the_noise_is_found(self):
        chance = random.Random(2)
        found = sum(ab_table.is_clear([1.1 * chance.lognormvariate(0, 0.02)
                                       - chance.lognormvariate(0, 0.02) for _ in range(6)])
                    for _ in range(1000))
        self.assertGreater(found, 980)


class Header(unittest.TestCase):
    def test_the_new_table_replaces_the_old_one_and_nothing_else(self):
        old = ab_table.table(OLD_RESULT)
        new = ab_table.with_table(PATCH % old, old, ab_table.table(RESULT), 'perf/results/new.json',
                                  MEASURED)
        self.assertEqual(new, measured_again(PATCH) % ab_table.table(RESULT))

    def test_a_header_without_a_table_is_refused(self):
        with self.assertRaises(ValueError):
            ab_table.with_table(PATCH % 'No table.', ab_table.table(OLD_RESULT),
                                ab_table.table(RESULT), 'x', MEASURED)


class Sides(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def company(self, slug, interval=None):
        without, with_it = ab.in_company(slug, interval, self.folder.name)
        with open(without[1], encoding='utf-8') as file:
            return file.read(), without[2:], with_it[2:]

    def test_alone_both_have_the_short_interval(self):
        self.assertEqual(ab.alone('journal-pad-bytes', None),
                         [measuring.SHORT, measuring.SHORT + ['--journalPadBytes', '4096']])

    def test_in_company_only_the_option_is_taken_out(self):
        with open(measuring.PROFILE[1], encoding='utf-8') as file:
            whole = file.read()
        text, without, with_it = self.company('journal-pad-bytes')
        self.assertEqual(without, [])
        self.assertEqual(with_it, ['--journalPadBytes', '4096'])
        self.assertEqual(text, whole.replace('    padBytes: 4096\n', ''))
        self.assertNotEqual(text, whole)

    def test_every_patch_says_what_to_measure_it_with(self):
        for slug in measuring.measurable():
            for words, _ in ab.workloads_of(slug):
                self.assertEqual(words[0], 'insert', slug)
                self.assertGreater(int(words[words.index('--clients') + 1]), 0, slug)


def appends(requests, flushes, kilobytes):
    return {'appends': 100, 'device_writes': requests, 'flushes': flushes, 'kilobytes': kilobytes,
            'p50_us': 500}


class WriteThrough(unittest.TestCase):
    RESULT = {
        'appends': 100, 'device': 'a loop device of its own',
        'host': {'file_system': 'ext4', 'kernel': '6.1'},
        'runs': [{mode: appends(100 * n, 100, 800) for mode, _ in write_through_table.MODES}
                 for n in (2, 3, 2)]}

    def test_the_new_table_replaces_the_old_one_and_nothing_else(self):
        table = write_through_table.table(self.RESULT)
        patch = 'Why.\n\n%s\n\nWhat it shows.\n\nResult: old\nLast-update: 2026-01-01\n'
        other = table.replace('2.0 (', '7.0 (')
        self.assertEqual(
            write_through_table.with_table(patch % other, table, 'new', MEASURED),
            (patch % table).replace('old', 'new').replace('2026-01-01', '2026-02-02'))
