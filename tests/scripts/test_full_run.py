"""The record of the long parts: what is taken down, and what it must show."""

import os
import subprocess
import tempfile
import unittest

import full_run

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def long_parts():
    with open(os.path.join(TOP, 'tests', 'parts.txt'), encoding='utf-8') as file:
        rows = [[field.strip() for field in line.split('|')] for line in file if '|' in line]
    return [row[0] for row in rows if row[1] == 'long']


class ThisTree(unittest.TestCase):
    def test_the_long_parts_passed_lately(self):
        parts = long_parts()
        self.assertGreater(len(parts), 5)
        self.assertEqual(sorted(full_run.read(TOP)), sorted(parts))
        if not full_run.is_whole_history(TOP):
            self.skipTest('commits cannot be counted here')
        self.assertEqual(full_run.problems(TOP, parts), [], './lab test PART')


class Samples(unittest.TestCase):
    def setUp(self):
        self.top = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(self.top, 'tests'))
        self.git('init', '-q')
        self.commit('first')

    def git(self, *words):
        return subprocess.run(['git', '-C', self.top, '-c', 'user.name=x', '-c', 'user.email=x@x',
                               *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def commit(self, text):
        self.git('commit', '-q', '--allow-empty', '-m', text)

    def problems(self):
        return full_run.problems(self.top, ['fuzz', 'tidy'])

    def write(self, *lines):
        with open(os.path.join(self.top, full_run.NAME), 'w', encoding='utf-8') as file:
            print(full_run.HEAD, *lines, sep='\n', file=file)
        self.git('add', '-A')
        self.commit('the record')

    def passed(self, *parts):
        """Lines of parts that passed on the last commit."""
        commit = self.git('rev-parse', 'HEAD').strip()
        return ['%s %s 2026-11-26 3 0 0 1' % (part, commit) for part in parts]

    def test_a_part_without_a_line(self):
        self.assertEqual([line.split(':')[0] for line in self.problems()], ['fuzz', 'tidy'])
        self.write(*self.passed('fuzz'))
        self.assertRegex(self.problems()[0], '^tidy: has no line in tests/last_full_run')

    def test_a_run_is_not_forgotten(self):
        for fuzz in (self.passed('fuzz')[0], 'fuzz not-run-yet 2026-11-26'):
            self.write(fuzz, *self.passed('tidy'))
        self.assertRegex(self.problems()[0], '^fuzz: has run before')

    def test_what_passed(self):
        record = full_run.Record(self.top)
        self.assertIn(' taken down', record.add('fuzz', [3, 0, 1], 12.3))
        self.assertIn(' taken down', record.add('tidy', [1, 0, 0], 2))
        self.assertEqual(self.problems(), [])
        self.assertEqual(full_run.read(self.top)['fuzz'][2:], ['3', '0', '1', '12'])

    def test_what_failed(self):
        full_run.Record(self.top).add('fuzz', [3, 2, 0], 1)
        self.assertRegex(self.problems()[0], '^fuzz: 2 failed on 2')

    def test_what_is_too_old(self):
        for part in ('fuzz', 'tidy'):
            full_run.Record(self.top).add(part, [3, 0, 0], 1)
        for number in range(full_run.COMMITS_MAX):
            self.commit(str(number))
        self.assertEqual(self.problems(), [])
        self.commit('one more')
        self.assertRegex(self.problems()[0], '^fuzz: ran 301 commits ago')

    def test_sources_of_no_commit_are_not_taken_down(self):
        before = full_run.Record(self.top)
        with open(os.path.join(self.top, 'x'), 'w', encoding='utf-8') as file:
            file.write('x')
        for record in (before, full_run.Record(self.top)):
            self.assertIn('not taken down', record.add('fuzz', [3, 0, 0], 1))
        self.assertEqual(full_run.read(self.top), {})
