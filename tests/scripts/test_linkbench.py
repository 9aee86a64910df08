"""Tests perf/linkbench.py, its modules and perf/graph/: what graph and requests are like, the
tables, what is left out, what engines are started with and what is counted of them, and that counts
and links agree on a real server after many clients have written."""

import argparse
import collections
import contextlib
import ctypes
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import any_server  # noqa: E402
import experiment  # noqa: E402
import linkbench  # noqa: E402
import linkbench_contender  # noqa: E402
import linkbench_engines  # noqa: E402
import linkbench_tables  # noqa: E402
import machine  # noqa: E402
import measuring  # noqa: E402
import memory_group  # noqa: E402
import server  # noqa: E402

GRAPH = os.path.join(TOP, 'perf', 'graph')
NODES = 10000
NODE_DATA_MEDIAN = 128  # bytes, perf/graph/graph.h


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
        self.assertEqual({name.decode() for name in names}, set(linkbench_tables.KINDS))
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
            most = collections.Counter(drawn).most_common(NODES // 100)
            return sum(count for _, count in most) / len(drawn)
        self.assertGreater(share_of_the_first('add_link'), 0.25)
        self.assertGreater(share_of_the_first('get_node'), 0.14)
        self.assertLess(share_of_the_first('delete_node'), 0.08)


def kinds(count, mean):
    return {kind: {'count': count, 'rows': 2 * count, 'mean_us': mean, 'p95_us': 2 * mean,
                   'p99_us': 3 * mean, 'max_us': 4 * mean} for kind in linkbench_tables.KINDS}


def run(rate, mean):
    return {'per_second': rate, 'requests': 100, 'requests_in_all': 110, 'client_cpu_us': 20,
            'server_cpu_us': 50, 'per_interval': [rate - 1, rate + 1], 'kinds': kinds(10, mean),
            'repeated': 1, 'floor_before': 1, 'floor_after': 1}


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
        text = linkbench_tables.table(RESULT)
        lines = [line.split() for line in text.splitlines()]
        self.assertIn(['A', '9000', '200', '(100..300)', '50', '20', 'right'], lines)
        for kind in linkbench_tables.KINDS:
            self.assertIn([kind, '30', '2.000', '4.000', '6.000', '12.000', '2.0'], lines)
        self.assertIn('requests/s in each 1 s, round after round: 99 101 | 299 301 | 199 201', text)
        self.assertIn('3 requests were repeated', text)
        self.assertIn('left out: C: too many connections', text)
        self.assertNotIn('B: b=1', text)

    def test_an_interval_of_half_a_second_has_rates_too(self):
        self.assertIn('requests/s in each 0.5 s, round after round: 198 202 | 598 602 | 398 402',
                      linkbench_tables.table(dict(RESULT, interval=0.5)))

    def test_the_three_requests_of_the_article_stand_beside_its_own(self):
        lines = [line.split() for line in linkbench_tables.table(RESULT).splitlines()]
        begin = lines.index(['Average', 'ms', 'of', 'a', 'request', 'add_link', 'update_link',
                             'get_link_list'])
        self.assertEqual(lines[begin + 1], ['A', '2.000', '2.000', '2.000'])
        self.assertIn(['the', 'article,', 'mmapv1,', 'in', 'memory', '4.788', '5.230', '2.657'],
                      lines[begin:])

    def test_there_are_as_many_clients_as_the_article_had(self):
        self.assertEqual(linkbench.make_parser().parse_args([]).clients, 12)

    def test_counts_that_are_off_are_reported(self):
        self.assertEqual(linkbench_tables.check_text({'visible_links': 5, 'counted_links': 7}),
                         'off by 2')

    def test_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            path, = linkbench_tables.draw(RESULT, os.path.join(folder, 'x'))
            with open(path, encoding='utf-8') as file:
                self.assertIn('LinkBench, requests a second', file.read())


def engine(loaded_mb, stored_mb, settings, each_run, **more):
    """A contender of --engines."""
    runs = [dict(each, stored_bytes=1e6 * stored_mb, data_bytes=2e6 * stored_mb, log_bytes=3e6,
                 memory_bytes=1e6 * (number + 10), **more)
            for number, each in enumerate(each_run)]
    return {'settings': settings, 'runs': runs, 'check': {'visible_links': 5, 'counted_links': 5},
            'load': {'per_second': 9000, 'links': 86000, 'stored_bytes': 1e6 * loaded_mb}}


ENGINES = dict(RESULT, lazy=True, left_out={}, engines={
    'memory_mb': 0, 'memory_bytes': 2e9, 'cache_bytes': 1e9, 'no_group': '', 'oplog_mb': 2000},
    contenders={
        'mmapv1, base': engine(100, 120, '--smallfiles', [run(100, 1000), run(300, 3000)],
                               device_reads=0.5, device_read_bytes=2048.0,
                               device_written_bytes=500.0),
        'wiredTiger': engine(40, 60, 'cache', [run(400, 500), run(600, 700)])})


class EnginesTable(unittest.TestCase):
    def lines(self, **more):
        return [line.split() for line in
                linkbench_tables.table({**ENGINES, **more}).splitlines()]

    def test_rates_as_time_goes_on_stand_above_those_of_the_hours(self):
        lines = self.lines()
        at = lines.index(['mmapv1,', 'base', '99', '101', '299', '301'])
        self.assertEqual(lines[at - 1], [str(part) for part in range(1, 13)])
        self.assertEqual(lines[at + 1], ['wiredTiger', '399', '401', '599', '601'])
        self.assertEqual(lines[at + 2][:5], ['the', 'article,', 'WiredTiger', '18279', '17715'])
        self.assertEqual(len(lines[at + 2]), 3 + 12)

    def test_many_intervals_become_twelve(self):
        runs = [dict(run(1, 1), per_interval=list(range(1, 25)))]
        self.assertEqual(linkbench_tables.in_parts({'interval': 0.5}, runs),
                         [2 * (2 * part + 1.5) for part in range(12)])
        self.assertEqual(linkbench_tables.in_parts({'interval': 1}, []), [])

    def test_the_three_requests_have_average_p95_and_p99(self):
        lines = self.lines()
        self.assertIn(['mmapv1,', 'base'] + ['2.000', '4.000', '6.000'] * 3, lines)
        self.assertIn(['the', 'article,', 'mmapv1', '4.788', '5.230', '2.657'], lines)
        self.assertNotIn(['the', 'article,', 'WiredTiger', '47.557', '51.122', '35.648'], lines)

    def test_what_the_device_did_and_what_is_stored(self):
        lines = self.lines()
        self.assertIn(['mmapv1,', 'base', '0.500', '2.048', '0.500', '100.0', '120.0', '240', '3',
                       '11'], lines)
        # Nothing is known of its device.
        self.assertIn(['wiredTiger', '40.0', '60.0', '120', '3', '11'], lines)
        self.assertIn(['the', 'article,', 'RocksDB', '22000'], lines)

    def test_a_graph_that_is_larger_than_memory_stands_beside_that_of_the_article(self):
        larger = {'engines': dict(ENGINES['engines'], memory_bytes=39e6, memory_mb=37)}
        lines = self.lines(**larger)
        self.assertIn(['the', 'article,', 'WiredTiger', '47.557', '51.122', '35.648'], lines)
        self.assertIn(['the', 'article,', 'RocksDB', '2.135', '20.234', '2.512', '632000'], lines)
        text = ' '.join(linkbench_tables.table({**ENGINES, **larger}).split())
        self.assertIn('Each server has 37 MB, pages of files included', text)
        self.assertIn('The graph is larger than memory in every server.', text)
        # One of them has room.
        self.assertIn(['the', 'article,', 'mmapv1', '4.788', '5.230', '2.657'], self.lines(
            engines=dict(larger['engines'], memory_bytes=41e6)))

    def test_it_says_that_there_was_no_group(self):
        text = ' '.join(linkbench_tables.table({**ENGINES, 'engines': dict(
            ENGINES['engines'], memory_mb=512, no_group='not here')}).split())
        self.assertIn('No server could be kept to 512 MB (not here)', text)

    def test_it_fits_the_page(self):
        lines = linkbench_tables.engines_lines(ENGINES, linkbench_tables.measured(ENGINES))
        self.assertLessEqual(max(len(line.rstrip()) for line in lines), 100)


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

    def test_without_a_limit_caches_are_half_of_the_memory_of_the_machine(self):
        memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
        self.assertEqual(linkbench_engines.cache_bytes(0), memory // 2)

    def test_what_cannot_be_built_is_left_out_by_name(self):
        found, built, said = self.contenders(here=False)
        self.assertEqual([each.name for each in found], ['mmapv1, base', 'mmapv1, series'])
        self.assertEqual(built, ['mmapv1, base', 'mmapv1, series'])
        self.assertIn('left out: wiredTiger (wiredtiger.h not found; apt install '
                      'libwiredtiger-dev)', said)
        self.assertIn('left out: rocksdb (db.h not found; apt install librocksdb-dev)', said)

    def test_install_gets_what_is_missing(self):
        got = []
        with mock.patch.object(linkbench_engines.os.path, 'exists', lambda path: 'wired' in path), \
                mock.patch.object(linkbench.compare, 'install_packages',
                                  lambda packages, _: got.extend(packages)):
            linkbench.install(True)
        self.assertEqual(got, ['librocksdb-dev'])

    def test_only_and_those_that_join(self):
        named = any_server.Named('old', '/m', ['--x'])
        found, _, _ = self.contenders(only=['series', 'old', 'h:1'], servers=[named],
                                      uri='mongodb://u:secret@h:1')
        self.assertEqual([each.name for each in found],
                         ['mmapv1, series', 'mongodb://u:***@h:1', 'old'])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            self.contenders(only=['nix'])

    def test_where_no_group_can_be_made_servers_run_without(self):
        memory = linkbench_engines.Memory(512)

        def refuse(_):
            raise memory_group.NoGroup('not here')
        with mock.patch.object(memory_group, 'Group', refuse):
            self.assertIs(memory.limited(), server.Server)
        self.assertEqual(memory.why_not, 'not here')
        arguments = argparse.Namespace(memory=512, oplog=0)
        found = linkbench_engines.settings(arguments, memory)
        self.assertEqual(found['no_group'], 'not here')
        self.assertEqual(found['cache_bytes'], 256 << 20)
        self.assertGreater(found['memory_bytes'], 512 << 20)
        memory.close()

    def test_each_server_has_a_group_of_its_own(self):
        memory, groups = linkbench_engines.Memory(512), []

        def group(limit):
            groups.append(mock.Mock(limit=limit))
            return groups[-1]
        with mock.patch.object(memory_group, 'Group', group):
            self.assertIs(memory.limited(), groups[0].server.return_value)
            memory.limited(any_server.AnyServer)
        self.assertEqual([each.limit for each in groups], [512 << 20] * 2)
        groups[1].server.assert_called_once_with(any_server.AnyServer)
        self.assertEqual(linkbench_engines.settings(argparse.Namespace(memory=512, oplog=0),
                                                    memory)['memory_bytes'], 512 << 20)
        memory.close()
        for each in groups:
            each.close.assert_called_once_with()

    def test_a_group_keeps_what_else_a_kind_of_server_is_started_with(self):
        kind = memory_group.Group.server(mock.Mock(), any_server.AnyServer)
        self.assertTrue(kind.process_options['start_new_session'])
        self.assertIn('preexec_fn', kind.process_options)

    def test_logs_are_counted_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ('test.0', 'journal/j._0', 'wiredTiger/c1.wt',
                         'wiredTiger/WiredTigerLog.0000000001', 'rocksdb/000004.log',
                         'rocksdb/000009.sst'):
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'wb') as file:
                    file.write(b'x' * 8192)
            found = linkbench_engines.disk_bytes(folder)
        self.assertEqual(found, {'data_bytes': 3 * 8192, 'log_bytes': 3 * 8192})

    def test_a_contender_stands_still_until_its_turn(self):
        def state():
            with open('/proc/%d/stat' % process.pid, encoding='ascii') as file:
                return file.read().rsplit(')', 1)[1].split()[0]

        def wait_for(wanted):
            while state() != wanted:
                time.sleep(0.001)
        with subprocess.Popen(['sleep', '600']) as process:
            running = mock.Mock(pid=process.pid, uri='mongodb://h:1')
            contender = linkbench_engines.EngineContender(
                'A', '', lambda: contextlib.nullcontext(running), 'vdx')
            try:
                with contender.serve():
                    wait_for('T')
                    with contender.turn():
                        wait_for('S')
                    wait_for('T')
                wait_for('S')
            finally:
                process.send_signal(signal.SIGKILL)

    def test_a_server_of_others_is_neither_stopped_nor_flushed(self):
        running = mock.Mock(pid=None, uri='mongodb://h:1')
        contender = linkbench_engines.EngineContender(
            'A', '', lambda: contextlib.nullcontext(running), '', False)
        with mock.patch.object(linkbench_engines.os, 'kill') as kill, \
                mock.patch.object(measuring, 'command', lambda running, database, words: {
                    'storageSize': 1, 'indexSize': 2}), \
                mock.patch.object(linkbench_contender.Contender, 'run',
                                  lambda *_: {'requests_in_all': 10}), \
                contender.serve():
            self.assertEqual(contender.request(None), {'requests_in_all': 10, 'stored_bytes': 3})
            self.assertEqual(contender.load(None)['stored_bytes'], 3)
        kill.assert_not_called()

    def test_what_the_device_does_is_for_each_request_the_flush_included(self):
        lines = [' 254 0 vda 10 0 100 0 7 0 200 0', ' 254 0 vda 15 0 120 0 9 0 300 0']
        commands = []

        def command(_, database, words):
            commands.append((database, *words))
            return {'storageSize': 1, 'indexSize': 2}
        running = mock.Mock(pid=os.getpid(), uri='mongodb://h:1', dbpath='/nosuch')
        contender = linkbench_engines.EngineContender(
            'A', '', lambda: contextlib.nullcontext(running), 'vda')
        with mock.patch.object(linkbench_engines.os, 'kill'), \
                mock.patch.object(measuring, 'command', command), \
                mock.patch.object(machine, 'lines_of', lambda path: [lines[
                    ('admin', 'fsync') in commands]]), \
                mock.patch.object(linkbench_contender.Contender, 'run',
                                  lambda *_: {'requests_in_all': 10}), \
                contender.serve():
            found = contender.request(None)
        self.assertEqual(found['device_reads'], 0.5)
        self.assertEqual(found['device_read_bytes'], 1024)
        self.assertEqual(found['device_written_bytes'], 5120)
        self.assertGreater(found['memory_bytes'], 0)


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
        contender = linkbench_contender.Contender('C', 'c=1', 'client', None)
        trial = mock.MagicMock()
        trial.result = {'contenders': {}, 'left_out': {}}
        trial.cell = lambda measure: measure()
        with mock.patch.object(contender, 'run', fail), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertFalse(linkbench.load(trial, contender, argparse.Namespace()))
        self.assertIn('too many connections', trial.result['left_out']['C'])
        self.assertIn('left out: C: ', said.getvalue())

    def test_one_that_ends_between_its_turns_is_left_out_from_then_on(self):
        class Ends(linkbench_contender.Contender):
            def run(self, phase, arguments):
                rounds.append((self.name, phase))
                if self.name == 'B' and rounds.count(('B', 'request')) == 2:
                    raise server.ServerError('B: connection refused')
                return {'requests_in_all': 1}
        rounds = []
        every = [Ends(name, '', 'client', contextlib.nullcontext) for name in 'AB']
        trial = mock.MagicMock(result={'contenders': {}, 'left_out': {}})
        trial.cell = lambda measure: measure()
        with mock.patch.object(linkbench, 'contenders', lambda *_: every), \
                mock.patch.object(any_server, 'survey', lambda *_: ([], False)), \
                contextlib.redirect_stderr(io.StringIO()):
            linkbench.measure(trial, argparse.Namespace(rounds=3, seconds=1, nodes=100,
                                                        engines=False))
        self.assertEqual(trial.result['left_out'], {'B': 'B: connection refused'})
        self.assertEqual({name: len(each['runs']) for name, each in
                          trial.result['contenders'].items()}, {'A': 3, 'B': 1})
        self.assertNotIn(('B', 'check'), rounds)

    def test_an_engine_that_does_not_answer_has_a_sentence(self):
        def gone(*_):
            raise linkbench_engines.pymongo.errors.ServerSelectionTimeoutError('refused')
        contender = linkbench_engines.EngineContender('A', '', None, '')
        with mock.patch.object(measuring, 'command', gone), \
                self.assertRaisesRegex(server.ServerError, 'A: refused'):
            contender.flush()


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
