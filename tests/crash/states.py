"""Power cuts and kills on a simulated disk: what each may leave must come back as promised.

Builds and runs crash_states (src/crash/), which says what it does with --help.
Usage: tests/crash/states.py [--selection none] [--sanitize WHICH] [OPTION OF crash_states...]
"""

import argparse
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    arguments, options = parser.parse_known_args()
    stage = server.build(arguments.selection, arguments.sanitize, ['crash_states'])
    sys.stdout.flush()
    environment = dict(os.environ, **server.SANITIZER_ENVIRONMENT)
    binary = os.path.join(stage, 'bin', 'crash_states')
    os.execve(binary, [binary, *options], environment)


if __name__ == '__main__':
    main()
