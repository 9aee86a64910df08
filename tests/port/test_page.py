"""The commands of port/README.md, as they stand there: those of ./lab port and of git on a
small tree in place of the checkout, those that measure up to where they would begin."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from small_trees import TOP, VERSIONS, SmallTree, git

PAGE = os.path.join(TOP, 'port', 'README.md')
# What stands for a server that was ported and built.
SERVER = '#!/bin/sh\nexit 0\n'
# They fetch and build the original server, which is not here.
NOT_RUN = re.compile(r'git clone \.\.\. |cd ~/mongo && scons ')
MEASURES = re.compile(r'\./lab (run|bench journal-[\w-]+|trace \w+) --server ')
SCRIPTS = {'run': 'run', 'bench': 'ab', 'trace': 'trace_server'}
# Only has the script of perf/ in its first word read the others.
READS = ('import importlib, sys; sys.path.insert(0, sys.argv[1]); '
         'importlib.import_module(sys.argv[2]).make_parser().parse_args(sys.argv[3:])')


def commands():
    with open(PAGE, encoding='utf-8') as file:
        return re.findall(r'^    ((?:\./lab|git|cd|scons) .*)$', file.read(), re.MULTILINE)


class Page(unittest.TestCase):
    def run_in(self, home, command):
        return subprocess.run(['bash', '-euc', command], cwd=TOP, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, env=dict(os.environ, HOME=home))

    def test_every_command_does_what_the_page_says(self):
        ported = [command for command in commands()
                  if not NOT_RUN.match(command) and not MEASURES.match(command)]
        self.assertGreaterEqual(len(ported), 5, ported)
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as home, SmallTree(version, checkout=True) as small:
                os.symlink(small.root, os.path.join(home, 'mongo'))
                before = small.contents()
                for command in ported:
                    command = command.replace('> durable.diff', '> "$HOME/durable.diff"')
                    with self.subTest([version, command]):
                        run = self.run_in(home, command)
                        self.assertEqual(run.returncode, 0, run.stdout)
                        changed = small.contents() != before
                        self.assertEqual(changed, '--apply' in command or 'diff ' in command)
                with open(os.path.join(home, 'durable.diff'), encoding='utf-8') as file:
                    self.assertTrue(file.read().startswith('diff --git a/src/mongo/'))
                self.assertEqual(git(small.root, 'status', '--porcelain'), (0, ''))

    def test_commands_that_measure_are_understood(self):
        found = [command for command in commands() if MEASURES.match(command)]
        self.assertEqual(len(found), 3)
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, 'mongo'))
            server = os.path.join(home, 'mongo', 'mongod')
            with open(server, 'w', encoding='utf-8') as file:
                file.write(SERVER)
            os.chmod(server, 0o755)
            for command in found:
                word, rest = re.fullmatch(r'\./lab (\w+)(.*)', command).groups()
                run = self.run_in(home, '"%s" -c "%s" "%s" %s %s' % (
                    sys.executable, READS, os.path.join(TOP, 'perf'), SCRIPTS[word], rest))
                self.assertEqual((run.returncode, run.stdout), (0, ''), command)
