"""What published notes say that a client can see since 2.6, row by row, and whether it is so here.

notes.jsonl has the rows. Each has a verdict: "done", "refused" (with a code, never silently), or
"as 2.6" on purpose, with the reason as its note. "asks" are requests with what is to be answered to
both dialects; they run one after the other on a collection `c` with "docs" in it. A row has cases,
or says where it is tested; one that is as 2.6 may have its reason alone.

A request is a command; "@db" names its database, and "@pick" the paths whose types make its answer.
"@cursor" in it is the cursor that was opened last. By the old messages a find is an OP_QUERY of the
collection. Of what is sent by OP_MSG "@flags" are the flags, and "@sequence" names the list that
travels in a section of its own; these, and "@raw", go without what the driver would add.
Usage: build/venv/bin/python tests/compatibility/notes.py       prints a line for each row"""

import json
import os
import pathlib
import re
import sys

import bson
from bson import json_util
import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('tests/lib', 'tests/oracle')]

import messages  # noqa: E402

FILE = os.path.join(TOP, 'tests', 'compatibility', 'notes.jsonl')
DATABASE = 'notes'
# Rows of each release, and of what the others imply.
COUNTS = {'3.0': 15, '3.2': 20, '3.4': 21, '3.6': 23, '4.0': 17, '4.2': 28, '4.4': 30, '5.0': 20,
          '6.0': 15, '7.0': 10, '8.0': 14, 'e': 14}
VERDICTS = ('done', 'refused', 'as 2.6')
# Beside these of a find by OP_QUERY only its filter has a place in the message.
MODIFIERS = {'sort': '$orderby', 'hint': '$hint', 'min': '$min', 'max': '$max',
             'snapshot': '$snapshot', 'maxScan': '$maxScan', 'showRecordId': '$showDiskLoc'}
MORE_TO_COME = 2  # a flag of OP_MSG: no reply is wanted
# What the page says around its tables, below lines `==== NAME`.
TEXTS = dict(re.findall(r'^==== (\w+)\n((?:(?!==== ).*\n)*)',
                        pathlib.Path(TOP, 'tests/compatibility/page.txt').read_text('utf-8'), re.M))
REPLY_FIELDS = ('n', 'nModified', 'upserted', 'value', 'values', 'valid')


def rows():
    with open(FILE, encoding='utf-8') as file:
        return [json.loads(line, object_pairs_hook=from_pairs) for line in file]


def from_pairs(pairs):
    """An operator $regex is one, not a regular expression in an older form of extended JSON."""
    if any(name == '$regex' for name, _ in pairs):
        return bson.son.SON(pairs)
    return json_util.object_pairs_hook(pairs, OPTIONS)


OPTIONS = json_util.JSONOptions(document_class=bson.son.SON, tz_aware=False)


def faults(listed):
    """What a table of rows must not lack."""
    wanted = {'%s-%d' % (release, number + 1)
              for release, count in COUNTS.items() for number in range(count)}
    names = [row['row'] for row in listed]
    found = ['row %s is missing' % name for name in sorted(wanted - set(names))]
    found += ['row %s is not wanted, or there twice' % name for name in names
              if name not in wanted or names.count(name) > 1]
    for row in listed:
        if row['verdict'] not in VERDICTS:
            found.append('row %s has no verdict' % row['row'])
        tested = row.get('tested')
        if tested and not os.path.exists(os.path.join(TOP, tested)):
            found.append('row %s is tested nowhere: %s' % (row['row'], tested))
        if not (row['asks'] or tested or (row['verdict'] == 'as 2.6' and row.get('note'))):
            found.append('row %s has neither case nor reason' % row['row'])
        if row['verdict'] == 'refused' and not any('code' in ask['new'] for ask in row['asks']):
            found.append('row %s is refused without a code' % row['row'])
    return found


def items(listed):
    """A list of the rows that have a note; the others stand in its last line."""
    lines = ['- `%s` %s: %s' % (row['row'], row['what'], row['note'])
             for row in listed if row.get('note')]
    others = ['`%s` %s' % (row['row'], row['what']) for row in listed if not row.get('note')]
    return '\n'.join(lines + ['- ' + '; '.join(others)] * bool(others)) + '\n\n'


def section(listed):
    """The page's section: counts of all rows, and those that are not done."""
    of = {verdict: [row for row in listed if row['verdict'] == verdict] for verdict in VERDICTS}
    done, *others = [len(of[verdict]) for verdict in VERDICTS]
    return TEXTS['changes'] % (done, len(listed), *others) + 'Refused:\n\n' + items(of['refused']) \
        + 'The same as 2.6, with the reason:\n\n' + items(of['as 2.6'])


class Dialogue:
    def __init__(self, port, dialect):
        self.port, self.dialect = port, dialect
        self.client = pymongo.MongoClient('127.0.0.1', port)
        self.cursor = bson.int64.Int64(0)

    def close(self):
        self.client.close()

    def prepare(self, docs):
        for name in (DATABASE, DATABASE + '_other'):
            self.client.drop_database(name)
        if docs:
            self.client[DATABASE].c.insert_many(docs)

    def ask(self, request):
        request = self._with_cursor(bson.son.SON(request))
        database = request.pop('@db', DATABASE)
        picked = request.pop('@pick', None)
        reply = self._send(database, request)
        if reply is None:
            return {'closed': True}
        if reply.get('cursor', {}).get('id'):
            self.cursor = bson.int64.Int64(reply['cursor']['id'])
        if picked is not None:
            return {path: type_at(reply, path) for path in picked}
        return answer_of(reply)

    def _with_cursor(self, value):
        if isinstance(value, dict):
            return type(value)((name, self._with_cursor(item)) for name, item in value.items())
        if isinstance(value, list):
            return [self._with_cursor(item) for item in value]
        return self.cursor if value == '@cursor' else value

    def _send(self, database, request):
        """The reply; None: the connection was closed."""
        flags, sequence = request.pop('@flags', 0), request.pop('@sequence', None)
        raw = request.pop('@raw', False) or flags or sequence
        if self.dialect == 'new' and raw:
            return self._by_message(database, request, flags, sequence)
        if self.dialect == 'new':
            try:
                return self.client[database].command(
                    request, codec_options=bson.codec_options.CodecOptions(
            bson.son.SON, unicode_decode_error_handler='replace'))
            except pymongo.errors.OperationFailure as error:
                return error.details
            except pymongo.errors.InvalidName:
                return self._by_message(database, request)
        if next(iter(request)) == 'find':
            return self._query(database, request)
        return self._one('%s.$cmd' % database, request)

    def _by_message(self, database, request, flags=0, sequence=None):
        """What the driver does not send."""
        request = bson.son.SON(request, **{'$db': database})
        sequences = [] if sequence is None else [(sequence, request.pop(sequence))]
        with messages.Connection(self.port) as connection:
            connection.send_message(request, sequences, flags)
            if flags & MORE_TO_COME:
                # Its reply would come before that of the next request.
                connection.send_message(bson.son.SON([('count', 'c'), ('$db', database)]))
            try:
                return bson.decode(connection.receive_message(), bson.codec_options.CodecOptions(
                    bson.son.SON))
            except ConnectionError:
                return None

    def _query(self, database, find):
        query = bson.son.SON([('$query', find.get('filter', {}))])
        query.update((MODIFIERS[name], value) for name, value in find.items() if name in MODIFIERS)
        limit = find.get('limit', find.get('batchSize', 0))
        cursor, reply = self._reply(
            '%s.%s' % (database, find['find']), query, find.get('skip', 0),
            -abs(limit) if find.get('singleBatch') else limit, find.get('projection'))
        docs = [bson.SON(doc) for doc in bson.decode_all(
            reply, bson.codec_options.CodecOptions(
            bson.son.SON, unicode_decode_error_handler='replace'))]
        if len(docs) == 1 and '$err' in docs[0]:
            return {'ok': 0.0, 'code': docs[0].get('code', -1)}
        return {'ok': 1.0, 'cursor': {'firstBatch': docs, 'id': cursor}}

    def _one(self, namespace, request):
        _, reply = self._reply(namespace, request, 0, -1)
        return bson.decode(reply, bson.codec_options.CodecOptions(
            bson.son.SON, unicode_decode_error_handler='replace'))

    def _reply(self, namespace, query, skip, count, fields=None):
        """(cursor, documents) as bytes."""
        with messages.Connection(self.port) as connection:
            connection.send_query(namespace, query, skip, count,
                                  projection=b'' if fields is None else fields)
            _, cursor, *_, documents = connection.receive_reply()
            return cursor, documents


def type_at(value, path):
    """The name of a value's type; None: there is none."""
    for part in path.split('.'):
        if isinstance(value, list) and part.isdigit():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return None if value is None else type(value).__name__


def answer_of(reply):
    if reply['ok'] != 1.0:
        return with_text({'code': reply.get('code', -1)}, reply)
    if reply.get('writeErrors'):
        first = reply['writeErrors'][0]
        return with_text({'code': first['code'], 'n': reply['n']}, first)
    if 'cursor' in reply:
        return {'docs': reply['cursor'].get('firstBatch', reply['cursor'].get('nextBatch'))}
    answer = {field: reply[field] for field in REPLY_FIELDS if field in reply}
    if 'queryPlanner' in reply or 'stages' in reply:
        answer['fields'] = sorted(reply)
    return answer


def with_text(answer, error):
    """Programs read that of a duplicate key."""
    if answer['code'] == 11000:
        answer['errmsg'] = error['errmsg']
    return answer


def text_of(answer):
    """Numbers of other types and fields in another order differ."""
    return re.sub(r'\s+', ' ', dumps(answer))


def dumps(value):
    return json.dumps(plain(value), ensure_ascii=False)


def plain(value):
    """Extended JSON in which a number without more words is an int of 32 bits."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, (bool, bson.int64.Int64)):
        return value
    if value is None or isinstance(value, (str, bool)):
        return value
    return json.loads(json_util.dumps(value, json_options=json_util.CANONICAL_JSON_OPTIONS))


def replay(port, listed):
    """The answers that are not as the rows say, a text each, and how many were."""
    wrong, right = [], 0
    for dialect in ('new', 'old'):
        dialogue = Dialogue(port, dialect)
        for row in listed:
            dialogue.prepare(row.get('docs', []))
            for number, ask in enumerate(row['asks']):
                wanted = ask[dialect] if dialect in ask else ask['new']
                got = dialogue.ask(ask['ask'])
                if text_of(got) == text_of(wanted):
                    right += 1
                else:
                    wrong.append('FAIL %s, %s dialect, ask %d: %s\n  wanted %s\n  got    %s' % (
                        row['row'], dialect, number + 1, text_of(ask['ask']), text_of(wanted),
                        text_of(got)))
        dialogue.close()
    return wrong, right


def main():
    for row in rows():
        more = [row[word] for word in ('note', 'tested') if row.get(word)]
        print('%-7s %-8s %s' % (row['row'], row['verdict'], '; '.join([row['what'], *more])))


if __name__ == '__main__':
    main()
