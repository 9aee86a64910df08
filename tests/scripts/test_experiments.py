"""Smoke tests of the experiments of perf/: each runs for a moment and prints its table, and what it
keeps has a table, findings and claims as the report makes them; what they refuse has a sentence.
Results that the repository keeps go through the same modules in test_overview.py."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import claims
import experiment
import measuring
import overview
import server
import single_inserts
import write_concern
from peers import embedded

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(script, *words):
    """The exit code and what a script says to these words."""
    done = subprocess.run([sys.executable, os.path.join(TOP, 'perf', script), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server.build('none', '', ['mongod', 'linkbench_mongodb', 'load_client', 'sync_floor'])

    def check(self, script, *words):
        code, said = run(script, '--rounds', '1', *words)
        self.assertEqual(code, 0, said)
        path = os.path.join(TOP, re.search(r'^The figures are in (\S+)$', said, re.MULTILINE)[1])
        for made in glob.glob(path.removesuffix('.json') + '*'):
            self.addCleanup(os.remove, made)
        result, = overview.named([path])
        self.assertIn(result.table, said)
        self.assertTrue(result.findings)
        self.assertTrue(any(row.source for row in claims.rows(
            [(result.kind.name, 'this', result.result)])) or result.kind.name == 'peers')

    def test_append(self):
        self.check('append.py', '--seconds', '0.1', '--clients', '1', '--only', 'base')

    @unittest.skipIf(embedded.SQLite('unused').missing(), 'SQLite or a compiler is not installed')
    def test_peers(self):
        self.check('compare.py', '--seconds', '0.1', '--clients', '1', '--only', 'sqlite')

    def test_linkbench(self):
        self.check('linkbench.py', '--nodes', '200', '--clients', '2', '--seconds', '0.3',
                   '--interval', '0.1', '--lazy', '--only', 'base')


class Refused(unittest.TestCase):
    def test_bad_values_get_a_sentence(self):
        for words, sentence in (
                (['run.py', '--clients', '1,,8'], "'' is no number"),
                (['run.py', '--device-delay', '2000'], 'give 1000 ms at most'),
                (['write_concern.py', '--long', 'x'], "'x' is no number of inserts"),
                (['write_concern.py', '--clients', '2'], '--clients: it is for --replicas'),
                (['write_concern.py', '--journal-folder', TOP], 'lies on the same device'),
                (['sweep.py', '--what', 'nix'], "there is no sweep 'nix'; there are interval"),
                (['growth.py', '--memory', '1'], "'1' is no number of MB"),
                (['append.py', '--seconds', '-1'], 'no time; give seconds above 0'),
                (['linkbench.py', '--memory', '1000'], '--memory: it is for --engines'),
                (['linkbench.py', '--server', 'x=/nosuch'], "no file '/nosuch'")):
            with self.subTest(words):
                code, said = run(*words)
                self.assertEqual(code, 2, said)
                self.assertIn(sentence, ' '.join(said.split()))


class SingleInserts(unittest.TestCase):
    def test_both_clients_time_each_insert(self):
        server.build('none', '', ['mongod', 'insert_latency'])
        program = measuring.program_of('none')
        client = os.path.join(experiment.PROGRAMS, 'insert_latency')
        with tempfile.TemporaryDirectory() as folder, server.Server(
                program, os.path.join(folder, 'db'), measuring.COMMON + measuring.SHORT) as running:
            for name in write_concern.CLIENTS:
                for concern in write_concern.CONCERNS:
                    made = single_inserts.run(running, name, concern, 23)
                    self.assertEqual((made['inserts'], len(made['latencies_us'])), (23, 23))
                    self.assertEqual((made['client'], made['concern']), (name, concern))
            out = subprocess.run([client, '--uri', running.uri, '--seconds-max', '0.05', '100000'],
                                 stdout=subprocess.PIPE, check=True).stdout
            self.assertLess(json.loads(out)['inserts'], 100000)
