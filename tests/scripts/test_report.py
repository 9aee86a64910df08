"""Tests the ladder's table and page (perf/run.py, perf/report.py) and the text of ./lab pr.

Every figure of the samples is another one, so that none can stand in another's place.
"""

import collections
import html.parser
import json
import os
import re
import subprocess
import sys
import unittest
from xml.etree import ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'patches', 'site_scons')]

import check  # noqa: E402
import pr  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import staging  # noqa: E402

NAMES = ['base, default', 'base, 2 ms', 'option <b>&amp;', 'conf/all.yaml']
FLOOR = {'overwrite_4k': {'writes': 13, 'per_second': 6599.7, 'p50_us': 142.3, 'p99_us': 309.2},
         'append_8k': {'writes': 7, 'per_second': 3859.3, 'p50_us': 234.5, 'p99_us': 505.9}}


def sample():
    rows = []
    for server, name in enumerate(NAMES):
        for clients in (1, 8):
            n = 100 * server + clients + 11
            row = {'name': name, 'clients': clients, 'selection': 'none' if server < 2 else 'all',
                   'options': ['--number', str(n)], 'document_bytes': 200, 'seconds': 2.0,
                   'per_second': 31.0 * n, 'p50_us': 17.0 * n, 'p99_us': 53.0 * n,
                   'server_cpu_us': 3.0 * n,
                   'traced': {'commits': 7 * n, 'bytes_per_commit': 4096.0 + n,
                              'writes_per_commit': 1 + n / 1e3, 'syncs_per_commit': 1 + n / 9e2,
                              'inserts_per_commit': 1 + n / 70}}
            run.derived(row, FLOOR)
            rows.append(row)
    return {'time': '2026-01-02T03:04:05+00:00', 'patches': ['first-patch', 'second-patch'],
            'host': {'cpu': 'Some <CPU>', 'cores': 2, 'kernel': '6.1', 'file_system': 'ext4',
                     'mount_options': 'rw,relatime', 'disk': '/dev/vdx', 'source': 'abcdef'},
            'rows': rows, 'floor': FLOOR,
            'one_core': {'core': 1, 'clients': 1, 'per_second': 5991.2, 'p50_us': 151.0,
                         'share_of_floor': 0.871, 'floors': {'0': 3980.9, '1': 6878.6}}}


def cells(row):
    """What a reader must find of a row, in the order of the columns."""
    return ['%d' % row['clients'], format(row['per_second'], ',.0f'),
            '%.0f %%' % (100 * row['per_second'] / 6599.7), '%.2f' % (row['p50_us'] / 1000),
            '%.2f' % (row['p99_us'] / 1000), format(row['server_cpu_us'], ',.0f'),
            '%.1f' % row['traced']['inserts_per_commit'],
            format(row['traced']['bytes_per_commit'] / row['traced']['inserts_per_commit'],
                   ',.0f'),
            '%.2f' % (row['traced']['writes_per_commit'] / row['traced']['inserts_per_commit']),
            '%.2f' % (row['traced']['syncs_per_commit'] / row['traced']['inserts_per_commit'])]


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


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = sample()
        cls.text = report.page(cls.result)
        cls.page = Page(cls.text)
        cls.drawings = {name: ElementTree.fromstring(svg) for name, svg in re.findall(
            r'<figure id="(\w+)">(<svg .*?</svg>)', cls.text, re.DOTALL)}

    def test_the_run_on_one_core_is_told_beside_the_disk_from_each(self):
        text = report.one_core_text(sample()['one_core'])
        for told in ('3,981 from core 0', '6,879 from core 1', 'server on core 1', '5,991 inserts',
                     '87 %', '0.15 ms'):
            self.assertIn(told, text)
        self.assertEqual(report.page(sample()).count(text), 1)

    def test_is_well_formed(self):
        self.assertEqual(self.page.problems, [])
        self.assertTrue(self.text.startswith('<!DOCTYPE html>'))

    def test_the_reader_of_these_tests_finds_faults(self):
        for bad in ('<p>', '<p><b></p></b>', '</p>'):
            self.assertNotEqual(Page(bad).problems, [], bad)

    def test_names_of_parts_are_unique_and_references_find_them(self):
        ids = self.page.values('id')
        self.assertEqual(len(ids), len(set(ids)))
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', self.text)
        self.assertTrue(used)
        self.assertEqual(set(used) - set(ids), set())

    def test_needs_nothing_from_elsewhere(self):
        for name in ('src', 'href', 'xlink:href', 'data', 'srcset', 'action'):
            for value in self.page.values(name):
                self.assertTrue(value.startswith('#'), value)
        self.assertEqual(re.findall(r'url\((?!#)|@import|<script|<link|<iframe', self.text), [])
        elsewhere = set(re.findall(r'\w+://[^"\s<]+', self.text))
        # Names of name spaces are not fetched.
        self.assertEqual(elsewhere, {'http://www.w3.org/2000/svg', 'http://www.w3.org/1999/xlink'})

    def test_the_table_has_every_row_under_its_headings(self):
        self.assertEqual(self.page.texts['td'],
                         [cell for row in self.result['rows'] for cell in cells(row)])
        headings = self.page.texts['thead'][0].split('\n')[-1]
        places = [headings.index(part) for part in (
            'clients', 'inserts/s', 'share of', 'p50 ms', 'p99 ms', 'server CPU', 'per commit',
            'bytes', 'writes', 'syncs')]
        self.assertEqual(places, sorted(places))
        for name in NAMES:
            self.assertEqual(self.page.texts['th'].count(name), 1, name)

    def test_every_figure_of_the_result_is_in_it(self):
        self.assertEqual(json.loads(self.page.texts['pre'][0]), self.result)
        text = self.page.texts['body'][0]
        for figure in ('6,600', '0.142', '3,859', '0.234'):
            self.assertIn(figure, text)
        described = ' '.join(self.page.texts['dd'])
        for part in ('Some <CPU>', '2 cores', 'Linux 6.1', 'ext4', '/dev/vdx', 'rw,relatime',
                     'abcdef', 'first-patch, second-patch', '200 bytes', '2 s each',
                     'patches=all --number 312'):
            self.assertIn(part, described)

    def test_findings_compare_the_last_server_with_the_base(self):
        # 31 * 320 against 31 * 20 and 31 * 120 a second, 8 clients.
        self.assertIn('With 8 clients, conf/all.yaml: 9,889 durable inserts a second; '
                      '17 times "base, default", 2.7 times "base, 2 ms".', self.page.texts['li'])

    def texts(self, figure):
        return [element.text for element in self.drawings[figure].iter()
                if element.tag.endswith('}text')]

    def test_each_plot_names_servers_clients_and_unit_and_has_every_figure(self):
        shown = {'rate': ('durable inserts a second', lambda row: cells(row)[1]),
                 'latency': ('latency, ms', lambda row: cells(row)[3]),
                 'bytes': ('bytes of journal per insert', lambda row: cells(row)[7])}
        self.assertEqual(set(self.drawings), set(shown))
        for name, (unit, value) in shown.items():
            texts = self.texts(name)
            self.assertEqual(texts.count(unit), 2, name)
            for clients in ('1 client', '8 clients'):
                self.assertEqual(texts.count(clients), 1, name)
            for server in NAMES:
                self.assertEqual(texts.count(server), 1, name)
            for row in self.result['rows']:
                self.assertIn(value(row), texts, name)
        self.assertEqual(len(self.page.texts['figcaption']), 3)

    def bars(self, figure):
        """(colour, length) of the bars, in the order in which they are drawn."""
        found = []
        for path in self.drawings[figure].iter('{http://www.w3.org/2000/svg}path'):
            fill = re.search(r'fill: (#\w+)', path.get('style', ''))
            if fill and fill[1] in (report.BASE, report.OPTION, report.PROFILE):
                across = [float(x) for x in re.findall(r'[ML] ([\d.]+) ', path.get('d'))]
                found.append((fill[1], max(across) - min(across)))
        return found

    def test_bars_are_as_long_as_their_figures_and_coloured_by_kind(self):
        colours = [report.BASE, report.BASE, report.OPTION, report.PROFILE]
        for figure, value in (('rate', 'per_second'), ('bytes', 'bytes_per_insert')):
            bars = self.bars(figure)
            self.assertEqual([colour for colour, _ in bars], colours * 2)
            for panel, clients in enumerate((1, 8)):
                lengths = [length for _, length in bars[4 * panel:4 * panel + 4]]
                wanted = [row[value] for row in self.result['rows'] if row['clients'] == clients]
                for length, figure_of_row in zip(lengths, wanted):
                    self.assertAlmostEqual(length / lengths[-1], figure_of_row / wanted[-1], 3)

    def test_the_disk_alone_is_in_each_panel_of_rates_and_latencies(self):
        for figure, lines in (('rate', 2), ('latency', 2), ('bytes', 0)):
            svg = ElementTree.tostring(self.drawings[figure], encoding='unicode')
            self.assertEqual(svg.count('stroke: ' + report.FLOOR), lines, figure)

    def test_the_same_result_gives_the_same_page(self):
        self.assertEqual(report.page(sample()), self.text)


class Table(unittest.TestCase):
    def test_has_every_row(self):
        result = sample()
        lines = run.table(result).splitlines()
        for row, line in zip(result['rows'], lines[-len(result['rows']):]):
            figures = [cell.replace(',', '') for cell in cells(row)]
            self.assertEqual(line.split()[:len(row['name'].split())], row['name'].split())
            clients, rate, share, median, high, cpu, _, size, writes, syncs = figures
            self.assertEqual(line[len(row['name']):].split(),
                             [clients, rate, median, high, cpu, share.replace(' ', ''), '|', size,
                              writes, syncs])


HEADINGS = ['PROBLEM', 'CHANGE', 'WHERE IT BELONGS UPSTREAM', 'EVIDENCE', 'RISK',
            'TO REPRODUCE, in a checkout on Debian 12']
SLUGS = ['journal-skip-small-compression', 'journal-compressor', 'journal-pad-4k',
         'journal-force-prealloc', 'journal-cumulative-stats', 'journal-commit-on-demand',
         'journal-waiter-commits', 'journal-open-gate',
         'windows-journal-no-write-through']


def header_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        return check.header_of(file.read())


class Ticket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.patches = [(slug, pr.text_of(slug), header_of(slug)) for slug in SLUGS]

    def test_there_is_one_for_each_patch(self):
        self.assertEqual(staging.series(TOP), SLUGS)

    def test_has_every_heading_in_order_with_something_under_it(self):
        for _, text, _ in self.patches:
            self.assertEqual(re.findall(r'^[A-Z]{2}[A-Z ]+(?:,.*)?$', text, re.MULTILINE), HEADINGS)
            for part in re.split('|'.join(map(re.escape, HEADINGS)), text):
                self.assertGreater(len(part.strip()), 20)

    def test_names_files_and_functions_upstream(self):
        for _, text, header in self.patches:
            places = re.search(r'^Upstream-location: (.*)$', header, re.MULTILINE)[1].split('; ')
            part = text[text.index(HEADINGS[2]):text.index(HEADINGS[3])]
            for place in places:
                self.assertRegex(place, r'^\w+\.(cpp|h)(: \w+|$)')
                self.assertIn('    %s\n' % place, part)

    def test_figures_and_prose_are_those_of_the_header(self):
        for slug, text, header in self.patches:
            body = header[header.index('\n\n'):header.rindex('\nOption: ')]
            lines = [line for line in body.splitlines() if line]
            cells = [line for line in lines if line.startswith('      inserts/s')]
            model = [line for line in lines if line.startswith('    written blocks')]
            self.assertEqual((len(cells) > 0, len(model)),
                             (False, 2) if slug.startswith('windows-') else (True, 0))
            place = 0
            for line in lines:
                self.assertIn(line, text[place:])
                place = text.index(line, place) + len(line)
            evidence = text[text.index('EVIDENCE'):text.index('RISK')]
            self.assertIn(re.search(r'^Result: (.*)$', header, re.MULTILINE)[1], evidence)
            self.assertTrue(os.path.exists(os.path.join(
                TOP, re.search(r'all figures: (\S+)\.$', evidence, re.MULTILINE)[1])), slug)

    def test_says_the_risk_and_how_to_reproduce(self):
        for slug, text, header in self.patches:
            risk = text[text.index('RISK'):text.index('TO REPRODUCE')]
            for field in ('Durability', 'On-disk-format'):
                self.assertIn(re.search('^%s: (.*)$' % field, header, re.MULTILINE)[1], risk)
            for path in re.findall(r'(?:perf/templates|jstests)/\S+\.(?:txt|js)', risk):
                self.assertTrue(os.path.exists(os.path.join(TOP, path)), path)
            self.assertIn('./lab bench ' + slug, text)
            ticket = re.search(r'^Ticket: (.*)$', header, re.MULTILINE)[1]
            self.assertEqual(ticket == 'none', 'There is no ticket' in text)
            self.assertTrue(ticket == 'none' or 'For %s.' % ticket in text)

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


if __name__ == '__main__':
    unittest.main()
