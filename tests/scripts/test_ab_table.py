"""Tests perf/ab_table.py: a change, and how the table of a result gets into a patch's header.
patches/check.py compares the headers with the results that they quote."""

import json
import os
import re
import unittest

import ab_table
import staging

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLUG = 'journal-pad-bytes'


def read(*path):
    with open(os.path.join(TOP, *path), encoding='utf-8') as file:
        return file.read()


class Change(unittest.TestCase):
    def test_it_is_the_median_with_its_range_and_without_a_mark(self):
        self.assertEqual(ab_table.shown_change([3.0, 1.0, 2.0, 2.0, 4.0, 9.0]), '+2% (+1..+9)')


class Header(unittest.TestCase):
    def test_a_new_table_replaces_the_old_one_and_nothing_else(self):
        patch = read('patches', SLUG + '.patch')
        fields = staging.header_fields(os.path.join(TOP, 'patches', SLUG + '.patch'))
        old = ab_table.table(json.loads(read(fields['Result'])))
        new = ab_table.with_table(patch, old, 'THE TABLE', 'new.json', '2027-02-01T08:09:10+00:00')
        kept = re.compile(r'^(Result|Date|Last-update): .*\n', re.MULTILINE)
        self.assertEqual(kept.sub('', new), kept.sub('', patch.replace(old, 'THE TABLE')))
        for line in ('Result: new.json', 'Date: Mon, 1 Feb 2027 08:09:10 +0000',
                     'Last-update: 2027-02-01'):
            self.assertIn('\n%s\n' % line, new)
        with self.assertRaises(ValueError):
            ab_table.with_table(patch, 'no such table', 'x', 'x', '2027-02-01T08:09:10+00:00')
