"""Tests perf/articles.py and perf/claims.py: the articles' figures and their tables on the page,
what a claim makes of a result, of one that lacks its figure too, and what the requests are
answered."""

import re
import unittest


import articles
import claims


def page():
    with open(articles.PAGE, encoding='utf-8') as file:
        return file.read()


class Figures(unittest.TestCase):
    def test_the_page_has_its_tables_as_they_are(self):
        self.assertEqual(page(), articles.filled(page(), articles.made),
                         'run build/venv/bin/python perf/articles.py')
        shown = re.findall(r'<!-- table: ([a-z-]+) -->', page())
        self.assertEqual(len(shown), len(set(shown)))
        for name in ('requests', 'sizes', 'durable-inserts', 'write-concerns'):
            self.assertIn(name, shown)

    def test_figures_are_shown_as_they_were_published(self):
        for figure in ('34.10', '312.0', '1,329', '5.230'):
            self.assertIn('| %s |' % figure, ''.join(map(articles.table, articles.tables())))
        self.assertEqual(articles.figure('write-concerns', 'least', 'j=1, disk'), 34.1)
        self.assertIsNone(articles.figure('durable-inserts', 'MS SQL Server, 1 thread', 'SSD'))

    def test_the_insert_benchmark_adds_up(self):
        # Its GB are 1,000 of 1,048,576 bytes; those of the log have two digits.
        for name in [row[0] for row in articles.tables()['insert-benchmark']['rows']]:
            row = articles.row('insert-benchmark', name)
            self.assertAlmostEqual(row['inserts/s'] * row['seconds'] / claims.THEIR_ROWS, 1,
                                   delta=0.001, msg=name)
            for whole, each, delta in (('GB written', 'bytes written an insert', 0.01),
                                       ('log GB', 'log bytes an insert', 0.05)):
                if row[whole]:
                    self.assertAlmostEqual(
                        row[each] * claims.THEIR_ROWS / (row[whole] * 1000 * 2 ** 20), 1,
                        delta=delta, msg=(name, whole))


def rung(name, clients, rate):
    return {'name': name, 'clients': clients, 'per_second': rate}


def ladder(default=29, lone=750, eight=5700):
    return {'rows': [rung('base, default', 1, default), rung('base, 2 ms', 1, lone),
                     rung('base, 2 ms', 8, eight)]}


def verdicts(kind, result):
    """{what: (ours, verdict and why)} as they are printed."""
    found = {}
    for row in claims.rows([(kind, 'a result', result)]):
        if kind in row.claim.sources:
            found[row.claim.what] = row.ours, row.verdict, row.why
    return found


class Verdicts(unittest.TestCase):
    DEFAULT = 'interval by default, 1 client: inserts/s, whatever the disk'

    def test_bounds_belong_to_what_carries_over(self):
        claim = claims.Claim('x', 'y', '29', {'run': None}, '.1f', claims.near(30, 0.1))
        self.assertEqual(claim.shown_wanted(), '27.0 to 33.0')
        for ours, verdict in ((26.9, claims.NOT_REPRODUCED), (27, claims.REPRODUCED),
                              (33, claims.REPRODUCED), (33.1, claims.NOT_REPRODUCED)):
            self.assertEqual(claim.verdict(ours, {})[0], verdict)

    def test_29_a_second(self):
        for rate, verdict in ((29, claims.REPRODUCED), (26.2, claims.REPRODUCED),
                              (25, claims.NOT_REPRODUCED), (100, claims.NOT_REPRODUCED)):
            self.assertEqual(verdicts('run', ladder(rate))[self.DEFAULT][1], verdict, rate)

    def test_a_run_that_was_ended_lacks_figures(self):
        for rows in ([], ladder()['rows'][:1]):
            found = verdicts('run', {'rows': rows})
            self.assertEqual(found['a group commit: inserts/s, 8 clients to 1'][:2],
                             ('', claims.NOT_MEASURED))
            text = '\n'.join(claims.lines('run', {'rows': rows}))
            self.assertRegex(text, r'8 clients to 1 .* -  .*not measured: \./lab run')

    @staticmethod
    def iibench(rows=20000, **lines):
        """Lines as LINES calls them, each with its fields."""
        return {'rows': rows, 'lines': [
            {'name': claims.LINES[name.replace('_', ', ')], 'runs': [{'rows': rows, **fields}]}
            for name, fields in lines.items()]}

    def test_the_nearest_result_of_the_insert_benchmark_counts(self):
        def named(rows, clients, rate):
            result = {**self.iibench(rows, MongoDB_sync={'per_second': rate}), 'clients': clients}
            return 'iibench', '%d by %d' % (rows, clients), result
        found = list(claims.rows([named(10 ** 7, 64, 9000.0), named(20000, 1, 700.0),
                                  named(10 ** 5, 1, 710.0)]))
        row = next(row for row in found if row.claim.what == '1 client at 2 ms: inserts/s')
        self.assertEqual((row.ours, row.source), ('710', '100000 by 1'))
        far = {**self.iibench(10 ** 7, MongoDB_sync={'per_second': 9000.0}), 'clients': 64}
        self.assertEqual(verdicts('iibench', far)['1 client at 2 ms: inserts/s'][2],
                         '64 clients, not 1')

    def test_ratios_between_engines(self):
        result = self.iibench(
            MongoDB_sync={'log_padded': 8200.0, 'per_second': 700.0, 'device_bytes': 4e8,
                          'stored_bytes': 8e6},
            InnoDB_sync={'log_padded': 820.0, 'per_second': 2800.0, 'device_bytes': 1e8,
                         'stored_bytes': 8e6})
        found = verdicts('iibench', result)
        for what, ours, verdict in (
                ('bytes of log an insert, MongoDB to InnoDB', '10.0', claims.REPRODUCED),
                ('inserts/s, InnoDB to MongoDB, both sync', '4.0', claims.REPRODUCED),
                ('bytes written an insert, MongoDB to InnoDB', '4.0', claims.NOT_REPRODUCED),
                ('bytes a document, MongoDB to InnoDB', '1.0', claims.NOT_REPRODUCED)):
            self.assertEqual(found[what][:2], (ours, verdict))
        del result['lines'][1]
        self.assertEqual(verdicts('iibench', result)['bytes of log an insert, MongoDB to InnoDB'],
                         ('', claims.NOT_MEASURED, './lab bench iibench --install'))

    def graph(self, lazy=True, **rates):
        return {'lazy': lazy, 'contenders': {name: {'runs': [{
            'per_second': rate, 'kinds': {kind: {'count': 9, 'mean_us': mean} for kind, mean in (
                ('add_link', 1900.0), ('update_link', 2000.0), ('get_link_list', 1000.0))}}]}
            for name, rate in rates.items()}}

    def test_engines_are_compared_by_what_they_store_in_memory_or_beyond_it(self):
        result = self.graph(**{'mmapv1, base': 1000.0, 'mmapv1, series': 1.0, 'wiredTiger': 300.0,
                               'rocksdb': 450.0})
        for name, stored, written in (('mmapv1, base', 100e6, 9e3), ('mmapv1, series', 1, 9e3),
                                      ('wiredTiger', 50e6, 10e3), ('rocksdb', 40e6, 2e3)):
            each = result['contenders'][name]
            each['load'] = {'stored_bytes': stored}
            each['runs'][0].update(stored_bytes=stored, device_written_bytes=written,
                                   device_reads=written)
        result['engines'] = {'memory_bytes': 10e6}
        larger = 'larger than memory: requests/s, RocksDB to WiredTiger'
        written = 'larger: KB written a request, WiredTiger to RocksDB'
        found = verdicts('linkbench', result)
        self.assertEqual(found['bytes stored at the end, mmapv1 to WiredTiger'],
                         ('2.0', claims.REPRODUCED, ''))
        self.assertEqual(found['bytes stored at the end, mmapv1 to RocksDB'],
                         ('2.5', claims.NOT_REPRODUCED, ''))
        self.assertEqual(found['requests/s, WiredTiger to mmapv1'][:2],
                         ('0.3', claims.NOT_REPRODUCED))
        self.assertEqual(found[larger], ('', claims.NOT_MEASURED, claims.LARGER))
        result['contenders']['mmapv1, series']['load']['stored_bytes'] = 11e6
        found = verdicts('linkbench', result)
        self.assertEqual(found[larger], ('1.5', claims.REPRODUCED, ''))
        self.assertEqual(found[written], ('5.0', claims.REPRODUCED, ''))
        self.assertEqual(found['requests/s, WiredTiger to mmapv1'][1], claims.NOT_MEASURED)
        self.assertEqual(found['bytes stored at the end, mmapv1 to WiredTiger'][1],
                         claims.NOT_MEASURED)
