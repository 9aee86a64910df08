#!/usr/bin/env python3
"""Question: how long does each stage of a group commit take, as the server itself counts?

Reads serverStatus().dur before and after some seconds. With journalCumulativeStats on, the
difference of dur.cumulativeStats covers exactly that time, in microseconds; otherwise the last
finished interval of 3 seconds is shown, in whole milliseconds.
Not for:  a single insert (insert_chain.py has that); waiting between commits, which is no stage.
Usage:    commit_stages.py [--seconds 3] [URI]         (with build/venv/bin/python)
Needs:    pymongo; a server with a journal. Ends with 3 and says so where one is missing.
Overhead: two commands.

Example output (8 clients with j:true, journalCommitInterval 2, quick disk):

    stage               us per commit   share
    prepLogBuffer                   6     1 %
    writeToJournal                469    96 %
    writeToDataFiles               10     2 %
    remapPrivateView                5     1 %
    1222 commits, 10002432 journal bytes in 2.0 s

Reading it: the commit is the sync; the other stages do not matter here."""

import os
import re
import sys
import time

PERF = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [PERF, os.path.join(os.path.dirname(PERF), 'tests', 'lib')]

import given  # noqa: E402

CONNECTING_MS_MAX = 3000
URI = re.compile(r'mongodb://([^/:@,?]+)(?::(\d{1,5}))?(?:[/?]|$)')

STAGES = ('prepLogBuffer', 'writeToJournal', 'writeToDataFiles', 'remapPrivateView')


def summarize(before, after, seconds):
    """From two `dur` documents: (us of each stage, commits, journal bytes, seconds they cover)."""
    if 'cumulativeStats' in after and 'cumulativeStats' in before:
        def grown(read):
            return read(after['cumulativeStats']) - read(before['cumulativeStats'])
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


def watch(status, seconds):
    """(`dur` before, after, seconds between) of what `status` returns."""
    started = time.monotonic()
    before = status().get('dur')
    if not before:
        given.refuse('this server has no journal')
    time.sleep(seconds)
    return before, status()['dur'], time.monotonic() - started


def watch_old(arguments):
    """The same of a server that the driver refuses."""
    import messages
    found = URI.match(arguments.uri)
    if not found:
        given.refuse("'%s' is no mongodb://HOST:PORT" % arguments.uri)
    try:
        return watch(lambda: messages.ask_by_query(int(found[2] or 27017), 'admin',
                                                   {'serverStatus': 1}, found[1]),
                     arguments.seconds)
    except messages.Refused as error:
        given.refuse('no answer from %s: %s' % (arguments.uri, error))


def main():
    parser = given.parser(__doc__)
    parser.add_argument('--seconds', type=given.seconds, default=3)
    parser.add_argument('uri', nargs='?', default='mongodb://127.0.0.1:27017')
    arguments = parser.parse_args()
    try:
        import pymongo  # not needed for the functions above
    except ImportError:
        given.refuse('pymongo is not installed here; ./lab trace stages has it')
    try:
        with pymongo.MongoClient(arguments.uri, directConnection=True,
                                 serverSelectionTimeoutMS=CONNECTING_MS_MAX) as client:
            watched = watch(lambda: client.admin.command('serverStatus'), arguments.seconds)
    except pymongo.errors.ConfigurationError:  # too old for the driver, or no address
        watched = watch_old(arguments)
    except pymongo.errors.PyMongoError as error:
        given.refuse('no answer from %s: %s' % (arguments.uri, str(error).split(' (conf')[0]))
    print(table(*summarize(*watched)))


if __name__ == '__main__':
    main()
