"""A slice of elections_campaign.py, which runs for an hour on demand."""

import os
import random
import time
import unittest

import elections_campaign
import server
import sets

FAULTS = 6


class Slice(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, 'only root can make networks')
    def test_a_few_faults_lose_nothing(self):
        seed = random.randrange(10 ** 9)
        with self.subTest(seed=seed):
            elections, acknowledged, reads, failures = elections_campaign.campaign(
                sets.Case.program, [os.environ.get(server.ENGINE, 'mmapv1')] * 3, random.Random(seed),
                time.monotonic(), FAULTS)
            self.assertEqual(failures, [])
            self.assertGreater(min(elections, acknowledged, reads), 0)
