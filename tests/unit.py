"""Builds and runs the unit tests: the GoogleTest binary of every room.

Usage: tests/unit.py [--selection none] [--sanitize WHICH]... [--whole] [FILTER]
FILTER is a part of a test binary's name, e.g. journal.

The binaries' files are in memory where it has room. Tests that go through too many cases for each
change (src/base/testing/slice.h) try a slice of them, another one each day. With --whole all
these cases run, and files are on the disk."""

import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
from totals import Totals  # noqa: E402

BINARY_SECONDS_MAX = 7200  # only ends a binary that hangs; --whole on a busy machine is slow

AT_ONCE = 2  # binaries
LARGEST = ('test_crash', 'test_commands', 'test_btree', 'test_mmapv1')

SCRATCH = os.path.join(TOP, 'build', 'scratch')
MEMORY = '/dev/shm'
MEMORY_BYTES_MIN = 4 << 30  # that must be free there: several times what the largest test writes
SLICE = 'TEST_SLICE'  # src/base/testing/slice.h
WHOLE = 'whole'


def chosen_slice():
    return os.environ.get(SLICE) or str(datetime.date.today().toordinal())


def folder_for_files(memory=MEMORY):
    """Where the binaries' files go: a disk slows the tests of crashes down several times."""
    with contextlib.suppress(OSError):
        if chosen_slice() != WHOLE and shutil.disk_usage(memory).free >= MEMORY_BYTES_MIN:
            return memory
    return SCRATCH


def run_binary(binary, totals, launcher=(), environment=()):
    """Runs one GoogleTest binary. A crash counts as one more failure than it reported.

    launcher, environment    words before the command, and variables, that it needs"""
    name = os.path.basename(binary)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder, \
            tempfile.TemporaryDirectory(dir=folder_for_files()) as files:
        report = os.path.join(folder, 'report.json')
        run = subprocess.run(['timeout', '--signal=ABRT', str(BINARY_SECONDS_MAX), *launcher,
                              binary, '--gtest_brief=1', '--gtest_output=json:report.json'],
                             cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors='replace',
                             env=dict(os.environ, TMPDIR=files, **{SLICE: chosen_slice()},
                                      **dict(environment), **server.SANITIZER_ENVIRONMENT))
        try:
            counts = json.loads(pathlib.Path(report).read_text('utf-8'))
        except (OSError, ValueError):
            print(run.stdout)
            print('%s ended with %d before it could report' % (name, run.returncode))
            totals.add(name, 0, 1)
            return
    failed = counts['failures'] + counts['errors']
    skipped = counts['disabled'] + sum(
        test.get('result') == 'SKIPPED'
        for suite in counts['testsuites'] for test in suite['testsuite'])
    if run.returncode != 0:
        print(run.stdout)
        failed = max(failed, 1)
        for test in ['%s.%s' % (suite['name'], test['name']) for suite in counts['testsuites']
                     for test in suite['testsuite'] if 'failures' in test]:
            print('FAIL ' + test)
    totals.add(name, counts['tests'] - failed - skipped, failed, skipped)


def rooms_with_tests(source):
    """Names of the rooms under a staged src/ that have a *_test.cpp. Those of a storage engine that
    not every build has are for tests/engines/run.py."""
    for folder, _, files in os.walk(source):
        if any(name.endswith('_test.cpp') for name in files):
            script = os.path.join(folder_of_room(folder), 'SConscript')
            engine = re.search(r"\bengine='(\w+)'", pathlib.Path(script).read_text('utf-8'))
            if engine is None or engine.group(1) == os.environ.get(server.ENGINE):
                yield room_of(os.path.join(folder, 'x_test.cpp'))


def folder_of_room(folder):
    """That of the room which a folder lies in."""
    while not os.path.exists(os.path.join(folder, 'SConscript')):
        folder = os.path.dirname(folder)
    return folder


def room_of(path):
    return os.path.basename(folder_of_room(os.path.dirname(path)))


def run_binaries(folder, names, totals, launcher=(), environment=()):
    """Some at a time. Those that take long begin first, so that none of them is left over."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(run_binary, os.path.join(folder, name), totals, launcher,
                                 environment)
                     for name in sorted(names, key=lambda name: (name not in LARGEST, name))]:
            done.result()


def run_selection(selection, sanitize, wanted, totals, also=None):
    """Builds a selection's tests, and `also` another target, and runs those with `wanted` in their
    name."""
    binaries = ['test_' + room for room in sorted(set(rooms_with_tests(os.path.join(TOP, 'src'))))
                if wanted in 'test_' + room and not (sanitize and room == 'sphere')]
    if not binaries:
        return
    print('building the unit tests of patches=%s %s' % (selection, sanitize), flush=True)
    command = server.scons(selection, sanitize)
    targets = binaries + ([also] if also else []) + (['loaded_parts'] if sanitize else [])
    is_built = not sanitize and (server.is_built(selection, targets)
                                 or not also and server.is_built(selection, ['tests']))
    if not is_built and subprocess.run(command + ['-k'] + targets, cwd=TOP).returncode != 0:
        broken = [target for target in targets
                  if subprocess.run(command + ['-q', target], cwd=TOP,
                                    stdout=subprocess.DEVNULL).returncode != 0]
        for target in broken:
            totals.add('build of ' + target, 0, 1)
        binaries = [binary for binary in binaries if binary not in broken]
    run_binaries(os.path.join(server.folder_of(selection, sanitize), 'bin'), binaries, totals)


def main():
    parser = choice.parser(__doc__, 'selection')
    parser.add_argument('--sanitize', type=choice.sanitizer, action='append', default=[])
    parser.add_argument('--whole', action='store_true', help='every case, on the disk')
    parser.add_argument('filter', nargs='?', default='')
    arguments = parser.parse_args()
    os.makedirs(SCRATCH, exist_ok=True)
    if arguments.whole:
        os.environ[SLICE] = WHOLE
    rooms = sorted(set(rooms_with_tests(os.path.join(TOP, 'src'))))
    choice.with_any([arguments.filter], ['test_' + room for room in rooms], 'unit test')
    totals = Totals()
    print('tests that try a slice of their cases: %s=%s; files in %s'
          % (SLICE, chosen_slice(), folder_for_files()), flush=True)
    for sanitize in arguments.sanitize or ['']:
        run_selection(arguments.selection, sanitize, arguments.filter, totals)
    totals.close()


if __name__ == '__main__':
    main()
