"""Tests perf/linkbench.py and perf/graph/: what graph and requests are like, the table, what is
left out, and that counts and links agree on a real server after many clients have written."""

import argparse
import contextlib
import ctypes
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import any_server  # noqa: E402
import experiment  # noqa: E402
import linkbench  # noqa: E402
import measuring  # noqa: E402
import server  # noqa: E402

GRAPH = os.path.join(TOP, 'perf', 'graph')
NODES = 10000


class GraphOf(ctypes.Structure):
    _fields_ = [('nodes', ctypes.c_int64), ('degree_max', ctypes.c_double),
                ('step', ctypes.c_int64), ('start', ctypes.c_int64 * 2)]


class LinkOf(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ('id1', 'id2', 'time', 'version')] + [
        ('type', ctypes.c_int), ('visibility', ctypes.c_int), ('data', ctypes.c_char_p),
        ('data_bytes', ctypes.c_int)]


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

    def drawn(self, kind, count=20000):
        random = ctypes.c_uint64(88172645463325252)
        return [self.library.graph_node_of(ctypes.byref(self.graph), kind, ctypes.byref(random))
                for _ in range(count)]

    def test_a_few_nodes_have_many_of_the_links(self):
        degrees = sorted(self.degrees(), reverse=True)
        self.assertAlmostEqual(sum(degrees) / NODES, 4.3, delta=0.1)
        self.assertGreater(sum(degrees[:NODES // 100]), 0.2 * sum(degrees))
        self.assertGreater(degrees.count(0), 0)

    def test_the_links_of_a_node_have_different_ends(self):
        degrees = self.degrees()
        node = degrees.index(max(degrees)) + 1
        link, ends = LinkOf(), set()
        degree = self.library.graph_degree(ctypes.byref(self.graph), node, 0)
        for n in range(degree):
            self.library.graph_link(ctypes.byref(self.graph), node, 0, n, ctypes.byref(link))
            self.assertTrue(1 <= link.id2 <= NODES)
            ends.add(link.id2)
        self.assertEqual(len(ends), degree)

    def test_requests_come_as_often_as_they_should(self):
        shares = (ctypes.c_double * 10).in_dll(self.library, 'REQUEST_SHARES')
        names = (ctypes.c_char_p * 10).in_dll(self.library, 'REQUEST_NAMES')
        self.assertAlmostEqual(sum(shares), 100)
        self.assertEqual({name.decode() for name in names}, set(linkbench.KINDS))
        random, counts = ctypes.c_uint64(88172645463325252), [0] * 10
        for _ in range(100000):
            counts[self.library.graph_request(ctypes.byref(random))] += 1
        for count, share in zip(counts, shares):
            self.assertAlmostEqual(count / 1000, share, delta=0.5)

    def test_some_nodes_are_asked_for_far_more_often(self):
        names = [name.decode() for name in
                 (ctypes.c_char_p * 10).in_dll(self.library, 'REQUEST_NAMES')]

        def share_of_the_first(kind):
            drawn = self.drawn(names.index(kind))
            self.assertTrue(all(1 <= node <= NODES for node in drawn))
            counts = sorted((drawn.count(node) for node in set(drawn)), reverse=True)
            return sum(counts[:NODES // 100]) / len(drawn)
        self.assertGreater(share_of_the_first('add_link'), 0.25)
        self.assertGreater(share_of_the_first('get_node'), 0.14)
        self.assertLess(share_of_the_first('delete_node'), 0.08)


def kinds(count, mean):
    return {kind: {'count': count, 'rows': 2 * count, 'mean_us': mean, 'p95_us': 2 * mean,
                   'p99_us': 3 * mean, 'max_us': 4 * mean} for kind in linkbench.KINDS}


def run(rate, mean):
    return {'per_second': rate, 'requests': 100, 'client_cpu_us': 20, 'server_cpu_us': 50,
            'per_interval': [rate - 1, rate + 1], 'kinds': kinds(10, mean), 'repeated': 1,
            'floor_before': 1, 'floor_after': 1}


RESULT = {
    'idle': [{'seconds': 1, 'busy': 0.01}], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
    'load': 0.5, 'floors': [5000.0], 'nodes': 20000, 'clients': 8, 'lazy': False, 'interval': 1,
    'left_out': {'C': 'too many connections'},
    'contenders': {'A': {'settings': 'a=1', 'load': {'per_second': 9000, 'links': 86000},
                         'runs': [run(100, 1000), run(300, 3000), run(200, 2000)],
                         'check': {'visible_links': 5, 'counted_links': 5}},
                   'B': {'settings': 'b=1', 'load': {'per_second': 9000, 'links': 86000},
                         'runs': []}}}


class Table(unittest.TestCase):
    def test_has_average_p95_and_p99_of_each_request_and_the_intervals(self):
        text = linkbench.table(RESULT)
        lines = [line.split() for line in text.splitlines()]
        self.assertIn(['A', '9000', '200', '(100..300)', '50', '20', 'right'], lines)
        for kind in linkbench.KINDS:
            self.assertIn([kind, '30', '2.000', '4.000', '6.000', '12.000', '2.0'], lines)
        self.assertIn('requests/s in each 1 s, round after round: 99 101 | 299 301 | 199 201', text)
        self.assertIn('3 requests were repeated', text)
        self.assertIn('left out: C: too many connections', text)
        self.assertNotIn('B: b=1', text)

    def test_an_interval_of_half_a_second_has_rates_too(self):
        self.assertIn('requests/s in each 0.5 s, round after round: 198 202 | 598 602 | 398 402',
                      linkbench.table(dict(RESULT, interval=0.5)))

    def test_the_three_requests_of_the_article_stand_beside_its_own(self):
        lines = [line.split() for line in linkbench.table(RESULT).splitlines()]
        begin = lines.index(['Average', 'ms', 'of', 'a', 'request', 'add_link', 'update_link',
                             'get_link_list'])
        self.assertEqual(lines[begin + 1], ['A', '2.000', '2.000', '2.000'])
        self.assertIn(['the', 'article,', 'mmapv1,', 'in', 'memory', '4.788', '5.230', '2.657'],
                      lines[begin:])

    def test_there_are_as_many_clients_as_the_article_had(self):
        self.assertEqual(linkbench.make_parser().parse_args([]).clients, 12)

    def test_counts_that_are_off_are_reported(self):
        self.assertEqual(linkbench.check_text({'visible_links': 5, 'counted_links': 7}), 'off by 2')

    def test_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            path, = linkbench.draw(RESULT, os.path.join(folder, 'x'))
            with open(path, encoding='utf-8') as file:
                self.assertIn('LinkBench, requests a second', file.read())


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

    def test_any_uri_joins(self):
        with mock.patch.object(linkbench.peers.mongod.Mongod, 'missing', lambda self: ''):
            names, _ = self.contenders(uri='mongodb://h:1', only=['durable'])
        self.assertEqual(names, ['mongod-dur, durable.yaml', 'mongodb://h:1'])

    def test_only_may_name_those_that_join(self):
        named = any_server.Named('old26', '/m', [])
        for only in (['old26'], ['h:1', 'old26']):
            self.assertEqual(self.contenders(uri='mongodb://h:1', only=only, servers=[named])[0],
                             ['mongodb://h:1', 'old26'])

    def test_one_that_fails_is_left_out_and_the_others_go_on(self):
        def fail(*_):
            raise subprocess.CalledProcessError(1, 'client', stderr='too many connections\n')
        contender = linkbench.Contender('C', 'c=1', 'client', None)
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
            self.assertEqual(len(asked['per_interval']), 4)
            self.assertGreater(asked['requests'], 100)
            self.assertEqual(sum(kind['count'] for kind in asked['kinds'].values()),
                             asked['requests'])
            for kind in ('get_link_list', 'get_node', 'add_link', 'update_node'):
                self.assertGreater(asked['kinds'][kind]['rows'], 0)
            checked = ask('check')
            self.assertEqual(checked['visible_links'], checked['counted_links'])

    def test_bad_values_get_a_sentence(self):
        client = os.path.join(experiment.PROGRAMS, 'linkbench_mongodb')
        for words, sentence in ((['nix'], "the phase wants load, request or check, not 'nix'"),
                                (['--nodes', '5', 'load'], '--nodes wants a whole number from 100'),
                                (['--clients', 'x', 'load'], '--clients wants a whole number'),
                                (['--seconds', '0', 'load'], '--seconds wants a number from'),
                                ([], 'usage: linkbench_mongodb')):
            ended = subprocess.run([client, *words], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(sentence, ended.stderr)


if __name__ == '__main__':
    unittest.main()
