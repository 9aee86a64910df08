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

    def test_a_day_can_be_repeated(self):
        with environment(TEST_SLICE='739000'):
            self.assertEqual(unit.chosen_slice(), '739000')


class Files(unittest.TestCase):
    def folder(self, free):
        with unittest.mock.patch('shutil.disk_usage') as usage:
            usage.return_value.free = free
            return unit.folder_for_files('/memory')

    def test_memory_where_it_has_room(self):
        with environment():
            self.assertEqual(self.folder(unit.MEMORY_BYTES_MIN), '/memory')
            self.assertEqual(self.folder(unit.MEMORY_BYTES_MIN - 1), unit.SCRATCH)

    def test_the_disk_where_there_is_no_such_folder(self):
        with environment():
            self.assertEqual(unit.folder_for_files('/no/such/folder'), unit.SCRATCH)

    def test_the_disk_for_every_case(self):
        with environment(TEST_SLICE=unit.WHOLE):
            self.assertEqual(self.folder(1 << 40), unit.SCRATCH)


class Failed(unittest.TestCase):
    def test_are_named(self):
        tests = [{'name': 'Holds'}, {'name': 'Breaks', 'failures': [{'failure': 'x'}]}]
        self.assertEqual(unit.failed_tests({'testsuites': [{'name': 'T', 'testsuite': tests}]}),
                         ['T.Breaks'])


if __name__ == '__main__':
    unittest.main()
