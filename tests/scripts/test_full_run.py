"""The record of the long parts: what is taken down, and what it must show."""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))

import full_run  # noqa: E402


def long_parts():
    with open(os.path.join(TOP, 'tests', 'parts.txt'), encoding='utf-8') as file:
        rows = [[field.strip() for field in line.split('|')] for line in file if '|' in line]
    return [row[0] for row in rows if row[1] == 'long']


class ThisTree(unittest.TestCase):
    def test_the_long_parts_passed_lately(self):
        parts = long_parts()
        self.assertGreater(len(parts), 5)
        self.assertEqual(set(full_run.read(TOP)) - set(parts), set())
        if not full_run.is_whole_history(TOP):
            self.skipTest('commits cannot be counted here')
        wrong, missing = full_run.problems(TOP, parts)
        self.assertEqual(wrong, [], './lab test PART')
        if missing:
            self.skipTest('no full run recorded yet of ' + ', '.join(missing))


class Samples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
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

    def test_nothing_ran_yet(self):
        self.assertEqual(self.problems(), ([], ['fuzz', 'tidy']))

    def test_what_passed(self):
        record = full_run.Record(self.top)
        self.assertIn(' taken down', record.add('fuzz', [3, 0, 1], 12.3))
        self.assertIn(' taken down', record.add('tidy', [1, 0, 0], 2))
        self.assertEqual(self.problems(), ([], []))
        self.assertEqual(full_run.read(self.top)['fuzz'][2:], ['3', '0', '1', '12'])

    def test_what_failed(self):
        full_run.Record(self.top).add('fuzz', [3, 2, 0], 1)
        wrong, missing = self.problems()
        self.assertRegex(wrong[0], '^fuzz: 2 failed on 2')
        self.assertEqual(missing, ['tidy'])

    def test_what_is_too_old(self):
        full_run.Record(self.top).add('fuzz', [3, 0, 0], 1)
        for number in range(full_run.COMMITS_MAX):
            self.commit(str(number))
        self.assertEqual(self.problems()[0], [])
        self.commit('one more')
        self.assertRegex(self.problems()[0][0], '^fuzz: ran 301 commits ago')

    def test_a_commit_of_another_history(self):
        full_run.Record(self.top).add('fuzz', [3, 0, 0], 1)
        self.git('checkout', '-q', '--orphan', 'other')
        self.commit('another first')
        self.git('reflog', 'expire', '--expire=now', '--all')
        self.assertIn('not in this history', self.problems()[0][0])

    def test_sources_of_no_commit_are_not_taken_down(self):
        before = full_run.Record(self.top)
        with open(os.path.join(self.top, 'x'), 'w', encoding='utf-8') as file:
            file.write('x')
        for record in (before, full_run.Record(self.top)):
            self.assertIn('not taken down', record.add('fuzz', [3, 0, 0], 1))
        self.assertEqual(full_run.read(self.top), {})

    def test_no_checkout(self):
        with tempfile.TemporaryDirectory(dir='/tmp') as folder:
            self.assertIn('not taken down', full_run.Record(folder).add('fuzz', [1, 0, 0], 1))
            self.assertFalse(full_run.is_whole_history(folder))


if __name__ == '__main__':
    unittest.main()
