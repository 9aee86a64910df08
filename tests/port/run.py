"""The tests of ./lab port: on small trees of our own, since no original tree is here.

Usage: python3 tests/port/run.py [--whole] [TEST...]      e.g. test_command
"""

import argparse
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'lib')]

import choice  # noqa: E402
import small_trees  # noqa: E402
from totals import Totals  # noqa: E402

NAMES = ['test_structure', 'test_places', 'test_recipes', 'test_ported', 'test_command',
         'test_headers', 'test_page']


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--whole', action='store_true', help='every subset of the recipes')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    small_trees.WHOLE = arguments.whole
    totals = Totals()
    for name in choice.exactly(arguments.tests, NAMES, 'test'):
        totals.run(name, unittest.defaultTestLoader.loadTestsFromName(name), verbosity=0)
    totals.close()


if __name__ == '__main__':
    main()
