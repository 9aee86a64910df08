"""Tests tools/copy_databases.py and tools/restore_dump.py on real servers: what is made, sent in
several batches and built on the target, and what is named that it will not have."""

import gzip
import os

import late
import two_servers

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
            with open(os.path.join(shop, name + '.metadata.json'), 'w', encoding='utf-8') as file:
                file.write(text)
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
