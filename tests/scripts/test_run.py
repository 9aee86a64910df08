"""The runner of the test suite: which parts it takes, what it makes of their closing lines."""

import contextlib
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# perf/ has a module of the same name.
spec = importlib.util.spec_from_file_location('tests_run', os.path.join(TOP, 'tests', 'run.py'))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

SECONDS_MAX = 60  # only ends what hangs

# A part whose server is in a session of its own, and was started by a program that has ended.
PART = '''
import subprocess, sys, time
subprocess.run([sys.executable, '-c', """
import subprocess, sys
print(subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=subprocess.DEVNULL).pid)
"""])
print('at work', flush=True)
try:
    time.sleep(1000)
finally:
    print('much to say\\\\n' * 100000, flush=True)
'''
RUNNER = '''
import sys
sys.path.insert(0, %r)
sys.argv[1:] = ['slow']
import run
run.TIMES = %r
part = run.Part('slow | usual | python | others | - | 1 | %s | x')
run.read_parts = lambda: {'slow': part}
run.run_as_program()
'''


def part(script, name='p', beside='others', when='usual'):
    made = run.Part('%s | %s | python | %s | - | 5 | - | what' % (name, when, beside))
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

    def test_all(self):
        parts = run.read_parts()
        self.assertEqual(run.choose(parts, ['--all'])[0], list(parts.values()))
        with self.assertRaisesRegex(ValueError, "no test part '--all'"):
            run.choose(parts, ['unit', '--all'])

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
            return run.run_part(part(script), list(arguments), run.Screen().begin())

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
    def test_the_longest_first(self):
        with tempfile.TemporaryDirectory() as folder:
            parts = [part('', name) for name in 'abc']
            clock = run.Clock(parts, os.path.join(folder, 'times.json'))
            clock.took('b', 200, True)
            again = run.Clock(parts, clock.path)
            self.assertEqual([each.name for each in again.longest_first(parts)], ['b', 'a', 'c'])


class Together(unittest.TestCase):
    """Several parts: which ones run at the same time, and how that looks."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_parts(self, *parts):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), unittest.mock.patch.object(
                run, 'TIMES', os.path.join(self.folder, 'times')):
            made = run.Run(parts, [], ['none:mongod'])
            made.record = self
            totals = made.all()
        return totals, re.sub(r'\d+ s\b', 'N s', out.getvalue())

    def add(self, name, counts, seconds):
        """Stands for the record of the long parts."""
        return '%s %s\n' % (name, counts)

    def meeting(self, me, other):
        """A part that waits until the other one runs too."""
        return ("import os, time; print('%s begins', flush=True); open(%r, 'w').close()\n"
                "while not os.path.exists(%r): time.sleep(0.01)\n"
                "print('%s ends'); print('1 passed, 0 failed')"
                % (me, os.path.join(self.folder, me), os.path.join(self.folder, other), me))

    def test_two_at_a_time_and_each_says_its_own(self):
        totals, said = self.run_parts(part(self.meeting('a', 'b'), 'a'),
                                      part(self.meeting('b', 'a'), 'b'))
        self.assertEqual(totals, [2, 0, 0])
        self.assertEqual(said, ''.join(
            '== {0} == ({1} of 2, about N s left)\n{0} begins\n{0} ends\n'
            '-- {0}: 1 passed, 0 failed, 0 skipped, N s\n'.format(name, number)
            for number, name in enumerate('ab' if said.startswith('== a') else 'ba', 1)))

    def test_those_that_measure_run_alone(self):
        alone = ("import os, time; path = %r; os.mkdir(path); time.sleep(0.2); os.rmdir(path);"
                 "print('1 passed, 0 failed')" % os.path.join(self.folder, 'busy'))
        totals, said = self.run_parts(part(alone, 'a', 'alone'), part(alone, 'b', 'alone'),
                                      part("print('0 passed, 1 failed')", 'c'))
        self.assertEqual(totals, [2, 1, 0], said)
        self.assertLess(said.index('-- c'), said.index('== a'))

    def test_what_is_built_is_said_to_the_parts(self):
        self.assertEqual(self.run_parts(part(
            "import os; print('%d passed, 0 failed' % (os.environ['TESTS_BUILT'] == 'none:mongod'))"
        ))[0], [1, 0, 0])

    def test_long_parts_are_taken_down(self):
        _, said = self.run_parts(part("print('3 passed, 1 failed')", 'a', when='long'),
                                 part("print('3 passed, 1 failed')", 'b'))
        self.assertIn('\na [3, 1, 0]\n', said)
        self.assertNotIn('\nb [', said)


class Interrupted(unittest.TestCase):
    def test_nothing_of_the_part_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            part = os.path.join(folder, 'part.py')
            with open(part, 'w', encoding='utf-8') as file:
                file.write(PART)
            text = RUNNER % (os.path.join(TOP, 'tests'), os.path.join(folder, 'times'), part)
            with subprocess.Popen(
                    [sys.executable, '-c', text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
                self.assertIn('== slow ==', process.stdout.readline())
                server = int(process.stdout.readline())
                self.assertEqual(process.stdout.readline(), 'at work\n')
                os.killpg(process.pid, signal.SIGINT)
                said = process.stdout.read()
                self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
            self.assertTrue(said.endswith('lab: stopped\n'), said[-200:])
            self.assertNotIn('--', said, 'the end of a part that did not end')
            limit = time.monotonic() + SECONDS_MAX
            while os.path.exists('/proc/%d' % server):
                self.assertLess(time.monotonic(), limit)
                time.sleep(0.01)


if __name__ == '__main__':
    unittest.main()
