#!/usr/bin/env python3
"""Question: where does the time of one durable insert go, from its message to its reply?

Attaches strace for a few seconds to a server that ONE client loads with j:true, and follows each
insert through its system calls: message read, journal write begun, journal synced, reply sent.
Not for:  several clients, whose inserts share commits; absolute times. strace adds some 50 us to
          each call, so compare the links with each other and with the same under another option.
Usage:    insert_chain.py [--seconds 3] PID
Needs:    strace, and the right to trace the process (its owner, or root). Ends with 3 and says so
          where that is missing.
Overhead: some 50 us for each system call of the process while it runs.

Example output (one client, journalCommitInterval 2):

    link                            p50 us    p99 us
    message read -> journal write     1198      1402
    journal write -> synced            252       610
    synced -> reply sent               141       230
    1602 inserts in 3.0 s

Reading it: the sync is a fifth of what the client waits for; most of it is the sleep of the commit
thread before it begins."""

import re
import statistics
import sys

import given
import journal_writes

CALLS = 'read,recvfrom,recvmsg,readv,write,writev,sendto,sendmsg,pwrite64,pwritev2,fdatasync,fsync'
READS = ('read', 'recvfrom', 'recvmsg', 'readv')
SENDS = ('write', 'writev', 'sendto', 'sendmsg')
LINKS = ('message read -> journal write', 'journal write -> synced', 'synced -> reply sent')

BEGUN = re.compile(r'^(\d+) +([\d.]+) (\w+)\(\d+<([^>]*)>')
RESUMED = re.compile(r'^(\d+) +([\d.]+) <\.\.\. (\w+) resumed>')
RESULT = re.compile(r' = (-?\d+).*<([\d.]+)>$')


def calls_of(lines):
    """Finished calls as (begin s, end s, name, path, result), in the order of their ends."""
    open_calls, calls = {}, []
    for line in lines:
        line = line.rstrip()
        match, result = BEGUN.match(line), RESULT.search(line)
        if match:
            thread, at, name, path = match.groups()
            if result:
                calls.append((float(at), float(at) + float(result[2]), name, path, int(result[1])))
            else:
                open_calls[thread, name] = float(at), path
            continue
        match = RESUMED.match(line)
        if match and result and (match[1], match[3]) in open_calls:
            at, path = open_calls.pop((match[1], match[3]))
            calls.append((at, at + float(result[2]), match[3], path, int(result[1])))
    return sorted(calls, key=lambda call: call[1])


def chains_of(calls):
    """The times of each insert's links, in us."""
    chains, read, wrote, synced = [], None, None, None
    for begin, end, name, path, result in calls:
        if path.startswith(('TCP', 'UNIX', 'socket')) and result > 0:
            if name in READS:
                read, wrote, synced = end, None, None
            elif name in SENDS and synced:
                chains.append([(wrote - read) * 1e6, (synced - wrote) * 1e6, (end - synced) * 1e6])
                read, wrote, synced = None, None, None
        elif '/journal/j._' in path and read:
            if name in ('write', 'pwrite64', 'pwritev2') and wrote is None:
                wrote = begin
                if name == 'pwritev2':  # with RWF_DSYNC
                    synced = end
            elif name in ('fdatasync', 'fsync') and wrote and synced is None:
                synced = end
    return chains


def trace(pid, seconds):
    return chains_of(journal_writes.Tracer(pid, CALLS, '-yy', calls_of).stop(seconds))


def table(chains, seconds):
    lines = ['%-30s %8s  %8s' % ('link', 'p50 us', 'p99 us')]
    for name, times in zip(LINKS, zip(*chains)):
        times = sorted(times)
        lines.append('%-30s %8.0f  %8.0f' % (name, statistics.median(times),
                                             times[(len(times) * 99 - 1) // 100]))
    return '\n'.join(lines + ['%d inserts in %.1f s' % (len(chains), seconds)])


def main():
    parser = given.parser(__doc__)
    parser.add_argument('--seconds', type=given.seconds, default=3)
    parser.add_argument('pid', type=given.process)
    arguments = parser.parse_args()
    chains = trace(arguments.pid, arguments.seconds)
    if not chains:
        sys.exit('insert_chain.py: no durable insert in %.1f s; is a client at work?'
                 % arguments.seconds)
    print(table(chains, arguments.seconds))


if __name__ == '__main__':
    main()
