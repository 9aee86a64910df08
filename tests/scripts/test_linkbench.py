"""Counts and links of perf/linkbench.py agree on a real server after many clients have written, and
after kills; tests/engines/ runs it too."""

import argparse
import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

import experiment
import linkbench_engines
import measuring
import server
from set_member import SetMember, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE_DATA_MEDIAN = 128  # bytes, perf/graph/graph.h

ARGUMENTS = {'only': (), 'lazy': True, 'uri': None, 'servers': [], 'memory': 0, 'oplog': 16}


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

    def test_an_engine_by_its_turns(self):
        arguments = argparse.Namespace(**dict(ARGUMENTS, nodes=200, clients=4, seconds=0.5,
                                              interval=0.25, old_wire=False, transactions=False))
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


class InTransactions(unittest.TestCase):
    """A link and its count, on an engine that has transactions."""

    def setUp(self):
        self.enterContext(unittest.mock.patch.dict(os.environ, {server.ENGINE: 'wiredTiger'}))
        server.build('none', '', ['mongod', 'engine_wiredtiger.so', 'linkbench_mongodb'])
        self.words = [os.path.join(experiment.PROGRAMS, 'linkbench_mongodb'), '--nodes', '200',
                      '--transactions', '--seconds', '600', '--address']

    def ask(self, running, phase):
        told = json.loads(subprocess.run([*self.words, running.uri, phase], check=True,
                                         stdout=subprocess.PIPE).stdout)
        if phase == 'check':
            self.assertEqual(told['visible_links'], told['counted_links'])
            return told['visible_links']
        return None

    def wait_for_transactions(self, running, more):
        def committed():
            return measuring.command(running, 'admin', {'serverStatus': 1})['transactions'][
                'totalCommitted']
        enough = committed() + more
        while committed() < enough:
            pass

    def test_counts_are_right_after_kills(self):
        links = set()
        with tempfile.TemporaryDirectory() as folder, SetMember(
                measuring.program_of('none'), os.path.join(folder, 'db'),
                measuring.SHORT + ['--replSet', 'r']) as running:
            measuring.command(running, 'admin', {'replSetInitiate': {
                '_id': 'r', 'members': [{'_id': 0, 'host': running.host}]}})
            for phase in ['load'] + ['check'] * 4:
                wait_until('the primary', lambda: measuring.command(
                    running, 'admin', {'hello': 1})['isWritablePrimary'])
                links.add(self.ask(running, phase))
                with subprocess.Popen([*self.words, running.uri, 'request'],
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as asking:
                    self.wait_for_transactions(running, 100)
                    running.kill()
                    asking.kill()
                running.start_again()
        self.assertGreater(len(links), 2)
