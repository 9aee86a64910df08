"""Tests what perf/ asks of other servers: --server, and an old server that is really measured,
which is ours behind a script that announces wire version 2, so that today's drivers refuse it;
--old-wire, with which nothing is sent but what drivers sent before wire version 6."""

import argparse
import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import any_server
import experiment
import insert_benchmark
import late
import measuring
import messages
import recorder
import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRATCH = os.path.join(TOP, 'build', 'scratch')


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\n' + text)
    os.chmod(path, stat.S_IRWXU)
    return path


class Parsing(unittest.TestCase):
    def test_each_fault_has_its_sentence(self):
        for text, sentence in (
                ('/bin/sh', "does not begin with NAME="),
                ('=/bin/sh', "does not begin with NAME="),
                ('/bin/sh --a=b', "does not begin with NAME="),
                ('', "does not begin with NAME="),
                ('a=', 'no path of a mongod'),
                ('a=/nowhere/mongod', "there is no file '/nowhere/mongod'"),
                ('a=/etc', "there is no file '/etc'"),
                ('a=/etc/passwd', "'/etc/passwd' is not executable"),
                ("a=/bin/sh 'b", 'cannot split .* No closing quotation'),
                ('a' * 31 + '=/bin/sh', 'at most 30 characters'),
                ('a=/bin/sh --port 3', 'leave --port out'),
                ('a=/bin/sh --dbpath=/x', 'leave --dbpath out'),
                ('a=/bin/sh --fork', 'leave --fork out')):
            with self.subTest(text), self.assertRaisesRegex(argparse.ArgumentTypeError, sentence):
                any_server.parse(text)


class Measured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        programs = os.path.join(server.build('none', '',
                                             ['mongod', 'load_client', 'iibench',
                                              'linkbench_mongodb', 'device_delay.so']), 'bin')
        cls.mongod = os.path.join(programs, 'mongod')
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(dir=SCRATCH))
        posing = script(cls.folder, 'posing',
                        '%s "$@" --setParameter announcedMaxWireVersion=2\nexit $?\n' % cls.mongod)
        cls.posing = any_server.parse('old=%s --smallfiles --journalCommitInterval 2' % posing)
        cls.bench = measuring.Bench(programs, cls.folder, 1, 0, old_wire=True)

    def dbpath(self):
        return tempfile.mkdtemp(dir=self.folder)

    def test_an_old_server_is_loaded_and_counted(self):
        with self.posing.start(self.dbpath()) as running:
            self.assertTrue(running.old_wire)
            self.assertNotEqual(running.pid, running.process.pid)
            self.assertEqual(os.readlink('/proc/%d/exe' % running.pid), self.mongod)
            with self.assertRaises(subprocess.CalledProcessError):  # the driver refuses it
                measuring.Bench(self.bench.programs, '', 0.1, 0).load(running.uri, 1)
            for clients, words in ((1, ['insert']), (3, ['insert', '--batch', '5', '--index'])):
                row = self.bench.measure_plain(running, clients, words)
                self.assertGreater(row['operations'], 0)
                self.assertEqual(row['errors'], 0)
                count = measuring.command(running, 'perf', {'count': 'load'})['n']
                # Each client's last operation may be answered after the end.
                self.assertGreaterEqual(count, row['documents'])
            row = self.bench.measure_traced(running, 1)
            self.assertGreater(row['commits'], 0)
            self.assertEqual(row['bytes_per_commit'] % 8192, 0)
            with self.assertRaisesRegex(messages.Refused, 'nosuch: .*no such c'):
                measuring.command(running, 'admin', {'nosuch': 1})
        self.assertFalse(os.path.exists('/proc/%d' % running.pid))

    def test_a_server_that_outlives_its_script_has_ended_at_the_end(self):
        with self.posing.start(self.dbpath()) as running:
            os.kill(running.process.pid, signal.SIGKILL)
            running.process.wait()
            self.assertFalse(any_server.has_ended(running.pid))
        self.assertTrue(any_server.has_ended(running.pid))

    def arguments(self, make_parser, *words):
        """Those of an experiment."""
        return make_parser().parse_args(words)

    def test_no_password_is_shown(self):
        for uri, shown in (('mongodb://u:p%40w@h:1/?x=a:b@c', 'mongodb://u:***@h:1/?x=a:b@c'),
                           ('mongodb+srv://u:pw@h/db', 'mongodb+srv://u:***@h/db'),
                           ('mongodb://h:1,g:2/', 'mongodb://h:1,g:2/'),
                           ('mongodb://u@h:1', 'mongodb://u@h:1')):
            self.assertEqual(any_server.shown(uri), shown)

    def test_one_that_runs_already_is_asked_in_its_way(self):
        for named in (self.posing, any_server.parse('new=%s --smallfiles' % self.mongod)):
            with named.start(self.dbpath()) as running:
                arguments = self.arguments(insert_benchmark.make_parser, '--uri', running.uri)
                described, old = any_server.survey(arguments, self.folder)
                self.assertEqual([each['name'] for each in described], [running.uri])
                self.assertTrue(described[0]['version'])
                self.assertEqual((described[0]['old_wire'], old), (running.old_wire,) * 2)
                found = any_server.run_command(any_server.Running(running.uri), 'admin',
                                               {'ping': 1})
                self.assertEqual(found['ok'], 1)

    def test_an_old_server_stands_beside_ours_in_the_insert_benchmark(self):
        arguments = self.arguments(insert_benchmark.make_parser, '--rows', '200')
        arguments.servers, arguments.only = [self.posing], ['old']
        trial = experiment.Experiment(self.folder, arguments)
        trial.result.update(lines=[], rows=200, clients=1)
        with mock.patch.object(experiment, 'PROGRAMS', self.bench.programs), \
                mock.patch.object(insert_benchmark, 'sources', return_value={}), \
                mock.patch.object(trial, 'cell', lambda measure: measure()), \
                mock.patch.object(trial, 'floor', lambda: 1), \
                contextlib.redirect_stderr(io.StringIO()):
            arguments.rounds = 1
            insert_benchmark.measure(trial, arguments)
        self.assertTrue(trial.result['old_wire'])
        self.assertEqual([line['name'] for line in trial.result['lines']],
                         ['old, sync', 'old, lazy'])
        for line, durable in zip(trial.result['lines'], (True, False)):
            run_, = line['runs']
            self.assertEqual((run_['rows'], run_['errors'], run_['j']), (200, 0, durable))
            self.assertIn('server_cpu_us', run_)  # 0 where it took less than a tick of the clock
            self.assertNotIn('log_raw', run_)  # it does not count what it journals
        trial.result.update(floors=[1], floors_moved=0, steal=0,
                            idle=[{'seconds': 1, 'busy': 0.01}])
        text = insert_benchmark.table(trial.result)
        self.assertIn('old, sync', text)
        self.assertIn('loaded as old drivers did it', text)

    def test_it_is_traced_from_start_to_end(self):
        done = subprocess.run(
            [sys.executable, os.path.join(TOP, 'perf', 'trace_server.py'), 'journal_writes',
             '--server', 'old=%s --smallfiles --journalCommitInterval 2' % self.posing.program,
             '--seconds', '0.5', '--json'], stdout=subprocess.PIPE, check=True)
        self.assertGreater(json.load(io.BytesIO(done.stdout))['summary']['commits'], 1)


pymongo = late.Module('pymongo')

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
        cls.server = server.Server(os.path.join(cls.bin, 'mongod'), os.path.join(cls.folder, 'db'),
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
                                          text=True)
                    self.assertEqual(done.returncode, 1, [program, wire])
                    self.assertRegex(done.stderr, 'journal')
