"""Tests ./lab report (perf/overview.py, perf/findings.py): which results it takes, what it makes of
them in words, and that page and text have every table."""

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
        read = Page(self.page)
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
        read = Page(self.page)
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
        read = Page(self.page)
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

    def test_what_is_no_result_gets_a_sentence(self):
        for content, words in (('{}', 'is no result of ./lab run or ./lab bench'),
                               ('[1]', 'is no result'), ('{', 'cannot be read'),
                               ('{"rows": [], "what": 1}', 'cannot be read: it was made by other '
                                                           'scripts than these; measure again')):
            self.assertRegex(self.run_with(content)[0], words)
