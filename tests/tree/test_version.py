"""The version of the sources stands in one place; all others read it there."""

import os
import re
import unittest

from test_style import TOP, tracked_files

import program_version
import staging
import tarball

# It is history there, which ./lab release --check compares.
HAS_IT_TOO = ('CHANGELOG.md',)
# Versions of others, recordings, results.
DATA = ('setup/', 'perf/results/', 'tests/fixtures/', 'tests/fuzz/kept/', 'tests/clients/')
DATA_SUFFIXES = ('.json', '.jsonl', '.mod', '.sum', '.xz', '.bin')


def read(name):
    with open(os.path.join(TOP, name), encoding='utf-8', errors='replace') as file:
        return file.read()


def spells(number, text):
    return re.search(r'(?<![\d.])%s(?!\d|\.\d)' % re.escape(number), text) is not None


class Version(unittest.TestCase):
    def test_stands_in_one_place(self):
        number = program_version.read(TOP)
        found = [name for name in tracked_files() if not name.startswith(DATA)
                 and not name.endswith(DATA_SUFFIXES) and spells(number, read(name))]
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
        newest = re.search(r'^## \[(.+?)\] - ', read('CHANGELOG.md'), re.MULTILINE)[1]
        self.assertEqual(newest, program_version.read(TOP))
