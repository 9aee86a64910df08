"""Replays recorded operations of a MongoDB 2.6 and compares every answer.

The recordings lie beside this file, README.md describes them. Reads are replayed twice, by the
commands of today's drivers in OP_MSG and by the old messages, where commands travel in OP_QUERY.
accepted.txt names the cases whose answers differ on purpose, each with its reason; pending.txt
those that are still wrong, a list that may only shrink. Both count as skipped, and as failed once
they agree.
FILTER is a part of a case's id, e.g. find-sort.
--one-in tries one case of so many, other ones each day."""

import collections
import datetime
import fnmatch
import json
import lzma
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, 'tests/lib')]

import choice  # noqa: E402
import conversation  # noqa: E402
import ejson  # noqa: E402
import matching  # noqa: E402
import operations  # noqa: E402
import server  # noqa: E402
import wire  # noqa: E402

OPTIONS = ['--smallfiles', '--noprealloc', '--setParameter', 'enableTestCommands=1']

# set: (dialects of its reads, options beside OPTIONS), in the order of replay
SETS = {
    'find': (('new', 'old'), ['--nojournal']),
    'write': (('new',), ['--nojournal']),
    'aggregate': (('new', 'old'), ['--nojournal']),
    'key': (('new', 'old'), ['--nojournal']),
    'plan': (('new',), ['--nojournal']),
    'storage': (('new',), ['--nojournal']),
    'geo': (('new', 'old'), ['--nojournal']),
    'observe': (('old',), ['--nojournal', '--setParameter', 'announcedMaxWireVersion=2']),
    'text': (('new', 'old'), ['--nojournal']),
    'shapes': (('new',), []),
    'script': (('new', 'old'), ['--nojournal', '--scripting']),
    'wire': (('old',), ['--nojournal']),
    'wire-journal': (('old',), []),
}

RECURSION_MAX = 20000  # some recorded filters are deep
SHOWN_PER_TOPIC = 2  # failures printed without --verbose


def lines_of(name):
    with lzma.open(os.path.join(HERE, name + '.jsonl.xz'), 'rt', encoding='utf-8') as file:
        yield from file


def read_set(name):
    return [ejson.loads(line) for line in lines_of(name)]


def names_in(name):
    """The names of a set's cases. They stand first in their lines: decoding these takes seconds."""
    return [match[1] for line in lines_of(name) if (match := re.match(r'{"id":"([^"]+)"', line))]


class Accepted:
    """accepted.txt: lines "PATTERN  REASON", with "new:" in front for what differs only by the
    commands of today's drivers, "old:" for the old messages alone, "chance:" for what may agree by
    chance; pending.txt: names of cases that are not right yet."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.patterns = self._words('accepted.txt')
        self.pending = set(self._words('pending.txt'))
        if os.environ.get(server.ENGINE):
            own = self._words(os.path.join(TOP, 'tests', 'engines', 'accepted.txt'))
            agree = {pattern[1:] for pattern in own if pattern.startswith('!')}
            self.patterns = [pattern for pattern in self.patterns + own if pattern not in agree]

    @staticmethod
    def _words(name):
        with open(os.path.join(HERE, name), encoding='utf-8') as file:
            return [line.split(None, 1)[0] for line in file
                    if line.strip() and not line.startswith('#')]

    def has(self, case):
        """Whether it differs; 'chance' where it may agree all the same."""
        if self._matches('chance:' + case):
            return 'chance'
        return (case in self.pending or self._matches(case)
                or self._matches('%s:%s' % (self.dialect, case)))

    def _matches(self, name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)


class Replay:
    """One set against one server, which is started again when a case brings it down."""

    def __init__(self, program, folder, options, dialect):
        self.program, self.folder, self.options = program, folder, OPTIONS + options
        self.dialect, self.starts = dialect, 0
        self.running = None
        self.start()

    def start(self):
        self.starts += 1
        self.running = server.Server(self.program,
                                     os.path.join(self.folder, 'db%d' % self.starts), self.options)
        self.connect()
        self.loaded = set()

    def connect(self):
        kind = wire.OldConnection if self.dialect == 'old' else wire.Connection
        self.connection = kind(self.running.port)
        self.runner = operations.Runner(self.connection, self.dialect)

    def stop(self):
        self.runner.stop_observing()
        self.connection.close()
        self.running.stop()

    def after_failure(self, error):
        """Makes the next case possible when the server or only the connection is gone, or it does
        not answer any more."""
        self.runner.stop_observing()
        self.connection.close()
        if isinstance(error, TimeoutError):
            self.running.kill()
        if self.running.process.poll() is not None:
            self.start()
        else:
            self.connect()

    def run_case(self, case, data):
        """Sentences on what differs; none when all agrees."""
        fields = dict(case)
        if 'on' in fields:
            return self.run_read(fields, data)
        if 'setup' in fields:
            return matching.shape_differences(fields, self.run_shape(fields))
        if 'steps' in fields and 'want' not in fields:
            return conversation.differences(fields, self.running.port)
        return self.run_steps(fields)

    def run_read(self, fields, data):
        if fields['on'] not in self.loaded and fields['on'] in data:
            self.runner.prepare('oracle', fields['on'], data[fields['on']])
            self.loaded.add(fields['on'])
        answer = self.runner.run('oracle', fields['on'], fields['op'])
        return matching.differences(fields['op'], fields['want'], answer,
                                    fields.get('unordered', False), self.dialect)

    def run_steps(self, fields):
        database, collection = fields.get('db', 'oracle'), 'c'
        self.runner.observe(self.running)
        if 'db' in fields:
            self.runner.command(database, ('dropDatabase', 1))
        else:
            self.runner.drop(database, collection)
        self.runner.prepare(database, collection, fields['before'], loads=False)
        found = []
        for number, (step, want) in enumerate(zip(fields['steps'], fields['want']), 1):
            answer = self.runner.run(database, collection, step)
            found += ['step %d: %s' % (number, text)
                      for text in matching.differences(step, want, answer,
                                                       fields.get('unordered', False),
                                                       self.dialect)]
        if fields.get('show') is not False and 'after' in fields:
            arguments = [('filter', ejson.Doc()), ('sort', ejson.Doc([('_id', 1)]))]
            if fields.get('show'):
                arguments.append(('projection', fields['show']))
            operation = ejson.Doc([('find', ejson.Doc(arguments))])
            answer = self.runner.run(database, collection, operation)
            found += ['afterwards: ' + text for text in matching.differences(
                operation, ejson.Doc([('docs', fields['after'])]), answer, False, self.dialect)]
        return found

    def run_shape(self, fields):
        """The reply as bytes, so that types can be seen."""
        self.runner.command(fields['db'], ('dropDatabase', 1))
        for command in fields['setup']:
            self.runner.command(fields['db'], *command)
        return self.connection.run_raw(fields['db'], fields['command'])


class Report:
    def __init__(self, verbose):
        self.verbose = verbose
        self.passed = self.failed = self.skipped = 0
        self.shown = collections.Counter()

    def add(self, name, found, accepted):
        if accepted:
            if found or accepted == 'chance':
                self.skipped += 1
                return
            found = ['agrees now; take it out of accepted.txt or pending.txt']
        if not found:
            self.passed += 1
            return
        self.failed += 1
        topic = re.sub(r'-?\d+$', '', name)
        self.shown[topic] += 1
        if self.verbose or self.shown[topic] <= SHOWN_PER_TOPIC:
            print('FAIL %s' % name)
            for text in found[:5]:
                print('     ' + text[:1000])
            sys.stdout.flush()


def cases_of(lines, chosen, one_in):
    """(id, line) of the cases of a set that have `chosen` in their names, one of so many."""
    cases = [(dict(line)['id'], line) for line in lines
             if 'id' in dict(line) and chosen in dict(line)['id']]
    return cases[datetime.date.today().toordinal() % one_in::one_in]


def replay_lines(replay, lines, cases, report, is_accepted):
    data = {dict(line)['collection']: line for line in lines if 'collection' in dict(line)}
    for case, line in cases:
        try:
            found = replay.run_case(line, data)
        except (OSError, wire.Refused, ValueError, KeyError, IndexError) as error:
            found = ['%s: %s' % (type(error).__name__, error)]
            if replay.running.process.poll() is not None:
                found.append('the server ended with %d' % replay.running.process.returncode)
            replay.after_failure(error)
        report.add(case, found, is_accepted(case))


def replay_set(name, arguments, program, folder, report):
    lines = read_set(name)
    dialects, options = SETS[name]
    for dialect in dialects:
        before = report.passed, report.failed, report.skipped
        replay = Replay(program, os.path.join(folder, name + '-' + dialect), options, dialect)
        replay_lines(replay, lines, cases_of(lines, arguments.filter, arguments.one_in), report,
                     Accepted(dialect).has)
        replay.stop()
        print('%-12s %s dialect: %d passed, %d failed, %d accepted' % (
            name, dialect, report.passed - before[0], report.failed - before[1],
            report.skipped - before[2]), flush=True)


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--sets', default=','.join(SETS))
    parser.add_argument('--one-in', type=choice.count(), default=1, metavar='N')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('filter', nargs='?', default='')
    arguments = parser.parse_args()
    sets = choice.exactly(arguments.sets.split(','), SETS, 'set')
    names = [case for name in sets for case in names_in(name)]
    if not any(arguments.filter in case for case in names):
        kinds = sorted({case.rpartition('-')[0] for case in names})
        sys.exit("no case has '%s' in its name; there are: %s"
                 % (arguments.filter, ' '.join(kind + '-*' for kind in kinds)))
    sys.setrecursionlimit(RECURSION_MAX)
    sys.stdout.reconfigure(errors='backslashreplace')  # some recorded names are no UTF-8
    stage = server.build(arguments.selection, arguments.sanitize, ['mongod'])
    program = os.path.join(stage, 'bin', 'mongod')
    report = Report(arguments.verbose)
    with server.scratch('oracle-') as folder:
        for name in sets:
            replay_set(name, arguments, program, folder, report)
    print(json.dumps(report.shown.most_common(40))) if report.shown else None
    print('%d passed, %d failed' % (report.passed, report.failed)
          + (', %d skipped' % report.skipped if report.skipped else ''))
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == '__main__':
    main()
