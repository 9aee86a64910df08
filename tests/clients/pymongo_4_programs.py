"""pymongo of today, with its defaults (retryable writes on): what a program does with a server."""

import threading

import bson
import case
import pymongo
from pymongo import errors
from pymongo.write_concern import WriteConcern


class Programs(case.Refusals):
    @classmethod
    def setUpClass(cls):
        cls.client = pymongo.MongoClient('mongodb://127.0.0.1:%d/' % case.PORT)
        cls.addClassCleanup(cls.client.close)
        cls.db = cls.client.programs

    def collection(self, documents=()):
        c = self.db[self.id().rsplit('.', 1)[-1]]
        if documents:
            c.insert_many(documents)
        return c

    def test_crud(self):
        c = self.collection()
        self.assertEqual(c.insert_one({'_id': 1, 'a': [1, 2]}).inserted_id, 1)
        self.assertIsInstance(c.insert_one({'b': None}).inserted_id, bson.ObjectId)
        result = c.update_one({'_id': 1}, {'$push': {'a': {'$each': [3, 0], '$sort': 1}}})
        self.assertEqual((result.matched_count, result.modified_count, result.upserted_id),
                         (1, 1, None))
        self.assertEqual(c.update_one({'_id': 1}, {'$set': {'x.y': 1}}).raw_result['nModified'], 1)
        self.assertEqual(c.update_many({'_id': 'new'}, {'$set': {'n': 1}}, upsert=True).upserted_id,
                         'new')
        self.assertEqual(c.find_one({'_id': 1}), {'_id': 1, 'a': [0, 1, 2, 3], 'x': {'y': 1}})
        self.assertEqual(c.replace_one({'_id': 1}, {'z': 1}).modified_count, 1)
        self.assertEqual(c.find_one_and_update({'_id': 1}, {'$inc': {'z': 5}}), {'_id': 1, 'z': 1})
        self.assertEqual(c.find_one_and_replace({'_id': 1}, {'q': 1}, return_document=True),
                         {'_id': 1, 'q': 1})
        self.assertEqual(c.find_one_and_delete({'_id': 1}), {'_id': 1, 'q': 1})
        self.assertIsNone(c.find_one_and_delete({'_id': 1}))
        self.assertEqual(c.delete_many({}).deleted_count, 2)
        self.assertEqual(c.estimated_document_count(), 0)

    def test_cursors(self):
        c = self.collection([{'_id': n, 'm': n % 7} for n in range(1000)])
        self.assertEqual([d['_id'] for d in c.find().sort('_id', -1).skip(10).limit(5)],
                         [989, 988, 987, 986, 985])
        self.assertEqual(len(list(c.find({'m': 3}, batch_size=2))), 143)
        self.assertEqual(len(list(c.find(cursor_type=pymongo.CursorType.EXHAUST))), 1000)
        cursor = c.find(batch_size=5)
        next(cursor)
        cursor.close()
        self.assertEqual(self.client.admin.command('serverStatus')['cursors']['totalOpen'], 0)
        cursor = c.find(batch_size=5)
        next(cursor)
        self.db.command('killCursors', c.name, cursors=[cursor.cursor_id])
        self.fails(43, list, cursor)

    def test_queries_after_the_first(self):
        c = self.collection([{'_id': n, 's': 'abc'[n % 3], 'l': [n, {'k': n}]} for n in range(30)])
        self.assertEqual(c.count_documents({'s': {'$regex': '^A', '$options': 'i'}}), 10)
        self.assertEqual(c.find_one({'l': {'$elemMatch': {'k': 7}}}, {'l': {'$slice': 1}})['l'],
                         [7])
        self.assertEqual(c.distinct('s', {'_id': {'$lt': 2}}), ['a', 'b'])
        self.assertEqual(c.count_documents({'_id': {'$gte': 3}}, skip=2, limit=4), 4)
        self.assertEqual(list(c.aggregate([
            {'$match': {'_id': {'$lt': 9}}}, {'$group': {'_id': '$s', 'n': {'$sum': '$_id'}}},
            {'$sort': {'_id': 1}}], batchSize=1)),
            [{'_id': 'a', 'n': 9}, {'_id': 'b', 'n': 12}, {'_id': 'c', 'n': 15}])
        c.aggregate([{'$match': {'s': 'a'}}, {'$out': 'programs_out'}])
        self.assertEqual(self.db.programs_out.count_documents({}), 10)

    def test_bulk_writes(self):
        c = self.collection()
        result = c.bulk_write([pymongo.InsertOne({'_id': 1}), pymongo.InsertOne({'_id': 2}),
                               pymongo.UpdateOne({'_id': 1}, {'$set': {'a': 1}}),
                               pymongo.UpdateMany({}, {'$inc': {'n': 1}}),
                               pymongo.ReplaceOne({'_id': 3}, {'r': 1}, upsert=True),
                               pymongo.DeleteOne({'_id': 2})])
        self.assertEqual((result.inserted_count, result.matched_count, result.modified_count,
                          result.upserted_ids, result.deleted_count), (2, 3, 3, {4: 3}, 1))
        for ordered, inserted in ((True, 1), (False, 2)):
            with self.assertRaises(errors.BulkWriteError) as caught:
                c.bulk_write([pymongo.InsertOne({'_id': 10 + 10 * ordered}),
                              pymongo.InsertOne({'_id': 1}),
                              pymongo.InsertOne({'_id': 11 + 10 * ordered})], ordered=ordered)
            details = caught.exception.details
            self.assertEqual(details['nInserted'], inserted)
            self.assertEqual([(e['index'], e['code']) for e in details['writeErrors']],
                             [(1, 11000)])
        many = [pymongo.UpdateOne({'_id': n}, {'$set': {'v': n}}, upsert=True)
                for n in range(1000, 6000)]
        self.assertEqual(len(c.bulk_write(many, ordered=False).upserted_ids), 5000)

    def test_indexes(self):
        c = self.collection([{'_id': n, 'a': n, 'b': -n} for n in range(20)])
        self.assertEqual(c.create_index('a', unique=True), 'a_1')
        self.assertEqual(c.create_index([('a', 1), ('b', -1)], name='both'), 'both')
        self.assertEqual(c.create_indexes([
            pymongo.IndexModel([('b', 'hashed')]),
            pymongo.IndexModel('t', expireAfterSeconds=3600, sparse=True, background=True)]),
            ['b_hashed', 't_1'])
        information = c.index_information()
        self.assertEqual(information['both']['key'], [('a', 1), ('b', -1)])
        self.assertEqual(information['a_1']['unique'], True)
        self.assertEqual((information['t_1']['expireAfterSeconds'], information['t_1']['sparse']),
                         (3600, True))
        self.fails(11000, c.insert_one, {'a': 3})
        self.assertEqual(self.fails(11000, c.insert_one, {'a': 3}).details['keyValue'], {'a': 3})
        self.fails(86, c.create_index, 'a', unique=False, sparse=True)
        self.fails(85, c.create_index, 'a', unique=True, name='other')
        self.fails(86, c.create_index, 'c', name='both')
        self.fails(27, c.drop_index, 'nosuch')
        self.assertIn('a_1', str(c.find({'a': 3}).explain()['queryPlanner']['winningPlan']))
        c.drop_index('both')
        c.drop_indexes()
        self.assertEqual(list(c.index_information()), ['_id_'])
        self.assertEqual([i['name'] for i in c.list_indexes()], ['_id_'])
        self.assertEqual(list(self.db.nosuch.list_indexes()), [])

    def test_collections_and_databases(self):
        self.db.create_collection('ring', capped=True, size=4096, max=3)
        self.fails(48, self.db.command, 'create', 'ring')
        self.assertEqual(self.db.ring.options(), {'capped': True, 'size': 4096, 'max': 3})
        self.db.ring.insert_many([{'_id': n} for n in range(10)])
        self.assertEqual([d['_id'] for d in self.db.ring.find()], [7, 8, 9])
        self.collection([{'_id': 1}]).rename('renamed')
        self.fails(26, self.db.nosuch.rename, 'other')
        self.assertIn('renamed', self.db.list_collection_names(filter={'name': 'renamed'}))
        self.db.renamed.drop()
        self.db.drop_collection('never_there')
        self.assertEqual(self.db.command('dbstats')['ok'], 1)
        self.assertTrue(self.db.validate_collection('ring')['valid'])
        self.client.short_lived.c.insert_one({})
        self.assertIn('short_lived', self.client.list_database_names())
        self.client.drop_database('short_lived')
        self.assertNotIn('short_lived', self.client.list_database_names())
        self.assertRegex(self.client.server_info()['version'], r'^\d+\.\d+\.\d+')

    def test_write_concerns(self):
        for concern in (WriteConcern(1), WriteConcern('majority'), WriteConcern(1, j=True),
                        WriteConcern(fsync=True), WriteConcern(0)):
            self.collection().with_options(write_concern=concern).insert_one({})
        for concern in (WriteConcern(2), WriteConcern('nosuch')):
            with self.assertRaises((errors.WriteConcernError, errors.OperationFailure)):
                self.collection().with_options(write_concern=concern).insert_one({})

    def test_errors_that_programs_act_on(self):
        c = self.collection([{'_id': 1, 'text': 'a'}])
        self.fails(66, c.update_one, {'_id': 1}, {'$set': {'_id': 2}})
        self.fails(2, list, c.find({'a': {'$nosuch': 1}}))
        with self.assertRaises(errors.WriteError):
            c.update_one({'_id': 1}, {'$inc': {'text': 1}})
        with self.assertRaisesRegex(errors.WriteError, 'too large'):
            c.insert_one({'big': b'x' * (16 * 1024 * 1024 + 1)})

    def test_a_time_limit(self):
        c = self.collection([{'n': n} for n in range(50000)])
        long_filter = {'$or': [{'a%d' % n: n} for n in range(50)]}
        with self.assertRaises(errors.ExecutionTimeout):
            list(c.find(long_filter).max_time_ms(1))

    def test_tailable_cursors(self):
        c = self.db.create_collection('tail', capped=True, size=1 << 20)
        c.insert_many([{'_id': n} for n in range(3)])
        with c.find(cursor_type=pymongo.CursorType.TAILABLE) as cursor:
            self.assertEqual([d['_id'] for d in cursor], [0, 1, 2])
            self.assertTrue(cursor.alive)
            c.insert_one({'_id': 3})
            self.assertEqual([d['_id'] for d in cursor], [3])
        with c.find({'_id': {'$gt': 3}}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT) \
                .max_await_time_ms(10000) as cursor:
            self.assertRaises(StopIteration, next, cursor)  # the first batch does not wait
            later = threading.Timer(0.05, c.insert_one, [{'_id': 4}])
            later.start()
            self.assertEqual(next(cursor)['_id'], 4)
            later.join()
        self.fails(2, list, self.collection([{'_id': 1}]).find(
            cursor_type=pymongo.CursorType.TAILABLE))

    def test_retryable_writes_need_nothing_from_a_standalone(self):
        for retry in (True, False):
            with pymongo.MongoClient(case.URI, retryWrites=retry, retryReads=retry) as client:
                c = client.programs['retry_%s' % retry]
                c.insert_many([{'_id': 1}, {'_id': 2}])
                c.bulk_write([pymongo.UpdateOne({'_id': 1}, {'$set': {'a': 1}}),
                              pymongo.DeleteOne({'_id': 2})])
                self.assertEqual(c.find_one_and_update({'_id': 1}, {'$inc': {'a': 1}})['a'], 1)
                self.assertEqual(list(c.find()), [{'_id': 1, 'a': 2}])

    def test_transactions_and_change_streams_are_refused(self):
        c = self.collection([{'_id': 1}])
        with self.client.start_session() as session:
            session.start_transaction()
            self.fails(20, c.insert_one, {}, session=session)
            session.abort_transaction()
        for watch in (c.watch, self.db.watch, self.client.watch):
            with self.assertRaises(errors.OperationFailure) as caught:
                watch()
            self.assertIn('$changeStream', str(caught.exception))
        self.fails(20, self.db.command, 'insert', c.name, documents=[{'_id': 2}],
                   txnNumber=bson.Int64(1), lsid={'id': bson.Binary(b'x' * 16, 4)})
        self.assertEqual(c.count_documents({}), 1)

    def test_what_newer_servers_have_is_refused_never_ignored(self):
        c = self.collection([{'_id': 1, 'a': [1, 2]}])
        for call, arguments, options in (
                (c.update_one, ({'_id': 1}, [{'$limit': 1}]), {}),
                (c.create_index, ([('a', 'hashed')],), {'collation': {'locale': 'de'}}),
                (self.db.create_collection, ('v',), {'validator': {'$where': '1'}}),
                (self.db.create_collection, ('w',), {'viewOn': c.name,
                                                     'pipeline': [{'$out': 'x'}]}),
                (c.create_index, ('a',), {'partialFilterExpression': {'a': {'$ne': 1}}}),
                (c.find_one, ({'$where': 'true'},), {})):
            with self.subTest(arguments, **options), self.assertRaises(errors.OperationFailure):
                call(*arguments, **options)
        self.assertEqual(list(c.find()), [{'_id': 1, 'a': [1, 2]}])


if __name__ == '__main__':
    case.main(Programs)
