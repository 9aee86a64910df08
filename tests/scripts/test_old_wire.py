"""Tests the two ways of perf/client.h to speak: a run with --old-wire sends nothing but what
drivers sent before wire version 6, and leaves the same data as one without."""

import json
import os
import subprocess
import tempfile
import unittest

import late
import recorder
import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pymongo = late.Module('pymongo')

SCRATCH = os.path.join(TOP, 'build', 'scratch')
UPDATE, INSERT, QUERY, GET_MORE, DELETE, KILL_CURSORS, MSG = (2001, 2002, 2004, 2005, 2006, 2007,
                                                              2013)
# 2.4 has these commands; None: a query that is none.
COMMANDS_OF_24 = {None, 'getlasterror', 'ping', 'drop', 'dropDatabase', 'count', 'findAndModify'}


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bin = os.path.join(server.build('none', '', [
            'mongod', 'load_client', 'iibench', 'linkbench_mongodb']), 'bin')
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(dir=SCRATCH))
        cls.server = server.Server(os.path.join(cls.bin, 'mongod'),
                                   os.path.join(cls.folder, 'db'),
                                   ['--smallfiles', '--journalCommitInterval', '2'])
        cls.addClassCleanup(cls.server.stop)
        cls.client = cls.enterClassContext(pymongo.MongoClient(cls.server.uri))

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

    def test_without_a_journal_nothing_counts_as_durable(self):
        with server.Server(os.path.join(self.bin, 'mongod'),
                           tempfile.mkdtemp(dir=self.folder), ['--nojournal']) as running:
            for wire in ([], ['--old-wire']):
                for program, words in (('iibench', ['--uri', running.uri, *wire, '100']),
                                       ('linkbench_mongodb', ['--address', running.uri, '--nodes',
                                                              '100', *wire, 'load'])):
                    done = subprocess.run([os.path.join(self.bin, program), *words],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                          text=True, check=False)
                    self.assertEqual(done.returncode, 1, [program, wire])
                    self.assertRegex(done.stderr, 'journal')
