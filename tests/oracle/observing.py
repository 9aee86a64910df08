"""The operations that record what a server tells about itself: profiler, log, counters, currentOp.

Old messages travel on a connection of the case's own, everything else on the runner's. README.md
describes the operations and their answers."""

import re
import threading
import time

import ejson
import wire
from ejson import Doc

SECONDS_MAX = 60  # only ends an operation that never shows, or never ends

ENTRY_FIELDS = ['op', 'ns', 'query', 'updateobj', 'command', 'ntoreturn', 'ntoskip', 'nscanned',
                'nscannedObjects', 'idhack', 'scanAndOrder', 'moved', 'nmoved', 'ndeleted',
                'ninserted', 'nMatched', 'nModified', 'fastmod', 'fastmodinsert', 'upsert',
                'keyUpdates', 'exception', 'exceptionCode', 'nreturned', 'responseLength']
OPERATION_FIELDS = ['active', 'op', 'ns', 'query', 'insert', 'waitingForLock', 'msg', 'desc']
TIMES_OF_ERROR = ('connectionId', 'syncMillis', 'wtime', 'waited', 'fsyncFiles')

START_OF_LINE = re.compile(r'^(?=\d{4}-\d\d-\d\dT\S+ )', re.M)
PREFIX = re.compile(r'^\S+ (?:[A-Z] \S+ +)?\[[^]]*\] ?')
# What differs from run to run.
VARYING = [
    (re.compile(r'numYields:\d+'), 'numYields:N'),
    (re.compile(r'cursorid:\d+'), 'cursorid:N'),
    (re.compile(r'conn\d+'), 'connN'),
    (re.compile(r'locks\(micros\)(?: [rRwW]:\d+)+'), lambda match: re.sub(r':\d+', ':N', match[0])),
    (re.compile(r'\b\d+ms$'), 'Nms'),
]
# A command's lock times are there only where it waited long enough.
LOCKS_OF_COMMAND = re.compile(r'numYields:N .*?\breslen:')


def number(fields, name, default=0):
    return int(ejson.number(fields.get(name, default)))


class Observing:
    """A part of operations.Runner."""

    server = None  # a server.Server
    old_messages = None

    def observe(self, server):
        """A case begins: its messages get a connection of their own when there are any."""
        self.stop_observing()
        self.server = server

    def stop_observing(self):
        if self.old_messages:
            self.old_messages.close()
        self.old_messages = None

    def _old(self):
        if not self.old_messages:
            self.old_messages = wire.Connection(self.server.port)
        return self.old_messages

    # ---- messages ----

    def _message(self, database, collection, arguments, pick):
        fields = dict(arguments)
        if 'query' in fields:
            return self._query_message(database, collection, fields, fields.get('pick', pick))
        namespace, flags = '%s.%s' % (database, collection), number(fields, 'flags')
        if 'insert' in fields:
            self._old().send_insert(namespace, *map(ejson.encode, fields['insert']), flags=flags)
        elif 'update' in fields:
            self._old().send_update(namespace, ejson.encode(fields['update']),
                                    ejson.encode(fields['with']), flags)
        else:
            self._old().send_delete(namespace, ejson.encode(fields['delete']), flags)
        if fields.get('gle') is False:
            return {'gle': None}
        command = Doc([('getlasterror', 1)] + list(fields.get('gle') or []))
        reply = self._ask(database + '.$cmd', command, None, 0, -1, 0)[2][0]
        return {'gle': {name: value for name, value in reply.items() if name not in TIMES_OF_ERROR}}

    def _ask(self, namespace, query, projection, skip, count, flags):
        """(flags, cursor, documents) of an OP_QUERY; nothing is refused."""
        self._old().send_query(namespace, ejson.encode(query), skip, count, flags,
                               b'' if projection is None else ejson.encode(projection))
        return self._old().reply()

    def _query_message(self, database, collection, fields, pick):
        namespace = '%s.%s' % (database, collection)
        flags, cursor, documents, _ = self._ask(
            namespace, fields['query'], fields.get('fields'), number(fields, 'skip'),
            number(fields, 'n'), number(fields, 'flags'))
        answer = {'flags': flags, 'open': cursor != 0,
                  'docs': [shown(document, pick) for document in documents]}
        if 'more' in fields:
            answer['more'] = []
        for count in fields.get('more', []):
            self._old().send_get_more(namespace, cursor, int(ejson.number(count)))
            flags, cursor, more, start = self._old().reply()
            answer['more'].append({'flags': flags, 'open': cursor != 0, 'from': start,
                                   'docs': [shown(document, pick) for document in more]})
        if fields.get('kill') and cursor:
            self._old().send_kill_cursors(cursor)
            self._ask(database + '.$cmd', Doc([('ping', 1)]), None, 0, -1, 0)
        return answer

    def _let_end(self):
        """Returns when the last operations of both connections have ended, with their lines
        and entries."""
        self.command('admin', ('ping', 1))
        if self.old_messages:
            self._ask('admin.$cmd', Doc([('ping', 1)]), None, 0, -1, 0)

    def _run_all(self, database, collection, operations):
        for operation in operations:
            self.run(database, collection, operation)
        self._let_end()

    # ---- what is shown ----

    def _profile(self, database, collection, arguments, pick):
        fields = dict(arguments)
        level, threshold = number(fields, 'level', 2), number(fields, 'slowms', 100)
        self.command(database, ('profile', level), ('slowms', threshold))
        self._run_all(database, collection, fields['ops'])
        self.command(database, ('profile', 0), ('slowms', 100))
        _, entries = self.connection.query(database + '.system.profile', Doc())
        return {'entries': [profiled(entry, fields.get('pick') or pick or ENTRY_FIELDS)
                            for entry in entries if 'profile' not in entry.get('command', {})]}

    def _log(self, database, collection, arguments, _):
        fields = dict(arguments)
        if 'level' in fields:
            self.command('admin', ('setParameter', 1), ('logLevel', fields['level']))
        self.command('admin', ('profile', 0), ('slowms', -1))
        self._let_end()
        with open(self.server.log_path, encoding='utf-8', errors='replace') as file:
            file.seek(0, 2)
            start = file.tell()
            self._run_all(database, collection, fields['ops'])
            self.command('admin', ('profile', 0), ('slowms', 100))
            if 'level' in fields:
                self.command('admin', ('setParameter', 1), ('logLevel', 0))
            file.seek(start)
            text = file.read()
        return {'lines': [line for line in map(logged, START_OF_LINE.split(text))
                          if database in line]}

    def _delta(self, database, collection, arguments, _):
        fields = dict(arguments)
        before = self._counts(database, collection, fields)
        self._run_all(database, collection, fields['ops'])
        after = self._counts(database, collection, fields)
        return {'delta': {path: after[path] - before.get(path, 0) for path in after
                          if after[path] > before.get(path, 0)}}

    def _counts(self, database, collection, fields):
        counts = {}
        status = self.command('admin', ('serverStatus', 1))
        for path in fields['of']:
            value = status
            for part in path.split('.'):
                value = value[part]
            counts.update(leaves(path, value))
        if fields.get('top'):
            totals = self.command('admin', ('top', 1))['totals']
            for name, row in totals.get('%s.%s' % (database, collection), {}).items():
                counts['top.' + name] = ejson.number(row['count'])
        return counts

    # ---- an operation under way ----

    def _running(self, database, collection, arguments, _):
        fields = dict(arguments)
        if fields.get('locked'):
            self.command('admin', ('fsync', 1), ('lock', True))
        aside = type(self)(type(self.connection)(self.server.port), self.dialect)
        aside.server = self.server
        sockets = [aside.connection.socket, aside._old().socket]
        clients = ['%s:%d' % connection.getsockname() for connection in sockets]
        thread = threading.Thread(target=aside.run, args=(database, collection, fields['op']),
                                  daemon=True)
        thread.start()
        try:
            answer, found = self._wait_for(thread, clients, bool(fields.get('locked')))
            if fields.get('killed'):
                self._special('killop', Doc([('op', found[0]['opid'])]))
        finally:
            if fields.get('locked'):
                self._special('unlock', Doc())
            thread.join(SECONDS_MAX)
            aside.connection.close()
            aside.stop_observing()
        if thread.is_alive():
            raise ValueError('the operation did not end')
        pick = fields.get('pick') or OPERATION_FIELDS
        return {'inprog': [{'fields': list(one), **shown(
            {**one, 'desc': re.sub(r'\d+', 'N', one.get('desc', ''))}, pick)} for one in found],
                'besides': [name for name in answer if name != 'inprog']}

    def _special(self, name, query):
        return self.connection.query('admin.$cmd.sys.' + name, query, count=-1)[1][0]

    def _wait_for(self, thread, clients, locked):
        """(answer of currentOp, the operations of these clients in it) once there are any."""
        limit = time.monotonic() + SECONDS_MAX
        while thread.is_alive() and time.monotonic() < limit:
            answer = self._special('inprog', Doc())
            found = [one for one in answer['inprog'] if one.get('client') in clients
                     and (one.get('waitingForLock') is True if locked else one.get('active'))]
            if found:
                return answer, found
            time.sleep(0.005)
        raise ValueError('currentOp never showed the operation')


def leaves(path, value):
    """{path: number} below a field of serverStatus."""
    if ejson.number(value) is not None:
        return {path: ejson.number(value)}
    return {inner: count for name, item in value.items()
            for inner, count in leaves('%s.%s' % (path, name), item).items()}


def shown(document, pick):
    """A document as the recording has it: whole, or its picked paths."""
    return document if pick is None else picked(document, pick)


def picked(document, paths):
    """{path: value} of those paths that the document has; "*" gives the names of the fields."""
    found = {}
    for path in paths:
        value = document
        for part in path.split('.'):
            if part == '*' and isinstance(value, dict):
                value = list(value)
            elif isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                break
        else:
            found[path] = value
    return found


def stages_of(tree):
    """The types of the stages of an execution as a tree; None where there is nothing."""
    if not tree:
        return None
    return [tree.get('type')] + [stages_of(child) for child in tree.get('children', [])]


def profiled(entry, pick):
    found = {'fields': [name for name in entry if name != 'numYield'],
             'stages': stages_of(entry.get('execStats')) or [None]}
    if 'cursorid' in entry:
        found['cursorid'] = ejson.number(entry['cursorid']) != 0
    return {**found, **picked(entry, pick)}


def logged(line):
    """A line of the log as the recording has it."""
    text = PREFIX.sub('', line.rstrip('\n'), count=1)
    for pattern, kept in VARYING:
        text = pattern.sub(kept, text)
    return LOCKS_OF_COMMAND.sub('numYields:N reslen:', text) \
        if text.startswith('command ') else text
