"""Starts of a server with another storage engine: what is refused by name, what lies in the data
directory, what serverStatus says.

Usage: TESTS_ENGINE=rocksdb|wiredTiger build/venv/bin/python tests/engines/starts.py [TEST...]
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

import bson
import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in
                ('site_scons', 'tests/lib', 'tests/server')]

import process_case  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

ENGINE = os.environ[server.ENGINE]
LIBRARY = 'engine_%s.so' % ENGINE.lower()
# Its options: the size of the cache, and words of the library; words that it does not know.
CACHE_SIZE, WORDS = {'rocksdb': ('--rocksdbCacheSizeGB', '--rocksdbConfigString'),
                     'wiredTiger': ('--wiredTigerCacheSizeGB', '--wiredTigerEngineConfigString'),
                     }[ENGINE]
CACHE_BYTES_MIN = {'rocksdb': 1 << 27, 'wiredTiger': 1 << 28}[ENGINE]


class Starts(process_case.ProcessCase):
    def refusal(self, *options, code=process_case.BAD_OPTIONS):
        """What a start prints that ends at once."""
        got, out, err = self.run_mongod('--dbpath', self.dbpath, '--port', '0', *options)
        self.assertEqual(got, code, out + err)
        return out + err

    def serve(self, *options):
        running = server.Server(self.program, self.dbpath, ('--nounixsocket',) + options)
        self.addCleanup(lambda: running.process.poll() is None and running.kill())
        return running

    def test_options_of_mmapv1_are_refused(self):
        for option in (['--smallfiles'], ['--nssize', '8'], ['--noprealloc'], ['--nopreallocj'],
                       ['--directoryperdb'], ['--journalOptions', '1'], ['--durOptions', '1'],
                       ['--salvage', self.path('out')]):
            text = self.refusal('--storageEngine', ENGINE, *option)
            self.assertIn('%s is an option of storage engine mmapv1, and not of %s'
                          % (option[0], ENGINE), text)
        self.assertEqual(os.listdir(self.dbpath), [])

    def test_options_of_the_engine_are_refused_by_mmapv1(self):
        for option in ([CACHE_SIZE, '1'], [WORDS, 'a=b']):
            self.assertIn('is an option of storage engine %s, and not of mmapv1' % ENGINE,
                          self.refusal(*option))

    def test_the_size_of_the_cache_has_limits(self):
        for value in ('-1', '10001', 'x'):
            self.assertIn(CACHE_SIZE[2:], self.refusal(
                '--storageEngine', ENGINE, CACHE_SIZE + '=' + value))
        for value in ('0', '10000'):
            with self.serve(CACHE_SIZE, value):
                pass

    def test_an_engine_that_is_not_installed_is_named(self):
        alone = self.path('mongod')
        shutil.copy(self.program, alone)
        self.program = alone
        text = self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
        self.assertIn('storage engine %s is not installed' % ENGINE, text)
        self.assertIn('there is no %s beside' % LIBRARY, text)
        self.assertIn("only mmapv1, rocksdb or wiredTiger",
                      self.refusal('--storageEngine', 'inMemory'))

    def test_a_library_of_another_program_is_refused(self):
        folder = self.path('bin')
        os.makedirs(folder)
        program = shutil.copy(self.program, folder)
        with open(os.path.join(folder, LIBRARY), 'wb') as file:
            file.write(b'nonsense')
        self.program = program
        self.assertIn('cannot be loaded',
                      self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT))

    def test_words_that_the_library_does_not_know(self):
        text = self.refusal('--storageEngine', ENGINE, WORDS, 'nonsense=1',
                            code=process_case.UNCAUGHT)
        self.assertIn('nonsense', text)

    def test_directories_stay_with_their_engine(self):
        with self.serve() as running:
            pymongo.MongoClient(running.uri).test.c.insert_one({'_id': 1})
        self.assertEqual(sorted(os.listdir(self.dbpath)),
                         sorted(['mongod.lock', ENGINE, 'storage.bson']))
        text = self.refusal('--storageEngine', 'mmapv1', code=process_case.UNCAUGHT)
        self.assertIn("written by storage engine '%s', not by mmapv1" % ENGINE, text)
        with self.serve() as running:
            self.assertEqual(pymongo.MongoClient(running.uri).test.c.count_documents({}), 1)

    def test_data_files_of_mmapv1_are_refused(self):
        for per_db in ([], ['--directoryperdb']):
            self.dbpath = self.path('db%d' % len(per_db))
            with self.serve('--storageEngine', 'mmapv1', *per_db) as running:
                pymongo.MongoClient(running.uri).test.c.insert_one({'_id': 1})
            before = sorted(os.listdir(self.dbpath))
            text = self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
            self.assertIn('holds data files of storage engine mmapv1', text)
            self.assertEqual(sorted(os.listdir(self.dbpath)), before)

    def test_a_directory_of_another_program_is_refused(self):
        with open(os.path.join(self.dbpath, 'storage.bson'), 'wb') as file:
            file.write(bson.encode({'storage': {'engine': ENGINE, 'options': {}}}))
        text = self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
        self.assertIn('another program', text)

    def test_a_directory_that_is_not_mounted_is_named(self):
        with self.serve():
            pass
        folder = os.path.join(self.dbpath, ENGINE)
        os.rename(folder, self.path('elsewhere'))
        for point in (False, True):
            if point:
                os.mkdir(folder)
            for repair in ([], ['--repair']):
                text = self.refusal('--storageEngine', ENGINE, *repair, code=process_case.UNCAUGHT)
                self.assertIn('is it to be mounted?', text)
        self.assertEqual(os.listdir(folder), [])

    def test_a_second_server_is_refused(self):
        with self.serve():
            text = self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
            self.assertIn('Unable to lock file', text)

    def test_what_the_server_says_of_its_engine(self):
        with self.serve(CACHE_SIZE, '0.125') as running:
            client = pymongo.MongoClient(running.uri)
            docs = client.test.c
            docs.insert_many({'_id': number, 'pad': 'x' * 1000} for number in range(1000))
            docs.create_index('pad')
            client.admin.command('fsync')
            status = client.admin.command('serverStatus')
            self.assertEqual(status['storageEngine']['name'], ENGINE)
            self.assertEqual(status[ENGINE]['cacheCapacityBytes'], CACHE_BYTES_MIN)
            self.assertGreater(status[ENGINE]['fileBytes'], 0)
            self.assertGreater(status['dur']['syncs'], 0)
            stats = client.test.command('collStats', 'c')
            self.assertEqual([stats['count'], stats['numExtents']], [1000, 0])
            self.assertGreater(stats['size'], 1000000)
            self.assertLess(stats['storageSize'], stats['size'] / 2)
            self.assertGreater(stats['totalIndexSize'], 0)
            self.assertTrue(client.test.command('validate', 'c', full=True)['valid'])
            with self.assertRaises(pymongo.errors.OperationFailure):
                client.admin.command('journalLatencyTest')

    def test_old_clients_find_the_catalogue(self):
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            db.c.insert_one({'_id': 1})
            db.c.create_index('a')
            self.assertEqual(sorted(each['name'] for each in db['system.namespaces'].find()),
                             ['test.c', 'test.c.$_id_', 'test.c.$a_1', 'test.system.indexes'])
            self.assertEqual([each['name'] for each in db['system.indexes'].find({'ns': 'test.c'})
                              .sort('name')], ['_id_', 'a_1'])
            db.c.drop()
            self.assertEqual([each['name'] for each in db['system.namespaces'].find()],
                             ['test.system.indexes'])

    def test_without_a_journal_a_checkpoint_survives(self):
        running = self.serve('--nojournal')
        client = pymongo.MongoClient(running.uri)
        client.test.c.insert_one({'_id': 1})
        client.admin.command('fsync')
        running.kill()
        with self.serve() as again:
            self.assertEqual(pymongo.MongoClient(again.uri).test.c.count_documents({}), 1)

    def test_repair_keeps_what_a_kill_has_left_in_the_log(self):
        running = self.serve()
        journaled = pymongo.WriteConcern(j=True)
        client = pymongo.MongoClient(running.uri)
        docs = client.test.get_collection('c', write_concern=journaled)
        docs.insert_one({'_id': 1})
        client.admin.command('fsync')
        docs.insert_one({'_id': 2})
        running.kill()
        code, out, err = self.run_mongod('--storageEngine', ENGINE, '--dbpath', self.dbpath,
                                         '--port', '0', '--repair')
        self.assertEqual(code, 0, out + err)
        running = self.serve()
        docs = pymongo.MongoClient(running.uri).test.get_collection('c', write_concern=journaled)
        docs.insert_one({'_id': 3})
        running.kill()
        with self.serve() as again:
            self.assertEqual(pymongo.MongoClient(again.uri).test.c.count_documents({}), 3)

    def test_repair(self):
        with self.serve() as running:
            docs = pymongo.MongoClient(running.uri).test.c
            docs.insert_many({'_id': number, 'a': number} for number in range(100))
            docs.create_index('a')
        code, out, err = self.run_mongod('--storageEngine', ENGINE, '--dbpath', self.dbpath,
                                         '--port', '0', '--repair')
        self.assertEqual(code, 0, out + err)
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            self.assertEqual(db.c.count_documents({'a': {'$gte': 0}}), 100)
            self.assertTrue(db.command('validate', 'c', full=True)['valid'])

    @unittest.skipUnless(ENGINE == 'wiredTiger', 'it has a file for each collection and index')
    def test_files_that_are_missing_are_named(self):
        with self.serve() as running:
            docs = pymongo.MongoClient(running.uri).test.c
            docs.insert_many({'_id': number, 'a': number} for number in range(100))
            docs.create_index('a')
        folder = os.path.join(self.dbpath, ENGINE)
        text = ''
        for name in sorted(os.listdir(folder)):
            if re.fullmatch(r't\d+\.wt', name):
                os.rename(os.path.join(folder, name), self.path('aside'))
                text += self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
                os.rename(self.path('aside'), os.path.join(folder, name))
        for what in ('the catalogue of all collections', 'the counts of documents',
                     'the documents of test.c', 'index a_1 of test.c'):
            self.assertIn('%s, ' % what, text)
        os.remove(os.path.join(folder, 't0.wt'))
        self.assertIn('bring back a backup', self.refusal('--storageEngine', ENGINE, '--repair',
                                                       code=process_case.UNCAUGHT))

    @unittest.skipUnless(ENGINE == 'wiredTiger', 'it has a file for each collection and index')
    def test_repair_makes_a_lost_index_anew(self):
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            db.c.insert_many({'_id': number, 'a': number} for number in range(100))
            folder = os.path.join(self.dbpath, ENGINE)
            before = set(os.listdir(folder))
            db.c.create_index('a')
            made = [name for name in set(os.listdir(folder)) - before if name.endswith('.wt')]
        self.assertEqual(len(made), 1)
        os.remove(os.path.join(folder, made[0]))
        code, out, err = self.run_mongod('--storageEngine', ENGINE, '--dbpath', self.dbpath,
                                         '--port', '0', '--repair')
        self.assertEqual(code, 0, out + err)
        self.assertIn('index a_1 of test.c, is missing: it is made anew', out + err)
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            self.assertEqual(len(list(db.c.find({'a': {'$gte': 0}}).hint('a_1'))), 100)
            self.assertTrue(db.command('validate', 'c', full=True)['valid'])

    @unittest.skipIf(ENGINE != 'rocksdb', 'its checksums let the rest be read')
    def test_what_can_be_read_beside_damage_is_copied(self):
        with self.serve() as running:
            client = pymongo.MongoClient(running.uri)
            for name in ('a', 'b', 'c'):
                client.test[name].insert_many({'_id': number, 'pad': os.urandom(400)}
                                              for number in range(2000))
        folder = os.path.join(self.dbpath, ENGINE)
        path = max((os.path.join(folder, name) for name in os.listdir(folder)
                    if name.endswith('.sst')), key=os.path.getsize)
        with open(path, 'r+b') as file:
            file.seek(os.path.getsize(path) // 2)
            file.write(b'damage')
        code, out, err = self.run_mongod('--storageEngine', ENGINE, '--dbpath', self.dbpath,
                                         '--port', '0', '--repair')
        self.assertEqual(code, process_case.UNCAUGHT, out + err)
        self.assertIn('Corruption', out + err)
        self.assertIn('could not be repaired and were left as they are', out + err)
        running = self.serve()  # it cannot end well
        with server.Server(self.program, self.path('new')) as new:
            copy = subprocess.run([sys.executable, os.path.join(TOP, 'tools/copy_databases.py'),
                                   running.uri, new.uri], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(copy.returncode, 1, copy.stdout)
            self.assertRegex(copy.stdout, r'NOT COPIED  test\.[abc]: not all of it: .*Corruption')
            self.assertIn('1 things were not copied', copy.stdout)
            self.assertEqual(copy.stdout.count('2000 documents, 1 indexes, the same on both'), 2)

    @unittest.skipUnless(ENGINE == 'wiredTiger', 'it has a file for each collection and index')
    def test_damaged_files_are_named_and_repaired(self):
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            db.c.create_index('a')
            db.c.insert_many({'_id': number, 'a': number, 'pad': os.urandom(1000)}
                             for number in range(3000))
        folder = os.path.join(self.dbpath, ENGINE)
        path = max((os.path.join(folder, name) for name in os.listdir(folder)
                    if re.fullmatch(r't\d+\.wt', name)), key=os.path.getsize)
        with open(path, 'r+b') as file:
            file.write(b'damage')
            file.seek(os.path.getsize(path) // 2)
            file.write(b'damage')
        text = self.refusal('--storageEngine', ENGINE, code=process_case.UNCAUGHT)
        self.assertIn('the documents of test.c, cannot be opened', text)
        self.assertIn('--repair keeps what can be read of it', text)
        code, out, err = self.run_mongod('--storageEngine', ENGINE, '--dbpath', self.dbpath,
                                         '--port', '0', '--repair')
        self.assertEqual(code, 0, out + err)
        with self.serve() as running:
            db = pymongo.MongoClient(running.uri).test
            left = len(list(db.c.find()))
            self.assertTrue(2500 < left < 3000, left)
            self.assertEqual(db.c.count_documents({'a': {'$gte': 0}}, hint='a_1'), left)
            self.assertTrue(db.command('validate', 'c', full=True)['valid'])
        with open(os.path.join(folder, 't0.wt'), 'r+b') as file:
            file.write(b'damage')
        for repair in ([], ['--repair']):
            text = self.refusal('--storageEngine', ENGINE, *repair, code=process_case.UNCAUGHT)
            self.assertIn('the catalogue, cannot be opened; bring back a backup', text)

    def test_a_directory_of_the_version_that_counted_entries(self):
        """tests/fixtures/README.md says what is in it."""
        fixture = os.path.join(TOP, 'tests', 'fixtures', 'counts-entries-%s.tar.xz' % ENGINE)
        subprocess.run(['tar', '-xJf', fixture, '--strip-components=1', '-C', self.dbpath],
                       check=True)
        count = 180
        for _ in range(2):
            with self.serve() as running:
                orders = pymongo.MongoClient(running.uri).shop.orders
                self.assertEqual(orders.estimated_document_count(), count)
                self.assertEqual(orders.count_documents({}), count)
                self.assertEqual(orders.count_documents({'tags': 'new'}), count - 100)
                self.assertTrue(orders.database.command('validate', 'orders', full=True)['valid'])
                orders.insert_many([{'_id': 1000 + i, 'n': -i, 'tags': [i]} for i in range(9)])
                with self.assertRaises(pymongo.errors.DuplicateKeyError):
                    orders.insert_one({'_id': 2000, 'n': 3 * 199})
                self.assertEqual(orders.delete_one({'tags': 'new'}).deleted_count, 1)
                self.assertTrue(orders.database.command('validate', 'orders', full=True)['valid'])
                orders.delete_many({'_id': {'$gte': 1000}})
                orders.drop_index('tags_1')
                orders.create_index('tags')
            count -= 1

    def test_fsync_with_lock(self):
        with self.serve() as running:
            client = pymongo.MongoClient(running.uri)
            client.test.c.insert_one({'_id': 1})
            client.admin.command('fsync', lock=True)
            folder = os.path.join(self.dbpath, ENGINE)
            copied = self.path('copy')
            shutil.copytree(self.dbpath, copied)
            self.assertTrue(os.listdir(folder))
            client.admin.command('fsyncUnlock')
            client.test.c.insert_one({'_id': 2})
        os.truncate(os.path.join(copied, 'mongod.lock'), 0)
        self.dbpath = copied
        with self.serve() as again:
            self.assertEqual(pymongo.MongoClient(again.uri).test.c.count_documents({}), 1)


def main():
    stage = server.build('none', '', ['mongod'])
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    process_case.ProcessCase.program = os.path.join(stage, 'bin', 'mongod')
    names = sys.argv[1:] or unittest.defaultTestLoader.getTestCaseNames(Starts)
    tally = totals.Totals()
    tally.run('starts', unittest.TestSuite(map(Starts, names)), verbosity=1)
    tally.close()


if __name__ == '__main__':
    main()
