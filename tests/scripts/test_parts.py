"""How the parts of the tests are chosen and run (tests/lib/parts.py, tests/conftest.py): which run
beside which, what is made of their closing lines, what is left of them after Ctrl-C."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import parts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS_MAX = 120  # only ends what hangs

# A part whose server is in a session of its own, and was started by a program that has ended.
SLOW = '''
    import os, subprocess, sys, time
    path = %r
    subprocess.run([sys.executable, '-c', 'import subprocess; open(%%r, "w").write(str('
                    'subprocess.Popen(["sleep", "1000"], start_new_session=True).pid))'
                    %% (path + '.new')])
    os.rename(path + '.new', path)
    try:
        time.sleep(1000)
    finally:
        print('much to say\\n' * 100000, flush=True)
'''


class Parts(unittest.TestCase):
    def test_every_part_has_its_script(self):
        for made in parts.read_parts().values():
            for word in made.command:
                if '/' in word and not os.path.isabs(word) and '=' not in word:
                    self.assertTrue(os.path.exists(os.path.join(TOP, word)), made.name)

    def test_which_ones_are_meant(self):
        known = parts.read_parts()
        chosen, arguments = parts.choose(known, [])
        self.assertIn(known['unit'], chosen)
        self.assertNotIn(known['sanitize'], chosen)
        self.assertEqual(arguments, [])
        self.assertEqual(parts.choose(known, ['--all'])[0], list(known.values()))
        self.assertEqual(parts.choose(known, ['js', '--', 'core/'])[1], ['core/'])
        for words, sentence in ((['unit', 'nix'], "no test part 'nix'; there are: unit"),
                                (['unit', 'js', '--', 'x'], 'exactly one part')):
            with self.assertRaisesRegex(ValueError, sentence):
                parts.choose(known, words)


class Together(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        os.symlink(os.path.join(TOP, 'tests', 'conftest.py'), self.path('conftest.py'))

    def path(self, name):
        return os.path.join(self.folder, name)

    def part(self, name, script, beside='others'):
        """A line and a script for a part."""
        with open(self.path(name + '.py'), 'w', encoding='utf-8') as file:
            file.write(textwrap.dedent(script))
        with open(self.path('parts.txt'), 'a', encoding='utf-8') as file:
            print(name, 'usual', 'python', beside, '-', 5, self.path(name + '.py'), 'what',
                  sep=' | ', file=file)

    def command(self, *names):
        return [sys.executable, '-m', 'pytest', '-c', os.path.join(TOP, 'tests', 'pytest.ini'),
                '--rootdir', self.folder, '-qq', '--tb=no', '--no-summary',
                *(['-n', '4', '--maxschedchunk=1'] if len(names) > 1 else ['-s']),
                *('%s::%s' % (self.path('parts.txt'), name) for name in names)]

    def run_parts(self, *names):
        """(exit code, the lines that it says)."""
        run = subprocess.run(self.command(*names), cwd=self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False, timeout=SECONDS_MAX)
        return run.returncode, [line for line in run.stdout.splitlines() if line]

    def test_closing_lines_add_up(self):
        self.part('a', "print('much')\nprint('3 passed, 0 failed, 1 skipped')")
        self.part('b', "print('5 passed, 0 failed')")
        code, said = self.run_parts('a', 'b')
        self.assertEqual((code, said[-1]), (0, '8 passed, 0 failed, 1 skipped'), said)
        for line in ('much', '-- b: 5 passed, 0 failed, 0 skipped, 0 s'):
            self.assertIn(line, said)
        self.assertRegex('\n'.join(said), r'== [ab] == \(2 of 2, about \d+ s left\)')

    def test_what_fails(self):
        for script, sentence in (
                ("print('FAIL x: 1 failed')\nprint('2 passed, 1 failed')\nexit(1)", 'FAIL x: '),
                ('exit(3)', 'FAIL p: .* ended with exit code 3 and no closing line'),
                ("print('1 passed, 0 failed')\nexit(1)", 'FAIL p: exit code 1 although no test'),
                ("print('0 passed, 0 failed')", 'FAIL p: no test was run')):
            with self.subTest(sentence):
                if os.path.exists(self.path('parts.txt')):
                    os.remove(self.path('parts.txt'))
                self.part('p', script)
                self.part('q', "print('4 passed, 0 failed')")
                code, said = self.run_parts('p', 'q')
                self.assertEqual(code, 1)
                self.assertRegex(said[-1], '^[0-9] passed, 1 failed$')
                self.assertRegex(said[-2], sentence)  # once more at the end

    def test_some_at_a_time_and_those_that_measure_alone(self):
        # Each of two waits for the other; the third finds none of them at work, whenever it runs.
        meet = ("import os, time\nopen(%r, 'w').close()\n"
                "while not os.path.exists(%r): time.sleep(0.01)\n"
                "time.sleep(0.3)\nopen(%r, 'w').close()\nprint('1 passed, 0 failed')")
        for me, other in ('ab', 'ba'):
            self.part(me, meet % (self.path(me), self.path(other), self.path(me + '-ended')))
        self.part('alone', "import os, time\n"
                  "def at_work(): return sum(os.path.exists(each) and not os.path.exists(each + "
                  "'-ended') for each in %r)\n"
                  "found = at_work()\ntime.sleep(0.3)\nfound = max(found, at_work())\n"
                  "print('%%d passed, %%d failed' %% (2 - found, found))"
                  % [self.path('a'), self.path('b')], beside='alone')
        code, said = self.run_parts('alone', 'a', 'b')
        self.assertEqual((code, said[-1]), (0, '4 passed, 0 failed'), said)

    def test_nothing_of_the_parts_is_left_after_an_interrupt(self):
        for name in ('slow', 'slower'):
            self.part(name, SLOW % self.path(name + '.pid'))
        for names in (['slow'], ['slow', 'slower']):
            with self.subTest(names), tempfile.TemporaryFile('w+') as log:
                process = subprocess.Popen(self.command(*names), cwd=self.folder, stdout=log,
                                           stderr=log, start_new_session=True)
                limit = time.monotonic() + SECONDS_MAX
                servers = [self.path(name + '.pid') for name in names]
                while not all(map(os.path.exists, servers)) and time.monotonic() < limit:
                    time.sleep(0.01)
                os.killpg(process.pid, signal.SIGINT)
                code = process.wait(SECONDS_MAX)
                log.seek(0)
                said = log.read()
                self.assertEqual(code, 130, said[-2000:])
                self.assertIn('lab: stopped', said)
                for path in servers:
                    with open(path, encoding='ascii') as file:
                        self.assertFalse(os.path.exists('/proc/' + file.read()))
                    os.remove(path)
