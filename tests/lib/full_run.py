"""tests/last_full_run: what came of the long parts of the suite when they last ran whole.

It is written by a run only, and only where the sources are those of a commit.
"""

import datetime
import os
import subprocess

NAME = os.path.join('tests', 'last_full_run')
HEAD = '# PART COMMIT DATE PASSED FAILED SKIPPED SECONDS, written by tests/run.py'
COMMITS_MAX = 300  # since the run


class GitError(Exception):
    """Not a checkout, or the commit is not in it."""


def git(top, *words):
    run = subprocess.run(['git', '-C', top, *words], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False)
    if run.returncode != 0:
        raise GitError(' '.join(words))
    return run.stdout.strip()


def commit_of(top):
    """The commit that the sources are; None where they differ from it, and outside a checkout."""
    try:
        changed = [line for line in git(top, 'status', '--porcelain', '-uall').splitlines()
                   if line.split()[-1] != NAME]
        return None if changed else git(top, 'rev-parse', 'HEAD')
    except (GitError, FileNotFoundError):
        return None


def read(top):
    """{part: its other words} of the record; nothing before the first run."""
    try:
        with open(os.path.join(top, NAME), encoding='utf-8') as file:
            return {part: words for part, *words in map(str.split, file) if part != '#'}
    except FileNotFoundError:
        return {}


class Record:
    """Takes down what a run gives, for sources that do not change during it."""

    def __init__(self, top):
        self.top, self.commit = top, commit_of(top)

    def add(self, part, counts, seconds):
        """Returns a line that says what was done."""
        if self.commit is None or commit_of(self.top) != self.commit:
            return '   not taken down in %s: the sources are not those of a commit\n' % NAME
        lines = dict(read(self.top))
        lines[part] = [self.commit, datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
                       *map(str, counts), '%.0f' % seconds]
        with open(os.path.join(self.top, NAME), 'w', encoding='utf-8') as file:
            print(HEAD, file=file)
            for name in sorted(lines):
                print(name, *lines[name], file=file)
        return '   taken down in %s, to be committed\n' % NAME


def problems(top, parts):
    """(what must not be, parts that never ran) of these parts, in sentences."""
    record, wrong = read(top), []
    for part in parts:
        if part not in record:
            continue
        commit, date, _, failed, *_ = record[part]
        if failed != '0':
            wrong.append('%s: %s failed on %s' % (part, failed, date))
            continue
        try:
            git(top, 'merge-base', '--is-ancestor', commit, 'HEAD')
            age = int(git(top, 'rev-list', '--count', commit + '..HEAD'))
        except GitError:
            wrong.append('%s: ran on %s, which is not in this history' % (part, commit))
            continue
        if age > COMMITS_MAX:
            wrong.append('%s: ran %d commits ago, on %s; %d are allowed'
                         % (part, age, date, COMMITS_MAX))
    return wrong, [part for part in parts if part not in record]


def is_whole_history(top):
    """Whether commits can be counted here."""
    try:
        return git(top, 'rev-parse', '--is-shallow-repository') == 'false'
    except (GitError, FileNotFoundError):
        return False
