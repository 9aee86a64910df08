"""Makes docs/compatibility.md: which commands, stages and operators of current servers are here.

It asks a server by both kinds of message, so the page says what is, not what was meant.
names.json has what is asked for: each name with the specification, filter or update (of DOCUMENT)
that it is tried with.
Usage: build/venv/bin/python tests/compatibility/page.py [--selection none] [--write]
Without --write it says whether the page is what the server answers."""

import argparse
import functools
import json
import os
import pathlib
import sys
import tempfile
import textwrap

import bson
import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('tests/lib', 'tests/oracle')]

import choice  # noqa: E402
import notes  # noqa: E402
import server  # noqa: E402
import messages  # noqa: E402

PAGE = os.path.join(TOP, 'docs', 'compatibility.md')
NAMES = os.path.join(TOP, 'tests', 'compatibility', 'names.json')
DATABASE = 'compatibility'
DOCUMENT = {'_id': 1, 'a': 1, 'b': 2, 'l': [1, 2], 's': [{'x': 1}], 'o': {'p': 1}}
OF_A_SET = ['--replSet', 'rs0', '--oplogSize', '32']
OPTIONS = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1']


class Asked:
    """A server, asked by both kinds of message. `member`: one that is a set, and is asked instead
    where this one says that a set is needed."""

    def __init__(self, port, member=None):
        self.port, self.member = port, member
        self.client = pymongo.MongoClient('127.0.0.1', port, directConnection=True)

    def fill(self):
        db = self.client[DATABASE]
        for name in db.list_collection_names():
            db.drop_collection(name)
        db.c.insert_one(DOCUMENT)
        db.c.create_index([('p', '2d')])
        db.c.create_index([('t', 'text')])

    def by_msg(self, request, database=DATABASE):
        try:
            reply = self.client[database].command(request)
        except pymongo.errors.OperationFailure as error:
            reply = error.details
        return code_of(reply)

    def by_query(self, request, database=DATABASE):
        with messages.Connection(self.port) as connection:
            return code_of(bson.decode(connection.by_query(database, request)))


def code_of(reply):
    """0: it went well."""
    if reply.get('writeErrors'):
        return reply['writeErrors'][0]['code']
    return 0 if reply['ok'] == 1.0 else reply.get('code', -1)


def here(code, lacking=None):
    """What the page says of an answer. `lacking`: the codes of what is not there; None: all."""
    if code == 0 or (lacking is not None and code not in lacking):
        return 'yes'
    return 'no (%d)' % code


# Only on a member of a set.
NEEDS_SET = (76, 40573)
OF_SET = ' on members of a set'


def in_set(row):
    """The same, asked of a member where it needs one."""
    @functools.wraps(row)
    def asked_again(asked, name, *more):
        shown, *answers = row(asked, name, *more)
        if asked.member is None or answers[0] not in ['no (%d)' % code for code in NEEDS_SET]:
            return (shown, *answers)
        shown, *answers = row(asked.member, name, *more)
        return (shown + OF_SET, *answers)
    return asked_again


def wrapped(text, indent=''):
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def names_by_answer(title, rows):
    """A section: one paragraph for each pair of answers."""
    lines = ['## %s' % title, '']
    by_answer = {}
    for name, by_msg, by_query in rows:
        by_answer.setdefault((by_msg, by_query), []).append(name)
    for answers, found in sorted(by_answer.items(), reverse=True):
        names_found = ', '.join(sorted(found, key=lambda name: name.strip('`')))
        lines += wrapped('%s: %s.' % (said(*answers), names_found)) + ['']
    return '\n'.join(lines) + '\n'


def said(by_msg, by_query):
    if by_msg == by_query:
        return 'In both dialects' if by_msg == 'yes' else 'In neither ' + by_msg.removeprefix('no ')
    if by_msg == 'yes':
        return 'By OP_MSG, not by old messages %s' % by_query.removeprefix('no ')
    if by_query == 'yes':
        return 'By old messages, not by OP_MSG %s' % by_msg.removeprefix('no ')
    return 'In neither (by OP_MSG %s, by old messages %s)' % tuple(
        answer.strip('no ()') for answer in (by_msg, by_query))


def both(asked, name, request, lacking=None):
    answers = []
    for ask in (asked.by_msg, asked.by_query):
        asked.fill()
        answers.append(here(ask(request), lacking))
    return ('`%s`' % name if ' ' not in name else name, *answers)


def pipeline(*stages):
    return {'aggregate': 'c', 'pipeline': list(stages), 'cursor': {}}


@in_set
def stage_row(asked, name, spec):
    if name in ('$currentOp', '$documents', '$listLocalSessions', '$listSessions'):
        request = {'aggregate': 1, 'pipeline': [{name: spec}], 'cursor': {}}
        database = 'admin'
    else:
        request, database = pipeline({name: spec}), DATABASE
    asked.fill()
    return ('`%s`' % name, here(asked.by_msg(request, database)),
            here(asked.by_query(request, database)))


def clients():
    sys.path.insert(0, os.path.join(TOP, 'tests', 'clients'))
    import run  # pylint: disable=import-outside-toplevel
    return '\n'.join(wrapped(', '.join('`%s`' % name for name in sorted(run.CLIENTS))))


def programs():
    with open(os.path.join(TOP, 'tests', 'programs', 'figures.json'), encoding='utf-8') as file:
        figures = json.load(file)
    rows = []
    for name, figure in sorted(figures.items()):
        counts = [(figure['passed'], 'passed'), (figure['failed'], 'failed'),
                  (figure['target'], 'may fail'), (figure['left_out'], 'not counted'),
                  (figure['skipped'], 'skipped')]
        shown = ', '.join('%d %s' % count for count in counts
                          if count[0] or count[1] in ('passed', 'failed'))
        about = ['`%s`' % figure['package'], figure['tests']] \
            + ['`%s`' % option for option in figure['options'][-1:]]
        rows.append('- %s (%s): %s' % (name, ', '.join(about), shown))
    return '\n'.join(rows)


def fields(asked):
    rows = []
    for name, uses in asked.client[DATABASE].command('_commandFields')['commands'].items():
        said_of = ['%s%s' % (label, ', '.join('`%s`' % field for field in sorted(uses)
                                              if uses[field] == use))
                   for label, use in (('', 'taken'), ('new ', 'by OP_MSG'), ('refused ', 'refused'))
                   if use in uses.values()]
        if said_of:
            rows += wrapped('- `%s`: %s' % (name, '; '.join(said_of)), '  ')
    return notes.TEXTS['fields'] % '\n'.join(rows)


def page(asked):
    names = json.loads(pathlib.Path(NAMES).read_text('utf-8'))
    # An expression of no operands may be refused for that; these codes are those of one that is not
    # there.
    no_expression = (168, 15999, 31325)
    sections = [
        ('Pipeline stages', [stage_row(asked, *item) for item in names['stages'].items()]),
        ('Expressions', [both(asked, '$' + name, pipeline({'$project': {'x': {'$' + name: []}}}),
                              no_expression) for name in names['expressions'].split()]),
        ('Accumulators', [both(asked, name, pipeline({'$group': {'_id': None, 'x': {name: spec}}}))
                          for name, spec in names['accumulators'].items()]),
        ('Window functions', [both(asked, name, pipeline(
            {'$setWindowFields': {'sortBy': {'a': 1}, 'output': {'x': {name: spec, **window}}}}))
                              for name, spec in names['window functions'].items()
                              for window in [{'window': {'documents': [0, 1]}} if name ==
                                             '$derivative' else {}]]),
        ('Filters', [both(asked, name, {'count': 'c', 'query': filter_})
                     for name, filter_ in names['filters'].items()]),
        ('Updates', [both(asked, name, {'update': 'c', 'updates': [{'q': {'_id': 1}, 'u': update}]})
                     for name, update in names['updates'].items()]),
        ('Commands', [command_row(asked, name) for name in names['commands'].split()]),
    ]
    return ''.join([notes.TEXTS['head'], *(names_by_answer(*section) for section in sections),
                    fields(asked), notes.section(notes.rows()),
                    notes.TEXTS['programs'] % (clients(), programs())])


def initiated(port):
    member = Asked(port)
    member.client.admin.command('replSetInitiate', {
        '_id': 'rs0', 'members': [{'_id': 0, 'host': '127.0.0.1:%d' % port}]})
    return member


NOT_ASKED = ('shutdown', 'dropConnections')  # they would end the conversation


@in_set
def command_row(asked, name):
    """Those of replica sets and transactions are there to be refused."""
    if name in ('abortTransaction', 'commitTransaction'):  # asked in tests/replica
        return ('`%s`%s' % (name, OF_SET), 'yes', 'no (20)')
    listed = asked.client.admin.command('listCommands')['commands']
    refused = listed.get(name, {}).get('help', '').startswith('not supported')
    no_command = None if refused else (59, 76, 115)
    if name in NOT_ASKED:
        known = 'yes' if name in listed else 'no (59)'
        return ('`%s`' % name, known, known)
    # To know whether it is there, profile need not be turned on.
    request = {name: -1 if name == 'profile' else 1}
    database = 'admin' if listed.get(name, {}).get('adminOnly') else DATABASE
    return ('`%s`' % name, here(asked.by_msg(request, database), no_command),
            here(asked.by_query(request, database), no_command))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    program = os.path.join(server.build(options.selection, '', ['mongod']), 'bin', 'mongod')
    listed = notes.rows()
    with tempfile.TemporaryDirectory() as folder:
        with server.Server(program, os.path.join(folder, 'db'), OPTIONS) as running, \
                server.Server(program, os.path.join(folder, 'set'), OPTIONS + OF_A_SET) as member:
            made = page(Asked(running.port, initiated(member.port)))
            wrong, right = notes.replay(running.port, listed)
    wrong += notes.faults(listed)
    print('\n'.join(wrong))
    if options.write:
        pathlib.Path(PAGE).write_text(made, 'utf-8')
        return 0
    agrees = pathlib.Path(PAGE).read_text('utf-8') == made
    if not agrees:
        print('FAIL docs/compatibility.md is not what the server answers: '
              'run tests/compatibility/page.py --write')
    failed = len(wrong) + (not agrees)
    print('%d passed, %d failed' % (right + agrees, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
