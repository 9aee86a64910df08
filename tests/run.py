"""Runs the parts of the test suite one after the other and adds up their closing lines.

Every part is a script that ends with a line "N passed, N failed[, N skipped]".
Usage: python3 tests/run.py [--list] [PART...] [-- ARGUMENT OF THE PART...]
"""

import os
import re
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLD_DRIVER = os.path.join(TOP, 'build', 'venv-old-driver', 'bin', 'python')
DRIVER = os.path.join(TOP, 'build', 'venv', 'bin', 'python')

# part: (command, whether a plain `./lab test` includes it)
PARTS = {
    'unit': ([DRIVER, 'tests/unit.py'], True),
    'js': ([sys.executable, 'jstests/run.py'], True),
    'series': ([sys.executable, 'tests/tree/series.py'], True),
    'syscalls': ([DRIVER, 'tests/server/syscalls.py'], True),
    'process': ([sys.executable, 'tests/server/process.py'], True),
    'commands': ([DRIVER, 'tests/server/commands.py'], True),
    'oracle': ([sys.executable, 'tests/oracle/replay.py'], True),
    'clients': ([DRIVER, 'tests/clients/run.py'], True),
    'crash': ([DRIVER, 'tests/crash/run.py'], True),
    'crash-patched': ([DRIVER, 'tests/crash/run.py', '--selection', 'all', '--rounds', '8', '--',
                       '--config', 'conf/durable.yaml', '--smallfiles', '--nssize', '2',
                       '--syncdelay', '1'], True),
    'sanitize': ([sys.executable, 'tests/unit.py', '--sanitize', 'address,undefined',
                  '--sanitize', 'thread'], False),
    'tidy': ([sys.executable, 'tests/tree/tidy.py'], False),
}

CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')


def run_part(name, arguments):
    """Streams one part's output; returns (passed, failed, skipped)."""
    command = PARTS[name][0] + arguments
    print('== %s ==' % name, flush=True)
    started = time.monotonic()
    counts = None
    with subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as process:
        for line in process.stdout:
            closing = CLOSING_LINE.match(line)
            if closing:
                counts = [int(number or 0) for number in closing.groups()]
            else:
                print(line, end='', flush=True)
    if counts is None:
        print('FAIL %s: %s ended with exit code %d and no closing line'
              % (name, ' '.join(command), process.returncode))
        counts = [0, 1, 0]
    elif process.returncode != 0 and counts[1] == 0:
        print('FAIL %s: exit code %d although no test failed' % (name, process.returncode))
        counts[1] = 1
    print('-- %s: %d passed, %d failed, %d skipped, %.0f s'
          % (name, *counts, time.monotonic() - started), flush=True)
    return counts


def main():
    words = sys.argv[1:]
    arguments = []
    if '--' in words:
        arguments = words[words.index('--') + 1:]
        words = words[:words.index('--')]
    for word in words:
        if word not in PARTS:
            sys.exit("lab: no test part '%s'; there are: %s" % (word, ' '.join(PARTS)))
    if arguments and len(words) != 1:
        sys.exit('lab: arguments after -- need exactly one part before it')
    names = words or [name for name, (command, usual) in PARTS.items()
                      if usual and os.path.exists(os.path.join(TOP, command[1]))]
    totals = [sum(column) for column in zip(*[run_part(name, arguments) for name in names])]
    print('%d passed, %d failed' % tuple(totals[:2])
          + (', %d skipped' % totals[2] if totals[2] else ''))
    sys.exit(1 if totals[1] or not totals[0] else 0)


if __name__ == '__main__':
    main()
