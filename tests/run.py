"""Runs the parts of the test suite one after the other and adds up their closing lines.

Usage: python3 tests/run.py [PART...] [-- ARGUMENT OF THE PART...]
parts.txt lists the parts. Every part is a script that ends with "N passed, N failed[, N skipped]".
"""

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
PYTHON = {'driver': os.path.join(TOP, 'build', 'venv', 'bin', 'python'), 'python': sys.executable}
TIMES = os.path.join(TOP, 'build', 'test-times.json')  # seconds of each part's last run here

SILENCE_SECONDS_MAX = 20  # after that the runner says what is still going on
ENDING_SECONDS_MAX = 5  # of a part after Ctrl-C, until it is killed
EXIT_INTERRUPTED = 130
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)

CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


class Part:
    def __init__(self, line):
        name, when, python, seconds, command, what = (field.strip() for field in line.split('|'))
        self.name, self.what, self.seconds = name, what, float(seconds)
        self.is_usual = {'usual': True, 'named': False}[when]
        self.command = [PYTHON[python]] + command.split()


def read_parts(path=os.path.join(TOP, 'tests', 'parts.txt')):
    with open(path, encoding='utf-8') as file:
        parts = [Part(line) for line in file if line.strip() and not line.startswith('#')]
    return {part.name: part for part in parts}


def choose(parts, words):
    """The parts that the command line means, and the arguments for the only one of them."""
    arguments = []
    if '--' in words:
        arguments = words[words.index('--') + 1:]
        words = words[:words.index('--')]
    for word in words:
        if word not in parts:
            raise ValueError("no test part '%s'; there are: %s" % (word, ' '.join(parts)))
    if arguments and len(words) != 1:
        raise ValueError('arguments after -- need exactly one part before it')
    return [parts[word] for word in words] or [p for p in parts.values() if p.is_usual], arguments


class Clock:
    """How long parts take: what the last run here took, else what parts.txt says."""

    def __init__(self, chosen, path=TIMES):
        self.path = path
        try:
            with open(path, encoding='utf-8') as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            self.known = {}
        self.left = [self.known.get(part.name, part.seconds) for part in chosen]

    def guess(self):
        seconds = sum(self.left)
        return 'about %d min left' % round(seconds / 60) if seconds >= 90 else \
            'about %d s left' % round(seconds)

    def took(self, name, seconds, whole):
        del self.left[0]
        if whole:
            self.known[name] = round(seconds)
            with open(self.path, 'w', encoding='utf-8') as file:
                json.dump(self.known, file)


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
    """The children of this process; of a thread that ends meanwhile another one takes them over."""
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


def end_part(process):
    """After Ctrl-C, which has reached the part too: waits until it has cleaned up."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=ENDING_SECONDS_MAX)
    end_children()


def run_part(part, arguments):
    """Streams one part's output; returns [passed, failed, skipped]."""
    command = part.command + arguments
    started = time.monotonic()
    counts = None
    # No `with`: after Ctrl-C it would close the pipe while another thread reads from it.
    process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace')
    try:
        for line in lines_of(process):
            if line is None:
                print('   %s is at work, %.0f s by now' % (part.name, time.monotonic() - started),
                      flush=True)
                continue
            closing = CLOSING_LINE.match(line)
            if closing:
                counts = [int(number or 0) for number in closing.groups()]
            else:
                print(line, end='', flush=True)
        process.wait()
        process.stdout.close()
    except KeyboardInterrupt:
        end_part(process)
        raise
    if counts is None:
        print('FAIL %s: %s ended with exit code %d and no closing line'
              % (part.name, ' '.join(command), process.returncode))
        counts = [0, 1, 0]
    elif process.returncode != 0 and counts[1] == 0:
        print('FAIL %s: exit code %d although no test failed' % (part.name, process.returncode))
        counts[1] = 1
    elif not sum(counts):
        print('FAIL %s: no test was run%s' % (part.name, '; does %s name one?' % ' '.join(arguments)
                                              if arguments else ''))
        counts[1] = 1
    print('-- %s: %d passed, %d failed, %d skipped, %.0f s'
          % (part.name, *counts, time.monotonic() - started), flush=True)
    return counts


def main():
    try:
        chosen, arguments = choose(read_parts(), sys.argv[1:])
    except ValueError as error:
        sys.exit('lab: %s' % error)
    if {'-h', '--help'} & set(arguments):
        os.chdir(TOP)
        os.execvp(chosen[0].command[0], chosen[0].command + arguments)
    adopt()
    clock = Clock(chosen)
    totals = [0, 0, 0]
    for number, part in enumerate(chosen, 1):
        print('== %s == (%d of %d, %s)' % (part.name, number, len(chosen), clock.guess()),
              flush=True)
        started = time.monotonic()
        counts = run_part(part, arguments)
        clock.took(part.name, time.monotonic() - started, not arguments)
        totals = [total + count for total, count in zip(totals, counts)]
    print('%d passed, %d failed' % tuple(totals[:2])
          + (', %d skipped' % totals[2] if totals[2] else ''))
    sys.exit(1 if totals[1] or not (totals[0] or totals[2]) else 0)


def run_as_program():
    try:
        main()
    except KeyboardInterrupt:
        print('lab: stopped', file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


if __name__ == '__main__':
    run_as_program()
