"""Replays the cases of this folder: public reports of wrong answers, each with the right one.

Every case runs in both dialects: by the commands of today's drivers in OP_MSG, and by the old
messages, where commands travel in OP_QUERY. README.md says how a case is written.
FILTER is a part of a case's id."""

import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, 'tests/oracle'), os.path.join(TOP, 'tests/lib')]

import choice  # noqa: E402
import ejson  # noqa: E402
import operations  # noqa: E402
import replay  # noqa: E402
import server  # noqa: E402

DIALECTS = ('new', 'old')


def file_names():
    return sorted(os.path.basename(path).removesuffix('.jsonl')
                  for path in glob.glob(os.path.join(HERE, '*.jsonl')))


def canonical(value):
    """Numbers as a server's answer has them: cases are written by people."""
    if isinstance(value, ejson.Doc):
        is_special = len(value) == 1 and value[0][0].startswith('$')
        return value if is_special else ejson.Doc((name, canonical(item)) for name, item in value)
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return next(item for _, _, item in ejson.elements(ejson.encode({'': value})))
    return value


def read_file(name):
    with open(os.path.join(HERE, name + '.jsonl'), encoding='utf-8') as file:
        lines = [ejson.loads(line) for line in file if line.strip()]
    return [changed(line, **{name: canonical(value) for name, value in line
                             if name in ('want', 'after')}) for line in lines]


def changed(line, **fields):
    return ejson.Doc((dict(line) | fields).items())


def with_names(indexes):
    """The indexes, each with the name of its keys and options, which another one may have too."""
    named = []
    for index in indexes:
        keys = '_'.join('%s_%s' % (name, kind if isinstance(kind, str) else
                                   '%g' % ejson.number(kind)) for name, kind in index[0])
        keys += ''.join('_' + option for option, _ in index[1])
        same = sum(other.split('.')[0] == keys for other, _ in named)
        named.append((keys + ('.%d' % (same + 1) if same else ''), index))
    return named


def with_each_index(lines):
    """The lines, with one for each index of "each_index" beside the one without.

    Index and case become a case "ID by KEYS"; a collection with its documents "NAME_by_KEYS"."""
    alternatives = {}  # collection -> its indexes
    for line in lines:
        fields = dict(line)
        indexes = fields.get('each_index', [])
        if 'collection' in fields:
            alternatives[fields['collection']] = indexes
        yield line
        for keys, index in with_names(indexes or alternatives.get(fields.get('on'), [])):
            case = '%s by %s' % (fields.get('id'), keys)
            if 'collection' in fields:
                yield changed(line, collection='%s_by_%s' % (fields['collection'], keys),
                              indexes=fields.get('indexes', []) + [index])
            elif 'on' in fields:
                yield changed(line, id=case, on='%s_by_%s' % (fields['on'], keys))
            else:
                before = fields['before']
                yield changed(line, id=case, before=changed(
                    before, indexes=dict(before).get('indexes', []) + [index]))


def for_dialect(lines, dialect):
    return [line for line in lines if dialect in dict(line).get('dialects', DIALECTS)]


def replay_files(arguments, program, folder, report):
    for dialect in arguments.dialects:
        running = replay.Replay(program, os.path.join(folder, dialect), [], dialect)
        for name in arguments.files:
            before = report.passed, report.failed
            lines = list(with_each_index(for_dialect(read_file(name), dialect)))
            replay.replay_lines(running, lines, replay.cases_of(lines, arguments.filter, 1), report,
                                lambda case: False)
            print('%-12s %s dialect: %d passed, %d failed' % (
                name, dialect, report.passed - before[0], report.failed - before[1]), flush=True)
        running.stop()


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--files', default=','.join(file_names()))
    parser.add_argument('--dialects', default=','.join(DIALECTS))
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('filter', nargs='?', default='')
    arguments = parser.parse_args()
    arguments.files = choice.exactly(arguments.files.split(','), file_names(), 'file')
    arguments.dialects = choice.exactly(arguments.dialects.split(','), DIALECTS, 'dialect')
    choice.with_any([arguments.filter], [dict(line)['id'] for name in arguments.files
                                         for line in with_each_index(read_file(name))
                                         if 'id' in dict(line)], 'case')
    sys.setrecursionlimit(replay.RECURSION_MAX)
    stage = server.build(arguments.selection, arguments.sanitize, ['mongod'])
    operations.Runner.recorded = False
    report = replay.Report(arguments.verbose)
    with server.scratch('reports-') as folder:
        replay_files(arguments, os.path.join(stage, 'bin', 'mongod'), folder, report)
    print('%d passed, %d failed' % (report.passed, report.failed))
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == '__main__':
    main()
