"""Random cases that must come out the same in every way: over both engines, with each index alone,
with all of them, hinted, and in natural order (src/server/testing/differential.h has the rules).

A failure prints the seed of its data and the smallest case that still fails. The same seed makes
the same cases again: --seed N --seeds 1. Without options the cases are always the same ones, so
that a faster machine meets no others; --seconds goes on for that long.
Usage: python3 tests/differential/run.py [--seeds 4000 | --seconds N] [--seed N] [--failures 5]
       [--selection none] [--sanitize WHICH]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, 'tests', 'lib')]

import choice  # noqa: E402
import server  # noqa: E402

MARGIN_SECONDS = 1800  # beyond the time asked for; only ends what hangs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seeds', type=choice.count(), default=4000,
                        help='data, some 45 cases with each')
    parser.add_argument('--seconds', type=choice.count(0), default=0,
                        help='for as long in place of --seeds')
    parser.add_argument('--seed', type=choice.count(0), default=1000,
                        help='of the first data; each next one has the next seed')
    parser.add_argument('--failures', type=choice.count(), default=5, help='ends after so many')
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    arguments = parser.parse_args()
    stage = server.build(arguments.selection, arguments.sanitize, ['test_server'])
    environment = dict(os.environ, DIFFERENTIAL_SECONDS=str(arguments.seconds),
                       DIFFERENTIAL_SEEDS=str(arguments.seeds),
                       DIFFERENTIAL_SEED=str(arguments.seed),
                       DIFFERENTIAL_FAILURES=str(arguments.failures))
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        run = subprocess.run(
            [os.path.join(stage, 'bin', 'test_server'), '--gtest_brief=1',
             '--gtest_filter=Differential.*'], cwd=folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace',
            timeout=arguments.seconds + MARGIN_SECONDS, check=False)
    lines = [line for line in run.stdout.splitlines() if not re.match(r'\d{4}-\d\d-\d\dT', line)]
    print('\n'.join(lines))
    failed = sum(bool(re.match(r'seed \d+:$', line)) for line in lines)
    cases = re.search(r'^(\d+) cases', run.stdout, re.MULTILINE)
    if run.returncode != 0 and failed == 0:
        failed = 1
    passed = int(cases.group(1)) - failed if cases else 0
    print('%d passed, %d failed' % (max(passed, 0), failed))
    sys.exit(1 if failed or passed <= 0 else 0)


if __name__ == '__main__':
    main()
