"""Access control against real servers: logging in, roles, users, what unknown clients get.

Usage: build/venv/bin/python tests/access/run.py [--selection none] [TEST...]
"""

import argparse
import os
import unittest

import access

import choice
import server
import totals

MODULES = ['logins', 'authorization', 'roles', 'users', 'members', 'tls']


def load(words):
    """Those tests whose names contain one of the words; all where there are none."""
    suites = [test for module in MODULES
              for test in unittest.defaultTestLoader.loadTestsFromName(module)]
    names = choice.with_any(words, [case.id() for test in suites for case in test], 'test')
    # Each class in a suite of its own, which sets it up once.
    return unittest.TestSuite(
        unittest.TestSuite(case for case in test if case.id() in names) for test in suites)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    tests = load(arguments.tests)
    programs = os.path.join(server.build(arguments.selection, arguments.sanitize, ['mongod']),
                            'bin')
    access.Case.program = os.path.join(programs, 'mongod')
    access.Case.options = ['--smallfiles', '--nssize', '1']
    os.makedirs(os.path.join(access.TOP, 'build', 'scratch'), exist_ok=True)
    tally = totals.Totals()
    tally.run('access', tests)
    tally.close()


if __name__ == '__main__':
    main()
