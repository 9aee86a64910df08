"""Tests ./lab report (perf/overview.py, perf/findings.py): which results it takes, what it makes of
them in words, and that page and text have every table."""

import collections
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import findings
import overview
import test_ladder

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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

    def test_a_disk_that_was_slower_beside_the_cell_explains_no_time(self):
        # Measured once on a machine that was not quiet: 1415 us, of which the disk took 4825.
        slow = peers(ours=(1e6 / 1415, 50.0))
        for run in slow['peers']['mongod-dur, durable.yaml']['runs']['1']:
            run.update(floor_before=1e6 / 4825, floor_after=1e6 / 4825)
        self.assertEqual(findings.of_peers(slow).times, [
            '1 client: an insert took 1415 us, less than the 4825 of a write by the disk alone '
            'beside it: the disk was slower then, and on what the time went is not known'])

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


class Kept(unittest.TestCase):
    """The results that the repository keeps."""

    @classmethod
    def setUpClass(cls):
        cls.paths = [path for path in overview.result_files()
                     if path.startswith(os.path.join(TOP, 'perf'))]
        with mock.patch.object(overview, 'result_files', lambda: cls.paths), \
                contextlib.redirect_stderr(io.StringIO()) as cls.said:
            cls.every = overview.newest()
        cls.text, cls.page = overview.as_text(cls.every), overview.as_page(cls.every)

    def test_every_one_is_taken(self):
        self.assertEqual(self.said.getvalue(), '')
        self.assertGreater(len(self.paths), 10)
        for each in overview.named(self.paths):
            self.assertTrue(each.table and each.key, each.path)

    def test_there_is_one_of_each_kind_and_none_by_an_old_name(self):
        keys = [each.key for each in self.every]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertLessEqual({'run', 'peers', 'iibench --rows 1000000 --clients 64',
                              'journal-waiter-commits', 'journal-no-write-through'}, set(keys))
        with_lines = [(each.key, str([line['name'] for line in each.result.get('lines', ())]))
                      for each in overview.named(self.paths)]
        self.assertEqual([each for each, times in collections.Counter(with_lines).items()
                          if times > 1], [], 'only the newest result of a kind is kept')
        slugs = {each.slug for each in self.every if each.slug}
        self.assertEqual(slugs - set(overview.staging.series(TOP)), set())

    def test_date_commit_and_machine_are_on_top_and_so_are_the_contents(self):
        made = (r'Made \d{4}-\d\d-\d\d \d\d:\d\d UTC at commit ([0-9a-f]{12}|not known)'
                r'( with changes)?; here: .*\d cores, Linux \S+')
        for text in (self.text, self.page):
            self.assertLess(re.search(made, text).start(), text.index('What was found'))
        read = test_ladder.Page(self.page)
        for each in self.every:
            line = r'(?m)^  %s  .*%s.*%s' % (re.escape(each.title()), re.escape(each.when()),
                                           re.escape(each.commit()))
            self.assertRegex(self.text[:self.text.index('\n\nWhat was found')], line)
            self.assertEqual(len(each.commit()), 12)
            self.assertRegex(each.when(), r'^\d{4}-\d\d-\d\d')
        ids = read.values('id')
        for link in read.values('href'):
            self.assertIn(link.removeprefix('#'), ids)
        self.assertEqual(len([link for link in read.values('href') if '#result-' in link]),
                         len(self.every))

    def test_the_articles_are_there_claim_by_claim(self):
        read = test_ladder.Page(self.page)
        cells = read.texts['td']
        for row in overview.claims.rows([]):
            self.assertIn(row.claim.what, cells)
            self.assertIn('\n%s  ' % row.claim.what, self.text)
        verdicts = read.texts['span']
        for verdict in ('reproduced', 'cannot be here: wants Windows and its NTFS'):
            self.assertIn(verdict, verdicts)
        for request in overview.claims.all_requests():
            self.assertIn(request.slug, cells)
            self.assertIn('  - %s (%s' % (request.what, request.slug), self.text)

    def test_every_table_is_in_the_text_and_on_the_page(self):
        read = test_ladder.Page(self.page)
        self.assertEqual(read.problems, [])
        shown = ''.join(read.texts['pre'])
        for each in self.every:
            self.assertIn(each.table, self.text)
            self.assertIn(each.table, shown)

    def test_what_was_found_comes_first(self):
        for text in (self.text, self.page):
            places = [text.index(word) for word in (
                'What was found', 'Where we lose', 'On what the time goes',
                'The articles, claim by claim', 'durable 4 KB overwrites')]
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
            with mock.patch.object(overview, 'result_files', lambda: [
                    os.path.join(folder, name) for name in sorted(os.listdir(folder))]), \
                    contextlib.redirect_stderr(io.StringIO()) as said:
                every = overview.newest()
        self.assertEqual([each.key for each in every], ['peers'])
        self.assertRegex(said.getvalue(), 'left out, .*cut.json cannot be read')
        self.assertRegex(said.getvalue(), 'left out, .*old.json cannot be read: it was made by')
