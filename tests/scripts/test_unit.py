"""Where the files of the unit tests go, which of their cases are tried, and which failed."""

import datetime
import os
import unittest
import unittest.mock


import unit


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
