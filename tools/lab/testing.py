"""./lab test, ./lab setup: the parts of the tests that tests/parts.txt lists."""

import os
import shlex

from lab import base, needs
from lab.command_line import HELP, Parser

import parts

AT_ONCE = 4
RESULTS = os.path.join(base.BUILD, 'test-results.xml')


def choose(words):
    """The parts that these words mean, and arguments for the only one of them; ends the process
    where there is no such."""
    try:
        return parts.choose(parts.read_parts(), words)
    except ValueError as error:
        base.give_up(str(error))


def part_names():
    return [*parts.read_parts()]


def test(words):
    chosen, arguments = choose(words)
    needs.parts([part.name for part in chosen])
    if {'-h', '--help'} & set(arguments):
        base.become(*chosen[0].command, *arguments)
    base.become(base.DRIVER_PYTHON,
                *['-m', 'pytest', '-c', os.path.join(base.TOP, 'tests', 'pytest.ini'), '-qq',
                  '--tb=no', '--no-summary', '--junitxml=' + RESULTS,
                  '--part-arguments=' + shlex.join(arguments),
                  *(['-s'] if len(chosen) == 1
                    else ['-n', str(AT_ONCE), '--maxschedchunk=1', '--max-worker-restart=0']),
                  *('%s::%s' % (parts.LIST, part.name) for part in chosen)])


def setup(words):
    if '--' in words:
        base.give_up("./lab setup takes parts of the tests and no '--'")
    if words == ['--all']:
        base.give_up("./lab setup takes parts of the tests and no '--all'")
    needs.parts([part.name for part in choose(words)[0]])


def test_parser(_):
    listed = '\n'.join('  %-22s %s%s' % (part.name, part.what, '' if part.is_usual else ' (long)')
                      for part in parts.read_parts().values())
    return Parser('./lab test', usage=HELP['test'], add_help=False, description=listed,
                  epilog='The first time: about 30 minutes on two cores, 3.4 GB in build/. '
                  'Ends with "N passed, N failed".')


def setup_parser(_):
    return Parser('./lab setup', usage=HELP['setup'], add_help=False)


COMMANDS = {
    'test': {'form': '[PART...]', 'summary': 'all tests, or some', 'parser': test_parser,
             'run': test, 'words': part_names, 'more': part_names},
    'setup': {'form': '[PART...]', 'summary': 'only install what is missing',
              'parser': setup_parser, 'run': setup, 'words': part_names, 'more': part_names}}
