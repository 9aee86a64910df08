#!/usr/bin/env python3
"""Question: what does each group commit of a running mongod do to its journal file?

Attaches strace for a few seconds and lists, per commit, the seeks, writes and syncs on journal/j._*
with their sizes and times; then the same per commit on average.
Not for:  throughput. strace slows every traced call; take commits a second without it.
Usage:    journal_writes.py [--seconds 5] [--rows 20] [--json] PID
Needs:    strace, and the right to trace the process (its owner, or root). Ends with 3 and says so
          where one is missing.
Overhead: some 50 us for each system call of the process while it runs.

Example output (one client inserting with j:true, journalCommitInterval 2):

    gap ms  seeks  writes    bytes  syncs  write us  sync us
     1.412      1       1     8192      1      96.0    158.0
     1.399      1       1     8192      1      91.0    149.0
  ...
  per commit, 3402 commits in 5.0 s: 1.00 seeks, 1.00 writes, 8192 bytes, 1.00 syncs,
  gap 1.47 ms, write 93 us, sync 151 us

Reading it: every commit is one write of 8 KB and one sync, which takes a tenth of the 1.4 ms from
one commit to the next: the rest is the commit thread's sleep."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import given

CALLS = 'lseek,write,pwrite64,writev,pwritev,pwritev2,fdatasync,fsync,sync_file_range'
WRITE_AND_SYNC = 'pwritev2 RWF_DSYNC'  # one call, as parse() names it
WRITES = ('write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', WRITE_AND_SYNC)
SYNCS = ('fdatasync', 'fsync', 'sync_file_range')

WHOLE = re.compile(r'^(\d+) +([\d.]+) (\w+)\(\d+<([^>]*)>.* = (-?\d+).*<([\d.]+)>$')
# By a folder's descriptor and the rest of the path.
BENEATH = re.compile(r'^(\d+) +([\d.]+) (\w+)\(\d+<([^>]*)>, "([^"]+)".* = (-?\d+).*<([\d.]+)>$')
NAMED = re.compile(r'^(\d+) +([\d.]+) (\w+)\([^"]*"([^"]*)".* = (-?\d+).*<([\d.]+)>$')
UNFINISHED = re.compile(r'^(\d+) +([\d.]+) (\w+)\(\d+<([^>]*)>.*<unfinished \.\.\.>$')
RESUMED = re.compile(r'^(\d+) +[\d.]+ <\.\.\. (\w+) resumed>.* = (-?\d+).*<([\d.]+)>$')


def named(call, line):
    return WRITE_AND_SYNC if call == 'pwritev2' and 'RWF_DSYNC' in line else call


def parse(lines):
    """Yields (start s, call, path, result, duration s) of finished calls with a file name."""
    begun = {}
    for line in lines:
        line = line.rstrip()
        match = BENEATH.match(line)
        if match and match[3] in ('openat', 'openat2', 'unlinkat', 'renameat', 'mkdirat'):
            yield (float(match[2]), match[3], match[4] + '/' + match[5], int(match[6]),
                   float(match[7]))
            continue
        match = WHOLE.match(line) or NAMED.match(line)
        if match:
            _, at, call, path, result, took = match.groups()
            yield float(at), named(call, line), path, int(result), float(took)
            continue
        match = UNFINISHED.match(line)
        if match:
            thread, at, call, path = match.groups()
            begun[thread, call] = float(at), named(call, line), path
            continue
        match = RESUMED.match(line)
        if match:
            thread, call, result, took = match.groups()
            if (thread, call) in begun:
                at, call, path = begun.pop((thread, call))
                yield at, call, path, int(result), float(took)


def commits_of(calls):
    """Groups the calls, in order of time, on journal files. A write after a sync begins the next
    commit."""
    commits = []
    pending_seeks = 0
    for at, call, path, result, took in calls:
        if '/journal/j._' not in path:
            continue
        if call == 'lseek':
            pending_seeks += 1
        elif call in WRITES:
            if not commits or commits[-1]['syncs'] > 0:
                commits.append({'at': at, 'seeks': 0, 'writes': 0, 'bytes': 0, 'syncs': 0,
                                'write_us': 0.0, 'sync_us': 0.0})
            commit = commits[-1]
            commit['seeks'] += pending_seeks
            pending_seeks = 0
            commit['writes'] += 1
            commit['bytes'] += max(result, 0)
            if call == WRITE_AND_SYNC:
                commit['syncs'] += 1
                commit['sync_us'] += took * 1e6
            else:
                commit['write_us'] += took * 1e6
        elif call in SYNCS and commits:
            commits[-1]['syncs'] += 1
            commits[-1]['sync_us'] += took * 1e6
    for before, commit in zip(commits, commits[1:]):
        commit['gap_ms'] = (commit['at'] - before['at']) * 1e3
    return commits


def average(commits, seconds):
    """Means per commit, or just the number when there was none."""
    summary = {'commits': len(commits), 'seconds': seconds}
    for name in ('seeks', 'writes', 'bytes', 'syncs', 'gap_ms', 'write_us', 'sync_us'):
        values = [commit[name] for commit in commits if name in commit]
        if values:
            summary[name + '_per_commit'] = sum(values) / len(values)
    return summary


class Tracer:
    """strace on a running process, from construction to stop(). `calls` and how they show their
    `descriptors` in strace's words; `read` makes calls of its lines."""

    def __init__(self, pid, calls=CALLS, descriptors='-y', read=parse):
        if not shutil.which('strace'):
            given.refuse('strace is not installed; ./lab setup installs it')
        self.read, self.folder = read, tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, 'trace')
        self.strace = subprocess.Popen(
            ['strace', '-f', descriptors, '-T', '-ttt', '-s', '0', '-e', 'trace=' + calls, '-o',
             self.log, '-p', str(pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.started = time.monotonic()
        first = self.strace.stderr.readline()
        if 'attached' not in first:
            self.strace.wait()
            given.refuse('strace cannot attach to %d: %s' % (pid, first.strip()))

    def stop(self, seconds=0):
        """Ends the trace after that time, or when the process ends; returns the calls."""
        try:
            self.strace.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.strace.send_signal(signal.SIGINT)
            self.strace.communicate()
        self.seconds = time.monotonic() - self.started
        with open(self.log, encoding='utf-8', errors='replace') as file:
            calls = sorted(self.read(file))
        self.folder.cleanup()
        return calls


def trace(pid, seconds):
    """Traces a running process for that time; returns its commits and the time it really took."""
    tracer = Tracer(pid)
    return commits_of(tracer.stop(seconds)), tracer.seconds


def main():
    parser = given.parser(__doc__)
    parser.add_argument('--seconds', type=given.seconds, default=5)
    parser.add_argument('--rows', type=given.rows, default=20)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('pid', type=given.process)
    arguments = parser.parse_args()
    commits, seconds = trace(arguments.pid, arguments.seconds)
    summary = average(commits, seconds)
    if arguments.json:
        print(json.dumps({'summary': summary, 'commits': commits}))
        return
    if len(commits) < 2:
        print('less than two commits with data in %.1f s' % seconds)
        return
    print('  gap ms  seeks  writes    bytes  syncs  write us  sync us')
    for commit in commits[1:arguments.rows + 1]:
        print('%(gap_ms)8.3f %(seeks)6d %(writes)7d %(bytes)8d %(syncs)6d %(write_us)9.1f '
              '%(sync_us)8.1f' % commit)
    print('per commit, %(commits)d commits in %(seconds).1f s: %(seeks_per_commit).2f seeks, '
          '%(writes_per_commit).2f writes, %(bytes_per_commit).0f bytes,\n'
          '%(syncs_per_commit).2f syncs, gap %(gap_ms_per_commit).2f ms, '
          'write %(write_us_per_commit).0f us, sync %(sync_us_per_commit).0f us' % summary)


if __name__ == '__main__':
    main()
