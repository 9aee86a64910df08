"""Another storage engine than mmapv1 under what the server's other parts ask of it, and what
concerns such an engine alone: starts that are refused, kills, copies from engine to engine.

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
ENGINES = ['rocksdb']

# name: (command for a change, what --whole adds or puts in its place)
PIECES = {
    'unit': (['tests/unit.py', 'test_{engine}'], None),
    'starts': (['tests/engines/starts.py'], None),
    'commands': (['tests/server/commands.py'], None),
    'oracle': (['tests/oracle/replay.py', '--sets', 'find,write,wire-journal'],
               ['tests/oracle/replay.py']),
    'js': (['jstests/run.py', 'core/insert_find', 'core/indexes', 'core/cursors',
            'core/collections', 'core/old_commands'], ['jstests/run.py', 'core/']),
    'kills': (['tests/engines/kills.py', '--rounds', '6'],
              ['tests/engines/kills.py', '--rounds', '150']),
    'copies': (['tests/engines/copies.py'], None),
}

CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


def run(command, engine):
    """Shows what it prints; its [passed, failed, skipped]."""
    counts = None
    with subprocess.Popen([DRIVER] + [word.format(engine=engine) for word in command], cwd=TOP,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
    parser.add_argument('--engine', choices=ENGINES, default='rocksdb')
    parser.add_argument('--whole', action='store_true', help='with what takes long')
    parser.add_argument('pieces', nargs='*')
    arguments = parser.parse_args()
    pieces = choice.exactly(arguments.pieces, list(PIECES), 'piece')
    os.environ[server.ENGINE] = arguments.engine
    server.build('none', '', ['mongod', 'dbpath_check', 'engine_%s.so' % arguments.engine,
                              'test_' + arguments.engine])
    tally = totals.Totals()
    for name in pieces:
        usual, whole = PIECES[name]
        tally.add(name, *run(whole if arguments.whole and whole else usual, arguments.engine))
    tally.close()


if __name__ == '__main__':
    main()
