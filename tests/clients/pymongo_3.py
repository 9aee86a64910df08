"""pymongo 3.13 beside a server of today's dialect: programs written for it run unchanged."""

import unittest
import warnings

import case
import pymongo
from pymongo import errors


class OldDriver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # It warns of each method that its successor lacks; these are what is tested.
        warnings.simplefilter('ignore', DeprecationWarning)
        cls.client = pymongo.MongoClient(case.URI)
        cls.db = cls.client.old_driver
        cls.addClassCleanup(cls.client.close)

    def collection(self, count=0):
        c = self.db[self.id().rsplit('.', 1)[-1]]
        if count:
            c.insert_many([{'_id': n, 'n': n % 3} for n in range(count)])
        return c

    def test_this_is_the_old_one(self):
        self.assertEqual(pymongo.version, '3.13.0')

    def test_crud_with_cursors(self):
        c = self.collection(250)
        c.create_index([('n', 1)])
        self.assertEqual(c.count_documents({}), 250)
        page = [d['_id'] for d in c.find({'n': 1}).sort('_id', -1).batch_size(10)]
        self.assertEqual(page, list(range(247, 0, -3)))
        self.assertEqual(sorted(c.distinct('n')), [0, 1, 2])
        self.assertEqual(c.update_many({'n': 2}, {'$inc': {'n': 1}}).modified_count, 83)
        self.assertEqual(c.delete_many({'n': 3}).deleted_count, 83)
        self.assertEqual(sorted(c.index_information()), ['_id_', 'n_1'])

    def test_methods_that_newer_drivers_dropped(self):
        c = self.collection()
        self.assertEqual(c.insert({'_id': 1, 'a': 1}), 1)
        self.assertEqual(c.insert([{'_id': 2}, {'_id': 3}]), [2, 3])
        self.assertEqual(c.update({'_id': 1}, {'$set': {'a': 2}})['n'], 1)
        self.assertEqual(c.save({'_id': 1, 'a': 3}), 1)
        self.assertEqual(c.find_one(1), {'_id': 1, 'a': 3})
        self.assertEqual(c.count(), 3)
        self.assertEqual(c.find().count(), 3)
        self.assertEqual(c.find({'_id': {'$gt': 1}}).skip(1).count(with_limit_and_skip=True), 1)
        self.assertEqual(c.remove({'_id': {'$in': [2, 3]}})['n'], 2)
        self.assertEqual(c.ensure_index('a'), 'a_1')
        self.assertEqual(c.reindex()['nIndexes'], 2)
        self.assertEqual(c.find_and_modify({'_id': 1}, {'$inc': {'a': 1}}, new=True)['a'], 4)
        self.assertIn('old_driver', self.client.database_names())
        self.assertIn(c.name, self.db.collection_names())
        no_right = 13 if '@' in case.URI else 115  # to eval(), which wants every one
        for refused, code in ((lambda: c.group(['a'], {}, {}, 'function() {}'), 115),
                              (lambda: c.map_reduce('f', 'g', 'out'), 115),
                              (lambda: self.db.eval('1'), no_right)):
            with self.assertRaises(errors.OperationFailure) as caught:
                refused()
            self.assertEqual(caught.exception.code, code)

    def test_unacknowledged_writes_and_last_error(self):
        with pymongo.MongoClient(case.URI, w=0, maxPoolSize=1) as single:
            c = single.old_driver.unacknowledged
            c.insert_one({'_id': 'w0'})
            c.insert_one({'_id': 'w0'})
            last = single.old_driver.command('getlasterror', j=True)
            self.assertEqual(c.find_one(), {'_id': 'w0'})
        self.assertIsNone(self.db.command('getlasterror')['err'])
        self.assertIn('n', last)

    def test_one_bulk_builder_of_old(self):
        bulk = self.collection().initialize_ordered_bulk_op()
        bulk.insert({'_id': 1})
        bulk.find({'_id': 1}).update({'$set': {'a': 1}})
        bulk.find({'_id': 2}).upsert().replace_one({'b': 1})
        bulk.find({'_id': 2}).remove_one()
        result = bulk.execute()
        self.assertEqual([result[name] for name in ('nInserted', 'nMatched', 'nModified',
                                                    'nUpserted', 'nRemoved')], [1, 1, 1, 1, 1])

    def test_administration(self):
        self.collection(3)
        self.assertFalse(self.client.is_locked)
        self.client.fsync(lock=True)
        try:
            self.assertTrue(self.client.is_locked)
        finally:
            self.client.unlock()
        asked = [each['query'] for each in self.db.current_op()['inprog']]  # a monitor's hello too
        self.assertEqual([query['currentOp'] for query in asked if 'currentOp' in query], [1])
        self.assertEqual(self.db.profiling_level(), 0)
        self.assertTrue(self.db.validate_collection(self.collection().name)['valid'])
        self.assertIsNone(self.db.error())
        self.assertIsNone(self.db.last_status()['err'])

    def test_cursors_of_every_kind(self):
        c = self.collection(300)
        self.assertEqual(len(list(c.find(cursor_type=pymongo.CursorType.EXHAUST))), 300)
        explained = c.find({'_id': {'$lt': 5}}).hint([('_id', 1)]).explain()
        self.assertIn('_id_', str(explained['queryPlanner']['winningPlan']))
        parts = c.aggregate([{'$group': {'_id': '$n', 'sum': {'$sum': 1}}}, {'$sort': {'_id': 1}}])
        self.assertEqual([d['sum'] for d in parts], [100, 100, 100])
        self.assertGreater(len(b''.join(c.find_raw_batches(batch_size=10))), 300 * 20)


if __name__ == '__main__':
    case.main(OldDriver)
