"""Tests ./lab bench write-concern --replicas: its table and sentences, and a slice with few inserts
on a real set, where this machine can have the network for it."""

import argparse
import functools
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'tests/lib')]

import experiment  # noqa: E402
import findings  # noqa: E402
import measuring  # noqa: E402
import network  # noqa: E402
import replicas  # noqa: E402
import server  # noqa: E402

HEAD = {'idle': [{'seconds': 1, 'busy': 0.01}], 'steal': 0, 'floors_moved': 0, 'device': 'vdx',
        'load': 0.5, 'floors': [5000.0], 'device_delay_ms': 0,
        'host': {'file_system': 'ext4', 'kernel': '6.1', 'cores': 2}}


def lines(near, far):
    return {str(replicas.NEAR): {'least_ms': near - 0.1, 'p50_ms': near},
            str(replicas.FAR): {'least_ms': far - 0.1, 'p50_ms': far}}


def a_run(mean, least, p50, most, near=1.0, far=72.0):
    return {'mean_us': 1e3 * mean, 'least_us': 1e3 * least, 'p50_us': 1e3 * p50,
            'p99_us': 1e3 * most, 'most_us': 1e3 * most, 'inserts': 200, 'seconds': 0.2 * mean,
            'per_second': 1e3 / mean, 'server_cpu_us': 50, 'lines_before': lines(near, far),
            'lines_after': lines(near, far)}


def a_row(kind, concern, client, *runs, clients=1, name='base'):
    return {'server': name, 'kind': kind, 'concern': concern, 'client': client, 'clients': clients,
            'runs': list(runs)}


def a_result(*rows):
    return {**HEAD, 'rows': list(rows), 'round_trips_ms': [0.864, 71.187], 'inserts': 200,
            'document_bytes': 200, 'rounds': 2}


class Table(unittest.TestCase):
    def words(self, result):
        return [line.split() for line in replicas.table(result).splitlines()]

    def test_the_article_stands_above_ours(self):
        words = self.words(a_result(
            a_row('set', 'w:1', 'pymongo', a_run(0.3, 0.2, 0.25, 9), a_run(0.5, 0.1, 0.4, 7)),
            a_row('set', 'w:3', 'pymongo', a_run(80, 72.5, 75, 200))))
        theirs = words.index(['the', 'article,', 'pymongo', '(disk,', 'SSD)', 'average', '0.07',
                              '0.13', '34.19,', '11.18', '14.26', '311'])
        self.assertEqual(words[theirs + 1:theirs + 3],
                         [['least', '0.06', '0.11', '34.1,', '11.11', '1.65', '97'],
                          ['most', '0.11', '0.32', '34.28,', '11.24', '867.29', '1329']])
        self.assertEqual(words[theirs + 3:theirs + 6],
                         [['base,', 'pymongo', 'average', '0.40', '80.00'],
                          ['least', '0.10', '72.50'], ['most', '9.00', '200.00']])

    def test_a_wait_for_others_is_so_many_round_trips_of_its_line(self):
        result = a_result(a_row('set', 'w:2', 'C', a_run(1.6, 1.2, 1.5, 9, near=1.0)),
                          a_row('set', 'w:3', 'C', a_run(80, 72.5, 79.2, 200), clients=8),
                          a_row('set', 'w:1', 'C', a_run(0.3, 0.2, 0.24, 9)),
                          a_row('alone', 'w:1', 'C', a_run(0.3, 0.2, 0.2, 9)))
        words = self.words(result)
        self.assertIn(['base', 'set', 'w:2', 'C', '1', '1.60', '(1.60..1.60)', '1.20', '1.50',
                       '9.00', '9.00', '625', '1.50', '50'], words)
        self.assertIn(['base', 'set', 'w:3', 'C', '8', '80.00', '(80.00..80.00)', '72.50', '79.20',
                       '200.00', '200.00', '12', '1.10', '50'], words)
        said = replicas.findings(result)
        self.assertEqual(said, [
            'base: an insert with w:2 takes 1.50 ms in the middle, and the line by itself 1.00 ms: '
            '1.50 round trips, 0.50 ms more than one.',
            'base: with w:1 it takes 0.240 ms on the set and 0.200 ms without a set: +20 %.'])
        self.assertEqual(findings.of_replicas(result).found, said)

    def test_of_what_was_not_measured_nothing_is_said(self):
        result = a_result(a_row('set', 'w:1', 'C', a_run(0.3, 0.2, 0.24, 9)),
                          a_row('set', 'w:2', 'C'))
        self.assertEqual(replicas.findings(result), [])
        self.assertNotIn('w:2', [words[2] for words in self.words(result) if words[1:2] == ['set']])

    def test_a_server_alone_has_no_others_to_wait_for(self):
        cells = replicas.cells_of(argparse.Namespace(clients=[1, 8], concerns=replicas.CONCERNS))
        self.assertNotIn('w:2', {concern for _, kind, concern, _, _ in cells if kind == 'alone'})
        self.assertIn(('base', 'set', 'w:3', 'C', 8), cells)
        self.assertIn(('base', 'set', 'w:3', 'pymongo', 1), cells)
        self.assertNotIn(('base', 'set', 'w:3', 'pymongo', 8), cells)


class Slice(unittest.TestCase):
    def test_a_set_in_two_places_is_measured(self):
        server.build('none', '', ['mongod', 'insert_latency', 'delay_router', 'sync_floor'])
        router = os.path.join(experiment.PROGRAMS, 'delay_router')
        why = network.missing(router)
        if why:
            self.skipTest(why)
        arguments = argparse.Namespace(inserts=3, rounds=1, clients=[1, 2],
                                       concerns=replicas.CONCERNS)
        with tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build', 'scratch')) as folder, \
                mock.patch.object(replicas, 'SERVERS', [('base', 'none', measuring.SHORT)]), \
                mock.patch.object(replicas, 'FAR_MS', 4), \
                network.Network(router, len(replicas.PLACES)) as net:
            replicas.connect_places(net)
            net.enter(0)
            trial = experiment.Experiment(folder, arguments)
            trial.result.update(rows=[], round_trips_ms=[replicas.NEAR_MS, 4], inserts=3,
                                document_bytes=200, rounds=1)
            result = trial.run(functools.partial(replicas.measure, arguments=arguments, net=net))
        self.assertNotIn('stopped', result)
        self.assertEqual(len(result['rows']), 3 * (len(replicas.ALONE_CONCERNS)
                                                   + len(replicas.CONCERNS)))
        # What another member has to have takes the way there and back.
        least_ms = {'w:2': replicas.NEAR_MS, 'w:3': 4}
        for row in result['rows']:
            self.assertGreaterEqual(row['runs'][0]['least_us'],
                                    1e3 * least_ms.get(row['concern'], 0))
            self.assertEqual(row['runs'][0]['inserts'], 3 * row['clients'])
            self.assertGreaterEqual(row['runs'][0]['lines_before']['2']['least_ms'], 4)
        self.assertIn('on the set', replicas.table(result))


if __name__ == '__main__':
    unittest.main()
