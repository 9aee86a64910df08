"""Where the files of the unit tests go, which of their cases are tried, and which failed."""

import datetime
import os
import sys
import unittest
import unittest.mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests'))

import unit  # noqa: E402


def environment(**words):
    return unittest.mock.patch.dict(os.environ, words, clear=True)


class Slices(unittest.TestCase):
    def test_each_day_has_the_next_one(self):
        today = datetime.date.today().toordinal()
        with environment():
            self.assertIn(int(unit.chosen_slice()), (today, today + 1))  # it may be midnight


class Failed(unittest.TestCase):
    def test_are_named(self):
        tests = [{'name': 'Holds'}, {'name': 'Breaks', 'failures': [{'failure': 'x'}]}]
        self.assertEqual(unit.failed_tests({'testsuites': [{'name': 'T', 'testsuite': tests}]}),
                         ['T.Breaks'])


if __name__ == '__main__':
    unittest.main()
