#!/usr/bin/env python3
"""Question: how long does each stage of a group commit take, as the server itself counts?

Reads serverStatus().dur before and after some seconds. With journalCumulativeStats on, the
difference of dur.total covers exactly that time, in microseconds; otherwise the last finished
interval of 3 seconds is shown, in whole milliseconds.
Usage:    commit_stages.py [--seconds 3] [URI]         (with build/venv/bin/python)
Needs:    pymongo; a server with a journal.
Overhead: two commands.

Example output (8 clients with j:true, journalCommitInterval 2, quick disk):

    stage               us per commit   share
    prepLogBuffer                   6     1 %
    writeToJournal                469    96 %
    writeToDataFiles               10     2 %
    remapPrivateView                5     1 %
    1222 commits, 10002432 journal bytes in 2.0 s

Reading it: the commit is the sync; the other stages do not matter here.
"""

import argparse
import sys
import time

STAGES = ('prepLogBuffer', 'writeToJournal', 'writeToDataFiles', 'remapPrivateView')


def summarize(before, after, seconds):
    """From two `dur` documents: (us of each stage, commits, journal bytes, seconds they cover)."""
    if 'total' in after and 'total' in before:
        def grown(read):
            return read(after['total']) - read(before['total'])
        stages = {name: grown(lambda total, name=name: total['stages'][name]['totalMicros'])
                  for name in STAGES}
        return (stages, grown(lambda total: total['commits']),
                grown(lambda total: total['journaledBytes']), seconds)
    return ({name: after['timeMs'][name] * 1000 for name in STAGES}, after['commits'],
            after['journaledBytes'], after['timeMs']['dt'] / 1e3)


def table(stages, commits, journal_bytes, seconds):
    total = sum(stages.values())
    lines = ['%-18s %14s %7s' % ('stage', 'us per commit', 'share')]
    for name, us in stages.items():
        lines.append('%-18s %14.0f %5.0f %%'
                     % (name, us / max(1, commits), 100 * us / max(1, total)))
    lines.append('%d commits, %d journal bytes in %.1f s' % (commits, journal_bytes, seconds))
    return '\n'.join(lines)


def main():
    import pymongo  # not needed for the functions above

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=3)
    parser.add_argument('uri', nargs='?', default='mongodb://127.0.0.1:27017')
    arguments = parser.parse_args()
    with pymongo.MongoClient(arguments.uri, directConnection=True) as client:
        started = time.monotonic()
        before = client.admin.command('serverStatus').get('dur')
        if not before:
            sys.exit('commit_stages.py: this server has no journal')
        time.sleep(arguments.seconds)
        after = client.admin.command('serverStatus')['dur']
    print(table(*summarize(before, after, time.monotonic() - started)))


if __name__ == '__main__':
    main()
