"""Compiles for arm64, and runs the unit tests and a server as such programs under qemu.

Usage: tests/arm64/run.py [--selection none] [FILTER]    FILTER is a part of a test binary's name
What needs a real machine (timing, rates) is not looked at."""

import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402
import systems  # noqa: E402
import unit  # noqa: E402
from totals import Totals  # noqa: E402

SCRATCH = os.path.join(TOP, 'build', 'scratch')
QEMU = 'qemu-aarch64-static'
# geo.so and text.so are not built for it, since their libraries are this machine's own: their
# rooms, and tests that use them.
NOT_BUILT = {'snowball', 'sphere', 'text'}
LEFT_OUT = ['Differential.FoundFaultsStayFixed', 'OldDirectory.KeepsItsKeysThroughWritesAndBuilds',
            'MappingHints.*']  # qemu does not say what a mapping expects
# Ten times slower or more: random tests do a tenth of their work.
EMULATED = {'TEST_EFFORT': '0.1', 'GTEST_FILTER': '-' + ':'.join(LEFT_OUT)}
PROGRAMS = ['mongod', 'dbpath_check', 'journal_dump']


def why_not():
    """A sentence when there is nothing to run with; empty otherwise."""
    if not shutil.which(QEMU):
        return 'qemu is not installed here (Debian package qemu-user-static)'
    try:
        systems.Arm64(TOP, 'build/none-arm64-checked', True)
    except staging.StagingError as error:
        return str(error)
    return ''


def launcher():
    """The words before an arm64 program."""
    return [QEMU, '-L', os.path.join(TOP, systems.ARM64_LIBS)]


class Server(server.Server):
    """A mongod for arm64. Its journal and files are those of any other."""

    def command_line(self):
        return launcher() + super().command_line()


def run_server(programs, totals):
    """Durable inserts, a kill, a start, a clean end, and a look by the checker of this machine's
    own build: both read the same files."""
    import pymongo  # noqa: PLC0415 - only here

    native = server.build('none', '', ['dbpath_check', 'mongod'])
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        dbpath = os.path.join(folder, 'db')
        mongod = Server(os.path.join(programs, 'mongod'), dbpath, ['--smallfiles'])
        with pymongo.MongoClient(mongod.uri) as client:
            c = client.test.get_collection('c', write_concern=pymongo.WriteConcern(w=1, j=True))
            c.create_index('a')
            c.insert_many([{'_id': n, 'a': n % 7, 'd': n * 1.5} for n in range(1000)])
        mongod.kill()
        with Server(os.path.join(programs, 'mongod'), dbpath, ['--smallfiles']) as mongod:
            with pymongo.MongoClient(mongod.uri) as client:
                found = client.test.c.count_documents({'a': 3})
                machine = client.admin.command('hostInfo')['system']['cpuArch']
        totals.add('arm64: what was acknowledged is there after a kill', found == 143, found != 143)
        totals.add('arm64: it knows what it is', machine == 'aarch64', machine != 'aarch64')
        for program in (launcher() + [os.path.join(programs, 'dbpath_check')],
                        [os.path.join(native, 'bin', 'dbpath_check')]):
            run = subprocess.run(program + [dbpath], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            good = run.returncode == 0
            print('' if good else run.stdout, end='')
            totals.add('%s on its files' % ' '.join(map(os.path.basename, program[::3])),
                       good, not good)
        with server.Server(os.path.join(native, 'bin', 'mongod'), dbpath,
                           ['--smallfiles']) as other:
            with pymongo.MongoClient(other.uri) as client:
                same = client.test.c.count_documents({}) == 1000
        totals.add('a server of this machine reads them', same, not same)


def main():
    parser = choice.parser(__doc__, 'selection')
    parser.add_argument('filter', nargs='?', default='')
    arguments = parser.parse_args()
    rooms = sorted(set(unit.rooms_with_tests(os.path.join(TOP, 'src'))) - NOT_BUILT)
    wanted = choice.with_any([arguments.filter], ['test_' + room for room in rooms] + PROGRAMS,
                             'test or program')
    totals = Totals()
    reason = why_not()
    if reason:
        totals.close_skipped(reason)
    os.makedirs(SCRATCH, exist_ok=True)
    tests = [name for name in wanted if name not in PROGRAMS]
    programs = PROGRAMS if PROGRAMS[0] in wanted else []
    print('building for arm64, patches=%s' % arguments.selection, flush=True)
    scons = ['scons', '-Q', 'platform=arm64', 'checks=1', 'patches=' + arguments.selection]
    if subprocess.run(scons + tests + programs, cwd=TOP).returncode != 0:
        totals.add('build for arm64', 0, 1)
        totals.close()
    built = os.path.join(TOP, staging.folder_of(staging.select(TOP, arguments.selection),
                                                platform='arm64', variant='checked'), 'bin')
    unit.run_binaries(built, tests, totals, launcher(), EMULATED)
    if programs:
        run_server(built, totals)
    totals.close()


if __name__ == '__main__':
    main()
