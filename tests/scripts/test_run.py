"""The runner of the test suite: which parts it takes, what it makes of their closing lines."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# perf/ has a module of the same name.
spec = importlib.util.spec_from_file_location('tests_run', os.path.join(TOP, 'tests', 'run.py'))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


def part(script, name='p'):
    made = run.Part('%s | usual | python | 5 | - | what' % name)
    made.command = [sys.executable, '-c', script]
    return made


class Parts(unittest.TestCase):
    def test_every_part_has_its_script(self):
        for made in run.read_parts().values():
            self.assertTrue(os.path.exists(os.path.join(TOP, made.command[1])), made.name)

    def test_usual_ones_when_none_is_named(self):
        parts = run.read_parts()
        chosen, _ = run.choose(parts, [])
        self.assertIn(parts['unit'], chosen)
        self.assertNotIn(parts['tidy'], chosen)

    def test_unknown_part(self):
        with self.assertRaisesRegex(ValueError, "no test part 'nix'; there are: unit "):
            run.choose(run.read_parts(), ['unit', 'nix'])

    def test_arguments_want_one_part(self):
        with self.assertRaisesRegex(ValueError, 'exactly one part'):
            run.choose(run.read_parts(), ['unit', 'js', '--', 'x'])


class Counting(unittest.TestCase):
    def counts(self, script, arguments=()):
        self.out = io.StringIO()
        with contextlib.redirect_stdout(self.out):
            return run.run_part(part(script), list(arguments))

    def test_closing_line(self):
        self.assertEqual(self.counts('print("ok"); print("3 passed, 0 failed, 2 skipped")'),
                         [3, 0, 2])
        self.assertIn('ok\n', self.out.getvalue())

    def test_no_closing_line(self):
        self.assertEqual(self.counts('print("hello")'), [0, 1, 0])
        self.assertIn('no closing line', self.out.getvalue())

    def test_bad_exit_code(self):
        self.assertEqual(self.counts('print("3 passed, 0 failed"); raise SystemExit(4)'), [3, 1, 0])

    def test_nothing_matched(self):
        self.assertEqual(self.counts('print("0 passed, 0 failed")', ['nosuch']), [0, 1, 0])
        self.assertIn('no test was run; does nosuch name one?', self.out.getvalue())


class Times(unittest.TestCase):
    def test_last_run_beats_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'times.json')
            first, second = part('', 'a'), part('', 'b')
            clock = run.Clock([first, second], path)
            self.assertEqual(clock.guess(), 'about 10 s left')
            clock.took('a', 200, True)
            self.assertEqual(clock.guess(), 'about 5 s left')
            self.assertEqual(run.Clock([first, second], path).guess(), 'about 3 min left')

    def test_a_part_of_a_part_is_not_remembered(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'times.json')
            run.Clock([part('', 'a')], path).took('a', 200, False)
            self.assertFalse(os.path.exists(path))


if __name__ == '__main__':
    unittest.main()
