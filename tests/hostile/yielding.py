"""What takes long under a lock yields now and then, and notices what others did during a yield."""

import select
import struct
import threading
import time

import bson

from hostile import FIELDS, Case, Connection, Refused, document, element, long

DROPPED = 17356


class Yielding(Case):
    @long
    def test_planning_lets_others_in(self):
        """Each range is laid over all values of the list."""
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
                self.others_write_during(command)
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
            slowest = 0
            while not select.select([reader.socket], [], [], 0)[0]:
                insert = time.monotonic()
                self.client.run({'insert': 'neighbour', 'documents': [{}]})
                slowest = max(slowest, time.monotonic() - insert)
            reader.finish()
            return slowest / (time.monotonic() - began)
        with Connection(self.server.port) as reader:
            # The machine may keep one waiting as well, but not each time.
            self.assertTrue(any(slowest_insert(reader) < 0.5 for _ in range(5)))
        self.client.run({'drop': 'neighbour'})

    @long
    def test_updates_yield(self):
        """However long it takes to find out what becomes of a document."""
        self.client.run({'insert': 'large'}, sequences=[('documents', [document(
            element(16, '_id', struct.pack('<i', 1)), element(10, '', b'') * 8000000)])])
        nothing = {'$rename': {'x%d' % i: 'y' for i in range(30)}, '$inc': {'n': 1}}
        new = dict({'_id': 'new'}, **{'f%d' % i: 1 for i in range(FIELDS)})
        many_more = {'$rename': {'x%d' % i: 'y%d' % i for i in range(2000)}, '$inc': {'n': 1}}
        for name, command in {
                'by id': {'update': 'large', 'updates': [{'q': {'_id': 1}, 'u': nothing}]},
                'first': {'update': 'large', 'updates': [
                    {'q': {'_id': 1, 'y': None}, 'u': nothing}]},
                'each': {'update': 'large', 'updates': [{'q': {}, 'u': nothing, 'multi': True}]},
                'find and modify': {'findAndModify': 'large', 'query': {'_id': 1},
                                    'update': nothing, 'fields': {'n': 1}},
                'upsert': {'update': 'large', 'updates': [
                    {'q': new, 'u': many_more, 'upsert': True}]},
        }.items():
            with self.subTest(name):
                self.others_write_during(command)
        found = {each['_id']: each['n'] for each in self.client.run(
            {'find': 'large', 'projection': {'n': 1}})['cursor']['firstBatch']}
        self.assertEqual(found, {1: 4, 'new': 1})
        self.client.run({'drop': 'large'})

    @long
    def test_updates_of_what_changes_during_a_yield(self):
        """None is lost, and none is applied to a document that is not there any more."""
        long = {'$rename': {'x%d' % i: 'y%d' % i for i in range(2000)}, '$inc': {'n': 1}}
        for name, command in {
                'by id': {'update': 'racing', 'updates': [{'q': {'_id': 1}, 'u': long}]},
                'first': {'update': 'racing', 'updates': [
                    {'q': {'_id': 1, 'n': {'$gte': 0}}, 'u': long}]},
                'each': {'update': 'racing', 'updates': [{'q': {}, 'u': long, 'multi': True}]},
                'find and modify': {'findAndModify': 'racing', 'query': {'_id': 1},
                                    'update': long, 'fields': {'n': 1}},
        }.items():
            with self.subTest(name), Connection(self.server.port) as worker:
                self.client.run({'insert': 'racing', 'documents': [
                    dict({'_id': 1, 'n': 0}, **{'f%d' % i: 1 for i in range(FIELDS)})]})
                worker.start(command)
                others = 0
                limit = time.monotonic() + 1
                while not select.select([worker.socket], [], [], 0)[0] \
                        and time.monotonic() < limit:
                    self.client.run({'update': 'racing', 'updates': [
                        {'q': {'_id': 1}, 'u': {'$inc': {'n': 1}}}]})
                    others += 1
                worker.finish()
                self.assertEqual([each['n'] for each in self.client.run(
                    {'find': 'racing', 'projection': {'n': 1}})['cursor']['firstBatch']],
                                 [others + 1])
                worker.start(command)
                self.client.run({'drop': 'racing'})
                try:
                    worker.finish()
                except Refused as error:
                    self.assertEqual(error.code, DROPPED)

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

    def test_what_is_read_of_a_document_lets_others_in(self):
        """However long that takes."""
        many = 300000
        self.client.run({'insert': 'large', 'documents': [
            {'_id': 1, 'd': [{'x': i * 7919 % many} for i in range(many)]}]})
        costly = {'d': {'$elemMatch': {'$or': [{'x': -1 - i} for i in range(50)]}}}
        sort = {'sort': {'d.x': 1}, 'projection': {'_id': 1}}
        for name, command in {
                'projection': {'find': 'large', 'projection': costly},
                'projection by id': {'find': 'large', 'filter': {'_id': 1}, 'projection': costly},
                'sort': dict({'find': 'large'}, **sort),
                'sort within bounds': dict({'find': 'large', 'filter': {
                    'd.x': {'$in': list(range(-many, 1))}}}, **sort),
                'distinct': {'distinct': 'large', 'key': 'd.x'},
                'modified': {'findAndModify': 'large', 'query': {'_id': 1}, 'fields': costly,
                             'update': {'$inc': {'n': 1}}, 'new': True},
                'modified from': {'findAndModify': 'large', 'query': {'_id': 1},
                                  'fields': costly, 'update': {'$inc': {'n': 1}}},
                'removed': {'findAndModify': 'large', 'query': {'_id': 1}, 'fields': costly,
                            'remove': True},
        }.items():
            with self.subTest(name):
                if name == 'removed':
                    self.assertEqual(self.client.run({'count': 'large', 'query': {'n': 2}})['n'], 1)
                self.others_write_during(command)
        self.assertEqual(self.client.run({'count': 'large'})['n'], 0)
        self.client.run({'drop': 'large'})

    @long
    def test_a_batch_that_ends_behind_a_pause(self):
        """What did not fit into it comes with the next one."""
        many = 50000
        for i in range(6):
            self.client.run({'insert': 'batches', 'documents': [
                {'_id': i, 'd': [{'x': j} for j in range(many)], 's': 'x' * 9000000}]})
        shown = {'s': 1, 'd': {'$elemMatch': {'$or': [{'x': -1 - i} for i in range(50)]}}}
        over = threading.Event()

        def write():
            with Connection(self.server.port) as writer:
                while not over.is_set():
                    writer.run({'insert': 'neighbour', 'documents': [{}]})
        writer = threading.Thread(target=write)
        writer.start()
        for scan in ({}, {'filter': {'_id': {'$gte': 0}}},
                     {'sort': {'x': 1}, 'allowDiskUse': True}):
            with self.subTest(scan), Connection(self.server.port) as reader:
                reply = reader.run(dict({'find': 'batches', 'projection': shown}, **scan))['cursor']
                found = [each['_id'] for each in reply['firstBatch']]
                while reply['id']:
                    reply = reader.run({'getMore': reply['id'],
                                        'collection': 'batches'})['cursor']
                    found += [each['_id'] for each in reply['nextBatch']]
                self.assertEqual(found, list(range(6)))
        over.set()
        writer.join()
        self.client.run({'drop': 'neighbour'})
        self.client.run({'drop': 'batches'})

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
            with self.assertRaises(Refused) as caught:
                self.client.run(dict({'findAndModify': 'shown', 'new': True, 'fields': costly,
                                      'maxTimeMS': 300}, **command))
            self.assertEqual(caught.exception.code, 50)
        self.assertEqual(self.client.run({'count': 'shown'})['n'], 1)
        self.assertEqual(self.client.run({'count': 'shown', 'query': {'$or': [
            {'n': 1}, {'d.0.y': 1}]}})['n'], 0)
        self.client.run({'drop': 'shown'})
