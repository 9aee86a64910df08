"""Tests perf/linkbench.py, its modules and perf/graph/: what graph and requests are like,
what is left out, what engines are started with, and that counts
and links agree on a real server after many clients have written."""

import argparse
import contextlib
import ctypes
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import experiment
import linkbench
import linkbench_contender
import linkbench_engines
import linkbench_tables
import measuring
import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRAPH = os.path.join(TOP, 'perf', 'graph')
NODES = 10000
NODE_DATA_MEDIAN = 128  # bytes, perf/graph/graph.h


class GraphOf(ctypes.Structure):
    _fields_ = [('nodes', ctypes.c_int64), ('degree_max', ctypes.c_double),
                ('step', ctypes.c_int64), ('start', ctypes.c_int64 * 2)]


@unittest.skipUnless(shutil.which('cc'), 'needs a compiler')
class Graph(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = os.path.join(cls.folder.name, 'graph.so')
        subprocess.run(['cc', '-std=c11', '-O2', '-shared', '-fPIC', '-o', path,
                        os.path.join(GRAPH, 'graph.c'), os.path.join(TOP, 'perf', 'zipf.c'),
                        '-lm'], check=True)
        cls.library = ctypes.CDLL(path)
        cls.library.graph_degree.restype = cls.library.graph_node_of.restype = ctypes.c_int64
        cls.library.graph_degree.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
        cls.library.graph_link.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int,
                                           ctypes.c_int64, ctypes.c_void_p]
        cls.graph = GraphOf()
        cls.library.graph_init(ctypes.byref(cls.graph), ctypes.c_int64(NODES))

    def degrees(self):
        return [sum(self.library.graph_degree(ctypes.byref(self.graph), node, kind)
                    for kind in range(2)) for node in range(1, NODES + 1)]

    def test_a_few_nodes_have_many_of_the_links(self):
        degrees = sorted(self.degrees(), reverse=True)
        self.assertAlmostEqual(sum(degrees) / NODES, 4.3, delta=0.1)
        self.assertGreater(sum(degrees[:NODES // 100]), 0.2 * sum(degrees))
        self.assertGreater(degrees.count(0), 0)

    def test_requests_come_as_often_as_they_should(self):
        shares = (ctypes.c_double * 10).in_dll(self.library, 'REQUEST_SHARES')
        names = (ctypes.c_char_p * 10).in_dll(self.library, 'REQUEST_NAMES')
        self.assertAlmostEqual(sum(shares), 100)
        self.assertEqual({name.decode() for name in names}, set(linkbench_tables.KINDS))
        random, counts = ctypes.c_uint64(88172645463325252), [0] * 10
        for _ in range(100000):
            counts[self.library.graph_request(ctypes.byref(random))] += 1
        for count, share in zip(counts, shares):
            self.assertAlmostEqual(count / 1000, share, delta=0.5)


def kinds(count, mean):
    return {kind: {'count': count, 'rows': 2 * count, 'mean_us': mean, 'p95_us': 2 * mean,
                   'p99_us': 3 * mean, 'max_us': 4 * mean} for kind in linkbench_tables.KINDS}


def run(rate, mean):
    return {'per_second': rate, 'requests': 100, 'requests_in_all': 110, 'client_cpu_us': 20,
            'server_cpu_us': 50, 'per_interval': [rate - 1, rate + 1], 'kinds': kinds(10, mean),
            'repeated': 1, 'floor_before': 1, 'floor_after': 1}


class Engines(unittest.TestCase):
    ARGUMENTS = {'only': (), 'lazy': True, 'uri': None, 'servers': [], 'memory': 0, 'oplog': 2000}

    def contenders(self, here=True, **more):
        """(contenders, what is built, what is said); `here`: the headers are there."""
        built = []
        with contextlib.redirect_stderr(io.StringIO()) as said, \
                mock.patch.object(linkbench_engines.os.path, 'exists', lambda path: here), \
                mock.patch.object(linkbench_engines, 'build', built.extend):
            arguments = argparse.Namespace(**{**self.ARGUMENTS, **more})
            found = linkbench_engines.contenders(
                'unused', arguments, linkbench_engines.Memory(arguments.memory), 'vdx')
        return found, built, said.getvalue()

    def test_they_have_the_settings_of_the_article(self):
        found, built, _ = self.contenders(memory=1024)
        settings = {each.name: each.settings for each in found}
        self.assertEqual(list(settings), list(linkbench_engines.NAMES))
        self.assertEqual(built, list(linkbench_engines.NAMES))
        for text in settings.values():
            self.assertIn('--master --oplogSize 2000', text)
        for name in ('mmapv1, base', 'wiredTiger', 'rocksdb'):
            self.assertIn('--syncdelay 60 --journalCommitInterval 100', settings[name])
        self.assertIn('--config conf/durable.yaml', settings['mmapv1, series'])
        self.assertIn('--storageEngine wiredTiger --wiredTigerCacheSizeGB 0.5 ',
                      settings['wiredTiger'])
        self.assertIn('--storageEngine rocksdb --rocksdbCacheSizeGB 0.5 --rocksdbConfigString '
                      'write_buffer_size=16777216;', settings['rocksdb'])
        for each in self.contenders(oplog=0)[0]:
            self.assertNotIn('--master', each.settings)


class Contenders(unittest.TestCase):
    ARGUMENTS = {'only': (), 'lazy': False, 'uri': None, 'servers': []}

    def contenders(self, **more):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            found = linkbench.contenders('unused', argparse.Namespace(
                **{**self.ARGUMENTS, **more}))
        return [each.name for each in found], said.getvalue()

    def test_what_is_missing_is_reported_with_its_packages(self):
        with mock.patch.object(linkbench.peers.postgresql.PostgreSQL, 'missing',
                               lambda self: 'initdb'), \
                mock.patch.object(linkbench.peers.mariadb.MariaDB, 'missing', lambda self: ''), \
                mock.patch.object(linkbench.peers.mongod.Mongod, 'missing', lambda self: ''), \
                mock.patch.object(linkbench.os.path, 'exists', lambda path: False):
            names, said = self.contenders()
        self.assertEqual(names, ['mongod-dur, durable.yaml', 'base, 2 ms'])
        self.assertIn('left out: PostgreSQL (initdb, libpq-fe.h not found; apt install '
                      'postgresql-15 libpq-dev)', said)
        self.assertIn('left out: MariaDB InnoDB (mysql.h not found; apt install mariadb-server '
                      'libmariadb-dev)', said)

    def test_one_that_fails_is_left_out_and_the_others_go_on(self):
        def fail(*_):
            raise subprocess.CalledProcessError(1, 'client', stderr='too many connections\n')
        contender = linkbench_contender.Contender('C', 'c=1', 'client', None)
        trial = mock.MagicMock()
        trial.result = {'contenders': {}, 'left_out': {}}
        trial.cell = lambda measure: measure()
        with mock.patch.object(contender, 'run', fail), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertFalse(linkbench.load(trial, contender, argparse.Namespace()))
        self.assertIn('too many connections', trial.result['left_out']['C'])
        self.assertIn('left out: C: ', said.getvalue())


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server.build('none', '', ['mongod', 'linkbench_mongodb'])

    def test_counts_are_right_after_many_clients_have_written(self):
        program = measuring.program_of('none')
        client = os.path.join(experiment.PROGRAMS, 'linkbench_mongodb')
        with tempfile.TemporaryDirectory() as folder, server.Server(
                program, os.path.join(folder, 'db'), measuring.COMMON + measuring.SHORT) as running:
            def ask(phase, *words):
                return json.loads(subprocess.run(
                    [client, '--address', running.uri, '--nodes', '200', *words, phase],
                    stdout=subprocess.PIPE, check=True).stdout)
            loaded = ask('load')
            self.assertAlmostEqual(loaded['links'] / 200, 4.3, delta=0.5)
            self.assertEqual(ask('check')['visible_links'], loaded['links'])
            asked = ask('request', '--seconds', '1', '--interval', '0.25', '--lazy')
            self.assertEqual(asked['errors'], 0)
            self.assertGreater(asked['requests_in_all'], asked['requests'])
            self.assertEqual(len(asked['per_interval']), 4)
            self.assertGreater(asked['requests'], 100)
            self.assertEqual(sum(kind['count'] for kind in asked['kinds'].values()),
                             asked['requests'])
            for kind in ('get_link_list', 'get_node', 'add_link', 'update_node'):
                self.assertGreater(asked['kinds'][kind]['rows'], 0)
            checked = ask('check')
            self.assertEqual(checked['visible_links'], checked['counted_links'])
            as_units = ask('request', '--seconds', '0.5', '--units')
            self.assertEqual(as_units['errors'], 0)
            for kind in ('add_link', 'delete_link'):
                self.assertGreater(as_units['kinds'][kind]['rows'], 0)
            checked = ask('check')
            self.assertEqual(checked['visible_links'], checked['counted_links'])

    def test_counts_are_right_after_kills_where_they_are_one_with_their_links(self):
        program = measuring.program_of('none')
        words = [os.path.join(experiment.PROGRAMS, 'linkbench_mongodb'), '--nodes', '200',
                 '--units', '--seconds', '600', '--address']
        links = []
        with tempfile.TemporaryDirectory() as folder:
            for phase in ['load'] + ['check'] * 4:
                with server.Server(program, os.path.join(folder, 'db'),
                                   measuring.COMMON + measuring.SHORT) as running:
                    told = json.loads(subprocess.run([*words, running.uri, phase], check=True,
                                                     stdout=subprocess.PIPE).stdout)
                    if phase == 'check':
                        self.assertEqual(told['visible_links'], told['counted_links'])
                        links.append(told['visible_links'])
                    with subprocess.Popen([*words, running.uri, 'request'],
                                          stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL) as asking:
                        self.wait_for_reads(running, 500)
                        running.kill()
                        asking.kill()
        self.assertGreater(len(set(links)), 1)

    def wait_for_reads(self, running, more):
        """Of the client: writes are among them."""
        def reads():
            return measuring.command(running, 'admin', {'serverStatus': 1})['opcounters']['query']
        start = asked = reads()
        while asked < start + more:
            asked = reads()

    def test_an_engine_by_its_turns(self):
        arguments = argparse.Namespace(**dict(
            Engines.ARGUMENTS, oplog=16, nodes=200, clients=4, seconds=0.5, interval=0.25,
            old_wire=False, units=False))
        with tempfile.TemporaryDirectory() as folder:
            memory = linkbench_engines.Memory(0)
            contender = linkbench_engines.of_build(linkbench_engines.BASE, folder, arguments,
                                                   memory, 'no such device')
            with contender.serve():
                loaded = contender.load(arguments)
                asked = contender.request(arguments)
                checked = contender.check(arguments)
                with contender.turn():
                    logged = measuring.command(contender.running, 'local',
                                               {'count': 'oplog.$main'})['n']
        self.assertGreater(loaded['stored_bytes'], arguments.nodes * NODE_DATA_MEDIAN)
        self.assertGreater(loaded['data_bytes'], loaded['stored_bytes'])
        self.assertEqual(asked['errors'], 0)
        for name in ('server_cpu_us', 'stored_bytes', 'memory_bytes'):
            self.assertGreater(asked[name], 0, name)
        self.assertIn('log_bytes', asked)
        self.assertNotIn('device_reads', asked)
        self.assertEqual(checked['visible_links'], checked['counted_links'])
        self.assertGreater(logged, loaded['links'])
