"""Runs the shell tests: each file of jstests/ in a mongosh of its own, two files at a time.

A test file starts the servers it wants (jstests/lib/harness.js). One line is printed for each
test; the folder of a failed file, with logs and data, is kept under build/scratch.
FILTER is a part of a file's path, e.g. core/ or journal/options."""

import concurrent.futures
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402

FILE_SECONDS_MAX = 300  # only ends a file that hangs
LIB = os.path.join(TOP, 'jstests', 'lib')


class Runner:
    def __init__(self, stage, slugs):
        self.slugs = slugs
        self.lock = threading.Lock()
        self.counts = {'pass': 0, 'fail': 0, 'skip': 0}
        self.scratch = os.path.join(TOP, 'build', 'scratch')
        self.home = os.path.join(self.scratch, 'mongosh-home')
        os.makedirs(self.home, exist_ok=True)
        self.environment = dict(
            os.environ, HOME=self.home, JSTEST_PATCHES=json.dumps(slugs),
            JSTEST_PYTHON=sys.executable,
            JSTEST_MONGOD=os.path.join(stage, 'bin', 'mongod'),
            JSTEST_BASE_MONGOD=os.path.join(server.folder_of('none'), 'bin', 'mongod'),
            **server.SANITIZER_ENVIRONMENT)
        node = os.environ.get('MONGOSH_NODE', 'node')
        main = os.environ.get('MONGOSH_MAIN', os.path.join(
            TOP, 'build', 'mongosh', 'node_modules', 'mongosh', 'bin', 'mongosh.js'))
        self.command = [node, main, '--nodb', '--norc', '--quiet']

    def run_file(self, path):
        name = os.path.relpath(path, os.path.join(TOP, 'jstests'))
        helpers = ['harness.js']
        if name.startswith('patches/'):
            helpers.append('patches.js')
            if os.path.basename(name)[:-len('.js')] not in self.slugs:
                self.report(name, {'outcome': 'skip', 'name': 'the whole file', 'seconds': '0',
                                   'message': 'the server is built without this patch'})
                return
        if name.startswith('engines/') and server.ENGINE not in os.environ:
            self.report(name, {'outcome': 'skip', 'name': 'the whole file', 'seconds': '0',
                               'message': 'it is for another engine: tests/engines/run.py'})
            return
        folder = tempfile.mkdtemp(prefix=name[:-3].replace('/', '-') + '-', dir=self.scratch)
        files = [os.path.join(LIB, helper) for helper in helpers]
        files += [path, os.path.join(LIB, 'end.js')]
        ended = failed = False
        environment = dict(self.environment, JSTEST_SCRATCH=folder,
                           JSTEST_PARANOID='1' if name.startswith('core/') else '0')
        with subprocess.Popen(
                self.command + files, cwd=TOP, env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors='replace', start_new_session=True) as shell:
            timer = threading.Timer(FILE_SECONDS_MAX, os.killpg, (shell.pid, signal.SIGKILL))
            timer.start()
            rest = []
            for line in shell.stdout:
                if not line.startswith('@@ '):
                    rest.append(line)
                    continue
                result = json.loads(line[3:])
                ended |= result['outcome'] == 'end'
                failed |= result['outcome'] == 'fail'
                if result['outcome'] != 'end':
                    self.report(name, result)
            timer.cancel()
        if not ended or shell.returncode != 0:
            failed = True
            self.report(name, {'outcome': 'fail', 'name': 'the whole file', 'seconds': '0',
                               'message': 'mongosh ended with %d\n%s'
                               % (shell.returncode, ''.join(rest[-40:]))})
        if failed:
            print('     logs and data: %s' % os.path.relpath(folder, TOP), flush=True)
        else:
            shutil.rmtree(folder)

    def report(self, file, result):
        outcome = result['outcome']
        with self.lock:
            self.counts[outcome] += 1
            print('%s %s: %s (%s s)' % ({'pass': 'ok  ', 'fail': 'FAIL', 'skip': 'skip'}[outcome],
                                        file, result['name'], result['seconds']))
            for line in result['message'].splitlines():
                print('     ' + line)
            sys.stdout.flush()


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--jobs', type=choice.count(), default=2)
    parser.add_argument('filters', nargs='*')
    arguments = parser.parse_args()
    folder = os.path.join(TOP, 'jstests')
    known = [os.path.relpath(path, folder)
             for path in sorted(glob.glob(os.path.join(folder, '*', '*.js')))
             if not path.startswith(LIB + os.sep)]
    files = [os.path.join(folder, name)
             for name in choice.with_any(arguments.filters, known, 'file')]
    selection = staging.select(TOP, arguments.selection)
    print('building mongod, patches=%s %s' % (arguments.selection, arguments.sanitize), flush=True)
    stage = server.build(arguments.selection, arguments.sanitize, ['mongod'])
    if selection.slugs:  # the tests of patches start the base too
        server.build('none', '', ['mongod'])
    runner = Runner(stage, selection.slugs)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(runner.run_file, path) for path in files]:
            future.result()
    counts = runner.counts
    print('%d passed, %d failed' % (counts['pass'], counts['fail'])
          + (', %d skipped' % counts['skip'] if counts['skip'] else ''))
    sys.exit(1 if counts['fail'] or not (counts['pass'] or counts['skip']) else 0)


if __name__ == '__main__':
    main()
