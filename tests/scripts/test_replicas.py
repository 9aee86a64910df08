"""Tests ./lab bench write-concern --replicas by a slice with few inserts on a real set, where this
machine can have the network for it."""

import argparse
import functools
import os
import tempfile
import unittest
from unittest import mock

import experiment
import measuring
import network
import replicas
import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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
