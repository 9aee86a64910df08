"""Tests the patch series: its rules, and that the full series builds and passes.

patches/check.py checks the rules, on the series and on samples; one of them is that every subset
applies. Then the full series is built whole, with the unit tests of the rooms that it touches and
the shell tests that concern the journal, and, for another patch each day, the line of its ticket
(./lab pr) that reproduces the behaviour, as it stands there. --each also builds the series up to
each patch and each patch alone, and runs the unit tests of the rooms that it touches; that takes
long.
Usage: python3 tests/tree/series.py [--each] [SLUG...]       only these patches"""

import datetime
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests', 'tests/lib')]

import choice  # noqa: E402
import staging  # noqa: E402
import unit  # noqa: E402
from totals import Totals  # noqa: E402


def run_check(name, command, totals):
    run = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    if run.returncode != 0:
        print(run.stdout)
    totals.add(name, run.returncode == 0, run.returncode != 0)


def rooms_of(slug):
    """Names of the rooms whose sources the patch changes."""
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        paths = re.findall(r'^\+\+\+ b/src/(\S+)', file.read(), re.M)
    return sorted({unit.room_of(os.path.join(TOP, 'src', path)) for path in paths})


CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$', re.M)


def run_line_of_a_ticket(slugs, totals):
    """What a maintainer is asked to run must run something."""
    slug = slugs[datetime.date.today().toordinal() % len(slugs)]
    lab = os.path.join(TOP, 'lab')
    ticket = subprocess.run([lab, 'pr', slug], stdout=subprocess.PIPE, text=True, check=True).stdout
    line = re.search(r'^    (\./lab test js .*)$', ticket, re.M)[1]
    run = subprocess.run(['bash', '-c', line], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    closing = CLOSING_LINE.findall(run.stdout)
    passed, failed, skipped = (int(number or 0) for number in closing[-1]) if closing else (0, 1, 0)
    good = run.returncode == 0 and passed and not failed and not skipped
    if not good:
        print(run.stdout)
    totals.add('the ticket of %s: %s' % (slug, line), bool(good), not good)


def run_shell_tests(totals):
    run = subprocess.run([sys.executable, 'jstests/run.py', '--selection', 'all', 'patches/',
                          'journal/', 'options/'], cwd=TOP, stdout=subprocess.PIPE, text=True)
    closing = CLOSING_LINE.search(run.stdout)
    print(''.join(line + '\n' for line in run.stdout.splitlines() if not line.startswith('ok')))
    totals.add('jstests of the full series',
               *([int(number or 0) for number in closing.groups()] if closing else [0, 1]))


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--each', action='store_true')
    parser.add_argument('slugs', nargs='*')
    arguments = parser.parse_args()
    choice.exactly(arguments.slugs, staging.series(TOP), 'patch')
    totals = Totals()
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    run_check('the rules, on samples', [sys.executable, 'patches/check.py', '--self-test'], totals)
    run_check('the rules', [sys.executable, 'patches/check.py'], totals)
    series = staging.series(TOP)
    for slug in (arguments.slugs or series) if arguments.each or arguments.slugs else []:
        for selection in ('upto:' + slug, slug):
            for room in rooms_of(slug):
                unit.run_selection(selection, '', 'test_' + room, totals, also='programs')
    if series and not arguments.slugs:
        for room in sorted({room for slug in series for room in rooms_of(slug)}):
            unit.run_selection('all', '', 'test_' + room, totals, also='programs')
        run_shell_tests(totals)
        run_line_of_a_ticket(series, totals)
    totals.close()


if __name__ == '__main__':
    main()
