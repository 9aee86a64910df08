"""The operations of the recorded cases, run against a server and answered in the recorded form.

tests/oracle/README.md describes the form. `dialect` says how reads travel: "new" by the commands of
today's drivers, "old" by OP_QUERY and OP_GET_MORE. Writes always go by command, which the
connection sends by OP_MSG or OP_QUERY."""

import ejson
import wire
from ejson import Doc
from observing import Observing, picked

BATCH_ITEMS_MAX, BATCH_BYTES_MAX = 1000, 8000000

# find argument -> modifier of the old query document
OLD_MODIFIERS = {'filter': '$query', 'sort': '$orderby', 'hint': '$hint', 'min': '$min',
                 'max': '$max', 'returnKey': '$returnKey'}
# modifier of a recorded filter that is a whole query document -> argument of the find command
NEW_ARGUMENTS = {'$query': 'filter', 'query': 'filter', '$orderby': 'sort', 'orderby': 'sort',
                 '$hint': 'hint', '$min': 'min', '$max': 'max', '$returnKey': 'returnKey',
                 '$maxScan': 'maxScan', '$snapshot': 'snapshot', '$comment': 'comment'}


def is_query_document(filter_):
    """Whether a recorded filter is a query with modifiers: { $query: ..., $orderby: ... }."""
    first = list(filter_)[0] if filter_ else (None, None)
    return first[0] in ('$query', 'query') and isinstance(first[1], Doc)


def as_sent(arguments):
    """The arguments as the recording client sent them: it turned {} into {_id: 1}."""
    fields = dict(arguments)
    if 'projection' in fields and not fields['projection']:
        fields['projection'] = Doc([('_id', {'$numberInt': '1'})])
    return fields


def as_find_arguments(arguments):
    """The arguments of a find whose modifiers, if any, are arguments too."""
    fields = as_sent(arguments)
    if not is_query_document(fields.get('filter', Doc())):
        return list(fields.items())
    moved = [(NEW_ARGUMENTS[name], value) for name, value in fields.pop('filter')
             if name in NEW_ARGUMENTS]
    return moved + list(fields.items())


class Runner(Observing):
    recorded = True  # answers are compared with recorded ones, and brought into their form

    def __init__(self, connection, dialect='new'):
        self.connection, self.dialect = connection, dialect

    def run(self, database, collection, operation):
        """Answers one operation with what the recording would say."""
        fields = dict(operation)
        collection = fields.get('coll', collection)
        kind = next(name for name in fields if name not in ('coll', 'db', 'pick'))
        try:
            if kind == 'command':
                command = substitute(fields[kind], database, collection)
                reply = self.command(fields.get('db', database), *command)
                if self.recorded and self.dialect == 'new' and command[0][0] == 'validate':
                    reply = by_namespaces(reply, '%s.%s' % (database, command[0][1]))
                return {'reply': picked(reply, fields.get('pick') or [])}
            return getattr(self, '_' + kind)(fields.get('db', database), collection, fields[kind],
                                             fields.get('pick'))
        except wire.Refused as refused:
            return {'code': refused.code, 'top': True}

    def command(self, database, *pairs):
        if self.recorded and self.dialect == 'new' and pairs[0][0] == 'createIndexes':
            pairs = [(name, [as_recorded(each) for each in value]
                      if (name, type(value)) == ('indexes', list) else value)
                     for name, value in pairs]
        return self.connection.run(database, Doc(pairs))

    # ---- reads ----

    def _find(self, database, collection, arguments, _):
        if self.dialect == 'old':
            return {'docs': self._find_old(database, collection, dict(arguments))}
        reply = self.command(database, ('find', collection), *as_find_arguments(arguments))
        return {'docs': self._drain(database, collection, reply)}

    def _drain(self, database, collection, reply):
        cursor = reply['cursor']
        documents = cursor['firstBatch']
        while ejson.number(cursor['id']) != 0:
            cursor = self.command(database, ('getMore', cursor['id']),
                                  ('collection', collection))['cursor']
            documents += cursor['nextBatch']
        return documents

    def _find_old(self, database, collection, arguments, more=()):
        """A query of the old form; `more` are further modifiers."""
        arguments = as_sent(arguments)
        filter_ = arguments.get('filter', Doc())
        query = Doc(filter_) if is_query_document(filter_) else Doc([('$query', filter_)])
        query += Doc((OLD_MODIFIERS[name], value) for name, value in arguments.items()
                     if name in OLD_MODIFIERS and name != 'filter') + Doc(more)
        limit = int(ejson.number(arguments.get('limit', 0)))
        namespace = '%s.%s' % (database, collection)
        cursor, documents = self.connection.query(
            namespace, query, arguments.get('projection'),
            skip=int(ejson.number(arguments.get('skip', 0))), count=-limit if limit > 0 else limit)
        while cursor != 0:
            cursor, batch = self.connection.get_more(namespace, cursor)
            documents += batch
        return documents

    def _explain(self, database, collection, arguments, pick):
        found = self._find_old(database, collection, dict(arguments), [('$explain', True)])
        names = pick or ['cursor', 'isMultiKey', 'n', 'scanAndOrder', 'indexOnly', 'indexBounds']
        return {'plan': picked(found[0], names)}

    def _count(self, database, collection, arguments, _):
        reply = self.command(database, ('count', collection), *arguments)
        return {'n': {'$numberInt': str(int(ejson.number(reply['n'])))}}

    def _distinct(self, database, collection, arguments, _):
        return {'values': self.command(database, ('distinct', collection), *arguments)['values']}

    def _aggregate(self, database, collection, arguments, _):
        cursor = [] if 'cursor' in dict(arguments) else [('cursor', Doc())]
        reply = self.command(database, ('aggregate', collection), *arguments, *cursor)
        return {'docs': self._drain(database, collection, reply)}

    def _tail(self, database, collection, arguments, _):
        fields = dict(arguments)
        reply = self.command(database, ('find', collection), ('filter', fields['filter']),
                             ('projection', fields['projection']), ('tailable', True),
                             ('batchSize', 100000))
        for operation in fields['then']:
            self.run(database, collection, operation)
        more, cursor = [], reply['cursor']
        while ejson.number(cursor['id']) != 0:
            try:
                cursor = self.command(database, ('getMore', cursor['id']),
                                      ('collection', collection))['cursor']
            except wire.Refused:
                return {'docs': reply['cursor']['firstBatch'], 'more': more, 'alive': False}
            more += cursor['nextBatch']
            if not cursor['nextBatch']:
                break
        return {'docs': reply['cursor']['firstBatch'], 'more': more,
                'alive': ejson.number(cursor['id']) != 0}

    def _keys(self, database, collection, arguments, _):
        return {'keys': self.command(database, ('_indexKeys', collection), *arguments)['keys']}

    def _indexes(self, database, collection, arguments, _):
        try:
            specs = self._drain(database, collection,
                                self.command(database, ('listIndexes', collection)))
        except wire.Refused as refused:
            if refused.code != 26:
                raise
            specs = []
        if dict(arguments).get('full'):
            return {'indexes': [self._definition(spec) for spec in specs]}
        return {'indexes': sorted(([spec['name'], [list(pair) for pair in spec['key'].items()]]
                                   for spec in specs), key=lambda entry: entry[0])}

    def _definition(self, spec):
        """A definition as the recording has it. By OP_MSG it has version 2 and no collection."""
        if self.dialect == 'new' and (ejson.number(spec['v']) != 2 or 'ns' in spec):
            raise ValueError('a definition of an older server: %s' % spec)
        return {name: {'$numberInt': '1'} if name == 'v' else value
                for name, value in spec.items() if name != 'ns'}

    # ---- writes ----

    def _insert(self, database, collection, arguments, _):
        return self._write(database, 'insert', collection, arguments)

    def _update(self, database, collection, arguments, _):
        return self._write(database, 'update', collection, arguments)

    def _delete(self, database, collection, arguments, _):
        return self._write(database, 'delete', collection, arguments)

    def _write(self, database, name, collection, arguments):
        reply = self.command(database, (name, collection), *arguments)
        answer = {field: reply[field] for field in ('n', 'nModified') if field in reply}
        if 'upserted' in reply:
            answer['upserted'] = [[item['index'], item['_id']] for item in reply['upserted']]
        if 'writeErrors' in reply:
            answer['errors'] = [[item['index'], item['code']] for item in reply['writeErrors']]
        return answer

    def _findAndModify(self, database, collection, arguments, _):
        reply = self.command(database, ('findAndModify', collection), *arguments)
        answer = {'value': reply['value']}
        for field in ('n', 'updatedExisting', 'upserted'):
            if field in (reply.get('lastErrorObject') or {}):
                answer[field] = reply['lastErrorObject'][field]
        return answer

    def _fill(self, database, collection, arguments, _):
        return self._in_batches(database, collection, 'insert', 'documents', fill_items(arguments))

    def _grow(self, database, collection, arguments, _):
        items = [(size, Doc([('q', Doc([('_id', key)])),
                             ('u', Doc([('$set', Doc([('p', text)]))]))]))
                 for key, size, text in paddings(arguments, 'y')]
        return self._in_batches(database, collection, 'update', 'updates', items)

    def _in_batches(self, database, collection, name, field, items):
        """Sends (bytes, item) pairs in write commands of bounded size; adds up the answers."""
        total = {'n': 0} if name == 'insert' else {'n': 0, 'nModified': 0}
        failed, at = [], 0
        while at < len(items):
            batch, size = [], 0
            while (at + len(batch) < len(items) and len(batch) < BATCH_ITEMS_MAX
                   and (not batch or size + items[at + len(batch)][0] <= BATCH_BYTES_MAX)):
                size += items[at + len(batch)][0]
                batch.append(items[at + len(batch)][1])
            answer = self._write(database, name, collection, Doc([(field, batch)]))
            for count in total:
                total[count] += ejson.number(answer[count])
            failed += [[{'$numberInt': str(at + ejson.number(index))}, code]
                       for index, code in answer.get('errors', [])]
            at += len(batch)
        answer = {name: {'$numberInt': str(count)} for name, count in total.items()}
        if failed:
            answer['errors'] = failed
        return answer

    # ---- preparing a case ----

    def prepare(self, database, collection, setup, loads=True):
        """Makes a collection as a data line or the `before` of a case says.

        In a case documents may be refused (loads=False): its answers show what was there."""
        fields = dict(setup)
        if fields.get('create'):
            self.command(database, ('create', collection), *fields['create'])
        if not fields.get('indexes_last'):
            self._make_indexes(database, collection, fields)
        documents = fields.get('docs', [])
        ordered = not fields.get('unordered_load')
        for at in range(0, len(documents), BATCH_ITEMS_MAX):
            answer = self._write(database, 'insert', collection, Doc([
                ('documents', documents[at:at + BATCH_ITEMS_MAX]), ('ordered', ordered)]))
            if ordered and answer.get('errors') and loads:
                raise ValueError('cannot load %s: %s' % (collection, answer['errors']))
        if fields.get('indexes_last'):
            self._make_indexes(database, collection, fields)

    def _make_indexes(self, database, collection, fields):
        for keys, options in fields.get('indexes', []):
            keys = Doc((field, kind) for field, kind in keys)
            name = '_'.join('%s_%s' % (field, ejson.number(kind) if ejson.number(kind) is not None
                                       else kind) for field, kind in keys)
            named = [] if dict(options).get('name') else [('name', name)]
            self.command(database, ('createIndexes', collection),
                         ('indexes', [Doc([('key', keys)] + named + list(options))]))

    def drop(self, database, collection):
        try:
            self.command(database, ('drop', collection))
        except wire.Refused as refused:
            if refused.code != 26:
                raise


def as_recorded(definition):
    """With the versions that 2.6 gave an index; by OP_MSG they are later ones."""
    if not isinstance(definition, Doc) or not isinstance(definition.get('key'), Doc):
        return definition
    kinds = [value for _, value in definition.get('key')]
    return Doc([*definition, *((kind + 'IndexVersion', {'$numberInt': '2'})
                               for kind in ('text', '2dsphere') if kind in kinds
                               and kind + 'IndexVersion' not in dict(definition))])


def by_namespaces(reply, collection):
    """The reply to a validate by OP_MSG as the recording has it: keys by their namespace."""
    keys = {'%s.$%s' % (collection, name): count
            for name, count in reply.get('keysPerIndex', {}).items()}
    return {name: keys if name == 'keysPerIndex' else value for name, value in reply.items()}


def fill_items(arguments):
    """(bytes, document) of each document that `fill` makes."""
    keys = dict(arguments).get('keys', [])
    items = []
    for key, size, text in paddings(arguments, 'x'):
        document = Doc([('_id', key)])
        for name, rule in keys:
            numbers = [int(ejson.number(part)) for part in rule]
            value = (numbers[0] * key + numbers[1]) % numbers[2]
            document.append((name, str(value).zfill(numbers[3]) if len(numbers) > 3 else value))
        if text is not None:
            document.append(('p', text))
        items.append((size, document))
    return items


def paddings(arguments, char):
    """(_id, bytes, text) of each item of a `fill` or `grow`; text is None without padding."""
    fields = dict(arguments)
    start, count, step = [int(ejson.number(fields.get(name, default)))
                          for name, default in (('from', 0), ('n', 0), ('step', 1))]
    pad = fields.get('pad', [None])
    for index in range(count):
        length = ejson.number(pad[index % len(pad)])
        text = None if length is None else fields.get('char', char) * int(length)
        yield start + index * step, len(text or '') + 64, text


def substitute(value, database, collection):
    """Puts names in place of "@" signs (README)."""
    if isinstance(value, Doc):
        return Doc((name, substitute(item, database, collection)) for name, item in value)
    if isinstance(value, list):
        return [substitute(item, database, collection) for item in value]
    if isinstance(value, str) and value.startswith('@@'):
        return '%s.%s%s' % (database, collection, value[2:])
    if isinstance(value, str) and (value == '@' or value.startswith('@.')):
        return collection + value[1:]
    return value
