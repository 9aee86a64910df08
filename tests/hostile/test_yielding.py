"""What takes long under a lock yields between documents, and notices what others did during
a yield. One document is no place to yield at: it has a limit of work, and others wait no longer."""

import select
import struct
import threading
import time

import bson

from hostile import ANSWER_SECONDS_MAX, Case, Connection, Refused, document, element, long

TIME_LIMIT, WORK_LIMIT, INTERRUPTED = 50, 90001, 11601


class Yielding(Case):
    def ends_beyond_the_limit(self, command):
        """With the error of that; others wait no longer than it may take, about a second of work
        on a machine that has other things to do."""
        with Connection(self.server.port) as worker:
            worker.start(command)
            slowest = self.slowest_insert(worker)
            try:
                reply = worker.finish()
            except Refused as error:
                self.assertEqual(error.code, WORK_LIMIT, error)
            else:
                self.assertEqual([each['code'] for each in reply['writeErrors']], [WORK_LIMIT])
        self.assertLess(slowest, ANSWER_SECONDS_MAX / 4)
        self.client.run({'drop': 'neighbour'})

    def ends_early(self, command):
        """By its time, and by killOp."""
        with Connection(self.server.port) as worker:
            worker.start(dict(command, maxTimeMS=50))
            self.assertEqual(self.code_of(worker), TIME_LIMIT)
            worker.start(command)
            limit = time.monotonic() + ANSWER_SECONDS_MAX
            while not select.select([worker.socket], [], [], 0)[0] and time.monotonic() < limit:
                for each in self.operations(
                        lambda one: next(iter(command)) in one.get('query', {})):
                    self.client.run({'killOp': 1, 'op': each['opid']}, 'admin')
            self.assertIn(self.code_of(worker), (INTERRUPTED, WORK_LIMIT))

    def code_of(self, worker):
        try:
            return worker.finish()['writeErrors'][0]['code']
        except Refused as error:
            return error.code

    @long
    def test_planning_takes_no_look_at_each_for_each(self):
        """Ranges are laid over each other in pairs, not each over all values of the list."""
        self.client.run({'createIndexes': 'one', 'indexes': [{'key': {'k': 1}, 'name': 'k'}]})
        several = 8000
        planned = {'k': {'$in': list(range(several))},
                   '$and': [{'k': {'$ne': -1 - i}} for i in range(several)]}
        for name, command in {
                'find': {'find': 'one', 'filter': planned},
                'distinct': {'distinct': 'one', 'key': 'k', 'query': planned},
                'aggregate': {'aggregate': 'one', 'pipeline': [{'$match': planned}],
                              'cursor': {}},
                'delete': {'delete': 'one', 'deletes': [{'q': planned, 'limit': 0}]},
        }.items():
            with self.subTest(name):
                self.client.run(command)
        self.client.run({'dropIndexes': 'one', 'index': 'k'})

    def test_filters_of_pipelines_are_read_before(self):
        """However long that takes, it holds no lock."""
        self.client.run({'insert': 'one', 'documents': [{'_id': 'filtered'}]})
        patterns = [bson.regex.Regex('x%d' % i) for i in range(30000)]

        def slowest_insert(reader):
            """Its part of the pipeline's time."""
            began = time.monotonic()
            reader.start({'aggregate': 'one', 'cursor': {}, 'pipeline': [
                {'$match': {'a': {'$in': patterns}}}, {'$sort': {'b': 1}}]})
            slowest = self.slowest_insert(reader)
            reader.finish()
            return slowest / (time.monotonic() - began)
        with Connection(self.server.port) as reader:
            # The machine may keep one waiting as well, but not each time.
            self.assertTrue(any(slowest_insert(reader) < 0.5 for _ in range(5)))
        self.client.run({'drop': 'neighbour'})

    @long
    def test_updates_have_a_limit(self):
        """However many fields are looked for in a document, and however large it is."""
        self.client.run({'insert': 'large'}, sequences=[('documents', [document(
            element(16, '_id', struct.pack('<i', 1)), element(10, '', b'') * 8000000)])])
        many = {'$rename': {'x%d' % i: 'y%d' % i for i in range(2000)}, '$inc': {'n': 1}}
        for name, command in {
                'by id': {'update': 'large', 'updates': [{'q': {'_id': 1}, 'u': many}]},
                'first': {'update': 'large', 'updates': [
                    {'q': {'_id': 1, 'y': None}, 'u': many}]},
                'each': {'update': 'large', 'updates': [{'q': {}, 'u': many, 'multi': True}]},
                'find and modify': {'findAndModify': 'large', 'query': {'_id': 1},
                                    'update': many, 'fields': {'n': 1}},
        }.items():
            with self.subTest(name):
                self.ends_beyond_the_limit(command)
                self.ends_early(command)
        self.assertEqual(self.client.run({'count': 'large', 'query': {'n': {'$exists': True}}})[
            'n'], 0)
        self.client.run({'drop': 'large'})

    def test_what_many_take_from_a_queue(self):
        """Each document is taken once, by clients that look for the first one in an order."""
        for part in range(20):
            self.client.run({'insert': 'queue', 'documents': [
                {'_id': part * 2000 + i, 'taken': 0, 'p': (i * 7919) % 100003, 'x': 'x' * 100}
                for i in range(2000)]})
        first = {'findAndModify': 'queue', 'query': {'taken': 0}, 'sort': {'p': 1}}
        for change in ({'update': {'$set': {'taken': 1}}}, {'remove': True}):
            taken = []

            def take():
                with Connection(self.server.port) as client:
                    for _ in range(5):
                        taken.append(client.run(dict(first, **change))['value']['_id'])
            takers = [threading.Thread(target=take) for _ in range(6)]
            for each in takers:
                each.start()
            for each in takers:
                each.join()
            self.assertEqual(len(set(taken)), 30, (change, taken))
        self.client.run({'drop': 'queue'})

    def test_what_is_read_of_a_document_has_a_limit(self):
        """Each field that is looked for leads through all of an array."""
        many = 300000
        self.client.run({'insert': 'large', 'documents': [
            {'_id': 1, 'd': [{'x': i * 7919 % many} for i in range(many)]}]})
        costly = {'d': {'$elemMatch': {'$or': [{'x': -1 - i} for i in range(200)]}}}
        for name, command in {
                'filter': {'find': 'large', 'filter': costly},
                'projection': {'find': 'large', 'projection': costly},
                'projection by id': {'find': 'large', 'filter': {'_id': 1}, 'projection': costly},
                'modified': {'findAndModify': 'large', 'query': {'_id': 1}, 'fields': costly,
                             'update': {'$inc': {'n': 1}}, 'new': True},
                'modified from': {'findAndModify': 'large', 'query': {'_id': 1},
                                  'fields': costly, 'update': {'$inc': {'n': 1}}},
                'removed': {'findAndModify': 'large', 'query': {'_id': 1}, 'fields': costly,
                            'remove': True},
        }.items():
            with self.subTest(name):
                self.ends_beyond_the_limit(command)
                self.ends_early(command)
        # What is long and no search for many things is within it.
        sort = {'sort': {'d.x': 1}, 'projection': {'_id': 1}}
        for command in (dict({'find': 'large'}, **sort), {'distinct': 'large', 'key': 'd.x'},
                        dict({'find': 'large', 'filter': {
                            'd.x': {'$in': list(range(-many, 1))}}}, **sort)):
            self.client.run(command)
        self.assertEqual(self.client.run({'count': 'large', 'query': {'n': None}})['n'], 1)
        self.client.run({'drop': 'large'})

    def test_a_result_that_takes_too_long(self):
        """Nothing is written where the client would not get the result."""
        many = 100000
        self.client.run({'insert': 'shown', 'documents': [
            {'_id': 1, 'd': [{'x': i} for i in range(many)]}]})
        costly = {'d': {'$elemMatch': {'$or': [{'x': -1 - i} for i in range(1000)]}}}
        for command in ({'query': {'_id': 1}, 'update': {'$inc': {'n': 1}}},
                        {'query': {'_id': 1}, 'update': {'$set': {'d.0.y': 1}}},
                        {'query': {'_id': 2}, 'upsert': True, 'update': {
                            '$set': {'d': [{'x': i} for i in range(many)]}}}):
            self.refused(TIME_LIMIT, dict({'findAndModify': 'shown', 'new': True, 'fields': costly,
                                           'maxTimeMS': 100}, **command))
        self.assertEqual(self.client.run({'count': 'shown'})['n'], 1)
        self.assertEqual(self.client.run({'count': 'shown', 'query': {'$or': [
            {'n': 1}, {'d.0.y': 1}]}})['n'], 0)
        self.client.run({'drop': 'shown'})
