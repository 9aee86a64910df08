"""Tests the ladder's table and page (perf/run.py, perf/report.py) and the text of ./lab pr.

Every figure of the samples is another one, so that none can stand in another's place.
"""

import collections
import contextlib
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from xml.etree import ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'patches', 'site_scons')]

import cells as figures_of  # noqa: E402
import check  # noqa: E402
import ladder  # noqa: E402
import machine  # noqa: E402
import measuring  # noqa: E402
import pr  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import staging  # noqa: E402

NAMES = ['base, default', 'base, 2 ms', 'option <b>&amp; $x$', 'conf/all.yaml']
FLOORS = [6599.7, 6401.2, 7003.4]
IDLE = [{'seconds': 0.5, 'busy': 0.02, 'steal': 0.0, 'writes_per_second': 1.0,
         'bytes_per_second': 4096.0}]


def timed(n, times, before=6200.0, after=6600.0):
    """A run of one round; the rounds differ by `times`."""
    return {'per_second': 31.0 * n * times, 'p50_us': 17.0 * n * times, 'p99_us': 53.0 * n,
            'server_cpu_us': 3.0 * n, 'server_kernel_us': 1.0 * n, 'client_cpu_us': 2.0 * n,
            'client_kernel_us': 1.5 * n, 'floor_before': before, 'floor_after': after}


def sample():
    rows = []
    for server, name in enumerate(NAMES):
        for clients in (1, 8):
            n = 100 * server + clients + 11
            row = {'name': name, 'clients': clients, 'selection': 'none' if server < 2 else 'all',
                   'options': ['--number', str(n)], 'document_bytes': 200, 'seconds': 2.0,
                   'runs': [timed(n, times) for times in (0.9, 1.0, 1.2)],
                   'traced': {'commits': 7 * n, 'bytes_per_commit': 4096.0 + n,
                              'writes_per_commit': 1 + n / 1e3, 'syncs_per_commit': 1 + n / 9e2,
                              'inserts_per_commit': 1 + n / 70}}
            figures_of.summarize(row)
            rows.append(row)
    return {'time': '2026-01-02T03:04:05+00:00', 'patches': ['first-patch', 'second-patch'],
            'host': {'cpu': 'Some <CPU>', 'cores': 2, 'kernel': '6.1', 'file_system': 'ext4',
                     'mount_options': 'rw,relatime', 'disk': '/dev/vdx', 'device': 'vdx',
                     'source': 'abcdef'},
            'rows': rows, 'floors': FLOORS, 'idle': IDLE, 'steal': 0.001, 'floors_moved': 0.0,
            'device': 'vdx', 'load': 0.7, 'rounds': 3,
            'flush_cost': [{'append': append, 'direct': direct, 'depth': depth,
                            'p50_us': 1000.0 * depth + 100 * append + 10 * direct,
                            'per_second': 7000.0 + 70 * depth + 7 * append + direct}
                           for append in (False, True) for direct in (True, False)
                           for depth in (1, 2, 4, 8)],
            'one_core': {'core': 1, 'clients': 1, 'per_second': 5991.2, 'p50_us': 151.0,
                         'share_of_floor': 0.871, 'floors': {'0': 3980.9, '1': 6878.6}}}


def cells(row):
    """What a reader must find of a row, in the order of the columns."""
    return ['%d' % row['clients'], format(row['per_second'], ',.0f'),
            '%s–%s' % (format(0.9 * row['per_second'], ',.0f'),
                       format(1.2 * row['per_second'], ',.0f')),
            '%.0f %%%s' % (100 * row['per_second'] / 6400,
                           ' !3' if row['clients'] == 1 and row['per_second'] > 7200 else
                           ' !2' if row['clients'] == 1 and row['per_second'] > 6400 else
                           ' !1' if row['clients'] == 1 and 1.2 * row['per_second'] > 6400 else ''),
            '%.2f' % (row['p50_us'] / 1000),
            '%.2f' % (row['p99_us'] / 1000), format(row['server_cpu_us'], ',.0f'),
            format(row['client_cpu_us'], ',.0f'), '50 %',
            '%.1f' % (5 * row['per_second'] / 31 * row['per_second'] / 1e6),
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
        # The panels of a figure, one for each number of clients, under one root.
        cls.drawings = {name: ElementTree.fromstring('<all>%s</all>' % panels)
                        for name, panels in re.findall(
                            r'<figure id="(\w+)"><div class="panels">(<svg .*?</svg>\s*)</div>',
                            cls.text, re.DOTALL)}

    def test_the_run_on_one_core_is_shown_beside_the_disk_from_each(self):
        text = report.one_core_text(sample()['one_core'])
        for fact in ('3,981 from core 0', '6,879 from core 1', 'server on core 1', '5,991 inserts',
                     '87 %', '0.15 ms'):
            self.assertIn(fact, text)
        self.assertEqual(report.page(sample()).count(text), 1)

    def test_a_lone_client_on_one_core_is_no_quicker_than_its_disk(self):
        one = dict(sample()['one_core'], share_of_floor=1.4)
        self.assertNotIn('140', report.one_core_text(one))
        self.assertIn('the disk was slower beside the run', report.one_core_text(one))
        self.assertIn('140 %', report.one_core_text(dict(one, clients=8)))

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
        wanted = [cell for row in self.result['rows'] for cell in cells(row)]
        self.assertEqual(self.page.texts['td'][:len(wanted)], wanted)
        self.assertEqual(self.page.texts['td'][len(wanted):],
                         ['%s ms, %s/s' % (format(cell['p50_us'] / 1e3, ',.3f'),
                                           format(cell['per_second'], ',.0f'))
                          for cell in self.result['flush_cost']])
        headings = self.page.texts['thead'][0].split('\n')[-1]
        places = [headings.index(part) for part in (
            'clients', 'inserts/s', 'least to', 'share of', 'p50 ms', 'p99 ms', 'server CPU',
            'client CPU', 'the kernel', 'processors', 'per commit', 'bytes', 'writes', 'syncs')]
        self.assertEqual(places, sorted(places))
        for name in NAMES:
            self.assertEqual(self.page.texts['th'].count(name), 1, name)

    def test_every_figure_of_the_result_is_in_it(self):
        self.assertEqual(json.loads(self.page.texts['pre'][0]), self.result)
        text = self.page.texts['body'][0]
        for figure in ('6,600', '6,401', '7,003', 'in 3 looks', 'moved by 15 %',
                       'Medians of 3 rounds'):
            self.assertIn(figure, text)
        described = ' '.join(self.page.texts['dd'])
        for part in ('Some <CPU>', '2 cores', 'Linux 6.1', 'ext4', '/dev/vdx', 'rw,relatime',
                     'abcdef', 'first-patch, second-patch', '200 bytes', '2 s a cell', 'device vdx',
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
                 'latency': ('latency, ms', lambda row: cells(row)[4]),
                 'bytes': ('bytes of journal per insert', lambda row: cells(row)[11])}
        self.assertEqual(set(self.drawings), set(shown))
        for name, (unit, value) in shown.items():
            texts = self.texts(name)
            self.assertEqual(texts.count(unit), 2, name)
            for clients in ('1 client', '8 clients'):
                self.assertEqual(texts.count(clients), 1, name)
            for server in NAMES:
                self.assertEqual(texts.count(server), 2, name)
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


    def test_says_first_whether_the_machine_was_quiet(self):
        self.assertIn('<p class="quiet">This machine was quiet enough', self.text)
        noisy = report.page(dict(sample(), steal=0.2))
        self.assertIn('<p class="noisy">This machine was NOT quiet enough', noisy)
        self.assertLess(noisy.index('NOT quiet'), noisy.index('<ul>'))

    def test_a_slower_device_is_in_every_title(self):
        result = dict(sample(), device_delay_ms=8.0)
        text = report.page(result)
        self.assertEqual(text.count('option by option, every flush made 8 ms slower<'), 2)
        for clients in ('1 client', '8 clients'):
            self.assertEqual(text.count('>%s, every flush made 8 ms slower<' % clients), 3)
        self.assertTrue(run.table(result).startswith('\nSIMULATED DEVICE: every flush made 8 ms'))
        self.assertNotIn('slower<', self.text)

    def test_a_disk_that_is_not_known_is_fact_so(self):
        result = sample()
        result['host'].update(file_system='', disk='', mount_options='', device='')
        described = dict(report.setting(result))
        self.assertEqual(described['Disk'], 'not known')

    def test_another_server_has_its_colour_and_no_patches(self):
        result = sample()
        result['servers'] = [{'name': NAMES[2], 'program': '/x/mongod', 'options': ['--smallfiles'],
                              'version': '2.6.12', 'old_wire': True}]
        result['old_wire'] = True
        for row in result['rows']:
            if row['name'] == NAMES[2]:
                row['selection'] = None
        text = report.page(result)
        self.assertIn('/x/mongod --smallfiles (2.6.12)', text)
        self.assertIn('another server', text)
        self.assertNotIn('patches=None', text)
        self.assertEqual(Page(text).problems, [])
        self.assertIn('getLastError behind each write', run.table(result))


class Table(unittest.TestCase):
    def rows_of(self, result):
        return [line for line in run.table(result).splitlines()
                if ' | ' in line or re.search(r'\|$', line)]

    def test_has_every_row(self):
        result = sample()
        lines = self.rows_of(result)[-len(result['rows']):]
        for row, line in zip(result['rows'], lines):
            figures = [cell.replace(',', '') for cell in cells(row)]
            self.assertEqual(line.split()[:len(row['name'].split())], row['name'].split())
            (clients, rate, band, share, median, high, cpu, client, kernel, busy, _, size, writes,
             syncs) = figures
            share, _, mark = share.partition(' %')
            self.assertEqual(line[len(row['name']):].replace('|', ' | ').split(),
                             [clients, rate, band.replace('–', '..'), median, high, cpu, client,
                              kernel.replace(' ', ''), busy, share + '%', *mark.split(), '|', size,
                              writes, syncs])

    def test_begins_with_the_machine_and_explains_its_marks(self):
        text = run.table(sample())
        self.assertTrue(text.startswith('\nThis machine was quiet enough'))
        self.assertIn('\n!  a lone client', text)
        self.assertNotIn('\n~  ', text)

    def test_what_is_there_when_it_is_interrupted_is_shown(self):
        result = sample()
        result.update(stopped='interrupted', rounds_whole=1, rows=result['rows'][:3], flush_cost=[])
        del result['one_core'], result['rows'][2]['traced']
        text = run.table(result)
        self.assertIn('ended before its end (interrupted): 1 of 3 rounds', text)
        self.assertEqual(len(self.rows_of(result)), 2 + 3)
        self.assertIn('It was ended before its end', report.page(result))

    def test_the_table_of_flushes_has_every_cell(self):
        text = '\n'.join(run.flush_lines(sample()['flush_cost']))
        for cell in sample()['flush_cost']:
            self.assertIn('%.3f (%.0f)' % (cell['p50_us'] / 1e3, cell['per_second']), text)


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

    def test_processor_time_is_that_of_all_inserts(self):
        fast, slow = timed(100, 3), timed(100, 1)
        slow['server_cpu_us'] = 700.0
        self.assertAlmostEqual(self.row(fast, slow)['server_cpu_us'], 400.0)

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

    def test_counters_of_the_kernel(self):
        self.assertEqual(machine.processor_counters(
            ['cpu  10 1 5 100 20 2 3 7 0 0', 'cpu0 1 1 1 1']), (21, 7, 148))
        self.assertEqual(machine.device_counters(
            [' 254 0 vda 9 8 7 6 55 4 96 2', ' 254 1 vda1 1 1 1 1 1 1 1 1'], 'vda'), (55, 49152))
        self.assertIsNone(machine.device_counters([], 'vda'))
        self.assertEqual(machine.device_reads(
            [' 254 0 vda 9 8 7 6 55 4 96 2', ' 254 1 vda1 1 1 1 1 1 1 1 1'], 'vda'), (9, 3584))
        self.assertIsNone(machine.device_reads([], 'vda'))

    def test_a_mount_is_the_one_that_is_nearest_and_last(self):
        lines = ['1 0 254:0 / / rw - ext4 /dev/vda rw',
                 '2 1 0:9 / /tmp rw,noexec shared:1 - tmpfs tmpfs rw',
                 '3 1 254:2 / / rw,noatime - xfs /dev/vdb rw', 'nonsense']
        self.assertEqual(machine.mount_of('/tmp/x', lines), ('tmpfs', 'tmpfs', 'rw,noexec'))
        self.assertEqual(machine.mount_of('/usr', lines), ('xfs', '/dev/vdb', 'rw,noatime'))
        self.assertEqual(machine.mount_of('/usr', []), ('', '', ''))

    def test_what_is_written_during_the_run_is_seen(self):
        with tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build')) as folder:
            if not machine.device_of(folder):
                self.skipTest('no device of the kernel under build/')
            watch = machine.Watch(folder)
            with open(os.path.join(folder, 'x'), 'wb') as file:
                for _ in range(5):
                    file.write(b'x' * 65536)
                    file.flush()
                    os.fsync(file.fileno())
            found = watch.end()
        self.assertGreaterEqual(found['writes_per_second'] * found['seconds'], 5)
        self.assertGreaterEqual(found['bytes_per_second'] * found['seconds'], 5 * 65536)


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

    def test_numbers_of_clients(self):
        self.assertEqual(measuring.clients('1, 8,64,8'), [1, 8, 64])

    def test_progress_says_how_far_and_how_long(self):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            progress = measuring.Progress(600, 4)
            for _ in range(4):
                progress.step('x')
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], '1 of 4, about 10 min left: x')
        self.assertRegex(lines[3], '^4 of 4, about 75 s left: x')


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

    def test_names_files_and_functions_upstream(self):
        for _, text, header in self.patches:
            places = re.search(r'^Upstream-location: (.*)$', header, re.MULTILINE)[1].split('; ')
            part = text[text.index(HEADINGS[3]):text.index(HEADINGS[4])]
            for place in places:
                self.assertRegex(place, r'^\w+\.(cpp|h)(: \w+|$)')
                self.assertIn('    %s\n' % place, part)

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

    def test_terms_of_a_table_are_explained_where_there_is_one(self):
        for slug, text, _ in self.patches:
            has_table = '\n      inserts/s ' in text
            for part in ('"base" is mongod-dur without patches', 'the full series is',
                         'A pair is a run'):
                self.assertEqual(part in re.sub(r'\s+', ' ', text), has_table, [slug, part])
            self.assertNotIn('in company', text)

    def test_says_which_servers_can_have_it(self):
        recipes = {each.slug: each for each in pr.recipes.all_recipes()}
        for slug, text, header in self.patches:
            part = re.sub(r'\s+', ' ', text[text.index(HEADINGS[0]):text.index(HEADINGS[1])])
            for words in ('left the server with 4.2', 'up to 4.0', 'forks', 'research'):
                self.assertIn(words, part)
            if slug in recipes:
                named = re.search(r'into trees of ([^:]*?)\. ', part)[1]
                self.assertEqual(re.findall(r'\d\.\d', named),
                                 [version for version in pr.recipes.VERSIONS
                                  if version not in recipes[slug].unportable])
            else:
                self.assertIn(re.search(r'^No-recipe: (.*)$', header, re.MULTILINE)[1], part)

    def test_says_how_quiet_the_machine_was(self):
        quiet = Machine.QUIET
        self.assertIn('was quiet enough', pr.quiet_of(dict(quiet, floors=[1])))
        self.assertIn('was NOT quiet enough', pr.quiet_of(dict(quiet, floors=[1], steal=0.5)))
        self.assertIn('was not recorded', pr.quiet_of(quiet))
        for slug, text, header in self.patches:
            noisy = 'Not quiet enough for conclusions' in header
            self.assertEqual('was NOT quiet enough' in re.sub(r'\s+', ' ', text), noisy, slug)
            if '\nResult: none\n' not in header:
                self.assertRegex(text, 'quiet enough|was not recorded')

    def test_figures_of_a_ported_server_follow_where_there_are_some(self):
        row = {'per_second': 100, 'p50_us': 10, 'p99_us': 20, 'server_cpu_us': 5,
               'inserts_per_commit': 1, 'bytes_per_commit': 8192, 'writes_per_commit': 1}
        cell = {'options': {'without': [], 'with': ['--b', '1']}, 'without': 6 * [row],
                'with': 6 * [dict(row, per_second=321)], 'without_traced': row, 'with_traced': row}
        host = {'cores': 3, 'cpu': 'Z', 'kernel': '6.1', 'file_system': 'xfs', 'disk': '/dev/z',
                'source': '0123456789abcdef'}
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.object(pr, 'RESULTS', folder):
            self.assertEqual(pr.ported_of('x'), '')
            for day, name in (('20260101', 'ported'), ('20260102', 'ported'), ('20260103', 'wt')):
                place = os.path.join(folder, day, '3core')
                os.makedirs(place)
                about = {'name': name, 'version': '2.6.' + day, 'program': '/m', 'options': []}
                other = dict(about, name='another')
                with open(os.path.join(place, 'x.json'), 'w', encoding='utf-8') as file:
                    json.dump(dict(Machine.QUIET, floors=[1], time=day, host=host, runs=7,
                                   seconds=5, servers=[about, other],
                                   blocks=[{'workload': 'insert --clients 1',
                                            'servers': {name: cell, 'another': cell}}]), file)
            text = pr.ported_of('x')
            # A server of ours that is called so has no figures of the original.
            place = os.path.join(folder, '20260104', '3core')
            os.makedirs(place)
            about.update(name='ported', git_version='mongod-dur-1.2.3')
            with open(os.path.join(place, 'x.json'), 'w', encoding='utf-8') as file:
                json.dump({'time': '20260104', 'servers': [about]}, file)
            self.assertEqual(pr.ported_of('x'), text)
        flat = re.sub(r'\s+', ' ', text)
        for part in ('original server', '`./lab port`', '3 cores (Z)', 'quiet enough',
                     'ported (2.6.20260102)', '321', '7 pairs of runs of 5 s',
                     'sources of commit 0123456789ab',
                     'all figures: %s.' % os.path.join(folder, '20260102', '3core', 'x.json')):
            self.assertIn(part, flat)
        self.assertNotIn('20260103', text)
        self.assertNotIn('another', text)

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
