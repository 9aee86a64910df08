"""Runs the tests of public programs of today against a server, or uses these as their users do.

Each program comes from its registry by its name. Where its package brings its own tests, these are
run; where it does not, a program of ours in this folder uses it. A suite that is not ours fails in
places that are known: known/NAME.txt lists them, one a line, as KIND TEST REASON. KIND is
  lacks    what this server does not have, or does otherwise; these count as failures
  machine  what the machine does not have: a name server, say
  theirs   what fails, or is not to be had, by the program itself
What fails and is not listed is a failure here; so is each failure over the program's limit.
Usage: build/venv/bin/python tests/programs/run.py [--selection none] [--write] [NAME...]
With --write the figures go to figures.json, from which docs/compatibility.md is made."""

import collections
import fnmatch
import json
import os
import sys
import tempfile

import programs

sys.path.insert(0, os.path.join(programs.TOP, 'tests', 'lib'))

import choice  # noqa: E402
import server  # noqa: E402
import set_member  # noqa: E402
import totals  # noqa: E402

SCRATCH = os.path.join(programs.BUILD, 'scratch')
FIGURES = programs.own('figures.json')


class FixedPort(server.Server):
    """A server on the port that the suite takes in any case."""

    def __init__(self, program, dbpath, options, port):
        self.wanted = port
        super().__init__(program, dbpath, options)

    def _start(self):
        self.port = self.wanted or self.port
        if super()._start():
            return True
        if self.wanted:
            raise server.ServerError('port %d is taken' % self.port)
        return False


def known_failures(name):
    """[(kind, pattern, reason)]."""
    path = programs.own('known/%s.txt' % name)
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return [tuple(line.strip().split(None, 2)) for line in file
                if line.strip() and not line.startswith('#')]


def run_program(name, program, mongod, folder):
    """Returns ({test: passed, failed or skipped}, what was printed)."""
    of_mmapv1 = [] if '--storageEngine' in program.options else ['--smallfiles']
    with FixedPort(mongod, os.path.join(folder, name), of_mmapv1 + program.options,
                   program.port) as running:
        if '--replSet' in program.options:
            set_member.become_primary(running.port)
        return program.run(running.port, os.path.join(folder, name + '.report'))


def judge(name, program, found, output):
    """Prints what there is to say of a program; returns (passed, failed, skipped), and figures."""
    if not found:
        print('%s\nFAIL %s: no test was run' % (output[-3000:], name))
        return (0, 1, 0), None
    known = known_failures(name)
    kinds = collections.defaultdict(list)
    for test in sorted(test for test, outcome in found.items() if outcome == 'failed'):
        kind = next((kind for kind, pattern, _ in known if fnmatch.fnmatchcase(test, pattern)),
                    'new')
        kinds[kind].append(test)
    for test in kinds['new']:
        print('FAIL %s: %s' % (name, test))
    for kind, pattern, _ in known:
        if not fnmatch.filter(kinds[kind], pattern):
            print('%s: listed, and does not fail: %s' % (name, pattern))
    count = collections.Counter(found.values())
    failed = len(kinds['new']) + len(kinds['lacks'])
    left_out = len(kinds['machine']) + len(kinds['theirs'])
    if kinds['new']:
        print(output[-3000:])
    if failed > program.limit:
        print('FAIL %s: %d tests fail, %d may' % (name, failed, program.limit))
    print('%s: %d passed, %d failed (%d may), %d not counted, %d skipped'
          % (name, count['passed'], failed, program.limit, left_out, count['skipped']), flush=True)
    bad = len(kinds['new']) + (failed > program.limit)
    skipped = count['skipped'] + left_out + len(kinds['lacks'])
    return (count['passed'], bad, skipped), {
        'package': program.package, 'tests': program.tests, 'options': program.options,
        'passed': count['passed'], 'failed': failed, 'target': program.target,
        'left_out': left_out, 'skipped': count['skipped']}


def write(figures):
    with open(FIGURES, encoding='utf-8') as file:
        old = json.load(file)
    old.update(figures)
    with open(FIGURES, 'w', encoding='utf-8') as file:
        json.dump({name: old[name] for name in old if name in programs.PROGRAMS}, file, indent=1,
                  sort_keys=True)
        file.write('\n')


def main():
    parser = choice.parser(__doc__, 'selection')
    parser.add_argument('--write', action='store_true', help='write figures.json')
    parser.add_argument('names', nargs='*', metavar='NAME',
                        help='programs; all when none is named: ' + ' '.join(programs.PROGRAMS))
    arguments = parser.parse_args()
    names = choice.exactly(arguments.names, programs.PROGRAMS, 'program')
    os.makedirs(SCRATCH, exist_ok=True)
    os.environ[server.ENGINE] = 'wiredTiger'  # that it is built; each program chooses its own
    mongod = os.path.join(server.build(arguments.selection, '', ['mongod', 'engine_wiredtiger.so']),
                          'bin', 'mongod')
    del os.environ[server.ENGINE]
    os.environ['MONGOD'] = mongod  # for those that start sets of their own
    tally = totals.Totals()
    figures = {}
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix='programs-') as folder:
        for name in names:
            program = programs.PROGRAMS[name]
            found, output = run_program(name, program, mongod, folder)
            counts, made = judge(name, program, found, output)
            tally.add(name, *counts)
            if made:
                figures[name] = made
    if arguments.write:
        write(figures)
    tally.close()


if __name__ == '__main__':
    main()
