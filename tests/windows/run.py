"""Tests the Windows half under Wine: unit tests as .exe, and what the journal asks of its files.

The rooms that compile for Windows are cross-compiled; their unit tests run under Wine, those of the
base and, with its patches, of the full series. Then journal_probe.exe makes a prime number of
commits with Wine's file trace on, and the calls must be those of perf/templates/windows/: the flags
of each open, every write with its size, every flush, nothing else.

A template's head says for which patches, and with which options of the probe. Its calls up to the
line "each commit" happen once, those behind it as often as there are commits.

At last the commands of docs/developing.md run, and must print what the page says.
Usage: tests/windows/run.py [FILTER]      FILTER is a part of a name, e.g. journal, base or docs"""

import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in (
    'site_scons', 'tests', 'tests/lib', 'tests/pages', 'tests/windows', 'perf/trace')]

import choice  # noqa: E402
import page  # noqa: E402
import staging  # noqa: E402
import systems  # noqa: E402
import unit  # noqa: E402
import wine  # noqa: E402
import wine_files  # noqa: E402
from totals import Totals  # noqa: E402

TEMPLATES = os.path.join(TOP, 'perf', 'templates', 'windows')
SCRATCH = os.path.join(TOP, 'build', 'scratch')
# The base, then the series, whose patches bring tests of these rooms.
UNIT_TESTS = {'none': ('test_base', 'test_options', 'test_os', 'test_journal'),
              'all': ('test_os', 'test_journal')}
COMMITS = 23
EACH_COMMIT = 'each commit'
PAGE = 'docs/developing.md'
# It is what runs here.
NOT_RUN = ['./lab test windows']


def why_not():
    """A sentence when there is nothing to run with; empty otherwise."""
    if not wine.program():
        return 'Wine is not installed here (Debian package wine64, on amd64 only)'
    try:
        systems.Windows(TOP, 'build/none-windows')
    except staging.StagingError as error:
        return str(error)
    return ''


def compile_for_windows(selection, targets):
    command = ['scons', '-Q', 'platform=windows', 'patches=' + selection, *targets]
    return subprocess.run(command, cwd=TOP).returncode == 0


def bin_of(selection):
    return os.path.join(TOP, 'build', staging.select(TOP, selection).name
                        + staging.PLATFORMS['windows'], 'bin')


def run_unit_tests(selection, names, totals):
    if not compile_for_windows(selection, names):
        totals.add('build of patches=%s for Windows' % selection, 0, 1)
        return
    environment = dict(wine.environment(), TEST_TMPDIR='.')
    for name in names:
        unit.run_binary(os.path.join(bin_of(selection), name + '.exe'), totals,
                        [wine.program()], environment)


class Template:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(TEMPLATES, name + '.txt'), encoding='utf-8') as file:
            text = file.read()
        fields = dict(re.findall(r'^# (patches|options): *(.*)$', text, re.M))
        self.patches, self.options = fields['patches'], fields['options'].split()
        lines = [line for line in text.splitlines() if line and not line.startswith('#')]
        at = lines.index(EACH_COMMIT)
        self.start, self.commit = lines[:at], lines[at + 1:]


def difference(template, calls):
    """The first place where the calls are not the template's, in words; empty if there is none."""
    wanted = template.start + template.commit * COMMITS
    for number, (call, want) in enumerate(zip(calls, wanted), 1):
        if call != want:
            return "call %d is '%s', the template says '%s'" % (number, call, want)
    if len(calls) != len(wanted):
        return '%d calls, the template says %d for %d commits; the last one is %s' % (
            len(calls), len(wanted), COMMITS, calls[-1] if calls else 'missing')
    return ''


def observe(program, options):
    """The calls of a probe that makes COMMITS commits, and what is wrong with its own words."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        log = os.path.join(folder, 'log')
        place = 'Z:%s/db' % folder
        with open(log, 'w', encoding='utf-8') as stderr:
            ran = wine.run([program, place, str(COMMITS), *options], wine.FILES, stderr, False)
        calls = wine_files.read(log, place)
    if ran.returncode != 0 or 'read back: %d sections\n' % COMMITS not in ran.stdout:
        return calls, 'the probe ended with %d: %s' % (ran.returncode, ran.stdout)
    return calls, ''


def run_template(template, selection, totals):
    what = 'windows/%s, patches=%s' % (template.name, selection)
    if not compile_for_windows(selection, ['journal_probe']):
        totals.add('build of ' + what, 0, 1)
        return
    calls, wrong = observe(os.path.join(bin_of(selection), 'journal_probe.exe'), template.options)
    wrong = wrong or difference(template, calls)
    if wrong:
        print('%s: %s' % (what, wrong))
    totals.add(what, not wrong, bool(wrong))


def run_page(totals):
    if not compile_for_windows('none', ['journal_probe']):
        totals.add('build for ' + PAGE, 0, 1)
        return
    page.run_page(PAGE, page.Shell(TOP, wine.environment()), totals, NOT_RUN)


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('filter', nargs='?', default='')
    wanted = parser.parse_args().filter
    templates = sorted(name[:-len('.txt')] for name in os.listdir(TEMPLATES))
    choice.with_any([wanted], sorted({name for names in UNIT_TESTS.values() for name in names})
                    + ['windows/' + name for name in templates] + [PAGE], 'test')
    totals = Totals()
    reason = why_not()
    if reason:
        totals.close_skipped(reason)
    os.makedirs(SCRATCH, exist_ok=True)
    wine.prepare()
    for selection, names in UNIT_TESTS.items():
        names = [name for name in names if wanted in name]
        if names:
            run_unit_tests(selection, names, totals)
    for name in templates:
        if wanted not in 'windows/' + name:
            continue
        template = Template(name)
        run_template(template, template.patches, totals)
        if template.patches == 'none' and staging.series(TOP):  # every option at its default
            run_template(template, 'all', totals)
    if wanted in PAGE:
        run_page(totals)
    totals.close()


if __name__ == '__main__':
    main()
