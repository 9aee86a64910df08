"""Puts one deliberate fault after the other into the sources and runs the test that must fail for
it.

A mutant is a step of the safety rules left out or done in the wrong order, or an undo that is
missing (mutants.py says how the lists *.txt are read). For each, the one changed file is compiled
apart, the test binary linked with it, and its test run. Killed: the test fails, or does not come to
its end. Survived: it passes, so that fault would go unnoticed.
Those of the order of commit, flush and recovery are judged once more: the fault is in crash_states
(src/crash/), and a state of its histories must show it, without any unit test, among as many as the
list says. Before, as many states of the sources as they are must show nothing.
NAME is a part of a mutant's name."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder)
                for folder in ('site_scons', 'tests/lib', 'tests/mutants')]

import choice  # noqa: E402
import mutants  # noqa: E402
import server  # noqa: E402
from totals import Totals  # noqa: E402

SCRATCH = os.path.join(TOP, 'build', 'mutants')
LEAST_SECONDS = 30  # a test that then still runs hangs
TIMES_AS_LONG = 20
MISUSED = 2  # crash_states cannot begin
SEED = 4  # of the histories
SECONDS_PER_STATE_MAX = 0.1


class Build:
    """Programs with a selection of patches, and how they are made."""

    def __init__(self, selection, programs):
        self.stage = server.folder_of(selection)
        targets = programs + ['commands']
        if subprocess.run(server.scons(selection) + targets, cwd=TOP).returncode != 0:
            sys.exit('mutants: the build of the sources as they are failed')
        with open(os.path.join(self.stage, 'commands.json'), encoding='utf-8') as file:
            self.commands = json.load(file)

    def source(self, path):
        """The text of a file as it is built: later patches may have changed what one brings."""
        return pathlib.Path(os.path.join(self.stage, path)).read_text('utf-8')

    def make(self, mutant, program, folder):
        """A program with the fault in it. folder: a fresh one inside SCRATCH."""
        changed = os.path.join(folder, mutant.path)
        os.makedirs(os.path.dirname(changed))
        pathlib.Path(changed).write_text(mutant.apply(self.source(mutant.path)), 'utf-8')
        if mutant.compiled != mutant.path:
            changed = os.path.join(self.stage, mutant.compiled)
        made = 'obj/%s.o' % os.path.splitext(mutant.compiled)[0]
        library = next((name for name, words in self.commands['made'].items()
                        if name.startswith('lib/') and made in words), None)
        if library is None:
            raise mutants.MutantError('%s is in no library' % mutant.path)
        fresh = os.path.join(folder, os.path.basename(made))
        self.run(['ccache'] * bool(shutil.which('ccache')) + self.commands['compile']
                 + ['-iquote', os.path.join(folder, 'src'), '-c', '-o', fresh, changed])
        archive = os.path.join(folder, os.path.basename(library))
        shutil.copyfile(os.path.join(self.stage, library), archive)
        self.run(['ar', 'rD', archive, fresh])
        binary = os.path.join(folder, program)
        inputs = self.commands['made']['bin/' + program]
        self.run(self.commands['link'] + ['-o', binary]
                 + [archive if word == library else word for word in inputs])
        return binary

    def run(self, words):
        run = subprocess.run(words, cwd=self.stage, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors='replace')
        if run.returncode != 0:
            raise mutants.MutantError('it does not compile:\n%s' % run.stdout)


def run_test(binary, mutant, seconds):
    """(how it ended, what it printed): 'passed', 'failed', 'hung' or 'no such test'."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        try:
            run = subprocess.run(
                [binary, '--gtest_brief=1', '--gtest_fail_fast',
                 '--gtest_filter=' + mutant.gtest_filter()], cwd=folder, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors='replace', timeout=seconds,
                env=dict(os.environ, TMPDIR=folder, TEST_SLICE='whole'))
        except subprocess.TimeoutExpired:
            return 'hung', ''
    if re.search(r'^\[=+\] (?:Running )?0 tests', run.stdout, re.M):
        return 'no such test', run.stdout
    return 'passed' if run.returncode == 0 else 'failed', run.stdout


def run_campaign(binary, states):
    """(how it ended, what it printed last): 'passed', 'failed' or 'hung'."""
    try:
        run = subprocess.run(
            [binary, '--states', str(states), '--seed', str(SEED), '--faults', '1'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace',
            timeout=LEAST_SECONDS + states * SECONDS_PER_STATE_MAX)
    except subprocess.TimeoutExpired:
        return 'hung', ''
    if run.returncode == MISUSED:
        raise mutants.MutantError(run.stdout)
    return 'passed' if run.returncode == 0 else 'failed', run.stdout


class Campaign:
    """Judges by the states of histories alone."""

    def __init__(self, chosen):
        self.builds = {selection: Build(selection, ['crash_states'])
                       for selection in sorted({mutant.selection() for mutant in chosen})}
        for selection, build in self.builds.items():
            most = max(mutant.states for mutant in chosen if mutant.selection() == selection)
            ended, output = run_campaign(os.path.join(build.stage, 'bin', 'crash_states'), most)
            if ended != 'passed':
                print(output)
                sys.exit('mutants: %d states of the sources as they are: %s' % (most, ended))

    def judge(self, mutant):
        """(mutant, whether it was killed, a sentence)"""
        try:
            with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
                binary = self.builds[mutant.selection()].make(mutant, 'crash_states', folder)
                ended, output = run_campaign(binary, mutant.states)
        except mutants.MutantError as error:
            return mutant, False, str(error)
        if ended == 'passed':
            return mutant, False, 'survived %d states; it breaks %s' % (mutant.states,
                                                                        mutant.breaks)
        tried = re.search(r'^(\d+) states of ', output, re.M)
        fault = re.search(r'^FAILED .*?--at (.*)', output, re.M)
        return mutant, True, 'killed %s of at most %d: %s' % (
            'by state %s' % tried[1] if tried else 'in some state', mutant.states,
            fault[1][:200] if fault else 'it %s' % ended)


class Runner:
    def __init__(self, chosen):
        self.builds = {
            selection: Build(selection, sorted({'test_' + mutant.room for mutant in chosen
                                                if mutant.selection() == selection}))
            for selection in sorted({mutant.selection() for mutant in chosen})}
        self.seconds = {}  # of each killer on the sources as they are
        for mutant in chosen:
            if mutant.test in self.seconds:
                continue
            started = time.monotonic()
            binary = os.path.join(self.builds[mutant.selection()].stage, 'bin',
                                  'test_' + mutant.room)
            ended, output = run_test(binary, mutant, 600)
            self.seconds[mutant.test] = time.monotonic() - started
            if ended != 'passed':
                print(output)
                sys.exit('mutants: %s of test_%s: %s, on the sources as they are'
                         % (mutant.test, mutant.room, ended))

    def judge(self, mutant):
        """(mutant, whether it was killed, a sentence)"""
        limit = max(LEAST_SECONDS, TIMES_AS_LONG * self.seconds[mutant.test])
        try:
            with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
                binary = self.builds[mutant.selection()].make(mutant, 'test_' + mutant.room, folder)
                ended, _ = run_test(binary, mutant, limit)
        except mutants.MutantError as error:
            return mutant, False, str(error)
        if ended == 'passed':
            return mutant, False, 'survived %s; it breaks %s' % (mutant.test, mutant.breaks)
        return mutant, True, 'killed by %s%s' % (mutant.test, '' if ended == 'failed' else
                                                 ', which %s' % ended)


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--jobs', type=choice.count(), default=os.cpu_count())
    parser.add_argument('--only', choices=['unit', 'campaign'])
    parser.add_argument('--states', type=choice.count(), help='instead of what the list says')
    parser.add_argument('names', nargs='*')
    arguments = parser.parse_args()
    try:
        listed, _ = mutants.read_all()
    except mutants.MutantError as error:
        sys.exit('mutants: %s' % error)
    names = choice.with_any(arguments.names, [mutant.name for mutant in listed], 'mutant')
    chosen = [mutant for mutant in listed if mutant.name in names]
    judged = []
    if arguments.only != 'campaign':
        judged.append((Runner, [mutant for mutant in chosen if mutant.room]))
    if arguments.only != 'unit':
        judged.append((Campaign, [mutant for mutant in chosen if mutant.states]))
    if not any(of_it for _, of_it in judged):
        sys.exit('mutants: none of these is judged by the %s' % arguments.only)
    if arguments.states:
        for mutant in chosen:
            mutant.states = arguments.states if mutant.states else 0
    os.makedirs(SCRATCH, exist_ok=True)
    totals = Totals()
    for judge, of_it in judged:
        if of_it:
            judge_all(judge(of_it), of_it, arguments.jobs, totals)
    totals.close()


def judge_all(judge, chosen, jobs, totals):
    """Prints what came of each, and adds it to the totals."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (mutant, killed, what) in enumerate(pool.map(judge.judge, chosen), 1):
            totals.passed += killed
            totals.failed += not killed
            print('%s %d/%d %s: %s' % ('ok  ' if killed else 'FAIL', number, len(chosen),
                                       mutant.name, what), flush=True)


if __name__ == '__main__':
    main()
