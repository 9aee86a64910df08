"""Runs the commands on the pages for people, and compares what they print with what the pages say.

page.py says what a command is. They run in a fresh folder with our programs and mongosh on the
path, conf/durable.yaml, tools/ and the fixtures beside, and the ports of the page replaced by free
ones. A page ends with its servers stopped. docs/developing.md is run by tests/windows/,
port/README.md by tests/port/. The line that a ticket says to test a patch with is run, too.
Usage: build/venv/bin/python tests/pages/run.py [--write] [PAGE...]
       --write puts what the commands print now into the pages."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests/lib'))

import choice  # noqa: E402
import page  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402
from totals import Totals  # noqa: E402

sys.path.insert(0, os.path.join(TOP, 'perf'))
import pr  # noqa: E402

PAGES = ['README.md', 'docs/operating.md']
PROGRAMS = ['mongod', 'journal_dump', 'dbpath_check']

# On the page's server, unless it names another; ./lab as in a checkout.
SCRIPTS = {
    'bin/mongosh': '''#!/bin/sh
case "$*" in *--port*) ;; *) set -- --port "$MONGOD_PORT" "$@" ;; esac
exec "%s/lab" shell "$@"
''',
    # One that has pymongo.
    'bin/python3': '''#!/bin/sh
exec "%s/build/venv/bin/python" "$@"
''',
    'here/lab': '''#!/bin/sh
case "$*" in *--port*) port= ;; *) port="--port $MONGOD_PORT" ;; esac
exec "%s/lab" "$@" $port
''',
}

# They take minutes, and do not end with the same lines twice; perf/ and this suite test them.
NOT_RUN = ['./lab run', './lab test']


class Folder(page.Shell):
    """A shell in a fresh folder with what the pages use."""

    def __init__(self, folder, programs):
        here = os.path.join(folder, 'here')
        path = os.path.join(folder, 'bin')
        os.makedirs(here)
        os.makedirs(path)
        for name in PROGRAMS:
            os.symlink(os.path.join(programs, name), os.path.join(path, name))
        for name, text in SCRIPTS.items():
            pathlib.Path(os.path.join(folder, name)).write_text(text % TOP, 'utf-8')
            os.chmod(os.path.join(folder, name), 0o755)
        shutil.copy(os.path.join(TOP, 'conf', 'durable.yaml'), here)
        for name, there in (('conf', 'conf'), ('tools', 'tools'), ('fixtures', 'tests/fixtures')):
            os.symlink(os.path.join(TOP, there), os.path.join(here, name))
        ports = {port: str(server.free_port()) for port in ('27017', '27018')}
        super().__init__(here, {'PATH': path + os.pathsep + os.environ['PATH'],
                                'MONGOD_PORT': ports['27017'],
                                'MEASURED_VARIANT': staging.VARIANTS['checked']})
        self.replaced = ports

    def close(self):
        """Ends what is left: servers of the page, found by their lock files."""
        left = []
        for folder, _, files in os.walk(self.folder):
            if 'mongod.lock' not in files:
                continue
            pid = pathlib.Path(os.path.join(folder, 'mongod.lock')).read_text('utf-8').strip()
            if pid and os.path.exists('/proc/' + pid):
                os.kill(int(pid), signal.SIGKILL)
                left.append(os.path.relpath(folder, self.folder))
        return left + super().close()


def line_of_a_ticket():
    """(passed, failed) of what the text for a ticket says to run."""
    line = pr.TEST_LINE % 'journal-skip-compression-bytes'
    run = subprocess.run(line.split(), cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    counted = re.search(r'^(\d+) passed, 0 failed$', run.stdout, re.M)
    if run.returncode == 0 and counted and int(counted[1]) > 0:
        return 1, 0
    print(run.stdout)
    return 0, 1


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('pages', nargs='*')
    arguments = parser.parse_args()
    pages = choice.exactly(arguments.pages, PAGES, 'page')
    programs = os.path.join(server.build('all', '', PROGRAMS), 'bin')
    totals = Totals()
    for name in pages:
        with tempfile.TemporaryDirectory(prefix='page-') as folder:
            page.run_page(name, Folder(folder, programs), totals, NOT_RUN, arguments.write)
    if not arguments.pages:
        totals.add('the test line of a ticket', *line_of_a_ticket())
    totals.close()


if __name__ == '__main__':
    main()
