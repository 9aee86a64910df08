"""Starts a script of perf/ for ./lab: Ctrl-C ends it with a sentence and 130, wherever it is.

Usage: launch.py [--check] SCRIPT [ARGUMENT...]
--check only has the script read its arguments, so that ./lab refuses wrong ones before it compiles.
"""

import argparse
import os
import runpy
import sys

EXIT_INTERRUPTED = 130


def only_read_arguments():
    """From now on argparse ends the process where it has found all arguments right."""
    parse = argparse.ArgumentParser.parse_known_args

    def parse_known_args(parser, *words):
        parse(parser, *words)
        sys.exit(0)

    def parse_args(parser, *words):
        unknown = parse(parser, *words)[1]
        if unknown:
            parser.error('unrecognized arguments: ' + ' '.join(unknown))
        sys.exit(0)

    argparse.ArgumentParser.parse_known_args = parse_known_args
    argparse.ArgumentParser.parse_args = parse_args


def main():
    words = sys.argv[1:]
    if words[:1] == ['--check']:
        only_read_arguments()
        del words[0]
    sys.argv = words
    sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
    try:
        runpy.run_path(words[0], run_name='__main__')
    except KeyboardInterrupt:
        print('\nlab: stopped', file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


if __name__ == '__main__':
    main()
