"""A slice of elections_campaign.py, which runs for an hour on demand."""

import os
import random
import time
import unittest

import elections_campaign
import server
import sets
from elections_campaign import cluster

FAULTS = 6


class Slice(unittest.TestCase):
    def setUp(self):
        try:
            for what in ('add', 'del'):
                cluster.network('netns', what, 'mddur-probe')
        except (cluster.ClusterError, FileNotFoundError) as refusal:
            self.skipTest('no networks can be made here: %s' % refusal)

    def test_a_few_faults_lose_nothing(self):
        seed = random.randrange(10 ** 9)
        with self.subTest(seed=seed):
            elections, acknowledged, reads, failures = elections_campaign.campaign(
                sets.Case.program, [os.environ.get(server.ENGINE, 'mmapv1')] * 3,
                random.Random(seed), time.monotonic(), FAULTS)
            self.assertEqual(failures, [])
            self.assertGreater(min(elections, acknowledged, reads), 0)
