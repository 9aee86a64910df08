"""Tests perf/pr.py: the text of ./lab pr for each patch of the series."""

import os
import re
import subprocess
import unittest
import unittest.mock

import pr
import staging

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADINGS = ['FOR WHICH SERVERS', 'PROBLEM', 'CHANGE', 'WHERE IT BELONGS UPSTREAM', 'EVIDENCE',
            'RISK', 'TO REPRODUCE, in a checkout on Debian 12']
SLUGS = staging.series(TOP)


def header_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        return staging.header_of(file.read())


class Ticket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.patches = [(slug, pr.text_of(slug), header_of(slug)) for slug in SLUGS]

    def test_has_every_heading_in_order_with_something_under_it(self):
        for _, text, _ in self.patches:
            self.assertEqual(re.findall(r'^[A-Z]{2}[A-Z ]+(?:,.*)?$', text, re.MULTILINE), HEADINGS)
            for part in re.split('|'.join(map(re.escape, HEADINGS)), text):
                self.assertGreater(len(part.strip()), 20)

    def test_what_a_server_has_already_is_not_offered_to_it(self):
        text = ' '.join(pr.text_of('journal-no-write-through').split())
        self.assertIn('only into trees before that: SERVER-9754 has dropped the flag', text)
        self.assertNotIn('trees of 2.4, 2.6 and 3.4', text)

    def test_figures_and_prose_are_those_of_the_header(self):
        for slug, text, header in self.patches:
            body = header[header.index('\n\n'):header.rindex('\nOption: ')]
            lines = [line for line in body.splitlines() if line]
            if '\nResult: none\n' in header:
                self.assertIn('Not measured in pairs yet: ', text)
                self.assertIn('independent reimplementation', text)
                self.assertIn('./lab bench %s' % slug, text)
                continue
            cells = [line for line in lines if line.startswith('      inserts/s')]
            model = [line for line in lines if line.startswith('    written blocks')]
            self.assertEqual((len(cells) > 0, len(model)),
                             (False, 2) if 'perf/write_through.py' in header else (True, 0))
            place = 0
            for line in lines:
                self.assertIn(line, text[place:])
                place = text.index(line, place) + len(line)
            evidence = text[text.index('EVIDENCE'):text.index('RISK')]
            self.assertIn('independent reimplementation', evidence)
            self.assertRegex(evidence, r'(?s)Measured\swith.*sources\sof\scommit')
            self.assertIn(re.search(r'^Result: (.*)$', header, re.MULTILINE)[1], evidence)
            self.assertTrue(os.path.exists(os.path.join(
                TOP, re.search(r'all figures: (\S+)\.$', evidence, re.MULTILINE)[1])), slug)

    def test_the_command_prints_it_and_refuses_others(self):
        def lab(*words):
            return subprocess.run([os.path.join(TOP, 'lab'), 'pr', *words], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(lab(SLUGS[2]).stdout, pr.text_of(SLUGS[2]))
        for words in ((), ('nothing',), SLUGS[:2]):
            refused = lab(*words)
            self.assertNotEqual(refused.returncode, 0)
            for slug in SLUGS:
                self.assertIn(slug, refused.stdout)
