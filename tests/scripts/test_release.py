"""./lab release --check: each step passes where it should and names what is wrong where it is not,
on small checkouts; what it prints, and its exit code."""

import datetime
import json
import os
import re
import subprocess
import tempfile
import unittest
from unittest import mock

from bare import TOP, Bare
from lab import base, release
import full_run
import program_version

HEADER = '''From: A <a@b.net>

Text.

%s
Option: journalX
Result: %s
%s
--- a/src/x
+++ b/src/x
'''
QUIET = {'slug': 'journal-x', 'floors': [1], 'idle': [{'seconds': 1, 'busy': 0}], 'steal': 0,
         'floors_moved': 0, 'device': 'vda', 'load': 0}


class Steps(unittest.TestCase):
    def setUp(self):
        self.top = self.enterContext(tempfile.TemporaryDirectory(dir='/tmp'))
        build = os.path.join(self.top, 'build')
        os.makedirs(build)
        patched = mock.patch.multiple(base, TOP=self.top, BUILD=build)
        patched.start()
        self.addCleanup(patched.stop)
        self.write('.gitignore', 'build/\n')
        self.write(program_version.FILE, 'constexpr const char* kProgramVersion = "1.2.3";\n')
        self.git('init', '-q')
        self.commit()

    def write(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def git(self, *words):
        return subprocess.run(
            ['git', '-c', 'user.name=A', '-c', 'user.email=a@b.net', '-c', 'tag.gpgsign=false',
             '-c', 'commit.gpgsign=false', *words], cwd=self.top, stdout=subprocess.PIPE,
            text=True, check=True).stdout.strip()

    def commit(self):
        self.git('add', '-A')
        self.git('commit', '-q', '--allow-empty', '-m', 'x')
        return self.git('rev-parse', 'HEAD')

    def passes(self, look):
        self.assertEqual(look()[0], [])

    def fails(self, look, *parts):
        found = look()[0]
        self.assertTrue(found)
        for part in parts:
            self.assertIn(part, ' '.join(found))

    def test_clean(self):
        self.passes(release.clean)
        self.write('new file', 'x')
        self.fails(release.clean, 'new file')

    def test_version(self):
        for heading, part in (('', 'no heading'), ('## 1.2.3\n', 'no heading'),
                              ('## [1.2.3] - Unreleased\n', 'the day of the release'),
                              ('## [1.2.2] - 2026-01-31\n', 'is of 1.2.2, and'),
                              ('## [1.2.4] - 2026-01-31\n## [1.2.3] - 2026-01-30\n', 'of 1.2.4'),
                              ('## [1.2.3] - 2026-01-32\n', 'the day of the release'),
                              ('## [1.2.3] - 2996-01-31\n', 'a day to come')):
            with self.subTest(heading):
                self.write('CHANGELOG.md', '# Changelog\n\n' + heading)
                self.fails(release.versions, part)
        today = datetime.datetime.now(datetime.timezone.utc).date()
        self.write('CHANGELOG.md', '# C\n\n## [1.2.3] - %s\n\n## [1.2.2] - 2026-01-01\n' % today)
        self.passes(release.versions)
        self.git('tag', 'v1.2.3')
        self.passes(release.versions)
        self.commit()
        self.fails(release.versions, 'another commit has that tag')

    def test_usual_parts(self):
        self.fails(release.usual_parts, 'have not run')
        record = full_run.Record(self.top)
        record.add_usual([5, 1, 0])
        self.fails(release.usual_parts, '1 failed')
        record.add_usual([5, 0, 0])
        self.passes(release.usual_parts)
        self.write(full_run.NAME, '#\n')
        self.commit()
        self.passes(release.usual_parts)
        self.write('src/new', 'x')
        self.fails(lambda: (full_run.Record(self.top).add_usual([1, 0, 0]),
                            self.commit(), release.usual_parts())[2], 'src/new')

    def test_long_parts(self):
        parts = mock.Mock(is_usual=False), mock.Mock(is_usual=True)
        parts[0].name, parts[1].name = 'slow', 'quick'
        with mock.patch('parts.read_parts', return_value=dict(zip('ab', parts))):
            self.fails(release.long_parts, 'slow: has no line')
            self.write(full_run.NAME, 'slow not-run-yet 2026-11-26\n')
            self.fails(release.long_parts, 'slow: has not run yet')
            head = self.commit()
            self.write(full_run.NAME, 'slow %s 2026-11-26 3 1 0 9\n' % head)
            self.fails(release.long_parts, 'slow: 1 failed')
            self.write(full_run.NAME, 'slow %s 2026-11-26 3 0 0 9\n' % head)
            self.passes(release.long_parts)
            with mock.patch.object(full_run, 'COMMITS_MAX', 0):
                self.commit()
                self.fails(release.long_parts, 'slow: ran 1 commits ago')

    def measured(self, result, quoted=True, text='', more=''):
        name = 'perf/results/20260101/2core/journal-x.json'
        self.write(name, json.dumps(result))
        self.write('patches/series', 'journal-x.patch\n')
        self.write('patches/journal-x.patch', HEADER % (
            text + '\n' * bool(text), name if quoted else 'none', more + '\n' * bool(more)))
        return release.measurements()

    def test_measurements(self):
        noisy = dict(QUIET, steal=0.5)
        self.assertEqual(self.measured(QUIET), ([], []))
        self.assertIn('does not say', self.measured(noisy)[0][0])
        found, notes = self.measured(noisy, text='Not quiet enough for conclusions: it was so.\n')
        self.assertEqual((found, len(notes)), ([], 1))
        found, notes = self.measured(noisy, more='Awaits-measurement: it was loud')
        self.assertEqual((found, len(notes)), ([], 2))
        self.assertIn('quoted by no patch', ' '.join(self.measured(QUIET, quoted=False)[0]))
        self.assertIn('no result', ' '.join(self.measured(QUIET, quoted=False)[0]))
        found, notes = self.measured({'runs': 1})
        self.assertEqual(found, [])
        self.assertIn('does not say how quiet', notes[0])


class Command(Bare):
    def steps(self, *found):
        return [release.Step('step%d' % number, 'what %d' % number, './lab do%d' % number,
                             lambda each=each: each) for number, each in enumerate(found)]

    def test_prints_each_step_and_what_to_do(self):
        with mock.patch('lab.needs.compiler'), mock.patch.object(
                release, 'STEPS', self.steps(([], ['by the way']), (['it is bad'], []))):
            code, said = self.lab('release', '--check')
            self.assertEqual(code, 1)
            self.assertEqual(said, 'ok   step0         what 0\n     (by the way)\n'
                             'FAIL step1         what 1\n     it is bad\n     -> ./lab do1\n'
                             '1 steps passed, 1 failed\n')
            code, said = self.lab('release', '--check', 'step0')
            self.assertEqual((code, said.split('\n')[-2]), (0, '1 steps passed, 0 failed'))
            self.assertEqual(self.lab('release', '--list')[1].count('./lab do'), 2)
            self.assertEqual(self.lab('release', '--check', 'nosuch')[0], 2)
            self.assertEqual(self.lab('release')[0], 2)

    def test_the_page_names_steps_and_files_that_are(self):
        with open(os.path.join(TOP, 'docs', 'developing.md'), encoding='utf-8') as file:
            page = file.read().split('\n## Releasing\n')[1].split('\n## ')[0]
        calls = re.findall(r'`\./lab release --check((?: [a-z]+)*)`', page)
        named = {name for call in calls for name in call.split()}
        self.assertTrue(named)
        self.assertLessEqual(named, {step.name for step in release.STEPS})
        self.assertIn('`%s`, the only place' % program_version.FILE, page)
