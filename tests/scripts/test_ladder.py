"""Tests the ladder (perf/run.py, perf/ladder.py), what is made of its cells, and the text of
./lab pr. test_readme.py compares its table with the one of README.md."""

import collections
import html.parser
import json
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

import cells as figures_of
import ladder
import ladder_picture
import machine
import measuring
import pr
import run
import staging

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IDLE = [{'seconds': 0.5, 'busy': 0.02, 'steal': 0.0, 'writes_per_second': 1.0,
         'bytes_per_second': 4096.0}]


def timed(n, times, before=6200.0, after=6600.0):
    """A run of one round; the rounds differ by `times`."""
    return {'per_second': 31.0 * n * times, 'p50_us': 17.0 * n * times, 'p99_us': 53.0 * n,
            'server_cpu_us': 3.0 * n, 'server_kernel_us': 1.0 * n, 'client_cpu_us': 2.0 * n,
            'client_kernel_us': 1.5 * n, 'floor_before': before, 'floor_after': after}


class Page(html.parser.HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    VOID = {'meta', 'br'}

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.attributes = [], [], []
        self.texts = collections.defaultdict(list)  # element -> its texts
        self.feed(text)
        self.close()
        self.problems += ['<%s> is never closed' % tag for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)
            self.texts[tag].append('')

    def handle_startendtag(self, tag, attributes):
        self.attributes += attributes

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append('</%s> in %s' % (tag, self.open))
        else:
            self.open.pop()

    def handle_data(self, text):
        for tag in set(self.open):
            self.texts[tag][-1] += text

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


class Table(unittest.TestCase):
    def test_what_is_there_when_it_is_interrupted_is_shown(self):
        with open(ladder_picture.newest_ladder(), encoding='utf-8') as file:
            result = json.load(file)
        result.update(stopped='interrupted', rounds_whole=1, rows=result['rows'][:3], flush_cost=[])
        del result['one_core'], result['rows'][2]['traced']
        text = run.table(result)
        self.assertRegex(text, r'ended before its end \(interrupted\): 1 of \d+ rounds')
        rows = [line for line in text.splitlines() if ' | ' in line or line.endswith('|')]
        self.assertEqual(len(rows), 2 + 3)


class Rounds(unittest.TestCase):
    def row(self, *runs, clients=1):
        row = {'clients': clients, 'runs': list(runs)}
        figures_of.summarize(row)
        return row

    def test_shares_are_of_the_neighbours(self):
        row = self.row(timed(100, 1, 3100, 3100), timed(100, 1, 31000, 31000),
                       timed(100, 1, 6200, 6200))
        self.assertAlmostEqual(row['share_of_floor'], 0.5)

    def test_a_floor_that_moved_is_marked_and_a_steady_one_is_not(self):
        self.assertEqual(figures_of.marks(self.row(timed(100, 1, 6000, 8900))), '')
        self.assertEqual(figures_of.marks(self.row(timed(100, 1, 6000, 9100),
                                               timed(100, 1, 9100, 6000))), '~2')

    def test_only_a_lone_client_cannot_pass_the_floor(self):
        run_above = timed(100, 1, 3000, 3000)
        self.assertEqual(figures_of.marks(self.row(run_above)), '!1')
        self.assertEqual(figures_of.marks(self.row(run_above, clients=8)), '')

    def test_every_server_has_every_round_and_the_order_turns(self):
        visits = []

        class Recorded(ladder.Ladder):
            def visit(self, rung, number):
                visits.append((number, rung[0]))

            def look_at_others(self):
                pass
        tools = measuring.Bench('', '', 1)
        Recorded([(name, None, [], None) for name in 'abcd'], [1, 8], tools, 4).measure()
        for number in range(4):
            self.assertEqual(sorted(name for each, name in visits if each == number), list('abcd'))
        self.assertEqual(len({name for (_, name) in visits[::4]}), 4)


class Machine(unittest.TestCase):
    QUIET = {'idle': IDLE, 'steal': 0.0, 'floors_moved': 0.0, 'device': 'vdx', 'load': 0.1}

    def test_each_reason_alone_makes_it_noisy(self):
        self.assertEqual(machine.quiet(self.QUIET), (True, []))
        for change, word in (
                ({'idle': [dict(IDLE[0], busy=0.5)]}, '50 % of the processors'),
                ({'steal': 0.03}, 'took 3.0 %'),
                ({'idle': [dict(IDLE[0], writes_per_second=90.0)]}, '90 writes/s, 4 KB/s, on vdx'),
                ({'floors_moved': 0.4}, 'within 40 % of the cells')):
            fine, reasons = machine.quiet(dict(self.QUIET, **change))
            self.assertFalse(fine)
            self.assertEqual(len(reasons), 1)
            self.assertIn(word, reasons[0])


class Arguments(unittest.TestCase):
    def test_each_fault_has_its_sentence_and_2(self):
        for words, sentence in ((['--seconds', '0'], "'0' is no time; give seconds above 0"),
                                (['--seconds', 'nan'], "'nan' is no time"),
                                (['--seconds', '-1'], "'-1' is no time"),
                                (['--clients', 'x'], "'x' is no number"),
                                (['--clients', '1,,8'], "'' is no number"),
                                (['--clients', '0'], "'0' is no number"),
                                (['--rounds', '0'], "'0' is no number"),
                                (['--device-delay', '0'], "'0' is no time; give milliseconds"),
                                (['--device-delay', '2000'], 'give 1000 ms at most')):
            done = subprocess.run([sys.executable, os.path.join(TOP, 'perf', 'run.py'), *words],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(sentence, done.stdout)


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
