"""Work without an end, or nearly: time limits and killOp end it, others are served meanwhile."""

import time

import bson

from hostile import ANSWER_SECONDS_MAX, FIELDS, Case, Connection, Refused

TIME_LIMIT, MEMORY_LIMIT = 50, 146
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
                with self.assertRaises(Refused) as caught:
                    self.client.run(command)
                # What the maps hold may reach its limit first, on a quick machine.
                self.assertIn(caught.exception.code, (TIME_LIMIT, MEMORY_LIMIT))
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
            with self.assertRaises(Refused) as caught:
                victim.finish()
            self.assertEqual(caught.exception.code, INTERRUPTED)

    def find_operation(self, collection):
        limit = time.monotonic() + ANSWER_SECONDS_MAX
        while time.monotonic() < limit:
            for each in self.client.run({'currentOp': 1}, 'admin')['inprog']:
                if each['query'].get('aggregate') == collection:
                    return each['opid']
        self.fail('currentOp does not show it')

    def test_lock_wait_is_interrupted(self):
        """Who waits for a lock can be told to stop."""
        self.client.run({'fsync': 1, 'lock': True}, 'admin')
        try:
            with Connection(self.server.port) as waiting:
                waiting.start({'insert': 'lists', 'documents': [{'_id': 'x'}], 'maxTimeMS': 200})
                with self.assertRaises(Refused) as caught:
                    waiting.finish()
                self.assertEqual(caught.exception.code, TIME_LIMIT)
        finally:
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

    def test_projections(self):
        wide = {'find': 'wide', 'batchSize': 1}
        one = {'aggregate': 'wide', 'cursor': {}}
        for name, command in {
                'inclusion': dict(wide, projection=many('f%d', 1)),
                'exclusion': dict(wide, projection=many('x%d', 0)),
                'inclusion below': dict(wide, projection=many('f.f%d', 1)),
                'scores': dict(wide, projection=many('x%d', {'$meta': 'textScore'})),
                'project': dict(one, pipeline=[{'$project': many('f%d', 1)}]),
                'project below': dict(one, pipeline=[{'$project': many('f.f%d', 1)}]),
                'sets': dict(one, pipeline=[{'$project': {'x': {'$setUnion': ['$arr', '$set']}}}]),
        }.items():
            with self.subTest(name):
                self.client.run(command)

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


class Regular(Case):
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
