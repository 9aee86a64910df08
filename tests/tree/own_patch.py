"""A patch of one's own, from its first lines to its ticket: the commands of patches/README.md, "Add
one", as they stand there, in a copy of the tree.

Where the page says that its author edits, this writes an option that logs one more line. Before
that the checker must name what is left to write and nothing else. A second patch then asks for its
option in the same file: beside the first one's lines it is refused in a sentence, elsewhere taken.
Usage: python3 tests/tree/own_patch.py"""

import argparse
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('tests/lib', 'tests/tree')]

from test_style import tracked_files  # noqa: E402
from totals import Totals  # noqa: E402

PAGE = 'patches/README.md'
SLUG, OTHER = 'journal-say-more', 'journal-say-less'
# What the page has its reader run that takes long, or that the other parts of the tests do.
NOT_RUN = ('./lab docs', './lab test syscalls')
INSTALLED = ('venv*', 'mongosh', 'node*')  # in build/, by ./lab

WORDS = [('From: .*', 'From: Jane Doe <jane@doe.net>'),
         ('Say what is wrong, .*', 'The log does not say how large journal files are.'),
         ('Say what the change does .*', 'Log it, if the option is on. Not covered: spare files.')]
SOURCE_WORDS = [('say in a line what it changes', 'logs the size of journal files'),
                ('Say why one would want that', 'Files are preallocated, so ls does not tell'),
                ('Says what it does, and what it costs', 'Logs the size of journal files'),
                ('Say which calls it changes; here none', 'It changes no call')]
PREPARE = '    pool_.prepare(settings_.preallocation_allowed);\n'
LOGS = '    if (say_more.get()) base::log::info("journal files of {} bytes", pool_.file_bytes());\n'
ENSURE = '    ensure_open();\n}\n\n// A tenth more than the files that are still to be made'
OPEN = '    if (file_) return;\n    try {\n'


class Tree:
    """A copy of this one, with what ./lab has installed."""

    def __init__(self, folder):
        self.top = os.path.join(folder, 'tree')
        for name in tracked_files():
            if os.path.isfile(os.path.join(TOP, name)):
                os.makedirs(os.path.dirname(os.path.join(self.top, name)), exist_ok=True)
                shutil.copy2(os.path.join(TOP, name), os.path.join(self.top, name))
        os.makedirs(os.path.join(self.top, 'build'))
        for pattern in INSTALLED:
            for path in glob.glob(os.path.join(TOP, 'build', pattern)):
                os.symlink(path, os.path.join(self.top, 'build', os.path.basename(path)))

    def path(self, name):
        return os.path.join(self.top, name)

    def read(self, name):
        return pathlib.Path(self.path(name)).read_text('utf-8')

    def replace(self, name, *changes, plain=False):
        """Each must be there."""
        text = self.read(name)
        for old, new in changes:
            text, count = re.subn(re.escape(old) if plain else old, lambda _, new=new: new, text)
            if not count:
                raise AssertionError('%s: there is no "%s"' % (name, old))
        pathlib.Path(self.path(name)).write_text(text, 'utf-8')

    def __call__(self, command):
        """(exit code, output) of a line of the page."""
        run = subprocess.run(['bash', '-euc', command], cwd=self.top, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode, run.stdout

    def series(self):
        return {name: self.read('patches/' + name)
                for name in os.listdir(self.path('patches')) if name.endswith(('.patch', 'series'))}


def lines_of_page(tree):
    section = re.search(r'^## Add one$(.*?)^## ', tree.read(PAGE), re.M | re.S)[1]
    return [re.sub(r' {2,}.*', '', line) for line in re.findall(r'^    (\S.*)$', section, re.M)]


def edit(tree, slug):
    """As an author would, with another name and another line for the second one."""
    place = 'build/patch/%s/' % slug
    file = slug.split('-', 1)[1].replace('-', '_')
    tree.replace(place + 'header.txt', *WORDS)
    tree.replace(place + 'src/journal/options/%s.cpp' % file, *SOURCE_WORDS[:3])
    tree.replace('jstests/patches/%s.js' % slug, SOURCE_WORDS[0])
    tree.replace('perf/templates/%s.txt' % slug, SOURCE_WORDS[3])


def try_recipe(tree, check):
    ran = 0
    for line in lines_of_page(tree):
        if line.startswith('...'):
            code, said = tree('./lab patch refresh ' + SLUG)
            findings = [each for each in said.splitlines()
                        if each.startswith((SLUG, 'jstests', 'perf')) and ' waits for ' not in each]
            check('unedited, each finding is about what is to be written',
                  code == 1 and 0 < len(findings) < 10
                  and all('is what the template asks for' in each or 'address' in each
                          for each in findings), said)
            edit(tree, SLUG)
            tree.replace('build/patch/%s/src/journal/journal.cpp' % SLUG,
                         (PREPARE, PREPARE + LOGS), plain=True)
        elif not line.startswith(NOT_RUN):
            code, said = tree(line)
            ran += 1
            check(line, code == 0 and not (' test js ' in line and 'skipped' in
                                           said.splitlines()[-1]), said)
            if ' refresh ' in line:
                check('the series has 0 findings', ', 0 findings' in said, said)
    check('the page has the whole recipe', ran >= 5, lines_of_page(tree))
    patch = tree.read('patches/%s.patch' % SLUG)
    check('the patch has the option and its use',
          '+++ b/src/journal/options/say_more.cpp' in patch and '+' + LOGS in patch, patch)


def try_beginning_again(tree, check):
    code, said = tree('./lab patch edit ' + SLUG)
    check('what is in the patch can be edited anew', code == 0, said)
    code, said = tree('./lab patch refresh ' + SLUG)
    check('without an edit it stays as it is, and says so', code == 0 and
          'patches/%s.patch is as it was' % SLUG in said and '.patch written' not in said, said)
    tree.replace('build/patch/%s/header.txt' % SLUG, ('spare files', 'files made in advance'))
    code, said = tree('./lab patch edit ' + SLUG)
    check('what is not in it is not dropped', code == 1 and 'no patch' in said, said)


def try_second(tree, check):
    """One that asks for its option in the same file."""
    code, said = tree('./lab patch new ' + OTHER)
    check('a second one begins', code == 0, said)
    edit(tree, OTHER)
    source, before = 'build/patch/%s/src/journal/journal.cpp' % OTHER, tree.series()
    tree.replace(source, (ENSURE, '    if (say_less.get()) return;\n' + ENSURE), plain=True)
    code, said = tree('./lab patch refresh ' + OTHER)
    check('beside the lines of the first it is refused, with the place', code == 1 and re.search(
        r'^%s\.patch and %s\.patch edit lines within three of each other, in src/journal/journal'
        r'\.cpp near line \d+' % (SLUG, OTHER), said, re.M), said)
    check('and nothing is written', tree.series() == before)
    tree.replace(source, ('    if (say_less.get()) return;\n', ''), (OPEN, OPEN.replace(
        'return', 'return;\n    if (say_less.get()) base::log::info("opening a journal file")')),
        plain=True)
    code, said = tree('./lab patch refresh ' + OTHER)
    check('elsewhere in the same file it is taken', code == 0 and ', 0 findings' in said, said)


def main():
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    totals = Totals()

    def check(name, good, said=''):
        if not good:
            print(said)
        totals.add(name, bool(good), not good)
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='own-patch-', dir=scratch) as folder:
        tree = Tree(folder)
        try_recipe(tree, check)
        try_beginning_again(tree, check)
        try_second(tree, check)
    totals.close()


if __name__ == '__main__':
    main()
