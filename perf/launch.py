"""Starts a script of perf/ for ./lab: Ctrl-C ends it with a sentence and 130, wherever it is.

Usage: launch.py SCRIPT [ARGUMENT...]"""

import os
import runpy
import sys

EXIT_INTERRUPTED = 130


def main():
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    try:
        runpy.run_path(sys.argv[0], run_name='__main__')
    except KeyboardInterrupt:
        print('\nlab: stopped', file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


if __name__ == '__main__':
    main()
