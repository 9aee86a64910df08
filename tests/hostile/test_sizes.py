"""Results, keys and texts that grow: one operation may hold so much memory, and then it ends."""

import contextlib
import struct
import time

import bson

from hostile import (ANSWER_SECONDS_MAX, Case, Connection, FIELDS, Refused, document, element,
                     encode, long)


def aggregate(collection, *stages, **more):
    return dict({'aggregate': collection, 'pipeline': list(stages), 'cursor': {}}, **more)


def doubled(times, value, operator):
    for _ in range(times):
        value = {operator: [value, value]}
    return value


class Memory(Case):
    def setUp(self):
        super().setUp()
        self.set_parameter('memoryLimitMB', 256)  # 102 for one operation

    def test_results_that_grow(self):
        everything = '$$ROOT'
        self.run_all([
            ('concat', aggregate('long', {'$project': {'x': doubled(14, '$s', '$concat')}})),
            ('let', aggregate('long', {'$project': {'x': {'$let': {
                'vars': {'v': {'$concat': ['$s'] * 100}}, 'in': {'$concat': ['$$v'] * 100}}}}})),
            ('project', aggregate('long', *[{'$project': {
                'x%d' % i: everything for i in range(20)}}] * 6)),
            ('addFields', aggregate('long', *[{'$addFields': {'x%d' % i: everything}}
                                              for i in range(40)])),
            ('map', aggregate('wide', {'$project': {'x': {'$size': {'$map': {
                'input': '$arr', 'as': 'q', 'in': everything}}}}})),
            ('push', aggregate('wide', {'$unwind': '$arr'},
                               {'$group': {'_id': 1, 'x': {'$push': everything}}})),
            ('sort', aggregate('wide', {'$unwind': '$arr'}, {'$sort': {'arr': -1}})),
            ('facet', aggregate('long', {'$facet': {'x%d' % i: [] for i in range(1000)}})),
            ('padding', {'update': 'long', 'updates': [{'q': {'_id': 'new'}, 'upsert': True, 'u': {
                '$set': {'z%d.1400000' % i: 1 for i in range(3000)}}}]}),
            ('push to array', {'update': 'long', 'updates': [{'q': {}, 'u': {'$push': {
                'p': {'$each': ['x' * 1000000] * 20}}}}]})])

    def test_results_that_grow_on_the_disk(self):
        """They may take a multiple of the memory there: with little of it, that is soon full."""
        self.set_parameter('memoryLimitMB', 96)
        everything = '$$ROOT'
        self.run_all([
            ('push', aggregate('wide', {'$unwind': '$arr'}, {
                '$group': {'_id': 1, 'x': {'$push': everything}}}, allowDiskUse=True)),
            ('ids', aggregate('wide', {'$unwind': '$arr'}, {'$group': {'_id': everything}},
                              allowDiskUse=True)),
            ('sort', aggregate('wide', {'$unwind': '$arr'}, {'$sort': {'arr': -1}},
                               allowDiskUse=True))])

    def test_the_limit(self):
        """The parameter is what holds."""
        command = aggregate('wide', {'$project': {'x': {'$size': {'$map': {
            'input': '$arr', 'as': 'q', 'in': '$$ROOT'}}}}})
        self.assertIn('memoryLimitMB', self.refused(146, command).text)
        self.refused(292, aggregate('wide', {'$unwind': '$arr'}, {'$group': {'_id': '$$ROOT'}},
                                    allowDiskUse=False))
        self.client.run(aggregate('wide', {'$project': {'x': {'$setUnion': ['$arr', ['a']]}}}))
        with self.assertRaises(Refused):
            self.client.run({'setParameter': 1, 'memoryLimitMB': 1}, 'admin')

    def test_paths_that_are_copied(self):
        """A path of 400 KB with 90000 operators."""
        operators = document(*[element(16, '$gt', struct.pack('<i', i)) for i in range(90000)])
        self.run_all([
            ('operators', document(element(2, 'find', struct.pack('<i', 4) + b'one\0'),
                                   element(3, 'filter', document(
                                       element(3, 'a' * 400000, operators))),
                                   element(2, '$db', struct.pack('<i', 8) + b'hostile\0'))),
            ('all', {'find': 'one', 'filter': {'a' * 400000: {'$all': list(range(90000))}}}),
            ('in', {'find': 'one', 'filter': {'a' * 400000: {'$nin': list(range(90000))}}})])

    def test_keys_that_repeat_what_stands_beside_an_array(self):
        self.client.run({'insert': 'keys', 'documents': [
            {'_id': 1, 'a': list(range(FIELDS)), 'b': 'x' * 1000000}]})
        self.run_all([('sort', {'find': 'keys', 'sort': {'a': 1, 'b': 1}}),
                      ('index', {'createIndexes': 'keys', 'indexes': [
                          {'key': {'a': 1, 'b': 1}, 'name': 'ab'}]})])

    def test_keys_of_many_indexes(self):
        """One change, whose keys in each index are many times the document."""
        self.client.run({'createIndexes': 'keyed', 'indexes': [
            {'key': {'a': 1, 'b': 1, 'c%d' % i: 1}, 'name': 'i%d' % i} for i in range(60)]})
        self.client.run({'insert': 'keyed', 'documents': [{'_id': 1, 'a': list(range(250))}]})
        self.run_all([
            ('set', {'update': 'keyed', 'updates': [
                {'q': {}, 'u': {'$set': {'b': 'x' * 1000000}}}]}),
            ('replace', {'update': 'keyed', 'updates': [
                {'q': {'_id': 1}, 'u': {'a': list(range(1000)), 'b': 'x' * 500000}}]}),
            ('insert', {'insert': 'keyed', 'documents': [
                {'_id': 2, 'a': list(range(1000)), 'b': 'x' * 500000}]}),
            ('delete', {'delete': 'keyed', 'deletes': [{'q': {'_id': 2}, 'limit': 1}]}),
            ('find and modify', {'findAndModify': 'keyed', 'query': {'_id': 1},
                                 'update': {'$set': {'b': 'x' * 1000000}}})])
        self.assertEqual(self.client.run({'count': 'keyed'})['n'], 1)
        self.assertTrue(self.client.run({'validate': 'keyed', 'full': True})['valid'])
        self.client.run({'drop': 'keyed'})

    def test_documents_in_errors(self):
        """An error shows what was wrong, not 16 MB of it."""
        for command in ({'createIndexes': 'one', 'indexes': 1, 'comment': 'x' * 10000000},
                        {'createIndexes': 'one', 'comment': 'x' * 10000000,
                         'indexes': [{'ns': 'other', 'key': {'a': 1}, 'x': 'x' * 1000000}]}):
            with self.subTest(str(command)[:40]), self.assertRaises(Refused) as caught:
                self.client.run(command)
            self.assertLess(len(caught.exception.document.raw), 100000)

    def test_errors_of_a_batch(self):
        """However many there are and whatever they quote, the reply is one that clients take."""
        item = encode({'q': {'_id': 1}, 'u': {'$bad' + 'x' * 600: 1}})
        self.client.start({'update': 'one', 'ordered': False},
                          sequences=[('updates', [item] * 50000)])
        message = self.client.receive()
        self.assertLess(len(message), 16 << 20)
        errors = bson.decode(message[21:])['writeErrors']
        self.assertEqual([each['index'] for each in errors], list(range(50000)))
        self.assertEqual({each['code'] for each in errors}, {9})
        self.assertIn('Unknown modifier', errors[0]['errmsg'])

    def test_texts_of_errors(self):
        long = 'y' * 10000000
        for command in ({'find': 'one', 'filter': {'a': {'$gt' + long: 1}}},
                        aggregate('one', {'$project': {'x': {'$add': [long]}}}),
                        {long: 1}, {'find': 'one', long: 1},
                        {'update': 'wide', 'updates': [{'q': {}, 'u': {'$inc': {
                            'f': ['y' * 150] * 80000}}}]},
                        {'findAndModify': 'wide', 'update': {'$bad': {long: 1}}},
                        aggregate('one', {'$group': {'_id': 1, long: 1}}),
                        {'createIndexes': 'one', 'indexes': [{'key': {long: 1}, 'name': 'n'}]}):
            with self.subTest(str(command)[:40]), self.assertRaises(Refused) as caught:
                self.client.run(command)
            self.assertLessEqual(len(caught.exception.text.encode()), 1024)


class Sums(Case):
    def open_all(self, client):
        """Opens cursors until one is refused; their ids, and why."""
        kept = []
        try:
            while len(kept) < 100000:
                kept.append(client.run({'find': 'rows', 'batchSize': 1})['cursor']['id'])
        except Refused as error:
            return kept, error
        self.fail('there is no end of cursors')

    def test_cursors_have_an_end(self):
        self.client.run({'insert': 'rows', 'documents': [{'_id': i} for i in range(10)]})
        self.set_parameter('memoryLimitMB', 64)
        with contextlib.ExitStack() as stack:
            kept = []
            while True:
                mine, why = self.open_all(stack.enter_context(Connection(self.server.port)))
                self.assertIn('too many open cursors', why.text)
                kept += mine
                if 'of this connection' not in why.text:
                    break
                self.assertEqual(len(mine), 128)
            self.assertIn('in all (parameter memoryLimitMB)', why.text)
            self.assertEqual(len(kept), 640)
            self.client.run({'killCursors': 'rows', 'cursors': kept[:1]})
            self.client.run({'find': 'rows', 'batchSize': 1})
        self.client.run({'drop': 'rows'})

    def test_cursors_that_were_left_behind(self):
        """Those that wait for ever do not keep all others from having one."""
        self.client.run({'insert': 'rows', 'documents': [{'_id': i} for i in range(10)]})
        self.set_parameter('memoryLimitMB', 64)
        query = {'find': 'rows', 'batchSize': 1, 'noCursorTimeout': True}
        for _ in range(5):
            with Connection(self.server.port) as gone:
                for _ in range(128):
                    gone.run(query)
        mine, end = [], time.monotonic() + 30  # until the server has noticed
        while len(mine) < 128:
            try:
                mine.append(self.client.run(query)['cursor']['id'])
            except Refused:
                self.assertLess(time.monotonic(), end)
        self.assertRaises(Refused, self.client.run, query)
        self.client.run({'killCursors': 'rows', 'cursors': mine})
        self.client.run({'drop': 'rows'})

    def test_cursors_of_one_connection_have_an_end(self):
        self.client.run({'insert': 'rows', 'documents': [{'_id': i} for i in range(10)]})
        self.set_parameter('memoryLimitMB', 64)
        with Connection(self.server.port) as client:
            for _ in range(3):  # each is counted until it ends, however that is
                kept, why = self.open_all(client)
                self.assertEqual((len(kept), why.code), (128, 96))
                client.run({'getMore': kept[0], 'collection': 'rows'})
                client.run({'getMore': kept[1], 'collection': 'rows'})
                client.run({'killCursors': 'rows', 'cursors': kept[2:]})
        self.client.run({'drop': 'rows'})

    @long
    def test_what_a_large_commit_needed(self):
        """The journal gives its memory back, and operations that need some have it."""
        self.set_parameter('memoryLimitMB', 512)
        self.client.run({'createIndexes': 'keyed', 'indexes': [
            {'key': {'a': 1, 'b': 1, 'c%d' % i: 1}, 'name': 'i%d' % i} for i in range(20)]})
        self.client.run({'insert': 'keyed', 'documents': [
            {'_id': 1, 'a': list(range(20000)), 'b': 'x' * 800}], 'writeConcern': {'j': True}})
        limit = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            try:
                self.client.run({'find': 'keyed', 'filter': {'x': 'x' * (14 << 20)}})
                break
            except Refused as error:
                if time.monotonic() > limit:
                    raise AssertionError('no memory is left') from error
        self.client.run({'drop': 'keyed'})

    def test_what_idle_cursors_hold(self):
        """Who leaves cursors behind, each with a large filter, leaves memory to the others."""
        self.client.run({'insert': 'rows', 'documents': [{'_id': i} for i in range(10)]})
        # The server's own things are counted as well.
        self.set_parameter('memoryLimitMB', 768)
        query = {'find': 'rows', 'batchSize': 1, 'filter': {'$or': [
            {'_id': {'$gte': 0}}, {'x': 'x' * (14 << 20)}]}}
        timed_out = self.timed_out()
        with Connection(self.server.port) as hoarder:
            cursors = [hoarder.run(query)['cursor']['id'] for _ in range(40)]
            self.client.run(query)
            read = hoarder.count_readable(cursors, 'rows')
            self.assertGreater(read, 0)
            self.assertLessEqual(read, 27, 'they hold more than half')
            self.assertGreaterEqual(self.timed_out() - timed_out, 40 - read)
        self.client.run({'drop': 'rows'})

    def timed_out(self):
        return self.client.run({'serverStatus': 1}, 'admin')['metrics']['cursor']['timedOut']
