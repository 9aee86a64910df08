"""Runs the parts of the test suite and adds up their closing lines.

Usage: python3 tests/run.py [--all | PART...] [-- ARGUMENT OF THE PART...]
parts.txt lists the parts. Every part is a script that ends with "N passed, N failed[, N skipped]".
What several parts need is built first, in one go. Then four parts run at a time, as each of them
also waits, the longest first; those last and alone that measure. What they print is not mixed: the
second one's waits until the first has ended. Lines that name a failure are printed again at the
end.
"""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))

import full_run  # noqa: E402
import server  # noqa: E402

PYTHON = {'driver': os.path.join(TOP, 'build', 'venv', 'bin', 'python'), 'python': sys.executable}
TIMES = os.path.join(TOP, 'build', 'test-times.json')  # seconds of each part's last run here

AT_ONCE = 4
SILENCE_SECONDS_MAX = 20  # after that the runner says what is still going on
ENDING_SECONDS_MAX = 5  # of a part after Ctrl-C, until it is killed
EXIT_INTERRUPTED = 130
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)

RUNNING = set()  # processes of parts
FAILURE = re.compile(r'^(FAIL|ERROR)\b')  # of Totals, of unittest
CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


class Part:
    def __init__(self, line):
        name, when, python, beside, builds, seconds, command, what = (
            field.strip() for field in line.split('|'))
        self.name, self.what, self.seconds = name, what, float(seconds)
        self.is_usual = {'usual': True, 'long': False}[when]
        self.is_alone = {'alone': True, 'others': False}[beside]
        self.builds = [word for word in builds.split() if word != '-']
        self.command = [PYTHON[python]] + command.split()


def read_parts(path=os.path.join(TOP, 'tests', 'parts.txt')):
    with open(path, encoding='utf-8') as file:
        parts = [Part(line) for line in file if line.strip() and not line.startswith('#')]
    return {part.name: part for part in parts}


def choose(parts, words):
    """The parts that the command line means, and the arguments for the only one of them."""
    arguments, has_arguments = [], '--' in words
    if has_arguments:
        arguments = words[words.index('--') + 1:]
        words = words[:words.index('--')]
    if words == ['--all']:
        words = list(parts)
    for word in words:
        if word not in parts:
            raise ValueError("no test part '%s'; there are: %s" % (word, ' '.join(parts)))
    if has_arguments and len(words) != 1:
        raise ValueError('arguments after -- need exactly one part before it')
    return [parts[word] for word in words] or [p for p in parts.values() if p.is_usual], arguments


def build(chosen):
    """Builds what the parts need, with one call for each selection of patches. Returns what is
    there then; where something does not compile, the parts say so themselves."""
    wanted = {}
    for part in chosen:
        for word in part.builds:
            selection, target = word.split(':')
            wanted.setdefault(selection, {})[target] = None
    built = []
    for selection, targets in wanted.items():
        print('== building patches=%s ==' % selection, flush=True)
        if subprocess.run(server.scons(selection) + ['-k', *targets], cwd=TOP,
                          stdin=subprocess.DEVNULL, check=False).returncode == 0:
            built += ['%s:%s' % (selection, target) for target in targets]
    return built


class Clock:
    """How long parts take: what the last run here took, else what parts.txt says."""

    def __init__(self, chosen, path=None):
        self.path = path or TIMES
        try:
            with open(self.path, encoding='utf-8') as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            self.known = {}
        self.left = {part.name: (self.known.get(part.name, part.seconds), part.is_alone)
                     for part in chosen}

    def longest_first(self, parts):
        """So that none is left to run by itself at the end."""
        return sorted(parts, key=lambda part: self.left[part.name][0], reverse=True)

    def guess(self):
        at_once = max(min(AT_ONCE, len(self.left)), 1)
        seconds = sum(each if is_alone else each / at_once
                      for each, is_alone in self.left.values())
        return 'about %d min left' % round(seconds / 60) if seconds >= 90 else \
            'about %d s left' % round(seconds)

    def took(self, name, seconds, whole):
        del self.left[name]
        if whole:
            self.known[name] = round(seconds)
            with open(self.path, 'w', encoding='utf-8') as file:
                json.dump(self.known, file)


class Screen:
    """Keeps what parts print at the same time apart: the one that began first prints at once, the
    others when it has ended."""

    def __init__(self):
        self.lock = threading.Lock()
        self.voices = []
        self.failures = []  # the lines that name them
        self.is_silent = False

    def silence(self):
        """Prints nothing from now on."""
        with self.lock:
            self.is_silent = True

    def begin(self):
        with self.lock:
            self.voices.append(Voice(self))
            return self.voices[-1]

    def next(self):
        """Lets those speak whose turn it is now."""
        while self.voices and not self.is_silent:
            for text in self.voices[0].kept:
                print(text, end='', flush=True)
            self.voices[0].kept = []
            if not self.voices[0].is_over:
                return
            self.voices.pop(0)


class Voice:
    """What one part prints on a Screen."""

    def __init__(self, screen):
        self.screen = screen
        self.kept, self.is_over = [], False

    def say(self, text):
        with self.screen.lock:
            self.kept.append(text)
            if FAILURE.match(text):
                self.screen.failures.append(text)
            self.screen.next()

    def hint(self, text):
        """Says it now or not at all."""
        with self.screen.lock:
            if self.screen.voices[0] is self and not self.screen.is_silent:
                print(text, end='', flush=True)

    def end(self):
        with self.screen.lock:
            self.is_over = True
            self.screen.next()


def lines_of(process):
    """The lines that a process prints; None whenever it was silent for long."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put('')

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=SILENCE_SECONDS_MAX)
        except queue.Empty:
            yield None
            continue
        if not line:
            return
        yield line


def adopt():
    """From now on what parts leave behind becomes a child of this process, servers too."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """The children of this process; of a thread that has ended another one takes them over."""
    while True:
        found = []
        try:
            for thread in os.listdir('/proc/self/task'):
                with open('/proc/self/task/%s/children' % thread, encoding='ascii') as file:
                    found += map(int, file.read().split())
            return found
        except (FileNotFoundError, ProcessLookupError):
            continue


def end_children():
    """Kills what is left of a part that was interrupted: its servers are in groups of their own,
    which Ctrl-C does not reach. Those of a child that was killed become ours, and are next."""
    while left := children():
        for child in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def end_parts():
    """After Ctrl-C, which has reached the parts too: waits until they have cleaned up."""
    limit = time.monotonic() + ENDING_SECONDS_MAX
    for process in list(RUNNING):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(limit - time.monotonic(), 0))
    end_children()


def run_part(part, arguments, voice, environment=None):
    """Shows one part's output; returns [passed, failed, skipped]."""
    command = part.command + arguments
    started = time.monotonic()
    counts = None
    # No `with`: after Ctrl-C it would close the pipe while another thread reads from it.
    process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace',
                               env=environment)
    RUNNING.add(process)
    for line in lines_of(process):
        if line is None:
            voice.hint('   %s is at work, %.0f s by now\n'
                       % (part.name, time.monotonic() - started))
            continue
        closing = CLOSING_LINE.match(line)
        if closing:
            counts = [int(number or 0) for number in closing.groups()]
        else:
            voice.say(line)
    process.wait()
    RUNNING.discard(process)
    process.stdout.close()
    if counts is None:
        voice.say('FAIL %s: %s ended with exit code %d and no closing line\n'
                  % (part.name, ' '.join(command), process.returncode))
        counts = [0, 1, 0]
    elif process.returncode != 0 and counts[1] == 0:
        voice.say('FAIL %s: exit code %d although no test failed\n'
                  % (part.name, process.returncode))
        counts[1] = 1
    elif not sum(counts):
        voice.say('FAIL %s: no test was run%s\n'
                  % (part.name, '; does %s name one?' % ' '.join(arguments) if arguments else ''))
        counts[1] = 1
    voice.say('-- %s: %d passed, %d failed, %d skipped, %.0f s\n'
              % (part.name, *counts, time.monotonic() - started))
    return counts


class Run:
    """The chosen parts, some at a time."""

    def __init__(self, chosen, arguments, built):
        self.chosen, self.arguments = chosen, arguments
        self.environment = dict(os.environ, **{server.BUILT: ' '.join(built)})
        self.clock = Clock(chosen)
        self.screen = Screen()
        self.record = full_run.Record(TOP)
        self.begun = 0
        self.totals = [0, 0, 0]
        self.lock = threading.Lock()

    def all(self):
        """Returns [passed, failed, skipped] of all."""
        parts = self.clock.longest_first(self.chosen)
        self.in_turns([part for part in parts if not part.is_alone], AT_ONCE)
        self.in_turns([part for part in parts if part.is_alone], 1)
        return self.totals

    def in_turns(self, parts, at_once):
        pool = concurrent.futures.ThreadPoolExecutor(at_once)
        try:
            for done in [pool.submit(self.one, part) for part in parts]:
                done.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            self.screen.silence()
            raise

    def one(self, part):
        with self.lock:
            voice = self.screen.begin()
            self.begun += 1
            voice.say('== %s == (%d of %d, %s)\n' % (part.name, self.begun, len(self.chosen),
                                                    self.clock.guess()))
        started = time.monotonic()
        counts = run_part(part, self.arguments, voice, self.environment)
        seconds = time.monotonic() - started
        with self.lock:
            self.clock.took(part.name, seconds, not self.arguments)
            if not part.is_usual and not self.arguments:
                voice.say(self.record.add(part.name, counts, seconds))
            self.totals = [total + count for total, count in zip(self.totals, counts)]
        voice.end()


def main():
    try:
        chosen, arguments = choose(read_parts(), sys.argv[1:])
    except ValueError as error:
        sys.exit('lab: %s' % error)
    if {'-h', '--help'} & set(arguments):
        os.chdir(TOP)
        os.execvp(chosen[0].command[0], chosen[0].command + arguments)
    adopt()
    built = build(chosen) if len(chosen) > 1 else []
    run = Run(chosen, arguments, built)
    totals = run.all()
    if not sys.argv[1:]:
        run.record.add_usual(totals)
    if len(chosen) > 1:
        print(''.join(run.screen.failures), end='')
    print('%d passed, %d failed' % tuple(totals[:2])
          + (', %d skipped' % totals[2] if totals[2] else ''))
    sys.exit(1 if totals[1] or not (totals[0] or totals[2]) else 0)


def run_as_program():
    try:
        main()
    except KeyboardInterrupt:
        end_parts()
        print('lab: stopped', file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


if __name__ == '__main__':
    run_as_program()
