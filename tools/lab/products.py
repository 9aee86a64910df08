"""./lab crash, ./lab docs, ./lab package: what the programs say and what is made of them."""

import argparse
import os
import re
import shutil
import subprocess
import sys

from lab import base, needs, selections
from lab.command_line import HELP, Parser

import choice
import program_version
import staging

# Whose threads find what a thread of theirs left that has ended the process: a check ends them too.
CHECKED = staging.VARIANTS['checked']


def crash(words):
    selection, options = selections.leading(words)
    crash_parser([]).check(options)
    needs.compiler()
    selections.build(selection, 'crash_states', variant=CHECKED)
    base.become(selections.program(selection, 'crash_states', variant=CHECKED), '--jobs',
                str(len(os.sched_getaffinity(0))), *options)


def state(text):
    """For argparse: what --at takes."""
    if not re.fullmatch('[0-9]+:[0-9]*', text):
        raise argparse.ArgumentTypeError("'%s' is no H:C such as 17:523" % text)
    return text


def crash_parser(_):
    """The options are those of src/crash/testing/crash_states_main.cpp (test_lab_options.py)."""
    parser = Parser('./lab crash', usage='''\
./lab crash [SELECTION] [OPTION...]     power cuts and kills on a simulated disk''',
                    description=HELP['crash, description'],
                    epilog=HELP['crash, epilog'])
    parser.add_argument('--states', metavar='N', type=choice.count(),
                        help='how many states (20000); about 500 in a second on two cores')
    parser.add_argument('--seed', metavar='S', type=choice.count(0, 2 ** 64 - 1),
                        help='other histories (1)')
    parser.add_argument('--jobs', metavar='N', type=choice.count(1, 64),
                        help='threads that check states (one for each core)')
    parser.add_argument('--faults', metavar='N', type=choice.count(),
                        help='end with so many faults (10)')
    parser.add_argument('--at', metavar='H:C', type=state,
                        help='only the state at call C of history H, as a failure prints it; H:0 '
                        'is the whole history H')
    parser.add_argument('--log', action='store_true', help='with --at: what the servers say')
    return parser


def docs(words):
    selection = selections.only('docs', words)
    differences = os.path.join(base.TOP, 'site_scons', 'differences_page.py')
    if subprocess.run([sys.executable, differences]).returncode != 0:
        base.give_up('docs/differences.md cannot be written')
    needs.compiler()
    selections.build('none', 'mongod')
    selections.build('all', 'mongod')
    page = os.path.join(base.BUILD, 'options.md')
    write(page, [sys.executable, os.path.join(base.TOP, 'site_scons', 'options_page.py')])
    shutil.copyfile(page, os.path.join(base.TOP, 'docs', 'options.md'))
    selections.build(selection, 'mongod')
    mongod = selections.program(selection, 'mongod')
    share = selections.folder(selection, 'share')
    written = {'man': os.path.join(share, 'man/man1/mongod.1'),
               'bash': os.path.join(share, 'bash-completion/completions/mongod')}
    for form, path in written.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, [mongod, '--describe', form])
    for form, path in (('man', os.path.join(share, 'man/man7/mongod-dur-lab.7')),
                       ('bash', os.path.join(share, 'bash-completion/completions/lab'))):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, [sys.executable, os.path.join(base.TOP, 'tools', 'lab', 'describe.py'), form])
    base.say('written: docs/options.md, docs/differences.md, and into %s the pages for man and '
             'completion for bash of mongod and lab' % os.path.relpath(share, base.TOP))


def write(path, command):
    with open(path, 'wb') as file:
        if subprocess.run(command, cwd=base.TOP, stdout=file).returncode != 0:
            base.give_up("'%s' failed" % ' '.join(command))


def docs_parser(_):
    return Parser('./lab docs', add_help=False, usage=HELP['docs'])


def package(words):
    if words[:1] in (['wheel'], ['npm']):
        selection = selections.only('package', words[1:])
        needs.compiler()
        selections.build(selection, 'mongod')
        version = program_version.read(base.TOP) + (
            '' if selection == 'all' else '+' + re.sub('[^a-z0-9]+', '.', selection))
        base.become(os.path.join(base.TOP, 'packaging', 'archives'), words[0],
                    selections.folder(selection, 'bin'), version)
    selection = selections.only('package', words)
    needs.compiler()
    needs.package()
    base.become_python('packaging/build.py', selection)


def package_parser(_):
    return Parser('./lab package', add_help=False, usage=HELP['package'])


COMMANDS = {
    'crash': {'form': '[SELECTION]', 'parser': crash_parser, 'run': crash,
              'words': selections.words,
              'summary': 'power cuts and kills on a simulated disk, as many as you like'},
    'docs': {'form': '[SELECTION]', 'parser': docs_parser, 'run': docs, 'words': selections.words,
             'summary': 'docs/options.md, man page and completion; rows of docs/differences.md'},
    'package': {'form': '[SELECTION]', 'parser': package_parser, 'run': package,
                'words': lambda: ['wheel', 'npm', *selections.words()],
                'summary': 'Debian packages and a tarball of the sources; a Python wheel, an npm '
                'package'}}
