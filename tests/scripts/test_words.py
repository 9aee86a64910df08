"""Every part of the test suite refuses words and options that mean nothing to it before it builds:
with a sentence, and without a traceback.
"""

import concurrent.futures
import os
import subprocess
import tempfile
import unittest

import parts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AT_ONCE = 2
SECONDS_MAX = 120  # only ends what hangs
SCONS = '#!/bin/sh\necho "$0 $*" >> "$NOTES"\nexit 2\n'
REFUSED = r"'.*' is no (number|time|state); give "


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.notes = os.path.join(folder.name, 'notes')
        scons = os.path.join(folder.name, 'scons')
        with open(scons, 'w', encoding='utf-8') as file:
            file.write(SCONS)
        os.chmod(scons, 0o755)
        self.environment = dict(os.environ, NOTES=self.notes,
                                PATH=folder.name + os.pathsep + os.environ['PATH'])

    def refusal(self, part, *words):
        """(exit code, all that it says)."""
        ended = subprocess.run(part.with_arguments(words), cwd=TOP, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=SECONDS_MAX, check=False, env=self.environment)
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
