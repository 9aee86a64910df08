"""./lab pr, ./lab port: the patches for the original server. Both are programs of their own that
need nothing but Python, and are asked for their help."""

import os
import subprocess
import sys

from lab import base, selections

PR, PORT = 'perf/pr.py', 'port/__main__.py'


class Program:
    """A script of ours that knows its own options."""

    def __init__(self, path):
        self.path = path

    def format_help(self):
        asked = subprocess.run([sys.executable, os.path.join(base.TOP, self.path), '--help'],
                               stdout=subprocess.PIPE, text=True, check=True,
                               env=dict(os.environ, COLUMNS='100'))
        return asked.stdout.removeprefix('usage: ')

    def print_help(self, file=None):
        print(self.format_help(), end='', file=file, flush=True)


def pr(words):
    if not words:
        base.give_up_with_help(Program(PR))
    if words[0] not in selections.patches():
        selections.give_up_without_patch(words[0])
    base.become_python(PR, *words)


def port(words):
    if not words:
        base.give_up_with_help(Program(PORT))
    base.become_python(PORT, *words)


COMMANDS = {
    'pr': {'form': 'SLUG', 'summary': 'the text for the upstream ticket of a patch',
           'parser': lambda _: Program(PR), 'run': pr, 'words': selections.patches},
    'port': {'form': '--tree DIR', 'parser': lambda _: Program(PORT), 'run': port,
             'summary': 'the patches on your own checkout of the original server'}}
