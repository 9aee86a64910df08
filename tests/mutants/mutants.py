"""The list of mutants: *.txt beside this file. A mutant is one deliberate fault in the sources,
with the unit test that must fail for it:

    mutant: used-file-keeps-its-header
    breaks: J3, the header of a used file is wiped before it is spare
    killer: journal JournalTest.AUsedFileIsWipedBetweenItsNames
    --- src/journal/file_pool.cpp
      const auto file = files_.open(transient, {.access = os::Access::read_write});
    - file->write_at(0, span_of(zeros(kFileHeaderBytes)));
    + the line that takes its place

The lines that stay and those that go, taken together and without their indentation, must stand in
the file exactly once. Behind a header stands the source that is compiled with it. `killer` is the
room whose test binary it is, and the test. `breaks` names the safety rule (heads of journal.h and
group_commit.h) or says in words what is lost.

A mutant of the order of commit, flush and recovery also has what the campaign of power cuts and
kills (src/crash/) makes of it alone, without any unit test:

    campaign: 2000                   it finds the fault among so many states
    campaign: none, and here why     no state shows it, or only one that is too rare

Such a mutant may be without a `killer`. Of the order is a step of commit, flush, closing, rotation,
removal or recovery that is left out or comes too early, where only a cut, a kill or a call that
fails at the right moment shows it. Not of it, and without the line, is what is refused, counted,
bounded or said, and what damage or another program has made of a file. One of the order that has no
line has not been tried alone.

Sources are compiled with their DCHECKs (base/dcheck.h), some of which kill mutants that no test
would notice by what they do.

After a line `patch: SLUG` the file is one that this patch brings, and the test runs in a build of
the whole series.

A line `kept: FILE: LINE: why` names a call of sync that no mutant removes."""

import glob
import os
import pathlib
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
from added_files import added_by  # noqa: E402


class MutantError(Exception):
    """A list cannot be read, or a mutant does not fit the sources; the text says which and why."""


class Mutant:
    def __init__(self, name, where):
        self.name, self.where = name, where
        self.breaks = self.room = self.test = self.path = self.compiled = self.patch = ''
        self.states = 0     # among which the campaign finds it; 0: it does not
        self.no_state = ''  # why
        self.old, self.new, self.removed = [], [], []

    def check(self):
        needed = ['breaks', 'path'] + ([] if self.states and not self.room else ['room', 'test'])
        for field in needed:
            if not getattr(self, field):
                raise MutantError('%s: mutant %s lacks its %s' % (
                    self.where, self.name, 'killer' if field in ('room', 'test') else field))
        if self.old == self.new or not self.old:
            raise MutantError('%s: mutant %s changes nothing' % (self.where, self.name))

    def apply(self, text):
        lines = text.split('\n')
        bare = [line.strip() for line in lines]
        places = [at for at in range(len(bare) - len(self.old) + 1)
                  if bare[at:at + len(self.old)] == self.old]
        if len(places) != 1:
            raise MutantError('%s: the lines of mutant %s stand %s in %s' % (
                self.where, self.name, 'nowhere' if not places else '%d times' % len(places),
                self.path))
        return '\n'.join(lines[:places[0]] + self.new + lines[places[0] + len(self.old):])

    def source(self):
        return added_by(self.patch)[self.path] if self.patch else source(self.path)

    def selection(self):
        return 'all' if self.patch else 'none'

    def gtest_filter(self):
        """Also of a test with parameters."""
        return '%s:*/%s/*' % (self.test, self.test)


class Kept:
    """A call of sync that has no mutant."""

    def __init__(self, path, line, why):
        self.path, self.line, self.why = path, line, why


def parse(text, name):
    """(mutants, kept) of one list."""
    mutants, kept = [], []
    current = None
    in_hunk = False
    patch = ''
    for number, line in enumerate(text.split('\n'), 1):
        where = '%s:%d' % (name, number)
        field = re.match(r'(mutant|breaks|killer|campaign|kept|patch): (.*)$', line)
        if not line.strip():
            in_hunk = False
        elif field and field[1] == 'patch':
            patch = field[2]
        elif field and field[1] == 'mutant':
            current = Mutant(field[2], where)
            current.patch = patch
            mutants.append(current)
            in_hunk = False
        elif field and field[1] == 'kept':
            words = re.match(r'(\S+): (.+;): (.+)$', field[2])
            if not words:
                raise MutantError('%s: not FILE: LINE: why' % where)
            kept.append(Kept(*words.groups()))
        elif line.startswith('#') and not in_hunk:
            continue
        elif current is None:
            raise MutantError('%s: no mutant begins here' % where)
        elif in_hunk:
            if line[0] not in ' -+':
                raise MutantError('%s: a line begins with a blank, - or +' % where)
            words = line[1:].strip()
            if line[0] in ' -':
                current.old.append(words)
            if line[0] in ' +':
                current.new.append(words)
            if line[0] == '-':
                current.removed.append(words)
        elif field and field[1] == 'breaks':
            current.breaks = field[2]
        elif field and field[1] == 'campaign':
            words = re.match(r'([1-9]\d*)$|none, (.+)$', field[2])
            if not words:
                raise MutantError('%s: not a number of states, nor "none, " and why' % where)
            current.states, current.no_state = int(words[1] or 0), words[2] or ''
        elif field:
            current.room, _, current.test = field[2].partition(' ')
        elif line.startswith('--- '):
            current.path, *through = line[4:].split()
            current.compiled = through[0] if through else current.path
            in_hunk = True
        else:
            raise MutantError('%s: what is this?' % where)
    for mutant in mutants:
        mutant.check()
    return mutants, kept


def read_all():
    """(mutants, kept) of all lists."""
    mutants, kept = [], []
    for path in sorted(glob.glob(os.path.join(HERE, '*.txt'))):
        found = parse(pathlib.Path(path).read_text('utf-8'), os.path.basename(path))
        mutants += found[0]
        kept += found[1]
    names = [mutant.name for mutant in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise MutantError('two mutants are called %s' % ', '.join(sorted(twice)))
    return mutants, kept


def source(path):
    return pathlib.Path(os.path.join(TOP, path)).read_text('utf-8')
