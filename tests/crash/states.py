"""Power cuts and kills on a simulated disk: what each may leave must be recovered as promised.

Builds and runs crash_states (src/crash/); `./lab crash --help` says what its options mean."""

import argparse
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402


def state(text):
    """A type for argparse: a call of a history, or all of one (H:0) or from one on (H:)."""
    if not re.fullmatch(r'[0-9]+:[0-9]*', text):
        raise argparse.ArgumentTypeError("'%s' is no state; give HISTORY:CALL" % text)
    return text


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--states', type=choice.count(), default=20000)
    parser.add_argument('--seed', type=choice.count(0), default=1)
    parser.add_argument('--jobs', type=choice.count(1, 64), default=1)
    parser.add_argument('--at', type=state, metavar='H:C')
    parser.add_argument('--log', action='store_true')
    arguments = parser.parse_args()
    options = [word for name in ('states', 'seed', 'jobs')
               for word in ('--' + name, str(getattr(arguments, name)))]
    options += (['--at', arguments.at] if arguments.at else []) + ['--log'] * arguments.log
    stage = server.build(arguments.selection, arguments.sanitize, ['crash_states'])
    sys.stdout.flush()
    environment = dict(os.environ, **server.SANITIZER_ENVIRONMENT)
    binary = os.path.join(stage, 'bin', 'crash_states')
    os.execve(binary, [binary, *options], environment)


if __name__ == '__main__':
    main()
