"""A checkout on a machine where nothing is installed but bash and Python, for the tests of ./lab:
programs that install are replaced by scripts that note what they were asked."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from lab import attempt, base, commands, install
from set_member import wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS_MAX = 60  # only ends what hangs
PYTHON = os.path.realpath(sys.executable)  # not that of an environment, which has the drivers

# Besides those of the shell, what ./lab may use before anything is installed.
PROGRAMS = ['bash', 'env', 'id', 'readlink', 'rm', 'sleep', 'touch']
NOTHING_INSTALLED = '#!/bin/sh\nexit 1\n'
NOTES = '#!/bin/sh\necho "$0 $*" >> "$NOTES"\n'
SOURCES = ['lab', 'tools/lab', 'setup', 'site_scons', 'patches', 'port', 'tests/parts.txt',
           'tests/pytest.ini', 'tests/lib', 'perf']
NOT_COPIED = shutil.ignore_patterns('__pycache__', 'results', 'templates')


def series():
    with open(os.path.join(TOP, 'patches', 'series'), encoding='utf-8') as file:
        return re.findall(r'^([a-z0-9-]+)\.patch', file.read(), re.M)


class Became(Exception):
    """./lab would be another program now: its words."""


class Bare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='bare-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = os.path.join(self.folder, 'build')
        self.slugs = series()
        self.bin = os.path.join(self.folder, 'bin')
        os.makedirs(self.bin)
        for name in PROGRAMS:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        os.symlink(PYTHON, os.path.join(self.bin, 'python3'))
        self.notes = os.path.join(self.folder, 'notes')
        self.script('dpkg-query', NOTHING_INSTALLED)
        self.script('apt-get', NOTES)
        self.environment = {'PATH': self.bin, 'HOME': self.folder, 'NOTES': self.notes}

    def script(self, name, text):
        path = os.path.join(self.bin, name)  # of an absolute name, that
        if os.path.lexists(path):
            os.remove(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(text, 'utf-8')
        os.chmod(path, 0o755)

    def noted(self):
        if not os.path.exists(self.notes):
            return ''
        return pathlib.Path(self.notes).read_text('utf-8')

    # ---- in this process: as quick as the words are many ----

    def lab(self, *words):
        """(exit code, what it says); what it would become is said as "became WORD..."."""
        said = io.StringIO()
        install.update_lists.cache_clear()  # each is a process of its own

        def become(_, arguments):
            raise Became(' '.join(arguments))
        with mock.patch.multiple(base, BUILD=self.build, DATA=os.path.join(self.folder, 'data')), \
                mock.patch.object(attempt, 'LOG', os.path.join(self.build, 'setup.log')), \
                mock.patch.object(os, 'execvp', become), \
                mock.patch.dict(os.environ, self.environment, clear=True), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                commands.main(list(words))
                code = 0
            except SystemExit as end:
                code = end.code or 0
            except Became as became:
                code = 0
                print('became', became)
        return code, said.getvalue()

    # ---- as a process ----

    def copy_sources(self):
        self.top = os.path.join(self.folder, 'checkout')
        for name in SOURCES:
            source, place = os.path.join(TOP, name), os.path.join(self.top, name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, place, ignore=NOT_COPIED)
            else:
                shutil.copy(source, place)

    def start(self, *words):
        return subprocess.Popen(
            [os.path.join(self.top, 'lab'), *words], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, env=self.environment,
            # Tests that run in the background may ignore Ctrl-C, and what they start would too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def process(self, *words):
        """(exit code, what it says)."""
        with self.start(*words) as process:
            said, _ = process.communicate(timeout=SECONDS_MAX)
            return process.returncode, said

    def wait_for(self, condition):
        wait_until('the condition', condition)

    def read_until(self, process, text):
        said = ''
        while text not in said:
            line = process.stdout.readline()
            self.assertTrue(line, said)
            said += line
        return said
