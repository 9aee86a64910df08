"""The storage engines beside mmapv1 under what the server's other parts ask of them, and what
concerns such engines alone: starts that are refused, kills, copies from engine to engine.

Each piece is a script that ends with "N passed, N failed[, N skipped]".
Usage: build/venv/bin/python tests/engines/run.py [--engine rocksdb] [--whole] [PIECE...]
"""

import argparse
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

DRIVER = os.path.join(TOP, 'build', 'venv', 'bin', 'python')
ENGINES = ['wiredTiger', 'rocksdb']

# name: (command for a change, what --whole adds or puts in its place); once for each engine
PIECES = {
    'unit': (['tests/unit.py', 'test_{room}'], None),
    'starts': (['tests/engines/starts.py'], None),
    'commands': (['tests/server/commands.py'], None),
    'oracle': (['tests/oracle/replay.py', '--sets', 'find,write,wire-journal', '--one-in', '4'],
               ['tests/oracle/replay.py']),
    'js': (['jstests/run.py', 'core/insert_find', 'core/indexes', 'core/cursors',
            'core/collections', 'core/old_commands'], ['jstests/run.py', 'core/']),
    'beside': (['tests/engines/beside.py'], ['tests/engines/beside.py', '--rounds', '400']),
    'graph': (['tests/unit.py', 'test_linkbench'], None),
    'kills': (['tests/engines/kills.py', '--rounds', '6'],
              ['tests/engines/kills.py', '--writes', '50000']),
}
COPIES = 'copies'  # from one engine to the next

CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


def run(command, engine):
    """Shows what it prints; its [passed, failed, skipped]."""
    counts = None
    words = [DRIVER] + [word.format(room=engine.lower()) for word in command]
    with subprocess.Popen(words, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace',
                          env=dict(os.environ, **{server.ENGINE: engine})) as process:
        for line in process.stdout:
            closing = CLOSING_LINE.match(line)
            if closing:
                counts = [int(number or 0) for number in closing.groups()]
            else:
                print(line, end='', flush=True)
    if counts is None or process.returncode != 0 and counts[1] == 0:
        print('%s ended with %d' % (' '.join(command), process.returncode))
        return [0, 1, 0]
    return counts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--engine', choices=ENGINES, help='it alone')
    parser.add_argument('--whole', action='store_true', help='with what takes long')
    parser.add_argument('pieces', nargs='*')
    arguments = parser.parse_args()
    pieces = choice.exactly(arguments.pieces, list(PIECES) + [COPIES], 'piece')
    engines = [arguments.engine] if arguments.engine else ENGINES
    os.environ[server.ENGINE] = ','.join(engines)  # for the build
    server.build('none', '', ['mongod', 'dbpath_check'] +
                 [word % engine.lower() for engine in engines
                  for word in ('engine_%s.so', 'test_%s')])
    tally = totals.Totals()
    for engine in engines:
        for name in pieces:
            if name != COPIES:
                usual, whole = PIECES[name]
                tally.add('%s, %s' % (engine, name),
                          *run(whole if arguments.whole and whole else usual, engine))
    if COPIES in pieces:
        tally.add(COPIES, *run(['tests/engines/copies.py'] + engines, ','.join(engines)))
    tally.close()


if __name__ == '__main__':
    main()
