"""Tests perf/articles.py and perf/claims.py: the articles' figures and their tables on the page,
what a claim makes of a result, of one that lacks its figure too, and what the requests are
answered."""

import json
import math
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'site_scons', 'tests/lib')]

import articles  # noqa: E402
import claims  # noqa: E402


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

    def test_another_figure_on_the_page_is_found(self):
        self.assertIn('| 34.10 |', page())
        changed = page().replace('| 34.10 |', '| 34.01 |')
        self.assertEqual(articles.filled(changed, articles.made), page())

    def test_writing_the_page_rewrites_its_tables_and_leaves_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'articles.md')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(page().replace('| 34.10 |', '| 34.01 |'))
            with mock.patch.object(articles, 'PAGE', path):
                articles.write_page()
            with open(path, encoding='utf-8') as file:
                self.assertEqual(file.read(), page())

    def test_figures_are_shown_as_they_were_published(self):
        for figure in ('34.10', '312.0', '1,329', '5.230'):
            self.assertIn('| %s |' % figure, ''.join(map(articles.table, articles.tables())))
        self.assertEqual(articles.figure('write-concerns', 'least', 'j=1, disk'), 34.1)
        self.assertIsNone(articles.figure('durable-inserts', 'MS SQL Server, 1 thread', 'SSD'))

    def test_rows_are_as_long_as_their_heads(self):
        for name, table in articles.tables().items():
            for row in table['rows']:
                self.assertEqual(len(row), 1 + len(table['columns']), (name, row))

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

    def test_what_has_no_figure_is_not_judged(self):
        shown = claims.Claim('x', 'y', '1', {'run': None})
        self.assertEqual(shown.verdict(5, {}), ('', ''))
        self.assertEqual(shown.verdict(None, None), (claims.NOT_MEASURED, './lab run'))
        self.assertEqual(claims.Claim('x', 'y', '1', cannot='no Windows').verdict(None, None),
                         (claims.CANNOT, 'no Windows'))
        self.assertEqual(claims.Claim('x', 'y', '1', wanted=(1, math.inf)).shown_wanted(),
                         'at least 1')

    def test_29_a_second(self):
        for rate, verdict in ((29, claims.REPRODUCED), (26.2, claims.REPRODUCED),
                              (25, claims.NOT_REPRODUCED), (100, claims.NOT_REPRODUCED)):
            self.assertEqual(verdicts('run', ladder(rate))[self.DEFAULT][1], verdict, rate)

    def test_a_group_commit_is_a_ratio(self):
        what = 'a group commit: inserts/s, 8 clients to 1'
        self.assertEqual(verdicts('run', ladder(lone=100, eight=800))[what][:2],
                         ('8.0', claims.REPRODUCED))
        self.assertEqual(verdicts('run', ladder(lone=100, eight=300))[what][:2],
                         ('3.0', claims.NOT_REPRODUCED))

    def test_a_run_that_was_ended_lacks_figures(self):
        for rows in ([], ladder()['rows'][:1]):
            found = verdicts('run', {'rows': rows})
            self.assertEqual(found['a group commit: inserts/s, 8 clients to 1'][:2],
                             ('', claims.NOT_MEASURED))
            text = '\n'.join(claims.lines('run', {'rows': rows}))
            self.assertRegex(text, r'8 clients to 1 .* -  .*not measured: \./lab run')

    def test_clients_of_a_kept_result_are_text(self):
        for key in (1, '1'):
            result = {'contenders': {'base, default': {'runs': {key: [{'per_second': 28.0}]}}}}
            self.assertEqual(verdicts('append', result)[self.DEFAULT],
                             ('28', claims.REPRODUCED, ''))
        self.assertEqual(verdicts('append', {'contenders': {}})[self.DEFAULT][1],
                         claims.NOT_MEASURED)

    def test_a_sql_server_is_ahead_or_not(self):
        what = 'a SQL server (here PostgreSQL or InnoDB) to 2 ms, 1 client'

        def result(**rates):
            return {'contenders': {name: {'runs': {'1': [{'per_second': rate}]}}
                                   for name, rate in rates.items()}}
        self.assertEqual(verdicts('append', result(
            **{'base, 2 ms': 500, 'PostgreSQL': 400, 'MariaDB InnoDB': 2000}))[what],
            ('4.0', claims.REPRODUCED, ''))
        self.assertEqual(verdicts('append', result(**{'base, 2 ms': 500, 'PostgreSQL': 400}))[what],
                         ('0.8', claims.NOT_REPRODUCED, ''))
        self.assertEqual(verdicts('append', result(**{'base, 2 ms': 500}))[what][1],
                         claims.NOT_MEASURED)

    def test_the_sql_server_of_the_article_may_be_asked_elsewhere(self):
        what = 'MS SQL Server itself: inserts/s of 1 client'
        runs = {'1': [{'per_second': 2400.0}]}
        self.assertEqual(verdicts('peers', {'peers': {'SQL Server': {'runs': runs}}})[what][0],
                         '2,400')
        self.assertEqual(verdicts('peers', {'peers': {'PostgreSQL': {'runs': runs}}})[what][:2],
                         ('', claims.CANNOT))

    def test_write_concerns(self):
        def result(**milliseconds):
            return {'rows': [
                {'server': 'base', 'client': client, 'concern': name.replace('_', ':'),
                 'runs': [{'mean_us': 1e3 * value * (1 if client == 'pymongo' else 9)}]}
                for name, value in milliseconds.items() for client in ('pymongo', 'C')]}
        found = verdicts('write-concern', result(w_0=0.05, w_1=0.1, j_1=34.9))
        self.assertEqual(found['w:1 takes so many times w:0'], ('2.0', claims.REPRODUCED, ''))
        self.assertEqual(found['j:1, journal beside the data (disk), average ms'],
                         ('34.90', claims.REPRODUCED, ''))
        self.assertEqual(found['j:1, journal on another device (SSD), average ms'][1],
                         claims.NOT_MEASURED)
        self.assertEqual(verdicts('write-concern', result(w_0=0.05, w_1=0.2))[
            'w:1 takes so many times w:0'][1], claims.NOT_REPRODUCED)
        self.assertEqual(verdicts('write-concern', result(w_0=0.0, w_1=0.2))[
            'w:1 takes so many times w:0'][1], claims.NOT_MEASURED)

    @staticmethod
    def iibench(rows=20000, **lines):
        """Lines as LINES calls them, each with its fields."""
        return {'rows': rows, 'lines': [
            {'name': claims.LINES[name.replace('_', ', ')], 'runs': [{'rows': rows, **fields}]}
            for name, fields in lines.items()]}

    def test_the_insert_benchmark_says_how_small_it_was(self):
        lazy = 'w:1 at 300 ms: bytes of log an insert'
        small = self.iibench(MongoDB_lazy={'log_padded': 300.0})
        self.assertEqual(verdicts('iibench', small)[lazy],
                         ('300', claims.NOT_REPRODUCED, '20,000 rows, not 10,000,000'))
        large = self.iibench(10 ** 7, MongoDB_lazy={'log_padded': 2300.0})
        self.assertEqual(verdicts('iibench', large)[lazy], ('2,300', claims.REPRODUCED, ''))
        self.assertEqual(verdicts('iibench', self.iibench(10 ** 7, MongoDB_lazy={
            'log_padded': 300.0}))[lazy][2], '')

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

    def test_a_graph_is_compared_when_it_does_not_wait_for_the_disk(self):
        rates = {'base, default': 1000.0, 'MariaDB MyRocks': 2100.0}
        what = 'requests/s, RocksDB (or MyRocks of MariaDB) to mmapv1'
        found = verdicts('linkbench', self.graph(**rates))
        self.assertEqual(found[what], ('2.1', claims.REPRODUCED, ''))
        self.assertEqual(found['mmapv1: add_link takes so many times get_link_list'],
                         ('1.9', claims.REPRODUCED, ''))
        self.assertEqual(found['requests/s, WiredTiger to mmapv1'][1], claims.NOT_MEASURED)
        self.assertEqual(found['requests/s, TokuMX to mmapv1'][1], claims.CANNOT)
        self.assertEqual(verdicts('linkbench', self.graph(**rates, wiredtiger=3400.0))[
            'requests/s, WiredTiger to mmapv1'], ('3.4', claims.REPRODUCED, ''))
        named = verdicts('linkbench', self.graph(**rates, RocksDB=900.0, mmapv1=300.0))
        self.assertEqual(named[what], ('3.0', claims.NOT_REPRODUCED, ''))
        self.assertEqual(verdicts('linkbench', self.graph(False, **rates))[what],
                         ('', claims.NOT_MEASURED, './lab bench linkbench --engines --install'))

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

    def test_a_request_that_did_not_come_has_no_time(self):
        result = self.graph(**{'base, default': 1000.0})
        result['contenders']['base, default']['runs'][0]['kinds']['get_link_list']['count'] = 0
        self.assertEqual(verdicts('linkbench', result)[
            'mmapv1: add_link takes so many times get_link_list'][1], claims.NOT_MEASURED)

    def test_a_machine_that_was_not_quiet_is_beside_the_verdict(self):
        noisy = {'idle': [{'seconds': 1, 'busy': 0.5}], 'steal': 0, 'floors_moved': 0}
        self.assertEqual(verdicts('run', {**ladder(), **noisy})[self.DEFAULT][1:],
                         (claims.REPRODUCED, 'the machine was not quiet enough'))
        self.assertRegex('\n'.join(claims.lines('run', {**ladder(), **noisy})),
                         'reproduced: the machine was not quiet enough')
        slow = dict(ladder(23), device_delay_ms=8)
        self.assertEqual(verdicts('run', slow)[self.DEFAULT][1:],
                         (claims.NOT_REPRODUCED, 'every flush made 8 ms slower'))

    def test_the_first_result_with_the_figure_counts(self):
        appended = {'contenders': {'base, default': {'runs': {'1': [{'per_second': 20.0}]}}}}

        def source(*results):
            return next(row for row in claims.rows(results) if row.claim.what == self.DEFAULT)
        self.assertEqual(source(('append', 'a', appended), ('run', 'r', ladder())).source, 'r')
        self.assertEqual(source(('append', 'a', appended), ('run', 'r', {'rows': []})).source, 'a')
        self.assertEqual(source().source, '')

    def test_every_claim_has_one_of_the_verdicts_and_fits_its_column(self):
        rows = list(claims.rows([]))
        self.assertEqual({row.verdict for row in rows}, {claims.NOT_MEASURED, claims.CANNOT})
        for row in rows:
            self.assertTrue(row.why and row.claim.theirs, row)
            self.assertLess(len(row.claim.what), 60)
        self.assertEqual(len({(row.claim.article, row.claim.what, row.claim.theirs)
                              for row in rows}), len(rows))

    def test_an_experiment_that_no_article_made_prints_nothing(self):
        self.assertEqual(claims.lines('growth', {'lines': []}), [])


def pairs(before, after):
    """A result of ./lab bench PATCH: bytes of log and rates without it and with it."""
    def traced(size):
        return {'bytes_per_commit': 2.0 * size, 'inserts_per_commit': 2.0}
    return {'blocks': [{'workload': 'insert --clients 8', 'alone': {
        'without': [{'per_second': before[1]}], 'with': [{'per_second': after[1]}],
        'without_traced': traced(before[0]), 'with_traced': traced(after[0])}}]}


class Requests(unittest.TestCase):
    def answers(self, patches, *iibench):
        return {request.slug: text for request, text in claims.answered(patches, iibench)}

    def test_until_there_is_a_result_those_of_the_header_stand(self):
        found = self.answers({})
        self.assertTrue(found['journal-insert-entries'].startswith('its header: iibench, 64 cl'))
        self.assertEqual(found['journal-pad-bytes'], 'not measured')

    def test_then_those_of_the_result(self):
        found = self.answers({'journal-pad-bytes': pairs((8222, 700), (4111, 770))})
        self.assertEqual(found['journal-pad-bytes'],
                         '8 clients, j:true: 8,222 bytes of log an insert without, 4,111 with it; '
                         '700 and 770 inserts/s')

    def test_and_those_of_the_insert_benchmark(self):
        iibench = {'rows': 20000, 'clients': 8, 'lines': [
            {'name': name, 'runs': [{'log_padded': log, 'data_bytes_per_insert': data}]}
            for name, log, data in (('series, at commit', 4200.0, 900.0),
                                    ('series, at flush', 4100.0, 600.0))]}
        found = self.answers({}, iibench)
        self.assertEqual(found['data-files-at-flush'],
                         'iibench, 20,000 rows, 8 clients: 900 bytes beside the log an insert '
                         'without, 600 with it')
        self.assertTrue(found['journal-insert-entries'].startswith('its header'))
        # Of several the largest that has both lines.
        larger = {**iibench, 'rows': 10 ** 6, 'clients': 1}
        self.assertTrue(self.answers({}, larger, iibench, {**larger, 'lines': []})[
            'data-files-at-flush'].startswith('iibench, 1,000,000 rows, 1 client: 900 '))
        # A lone client's commit is as large with padding, however little redo is in it.
        iibench['lines'] = [{'name': name, 'runs': [{'log_padded': 4181.0, 'log_raw': raw}]}
                            for name, raw in (('series, at flush', 4279.0),
                                              ('series, sync', 781.0))]
        self.assertEqual(self.answers({}, iibench)['journal-insert-entries'],
                         'iibench, 20,000 rows, 8 clients: 4,279 bytes of log before padding and '
                         'compression an insert without, 781 with it')

    def test_the_newest_kept_result_counts(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(claims, 'TOP', folder):
            self.assertIsNone(claims.kept('x'))
            for date in ('20260101', '20261231-120000', '20260505'):
                os.makedirs(os.path.join(folder, 'perf', 'results', date, '2core'))
                with open(os.path.join(folder, 'perf', 'results', date, '2core', 'x.json'), 'w',
                          encoding='utf-8') as file:
                    json.dump(date, file)
            self.assertEqual(claims.kept('x'), '20261231-120000')

    def test_every_patch_of_a_request_is_in_the_series(self):
        for request in claims.all_requests():
            self.assertTrue(os.path.exists(os.path.join(TOP, 'patches', request.slug + '.patch')))


if __name__ == '__main__':
    unittest.main()
