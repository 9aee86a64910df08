"""docs/differences.md has the rows of src/dialect/*.h, and no row is one that no code asks for."""

import glob
import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'site_scons'))

import differences_page  # noqa: E402

QUESTION = re.compile(r'\bhas\(\s*(?:dialect::)?(k\w+)\s*\)')


def questions():
    """The names by which the product asks a dialect."""
    found = set()
    for path in glob.glob(os.path.join(TOP, 'src', '**', '*'), recursive=True):
        if path.endswith(('.h', '.cpp')) and not path.endswith('_test.cpp'):
            with open(path, encoding='utf-8') as file:
                found.update(QUESTION.findall(file.read()))
    return found


class Differences(unittest.TestCase):
    def test_the_committed_page_has_their_rows(self):
        text = differences_page.read()
        self.assertEqual(text, differences_page.page(text, differences_page.headers()),
                         'run ./lab docs')

    def test_each_is_asked_for(self):
        names = [name for rows in differences_page.headers().values() for name, _ in rows]
        self.assertGreater(len(names), 50)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(sorted(set(names) - questions()), [], 'no code asks for these')


class Samples(unittest.TestCase):
    HEADER = '''
inline constexpr Difference kOne{
    "a, \\"b\\"", "one, "
    "two", "-"};
inline constexpr Difference kTwo{"x", "y\\\\", "z"};
'''
    ROWS = [('kOne', ('a, "b"', 'one, two', '-')), ('kTwo', ('x', 'y\\', 'z'))]

    def test_constants(self):
        self.assertEqual(differences_page.differences(self.HEADER), self.ROWS)
        for wrong in ('Difference kOne{"a", "b"};', 'Difference kOne{"a", "b", kC};',
                      'Difference kOne{"a", "", "c"};'):
            with self.subTest(wrong), self.assertRaises(differences_page.Unreadable):
                differences_page.differences(wrong)

    def test_page(self):
        text = 'Before.\n\n<!--rows:one.h-->\n| old | row |\n|---|---|\n\nAfter.\n'
        made = differences_page.page(text, {'one.h': self.ROWS})
        self.assertEqual(made, 'Before.\n\n<!--rows:one.h-->\n' + differences_page.HEAD
                         + '| a, "b" | one, two | - |\n| x | y\\ | z |\n\nAfter.\n')
        self.assertEqual(differences_page.page(made, {'one.h': self.ROWS}), made)
        for rows in ({}, {'one.h': self.ROWS, 'two.h': self.ROWS}):
            with self.assertRaises(differences_page.Unreadable):
                differences_page.page(text, rows)


if __name__ == '__main__':
    unittest.main()
