"""Access control against real servers: logging in, roles, users, what strangers get.

Usage: build/venv/bin/python tests/access/run.py [--selection none] [TEST...]
"""

import argparse
import os
import sys
import unittest

import access
import server
import totals

MODULES = ['logins', 'gate', 'users', 'tls']


def load(words):
    suite = unittest.TestSuite()
    for module in MODULES:
        for test in unittest.defaultTestLoader.loadTestsFromName(module):
            chosen = [case for case in test
                      if not words or any(word in case.id() for word in words)]
            suite.addTest(unittest.TestSuite(chosen))
    return suite


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--selection', default='none')
    parser.add_argument('--sanitize', default='')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    programs = os.path.join(server.build(arguments.selection, arguments.sanitize, ['mongod']),
                            'bin')
    access.Case.program = os.path.join(programs, 'mongod')
    access.Case.options = ['--smallfiles', '--nssize', '1']
    os.makedirs(os.path.join(access.TOP, 'build', 'scratch'), exist_ok=True)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(load(arguments.tests))
    tally = totals.Totals()
    failed = len(result.failures) + len(result.errors)
    tally.add('access', result.testsRun - failed, failed)
    tally.close()


if __name__ == '__main__':
    main()
