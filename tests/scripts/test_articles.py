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


class Verdicts(unittest.TestCase):

    def test_bounds_belong_to_what_carries_over(self):
        claim = claims.Claim('x', 'y', '29', {'run': None}, '.1f', claims.near(30, 0.1))
        self.assertEqual(claim.shown_wanted(), '27.0 to 33.0')
        for ours, verdict in ((26.9, claims.NOT_REPRODUCED), (27, claims.REPRODUCED),
                              (33, claims.REPRODUCED), (33.1, claims.NOT_REPRODUCED)):
            self.assertEqual(claim.verdict(ours, {})[0], verdict)
