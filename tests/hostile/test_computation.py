"""Work without an end, or nearly: time limits and killOp end it, others are served all the same."""

import select
import struct
import time

import bson

from hostile import (ANSWER_SECONDS_MAX, FIELDS, Case, Connection, Refused, document, element,
                     encode, long)

TIME_LIMIT, MEMORY_LIMIT, WORK_LIMIT = 50, 146, 90001
INTERRUPTED = 11601


def find(collection, filter_, **more):
    return dict({'find': collection, 'filter': filter_, 'maxTimeMS': 300}, **more)


def aggregate(collection, *stages, **more):
    return dict({'aggregate': collection, 'pipeline': list(stages), 'cursor': {},
                 'maxTimeMS': 300}, **more)


def update(change, query=None, upsert=False):
    return {'update': 'wide', 'maxTimeMS': 300,
            'updates': [{'q': query or {}, 'u': change, 'upsert': upsert}]}


def regex(text):
    return bson.regex.Regex(text)


NUMBERS = '.'.join(['0'] * 60)
NEVER_TRUE = {'$match': {'nothing': 1}}
UNWINDS = [{'$unwind': '$u%d' % i} for i in range(8)]  # 10^16 documents
MAPS = '$$x0'
for _level in range(8):
    MAPS = {'$allElementsTrue': [{'$map': {'input': '$u0', 'as': 'x%d' % _level, 'in': MAPS}}]}


def many(name, value):
    return {name % i: value for i in range(FIELDS)}


class Endless(Case):
    def test_time_limits(self):
        for name, command in {
                'unwind and group': aggregate('lists', *UNWINDS, {'$group': {'_id': 1}}),
                'unwind and match': aggregate('lists', *UNWINDS, NEVER_TRUE),
                'unwind and skip': aggregate('lists', *UNWINDS, {'$skip': 10 ** 15}),
                'unwind and count': aggregate('lists', *UNWINDS, {'$count': 'n'}),
                'maps': aggregate('lists', {'$project': {'x': {'$size': [MAPS]}}}),
                'facet': aggregate('lists', {'$facet': {'f': UNWINDS + [NEVER_TRUE]}}),
        }.items():
            with self.subTest(name):
                # What the maps hold may reach its limit first, on a quick machine.
                self.refused((TIME_LIMIT, MEMORY_LIMIT), command)
        self.client.run({'ping': 1})

    def test_kill_and_others(self):
        """A reader that computes without end lets writers in, and killOp ends it."""
        with Connection(self.server.port) as victim, Connection(self.server.port) as writer:
            victim.start(aggregate('lists', *UNWINDS, NEVER_TRUE, maxTimeMS=0))
            operation = self.find_operation('lists')
            for i in range(20):
                writer.run({'insert': 'lists', 'documents': [{'_id': 'w%d' % i}]})
            writer.run({'delete': 'lists', 'deletes': [{'q': {'u0': None}, 'limit': 0}]})
            self.client.run({'killOp': 1, 'op': operation}, 'admin')
            self.refused(INTERRUPTED, victim.finish)

    @long
    def test_many_at_once(self):
        """However many compute, others are served, and those that wait for their turn can end."""
        many = 120
        victims = [Connection(self.server.port) for _ in range(many)]
        for each in victims:
            self.addCleanup(each.close)
            each.start(aggregate('lists', *UNWINDS, NEVER_TRUE, maxTimeMS=0))

        def at_work():
            return self.operations(lambda each: each.get('query', {}).get('aggregate') == 'lists')
        self.wait_until(lambda: len(at_work()) == many, 'all are at work')
        for i in range(10):
            with Connection(self.server.port) as other:
                other.run({'find': 'ordinary', 'filter': {'_id': i}})
                other.run({'insert': 'others', 'documents': [{'_id': i}]})
        for operation in at_work():
            self.client.run({'killOp': 1, 'op': operation['opid']}, 'admin')
        for each in victims:
            self.refused(INTERRUPTED, each.finish)

    def test_lock_wait_is_interrupted(self):
        """An operation that waits for a lock can be killed."""
        self.client.run({'fsync': 1, 'lock': True}, 'admin')
        try:
            with Connection(self.server.port) as waiting:
                waiting.start({'insert': 'lists', 'documents': [{'_id': 'x'}], 'maxTimeMS': 200})
                self.refused(TIME_LIMIT, waiting.finish)
                # Who wants the whole server keeps readers out for so long.
                for command, database in (
                        ({'dropDatabase': 1}, 'hostile'), ({'repairDatabase': 1}, 'hostile'),
                        ({'fsync': 1}, 'admin'), ({'closeAllDatabases': 1}, 'admin'),
                        ({'renameCollection': 'hostile.lists', 'to': 'other.lists'}, 'admin')):
                    with self.subTest(next(iter(command))):
                        waiting.start(dict(command, maxTimeMS=200), database)
                        self.refused(TIME_LIMIT, waiting.finish)
                        waiting.run({'find': 'ordinary'})
        finally:
            self.client.run({'fsyncUnlock': 1}, 'admin')

    def test_waiting_to_lock_the_server_is_interrupted(self):
        """Also where a thread of the server waits for it."""
        lock = {'fsync': 1, 'lock': True}
        with Connection(self.server.port) as reader, Connection(self.server.port) as waiting:
            reader.start({'sleep': 1, 'w': False, 'millis': 1000 * ANSWER_SECONDS_MAX}, 'admin')
            operation = self.find_operation(1, 'sleep')
            waiting.start(dict(lock, maxTimeMS=200), 'admin')
            self.refused(TIME_LIMIT, waiting.finish)
            waiting.start(lock, 'admin')
            self.client.run({'killOp': 1, 'op': self.find_operation(1, 'fsync')}, 'admin')
            self.refused(INTERRUPTED, waiting.finish)
            self.client.run({'killOp': 1, 'op': operation}, 'admin')
            with self.assertRaises(Refused):
                reader.finish()
        with self.assertRaises(Refused):  # nothing is locked
            self.client.run({'fsyncUnlock': 1}, 'admin')
        self.client.run({'insert': 'lists', 'documents': [{'_id': 'l'}],
                         'writeConcern': {'j': True}})
        self.client.run(lock, 'admin')
        self.client.run({'fsyncUnlock': 1}, 'admin')

    def test_numbers_in_paths(self):
        """Each may be a name and an index: 2^60 ways, and all of them lead nowhere."""
        self.run_all(('numbers %d' % i, command) for i, command in enumerate([
            find('branching', {NUMBERS: 5}), find('branching', {NUMBERS: {'$exists': False}}),
            find('branching', {NUMBERS: {'$size': 7}}),
            find('branching', {NUMBERS: {'$elemMatch': {'x': 7}}}),
            find('branching', {}, sort={NUMBERS: 1}, projection={'_id': 1}),
            {'distinct': 'branching', 'key': NUMBERS},
            aggregate('branching', {'$project': {'x': '$' + NUMBERS}})]))
        # What is there is still found.
        self.assertEqual(self.client.run({'count': 'branching', 'query': {NUMBERS: {
            '$exists': True}}})['n'], 1)

    @long
    def test_the_end_is_reported_as_what_it_is(self):
        """Clients act on the code: a filter that took too long to read is not a bad one."""
        filter_ = {'a': {'$in': list(range(-300000, 0))}}
        fields = {'q.q%d' % i: 1 for i in range(50000)}
        many_fields = {'f%d' % i: 1 for i in range(3 * FIELDS)}
        for name, command in {
                'match': aggregate('one', {'$match': filter_}),
                'distinct': {'distinct': 'one', 'key': 'a', 'query': filter_},
                'remove': {'findAndModify': 'one', 'query': filter_, 'remove': True},
                'projection': {'find': 'one', 'projection': many_fields},
                'sort stage': aggregate('one', {'$sort': many_fields}),
                'definitions': {'createIndexes': 'one', 'indexes': [
                    {'key': {'_id': 1}, 'name': '_id_'}] * 300000},
                'roles': {'createUser': 'x', 'pwd': 'p', 'roles': ['read'] * 900000},
                'modify': {'findAndModify': 'one', 'query': filter_, 'sort': {'a': 1},
                           'update': {'$set': {'x': 1}}},
                'upsert': update({'$set': {'x': 1}}, fields, True),
        }.items():
            with self.subTest(name):
                self.refused(TIME_LIMIT, dict(command, maxTimeMS=1))

    def test_a_batch_ends_with_its_time(self):
        """Not one error for each of its items."""
        items = [{'q': {'a': i}, 'u': {'$set': {'b': {'c': i}}}} for i in range(5000)]
        self.client.start({'update': 'wide', 'updates': items, 'ordered': False, 'maxTimeMS': 50})
        reply = bson.decode(self.client.receive()[21:])
        self.assertEqual([each['code'] for each in reply['writeErrors']], [TIME_LIMIT])

    @long
    def test_few_documents_that_take_long(self):
        """Others are let in between them, however few they are."""
        self.client.run({'createIndexes': 'keys', 'indexes': [
            {'key': {'a': 1}, 'name': 'a'}, {'key': {'a': -1}, 'name': 'b'}]})
        many = 30
        documents = [{'_id': i, 'a': list(range(i, many * 50000, many))} for i in range(many)]
        with Connection(self.server.port) as writer:
            writer.start({'insert': 'keys', 'documents': documents})
            while self.client.run({'count': 'keys'})['n'] == 0:
                pass  # it has not begun
            self.client.run({'insert': 'keys', 'documents': [{'_id': 'other'}]})
            self.assertLess(self.client.run({'count': 'keys'})['n'], many + 1)
            writer.finish()
        self.client.run({'drop': 'keys'})

    @long
    def test_a_write_that_takes_long(self):
        """One document of many keys: other clients of its event loop are served all the same."""
        self.set_parameter('documentWorkTicks', 10 ** 9)
        self.client.run({'createIndexes': 'many_keys', 'indexes': [
            {'key': {'a': 1, 'b%d' % i: 1}, 'name': 'i%d' % i} for i in range(60)]})
        neighbours = [Connection(self.server.port) for _ in range(8)]
        for each in neighbours:
            self.addCleanup(each.close)
            each.run({'ping': 1})
        document = {'_id': 1, 'a': list(range(20000))}
        for command in ({'insert': 'many_keys', 'documents': [document]},
                        {'update': 'many_keys', 'updates': [
                            {'q': {'_id': 1}, 'u': {'$set': {'a': list(range(-20000, 0))}}}]},
                        {'delete': 'many_keys', 'deletes': [{'q': {'_id': 1}, 'limit': 1}]}):
            with self.subTest(next(iter(command))), Connection(self.server.port) as writer:
                writer.start(command)
                self.wait_for_the_lock('many_keys')
                for each in neighbours:
                    each.run({'ping': 1})
                answered, _, _ = select.select([writer.socket], [], [], 0)
                self.assertEqual(answered, [], 'they were served after the write')
                writer.finish()
        self.client.run({'drop': 'many_keys'})

    def wait_for_the_lock(self, collection):
        self.wait_until(lambda: self.operations(
            lambda each: each['ns'].endswith(collection) and not each['waitingForLock']
            and each['locks'].get('^hostile') == 'W'), 'it is shown')


class Quadratic(Case):
    def test_updates(self):
        """10^5 fields or elements take no 10^10 steps: nothing here needs its time limit."""
        numbers = list(range(FIELDS))
        for name, command in {
                'set new': update({'$set': many('g%d', 1)}),
                'set there': update({'$set': many('f%d', 1.5)}),
                'set back': update({'$set': many('f%d', 7)}),
                'unset': update({'$unset': many('g%d', 1)}),
                'inc': update({'$inc': many('f%d', 1)}),
                'array': update({'$set': many('arr.%d', 1.5)}),
                'upsert': update({'$set': many('f%d', 1)}, {'_id': 'up'}, True),
                'setOnInsert': update({'$setOnInsert': many('f%d', 1)}, {'_id': 'on'}, True),
                'upsert query': update({'$set': {'x': 1}}, many('q%d', 1), True),
                'addToSet': update({'$addToSet': {'set': {'$each': numbers}}}),
                'addToSet there': update({'$addToSet': {'set': {'$each': [-n for n in numbers]}}}),
                'pullAll': update({'$pullAll': {'set': [n + 0.5 for n in numbers]}}),
                'pull': update({'$pull': {'set': {'$in': [n + 0.5 for n in numbers]}}}),
        }.items():
            with self.subTest(name):
                command['maxTimeMS'] = ANSWER_SECONDS_MAX * 1000
                self.client.run(command)
        self.client.run({'delete': 'wide', 'deletes': [{'q': {'_id': {'$ne': 1}}, 'limit': 0}]})

    def test_definitions_of_indexes(self):
        """Whether one is there already takes no look at each option for each other one; and they
        are looked for one by one, so there are not too many."""
        options = {'key': {'a': 1}, 'name': 'a'}
        options.update(('o%d' % i, 1) for i in range(9000))
        for definition in (options, dict(reversed(options.items()))):
            self.client.run_old({'createIndexes': 'defined', 'indexes': [definition]})
            self.refused(197, {'createIndexes': 'defined', 'indexes': [definition]})
        self.refused(85, self.client.run_old,
                     {'createIndexes': 'defined', 'indexes': [dict(options, o9=2)]})
        many = document(element(2, 'ns', b'\x10\0\0\0hostile.defined\0'),
                        element(3, 'key', encode({'b': 1})), element(2, 'name', b'\2\0\0\0b\0'),
                        element(10, '', b'') * 8000000)
        create = document(element(2, 'createIndexes', b'\x08\0\0\0defined\0'),
                          element(4, 'indexes', document(element(3, '0', many))),
                          element(2, '$db', b'\x08\0\0\0hostile\0'))
        self.refused(67, self.client.run_old, create)
        for command, sequences in ((create, ()), ({'insert': 'system.indexes'},
                                                  [('documents', [many])])):
            self.refused(197, command, 'hostile', sequences)
        self.client.run({'drop': 'defined'})

    def test_commands_of_many_fields(self):
        """Each command looks for its fields one by one."""
        for name, database in (('create', 'hostile'), ('findAndModify', 'hostile'),
                               ('find', 'hostile'), ('currentOp', 'admin')):
            # The first one that a command does not know ends it; these may stand in each.
            head = [element(2, name, b'\5\0\0\0many\0'), element(10, 'comment', b'') * 1800000]
            tail = element(2, '$db', struct.pack('<i', len(database) + 1)
                           + database.encode() + b'\0')
            for command in (head, [element(3, 'explain', document(*head))]):
                with self.subTest(name):
                    self.assertIn('10000 fields', self.refused(9, document(*command, tail)).text)

    def test_arrays_named_by_index(self):
        """Each element of an array leads to all of another one: a write ends all the same."""
        self.set_parameter('documentWorkTicks', 10 ** 12)  # or that comes first
        nothing, numbered = [1] * FIELDS, [{'y': i} for i in range(FIELDS)]
        for sparse in (False, True):
            self.client.run({'createIndexes': 'by_index', 'indexes': [
                {'key': {'a.0.x': 1}, 'name': 'x', 'sparse': sparse},
                {'key': {'a.0.x': 1, 'a.y': 1}, 'name': 'xy', 'sparse': sparse}]})
            self.client.run({'insert': 'by_index', 'documents': [
                {'_id': 1, 'a': [nothing] + nothing}]})
            self.refused(146, {'insert': 'by_index', 'documents': [
                {'_id': 2, 'a': [nothing] + numbered}]})
            self.refused(146, {'update': 'by_index', 'updates': [
                {'q': {'_id': 1}, 'u': {'$set': {'a': [nothing] + numbered}}}]})
            self.assertEqual(self.client.run({'count': 'by_index'})['n'], 1)
            self.assertTrue(self.client.run({'validate': 'by_index', 'full': True})['valid'])
            self.client.run({'drop': 'by_index'})

    def test_projections(self):
        wide = {'find': 'wide', 'batchSize': 1}
        one = {'aggregate': 'wide', 'cursor': {}}
        for name, command in {
                'inclusion': dict(wide, projection=many('f%d', 1)),
                'exclusion': dict(wide, projection=many('x%d', 0)),
                'inclusion below': dict(wide, projection=many('f.f%d', 1)),
                'project': dict(one, pipeline=[{'$project': many('f%d', 1)}]),
                'project below': dict(one, pipeline=[{'$project': many('f.f%d', 1)}]),
                'sets': dict(one, pipeline=[{'$project': {'x': {'$setUnion': ['$arr', '$set']}}}]),
        }.items():
            with self.subTest(name):
                self.client.run(command)

    def test_indexed_arrays(self):
        """Each of their keys leads to the whole document, which is looked at once."""
        many = 100000
        self.client.run({'createIndexes': 'arrays', 'indexes': [{'key': {'a': 1}, 'name': 'a'}]})
        self.client.run({'insert': 'arrays', 'documents': [{'_id': 1, 'a': list(range(many))}]})
        for query in ({}, {'a': {'$gte': 0}}):
            reply = self.client.run({'distinct': 'arrays', 'key': 'a', 'query': query})
            self.assertEqual(list(reply['values']), list(range(many)))
        # Of an array's elements those count by which the filter finds it.
        sort = find('arrays', {'a': {'$in': [-1 - i for i in range(many)] + [many - 1]}},
                    sort={'a': 1}, hint={'$natural': 1}, projection={'_id': 1})
        self.client.run(dict(sort, maxTimeMS=ANSWER_SECONDS_MAX * 1000))
        self.client.run({'drop': 'arrays'})

    def test_what_stays_quadratic_is_stopped(self):
        self.run_all([
            ('fields', find('wide', many('f%d', -1))),
            ('or', find('wide', {'$or': [{'x%d' % i: 1} for i in range(50000)]})),
            ('nor', find('wide', {'$nor': [{'arr': {'$all': [-1]}} for _ in range(50000)]})),
            ('all', find('wide', {'arr': {'$all': list(range(FIELDS))}})),
            ('regexes', find('wide', {'arr': {'$in': [
                regex('a.*b%d' % i) for i in range(5000)]}})),
            ('computed', aggregate('wide', {'$project': {
                'x%d' % i: '$f%d' % i for i in range(FIELDS)}})),
            ('added below', aggregate('wide', {'$addFields': many('x.x%d', {'$literal': 1})})),
            ('accumulators', aggregate('wide', {'$group': dict({'_id': 1}, **{
                'x%d' % i: {'$sum': '$f%d' % i} for i in range(FIELDS)})})),
            ('renames', update({'$rename': {'f%d' % i: 'r%d' % i for i in range(50000)}})),
            ('stages', aggregate('wide', *[{'$skip': 1}] * 100000)),
            ('stages that compute', aggregate('wide', *[{'$project': {'arr': 1}}] * 5000)),
        ])

    def test_lookups_that_find_nothing(self):
        """Each of them goes over the whole document."""
        change = {'$rename': {'x%d' % i: 'y%d' % i for i in range(FIELDS)}}
        self.refused((TIME_LIMIT, WORK_LIMIT), dict(update(change), maxTimeMS=2000))

    def test_clauses_below_a_long_name(self):
        """The same in a filter: none of these asks for a path of its own."""
        inner = element(3, 'x', document(element(3, '$elemMatch', document())))
        self.client.run(document(
            element(2, 'find', struct.pack('<i', 4) + b'one\0'),
            element(3, 'filter', document(element(3, 'a' * 5000000, document(
                element(3, '$elemMatch', document(inner * 60000)))))),
            element(2, '$db', struct.pack('<i', 8) + b'hostile\0')))

    def test_fields_below_a_long_name(self):
        """Their paths are long, too, and are not all made."""
        below = document(*[element(2, '%x' % i, struct.pack('<i', 3) + b'$a\0')
                           for i in range(70000)])
        pipeline = document(element(3, '0', document(element(3, '$project', document(
            element(3, 'a' * 6500000, below))))))
        self.client.run(document(element(2, 'aggregate', struct.pack('<i', 4) + b'one\0'),
                                 element(4, 'pipeline', pipeline), element(3, 'cursor', document()),
                                 element(2, '$db', struct.pack('<i', 8) + b'hostile\0')))

    def test_many_fields_to_sort_by(self):
        """Each is looked for in each document, or element, and may be anywhere in it."""
        by_all = {'x%d' % i: 1 for i in range(FIELDS)}
        self.run_all([
            ('stage', aggregate('wide', {'$sort': by_all})),
            ('push', update({'$push': {'sorted': {'$each': [
                {'y%d' % i: i for i in range(1000)} for _ in range(100)], '$sort': by_all}}})),
            ('group', aggregate('wide', {'$group': {'_id': {
                'x%d' % i: '$none%d' % i for i in range(FIELDS)}}}))])
        self.client.run({'update': 'wide', 'updates': [{'q': {}, 'u': {'$unset': {'sorted': 1}}}]})

    def test_references(self):
        """A document of references: each is followed by its id, wherever it stands."""
        pair = element(2, '$ref', struct.pack('<i', 2) + b'c\0') + element(16, '$id', bytes(4))
        references = document(pair * 400000)
        change = document(element(3, '$set', document(element(3, 'x', references))))
        item = document(element(3, 'q', document(element(16, '_id', struct.pack('<i', 5)))),
                        element(3, 'u', change), element(8, 'upsert', b'\1'))
        self.client.run({'update': 'one'}, sequences=[('updates', [item])])
        as_id = document(element(3, '_id', references))
        with self.assertRaises(Refused):  # its key is too long, which is found out at once
            self.client.run({'insert': 'by_reference'}, sequences=[('documents', [as_id])])
        self.client.run({'delete': 'one', 'deletes': [{'q': {'_id': 5}, 'limit': 1}]})

    @long
    def test_planning(self):
        """Bounds of hundreds of thousands of clauses on an indexed field."""
        self.client.run({'createIndexes': 'one', 'indexes': [
            {'key': {'k%d' % (i % 2): 1, 'm%d' % i: 1}, 'name': 'i%d' % i} for i in range(40)]})
        many = 200000
        limit = {'maxTimeMS': ANSWER_SECONDS_MAX * 1000}
        self.run_all([
            ('or', find('one', {'$or': [{'_id': i} for i in range(many)]}, **limit)),
            ('or of two', find('one', {'$or': [{'k%d' % (i % 2): i} for i in range(many)]},
                               **limit)),
            ('in', find('one', {'_id': {'$in': list(range(many, 0, -1))}}, **limit)),
            ('and not', find('one', {'$and': [{'_id': {'$ne': i}} for i in range(many)]})),
            ('not in', find('one', {'_id': {'$nin': list(range(many))}}, **limit)),
            ('ranges', find('one', {'$and': [{'k0': {'$gt': i}} for i in range(many)]})),
            ('delete', {'delete': 'one', 'maxTimeMS': 300, 'deletes': [
                {'q': {'$or': [{'_id': -i - 1} for i in range(many)]}, 'limit': 0}]}),
        ])

    def test_parsing(self):
        """What takes long before the first document is looked at."""
        names = {'v%d' % i: 1 for i in range(50000)}
        chained = ['$none'] * 50000
        for _ in range(400):
            chained = [{'$and': chained}]
        self.run_all([
            ('names', aggregate('one', {'$project': {'x': {'$let': {
                'vars': names, 'in': ['$$v%d' % (i % 50) for i in range(50)]}}}})),
            ('names that are used', aggregate('one', {'$project': {'x': {'$let': {
                'vars': names, 'in': {'$add': ['$$v%d' % i for i in range(50000)]}}}}})),
            ('operators in each other', aggregate('one', {'$project': {'x': chained[0]}})),
        ])

    def test_jumps(self):
        """Between two keys inside the bounds lie all the others: the scan yields to writers."""
        self.client.run({'createIndexes': 'jumps', 'indexes': [
            {'key': {'a': 1, 'b': 1}, 'name': 'ab'}]})
        for part in range(20):
            self.client.run({'insert': 'jumps', 'ordered': False, 'documents': [
                {'_id': part * 1000 + i, 'a': part * 1000 + i, 'b': 0} for i in range(1000)]})
        command = find('jumps', {'a': {'$gte': 0}, 'b': 1}, hint='ab', maxTimeMS=0)
        with Connection(self.server.port) as reader:
            for i in range(10):
                reader.start(command)
                self.client.run({'insert': 'jumps', 'documents': [{'_id': 'w%d' % i}]})
                self.assertEqual(list(reader.finish()['cursor']['firstBatch']), [])
        self.client.run({'drop': 'jumps'})

    def test_filters_of_lists(self):
        """However long they take, the lock under which the list was made is released."""
        database, slow = 'listed' + 'a' * 50, regex('.*.*.*.*[xy]')
        for i in range(50):
            self.client.run({'create': 'c%d' % i + 'a' * 50}, database)
        self.client.run({'createUser': 'listed', 'pwd': 'x', 'roles': [],
                         'customData': {'a': list(range(FIELDS))}}, 'admin')
        for command, asked in (
                ({'listCollections': 1, 'filter': {'$nor': [{'name': slow}] * 10000}}, database),
                ({'listDatabases': 1, 'filter': {'$nor': [{'name': slow}] * 10000}}, 'admin'),
                ({'usersInfo': 1, 'filter': {'$nor': [{'customData.a': -1}] * FIELDS}}, 'admin')):
            with self.subTest(next(iter(command))), Connection(self.server.port) as reader:
                began = time.monotonic()
                reader.start(dict(command, maxTimeMS=3000), asked)
                slowest = self.slowest_insert(reader, database, 'admin')
                self.refused(TIME_LIMIT, reader.finish)
                self.assertLess(slowest, (time.monotonic() - began) / 2)
        self.client.run({'dropUser': 'listed'}, 'admin')
        self.client.run({'drop': 'neighbour'}, 'admin')
        self.client.run({'dropDatabase': 1}, database)

    @long
    def test_large_documents(self):
        """Few of them take long to read: their number does not say when to look at the clock."""
        many = 12
        null = element(10, '', b'')
        for i in range(many):
            self.client.run({'insert': 'large'}, sequences=[('documents', [document(
                element(16, '_id', struct.pack('<i', i)), null * 8000000)])])
        for i in range(many):
            self.client.run({'insert': 'files.chunks', 'documents': [
                {'_id': i, 'files_id': 1, 'n': i, 'data': bytes(16000000)}]})
        self.client.run({'createIndexes': 'files.chunks', 'indexes': [
            {'key': {'files_id': 1, 'n': 1}, 'name': 'file'}]})
        for name, command in {
                'dataSize': {'dataSize': 'hostile.large', 'maxSize': 1 << 50},
                'rename': {'update': 'large', 'updates': [
                    {'q': {}, 'u': {'$rename': {'x': 'y'}}, 'multi': True}]},
                'skip': {'aggregate': 'large', 'pipeline': [{'$skip': many}], 'cursor': {}},
                'filemd5': {'filemd5': 1, 'root': 'files'},
                'move': {'renameCollection': 'hostile.large', 'to': 'other.large'},
        }.items():
            with self.subTest(name):
                self.refused(TIME_LIMIT, dict(command, maxTimeMS=20),
                             'admin' if name == 'move' else 'hostile')
        self.others_write_during({'createIndexes': 'large', 'indexes': [
            {'key': {'x': 1}, 'name': 'x', 'background': True}]})
        for name in ('large', 'files.chunks'):
            self.client.run({'drop': name})

    def test_output_yields(self):
        """Also behind a sort, when all of the source has been read: they see it grow."""
        for i in range(20):
            self.client.run({'insert': 'source', 'documents': [
                {'_id': i * 10000 + j, 'a': -j} for j in range(10000)]})
        grown = set()
        with Connection(self.server.port) as worker:
            worker.start({'aggregate': 'source', 'cursor': {}, 'pipeline': [
                {'$sort': {'a': 1}}, {'$out': 'target'}]})
            while not select.select([worker.socket], [], [], 0)[0]:
                listed = self.client.run({'listCollections': 1, 'nameOnly': True,
                                          'filter': {'name': {'$regex': '^tmp.agg_out'}}})
                for each in listed['cursor']['firstBatch']:
                    grown.add(self.client.run({'count': each['name']})['n'])
            worker.finish()
        self.assertTrue(grown - {0, 200000}, grown)
        self.assertEqual(self.client.run({'count': 'target'})['n'], 200000)
        for name in ('source', 'target'):
            self.client.run({'drop': name})

    def test_output_that_is_dropped(self):
        """$out yields while it fills a collection, which others may drop."""
        everything = [{'$unwind': '$l'}, {'$project': {'x': '$l', '_id': {
            '$add': [{'$multiply': ['$_id', 1000]}, '$l']}}}, {'$out': 'target'}]
        for command in ('drop', 'dropDatabase'):
            with Connection(self.server.port) as filler:
                filler.run({'insert': 'source', 'documents': [
                    {'_id': i, 'l': list(range(200))} for i in range(1000)]}, 'output')
                filler.start({'aggregate': 'source', 'pipeline': everything, 'cursor': {}},
                             'output')
                self.drop_output(command)
                try:
                    filler.finish()
                except Refused as error:
                    self.assertIn(error.code, (26, 17356))
            self.client.run({'dropDatabase': 1}, 'output')
        self.client.run({'ping': 1})

    def drop_output(self, command):
        """Waits until the collection is there, or has been: then there is nothing to drop."""
        name = self.wait_until(lambda: [each['name'] for each in self.client.run(
            {'listCollections': 1}, 'output')['cursor']['firstBatch']
            if each['name'].startswith(('target', 'tmp.agg_out'))], 'there is output')[0]
        if name != 'target':
            try:
                self.client.run({command: name if command == 'drop' else 1}, 'output')
            except Refused:  # it has been renamed
                pass
