"""./lab test, ./lab setup: the parts of the tests that tests/parts.txt lists."""

import importlib.util
import os

from lab import base, needs
from lab.command_line import Parser


def runner():
    """tests/run.py; perf/ has a module of that name too."""
    spec = importlib.util.spec_from_file_location(
        'tests_run', os.path.join(base.TOP, 'tests', 'run.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chosen(words):
    """The names of the parts that these words mean; ends the process where there is no such."""
    run = runner()
    try:
        return [part.name for part in run.choose(run.read_parts(), words)[0]]
    except ValueError as error:
        base.give_up(str(error))


def part_names():
    return [*runner().read_parts()]


def test(words):
    needs.parts(chosen(words))
    base.become_python('tests/run.py', *words)


def setup(words):
    if '--' in words:
        base.give_up("./lab setup takes parts of the tests and no '--'")
    if words == ['--all']:
        base.give_up("./lab setup takes parts of the tests and no '--all'")
    needs.parts(chosen(words))


TEST_FORMS = '''\
./lab test                          what guards every change: the usual parts
./lab test --all                    the long ones too, which takes hours
./lab test PART...                  some parts
./lab test PART -- ARGUMENT...      one part, with arguments of its own, e.g.
                                    ./lab test unit -- journal       rooms with that in their name
                                    ./lab test js -- core/           files with that in their path
                                    ./lab test crash -- --rounds 200'''


def test_parser(_):
    parts = '\n'.join('  %-22s %s%s' % (part.name, part.what, '' if part.is_usual else ' (long)')
                      for part in runner().read_parts().values())
    return Parser('./lab test', usage=TEST_FORMS, add_help=False, description=parts,
                  epilog='The first time: about 30 minutes on two cores, 3.4 GB in build/. '
                  'Ends with "N passed, N failed".')


SETUP_FORMS = '''\
./lab setup             installs what building, testing and measuring need: Debian packages (about
                        0.4 GB, and 1.0 GB for Windows programs; some minutes the first time),
                        Python and npm packages into build/
./lab setup PART...     what building needs, and these parts of the tests: ./lab setup windows
                        (./lab test --help lists them)'''


def setup_parser(_):
    return Parser('./lab setup', usage=SETUP_FORMS, add_help=False)


COMMANDS = {
    'test': {'form': '[PART...]', 'summary': 'all tests, or some', 'parser': test_parser,
             'run': test, 'words': part_names, 'more': part_names},
    'setup': {'form': '[PART...]', 'summary': 'only install what is missing',
              'parser': setup_parser, 'run': setup, 'words': part_names, 'more': part_names}}
