"""What perf/halts.py says of processors that halt, and when it keeps them from it."""

import contextlib
import os
import struct
import tempfile
import unittest
import unittest.mock


import halts


class Measured(unittest.TestCase):
    def test_here(self):
        found = halts.measure()
        self.assertGreater(found['late_us'], 0)
        self.assertGreater(found['late_awake_us'], 0)
        self.assertIn('bind this machine', halts.text(found))


class Held(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.file = os.path.join(folder, 'latency')
        self.enterContext(unittest.mock.patch.object(halts, 'LATENCY_FILE', self.file))

    def with_driver(self, name):
        return unittest.mock.patch.object(halts, 'idle_driver', lambda: name)

    def test_the_latency_is_0_while_it_lasts(self):
        with self.with_driver('acpi_idle'), halts.held_off(True):
            with open(self.file, 'rb') as file:
                self.assertEqual(struct.unpack('=i', file.read()), (0,))

    def test_refused_where_it_has_no_effect(self):
        with self.with_driver(''), self.assertRaises(halts.CannotHold) as refused:
            with contextlib.ExitStack() as stack:
                stack.enter_context(halts.held_off(True))
        self.assertIn('no idle driver', str(refused.exception))
