"""How the parts of the tests are chosen and run (tests/lib/parts.py, tests/conftest.py): which run
beside which, what is made of their closing lines, what is left of them after Ctrl-C; which words
name tests of a part; the record of the long parts."""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import full_run
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
        pathlib.Path(self.path(name + '.py')).write_text(textwrap.dedent(script), 'utf-8')
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
                             stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX)
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


def long_parts():
    with open(os.path.join(TOP, 'tests', 'parts.txt'), encoding='utf-8') as file:
        rows = [[field.strip() for field in line.split('|')] for line in file if '|' in line]
    return [row[0] for row in rows if row[1] == 'long']


class ThisTree(unittest.TestCase):
    def test_the_long_parts_passed_lately(self):
        parts = long_parts()
        self.assertGreater(len(parts), 5)
        self.assertEqual(sorted(full_run.read(TOP)), sorted(parts))
        if not full_run.is_whole_history(TOP):
            self.skipTest('commits cannot be counted here')
        self.assertEqual(full_run.problems(TOP, parts), [], './lab test PART')


class Samples(unittest.TestCase):
    def setUp(self):
        self.top = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(self.top, 'tests'))
        self.git('init', '-q')
        self.commit('first')

    def git(self, *words):
        return subprocess.run(['git', '-C', self.top, '-c', 'user.name=x', '-c', 'user.email=x@x',
                               *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def commit(self, text):
        self.git('commit', '-q', '--allow-empty', '-m', text)

    def problems(self):
        return full_run.problems(self.top, ['fuzz', 'tidy'])

    def write(self, *lines):
        with open(os.path.join(self.top, full_run.NAME), 'w', encoding='utf-8') as file:
            print(full_run.HEAD, *lines, sep='\n', file=file)
        self.git('add', '-A')
        self.commit('the record')

    def passed(self, *parts):
        """Lines of parts that passed on the last commit."""
        commit = self.git('rev-parse', 'HEAD').strip()
        return ['%s %s 2026-11-26 3 0 0 1' % (part, commit) for part in parts]

    def test_a_part_without_a_line(self):
        self.assertEqual([line.split(':')[0] for line in self.problems()], ['fuzz', 'tidy'])
        self.write(*self.passed('fuzz'))
        self.assertRegex(self.problems()[0], '^tidy: has no line in tests/last_full_run')

    def test_a_run_is_not_forgotten(self):
        for fuzz in (self.passed('fuzz')[0], 'fuzz not-run-yet 2026-11-26'):
            self.write(fuzz, *self.passed('tidy'))
        self.assertRegex(self.problems()[0], '^fuzz: has run before')

    def test_what_passed(self):
        record = full_run.Record(self.top)
        self.assertIn(' taken down', record.add('fuzz', [3, 0, 1], 12.3))
        self.assertIn(' taken down', record.add('tidy', [1, 0, 0], 2))
        self.assertEqual(self.problems(), [])
        self.assertEqual(full_run.read(self.top)['fuzz'][2:], ['3', '0', '1', '12'])

    def test_what_failed(self):
        full_run.Record(self.top).add('fuzz', [3, 2, 0], 1)
        self.assertRegex(self.problems()[0], '^fuzz: 2 failed on 2')

    def test_what_is_too_old(self):
        for part in ('fuzz', 'tidy'):
            full_run.Record(self.top).add(part, [3, 0, 0], 1)
        for number in range(full_run.COMMITS_MAX):
            self.commit(str(number))
        self.assertEqual(self.problems(), [])
        self.commit('one more')
        self.assertRegex(self.problems()[0], '^fuzz: ran 301 commits ago')

    def test_sources_of_no_commit_are_not_taken_down(self):
        before = full_run.Record(self.top)
        pathlib.Path(os.path.join(self.top, 'x')).write_text('x', 'utf-8')
        for record in (before, full_run.Record(self.top)):
            self.assertIn('not taken down', record.add('fuzz', [3, 0, 0], 1))
        self.assertEqual(full_run.read(self.top), {})


AT_ONCE = 2
SCONS = '#!/bin/sh\necho "$0 $*" >> "$NOTES"\nexit 2\n'
REFUSED = r"'.*' is no (number|time|state); give "


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.notes = os.path.join(folder.name, 'notes')
        scons = os.path.join(folder.name, 'scons')
        pathlib.Path(scons).write_text(SCONS, 'utf-8')
        os.chmod(scons, 0o755)
        self.environment = dict(os.environ, NOTES=self.notes,
                                PATH=folder.name + os.pathsep + os.environ['PATH'])

    def refusal(self, part, *words):
        """(exit code, all that it says)."""
        ended = subprocess.run(part.with_arguments(words), cwd=TOP, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=SECONDS_MAX, env=self.environment)
        return ended.returncode, ended.stdout

    def test_every_part_says_what_it_does_not_know(self):
        every = {part.command[-1 if part.is_of_pytest else 1]: part
                 for part in parts.read_parts().values()
                 if os.path.exists(part.command[0])}.values()  # of parts by one script one
        self.assertGreater(len(every), 10)
        cases = [(part, word) for part in every for word in ('nosuch-word', '--nosuch-option')]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = pool.map(lambda case: self.refusal(*case), cases)
            for (part, word), (code, said) in zip(cases, answers):
                with self.subTest([part.name, word]):
                    self.assertNotEqual(code, 0)
                    self.assertIn(word, said)
                    self.assertNotIn('Traceback', said)
                    self.assertNotIn(' passed', said)
        self.assertFalse(os.path.exists(self.notes), 'something was built')

    def test_a_word_of_one_that_has_names_is_answered_with_these(self):
        for name, known in (('unit', 'test_journal'), ('crash', 'full-disk'), ('tidy', 'journal/'),
                            ('crash-patched', 'full-disk'), ('windows', 'docs/developing.md'),
                            ('fuzz', 'match'), ('load', 'soak')):
            part = parts.read_parts()[name]
            if not os.path.exists(part.command[0]):
                continue
            with self.subTest(name):
                self.assertIn(known, self.refusal(part, 'nosuch-word')[1])

    def test_numbers_that_are_none_are_refused(self):
        for name, words in (('js', ['--jobs', '0']), ('mutants', ['--jobs', '-1']),
                            ('differential', ['--seconds', '-500']), ('fuzz', ['--minutes', 'nan']),
                            ('crash-states', ['--states', '0']), ('crash-states', ['--at', '7']),
                            ('load', ['--megabytes', '17']), ('damage', ['--cases', 'x']),
                            ('crash', ['--rounds', '0']), ('crash-blocks', ['--states', '-1'])):
            part = parts.read_parts()[name]
            if not os.path.exists(part.command[0]):
                continue
            with self.subTest([name, *words]):
                code, said = self.refusal(part, *words)
                self.assertEqual(code, 2)
                self.assertRegex(said, REFUSED)
        self.assertFalse(os.path.exists(self.notes), 'something was built')
