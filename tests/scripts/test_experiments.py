"""Tests what the experiments of perf/ share, and those of our own servers: write concerns, sweeps,
growth. What they refuse, what their tables and plots say, that an interrupted one is
usable, and that the clients that time single inserts do so on a real server."""

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

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import experiment  # noqa: E402
import growth  # noqa: E402
import insert_latency  # noqa: E402
import measuring  # noqa: E402
import server  # noqa: E402
import single_inserts  # noqa: E402
import sweep  # noqa: E402
import write_concern  # noqa: E402

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

    def test_the_disk_stands_beside_each_cell_and_is_not_asked_twice_between_two(self):
        trial = self.trial()
        first, second = trial.cell(lambda: {'a': 1}), trial.cell(lambda: {'a': 2})
        self.assertEqual((first['floor_before'], first['floor_after']), (100, 120))
        self.assertEqual((second['floor_before'], second['floor_after']), (120, 300))
        self.assertEqual(trial.result['floors'], [100, 120, 300])
        self.assertEqual(trial.moved, [False, True])

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

    def test_nothing_measured_is_said(self):
        for result, code, text in (
                ({'stopped': 'interrupted'}, experiment.EXIT_INTERRUPTED,
                 'x.py: interrupted before anything was measured'),
                ({'stopped': 'no disk'}, 1, 'x.py: no disk before anything was measured'),
                ({}, 1, 'x.py: there is nothing here')):
            with self.assertRaises(SystemExit) as end, \
                    contextlib.redirect_stderr(io.StringIO()) as said:
                experiment.finish('x.py', result, False, str, 'x')
            self.assertEqual(end.exception.code, code)
            self.assertIn(text, said.getvalue())

    def test_a_log_is_cut_to_the_line_that_says_why(self):
        error = RuntimeError('mongod ended with 100:\nstarting\nERROR: no room\ndbexit')
        self.assertEqual(experiment.said_by(error), 'mongod ended with 100: ERROR: no room')
        failed = subprocess.CalledProcessError(1, 'client', stderr=b'a\nno such server\n')
        self.assertTrue(experiment.said_by(failed).endswith('status 1. no such server'))

    def test_a_slower_device_is_in_the_head(self):
        text = '\n'.join(experiment.head({**HEAD, 'device_delay_ms': 8}))
        self.assertTrue(text.startswith('SIMULATED DEVICE: every flush made 8 ms slower'))
        self.assertIn('6000 durable 4 KB overwrites/s (5000..7000 in 3 looks)', text)

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

    def test_a_disk_that_changed_in_between_explains_no_part(self):
        # The flush beside the data took 40 ms, or less than the one in memory.
        for here, there in ((25, 1e6), (1e6, 5000)):
            result = latency_result(34.9, 11.2, 11.4, 34.7)
            for row in result['rows']:
                flush = here if row['server'] == write_concern.BASE_HERE else there
                for run in row['runs']:
                    run.update(floor_before=flush, floor_after=flush)
            self.assertNotIn('% of the difference', write_concern.explanation(result))
        self.assertIn('23.7 ms less', write_concern.explanation(
            latency_result(34.9, 11.2, 11.4, 34.7)))
        self.assertIn('23.7 ms more', write_concern.explanation(
            latency_result(11.2, 34.9, 11.4, 34.7)))

    def test_the_article_stands_beside_it(self):
        text = write_concern.table(latency_result(34.9, 11.2, 11.4, 34.7))
        self.assertRegex(text, r'j:1, journal beside the data \(disk\), average ms +34.19 +- ')

    def test_without_another_device_it_says_so(self):
        result = latency_result(34.9, None, 11.4, None, elsewhere=None)
        text = write_concern.table(result)
        self.assertIn('Left out, the journal on another device: no such folder', text)
        self.assertIn('not explained here', text)

    def test_table_and_plots(self):
        result = latency_result(34.9, 11.2, 11.4, 34.7)
        result['rows'][0]['long'] = write_concern.thinned(latencies(35, 34, 36))
        lines = [line.split() for line in write_concern.table(result).splitlines()]
        self.assertIn(['base', 'j:1', 'C', '34.900', '(34.900..34.900)', '33.900', '34.900',
                       '35.90', '0.200', '100', '50'], lines)
        self.assertIn(['base', 'j:1', 'C', '35.000', '34.000', '35.000', '36.00', '3', '100',
                       '50'], lines)
        with tempfile.TemporaryDirectory() as folder:
            paths = write_concern.draw(result, os.path.join(folder, 'x'))
            self.assertEqual([os.path.basename(path) for path in paths],
                             ['x-C-short.svg', 'x-C-long.svg'])
            with open(paths[1], encoding='utf-8') as file:
                text = file.read()
        self.assertIn('9 inserts, C', text)
        self.assertIn('base, j:1', text)

    def test_a_long_run_keeps_the_least_and_the_greatest_of_each_stretch(self):
        run = write_concern.thinned(latencies(*range(5 * write_concern.STRETCHES - 1, 0, -1)))
        self.assertEqual((run['stretch'], len(run['latencies_us'])),
                         (5, 2 * write_concern.STRETCHES))
        points = write_concern.points(run)
        self.assertEqual(points[:4], [(1, 2495), (1, 2499), (6, 2490), (6, 2494)])
        self.assertEqual(points[-2:], [(2496, 1), (2496, 4)])
        self.assertEqual((run['least_us'], run['most_us']), (1000, 2499000))
        self.assertEqual(write_concern.points(latencies(3, 4)), [(1, 3), (2, 4)])

    def test_another_device_is_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(write_concern.another_device(folder, folder)[0], None)
            self.assertIn('same device', write_concern.another_device(folder, folder)[1])

    def test_what_a_client_times_has_arrived(self):
        collection = mock.MagicMock()
        client = mock.MagicMock()
        client.perf.latency.with_options.return_value = collection
        client.perf.command.return_value = {'n': 6}
        arguments = argparse.Namespace(concern='w:0', bytes=200, count=5, seconds_max=60)
        found = insert_latency.measure(client, arguments)
        self.assertEqual((found['inserts'], len(found['latencies_us'])), (5, 5))
        concern = client.perf.latency.with_options.call_args.kwargs['write_concern']
        self.assertEqual(concern.document, {'w': 0})
        client.perf.command.return_value = {'n': 5}
        with self.assertRaisesRegex(RuntimeError, '4 of 5 documents have arrived'):
            insert_latency.measure(client, arguments)


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

    def test_a_long_interval_gets_enough_commits(self):
        longest = max(cell.seconds_min for cell in self.cells())
        self.assertAlmostEqual(longest, sweep.COMMITS_MIN * 0.1)

    def test_the_interval_of_the_profile_is_left_to_the_sweep(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(sweep.profile_without_interval(folder)[1], encoding='utf-8') as file:
                text = file.read()
        self.assertNotIn('commitIntervalMs', text)
        self.assertIn('padBytes', text)

    def test_without_another_device_the_journal_stays(self):
        places = {cell.server[2] for cell in self.cells(elsewhere=None)}
        self.assertEqual(places, {'beside'})
        self.assertEqual({cell.server[2] for cell in self.cells()}, {'beside', 'elsewhere'})

    def test_cells_of_one_server_go_together(self):
        groups = sweep.by_server(self.cells(what=['clients', 'bytes']))
        self.assertEqual([len(cells) for _, cells in groups], [4, 4])

    def test_table_and_plots(self):
        result = {**HEAD, 'rows': [row('clients', 'series', 1, 90), row('clients', 'base', 1, 50),
                                   row('bytes', 'base', 65536, 40)],
                  'journal_folder': None, 'no_journal_folder': 'there is none', 'rounds': 2,
                  'seconds': 0.4, 'what': ['clients', 'journal']}
        lines = [line.split() for line in sweep.table(result).splitlines()]
        self.assertIn(['base', '1', '55', '50..60', '0.10', '0.20', '10', '5', '0.0', '55%'], lines)
        self.assertIn('there is none', sweep.table(result))
        self.assertIn('From round to round a rate moved by', sweep.table(result))
        self.assertNotIn('moved by', sweep.table(dict(result, rounds=1)))
        with tempfile.TemporaryDirectory() as folder:
            paths = sweep.draw(result, os.path.join(folder, 'x'))
            self.assertEqual([os.path.basename(path) for path in paths],
                             ['x-clients.svg', 'x-bytes.svg'])
            with open(paths[1], encoding='utf-8') as file:
                self.assertIn('64 KB', file.read())


class Growth(unittest.TestCase):
    def test_points(self):
        self.assertEqual(growth.points(300000), [10000, 30000, 100000, 300000])
        self.assertEqual(growth.points(500), [500])
        self.assertEqual(growth.points(10000), [10000])
        self.assertEqual(growth.points(10 ** 8)[-3:], [10 ** 7, 3 * 10 ** 7, 10 ** 8])

    def test_table_and_plots(self):
        run = {'per_second': 700, 'p99_us': 2000, 'server_cpu_us': 90, 'log_raw': 4700,
               'log_bytes': 8192}
        line = {'name': 'base, sync', 'rows': 10000, 'grown': {'per_second': 9000,
                                                               'server_cpu_us': 20},
                'data_bytes': 2e9, 'index_bytes': 3e9, 'runs': [run, {**run, 'per_second': 720}]}
        result = {**HEAD, 'lines': [line, {**line, 'rows': 30000, 'runs': []}], 'clients': 1,
                  'sample': 500, 'memory_bytes': 2e9}
        lines = [words.split() for words in growth.table(result).splitlines()]
        self.assertIn(['base,', 'sync', '10000', '2000', '3000', '2.500', '9000', '20', '710',
                       '(700..720)', '2.00', '90', '4700', '8192'], lines)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(growth.draw(result, os.path.join(folder, 'x'))), 3)


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


if __name__ == '__main__':
    unittest.main()
