"""Replica sets of several real servers on this machine: a copy under writes, kills of primary and
secondaries, what each state refuses, a secondary that is made the primary, hand-overs,
backups with the log, full disks, catalogues.

Usage: build/venv/bin/python tests/replica/run.py [--selection none] [--engine wiredTiger] [TEST...]
"""

import argparse
import os
import unittest

import sets

import choice
import server
import totals

MODULES = ['members', 'concerns', 'cuts', 'backups', 'handover', 'disks', 'catalogues']
ENGINES = ['wiredTiger', 'rocksdb']


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    parser.add_argument('--engine', choices=ENGINES, default=os.environ.get(server.ENGINE),
                        help='that of all members, where it is not mmapv1')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    targets = ['mongod']
    if arguments.engine:
        os.environ[server.ENGINE] = arguments.engine
        targets.append('engine_%s.so' % arguments.engine.lower())
    suites = [test for module in MODULES
              for test in unittest.defaultTestLoader.loadTestsFromName(module)]
    names = choice.with_any(arguments.tests, [case.id() for suite in suites for case in suite],
                            'test')
    tests = unittest.TestSuite(case for suite in suites for case in suite if case.id() in names)
    programs = os.path.join(server.build(arguments.selection, arguments.sanitize, targets),
                            'bin')
    sets.Case.program = os.path.join(programs, 'mongod')
    os.makedirs(os.path.join(sets.TOP, 'build', 'scratch'), exist_ok=True)
    tally = totals.Totals()
    tally.run('replica', tests)
    tally.close()


if __name__ == '__main__':
    main()
