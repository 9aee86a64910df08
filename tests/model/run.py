#!/usr/bin/env python3
"""Checks the models of commit, flush and recovery (docs/model/journal.pml), and of elections
(docs/model/election.pml), with spin.

Usage: tests/model/run.py [--model journal|election] [--writes 4 --crashes 2]
       tests/model/run.py [--model election] --trail MISTAKE [--with FLUSH]    shows the steps that
                                                                               lead to a loss

Each variant must hold in every state that can be reached; each mistake that the model lists must be
found in the variant that it names. A flush with what it has noted and copied has so many states
that three writes and two crashes would need more than MEMORY_MB: it gets two smaller worlds, and
with entries, since files are closed in the model too, the smaller one of these. --writes and
--crashes are of the journal's model."""

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

MODELS = os.path.join(TOP, 'docs', 'model')
MISTAKE = re.compile(r'^ \* +(\d+) +(.*?)(?: \((FLUSH|ENTRIES)\))?$', re.M)
COMPILE = ['gcc', '-O2', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c']
DEPTH_MAX = 100000
MEMORY_MB = 4096


class Model:
    """A file, the worlds in which it must hold, as lists of definitions, and the one in which its
    mistakes are looked for: as small as shows all of them."""

    def __init__(self, name, worlds, of_mistakes):
        self.path = os.path.join(MODELS, name + '.pml')
        self.worlds, self.of_mistakes = worlds, of_mistakes

    def mistakes(self):
        """[(number, what it is, the variant it is one of)]"""
        with open(self.path, encoding='utf-8') as file:
            return [(int(number), text, [variant] if variant else [])
                    for number, text, variant in MISTAKE.findall(file.read())]


def journal(variant, writes, crashes):
    return variant + ['WRITES=%d' % writes, 'CRASHES=%d' % crashes]


JOURNAL_VARIANTS = ([], ['FLUSH'], ['ENTRIES'], ['FLUSH', 'ENTRIES'])
KNOWN = {
    'journal': Model('journal', [journal([], 3, 2), journal(['FLUSH'], 2, 2),
                                 journal(['FLUSH'], 3, 1), journal(['ENTRIES'], 3, 2),
                                 journal(['FLUSH', 'ENTRIES'], 2, 2)], ['WRITES=3']),
    'election': Model('election', [['TERMS=2', 'ENTRIES=0', 'CRASHES=1']],
                      ['TERMS=2', 'ENTRIES=0', 'CRASHES=1']),
}


class Check:
    def __init__(self, folder, model, definitions):
        self.folder = folder
        self.words = ['-D' + word for word in definitions]
        self.file = os.path.basename(model.path)
        shutil.copy(model.path, folder)  # spin looks for the trail beside it
        self.run(['spin', '-a'] + self.words + [self.file])
        self.run(COMPILE + ['-DMEMLIM=%d' % MEMORY_MB])
        said = self.run(['./pan', '-m%d' % DEPTH_MAX])
        self.states = int(re.search(r'^ *(\d+) states, stored', said, re.M)[1])
        self.errors = int(re.search(r'errors: (\d+)', said)[1])
        self.whole = not re.search(r'max search depth too small|out of memory|reached -DMEMLIM|'
                                   r'Search not completed', said)

    def run(self, words):
        run = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit('%s failed:\n%s' % (' '.join(words), run.stdout))
        return run.stdout

    def trail(self):
        return self.run(['spin', '-t', '-p', '-g'] + self.words + [self.file])


def check(model, definitions):
    with tempfile.TemporaryDirectory() as folder:
        return Check(folder, model, definitions)


def show_trail(model, mistake, variants, writes):
    world = ['WRITES=%d' % writes] if writes else model.of_mistakes
    definitions = variants + world + ['MISTAKE=%d' % mistake]
    with tempfile.TemporaryDirectory() as folder:
        found = Check(folder, model, definitions)
        if not found.errors:
            sys.exit('nothing is lost in %d states' % found.states)
        print(found.trail())


def add_world(totals, model, definitions):
    started = time.monotonic()
    found = check(model, definitions)
    holds = found.whole and not found.errors
    totals.add('%s, %s: %d states, %.0f s%s' % (
        os.path.basename(model.path), ' '.join(definitions), found.states,
        time.monotonic() - started,
        '' if found.whole else '; not all: they need more than %d MB' % MEMORY_MB),
        int(holds), int(not holds))


def add_mistakes(totals, model):
    listed = model.mistakes()
    if len(listed) < 8:
        totals.add('%d mistakes listed in %s' % (len(listed), model.path), 0, 1)
    for number, text, variant in listed:
        found = check(model, variant + model.of_mistakes + ['MISTAKE=%d' % number])
        totals.add('%s, mistake %d, %s: %s' % (os.path.basename(model.path), number, text,
                                               'found' if found.errors else 'not found'),
                   int(found.errors > 0), int(found.errors == 0))


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--model', choices=sorted(KNOWN))
    parser.add_argument('--writes', type=int, choices=range(1, 5),
                        help='of every variant, with --crashes')
    parser.add_argument('--crashes', type=int, choices=range(1, 4))
    parser.add_argument('--trail', type=int, metavar='MISTAKE')
    parser.add_argument('--with', dest='variants', action='append', default=[],
                        choices=['FLUSH', 'ENTRIES'])
    arguments = parser.parse_args()
    if arguments.trail is not None:
        show_trail(KNOWN[arguments.model or 'journal'], arguments.trail, arguments.variants,
                   arguments.writes)
        return
    if arguments.writes or arguments.crashes:
        arguments.model = 'journal'
        KNOWN['journal'].worlds = [journal(variant, arguments.writes or 3, arguments.crashes or 2)
                                   for variant in JOURNAL_VARIANTS]
    totals = Totals()
    for name in [arguments.model] if arguments.model else sorted(KNOWN):
        for definitions in KNOWN[name].worlds:
            add_world(totals, KNOWN[name], definitions)
        add_mistakes(totals, KNOWN[name])
    totals.close()


if __name__ == '__main__':
    main()
