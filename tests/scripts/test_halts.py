"""What perf/halts.py says of processors that halt, and when it keeps them from it."""

import contextlib
import os
import struct
import sys
import tempfile
import unittest
import unittest.mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'perf'))

import halts  # noqa: E402


def result(late, awake, driver=''):
    return {'halts': {'late_us': late, 'late_awake_us': awake, 'idle_driver': driver}}


class Text(unittest.TestCase):
    def text(self, *words):
        return ' '.join(halts.lines(result(*words), 80))

    def test_short_halts_do_not_bind(self):
        self.assertIn('ends 9 us late, and 8 us late', self.text(9, 8))
        self.assertIn('do not bind this machine', self.text(9, 8))
        self.assertIn('do not bind this machine', self.text(50, 50))

    def test_long_ones_do(self):
        self.assertIn('bind this machine', self.text(60, 10))
        self.assertIn('no idle driver', self.text(60, 10))
        self.assertIn('--awake', self.text(60, 10, 'intel_idle'))
        self.assertNotIn('no idle driver', self.text(60, 10, 'intel_idle'))

    def test_a_result_without_it(self):
        self.assertEqual(halts.lines({}, 80), [])
        self.assertEqual(len(halts.lines({'awake': True}, 80)), 1)


class Measured(unittest.TestCase):
    def test_here(self):
        found = halts.measure()
        self.assertGreater(found['late_us'], 0)
        self.assertGreater(found['late_awake_us'], 0)
        self.assertIn('bind this machine', halts.text(found))

    def test_spinners_end(self):
        with halts.spinners() as started:
            self.assertEqual(len(started), len(os.sched_getaffinity(0)))
            for process in started:
                self.assertEqual(os.sched_getscheduler(process.pid), os.SCHED_IDLE)
        self.assertTrue(all(process.returncode is not None for process in started))


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

    def test_nothing_happens_unwanted(self):
        with self.with_driver('acpi_idle'), halts.held_off(False):
            self.assertFalse(os.path.exists(self.file))

    def test_refused_where_it_has_no_effect(self):
        with self.with_driver(''), self.assertRaises(halts.CannotHold) as refused:
            with contextlib.ExitStack() as stack:
                stack.enter_context(halts.held_off(True))
        self.assertIn('no idle driver', str(refused.exception))


if __name__ == '__main__':
    unittest.main()
