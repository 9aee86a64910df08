#!/usr/bin/env python3
"""Question: which functions use the processor while a server commits?

Samples a running process with perf for a few seconds and lists the functions, of the server and of
the kernel, that took the largest shares of its CPU time.
Not for:  waiting (off_cpu.py has that); a server at rest.
Usage:    commit_profile.py [--seconds 3] [--rate 999] [--rows 20] PID
Needs:    perf (Debian: linux-perf) that may sample the process: root, or
          /proc/sys/kernel/perf_event_paranoid at most 2. Ends with 3 and says so where it may not.
          Uses the processor's cycle counter, or a timer where a virtual machine has none.
Overhead: about 1 % at this rate.

Example output (64 clients with j:true, conf/durable.yaml):

    share  where          function
     9.1%  [kernel]       finish_task_switch
     4.2%  mongod         journal::checksum
     3.9%  libc.so.6      __memmove_avx512_unaligned_erms
    ...
    2714 samples of cpu-clock in 3.0 s: 0.9 processors busy

Reading it: nothing stands out; the processor goes to switching between threads and to copying."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import given

# Of `perf report`: share, samples, object, [k] or [.], function, and in some versions columns
# of "-" that was not asked for.
ROW = re.compile(r'^\s*([\d.]+)%\s+(\d+)\s+(\S+)\s+\[(.)\]\s+(.+?)(?:\s+-)*\s*$')


def rows_of(report):
    """(share in percent, samples, object, function) of each line of a report."""
    for line in report.splitlines():
        match = ROW.match(line)
        if match:
            where = '[kernel]' if match[4] == 'k' else os.path.basename(match[3])
            yield float(match[1]), int(match[2]), where, match[5]


def record(pid, seconds, rate, event, path):
    """Runs perf record; returns what it said when it failed."""
    run = subprocess.run(['perf', 'record', '-q', '-e', event, '-F', str(rate), '-p', str(pid),
                          '-o', path, '--', 'sleep', str(seconds)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout.strip() if run.returncode != 0 else ''


def profile(pid, seconds, rate):
    """(event, rows) of a running process."""
    if not shutil.which('perf'):
        given.refuse('perf is not installed (Debian: apt-get install linux-perf)')
    if not os.path.isdir('/proc/%d' % pid):
        given.refuse('there is no process %d' % pid)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'perf.data')
        for event in ('cycles', 'cpu-clock'):
            trouble = record(pid, seconds, rate, event, path)
            if not trouble:
                break
        else:
            given.refuse('perf cannot sample process %d: %s\n'
                         'see /proc/sys/kernel/perf_event_paranoid' % (pid, trouble))
        report = subprocess.run(['perf', 'report', '-i', path, '--stdio', '--no-children', '-n',
                                 '--sort', 'dso,symbol'], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=True)
    return event, list(rows_of(report.stdout))


def main():
    parser = given.parser(__doc__)
    parser.add_argument('--seconds', type=given.seconds, default=3)
    parser.add_argument('--rate', type=given.rate, default=999)
    parser.add_argument('--rows', type=given.rows, default=20)
    parser.add_argument('pid', type=given.process)
    arguments = parser.parse_args()
    event, rows = profile(arguments.pid, arguments.seconds, arguments.rate)
    samples = sum(row[1] for row in rows)
    if not samples:
        sys.exit('commit_profile.py: the process used no processor time in %.1f s'
                 % arguments.seconds)
    print('share  where          function')
    for share, _, where, function in rows[:arguments.rows]:
        print('%4.1f%%  %-14s %s' % (share, where[:14], function[:56]))
    print('%d samples of %s in %.1f s: %.1f processors busy'
          % (samples, event, arguments.seconds, samples / arguments.rate / arguments.seconds))


if __name__ == '__main__':
    main()
