"""tests/last_full_run: what came of the long parts of the suite when they last ran whole.

It is written by a run only, and only where the sources are those of a commit. Every long part has a
line. "PART not-run-yet DATE" is that of one which had not run when lines became a duty: a run puts
its own in place of it, no line of that kind comes anew, and none outlives COMMITS_MAX commits."""

import datetime
import os
import subprocess

NAME = os.path.join('tests', 'last_full_run')
USUAL = os.path.join('build', 'last_usual_run')  # of the usual parts together, here: COMMIT FAILED
HEAD = '# PART COMMIT DATE PASSED FAILED SKIPPED SECONDS, written by ./lab test'
COMMITS_MAX = 300  # since the run
NOT_RUN = 'not-run-yet'
NOT_RUN_DATE_MAX = '2026-11-26'


class GitError(Exception):
    """Not a checkout, or the commit is not in it."""


def git(top, *words):
    run = subprocess.run(['git', '-C', top, *words], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
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

    def add_usual(self, counts):
        """After a run of all usual parts."""
        if self.commit is not None and commit_of(self.top) == self.commit:
            with open(os.path.join(self.top, USUAL), 'w', encoding='utf-8') as file:
                print(self.commit, counts[1], file=file)


def usual_problem(top):
    """What must not be before a release; None if the usual parts passed here, on these sources."""
    try:
        with open(os.path.join(top, USUAL), encoding='utf-8') as file:
            commit, failed = file.read().split()
    except FileNotFoundError:
        return 'the usual parts have not run here on the sources of a commit'
    if failed != '0':
        return '%s failed' % failed
    try:
        changed = git(top, 'diff', '--name-only', commit, 'HEAD', '--', '.', ':!' + NAME).split()
    except GitError:
        return 'the usual parts ran on %s, which is not in this history' % commit
    return 'changed since they passed: ' + ', '.join(changed) if changed else None


def problem(top, part, words):
    """What must not be, in a sentence; None if the part passed lately, or need not have run yet."""
    if words is None:
        return 'has no line in %s; a long part has to run' % NAME
    if words[0] == NOT_RUN:
        if words[1] > NOT_RUN_DATE_MAX:
            return '"%s" is for parts of before %s; it has to run' % (NOT_RUN, NOT_RUN_DATE_MAX)
        if git(top, 'log', '-1', '--format=%h', '-G', '^%s [0-9a-f]{40} ' % part, '--', NAME):
            return 'has run before, as git log %s shows; that line was taken away' % NAME
        age = int(git(top, 'rev-list', '--count', '--since=%sT23:59:59Z' % words[1], 'HEAD'))
        if age > COMMITS_MAX:
            return 'has not run yet, %d commits after %s; %d are allowed' % (
                age, words[1], COMMITS_MAX)
        return None
    commit, date, _, failed, *_ = words
    if failed != '0':
        return '%s failed on %s' % (failed, date)
    try:
        git(top, 'merge-base', '--is-ancestor', commit, 'HEAD')
        age = int(git(top, 'rev-list', '--count', commit + '..HEAD'))
    except GitError:
        return 'ran on %s, which is not in this history' % commit
    if age > COMMITS_MAX:
        return 'ran %d commits ago, on %s; %d are allowed' % (age, date, COMMITS_MAX)
    return None


def problems(top, parts):
    """The sentences about these parts."""
    record = read(top)
    found = [(part, problem(top, part, record.get(part))) for part in parts]
    return ['%s: %s' % each for each in found if each[1]]


def is_whole_history(top):
    """Whether commits can be counted here."""
    try:
        return git(top, 'rev-parse', '--is-shallow-repository') == 'false'
    except (GitError, FileNotFoundError):
        return False
