"""perf/iibench_sizes.py: which kept results make a line of the table."""

import json
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'perf'))

import iibench_sizes  # noqa: E402


class Kept(unittest.TestCase):
    def keep(self, day, name, rows, *lines):
        folder = os.path.join(self.top, 'perf', 'results', day, '2core')
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, 'iibench-%s.json' % name), 'w', encoding='utf-8') as file:
            json.dump({'rows': rows, 'clients': 8,
                       'lines': [{'name': line, 'runs': []} for line in lines]}, file)

    def names(self):
        with mock.patch.object(iibench_sizes.articles, 'TOP', self.top):
            return [(result['rows'], [line['name'] for line in result['lines']])
                    for result in iibench_sizes.kept()]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name

    def test_those_of_one_size_and_day_are_one(self):
        self.keep('20261101', 'a', 20000, 'old')
        self.keep('20261102', 'a', 20000, 'InnoDB')
        self.keep('20261102', 'b', 20000, 'ours')
        self.keep('20261102', 'c', 1000, 'small')
        self.assertEqual(self.names(), [(1000, ['small']), (20000, ['InnoDB', 'ours'])])


if __name__ == '__main__':
    unittest.main()
