"""Paths of many parts, and what is nested deeply: nothing recurses further than a stack is long.
Regular expressions that take long: each has an end, and indexes do not change what matches."""

import struct
import time

import bson

from hostile import (ANSWER_SECONDS_MAX, Case, Connection, Raw, Refused, document, dotted, element,
                     encode, nested)
from test_computation import INTERRUPTED, TIME_LIMIT, WORK_LIMIT, find, regex

UPDATES = {'$set': 1, '$unset': 1, '$inc': 1, '$mul': 1, '$min': 1, '$max': 1, '$push': 1,
           '$addToSet': 1, '$pop': 1, '$pull': 1, '$pullAll': [1], '$pushAll': [1],
           '$currentDate': True, '$bit': {'and': 1}, '$setOnInsert': 1}


def aggregate(*stages):
    return {'aggregate': 'one', 'pipeline': list(stages), 'cursor': {}}


def update(change, query=None, upsert=False):
    return {'update': 'one', 'updates': [{'q': query or {}, 'u': change, 'upsert': upsert}]}


def with_path(path):
    """Every way a client has to send a path that is split."""
    yield 'project', aggregate({'$project': {path: 1}})
    yield 'project computed', aggregate({'$project': {path: '$a'}})
    yield 'field', aggregate({'$project': {'x': '$' + path}})
    yield 'variable', aggregate({'$project': {'x': '$$ROOT.' + path}})
    yield 'addFields', aggregate({'$addFields': {path: 1}})
    yield 'set', aggregate({'$set': {path: 1}})
    yield 'unwind', aggregate({'$unwind': '$' + path})
    yield 'group', aggregate({'$group': {'_id': '$' + path}})
    yield 'group sum', aggregate({'$group': {'_id': 1, 'n': {'$sum': '$' + path}}})
    yield 'sort stage', aggregate({'$sort': {path: 1}})
    yield 'match', aggregate({'$match': {path: 1}})
    yield 'replaceRoot', aggregate({'$replaceRoot': {'newRoot': '$' + path}})
    yield 'sortByCount', aggregate({'$sortByCount': '$' + path})
    yield 'facet', aggregate({'$facet': {'f': [{'$project': {path: 1}}]}})
    yield 'find', {'find': 'one', 'filter': {path: 1}}
    yield 'elemMatch', {'find': 'one', 'filter': {'a': {'$elemMatch': {path: 1}}}}
    yield 'inclusion', {'find': 'one', 'projection': {path: 1}}
    yield 'exclusion', {'find': 'one', 'projection': {path: 0}}
    yield 'slice', {'find': 'one', 'projection': {path: {'$slice': 1}}}
    yield 'elemMatch projection', {'find': 'one', 'projection': {'a': {'$elemMatch': {path: 1}}}}
    yield 'sort', {'find': 'one', 'sort': {path: 1}}
    yield 'distinct', {'distinct': 'one', 'key': path}
    yield 'count', {'count': 'one', 'query': {path: 1}}
    yield 'explain', {'explain': {'find': 'one', 'filter': {path: 1}, 'projection': {path: 1}}}
    for operator, operand in UPDATES.items():
        yield operator, update({operator: {path: operand}})
        yield operator + ' upsert', update({operator: {'b' + path: operand}}, {'_id': 99}, True)
    yield 'rename', update({'$rename': {path: 'z'}})
    yield 'rename to', update({'$rename': {'a': 'r' + path}})
    yield 'upsert query', update({'$set': {'x': 1}}, {'y.' + path: 1}, True)
    yield 'pull', update({'$pull': {'a': {path: 1}}})
    yield 'push sort', update({'$push': {'arr': {'$each': [{'a': 1}], '$slice': -5,
                                                 '$sort': {path: 1}}}})
    yield 'findAndModify', {'findAndModify': 'one', 'update': {'$set': {path: 1}},
                            'fields': {path: 1}, 'sort': {path: 1}}
    yield 'index', {'createIndexes': 'one', 'indexes': [{'key': {path: 1}, 'name': 'x'}]}


def chain(names, depth, leaf):
    """Documents and arrays in each other: names are pairs of a name and a type."""
    total, heads = len(leaf), []
    for i in reversed(range(depth)):
        name, kind = names[i % len(names)]
        head = bytes([kind]) + name.encode() + b'\0'
        total += len(head) + 5
        heads.append(struct.pack('<i', total) + head)
    return Raw(b''.join(reversed(heads)) + leaf + b'\0' * depth)


def command(name, field, value, kind=3):
    return document(element(2, name, struct.pack('<i', 4) + b'one\0'), element(kind, field, value),
                    element(3, 'cursor', document()) if name == 'aggregate' else b'',
                    element(2, '$db', struct.pack('<i', 8) + b'hostile\0'))


def array(*documents):
    return document(*[element(3, str(i), each) for i, each in enumerate(documents)])


def deep(depth):
    """Everything that is parsed or walked level by level."""
    one, constant = encode({'a': 1}), encode({'$literal': 1})
    for name in ('$and', '$or', '$nor'):
        yield name, command('find', 'filter', chain([(name, 4), ('0', 3)], depth, one))
    for names in ([('$not', 3)], [('$elemMatch', 3)], [('$elemMatch', 3), ('a', 3)],
                  [('$all', 4), ('0', 3), ('$elemMatch', 3)]):
        yield str(names), command('find', 'filter',
                                  document(element(3, 'a', chain(names, depth, one))))
    yield 'equality', command('find', 'filter', nested(depth))
    yield 'in', command('find', 'filter', document(element(3, 'a', document(
        element(4, '$in', nested(depth, '0', kind=4))))))
    for name in ('$and', '$or', '$not', '$add', '$ifNull', '$concat', '$setUnion', '$size',
                 '$literal', '$cond'):
        for kind in ([(name, 3)], [(name, 4), ('0', 3)]):
            yield 'expression ' + str(kind), command('aggregate', 'pipeline', array(document(
                element(3, '$project', document(element(3, 'x', chain(kind, depth, constant)))))),
                4)
    yield 'let', command('aggregate', 'pipeline', array(document(element(3, '$project', document(
        element(3, 'x', chain([('$let', 3), ('in', 3)], depth,
                              encode({'vars': {}, 'in': 1}))))))), 4)
    for stage in ('$project', '$addFields', '$group', '$match', '$sort', '$redact', '$facet'):
        yield stage, command('aggregate', 'pipeline', array(document(
            element(3, stage, nested(depth, leaf=one)))), 4)
    for operator in ('$set', '$pull', '$addToSet', '$push'):
        yield operator, command('update', 'updates', array(document(
            element(3, 'q', document()), element(3, 'u', document(
                element(3, operator, nested(depth, 'arr')))))), 4)
    yield 'index', command('createIndexes', 'indexes', array(document(
        element(3, 'key', nested(depth)))), 4)
    yield 'explain', command('explain', 'explain', chain([('explain', 3)], depth, one))


class Paths(Case):
    def test_many_parts(self):
        for parts in (200, 201, 20000, 1000000):
            replies = self.run_all(('%s of %d' % (name, parts), attack)
                                   for name, attack in with_path(dotted(parts)))
            if parts > 200:
                self.assertEqual([reply for reply in replies if reply is not None], [])

    def test_the_limit_is_where_it_is_said_to_be(self):
        self.client.run({'find': 'one', 'filter': {dotted(200): 1}})
        self.assertIn('201 parts', self.refused(15, {'find': 'one',
                                                     'filter': {dotted(201): 1}}).text)
        self.client.run(update({'$set': {'deep.' + dotted(199): 1}}, {'_id': 'deep'}, True))
        self.refused(15, update({'$set': {'deep.' + dotted(200): 1}}, {'_id': 'deep'}, True))

    def test_stages_that_put_documents_into_each_other(self):
        """A thousand stages, each of which adds levels to what came from the one before it."""
        deeper = [{'$addFields': {dotted(199, 'b'): '$b'}}] * 150
        grouped = {'a': '$_id'}
        for _ in range(30):
            grouped = {'a': grouped}
        self.client.run({'insert': 'nested', 'documents': [{'_id': 1, 'b': 1, 'l': [1]}]})
        self.run_all([(name, {'aggregate': 'nested', 'pipeline': stages, 'cursor': {}})
                      for name, stages in {
                          'group': deeper + [{'$group': {'_id': '$b'}}, {'$match': {'x': 1}}],
                          'set': deeper + [{'$group': {'_id': 1, 's': {'$addToSet': '$b'}}}],
                          'compared': deeper + [{'$project': {'x': {'$eq': ['$b', '$b']}}}],
                          'redact': deeper + [{'$redact': '$$DESCEND'}],
                          'out': deeper + [{'$out': 'nested_out'}],
                          'ids': [{'$group': {'_id': grouped}}] * 800,
                          'pushed': [{'$group': {'_id': None, 'l': {'$push': '$l'}}}] * 950,
                          'facets': [{'$facet': {'a': []}}] * 900}.items()])
        self.client.run({'drop': 'nested'})

    def test_old_messages(self):
        for path in (dotted(1000000), dotted(200)):
            for query in ({'$query': {path: 1}, '$orderby': {path: 1}}, {path: 1}):
                try:
                    self.client.query('hostile.one', query)
                except Refused:
                    pass
        self.client.run({'ping': 1})


class Depth(Case):
    def test_deep_inputs(self):
        for depth in (90, 300, 1000, 1020, 1100, 100000):
            self.run_all(('%s, %d deep' % (name, depth), attack) for name, attack in deep(depth))

    def test_deep_documents(self):
        """The deepest that is stored: searched, sorted, grouped, indexed, checked, hashed."""
        self.client.run({'insert': 'deep', 'documents': [{'_id': 0}]})
        for depth in (1000, 1015):
            for kind in (3, 4):
                value = document(element(16, '_id', struct.pack('<i', depth * 10 + kind)),
                                 element(kind, 'a', nested(depth, '0', kind=kind)))
                self.client.run({'insert': 'deep'}, sequences=[('documents', [value])])
        self.run_all([
            ('hashed', {'createIndexes': 'deep', 'indexes': [
                {'key': {'_id': 'hashed'}, 'name': 'h'}, {'key': {'a.0.0': 1}, 'name': 'a'}]}),
            ('match', {'count': 'deep', 'query': {'.'.join(['a'] + ['0'] * 190): {'$ne': 3}}}),
            ('group', {'aggregate': 'deep', 'cursor': {}, 'pipeline': [
                {'$group': {'_id': '$a', 'x': {'$addToSet': '$a'}}}, {'$project': {'_id': 1}},
                {'$group': {'_id': None, 'n': {'$sum': 1}}}]}),
            ('redact', {'aggregate': 'deep', 'cursor': {}, 'pipeline': [
                {'$redact': '$$DESCEND'}, {'$group': {'_id': None, 'n': {'$sum': 1}}}]}),
            ('sort', {'find': 'deep', 'sort': {'a': 1}, 'projection': {'_id': 1}}),
            ('update', {'update': 'deep', 'updates': [
                {'q': {}, 'u': {'$set': {'b': 1}}, 'multi': True}]}),
            ('validate', {'validate': 'deep', 'full': True})])

    def test_regular_expressions(self):
        def patterns():
            for n in (100, 1000, 5000):
                yield '(' * n + 'a' + ')' * n
                yield '(a|' * n + 'a' + ')' * n + '*'
                yield '(?:' * n + 'a' + ')?' * n
                yield '(?=a' * n + ')' * n
                yield '[[:alpha:]' * n
        self.run_all(('regex %d' % i, {'find': 'text', 'filter': {'s': bson.regex.Regex(p)},
                                       'projection': {'_id': 1}, 'maxTimeMS': 2000})
                     for i, p in enumerate(patterns()))


class Regular(Case):
    def test_large_texts(self):
        """No step is counted where a search only looks for where it might begin."""
        self.client.run({'insert': 'large', 'documents': [{'_id': 1, 's': 'a' * 8000000}]})
        many = '|'.join(['needle'] * 4000)
        for pattern in ('(?>a*)[bc]', '(a*)*\\1[bc]', '(?=(a*))\\1\\1[bc]',
                        'a*[bc]', '^(?:a*+[bc]|.)*$', '(?:.*x)?.*[bc]', 'a' * 20000 + '[bc]',
                        '(?:%s|a*[bc])' % many):
            with self.subTest(pattern[:40]):
                started = time.monotonic()
                self.refused((TIME_LIMIT, WORK_LIMIT, 2), find('large', {'s': regex(pattern)}))
                self.assertLess(time.monotonic() - started, ANSWER_SECONDS_MAX / 2)
        with Connection(self.server.port) as victim:
            victim.start(find('large', {'s': regex('a*[bc]')}, maxTimeMS=0))
            self.client.run({'killOp': 1, 'op': self.find_operation('large', 'find')}, 'admin')
            self.refused((INTERRUPTED, WORK_LIMIT), victim.finish)
        self.client.run({'drop': 'large'})

    def test_index_and_scan_agree(self):
        """Also where a text is no UTF-8."""
        texts = [b'ab\xff', b'ab\xff\xfe', b'ab', b'abc', b'a\xff', b'\xffab', b'abd']
        documents = [document(element(16, '_id', struct.pack('<i', i)),
                              element(2, 's', struct.pack('<i', len(text) + 1) + text + b'\0'))
                     for i, text in enumerate(texts)]
        for name in ('scanned', 'indexed'):
            self.client.run({'insert': name}, sequences=[('documents', documents)])
        self.client.run({'createIndexes': 'indexed', 'indexes': [{'key': {'s': 1}, 'name': 's'}]})
        for pattern in ('^ab', '^abc', '^ab.', '^a', 'b', '^', '^a|b', '\\Aab'):
            for wanted in (regex(pattern), {'$not': regex(pattern)}, {'$in': [regex(pattern)]}):
                found = [sorted(each['_id'] for each in self.client.run(
                    {'find': name, 'filter': {'s': wanted}, 'projection': {'_id': 1}})
                                ['cursor']['firstBatch']) for name in ('scanned', 'indexed')]
                self.assertEqual(found[0], found[1], (pattern, wanted))
        for name in ('scanned', 'indexed'):
            self.client.run({'drop': name})

    def test_catastrophic(self):
        """A search that would take for ever is an error; it is never taken for `no match`."""
        for pattern in ('^(a+)+$', '^(a|aa)+$', '^(a*)*$'):
            with self.subTest(pattern):
                self.refused(2, {'find': 'text', 'filter': {'s': regex(pattern)}})
                self.refused(2, {'delete': 'text', 'deletes': [
                    {'q': {'s': {'$not': regex(pattern)}}, 'limit': 0}]})
        self.assertEqual(self.client.run({'count': 'text'})['n'], 20)

    def test_many(self):
        self.run_all([
            ('or', find('text', {'$or': [{'s': regex('.*.*%dx' % i)} for i in range(2000)]})),
            ('in', find('text', {'s': {'$in': [regex('x{1,999}(a|b){1,999}%d' % i)
                                               for i in range(1000)]}})),
            ('repeats', find('text', {'s': regex('((((a{1,100}){1,100}){1,100}){1,100})')})),
            ('heap', find('text', {'s': regex('(?:(a)(b)?){1,1000}{1,50}')}))])
