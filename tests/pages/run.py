"""Runs the commands on the pages for people, and compares what they print with what the pages say.

Lines of an indented block that begin with "$ " are commands; what follows, up to the next one or
the end of the block, is what they print. The blocks of a page run in order, in one folder and one
shell, with our programs and mongosh on the path, conf/durable.yaml, tools/ and the fixtures
beside, and the ports of the page replaced by free ones. Numbers, dates and identifiers may differ;
a line "..." stands for any lines. A page ends with its servers stopped.
Usage: build/venv/bin/python tests/pages/run.py [--write] [PAGE...]
       --write puts what the commands print now into the pages.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests/lib'))

import choice  # noqa: E402
import server  # noqa: E402
from totals import Totals  # noqa: E402

PAGES = ['README.md', 'docs/operating.md', 'docs/old-data.md']
PROGRAMS = ['mongod', 'journal_dump', 'dbpath_check']
# Before a command: a block of a list is indented further than one of the page.
PROMPT = re.compile(r'( {4,})\$ (.*)$')
END = 'end of the command'
SECONDS_MAX = 120  # only ends a command that hangs

# On the page's server, unless it names another; the front door as in a checkout.
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


class Command:
    """A command of a page with the lines it is said to print."""

    def __init__(self, line, indent, text):
        self.line, self.indent, self.text, self.said = line, indent, text, []


def commands_of(lines):
    """The commands of a page, in order. A command that ends in a backslash goes on."""
    found, inside = [], False
    for number, line in enumerate(lines):
        prompt = PROMPT.match(line)
        indent = found[-1].indent if found else ''
        if prompt:
            found.append(Command(number, *prompt.groups()))
            inside = True
        elif inside and not found[-1].said and found[-1].text.endswith('\\'):
            found[-1].text += '\n' + line[len(indent):]
        elif inside and line.startswith(indent):
            found[-1].said.append(line[len(indent):])
        elif line:
            inside = False
        elif inside and found[-1].said and found[-1].said[-1]:
            found[-1].said.append('')  # perhaps between lines of output
    for command in found:
        while command.said and not command.said[-1]:
            command.said.pop()
    return found


def free_port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return str(free.getsockname()[1])


def plain(text):
    """Without what differs from run to run."""
    text = re.sub(r'\b[0-9a-f]{24,}\b', '#', text)
    return ' '.join(re.sub(r'\d+([.:,]\d+)*', '#', text).split())


def agree(said, got):
    """Whether lines of output are those of the page, whose "..." stands for any."""
    if not said:
        return not got
    if said[0] == '...':
        return any(agree(said[1:], got[n:]) for n in range(len(got) + 1))
    return bool(got) and plain(said[0]) == plain(got[0]) and agree(said[1:], got[1:])


class Shell:
    """A bash in a fresh folder, which keeps its variables and its place from command to command."""

    def __init__(self, folder, programs):
        self.folder = os.path.join(folder, 'here')
        path = os.path.join(folder, 'bin')
        os.makedirs(self.folder)
        os.makedirs(path)
        for name in PROGRAMS:
            os.symlink(os.path.join(programs, name), os.path.join(path, name))
        for name, text in SCRIPTS.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text % TOP)
            os.chmod(os.path.join(folder, name), 0o755)
        shutil.copy(os.path.join(TOP, 'conf', 'durable.yaml'), self.folder)
        for name, there in (('conf', 'conf'), ('tools', 'tools'), ('fixtures', 'tests/fixtures')):
            os.symlink(os.path.join(TOP, there), os.path.join(self.folder, name))
        self.ports = {port: free_port() for port in ('27017', '27018')}
        self.bash = subprocess.Popen(
            ['bash'], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1,
            env=dict(os.environ, PATH=path + os.pathsep + os.environ['PATH'],
                     MONGOD_PORT=self.ports['27017']))

    def run(self, text):
        """What the command prints, as lines, and its exit code."""
        for port, other in self.ports.items():
            text = text.replace(port, other)
        self.bash.stdin.write('%s\necho "%s $?"\n' % (text, END))
        self.bash.stdin.flush()
        lines = []
        hangs = threading.Timer(SECONDS_MAX, self.bash.kill)
        hangs.start()
        try:
            return self.read(lines)
        finally:
            hangs.cancel()

    def read(self, lines):
        for line in self.bash.stdout:
            line = line.rstrip('\n')
            before, mark, code = line.rpartition(END + ' ')
            if mark:
                return lines + ([before] if before else []), int(code)
            for port, other in self.ports.items():
                line = line.replace(other, port)
            lines.append(line.replace(self.folder, '/srv'))
        return lines, -1

    def close(self):
        """Ends what is left: servers of the page, found by their lock files."""
        left = []
        for folder, _, files in os.walk(self.folder):
            if 'mongod.lock' not in files:
                continue
            with open(os.path.join(folder, 'mongod.lock'), encoding='ascii') as file:
                pid = file.read().strip()
            if pid and os.path.exists('/proc/' + pid):
                os.kill(int(pid), signal.SIGKILL)
                left.append(os.path.relpath(folder, self.folder))
        self.bash.stdin.close()
        self.bash.wait()
        return left


def run_page(page, programs, write, totals):
    with open(os.path.join(TOP, page), encoding='utf-8') as file:
        lines = file.read().split('\n')
    commands = [command for command in commands_of(lines) if command.text not in NOT_RUN]
    passed, failed = 0, 0
    new = {}
    with tempfile.TemporaryDirectory(prefix='page-') as folder:
        shell = Shell(folder, programs)
        for command in commands:
            got, code = shell.run(command.text)
            got = '\n'.join(got).strip('\n').split('\n') if any(got) else []
            new[command.line] = got
            expected = int((re.search(r'# exit code (\d+)$', command.text) or [0, 0])[1])
            if code == expected and (write or agree(command.said, got)):
                passed += 1
                continue
            failed += 1
            print('%s:%d: $ %s\n   exit code %d; it prints\n%s\n   the page says\n%s'
                  % (page, command.line + 1, command.text, code,
                     '\n'.join('      ' + line for line in got),
                     '\n'.join('      ' + line for line in command.said)))
        left = shell.close()
        if left:
            failed += 1
            print('%s: a server still runs on %s' % (page, ', '.join(left)))
    if write:
        write_page(page, lines, commands, new)
    totals.add(page, passed, failed)


def write_page(page, lines, commands, new):
    """The page with the output that there was now, but where it has "..."."""
    out = list(lines)
    for command in reversed(commands):
        if '...' in command.said:
            continue
        begin = command.line + 1 + command.text.count('\n')
        out[begin:begin + len(command.said)] = [command.indent + line if line else ''
                                                for line in new[command.line]]
    with open(os.path.join(TOP, page), 'w', encoding='utf-8') as file:
        file.write('\n'.join(out))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('pages', nargs='*')
    arguments = parser.parse_args()
    pages = choice.exactly(arguments.pages, PAGES, 'page')
    programs = os.path.join(server.build('all', '', PROGRAMS), 'bin')
    totals = Totals()
    for page in pages:
        run_page(page, programs, arguments.write, totals)
    totals.close()


if __name__ == '__main__':
    main()
