#!/usr/bin/env python3
"""Question: what are the threads of a running process waiting for?

Samples every thread: is it running or ready, or blocked, and then in which system call? Prints, for
each name of a thread, the share of samples in each state.
Not for:  waits shorter than the distance of two samples, and stacks; perf or bcc's offcputime have
          those.
Usage:    off_cpu.py [--seconds 3] [--rate 200] PID
Needs:    Linux with /proc/PID/task/TID/syscall readable: the right to trace the process (its owner
          or root), and a kernel that has the file. Ends with 3 and says so where that is missing.
Overhead: two small reads of /proc per thread and sample, in this process.

Example output (8 clients with j:true, journalCommitInterval 2, quick disk):

    thread               threads  running  waiting for
    conn-loop                  6      3 %  futex 67 %, epoll_wait 30 %
    mongod                     3      6 %  futex 88 %, fdatasync 4 %, write 2 %
    signals                    1      0 %  rt_sigtimedwait 100 %

Reading it: the journal thread, one of the three named mongod, mostly sleeps (futex); the disk could
take more."""

import collections
import os
import re
import time

import given

# Numbers of the calls in which a server's threads wait, by machine.
CALLS = {
    'x86_64': {0: 'read', 1: 'write', 7: 'poll', 18: 'pwrite64', 23: 'select', 26: 'msync',
               34: 'pause', 35: 'nanosleep', 43: 'accept', 45: 'recvfrom', 47: 'recvmsg',
               61: 'wait4', 74: 'fsync', 75: 'fdatasync', 128: 'rt_sigtimedwait', 202: 'futex',
               219: 'restart_syscall', 230: 'clock_nanosleep', 232: 'epoll_wait', 270: 'pselect6',
               271: 'ppoll', 281: 'epoll_pwait', 285: 'fallocate', 288: 'accept4'},
    'aarch64': {22: 'epoll_pwait', 47: 'fallocate', 63: 'read', 64: 'write', 68: 'pwrite64',
                72: 'pselect6', 73: 'ppoll', 82: 'fsync', 83: 'fdatasync', 98: 'futex',
                101: 'nanosleep', 115: 'clock_nanosleep', 137: 'rt_sigtimedwait', 202: 'accept',
                207: 'recvfrom', 212: 'recvmsg', 227: 'msync', 242: 'accept4', 260: 'wait4'},
}
RUNNING = 'running'


def read(path):
    with open(path, encoding='ascii', errors='replace') as file:
        return file.read()


def state_of(folder):
    """(name of the thread, RUNNING or the call it is blocked in)."""
    stat = read(folder + '/stat')
    name = stat[stat.index('(') + 1:stat.rindex(')')]
    if stat[stat.rindex(')') + 2] == 'R':
        return name, RUNNING
    call = read(folder + '/syscall').split()[0]
    if call == 'running':
        return name, RUNNING
    number = int(call)
    if number < 0:
        return name, 'a page or the kernel'
    return name, CALLS.get(os.uname().machine, {}).get(number, 'call %d' % number)


def require_facility(pid):
    folder = '/proc/%d' % pid
    if not os.path.isdir(folder):
        given.refuse('there is no process %d' % pid)
    try:
        read('%s/task/%d/syscall' % (folder, pid))
    except FileNotFoundError:
        given.refuse('this kernel has no /proc/PID/task/TID/syscall')
    except PermissionError:
        given.refuse('no right to trace process %d: be its owner or root, and see '
                     '/proc/sys/kernel/yama/ptrace_scope' % pid)


def sample(pid, seconds, rate):
    """Returns {name of threads: Counter of states} and {name: set of thread ids}."""
    require_facility(pid)
    states, threads = collections.defaultdict(collections.Counter), collections.defaultdict(set)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            ids = os.listdir('/proc/%d/task' % pid)
        except FileNotFoundError:
            break
        for thread in ids:
            try:
                name, state = state_of('/proc/%d/task/%s' % (pid, thread))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            name = re.sub(r'\d+$', '', name)
            states[name][state] += 1
            threads[name].add(thread)
        time.sleep(1 / rate)
    return states, threads


def main():
    parser = given.parser(__doc__)
    parser.add_argument('--seconds', type=given.seconds, default=3)
    parser.add_argument('--rate', type=given.rate, default=200)
    parser.add_argument('pid', type=given.process)
    arguments = parser.parse_args()
    states, threads = sample(arguments.pid, arguments.seconds, arguments.rate)
    print('%-20s %7s %8s  waiting for' % ('thread', 'threads', 'running'))
    for name, counts in sorted(states.items()):
        total = sum(counts.values())
        waits = ', '.join('%s %.0f %%' % (state, 100 * count / total)
                          for state, count in counts.most_common() if state != RUNNING)
        print('%-20s %7d %6.0f %%  %s'
              % (name, len(threads[name]), 100 * counts[RUNNING] / total, waits))


if __name__ == '__main__':
    main()
