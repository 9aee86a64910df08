#!/usr/bin/env python3
"""Checks the model of commit, flush and recovery (docs/model/journal.pml) with spin.

Usage: tests/model/run.py [--writes 4 --crashes 2]
       tests/model/run.py --trail MISTAKE [--with FLUSH]    shows the steps that lead to a loss

Each variant must hold in every state that can be reached; each mistake that the model lists must be
found in the variant that it names. A flush with what it has noted and copied has so many states
that three writes and two crashes would need more than MEMORY_MB: it gets two smaller worlds, and
with entries, since files are closed in the model too, the smaller one of these.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))

import choice  # noqa: E402
from totals import Totals  # noqa: E402

MODEL = os.path.join(TOP, 'docs', 'model', 'journal.pml')
# (definitions, the (writes, crashes) that are tried)
VARIANTS = (([], [(3, 2)]), (['FLUSH'], [(2, 2), (3, 1)]), (['ENTRIES'], [(3, 2)]),
            (['FLUSH', 'ENTRIES'], [(2, 2)]))
MISTAKE = re.compile(r'^ \* +(\d+) +(.*?)(?: \((FLUSH|ENTRIES)\))?$', re.MULTILINE)
MISTAKE_WRITES = 3  # as few as show all of them
COMPILE = ['gcc', '-O2', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c']
DEPTH_MAX = 100000
MEMORY_MB = 4096


def mistakes():
    """[(number, what it is, the variant it is one of)]"""
    with open(MODEL, encoding='utf-8') as file:
        return [(int(number), text, [variant] if variant else [])
                for number, text, variant in MISTAKE.findall(file.read())]


class Check:
    """A model with some definitions, and what spin says of it."""

    def __init__(self, folder, definitions):
        self.folder = folder
        self.words = ['-D' + word for word in definitions]
        shutil.copy(MODEL, folder)  # spin looks for the trail beside it
        self.run(['spin', '-a'] + self.words + [os.path.basename(MODEL)])
        self.run(COMPILE + ['-DMEMLIM=%d' % MEMORY_MB])
        said = self.run(['./pan', '-m%d' % DEPTH_MAX])
        self.states = int(re.search(r'^ *(\d+) states, stored', said, re.MULTILINE)[1])
        self.errors = int(re.search(r'errors: (\d+)', said)[1])
        self.whole = not re.search(r'max search depth too small|out of memory|reached -DMEMLIM|'
                                   r'Search not completed', said)

    def run(self, words):
        run = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode != 0:
            sys.exit('%s failed:\n%s' % (' '.join(words), run.stdout))
        return run.stdout

    def trail(self):
        return self.run(['spin', '-t', '-p', '-g'] + self.words + [os.path.basename(MODEL)])


def check(definitions):
    with tempfile.TemporaryDirectory() as folder:
        return Check(folder, definitions)


def show_trail(mistake, variants, writes):
    with tempfile.TemporaryDirectory() as folder:
        found = Check(folder, variants + ['MISTAKE=%d' % mistake, 'WRITES=%d' % writes])
        if not found.errors:
            sys.exit('nothing is lost in %d states' % found.states)
        print(found.trail())


def add_variant(totals, variant, writes, crashes):
    started = time.monotonic()
    found = check(variant + ['WRITES=%d' % writes, 'CRASHES=%d' % crashes])
    holds = found.whole and not found.errors
    totals.add('%s, %d writes, %d crashes: %d states, %.0f s%s' % (
        ' and '.join(variant) or 'base', writes, crashes, found.states,
        time.monotonic() - started,
        '' if found.whole else '; not all: they need more than %d MB' % MEMORY_MB),
        int(holds), int(not holds))


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--writes', type=int, choices=range(1, 5),
                        help='of every variant, with --crashes')
    parser.add_argument('--crashes', type=int, choices=range(1, 4))
    parser.add_argument('--trail', type=int, metavar='MISTAKE')
    parser.add_argument('--with', dest='variants', action='append', default=[],
                        choices=['FLUSH', 'ENTRIES'])
    arguments = parser.parse_args()
    if arguments.trail is not None:
        show_trail(arguments.trail, arguments.variants, arguments.writes or MISTAKE_WRITES)
        return
    totals = Totals()
    for variant, sizes in VARIANTS:
        if arguments.writes or arguments.crashes:
            sizes = [(arguments.writes or 3, arguments.crashes or 2)]
        for writes, crashes in sizes:
            add_variant(totals, variant, writes, crashes)
    listed = mistakes()
    if len(listed) < 8:
        totals.add('%d mistakes listed in %s' % (len(listed), MODEL), 0, 1)
    for number, text, variant in listed:
        found = check(variant + ['WRITES=%d' % MISTAKE_WRITES, 'MISTAKE=%d' % number])
        totals.add('mistake %d, %s: %s' % (number, text, 'found' if found.errors else 'not found'),
                   int(found.errors > 0), int(found.errors == 0))
    totals.close()


if __name__ == '__main__':
    main()
