"""Hostile clients against a real server: what they send is answered or refused, other clients are
served all the same, and memory, threads and the process stay.

The server's threads have 1 MB of stack, an eighth of the usual, so that the deepest input that is
legal proves to be far from what brings it down.
Usage: build/venv/bin/python tests/hostile/run.py [--selection none] [--whole | TEST...]
"""

import argparse
import os
import resource
import sys
import tempfile
import unittest

import hostile

sys.path.insert(0, os.path.join(hostile.TOP, 'tests', 'lib'))

import choice  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

MODULES = ['nesting', 'computation', 'regexes', 'yielding', 'sizes', 'connections', 'directories',
           'disk', 'scarcity', 'turmoil']
STACK_BYTES = 1 << 20
OPTIONS = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1']
PROFILE = ['--config', os.path.join(hostile.TOP, 'conf', 'durable.yaml'), '--journalFileMB', '2']


def load(words, whole):
    """The tests that are named; if none is, all, or those that do not take long."""
    cases = {case.id(): case for module in MODULES
             for test in unittest.defaultTestLoader.loadTestsFromName(module) for case in test}
    return unittest.TestSuite(
        cases[name] for name in choice.with_any(words, list(cases), 'test')
        if words or whole or not hostile.takes_long(cases[name]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    parser.add_argument('--profile', action='store_true',
                        help='with conf/durable.yaml, for the full series')
    parser.add_argument('--whole', action='store_true', help='also what takes long')
    parser.add_argument('tests', nargs='*')
    arguments = parser.parse_args()
    tests = load(arguments.tests, arguments.whole)
    programs = ['mongod', 'journal_dump', 'dbpath_check']
    program = os.path.join(server.build(arguments.selection, arguments.sanitize, programs),
                           'bin', 'mongod')
    if not arguments.sanitize:  # their frames are several times as large
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, hard))
    tally = totals.Totals()
    scratch = os.path.join(hostile.TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='hostile-', dir=scratch) as directory:
        with server.Server(program, os.path.join(directory, 'db'),
                           OPTIONS + (PROFILE if arguments.profile else [])) as running:
            hostile.Case.server = running
            tally.run('hostile', tests)
    tally.close()


if __name__ == '__main__':
    main()
