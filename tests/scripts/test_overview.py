"""Tests ./lab report (perf/overview.py, perf/findings.py): which results it takes, what it makes of
them in words, and that page and text have every table."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/scripts')]

import findings  # noqa: E402
import overview  # noqa: E402
import test_report  # noqa: E402


def runs(rate, cpu_us, floor=8000.0):
    return [{'per_second': rate * times, 'cpu_us': cpu_us, 'floor_before': floor,
             'floor_after': floor} for times in (0.9, 1.0, 1.1)]


def peers(ours=(6000.0, 50.0), theirs=(5000.0, 60.0)):
    """A result of ./lab bench peers with one client."""
    def peer(rate, cpu_us, in_process=False):
        return {'settings': 'durable', 'syncs': 1.0, 'in_process': in_process,
                'runs': {'1': runs(rate, cpu_us)}}
    return {'host': {}, 'peers': {'mongod-dur, durable.yaml': peer(*ours), 'Other': peer(*theirs),
                                  'Slow': peer(1000.0, 90.0),
                                  'Library, in process': peer(9000.0, 1.0, True)},
            'floors': [8000.0], 'idle': [{'seconds': 1, 'busy': 0.0}], 'load': 0.1,
            'device': 'vdx', 'steal': 0.0, 'floors_moved': 0.0}


class Findings(unittest.TestCase):
    def test_the_quickest_other_server_counts(self):
        found = findings.of_peers(peers())
        self.assertEqual(found.found, [
            '1 client: 6,000 durable inserts a second, the quickest other 5,000 (Other): '
            '1.20 times',
            '1 client, inserts in a second of the processor: 20,000, the best other 16,667 '
            '(Other): 1.20 times'])
        self.assertEqual(found.lost, [])
        self.assertRegex(found.times[0], 'of the 167 us of an insert the disk alone takes 125; '
                                         'the other 42 .* processor time is 50 us')

    def test_who_is_ahead_of_us_is_a_loss(self):
        found = findings.of_peers(peers(theirs=(7500.0, 40.0)))
        self.assertEqual(found.found, [])
        self.assertEqual([re.sub('.*: ', '', text) for text in found.lost],
                         ['0.80 times', '0.80 times'])

    def test_a_patch_that_makes_every_pair_slower_is_a_loss(self):
        def half(*rates):
            return {'without': [{'per_second': 100.0}] * len(rates),
                    'with': [{'per_second': rate} for rate in rates]}
        found = findings.of_patch({'slug': 'some-patch', 'blocks': [
            {'workload': 'insert', 'alone': half(*[120.0, 130.0] * 3),
             'company': half(*[90.0, 95.0] * 3)},
            {'workload': 'other', 'alone': half(99.0, 101.0)}]})
        self.assertEqual(found.lost, ['insert, with the whole series: -8%* (-10..-5) inserts a '
                                      'second'])
        self.assertEqual(len(found.found), 2)

    def test_a_graph_is_compared_by_request(self):
        def contender(rate, milliseconds):
            kinds = {kind: {'count': 0} for kind in findings.linkbench.KINDS}
            kinds['get_node'] = {'count': 5, 'mean_us': 1e3 * milliseconds, 'p95_us': 1.0,
                                 'p99_us': 1.0, 'max_us': 1.0, 'rows': 5}
            return {'runs': [{'per_second': rate, 'kinds': kinds, 'server_cpu_us': 3.0,
                              'client_cpu_us': 2.0}]}
        found = findings.of_linkbench({'contenders': {
            'mongod-dur, durable.yaml': contender(900.0, 0.2), 'PostgreSQL': contender(800.0, 0.1),
            'base, 2 ms': contender(9000.0, 0.01)}})
        self.assertEqual(found.found, ['900 requests a second, the quickest other 800 '
                                       '(PostgreSQL): 1.12 times'])
        self.assertEqual(found.lost, ['get_node takes 0.200 ms on average, 0.100 on PostgreSQL: '
                                      '0.50 times'])


class Kept(unittest.TestCase):
    """The results that the repository keeps."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as nothing, \
                mock.patch.object(overview.glob, 'glob', cls.only_kept(nothing)):
            cls.every = overview.newest()
        cls.text, cls.page = overview.as_text(cls.every), overview.as_page(cls.every)

    @staticmethod
    def only_kept(nothing):
        real = overview.glob.glob

        def find(pattern, **options):
            return real(pattern.replace(os.path.join(TOP, 'build'), nothing), **options)
        return find

    def test_there_is_one_of_each_kind(self):
        keys = [each.key for each in self.every]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertLessEqual({'run', 'peers', 'iibench', 'journal-waiter-commits'}, set(keys))

    def test_every_table_is_in_the_text_and_on_the_page(self):
        read = test_report.Page(self.page)
        self.assertEqual(read.problems, [])
        shown = ''.join(read.texts['pre'])
        for each in self.every:
            self.assertIn(each.table, self.text)
            self.assertIn(each.table, shown)

    def test_what_was_found_comes_first(self):
        for text in (self.text, self.page):
            places = [text.index(word) for word in (
                'What was found', 'Where we lose', 'On what the time goes',
                'durable 4 KB overwrites')]
            self.assertEqual(places, sorted(places))

    def test_plots_share_no_names_of_parts(self):
        ids = re.findall(r'\bid="([^"]*)"', self.page)
        self.assertGreater(len(ids), 0)
        self.assertEqual(len(ids), len(set(ids)))


class Named(unittest.TestCase):
    def run_with(self, *contents):
        """(what it says or None, the text it wrote) for files with these contents."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, content in enumerate(contents):
                paths.append(os.path.join(folder, '%d.json' % number))
                with open(paths[-1], 'w', encoding='utf-8') as file:
                    file.write(content)
            stem = os.path.join(folder, 'out', 'report')
            with mock.patch.object(sys, 'argv', ['overview.py', *paths, '--output', stem]), \
                    contextlib.redirect_stdout(io.StringIO()):
                try:
                    overview.main()
                except SystemExit as end:
                    return str(end), None
            with open(stem + '.txt', encoding='utf-8') as file:
                return None, file.read()

    def test_only_those_that_are_named(self):
        said, text = self.run_with(json.dumps(peers()))
        self.assertIsNone(said)
        self.assertEqual(text.count('===='), len('Beside other engines (./lab bench peers)') // 4)

    def test_what_makes_figures_doubtful_is_said_before_them(self):
        slow = dict(peers(), device_delay_ms=8, steal=0.2)
        self.assertIn('peers): every flush made 8 ms slower; the machine was not quiet enough for '
                      'conclusions\n  - ', self.run_with(json.dumps(slow))[1])
        self.assertNotIn('conclusions\n', self.run_with(json.dumps(peers()))[1])

    def test_what_is_no_result_gets_a_sentence(self):
        for content, words in (('{}', 'is no result of ./lab run or ./lab bench'),
                               ('[1]', 'is no result'), ('{', 'cannot be read'),
                               ('{"rows": [], "what": 1}', 'cannot be read: it was made by other '
                                                           'scripts than these; measure again')):
            self.assertRegex(self.run_with(content)[0], words)

    def test_of_ones_own_what_cannot_be_read_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (('cut.json', '{'), ('old.json', '{"rows": [], "what": 1}'),
                                  ('peers.json', json.dumps(peers()))):
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                    file.write(content)
            with mock.patch.object(overview.glob, 'glob', lambda pattern, **_: (
                    [] if '**' in pattern else
                    [os.path.join(folder, name) for name in sorted(os.listdir(folder))])), \
                    contextlib.redirect_stderr(io.StringIO()) as said:
                every = overview.newest()
        self.assertEqual([each.key for each in every], ['peers'])
        self.assertRegex(said.getvalue(), 'left out, .*cut.json cannot be read')
        self.assertRegex(said.getvalue(), 'left out, .*old.json cannot be read: it was made by')


if __name__ == '__main__':
    unittest.main()
