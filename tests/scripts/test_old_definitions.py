"""Tests tools/copy_databases.py and tools/restore_dump.py with definitions as old servers, shells
and programs have left them: each kind arrives as it is, or is named and the rest goes on."""

import contextlib
import gzip
import io
import json
import lzma
import os
import subprocess
import tarfile

import late
import messages
import server
import two_servers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pymongo = late.Module('pymongo')
bson = late.Module('bson')
raw_bson = late.Module('bson.raw_bson')
json_util = late.Module('bson.json_util')

FIXTURE = os.path.join(TOP, 'tests', 'fixtures', 'mmapv1-2.6-%s')
SAME = 'the same on both'


class OldDefinitions(two_servers.TwoServers):
    """`source` and `target` are servers, empty at the start of each test."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.source.drop_database, 'shop')

    def by_old_shell(self, collection, *indexes):
        """As a driver of then would have them made: any option is stored."""
        messages.ask_by_query(self.from_server.port, 'shop',
                              {'createIndexes': collection, 'indexes': list(indexes)})

    @staticmethod
    def definitions(client, collection):
        """{name: definition}, as bytes."""
        options = client.codec_options.with_options(document_class=raw_bson.RawBSONDocument)
        reply = client.shop.command('listIndexes', collection, codec_options=options)
        return {each['name']: each.raw for each in reply['cursor']['firstBatch']}

    def index(self, collection, name):
        return bson.decode(self.definitions(self.target, collection)[name])

    # Copies.

    def test_numbers_of_keys_keep_their_types(self):
        self.source.shop.c.insert_many({'_id': number, 'a': number} for number in range(10))
        self.by_old_shell(
            'c', {'key': {'a': 1.0}, 'name': 'a_1'}, {'key': {'b': -1.0, 'c': 1}, 'name': 'b_-1'},
            {'key': {'d': bson.Int64(1)}, 'name': 'd_1', 'unique': 1.0, 'sparse': True},
            {'key': {'e': 2.5, 'f': -7}, 'name': 'e_2.5', 'background': True},
            {'key': {'g': 'hashed'}, 'name': 'g_hashed'},
            {'key': {'t': 1.0}, 'name': 't', 'expireAfterSeconds': 3600.0})
        self.assertEqual(self.copied(0), 'shop.c: 10 documents, 7 indexes, %s\n' % SAME)
        self.assertEqual(self.definitions(self.target, 'c'), self.definitions(self.source, 'c'))

    def test_options_that_no_server_knows_are_named_and_the_index_is_made(self):
        self.source.shop.c.insert_one({'_id': 1})
        self.by_old_shell('c', {'key': {'a': 1.0}, 'name': 'a', 'safe': None, 'w': 1},
                          {'key': {'b': 1.0}, 'name': 'b', 'unique': True, 'j': True},
                          {'key': {'c': 1.0}, 'name': 'c'})
        self.assertNotIn(SAME, self.copied(
            1, '  NOT COPIED  shop.c, index a: made without safe, w, since the target says',
            '  NOT COPIED  shop.c, index b: made without j, since',
            'shop.c: 1 documents, 4 indexes, not all as they were: see above',
            'copy_databases.py: 2 things were not copied, or not as they are'))
        self.assertEqual(self.index('c', 'a'), {'v': 2, 'key': {'a': 1.0}, 'name': 'a'})
        self.assertTrue(self.index('c', 'b')['unique'])

    def test_directions_that_servers_of_today_refuse(self):
        self.source.shop.c.insert_one({'_id': 1})
        self.by_old_shell('c', {'key': {'a': True, 'b': -1.0}, 'name': 'a'},
                          {'key': {'c': ''}, 'name': 'c'}, {'key': {'d': 0.0}, 'name': 'd'},
                          {'key': {'e': None}, 'name': 'e'})
        self.copied(1, "  NOT COPIED  shop.c, index a: made key: {'a': 1, 'b': -1.0}, since",
                    *("  NOT COPIED  shop.c, index %s: made key: {'%s': 1}, since" % (name, name)
                      for name in 'cde'))
        self.assertEqual(len(self.definitions(self.target, 'c')), 5)
        self.assertEqual(self.index('c', 'a')['key'], {'a': 1, 'b': -1.0})

    def test_an_expiry_that_never_was_one(self):
        self.source.shop.c.insert_one({'_id': 1})
        self.by_old_shell('c', {'key': {'a': 1, 'b': 1}, 'name': 'ab', 'expireAfterSeconds': 5},
                          {'key': {'t': 1}, 'name': 't', 'expireAfterSeconds': 1e12})
        self.copied(1, *('  NOT COPIED  shop.c, index %s: made without expireAfterSeconds' % name
                         for name in ('ab', 't')))
        for name in ('ab', 't'):
            self.assertNotIn('expireAfterSeconds', self.index('c', name))

    def test_flags_that_are_no_booleans(self):
        self.source.shop.c.insert_many([{'_id': 1, 'a': 1}, {'_id': 2}, {'_id': 3}])
        self.by_old_shell('c', {'key': {'a': 1}, 'name': 'a', 'unique': 'yes', 'sparse': 'true'})
        self.copied(0)
        self.assertTrue(self.index('c', 'a')['unique'])
        self.assertTrue(self.index('c', 'a')['sparse'])

    def test_the_simple_collation_in_a_collection_with_another(self):
        self.source.shop.create_collection('c', collation={'locale': 'en', 'strength': 2})
        self.source.shop.c.create_index('a', name='inherited')
        self.source.shop.c.create_index('a', name='own', collation={'locale': 'de'})
        self.source.shop.c.create_index('a', name='simple', unique=True,
                                        collation={'locale': 'simple'})
        self.source.shop.c.insert_many([{'_id': 1, 'a': 'x'}, {'_id': 2, 'a': 'X'}])
        self.assertEqual(self.copied(0), 'shop.c: 2 documents, 4 indexes, %s\n' % SAME)
        self.assertEqual(self.definitions(self.target, 'c'), self.definitions(self.source, 'c'))
        with self.assertRaises(pymongo.errors.DuplicateKeyError):
            self.target.shop.c.insert_one({'a': 'x'})
        self.target.shop.c.insert_one({'_id': 'b', 'a': 'xX'})

    def test_stored_functions_are_data(self):
        self.source.shop['system.js'].insert_one({'_id': 'f', 'value': bson.Code('return 1')})
        self.assertEqual(self.copied(0), 'shop.system.js: 1 documents, 1 indexes, %s\n' % SAME)
        self.assertEqual(self.target.shop['system.js'].count_documents({}), 1)
        self.target.drop_database('shop')
        said = self.restore(0, {'system.js.bson': list(self.source.shop['system.js'].find()),
                                'system.users.bson': [{'_id': 1}]})
        self.assertEqual(said, 'shop.system.js: 1 documents, 1 indexes, as in the dump\n')

    def test_a_database_that_is_not_there(self):
        self.copied(1, '  NOT COPIED  nosuch: there is no such database',
                    '  NOT COPIED  local: it is of the server itself',
                    words=('--database', 'nosuch', '--database', 'local'))

    def test_what_the_target_has_otherwise_is_named(self):
        self.source.shop.create_collection('c', validator={'a': {'$gt': 0}})
        self.source.shop.c.create_index('a')
        self.target.shop.create_collection('c')
        self.target.shop.c.create_index('b')
        self.target.shop.create_collection('d')
        self.source.shop.d.insert_one({'_id': 1})
        self.target.shop.d.create_index('b')
        self.assertNotIn(SAME, self.copied(
            1, '  NOT COPIED  shop.c, options: the target has another validator',
            '  NOT COPIED  shop.d, index b_1: only the target has it'))

    def test_a_source_that_changes(self):
        import copy_databases

        class Disturbed(copy_databases.Copy):
            def documents(self, database, name):
                yield from super().documents(database, name)
                self.source.shop[name].insert_one({})
                self.source.shop.late.insert_one({})
        self.source.shop.c.insert_many([{'_id': 1}, {'_id': 2}])
        copy = Disturbed(self.source, self.target)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            copy.databases(['shop'])
        self.assertNotIn(SAME, said.getvalue())
        self.assertEqual(copy.complaints, {
            ('shop.c', ''): ['the source had 2 documents and has 3: something writes to it'],
            ('shop.late', ''): ['it came while the others were copied']})

    # Dumps.

    def dump(self, files):
        place = os.path.join(self.folder, 'dump', 'shop')
        os.makedirs(place, exist_ok=True)
        for name, content in files.items():
            if isinstance(content, list):
                content = b''.join(map(bson.encode, content))
            elif isinstance(content, str):
                content = content.encode()
            with (gzip.open if name.endswith('.gz') else open)(
                    os.path.join(place, name), 'wb') as file:
                file.write(content)
        return os.path.dirname(place)

    def restore(self, code, files, *parts):
        return self.restored(code, self.dump(files), *parts)

    def test_metadata_in_each_dialect(self):
        dialects = {
            'canonical': '{"options": {"capped": true, "size": {"$numberInt": "8192"}}, "indexes": '
                         '[{"v": {"$numberInt": "2"}, "key": {"a": {"$numberDouble": "1.0"}}, '
                         '"name": "a", "partialFilterExpression": '
                         '{"a": {"$gt": {"$numberLong": "60"}}}}]}',
            'relaxed': '\ufeff{"options": {"capped": true, "size": 8192}, "indexes": '
                       '[{"v": 2, "key": {"a": 1.0}, "name": "a", '
                       '"partialFilterExpression": {"a": {"$gt": 60}}}]}',
            'strict': '{ "options" : { "create" : "c", "capped" : true, "size" : 8192 }, "indexes" '
                      ': [ { "v" : 1, "key" : { "a" : 1.0 }, "ns" : "old.strict", "name" : "a", '
                      '"partialFilterExpression" : { "a" : { "$gt" : { "$numberLong" : "60" } } } '
                      '} ] }',
            'shell': "{ options: { capped: true, size: NumberInt(8192) }, indexes: [ { v: "
                     "NumberInt(1), key: { a: 1.0 }, ns: 'shop.shell', name: 'a', "
                     "partialFilterExpression: { a: { $gt: NumberLong(\"60\") } } } ] }"}
        self.restore(0, {name: content for dialect, text in dialects.items()
                         for name, content in ((dialect + '.bson', [{'_id': 1}]),
                                               (dialect + '.metadata.json', text))},
                     *('shop.%s: 1 documents, 2 indexes, as in the dump' % each
                       for each in dialects))
        for dialect in dialects:
            index = self.index(dialect, 'a')
            self.assertIsInstance(index['key']['a'], float)
            self.assertEqual(index['partialFilterExpression'], {'a': {'$gt': 60}})
            self.assertEqual(self.target.shop[dialect].options()['size'], 8192)

    def test_values_of_a_filter_in_the_forms_of_a_shell(self):
        text = ('{indexes: [{key: {a: NumberInt(-1)}, name: "NumberInt(1), \\"/x/\\"", '
                'partialFilterExpression: {a: {$gt: ISODate("2014-01-02T03:04:05.006Z")}, '
                'b: ObjectId("52c37a000000000000000001"), c: Timestamp(3, 4), d: {$gte: MinKey}, '
                "e: BinData(0, 'aGk='), f: {$in: [NumberLong('5'), 'it\\'s', null, -1.5]}}}]}")
        self.restore(0, {'c.bson': [], 'c.metadata.json': text})
        index = self.index('c', 'NumberInt(1), "/x/"')
        self.assertEqual(json_util.dumps(index['partialFilterExpression'],
                                         json_options=json_util.CANONICAL_JSON_OPTIONS),
                         '{"a": {"$gt": {"$date": {"$numberLong": "1388631845006"}}}, '
                         '"b": {"$oid": "52c37a000000000000000001"}, '
                         '"c": {"$timestamp": {"t": 3, "i": 4}}, "d": {"$gte": {"$minKey": 1}}, '
                         '"e": {"$binary": {"base64": "aGk=", "subType": "00"}}, '
                         '"f": {"$in": [{"$numberLong": "5"}, "it\'s", null, '
                         '{"$numberDouble": "-1.5"}]}}')

    def test_metadata_that_cannot_be_read_costs_only_itself(self):
        said = self.restore(1, {
            'a.bson': [{'_id': 1}], 'a.metadata.json': '{"indexes": [NoSuchForm(1)]}',
            'b.bson': [{'_id': 1}], 'b.metadata.json': '[1]',
            'c.bson.gz': [{'_id': 1}], 'c.metadata.json.gz': '{"indexes": [{"key"',
            'd.bson': [{'_id': 1}],
            'd.metadata.json': '{"indexes": [5, {"name": "x"}, {"key": {}, "name": "y"}, '
                               '{"key": {"a": 1}, "name": "a_1"}]}'},
            'shop.d: 1 documents, 2 indexes, not all as they were')
        for name, why in (('a', r'NoSuchForm\(\.\.\.\) is not known'), ('b', 'it is no document'),
                          ('c', 'Expecting')):
            self.assertRegex(said, 'NOT RESTORED  shop.%s, metadata: .*%s' % (name, why))
            self.assertIn('shop.%s: 1 documents, 1 indexes, not all as they were' % name, said)
        self.assertEqual(said.count('NOT RESTORED  shop.d: an index has no key'), 3, said)

    def test_a_dump_that_has_its_indexes_as_documents(self):
        for ending in ('.bson', '.bson.gz'):
            said = self.restore(0, {
                'c.d' + ending: [{'_id': 1, 'a': 1}],
                'system.namespaces' + ending: [
                    {'name': 'old.c.d', 'options': {'create': 'c.d', 'capped': True, 'size': 8192}},
                    {'name': 'old.c.d.$a_1'}],
                'system.indexes' + ending: [
                    {'name': '_id_', 'key': {'_id': 1}, 'ns': 'old.c.d', 'v': 0},
                    {'name': 'a_1', 'key': {'a': 1.0}, 'ns': 'old.c.d', 'unique': True, 'v': 0,
                     '_id': bson.ObjectId()}]})
            self.assertEqual(said, 'shop.c.d: 1 documents, 2 indexes, as in the dump\n')
            self.assertEqual(self.index('c.d', 'a_1'),
                             {'v': 2, 'key': {'a': 1.0}, 'name': 'a_1', 'unique': True})
            self.assertTrue(self.target.shop['c.d'].options()['capped'])
            self.target.drop_database('shop')
            for name in os.listdir(os.path.join(self.folder, 'dump', 'shop')):
                os.remove(os.path.join(self.folder, 'dump', 'shop', name))
        self.restore(1, {
            'c.bson': [], 'system.indexes.bson': [
                {'name': 'a_1', 'key': {'a': 1}, 'ns': 'shop.lost'},
                {'name': '_id_', 'key': {'_id': 1}, 'ns': 'shop.system.users'}, {'ns': 5}]},
            'NOT RESTORED  shop.system.indexes: a document says of no collection',
            '  NOT RESTORED  shop.lost: there is no lost.bson', '2 things were not restored')

    def test_names_that_are_too_long_or_none(self):
        long = 'ä' * 100
        said = self.restore(1, {'c.bson': [{'_id': 1}], 'c.metadata.json': json.dumps(
            {'indexes': [{'key': {'a': 1}, 'name': long}, {'key': {'b': 1}, 'name': long + 'b'},
                         {'key': {'c': -1}, 'name': '*'}, {'key': {'d': 1}}]})},
            'shop.c: 1 documents, 5 indexes, not all as they were')
        names = set(self.definitions(self.target, 'c'))
        self.assertTrue({'_id_', 'c_-1', 'd_1'} < names, names)
        for name in names - {'_id_', 'c_-1', 'd_1'}:
            self.assertTrue(name.startswith('ä' * 50), name)
            self.assertIn('made name: %s, since the target says' % name, said)

    def test_options_of_collections(self):
        options = {
            'sized': {'create': 'sized', 'size': 1000.0},
            'odd': {'create': 'odd', 'noSuch': 1, 'validator': {'a': {'$gt': 0}}},
            'ring': {'capped': 1.0, 'size': 8000.0, 'max': 7.0, 'autoIndexId': False},
            'endless': {'capped': True, 'size': 8192, 'max': 0},
            'plain': {'capped': False, 'flags': 1, 'validationLevel': 'strict'},
            'listed': {'validator': {'a': {'$gt': 0}}, 'validationAction': 'warn'}}
        said = self.restore(1, {name: content for collection, text in options.items()
                                for name, content in (
                                    (collection + '.bson', [{'_id': 1, 'a': 1}]),
                                    (collection + '.metadata.json',
                                     json.dumps({'options': text})))},
                            '  NOT RESTORED  shop.odd, options: made without noSuch, since')
        self.assertEqual(said.count('NOT RESTORED'), 1, said)
        for name in options:
            self.assertEqual(self.target.shop[name].count_documents({}), 1)
        self.assertEqual(self.target.shop.odd.options(), {'validator': {'a': {'$gt': 0}}})
        self.assertEqual(self.target.shop.ring.options()['max'], 7)

    def test_no_document_goes_for_an_index(self):
        """dropDups removed those that a unique index could not take."""
        said = self.restore(1, {
            'c.bson': [{'_id': 1, 'a': 1}, {'_id': 2, 'a': 1}],
            'c.metadata.json': '{"indexes": [{"key": {"a": 1}, "name": "a", "unique": true, '
                               '"dropDups": true}, {"key": {"b": 1}, "name": "b"}]}'},
            'shop.c: 2 documents, 2 indexes, not all as they were')
        self.assertRegex(said, 'NOT RESTORED  shop.c, index a: .*dup')
        self.assertEqual(self.target.shop.c.count_documents({}), 2)

    def test_documents_of_a_view(self):
        view = '{"options": {"viewOn": "c", "pipeline": []}}'
        self.restore(1, {'v.bson': [{'_id': 1}], 'empty.bson': [], 'v.metadata.json': view,
                         'empty.metadata.json': view},
                     'NOT RESTORED  shop.v: a view has no documents of its own',
                     'shop.empty: a view of c', '1 things were not restored')

    def test_a_collection_that_cannot_be_sent_costs_only_itself(self):
        self.target.shop.create_collection('b', viewOn='nothing', pipeline=[])
        self.restore(1, {name + '.bson': [{'_id': 1}] for name in 'abc'},
                     'NOT RESTORED  shop.b: not all of it: ', '1 things were not restored',
                     *('shop.%s: 1 documents, 1 indexes, as in the dump' % name for name in 'ac'))

    def test_a_damaged_document_costs_only_itself(self):
        damaged = bytearray(bson.encode({'_id': 2, 'a': 'text'}))
        damaged[-8] = 0x70  # the length of the text
        content = (bson.encode({'_id': 1}) + bytes(damaged) + bson.encode({'_id': 3}))
        self.restore(1, {'c.bson': content}, 'NOT RESTORED  shop.c: a document: ')
        self.assertEqual(self.target.shop.c.distinct('_id'), [1, 3])

    # A directory.

    def test_all_that_a_real_one_has_arrives(self):
        program = os.path.join(server.folder_of('none'), 'bin', 'mongod')
        for kind, count in (('clean', 5), ('geotext-clean', 8)):
            old = os.path.join(self.folder, kind)
            with tarfile.open(FIXTURE % kind + '.tar.xz') as tar:
                tar.extractall(old, filter='data')
            with server.Server(program, old) as running:
                said = self.ended(0, (), 'copy_databases.py', running.uri, self.to_server.uri)
            self.arrived(kind, count, said, SAME)
            subprocess.run([program, '--dbpath', old, '--salvage', old + '-saved'], check=True,
                           stdout=subprocess.DEVNULL)
            self.arrived(kind, count, self.restored(0, old + '-saved'), 'as in the dump')

    def arrived(self, kind, count, said, how):
        with lzma.open(FIXTURE % kind + '.expected.jsonl.xz', 'rt') as file:
            lines = map(json_util.loads, file)
            wanted = {line['ns']: line['indexes'] for line in lines if 'indexes' in line}
        self.assertEqual(len(wanted), count)
        for ns, indexes in wanted.items():
            self.assertRegex(said, '%s: [0-9]+ documents, %d indexes, %s' % (ns, len(indexes), how))
            database, collection = ns.split('.', 1)
            found = {name: dict(each, key=dict(each['key'])) for name, each in
                     self.target[database][collection].index_information().items()}
            fields = set().union(*indexes) - {'v', 'ns', 'name'}
            self.assertEqual({name: {field: each.get(field) for field in fields}
                              for name, each in found.items()},
                             {each['name']: {field: each.get(field) for field in fields}
                              for each in indexes})
            self.assertTrue(self.target[database].command('validate', collection)['valid'])
        for database in {ns.split('.')[0] for ns in wanted}:
            self.target.drop_database(database)
