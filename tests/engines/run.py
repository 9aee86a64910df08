"""The storage engines beside mmapv1 under what the server's other parts ask of them, and what
concerns such engines alone: starts that are refused, kills, copies from engine to engine.

Each piece is a script that ends with "N passed, N failed[, N skipped]". The engines run at the same
time, a piece of each."""

import concurrent.futures
import os
import re
import subprocess
import sys
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'tests/oracle')]

import choice  # noqa: E402
import parts  # noqa: E402
import replay  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

DRIVER = os.path.join(TOP, 'build', 'venv', 'bin', 'python')
ENGINES = ['wiredTiger', 'rocksdb']

# All but `storage`, which is about extents, and `observe`, about moved documents and sizes.
RECORDED = ','.join(name for name in replay.SETS if name not in ('storage', 'observe'))

# name: (command for a change, what --whole adds or puts in its place); once for each engine
PIECES = {
    'unit': (['tests/unit.py', 'test_{room}'], None),
    'starts': (['jstests/run.py', 'engines/'], None),
    'commands': ([*parts.PYTEST[1:], 'tests/server/test_commands.py'], None),
    'oracle': (['tests/oracle/replay.py', '--sets', RECORDED, '--one-in', '8'],
               ['tests/oracle/replay.py', '--sets', RECORDED]),
    'js': (['jstests/run.py', 'core/insert_find', 'core/indexes', 'core/cursors',
            'core/collections', 'core/old', 'core/long', 'core/refused', 'core/kept',
            'core/backup', 'replica/point'],
           ['jstests/run.py', 'core/', 'replica/point']),
    'beside': (['tests/engines/beside.py'], ['tests/engines/beside.py', '--rounds', '400']),
    'graph': ([*parts.PYTEST[1:], 'tests/scripts/test_linkbench.py'], None),
    'replica': ([*parts.PYTEST[1:], 'tests/replica', '-k',
                 'after_each_step or made_the_primary or room_for_its_term'],
                [*parts.PYTEST[1:], 'tests/replica']),
    'kills': (['tests/engines/kills.py', '--rounds', '6'],
              ['tests/engines/kills.py', '--writes', '50000']),
    'log': (['tests/engines/kills.py', '--log', '--rounds', '3'],
            ['tests/engines/kills.py', '--log', '--writes', '50000']),
}
COPIES = 'copies'  # from one engine to the next

BUILT = ['mongod', 'dbpath_check', 'refuse_calls.so']

CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


def build(engines):
    """What the pieces need, in one go: they build nothing then."""
    os.environ[server.ENGINE] = ','.join(engines)
    targets = BUILT + [word % engine.lower() for engine in engines
                       for word in ('engine_%s.so', 'test_%s')]
    server.build('none', '', targets)
    server.note_built('none:' + target for target in targets)


def run(command, engine):
    """What it prints, but for the closing line; and its [passed, failed, skipped]."""
    words = [DRIVER] + [word.format(room=engine.lower()) for word in command]
    run_of = subprocess.run(words, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors='replace',
                            env=dict(os.environ, **{server.ENGINE: engine}))
    counts, shown = None, []
    for line in run_of.stdout.splitlines(keepends=True):
        closing = CLOSING_LINE.match(line)
        if closing:
            counts = [int(number or 0) for number in closing.groups()]
        else:
            shown.append(line)
    if counts is None or run_of.returncode != 0 and counts[1] == 0:
        shown.append('%s ended with %d\n' % (' '.join(command), run_of.returncode))
        counts = [0, 1, 0]
    return ''.join(shown), counts


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--engine', choices=ENGINES, help='it alone')
    parser.add_argument('--whole', action='store_true', help='with what takes long')
    parser.add_argument('pieces', nargs='*')
    arguments = parser.parse_args()
    pieces = choice.exactly(arguments.pieces, list(PIECES) + [COPIES], 'piece')
    engines = [arguments.engine] if arguments.engine else ENGINES
    build(engines)
    tally, lock = totals.Totals(), threading.Lock()

    def take(name, command, engine):
        shown, counts = run(command, engine)
        with lock:
            print(shown, end='', flush=True)
            tally.add(name, *counts)

    def take_all(engine):
        for name in pieces:
            if name != COPIES:
                usual, whole = PIECES[name]
                take('%s, %s' % (engine, name), whole if arguments.whole and whole else usual,
                     engine)

    with concurrent.futures.ThreadPoolExecutor(len(engines)) as pool:
        for done in [pool.submit(take_all, engine) for engine in engines]:
            done.result()
    if COPIES in pieces:
        take(COPIES, ['tests/engines/copies.py'] + engines, ','.join(engines))
    tally.close()


if __name__ == '__main__':
    main()
