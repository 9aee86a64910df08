"""Tests the two ways of perf/client.h to speak: a run with --old-wire sends nothing but what
drivers sent before wire version 6, and leaves the same data as one without."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import late  # noqa: E402
import recorder  # noqa: E402
import server  # noqa: E402

pymongo = late.Module('pymongo')

PERF = os.path.join(TOP, 'perf')
SCRATCH = os.path.join(TOP, 'build', 'scratch')
UPDATE, INSERT, QUERY, GET_MORE, DELETE, KILL_CURSORS, MSG = (2001, 2002, 2004, 2005, 2006, 2007,
                                                              2013)
# 2.4 has these commands; None: a query that is none.
COMMANDS_OF_24 = {None, 'getlasterror', 'ping', 'drop', 'dropDatabase', 'count', 'findAndModify'}
TYPE = 123456789
AGAIN = -2  # store.h
LIST_LIMIT = 10000  # graph.h


class Options(ctypes.Structure):
    _fields_ = [('address', ctypes.c_char_p), ('engine', ctypes.c_char_p),
                ('lazy', ctypes.c_bool), ('old_wire', ctypes.c_bool)]


class Node(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ('id', 'version', 'time')] + [
        ('data', ctypes.c_char_p), ('data_bytes', ctypes.c_int)]


class Link(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ('id1', 'id2', 'time', 'version')] + [
        ('type', ctypes.c_int), ('visibility', ctypes.c_int), ('data', ctypes.c_char_p),
        ('data_bytes', ctypes.c_int)]


class Count(ctypes.Structure):
    _fields_ = [('id1', ctypes.c_int64), ('count', ctypes.c_int64), ('type', ctypes.c_int)]


def node_of(number, data=b'some text'):
    return Node(number, 0, 1000 + number, data, len(data))


def link_of(id1, id2, time=5000, data=b'more'):
    return Link(id1, id2, time, 0, TYPE, 1, data, len(data))


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bin = os.path.join(server.build('none', '', [
            'mongod', 'load_client', 'iibench', 'linkbench_mongodb']), 'bin')
        cls.folder = tempfile.TemporaryDirectory(dir=SCRATCH)
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = server.Server(os.path.join(cls.bin, 'mongod'),
                                   os.path.join(cls.folder.name, 'db'),
                                   ['--smallfiles', '--journalCommitInterval', '2'])
        cls.addClassCleanup(cls.server.stop)
        cls.client = pymongo.MongoClient(cls.server.uri)
        cls.addClassCleanup(cls.client.close)

    def sent(self, program, *words):
        """(opcodes, commands by OP_QUERY, what is printed) of a program."""
        with recorder.Recorder(self.server.port) as proxy:
            address = '--address' if program == 'linkbench_mongodb' else '--uri'
            out = subprocess.run([os.path.join(self.bin, program), address, proxy.uri, *words],
                                 stdout=subprocess.PIPE, check=True).stdout
        return proxy.opcodes, proxy.commands, json.loads(out)

    def assert_old(self, opcodes, commands, expected):
        self.assertEqual(opcodes, expected)
        self.assertEqual(commands - COMMANDS_OF_24, set())

    def dumped(self, database, without=()):
        """{collection: documents in the order of their _id, indexes} of a database."""
        found = {}
        for name in self.client[database].list_collection_names():
            documents = list(self.client[database][name].find(
                {}, dict.fromkeys(without, 0) or None).sort('_id', 1))
            indexes = {key: value['key'] for key, value in
                       self.client[database][name].index_information().items()}
            found[name] = documents, indexes
        return found


class Programs(OnAServer):
    def test_iibench(self):
        dumps = []
        for old, words in ((False, []), (True, ['--old-wire'])):
            opcodes, commands, out = self.sent('iibench', *words, '300')
            self.assertEqual((out['rows'], out['errors'], out['j']), (300, 0, True))
            dumps.append(self.dumped('perf', ['dateandtime']))
            if old:
                self.assert_old(opcodes, commands, {INSERT, QUERY})
            else:
                self.assertIn(MSG, opcodes)
                self.assertNotIn(INSERT, opcodes)
        self.assertEqual(dumps[0], dumps[1])
        documents, indexes = dumps[0]['iibench']
        self.assertEqual((len(documents), len(indexes)), (300, 4))
        self.client.drop_database('perf')

    def test_the_load_client(self):
        for workload, expected in (
                ('insert', {INSERT, QUERY}), ('ping', {QUERY}), ('find_one', {QUERY}),
                ('find_raw', {QUERY}), ('range_scan', {QUERY, GET_MORE}),
                ('ycsb_a', {INSERT, QUERY, UPDATE}), ('ycsb_b', {INSERT, QUERY, UPDATE}),
                ('ycsb_c', {INSERT, QUERY}), ('ycsb_d', {INSERT, QUERY}),
                ('ycsb_e', {INSERT, QUERY, GET_MORE, KILL_CURSORS}),
                ('ycsb_f', {INSERT, QUERY, UPDATE})):
            counts = []
            for words in ([], ['--old-wire']):
                if workload in ('find_one', 'find_raw', 'range_scan'):
                    self.client.perf.load.drop()
                    self.client.perf.load.insert_many({'_id': number} for number in range(300))
                opcodes, commands, out = self.sent(
                    'load_client', workload, '--seconds', '0.3', '--warmup', '0', '--documents',
                    '300', '--clients', '2', *words)
                with self.subTest([workload] + words):
                    self.assertEqual(out['errors'], 0)
                    self.assertGreater(out['operations'], 10)
                    counts.append(out['documents'] / out['operations'])
                    if words:
                        # A scan that happens to find all that it wants leaves no cursor.
                        self.assert_old(opcodes - {GET_MORE, KILL_CURSORS}, commands,
                                        expected - {GET_MORE, KILL_CURSORS})
                        self.assertLessEqual(opcodes, expected)
                    else:
                        self.assertIn(MSG, opcodes)
            if workload in ('insert', 'find_one', 'find_raw', 'ycsb_a', 'ycsb_c'):
                self.assertEqual(counts[0], counts[1], workload)
        self.client.drop_database('perf')

    def test_range_scans_read_all_by_both(self):
        self.client.perf.load.insert_many({'_id': number} for number in range(1000))
        for batch, per_operation in ((100, 100), (3000, 1000)):
            for words in ([], ['--old-wire']):
                *_, out = self.sent('load_client', 'range_scan', '--batch', str(batch), '--seconds',
                                    '0.3', '--warmup', '0', *words)
                self.assertEqual(out['errors'], 0)
                self.assertAlmostEqual(out['documents'] / out['operations'], per_operation,
                                       delta=0.2 * per_operation)
        self.client.drop_database('perf')

    def test_linkbench(self):
        words = ['--nodes', '200', '--clients', '2', '--seconds', '1', '--warmup', '0']
        dumps = []
        for old in (False, True):
            wire = ['--old-wire'] * old
            opcodes, commands, loaded = self.sent('linkbench_mongodb', *words, *wire, 'load')
            dumps.append(self.dumped('linkbench', ['data']))
            more, and_more, asked = self.sent('linkbench_mongodb', *words, *wire, 'request')
            most, and_most, check = self.sent('linkbench_mongodb', *words, *wire, 'check')
            self.assertEqual(asked['errors'], 0)
            for kind in ('get_link_list', 'get_node', 'count_link', 'add_link', 'update_node'):
                self.assertGreater(asked['kinds'][kind]['rows'], 0)
            self.assertEqual(check['visible_links'], check['counted_links'])
            self.assertGreater(check['visible_links'], loaded['links'] / 2)
            if old:
                self.assert_old(opcodes, commands, {INSERT, QUERY})
                self.assert_old(more - {DELETE}, and_more, {INSERT, QUERY, UPDATE})
                self.assert_old(most, and_most, {QUERY, GET_MORE})
            else:
                for found in (opcodes, more, most):
                    self.assertIn(MSG, found)
        self.assertEqual(dumps[0], dumps[1])
        self.assertEqual(set(dumps[0]), {'node', 'link', 'count'})
        self.client.drop_database('linkbench')

    def test_a_client_counts_what_a_server_has_executed(self):
        before = self.client.admin.command('serverStatus')
        subprocess.run([os.path.join(self.bin, 'iibench'), '--uri', self.server.uri, '--old-wire',
                        '100'], stdout=subprocess.DEVNULL, check=True)
        after = self.client.admin.command('serverStatus')
        self.assertEqual(after['opcounters']['insert'] - before['opcounters']['insert'], 103)
        self.client.drop_database('perf')

    def test_what_the_old_wire_has_not_is_refused(self):
        for uri in ('mongodb://a:1,b:2', 'mongodb://u:p@a:1', 'mongodb://a:1/?tls=true'):
            for program, words in (('iibench', ['--uri', uri, '--old-wire', '100']),
                                   ('load_client', ['ping', '--uri', uri, '--old-wire']),
                                   ('linkbench_mongodb', ['--address', uri, '--old-wire',
                                                          'check'])):
                done = subprocess.run([os.path.join(self.bin, program), *words],
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertIn(done.returncode, (1, 2))
                # The driver's library may warn before it.
                self.assertEqual(done.stderr.splitlines()[-1:],
                                 ['%s: --old-wire is for one server, without a user '
                                  'and without TLS' % program])

    def test_without_a_journal_nothing_counts_as_durable(self):
        with server.Server(os.path.join(self.bin, 'mongod'),
                           tempfile.mkdtemp(dir=self.folder.name), ['--nojournal']) as running:
            for wire in ([], ['--old-wire']):
                for program, words in (('iibench', ['--uri', running.uri, *wire, '100']),
                                       ('linkbench_mongodb', ['--address', running.uri, '--nodes',
                                                              '100', *wire, 'load'])):
                    done = subprocess.run([os.path.join(self.bin, program), *words],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                          text=True, check=False)
                    self.assertEqual(done.returncode, 1, [program, wire])
                    self.assertRegex(done.stderr, 'journal')


class Store(OnAServer):
    """All that linkbench asks of a store, in one order, by both."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'libmongoc-1.0'],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        path = os.path.join(cls.folder.name, 'store.so')
        subprocess.run(['cc', '-std=gnu11', '-O1', '-shared', '-fPIC', '-o', path]
                       + [os.path.join(PERF, name) for name in
                          ('graph/store_mongodb.c', 'client.c', 'client_mongoc.c',
                           'client_old_wire.c', 'old_wire.c', 'mongo.c')] + flags, check=True)
        cls.library = ctypes.CDLL(path)
        cls.library.store_connect.restype = ctypes.c_void_p

    def asked(self, uri, old_wire):
        """What each call returns, one after the other."""
        options = Options(uri.encode(), None, False, old_wire)
        connection = ctypes.c_void_p(self.library.store_connect(ctypes.byref(options)))
        self.assertTrue(connection)
        results = []

        def call(name, *arguments):
            results.append((name, getattr(self.library, 'store_' + name)(connection, *arguments)))

        def by(value):
            return ctypes.byref(value)

        def ids(*values):
            return (ctypes.c_int64 * len(values))(*values), len(values)

        long = ctypes.c_int64
        any_time = long(2 ** 63 - 1)
        call('create')
        call('load_nodes', (Node * 300)(*map(node_of, range(1, 301))), 300)
        call('load_counts', (Count * 300)(*(Count(number, 0, TYPE) for number in range(1, 301))),
             300)
        call('add_node', by(node_of(1000)))
        call('add_node', by(node_of(1000)))
        call('get_node', long(1000))
        call('get_node', long(1001))
        call('update_node', by(node_of(1000, b'longer than it was before')))
        call('update_node', by(node_of(1001)))
        call('delete_node', long(1000))
        call('delete_node', long(1000))
        for number in range(3):
            call('add_link', by(link_of(1, 10 + number, 5000 + number)))
        call('add_link', by(link_of(1, 10, 6000)))
        call('add_link', by(link_of(900, 901)))  # nothing was counted for it before
        call('get_links', long(1), TYPE, *ids(10, 11, 99))
        call('list_links', long(1), TYPE, any_time)
        call('list_links', long(1), TYPE, long(5001))
        call('list_links', long(2), TYPE, any_time)
        call('count_links', long(1), TYPE)
        call('count_links', long(902), TYPE)
        call('update_link', by(link_of(1, 11, 7000, b'other')))
        call('update_link', by(link_of(1, 99)))
        call('delete_link', by(link_of(1, 12)))
        call('delete_link', by(link_of(1, 12)))
        call('add_link', by(link_of(1, 12, 8000)))
        call('delete_link', by(link_of(1, 10, 9000)))
        for first in range(0, LIST_LIMIT + 50, 50):
            call('load_links', (Link * 50)(*(link_of(3, first + number, first + number)
                                             for number in range(50))), 50)
        call('list_links', long(3), TYPE, any_time)
        visible, counted = ctypes.c_int64(), ctypes.c_int64()
        call('check', by(visible), by(counted))
        results.append(('sums', visible.value, counted.value))
        self.library.store_close(connection)
        return results

    def test_the_same_calls_leave_the_same_data(self):
        found, dumps = [], []
        for old_wire in (False, True):
            with recorder.Recorder(self.server.port) as proxy:
                found.append(self.asked(proxy.uri, old_wire))
            dumps.append(self.dumped('linkbench'))
        self.assert_old(proxy.opcodes, proxy.commands,
                        {INSERT, QUERY, UPDATE, DELETE, GET_MORE, KILL_CURSORS})
        self.assertEqual(found[0], found[1])
        self.assertEqual(dumps[0], dumps[1])
        self.assertEqual([result[1] for result in found[0] if result[0] == 'add_node'], [1, AGAIN])
        self.assertEqual([result[1] for result in found[0] if result[0] == 'list_links'],
                         [3, 1, 0, LIST_LIMIT])
        self.assertEqual(found[0][-1], ('sums', LIST_LIMIT + 50 + 3, 3))
        self.client.drop_database('linkbench')


if __name__ == '__main__':
    unittest.main()
