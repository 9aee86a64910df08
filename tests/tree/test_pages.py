"""Keeps the pages of docs/ short and their sentences direct; docs/spec/ is not counted. NOTICE
names every library that is linked, and docs/dependencies.md says why it is used. The version of the
sources stands in one place; all others read it there.

Usage: python3 tests/tree/test_pages.py --figures       prints a line for each page"""

import ast
import glob
import os
import re
import sys
import unittest

import program_version
import staging
import tarball
from test_style import TOP, read, tracked_files

PAGES_MOST = 16
WORDS_MOST = 30000
CELL_MOST = 300
INDIRECT_MOST_PERCENT = 6
# A sentence that begins so mostly hides its subject.
INDIRECT = ('What', 'Of', 'That', 'Where', 'As', 'By', 'Those', 'All', 'So')
BLOCK = re.compile(r'\s*(?:[-*]|\d+\.)\s+')
SHORTEST_SENTENCE = 3


def pages():
    """{name: text} of every page, in the order of their names."""
    return {os.path.basename(path): read(path)
            for path in sorted(glob.glob(os.path.join(TOP, 'docs', '*.md')))}


def words(text):
    return len(text.split())


def prose_and_rows(text):
    """(blocks of prose, rows of tables): without code, headings and comments."""
    text = re.sub(r'^```.*?^```$|<!--.*?-->', '', text, flags=re.S | re.M)
    blocks, rows, open_block = [], [], False
    for line in text.split('\n'):
        if line.startswith('|'):
            rows.append(line)
            open_block = False
        elif not line.strip() or line.startswith('#') or \
                (line.startswith('    ') and not open_block):
            open_block = False
        elif BLOCK.match(line) or not open_block:
            blocks.append(BLOCK.sub('', line, count=1).strip())
            open_block = True
        else:
            blocks[-1] += ' ' + line.strip()
    return blocks, rows


def cells(rows):
    """The cells of tables; those that draw the line below a head are none."""
    for row in rows:
        for cell in re.split(r'(?<!\\)\|', row.strip().strip('|')):
            if not re.fullmatch(r'\s*:?-+:?\s*', cell):
                yield cell.strip()


def sentences(text):
    """The sentences of paragraphs, lists and cells, each with its first letter as it stands."""
    blocks, rows = prose_and_rows(text)
    for block in blocks + list(cells(rows)):
        for sentence in re.split(r'(?<=[.!?:;])["*)]*\s+(?=["*(`\[]*[A-Z`])', block):
            if words(sentence) >= SHORTEST_SENTENCE:
                yield sentence


def is_indirect(sentence):
    first = re.match(r'\W*(\w+)', sentence)
    return first is not None and first[1].capitalize() in INDIRECT


def figures(text):
    """(words, characters of the longest cell, sentences, indirect sentences)."""
    found = list(sentences(text))
    return (words(text), max(map(len, cells(prose_and_rows(text)[1])), default=0), len(found),
            sum(map(is_indirect, found)))


class Pages(unittest.TestCase):
    def test_sums(self):
        counted = [figures(text) for text in pages().values()]
        self.assertGreater(len(counted), 5)
        self.assertLessEqual(len(counted), PAGES_MOST)
        self.assertLessEqual(sum(each[0] for each in counted), WORDS_MOST)
        self.assertLessEqual(100 * sum(each[3] for each in counted),
                             INDIRECT_MOST_PERCENT * sum(each[2] for each in counted))

    def test_cells(self):
        for name, text in pages().items():
            long = [cell for cell in cells(prose_and_rows(text)[1]) if len(cell) > CELL_MOST]
            self.assertEqual(long, [], name)

    def test_samples(self):
        text = ('# What it is\n\nIt is short. What is long\ngoes. `a` is b.\n\n'
                '    Of code nothing counts here.\n\n```\nAs here it does.\n```\n'
                '- So a list\n  goes on. It ends.\n1. All is said.\n\n'
                '| a | as it was before |\n|---|---|\n| x \\| y | The rest is here |\n')
        self.assertEqual(list(sentences(text)),
                         ['It is short.', 'What is long goes.', '`a` is b.', 'So a list goes on.',
                          'All is said.', 'as it was before', 'x \\| y', 'The rest is here'])
        self.assertEqual(figures(text)[1:], (16, 8, 4))
        self.assertEqual(words('a b\n  c'), 3)


def main():
    total = [0, 0, 0, 0]
    for name, text in pages().items():
        found = figures(text)
        total = [total[0] + found[0], max(total[1], found[1]), total[2] + found[2],
                 total[3] + found[3]]
        print('%-18s %6d words, longest cell %5d, %4d of %4d sentences indirect'
              % (name, found[0], found[1], found[3], found[2]))
    print('%d pages, %d words, longest cell %d, %.1f %% of sentences indirect'
          % (len(pages()), total[0], total[1], 100 * total[3] / total[2]))


# What the linker calls it -> its name on both pages; None: part of the system's C library.
NAMES = {'boost_program_options': 'Boost', 'bson-1.0': 'libbson', 'crypto': 'OpenSSL',
         'ssl': 'OpenSSL', 'fmt': 'fmt', 'idn': 'Libidn', 'pcre2-8': 'PCRE2', 'snappy': 'snappy',
         'yaml-cpp': 'yaml-cpp', 'mongoc-1.0': 'libmongoc', 'mongoclient': 'libmongoclient',
         'boost_thread': 'Boost', 'boost_system': 'Boost', 'pq': 'libpq',
         'mariadb': 'MariaDB Connector/C', 'rocksdb': 'RocksDB', 'wiredtiger': 'WiredTiger',
         's2': 'S2', 'icui18n': 'ICU', 'icuuc': 'ICU',
         'bidgcc000': 'Intel Decimal Floating-Point Math Library',
         '../text-libs/lib/libsnowball2010.a': 'Snowball', 'm': None}


def linked():
    """{library: the SConscripts that link it}."""
    found = {}
    for name in tracked_files():
        if name.endswith('SConscript'):
            for list_ in re.findall(r'\blibs=(\[[^\]]*\])', read(name)):
                for library in ast.literal_eval(list_):
                    found.setdefault(library, []).append(name)
    return found


class Notice(unittest.TestCase):
    def test_names_what_is_linked(self):
        libraries = linked()
        self.assertGreater(len(libraries), 8)
        notice, reasons = read('NOTICE'), read('docs/dependencies.md')
        for library, scripts in libraries.items():
            self.assertIn(library, NAMES, '%s: give it a name here, and a licence in NOTICE'
                          % scripts)
            name = NAMES[library]
            if name:
                self.assertRegex(notice, r'(?m)^  %s(?: |$)' % re.escape(name))
                self.assertIn(name, reasons)

    def test_names_nothing_that_is_not_used(self):
        for name in re.findall(r'^  (\S(?:\S| (?! |\())*)', read('NOTICE'), re.M):
            if not name.startswith(('libstdc++', 'glibc')):
                self.assertIn(re.sub(r' [\d.]+$', '', name), read('docs/dependencies.md'))


# It is history there, which ./lab release --check compares.
HAS_IT_TOO = ('CHANGELOG.md',)
# Versions of others, recordings, results.
DATA = ('setup/', 'perf/results/', 'tests/fixtures/', 'tests/fuzz/kept/', 'tests/clients/')
DATA_SUFFIXES = ('.json', '.jsonl', '.mod', '.sum', '.xz', '.bin')


def spells(number, text):
    return re.search(r'(?<![\d.])%s(?!\d|\.\d)' % re.escape(number), text) is not None


class Version(unittest.TestCase):
    def test_stands_in_one_place(self):
        number = program_version.read(TOP)
        found = [name for name in tracked_files() if not name.startswith(DATA)
                 and not name.endswith(DATA_SUFFIXES)
                 and spells(number, read(name, errors='replace'))]
        self.assertEqual(sorted(found), sorted([program_version.FILE, *HAS_IT_TOO]))

    def test_what_spells_it_and_what_does_not(self):
        for text in ('7.0.7', 'v7.0.7', '"7.0.7";', 'mongod-dur_7.0.7+all_amd64.deb', 'is 7.0.7.'):
            self.assertTrue(spells('7.0.7', text), text)
        for text in ('17.0.7', '7.0.7.1', '127.0.0.7', '7.0.71', '7x0.7', '7.0'):
            self.assertFalse(spells('7.0.7', text), text)

    def test_packages_read_it(self):
        self.assertEqual(tarball.version(staging.select(TOP, 'none')),
                         program_version.read(TOP) + '+none')

    def test_the_changelog_ends_its_history_with_it(self):
        newest = re.search(r'^## \[(.+?)\] - ', read('CHANGELOG.md'), re.M)[1]
        self.assertEqual(newest, program_version.read(TOP))


if __name__ == '__main__' and sys.argv[1:] == ['--figures']:
    main()
