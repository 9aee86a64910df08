"""Tests tools/copy_databases.py and tools/restore_dump.py on real servers: what is made, sent in
several batches and built on the target, and what is named that it will not have; and what the words
of ./lab check, salvage, restore and copy become."""

import gzip
import os
import pathlib
from unittest import mock

import late
import two_servers
from bare import Bare
from lab import base

bson = late.Module('bson')

DOCUMENTS = 2500  # more than two batches


class IntoServer(two_servers.TwoServers):
    """Tests read the source; the target is empty at the start of each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source.shop.orders.insert_many({'_id': number, 'when': number % 7}
                                           for number in range(DOCUMENTS))
        cls.source.shop.orders.create_index([('when', -1)], name='by day')
        cls.source.shop.create_collection('ring', capped=True, size=8192, max=5)
        cls.source.shop.ring.insert_many({'_id': number} for number in range(9))
        cls.source.shop.create_collection('late', viewOn='orders',
                                          pipeline=[{'$match': {'when': 6}}])
        cls.source.shop.create_collection('checked', validator={'a': {'$gt': 0}})
        cls.source.shop.get_collection('checked').insert_many(
            [{'_id': 1, 'a': 1}, {'_id': 2, 'a': 0}], bypass_document_validation=True)

    def assert_arrived(self):
        self.assertEqual(list(self.target.shop.orders.find()), list(self.source.shop.orders.find()))
        self.assertEqual(self.target.shop.orders.index_information(),
                         self.source.shop.orders.index_information())
        self.assertEqual([each['_id'] for each in self.target.shop.ring.find()], [4, 5, 6, 7, 8])
        self.assertEqual(self.target.shop.ring.options()['max'], 5)
        self.assertEqual(self.target.shop.late.count_documents({}), DOCUMENTS // 7)
        self.assertEqual(self.target.shop.late.options(),
                         {'viewOn': 'orders', 'pipeline': [{'$match': {'when': 6}}]})
        self.assertEqual(self.target.shop.checked.count_documents({}), 2)
        self.assertEqual(self.target.shop.checked.options(), {'validator': {'a': {'$gt': 0}}})

    def test_a_copy(self):
        self.copied(0, 'shop.orders: %d documents, 2 indexes, the same on both' % DOCUMENTS)
        self.assert_arrived()
        self.copied(1, '  NOT COPIED  shop.orders: it has documents on the target already',
                    'copy_databases.py: 4 things were not copied, or not as they are')

    def dump(self, damage=b''):
        place = os.path.join(self.folder, 'dump', 'shop')
        os.makedirs(place)
        for name in ('orders', 'ring', 'checked', 'system.views'):
            collection = self.source.shop[name]
            with open(os.path.join(place, name + '.bson'), 'wb') as file:
                file.write(b''.join(map(bson.encode, collection.find())) + damage)
            with open(os.path.join(place, name + '.metadata.json'), 'w', encoding='utf-8') as file:
                file.write(bson.json_util.dumps({'options': collection.options(),
                                                 'indexes': list(collection.list_indexes())}))
        return os.path.dirname(place)

    def test_a_dump(self):
        self.restored(0, self.dump(), 'shop.orders: %d documents, 2 indexes' % DOCUMENTS)
        self.assert_arrived()

    def test_a_dump_that_is_compressed(self):
        place = self.dump()
        for name in os.listdir(os.path.join(place, 'shop')):
            path = os.path.join(place, 'shop', name)
            with open(path, 'rb') as file, gzip.open(path + '.gz', 'wb') as packed:
                packed.write(file.read())
            os.remove(path)
        self.restored(0, place, 'shop.orders: %d documents, 2 indexes' % DOCUMENTS)
        self.assert_arrived()
        with open(os.path.join(place, 'shop', 'orders.bson.gz'), 'r+b') as file:
            file.truncate(1000)
        self.target.drop_database('shop')
        self.restored(1, place, '  NOT RESTORED  shop.orders: ')
        self.assertEqual(self.target.shop.ring.count_documents({}), 5)

    def test_a_folder_without_a_dump(self):
        place = self.dump()
        for wrong in (self.folder, os.path.join(place, 'shop'), place + '/nosuch'):
            self.restored(1, wrong, wrong)
        self.assertEqual(self.target.list_database_names(), ['admin', 'local'])

    def test_an_option_that_the_target_will_not_have(self):
        place = self.dump()
        path = os.path.join(place, 'shop', 'orders.metadata.json')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('{"options": {"create": "orders", "flags": 1, "noSuchOption": 1}}')
        self.restored(1, place, '  NOT RESTORED  shop.orders, options: made without noSuchOption')
        self.assertEqual(self.target.shop.orders.count_documents({}), DOCUMENTS)

    def test_views_and_roles_of_a_dump_and_what_it_lacks(self):
        place = self.dump()
        os.mkdir(os.path.join(place, 'admin'))
        with open(os.path.join(place, 'admin', 'system.roles.bson'), 'wb') as file:
            file.write(b''.join(bson.encode({'db': 'shop', 'privileges': [], **role}) for role in (
                {'role': 'a', 'roles': [{'role': 'b', 'db': 'shop'}]}, {'role': 'b', 'roles': []},
                {'role': 'c', 'privileges': 5, 'roles': []})))
        shop = os.path.join(place, 'shop')
        with open(os.path.join(shop, 'system.views.bson'), 'wb') as file:
            file.write(b''.join(map(bson.encode, (
                {'_id': 'shop.late', 'viewOn': 'orders', 'pipeline': []}, {'_id': 7},
                {'_id': 'shop.odd'}))))
        for name, text in (('seen', '{"options": {"viewOn": "orders", "pipeline": []}}'),
                           ('lost', '{"options": {}}')):  # a view has no documents of its own
            pathlib.Path(os.path.join(shop, name + '.metadata.json')).write_text(text, 'utf-8')
        said = self.restored(1, place, 'NOT RESTORED  shop.lost: there is no lost.bson',
                             'restore_dump.py: 4 things were not restored')
        self.assertEqual(said.count('NOT RESTORED  shop.system.views: a view'), 2, said)
        self.assertEqual(said.count('NOT RESTORED  admin.system.roles: a role: '), 1, said)
        self.assertTrue(self.target.shop.command('rolesInfo', 'a')['roles'][0]['roles'])
        for name in ('late', 'seen'):
            self.assertIn('shop.%s: a view of orders\n' % name, said)
            self.assertEqual(self.target.shop[name].count_documents({}), DOCUMENTS)

    def test_a_dump_that_is_cut(self):
        self.restored(1, self.dump(b'\x20\0\0\0\x10'),
                      '  NOT RESTORED  shop.orders: the file ends within a document',
                      'restore_dump.py: 4 things were not restored, or not wholly')
        self.assert_arrived()

    def test_what_the_target_will_not_have_is_named(self):
        place = self.dump()
        path = os.path.join(place, 'shop', 'orders')
        with open(path + '.bson', 'ab') as file:
            file.write(bson.encode({'_id': 1}))
        with open(path + '.metadata.json', 'w', encoding='utf-8') as file:
            file.write('{"indexes": [{"key": {"x": "no such kind"}, "name": "odd"}]}')
        self.restored(1, place, '  NOT RESTORED  shop.orders: a document: ',
                      '  NOT RESTORED  shop.orders, index odd: ')
        self.assertEqual(self.target.shop.orders.count_documents({}), DOCUMENTS)


class OldData(Bare):
    def setUp(self):
        super().setUp()
        self.python = os.path.join(self.folder, 'python')
        self.mongod = os.path.join(self.folder, 'mongod')
        self.plain, self.folders = (os.path.join(self.folder, name) for name in 'pf')
        os.makedirs(self.plain)
        os.makedirs(os.path.join(self.folders, 'shop'))
        for path in (os.path.join(self.plain, 'shop.ns'),
                     os.path.join(self.folders, 'shop', 'shop.ns')):
            with open(path, 'w', encoding='ascii'):
                pass
        for patch in (mock.patch('lab.needs.compiler'), mock.patch('lab.needs.begin'),
                      mock.patch('lab.install.drivers'), mock.patch('lab.selections.build'),
                      mock.patch('lab.selections.program', lambda _, name: '/bin of/' + name),
                      mock.patch.object(base, 'DRIVER_PYTHON', self.python)):
            patch.start()
            self.addCleanup(patch.stop)

    def became(self, *words):
        code, said = self.lab(*words)
        self.assertEqual(code, 0, said)
        return said.split('became ')[1].strip()

    def test_check_and_salvage(self):
        self.assertEqual(self.became('check', self.plain, '--quiet'),
                         '/bin of/dbpath_check %s --quiet' % self.plain)
        self.assertEqual(self.became('salvage', self.plain, 'out'),
                         '/bin of/mongod --dbpath %s --salvage out' % self.plain)

    def test_a_folder_for_each_database_is_noticed(self):
        self.assertEqual(self.became('check', self.folders),
                         '/bin of/dbpath_check %s --directoryperdb' % self.folders)
        for words in ((), ('--directoryperdb',)):
            self.assertEqual(self.became('salvage', self.folders, 'out', *words),
                             '/bin of/mongod --dbpath %s --salvage out --directoryperdb'
                             % self.folders)

    def test_what_is_missing_is_said(self):
        for words, code, text in ((('salvage', '/nowhere', 'out'), 1, 'no directory'),
                                  (('check', '/nowhere'), 1, 'no directory'),
                                  (('salvage', self.plain), 2, 'a new one for what can be read'),
                                  (('check',), 2, './lab check DIR'),
                                  (('restore',), 2, './lab restore'),
                                  (('restore', '/nowhere'), 1, "no folder '/nowhere'"),
                                  (('restore', self.plain, 'b'), 1, "'b' is no address"),
                                  (('restore', '--nosuch', self.plain), 1, '--database'),
                                  (('restore', '--to', '1:1', self.plain, 'new'), 2, '--log LOG'),
                                  (('restore', '--to', '1:1', '--log', '/nowhere', self.plain,
                                    'new'), 1, "no directory '/nowhere'"),
                                  (('restore', '--to', '1:1', '--log', self.plain, self.plain,
                                    self.folders), 1, 'is to be a new directory'),
                                  (('backup',), 2, './lab backup'),
                                  (('backup', 'here', 'b'), 1, "'here' is no address"),
                                  (('copy', 'a', 'mongodb://b'), 1, "no directory 'a'"),
                                  (('copy', 'mongodb://a', 'b'), 1, "'b' is no address"),
                                  (('copy',), 2, './lab copy'),
                                  (('copy', self.plain), 2, 'required: TO'),
                                  (('copy', '/nowhere', 'mongodb://b'), 1, 'no directory'),
                                  (('copy', self.folder, 'mongodb://b'), 1, 'no database'),
                                  (('copy', 'mongodb://a', self.plain), 1, 'a directory; '),
                                  (('copy', '--nosuch', 'a', 'b'), 1, '--database')):
            got, said = self.lab(*words)
            self.assertEqual((got, text in said), (code, True), said)

    def test_files_of_another_engine_are_refused_by_its_name(self):
        with open(os.path.join(self.plain, 'storage.bson'), 'wb') as file:
            file.write(b'\x33\0\0\0\x03storage\0\x26\0\0\0\x02engine\0\x08\0\0\0rocksdb\0'
                       b'\x03options\0\5\0\0\0\0\0\0')
        for words in (('check', self.plain), ('salvage', self.plain, 'out'),
                      ('copy', self.plain, 'mongodb://b')):
            code, said = self.lab(*words)
            self.assertEqual(code, 1, said)
            self.assertIn('--storageEngine rocksdb', said)

    def test_restore_and_copy_of_servers(self):
        self.assertRegex(self.became('backup', 'mongodb://a', 'b'),
                         '^%s .*/backup.py copy mongodb://a /.*/b$' % self.python)
        self.assertRegex(self.became('restore', self.plain), '^%s .*restore_dump.py %s$'
                         % (self.python, self.plain))
        self.assertRegex(self.became('copy', 'mongodb://a', 'mongodb://b'),
                         '^%s .*copy_databases.py mongodb://a mongodb://b$' % self.python)

    def copy(self, mongod, *words):
        with mock.patch('lab.selections.program', return_value=self.mongod):
            self.script(self.mongod, mongod)
            return self.lab('copy', *words)

    def test_a_directory_is_served_while_it_is_copied(self):
        notes = '#!/bin/sh\necho "${0##*/} $*" >> "$NOTES"\nexit %d\n'
        self.script(self.python, notes % 3)
        code, said = self.copy(notes % 0, '--database', 'shop', self.folders, 'mongodb://b')
        self.assertEqual(code, 3, said)
        started, copied, ended = self.noted().splitlines()
        self.assertRegex(started, '^mongod --directoryperdb --dbpath %s --port [0-9]+ .*--fork '
                         % self.folders)
        # Documents that have expired are there to be copied.
        self.assertIn('--setParameter ttlMonitorEnabled=false', started)
        port = started.split()[5]
        self.assertRegex(copied, '^python .*copy_databases.py --database shop '
                         'mongodb://127.0.0.1:%s mongodb://b$' % port)
        self.assertEqual(ended, 'mongod --dbpath %s --shutdown' % self.folders)

    def test_a_directory_that_no_server_takes(self):
        code, said = self.copy('#!/bin/sh\nwhile [ "$1" != --logpath ]; do shift; done\n'
                               'echo "[x] ERROR: it is damaged" > "$2"\nexit 100\n',
                               self.plain, 'mongodb://b')
        self.assertEqual(code, 1)
        self.assertIn('no server starts on %s:\n[x] ERROR: it is damaged' % self.plain, said)
