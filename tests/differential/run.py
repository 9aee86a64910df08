"""Random cases that must come out the same in every way: with each index alone, with all of them,
hinted, and in natural order, over all engines, alternating
(src/command/commands/testing/differential.h has the rules).

A failure prints the smallest case found that still fails, and how to make its data again. The first
seed is the date, so that each day meets other cases."""

import datetime
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, 'tests', 'lib')]

import choice  # noqa: E402
import server  # noqa: E402

MARGIN_SECONDS = 1800  # beyond the time asked for; only ends what hangs
SEEDS_A_DAY = 10 ** 8
SEEDS_A_JOB = 10 ** 6


class Job:
    """A process with seeds of its own. It prints into a file, as a pipe would hold it up."""

    def __init__(self, program, folder, arguments, number):
        self.path = os.path.join(folder, 'job%d' % number)
        environment = dict(os.environ, DIFFERENTIAL_SECONDS=str(arguments.seconds),
                           DIFFERENTIAL_SEEDS=str(arguments.seeds),
                           DIFFERENTIAL_SEED=str(arguments.seed + number * SEEDS_A_JOB),
                           DIFFERENTIAL_FAILURES=str(arguments.failures))
        with open(self.path, 'wb') as output:
            self.process = subprocess.Popen(
                [program, '--gtest_brief=1', '--gtest_filter=Differential.*'], cwd=folder,
                env=environment, stdout=output, stderr=subprocess.STDOUT)

    def finish(self, seconds):
        """Shows what it printed; its cases that passed and failed."""
        self.process.wait(timeout=seconds)
        with open(self.path, encoding='utf-8', errors='replace') as output:
            lines = [line for line in output.read().splitlines()
                     if not re.match(r'\d{4}-\d\d-\d\dT', line)]
        text = '\n'.join(lines)
        print(text)
        seeds = re.findall(r'^seed (\d+):$', text, re.M)
        for seed in seeds:
            print('again: python3 tests/differential/run.py --seed %s --seeds 1' % seed)
        failed = len(seeds) or int(self.process.returncode != 0)
        cases = re.search(r'^(\d+) cases', text, re.M)
        return max(int(cases.group(1)) - failed, 0) if cases else 0, failed


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    length = parser.add_mutually_exclusive_group()
    length.add_argument('--seconds', type=choice.count(), default=60)
    length.add_argument('--seeds', type=choice.count(),
                        help='data, some 66 cases with each, in place of --seconds')
    today = datetime.date.today().strftime('%Y%m%d')
    parser.add_argument('--seed', type=choice.count(0, 10 ** 18), default=int(today) * SEEDS_A_DAY,
                        help='of the first data; each next one has the next seed')
    parser.add_argument('--jobs', type=choice.count(), default=1, help='processes, side by side')
    parser.add_argument('--failures', type=choice.count(), default=5, help='ends after so many')
    arguments = parser.parse_args()
    if arguments.seeds is None:
        arguments.seeds = 0
    else:
        arguments.seconds = 0
    stage = server.build(arguments.selection, arguments.sanitize, ['test_commands'])
    print('first seed %d' % arguments.seed)
    passed = failed = 0
    with server.scratch() as folder:
        program = os.path.join(stage, 'bin', 'test_commands')
        for job in [Job(program, folder, arguments, n) for n in range(arguments.jobs)]:
            more_passed, more_failed = job.finish(arguments.seconds + MARGIN_SECONDS)
            passed += more_passed
            failed += more_failed
    print('%d passed, %d failed' % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
