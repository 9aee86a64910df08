"""./lab release: what a release needs, step by step; docs/developing.md has the rest.

A step says what it looks at, and the command that does it or puts it right. What is cheap is run;
what takes hours, or much of the machine, is read from the record that it left."""

import datetime
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

from lab import base, needs
from lab.command_line import HELP, Parser

import full_run
import machine
import parts
import program_version
import staging

CHANGELOG = 'CHANGELOG.md'
HEADING = re.compile(r'^## \[(.+?)\] - (.+)$', re.M)
SELECTION_OF_PACKAGES = 'all'


class Step:
    """`look` of () returns (sentences about what fails, sentences that are only worth knowing)."""

    def __init__(self, name, what, command, look):
        self.name, self.what, self.command, self.look = name, what, command, look


def read(*path):
    return pathlib.Path(os.path.join(base.TOP, *path)).read_text('utf-8')


def output_of(*command):
    """(exit code, output) of a command at the top of the tree."""
    run = subprocess.run(command, cwd=base.TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         stdin=subprocess.DEVNULL, text=True, errors='replace')
    return run.returncode, run.stdout


# ---- what the steps look at ----

def clean():
    code, said = output_of('git', 'status', '--porcelain')
    if code != 0:
        return ['this is no git checkout: ' + said.strip()], []
    return (['commit or remove: ' + ', '.join(line[3:] for line in said.splitlines())]
            if said else []), []


def versions():
    number = program_version.read(base.TOP)
    heading = HEADING.search(read(CHANGELOG))
    if not heading:
        return ['%s has no heading of the form "## [%s] - YYYY-MM-DD"' % (CHANGELOG, number)], []
    found = []
    if heading[1] != number:
        found.append('the newest heading of %s is of %s, and %s has %s: change one of them'
                     % (CHANGELOG, heading[1], program_version.FILE, number))
    try:
        day = datetime.date.fromisoformat(heading[2])
        if day > datetime.datetime.now(datetime.timezone.utc).date():
            found.append('%s gives %s a day to come, %s' % (CHANGELOG, heading[1], day))
    except ValueError:
        found.append('%s has "%s" behind %s: write the day of the release, as 2027-01-31'
                     % (CHANGELOG, heading[2], heading[1]))
    tagged = output_of('git', 'rev-parse', '--quiet', '--verify', 'v%s^{commit}' % number)
    if tagged[0] == 0 and tagged[1] != output_of('git', 'rev-parse', 'HEAD')[1]:
        found.append('v%s is released: another commit has that tag; count up' % number)
    return found, []


def usual_parts():
    problem = full_run.usual_problem(base.TOP)
    return [problem] if problem else [], []


def long_parts():
    names = [part.name for part in parts.read_parts().values() if not part.is_usual]
    if not full_run.is_whole_history(base.TOP):
        return ['commits cannot be counted here: it wants a whole checkout'], []
    record = full_run.read(base.TOP)
    never = [part for part in names if record.get(part, [''])[0] == full_run.NOT_RUN]
    return (['%s: has not run yet' % part for part in never]
            + full_run.problems(base.TOP, [part for part in names if part not in never])), []


def series():
    code, said = output_of(sys.executable, 'patches/check.py')
    lines = said.strip().splitlines()
    waiting = [line for line in lines if ' waits for ./lab bench: ' in line]
    return ([line for line in lines if line not in waiting] if code != 0 else []), waiting


def options_page():
    found = ['build/%s is not of these sources' % selection for selection in ('none', 'all')
             if output_of('scons', '-Q', '--question', 'patches=' + selection, 'mongod')[0] != 0]
    if found:
        return found, []
    code, said = output_of(sys.executable, 'site_scons/options_page.py')
    if code != 0 or said != read('docs', 'options.md'):
        return ['docs/options.md is not what the programs say'], []
    return [], []


def header_of(slug):
    return staging.header_of(read('patches', slug + '.patch'))


def measurements():
    """Every kept result is of a quiet machine, or what shows it says that it is not."""
    found, notes, quoted = [], [], {}
    for slug in staging.series(base.TOP):
        fields = staging.header_fields(os.path.join(base.TOP, 'patches', slug + '.patch'))
        quoted[fields['Result']] = slug
        if 'Awaits-measurement' in fields:
            notes.append('%s waits: %s' % (slug, fields['Awaits-measurement']))
        elif fields['Result'] == 'none':
            found.append('%s has no result, and does not say why' % slug)
    for path in sorted(glob.glob(os.path.join(base.TOP, 'perf', 'results', '*', '*', '*.json'))):
        name = os.path.relpath(path, base.TOP)
        result = json.loads(pathlib.Path(path).read_text('utf-8'))
        if 'slug' in result and name not in quoted:
            found.append('%s is quoted by no patch: remove it' % name)
        elif not result.get('floors'):
            notes.append('%s does not say how quiet the machine was; ./lab pr says so' % name)
        elif not machine.quiet(result)[0]:
            slug = quoted.get(name)
            says_so = slug is None or 'Not quiet enough for conclusions' in header_of(slug) \
                or '\nAwaits-measurement: ' in header_of(slug)
            (notes if says_so else found).append(
                '%s is not of a quiet machine, which %s' % (name, 'is said beside it' if says_so
                                                            else slug + '.patch does not say'))
    return found, notes


def made_at(path):
    if path.endswith('.deb'):  # an ar archive: the first member's time
        with open(path, 'rb') as file:
            return int(file.read(36)[24:36])
    with tarfile.open(path) as archive:
        return archive.next().mtime


PACKAGES = ('mongod-dur', 'mongod-dur-engine-rocksdb', 'mongod-dur-engine-wiredtiger',
            'mongod-dur-script')


def package():
    number = program_version.read(base.TOP) + '+' + SELECTION_OF_PACKAGES
    found, seconds = [], int(output_of('git', 'log', '-1', '--format=%ct')[1])
    for form in (*('%s_%s_%s.deb' % (name, number, needs.architecture()) for name in PACKAGES),
                 'mongod-dur-%s.tar.xz' % number):
        path = os.path.join(base.BUILD, 'package', form)
        if not os.path.exists(path):
            found.append('there is no build/package/' + form)
        elif made_at(path) != seconds:
            found.append('build/package/%s is of another commit' % form)
    return found, []


def images():
    problem = full_run.problem(base.TOP, 'docker', full_run.read(base.TOP).get('docker')) \
        if full_run.is_whole_history(base.TOP) else 'commits cannot be counted here'
    record = full_run.read(base.TOP).get('docker', [''])
    if not problem and record[0] == full_run.NOT_RUN:
        problem = 'have not been built yet'
    if not problem:
        code, said = output_of('git', 'diff', '--name-only', record[0], 'HEAD', '--', 'docker',
                               'setup/apt-build.txt', 'conf', 'packaging/defaults.py')
        if code != 0 or said:
            problem = 'were built before the last change of ' + ', '.join(said.split())
    return ['the images ' + problem] if problem else [], []


STEPS = [
    Step('clean', 'the sources are those of a commit', 'git status', clean),
    Step('version', 'the version is that of the newest heading of the changelog, which has a day; '
                    'it is not released yet', 'edit %s, %s' % (program_version.FILE, CHANGELOG),
         versions),
    Step('usual', 'the usual parts of the tests passed on these sources', './lab test',
         usual_parts),
    Step('long', 'each long part passed, at most %d commits ago' % full_run.COMMITS_MAX,
         './lab test PART', long_parts),
    Step('series', 'the patches apply, in every subset, and their headers are complete',
         'python3 patches/check.py', series),
    Step('options', 'docs/options.md is what the programs say', './lab docs', options_page),
    Step('measurements', 'kept results are of a quiet machine, or said not to be',
         './lab measure --all', measurements),
    Step('package', 'the package and the tarball are built from this commit', './lab package',
         package),
    Step('images', 'the images were built and tried as they are now', './lab test docker', images)]


def release(words):
    arguments = release_parser([]).check(words)
    names = [step.name for step in STEPS]
    for name in arguments.steps:
        if name not in names:
            base.give_up("no step '%s'; there are: %s" % (name, ' '.join(names)), base.EXIT_USAGE)
    steps = [step for step in STEPS if not arguments.steps or step.name in arguments.steps]
    if arguments.list:
        for step in steps:
            print('%-13s %s\n%13s %s' % (step.name, step.what, '', step.command))
    elif arguments.check:
        check(steps)
    else:
        base.give_up_with_help(release_parser([]))


def check(steps):
    needs.compiler()
    failed = 0
    for step in steps:
        found, notes = step.look()
        failed += bool(found)
        print('%-4s %-13s %s' % ('FAIL' if found else 'ok', step.name, step.what), flush=True)
        for sentence in found:
            print('     ' + sentence)
        if found:
            print('     -> ' + step.command)
        for sentence in notes:
            print('     (%s)' % sentence)
    print('%d steps passed, %d failed' % (len(steps) - failed, failed))
    if failed:
        sys.exit(base.EXIT_FAILED)
    if steps == STEPS:
        number = program_version.read(base.TOP)
        print("\nIt can be released:\n\n    git tag -s v%s -m 'mongod-dur %s'\n"
              '    publish what is in build/package/, with its section of %s'
              % (number, number, CHANGELOG))


def release_parser(_):
    parser = Parser('./lab release', usage=HELP['release'],
                    epilog=HELP['release, epilog'] % ', '.join(step.name for step in STEPS))
    parser.add_argument('--check', action='store_true', help='go through the steps')
    parser.add_argument('--list', action='store_true', help='only print them')
    parser.add_argument('steps', metavar='STEP', nargs='*', help='only these')
    return parser


COMMANDS = {
    'release': {'form': '--check', 'parser': release_parser, 'run': release,
                'more': lambda: [step.name for step in STEPS],
                'summary': 'what a release needs, checked step by step'}}
