"""The figures in README.md are those of a kept result."""

import json
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'site_scons', 'tests/lib')]

import run  # noqa: E402

RESULT = os.path.join(TOP, 'perf', 'results', '20261122', 'vm-2core', 'ladder.json')


class Ladder(unittest.TestCase):
    def test_is_what_the_program_prints_of_the_kept_result(self):
        with open(RESULT, encoding='utf-8') as file:
            printed = run.table(json.load(file)).split('\n')
        with open(os.path.join(TOP, 'README.md'), encoding='utf-8') as file:
            shown = [line[4:] for line in file.read().split('\n') if line.startswith('    ')]
        begin = next(n for n, line in enumerate(shown) if line.startswith('This machine was'))
        end = next(n for n, line in enumerate(shown) if line.startswith('conf/durable.yaml     '))
        rows = [line for line in shown[begin:end + 3] if line]
        self.assertGreater(len(rows), 15)
        self.assertEqual([line for line in rows if line not in printed], [])


if __name__ == '__main__':
    unittest.main()
