"""What is made of results that are kept: ./lab report (perf/overview.py, perf/findings.py), ./lab
pr, and what README.md quotes."""

import collections
import contextlib
import html.parser
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import kept_results
import ladder
import ladder_picture
import measure_all
import overview
import pr
import run
import staging
from lab import measuring as lab_measuring

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Page(html.parser.HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    VOID = {'meta', 'br'}

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.attributes = [], [], []
        self.texts = collections.defaultdict(list)  # element -> its texts
        self.feed(text)
        self.close()
        self.problems += ['<%s> is never closed' % tag for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)
            self.texts[tag].append('')

    def handle_startendtag(self, tag, attributes):
        self.attributes += attributes

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append('</%s> in %s' % (tag, self.open))
        else:
            self.open.pop()

    def handle_data(self, text):
        for tag in set(self.open):
            self.texts[tag][-1] += text

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


class Kept(unittest.TestCase):
    """The results that the repository keeps."""

    @classmethod
    def setUpClass(cls):
        cls.paths = kept_results.of_repository()
        with mock.patch.object(kept_results, 'every', lambda: cls.paths), \
                contextlib.redirect_stderr(io.StringIO()) as cls.said:
            cls.every = overview.newest()
        cls.page = overview.as_page(cls.every)
        cls.read = Page(cls.page)

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

    def test_date_and_machine_are_on_top_and_each_result_has_a_link(self):
        made = (r'Made \d{4}-\d\d-\d\d \d\d:\d\d UTC at commit ([0-9a-f]{12}|not known)'
                r'( with changes)?; here: .*\d cores, Linux \S+')
        self.assertLess(re.search(made, self.page).start(), self.page.index('class="verdict"'))
        read, cells = self.read, self.read.texts['td']
        for each in self.every:
            for text in (each.title(), each.when(), each.commit()):
                self.assertIn(text, cells)
            self.assertEqual(len(each.commit()), 12)
            self.assertRegex(each.when(), r'^\d{4}-\d\d-\d\d')
        ids = read.values('id')
        for link in read.values('href'):
            self.assertIn(link.removeprefix('#'), ids)
        self.assertEqual(len([link for link in read.values('href') if '#result-' in link]),
                         len(self.every))

    def test_the_articles_are_there_claim_by_claim(self):
        cells = self.read.texts['td']
        for row in overview.claims.rows([]):
            self.assertIn(row.claim.what, cells)
        verdicts = self.read.texts['span']
        self.assertLessEqual({'reproduced', 'not reproduced', 'cannot be here'}, set(verdicts))
        self.assertIn('wants Windows and its NTFS', cells)
        for request in overview.claims.all_requests():
            self.assertIn(request.slug, cells)

    def test_every_table_is_on_the_page(self):
        self.assertEqual(self.read.problems, [])
        for each in self.every:
            self.assertIn(each.table, self.read.texts['pre'])

    def test_verdict_picture_and_claims_are_open_and_the_rest_is_folded(self):
        self.assertEqual(len(re.findall('<li>', self.page[:self.page.index('</ol>')])), 3)
        places = [self.page.index(word) for word in (
            '<ol class="verdict">', '<svg', 'The articles, claim by claim', '<details')]
        self.assertEqual(places, sorted(places))
        self.assertNotIn('<h2', self.page[places[-1]:])
        self.assertEqual(self.read.texts['summary'][:3], list(overview.HEADINGS))
        self.assertEqual(len(self.read.texts['details']), 4 + len(self.every))

    def test_the_verdict_has_the_figures_of_its_results(self):
        first, peers, articles = self.read.texts['li'][:3]
        rows = next(each for each in self.every if each.key == 'run').result['rows']
        for row in rows[:3] + rows[-3:]:
            self.assertIn(format(row['per_second'], ',.0f'), first)
        self.assertRegex(peers, r'ahead in \d+ of \d+')
        self.assertIn(' %d are reproduced' % self.read.texts['span'].count('reproduced'), articles)

    def test_it_is_small_and_needs_nothing_beside_itself(self):
        self.assertLess(len(self.page), 300000)
        self.assertEqual([link for link in self.read.values('href') + self.read.values('src')
                          if not link.startswith('#')], [])


class Named(unittest.TestCase):
    def run_with(self, *contents):
        """(what it says or None, the text it wrote) for files with these contents."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, content in enumerate(contents):
                paths.append(os.path.join(folder, '%d.json' % number))
                pathlib.Path(paths[-1]).write_text(content, 'utf-8')
            stem = os.path.join(folder, 'out', 'report')
            with mock.patch.object(sys, 'argv', ['overview.py', *paths, '--output', stem]), \
                    contextlib.redirect_stdout(io.StringIO()):
                try:
                    overview.main()
                except SystemExit as end:
                    return str(end), None
            return None, pathlib.Path(stem + '.html').read_text('utf-8')

    def test_what_is_no_result_gets_a_sentence(self):
        for content, words in (('{}', 'is no result of ./lab run or ./lab bench'),
                               ('[1]', 'is no result'), ('{', 'cannot be read'),
                               ('{"rows": [], "what": 1}', 'cannot be read: it was made by other '
                                                           'scripts than these; measure again')):
            self.assertRegex(self.run_with(content)[0], words)


HEADINGS = ['FOR WHICH SERVERS', 'PROBLEM', 'CHANGE', 'WHERE IT BELONGS UPSTREAM', 'EVIDENCE',
            'RISK', 'TO REPRODUCE, in a checkout on Debian 12']
SLUGS = staging.series(TOP)


def header_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        return staging.header_of(file.read())


class Ticket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.patches = [(slug, pr.text_of(slug), header_of(slug)) for slug in SLUGS]

    def test_has_every_heading_in_order_with_something_under_it(self):
        for _, text, _ in self.patches:
            self.assertEqual(re.findall(r'^[A-Z]{2}[A-Z ]+(?:,.*)?$', text, re.M), HEADINGS)
            for part in re.split('|'.join(map(re.escape, HEADINGS)), text):
                self.assertGreater(len(part.strip()), 20)

    def test_what_a_server_has_already_is_not_offered_to_it(self):
        text = ' '.join(pr.text_of('journal-no-write-through').split())
        self.assertIn('only into trees before that: SERVER-9754 has dropped the flag', text)
        self.assertNotIn('trees of 2.4, 2.6 and 3.4', text)

    def test_figures_and_prose_are_those_of_the_header(self):
        for slug, text, header in self.patches:
            body = header[header.index('\n\n'):header.rindex('\nOption: ')]
            lines = [line for line in body.splitlines() if line]
            if '\nResult: none\n' in header:
                self.assertIn('Not measured in pairs yet: ', text)
                self.assertIn('independent reimplementation', text)
                self.assertIn('./lab bench %s' % slug, text)
                continue
            cells = [line for line in lines if line.startswith('      inserts/s')]
            model = [line for line in lines if line.startswith('    written blocks')]
            self.assertEqual((len(cells) > 0, len(model)),
                             (False, 2) if 'perf/write_through.py' in header else (True, 0))
            place = 0
            for line in lines:
                self.assertIn(line, text[place:])
                place = text.index(line, place) + len(line)
            evidence = text[text.index('EVIDENCE'):text.index('RISK')]
            self.assertIn('independent reimplementation', evidence)
            self.assertRegex(evidence, r'(?s)Measured\swith.*sources\sof\scommit')
            self.assertIn(re.search(r'^Result: (.*)$', header, re.M)[1], evidence)
            self.assertTrue(os.path.exists(os.path.join(
                TOP, re.search(r'all figures: (\S+)\.$', evidence, re.M)[1])), slug)

    def test_the_command_prints_it_and_refuses_others(self):
        def lab(*words):
            return subprocess.run([os.path.join(TOP, 'lab'), 'pr', *words], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(lab(SLUGS[2]).stdout, pr.text_of(SLUGS[2]))
        for words in ((), ('nothing',), SLUGS[:2]):
            refused = lab(*words)
            self.assertNotEqual(refused.returncode, 0)
            for slug in SLUGS:
                self.assertIn(slug, refused.stdout)


def read(name):
    return pathlib.Path(os.path.join(TOP, name)).read_text('utf-8')


class Transcripts(unittest.TestCase):
    PAGE = read('README.md')

    def test_a_run_takes_as_long_as_its_help_says(self):
        defaults = run.make_parser().parse_args([])
        contest = ladder.Ladder([(*rung, None) for rung in run.LADDER], defaults)
        minutes = (contest.estimate_seconds() + 16 * run.FLUSH_SECONDS) / 60
        said = int(re.search(r'Later: about (\d+) minutes', lab_measuring.run_parser([]).epilog)[1])
        self.assertLess(said * 0.7, minutes)
        self.assertLess(minutes, said * 1.2)
        self.assertIn('about %s minutes' % {4: 'four', 5: 'five', 6: 'six'}[said], run.__doc__)

    def test_of_an_installation_has_as_many_packages_as_are_listed(self):
        listed = [line.split()[0] for name in ('setup/apt-build.txt', 'setup/apt-measure.txt')
                  for line in read(name).splitlines() if line and not line.startswith('#')]
        self.assertIn('lab: installing %d Debian packages: %s '
                      % (len(listed) + 1, ' '.join(listed[:7])), self.PAGE)  # with python3-venv
        python = read('setup/python.txt').split()
        self.assertIn('into build/venv, 44 MB to fetch: %s\n' % ' '.join(python), self.PAGE)

    def test_a_kept_result_has_its_day_beside_it(self):
        names = re.findall(r'perf/results/(\d{4})(\d\d)(\d\d)/\S+\.json', self.PAGE)
        self.assertGreater(len(names), 1)
        months = {'11': 'November', '12': 'December'}
        for year, month, day in names:
            self.assertRegex(self.PAGE, r'%d\s%s\s%s' % (int(day), months.get(month, '?'), year))


class Ladder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = kept_results.newest('ladder')
        cls.page = pathlib.Path(os.path.join(TOP, 'README.md')).read_text('utf-8')

    def test_says_and_prints_what_is_in_the_kept_result(self):
        place = os.path.relpath(kept_results.of_repository('ladder')[-1], TOP)
        self.assertEqual(ladder_picture.page(self.page, self.result, place), self.page,
                         'run ./lab report --picture')
        self.assertGreater(self.page.count('\n    conf/durable.yaml  '), 2)

    def test_the_picture_is_drawn_from_the_kept_result(self):
        for theme in ladder_picture.THEMES:
            name = 'docs/pictures/ladder-%s.svg' % theme
            self.assertIn('"%s"' % name, self.page)
            with open(os.path.join(TOP, name), encoding='utf-8') as file:
                self.assertEqual(file.read(), ladder_picture.draw(self.result, theme),
                                 'run ./lab report --picture')

    def test_the_picture_is_on_the_first_screen(self):
        self.assertLess(self.page.split('<picture>')[0].count('\n'), 20)


class MeasureAll(unittest.TestCase):
    QUIET = {'idle': [{'seconds': 1, 'busy': 0}], 'steal': 0, 'floors_moved': 0, 'floors': [1],
             'load': 0, 'device': 'vda'}

    def measured(self, result, exit_code=0):
        """(why nothing is kept, what is) of a command that gives that result."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'one.json').write_text(json.dumps(result), 'utf-8')
            lab = pathlib.Path(folder, 'lab')
            lab.write_text('#!/bin/sh\necho "The figures are in one.json, and more"\nexit %d\n'
                           % exit_code, 'utf-8')
            lab.chmod(0o755)
            with mock.patch.multiple(measure_all, TOP=folder, keep=mock.DEFAULT) as patched:
                patched['keep'].return_value = 'there'
                return measure_all.measure('one', ['run']), patched['keep'].mock_calls

    def test_keeps_what_a_quiet_machine_gave_and_nothing_else(self):
        why, kept = self.measured(self.QUIET)
        self.assertEqual((why, len(kept)), (None, 1))
        for result, exit_code, words in (
                (dict(self.QUIET, steal=0.5), 0, 'NOT quiet enough'),
                ({'host': {}}, 0, 'does not say'), (self.QUIET, 130, 'ended with 130')):
            with self.subTest(words):
                why, kept = self.measured(result, exit_code)
                self.assertIn(words, why)
                self.assertEqual(kept, [])

    def test_no_piece_takes_longer_than_forty_minutes(self):
        every = measure_all.pieces()
        self.assertGreater(len(every), 20)
        self.assertEqual([name for name, minutes, _ in every if minutes > 40], [])
