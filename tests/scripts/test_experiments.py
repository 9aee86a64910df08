"""Tests what the experiments of perf/ share, and those of our own servers: write concerns, sweeps,
growth. What they refuse, that an interrupted one is usable, and that the clients that time single
inserts do so on a real server."""

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import experiment
import measuring
import server
import single_inserts
import sweep
import write_concern

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = {'idle': [{'seconds': 1, 'busy': 0.01}], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
        'load': 0.5, 'floors': [5000.0, 6000.0, 7000.0], 'device_delay_ms': 0,
        'host': {'file_system': 'ext4', 'kernel': '6.1', 'cores': 2}}


def refused(script, *words):
    """The exit code and what a script says to these words."""
    run = subprocess.run([sys.executable, os.path.join(TOP, 'perf', script), *words],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.returncode, run.stdout


class Shared(unittest.TestCase):
    def trial(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        trial = experiment.Experiment(folder.name, argparse.Namespace(seconds=1))
        self.rates = [100.0, 120.0, 300.0, 90.0]
        patch = mock.patch.object(measuring.Bench, 'floor_now',
                                  lambda *_: {'per_second': self.rates.pop(0)})
        patch.start()
        self.addCleanup(patch.stop)
        idle = mock.patch.object(experiment.machine, 'idle_watch',
                                 lambda *_: {'seconds': 1, 'busy': 0})
        idle.start()
        self.addCleanup(idle.stop)
        return trial

    def test_what_is_measured_before_ctrl_c_is_kept(self):
        trial = self.trial()

        def measure(_):
            trial.result['rows'] = [trial.cell(lambda: {'a': 1})]
            raise KeyboardInterrupt
        result = trial.run(measure)
        self.assertEqual((result['stopped'], len(result['rows'])), ('interrupted', 1))
        self.assertIn('ended before its end: interrupted', '\n'.join(experiment.head(result)))
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(measuring, 'TOP', folder), \
                contextlib.redirect_stdout(io.StringIO()) as said, \
                self.assertRaises(SystemExit) as end:
            experiment.finish('x.py', result, True, lambda _: 'a table', 'x')
        self.assertEqual(end.exception.code, experiment.EXIT_INTERRUPTED)
        self.assertIn('a table\n', said.getvalue())

    def test_bad_values_get_a_sentence(self):
        for words, sentence in (
                (['write_concern.py', '--inserts', '0'], "'0' is no number; give a whole one"),
                (['write_concern.py', '--long', 'x'], "'x' is no number of inserts"),
                (['write_concern.py', '--long-seconds', '0'], "'0' is no time; give seconds above"),
                (['write_concern.py', '--clients', '2'], '--clients: it is for --replicas'),
                (['write_concern.py', '--replicas', '--concerns', 'w:9'], "there is no 'w:9' here"),
                (['write_concern.py', '--replicas', '--journal-folder', '/tmp'],
                 '--journal-folder: it is not for --replicas'),
                (['write_concern.py', '--journal-folder', '/nosuch'], "'/nosuch' is no folder"),
                (['write_concern.py', '--journal-folder', TOP], 'lies on the same device'),
                (['sweep.py', '--what', 'nix'], "there is no sweep 'nix'; there are interval"),
                (['sweep.py', '--intervals', '301'], "no number of milliseconds; give a whole one "
                                                     'from 0 to 300'),
                (['sweep.py', '--bytes', '49'], 'from 50 to 1048576'),
                (['sweep.py', '--clients', 'x'], "'x' is no number"),
                (['growth.py', '--rows', '99'], "'99' is no number of rows"),
                (['growth.py', '--memory', '1'], "'1' is no number of MB"),
                (['growth.py', '--sample', '1e9'], "'1e9' is no number of rows"),
                (['append.py', '--seconds', '-1'], 'no time; give seconds above 0'),
                (['linkbench.py', '--nodes', '99'], 'no number of nodes; give a whole one'),
                (['linkbench.py', '--clients', '257'], 'no number of clients'),
                (['linkbench.py', '--interval', '0'], 'no time'),
                (['linkbench.py', '--memory', '1000'], '--memory: it is for --engines'),
                (['linkbench.py', '--engines', '--memory', '511'], 'no number of MB; give a whole '
                                                                   'one from 512'),
                (['linkbench.py', '--server', 'x=/nosuch'], "no file '/nosuch'")):
            with self.subTest(words):
                code, said = refused(*words)
                self.assertEqual(code, 2, said)
                self.assertIn(sentence, ' '.join(said.split()))


def latencies(*values):
    return {'latencies_us': [1000.0 * value for value in values], 'inserts': len(values),
            'mean_us': 1000 * sum(values) / len(values), 'least_us': 1000.0 * min(values),
            'p50_us': 1000 * statistics.median(values), 'most_us': 1000.0 * max(values),
            'server_cpu_us': 100, 'client_cpu_us': 50, 'floor_before': 5000, 'floor_after': 5000}


def latency_result(here, there, short_here, long_there, elsewhere='/mnt/b', flush=5000):
    rows = [{'server': name, 'client': 'C', 'concern': 'j:1', 'long': None,
             'runs': [{**latencies(value - 1, value, value + 1), 'floor_before': flush,
                       'floor_after': flush}]}
            for name, value in ((write_concern.BASE_HERE, here), (write_concern.BASE_THERE, there),
                                (write_concern.SHORT_HERE, short_here),
                                (write_concern.LONG_THERE, long_there)) if value]
    return {**HEAD, 'rows': rows, 'journal_folder': elsewhere, 'inserts': 3, 'long': 9,
            'no_journal_folder': '' if elsewhere else 'no such folder', 'rounds': 1,
            'long_seconds': 1, 'document_bytes': 200}


class WriteConcern(unittest.TestCase):
    def test_34_and_11_ms_are_explained_by_the_figures(self):
        text = write_concern.explanation(latency_result(34.9, 11.2, 11.4, 34.7))
        self.assertIn('34.9 ms in the middle with the journal beside the data and 11.2 ms', text)
        self.assertIn('11.4 ms beside the data at 30 ms, 34.7 ms on the other device at 100', text)
        self.assertIn('So it is the interval and not the device', text)

    def test_figures_that_do_not_show_it_are_not_explained_away(self):
        for figures in ((34.9, 11.2, 30, 34.7), (34.9, 11.2, 11.4, 12), (11, 34, 11, 34)):
            text = write_concern.explanation(latency_result(*figures))
            self.assertIn('do not show', text)
            self.assertNotIn('So it is the interval', text)
        # A flush that takes 40 ms explains it as well.
        self.assertIn('do not show', write_concern.explanation({
            **latency_result(34.9, 11.2, 11.4, 34.7), 'rows': [
                {**row, 'runs': [{**run, 'floor_before': 25 if row['server'] == 'base' else 5000,
                                  'floor_after': 25 if row['server'] == 'base' else 5000}
                                 for run in row['runs']]}
                for row in latency_result(34.9, 11.2, 11.4, 34.7)['rows']]}))


def row(sweep_name, name, x, rate):
    run = {'per_second': rate, 'p50_us': 100, 'p99_us': 200, 'server_cpu_us': 10,
           'server_kernel_us': 5, 'client_cpu_us': 5, 'client_kernel_us': 2, 'floor_before': 100,
           'floor_after': 100}
    made = []
    sweep.add(made, sweep.Cell(sweep_name, name, x, ('none', [], 'beside'), 8), run)
    sweep.add(made, sweep.Cell(sweep_name, name, x, ('none', [], 'beside'), 8),
              {**run, 'per_second': rate + 10})
    return made[0]


class Sweep(unittest.TestCase):
    def cells(self, **more):
        arguments = argparse.Namespace(**{'what': list(sweep.SWEEPS), 'intervals': [0, 2, 300],
                                          'clients': [1, 256], 'bytes': [100, 65536],
                                          'elsewhere': '/mnt/b', **more})
        with tempfile.TemporaryDirectory() as folder:
            return list(sweep.cells_of(arguments, folder))

    def test_the_base_is_not_asked_for_intervals_that_it_refuses(self):
        found = [(cell.name, cell.x) for cell in self.cells() if cell.sweep == 'interval']
        self.assertEqual(found, [('series', 0), ('base', 2), ('series', 2), ('base', 300),
                                 ('series', 300)])


class OnAServer(unittest.TestCase):
    def test_both_clients_time_each_insert(self):
        server.build('none', '', ['mongod', 'insert_latency'])
        program = measuring.program_of('none')
        client = os.path.join(experiment.PROGRAMS, 'insert_latency')
        with tempfile.TemporaryDirectory() as folder, server.Server(
                program, os.path.join(folder, 'db'), measuring.COMMON + measuring.SHORT) as running:
            for name in write_concern.CLIENTS:
                for concern in write_concern.CONCERNS:
                    run = single_inserts.run(running, name, concern, 23)
                    self.assertEqual((run['inserts'], len(run['latencies_us'])), (23, 23))
                    self.assertEqual((run['client'], run['concern']), (name, concern))
            out = subprocess.run([client, '--uri', running.uri, '--seconds-max', '0.05', '100000'],
                                 stdout=subprocess.PIPE, check=True).stdout
            self.assertLess(json.loads(out)['inserts'], 100000)
        for words, sentence in ((['0'], 'COUNT wants a whole number from 1'),
                                (['--concern', 'w:x', '5'], 'w: and a number of members'),
                                (['--uri', 'x', '5'], 'x: ')):
            run = subprocess.run([client, *words], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn(sentence, run.stderr)
