"""Tests ./lab report (perf/overview.py, perf/findings.py): which results it takes, what it makes of
them in words, and that the page has every table."""

import collections
import contextlib
import html.parser
import io
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import kept_results
import overview

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
                with open(paths[-1], 'w', encoding='utf-8') as file:
                    file.write(content)
            stem = os.path.join(folder, 'out', 'report')
            with mock.patch.object(sys, 'argv', ['overview.py', *paths, '--output', stem]), \
                    contextlib.redirect_stdout(io.StringIO()):
                try:
                    overview.main()
                except SystemExit as end:
                    return str(end), None
            with open(stem + '.html', encoding='utf-8') as file:
                return None, file.read()

    def test_what_is_no_result_gets_a_sentence(self):
        for content, words in (('{}', 'is no result of ./lab run or ./lab bench'),
                               ('[1]', 'is no result'), ('{', 'cannot be read'),
                               ('{"rows": [], "what": 1}', 'cannot be read: it was made by other '
                                                           'scripts than these; measure again')):
            self.assertRegex(self.run_with(content)[0], words)
