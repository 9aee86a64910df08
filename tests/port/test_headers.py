"""That recipes and the series are about the same: every patch has its recipe, unless its header
says why it has none, and the header field Upstream-location says where the recipe goes."""

import os
import re
import unittest

from small_trees import RECIPES, TOP


class Headers(unittest.TestCase):
    def series(self):
        with open(os.path.join(TOP, 'patches', 'series'), encoding='utf-8') as file:
            return re.findall(r'^([a-z][\w-]*)\.patch', file.read(), re.MULTILINE)

    def header(self, slug):
        with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
            return dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', file.read(), re.MULTILINE))

    def test_every_patch_has_a_recipe(self):
        without = {slug for slug in self.series() if 'No-recipe' in self.header(slug)}
        self.assertEqual(set(self.series()) - without, set(RECIPES))

    def test_upstream_location(self):
        for slug in RECIPES:
            self.assertEqual(self.header(slug)['Upstream-location'], RECIPES[slug].location(),
                             'Upstream-location of %s is not where its recipe goes' % slug)

    def test_counters_are_called_as_the_option(self):
        for slug in RECIPES:
            own = self.header(slug)['Option'].removeprefix('journal')
            own = own[0].lower() + own[1:]
            code = RECIPES[slug].metrics.code if RECIPES[slug].metrics else ''
            shown = set(re.findall(r'\bb\.append\("(\w+)"', code))
            # The interval is shown where the old server shows it.
            self.assertLessEqual(shown - {'journalCommitIntervalMs'}, {own}, slug)

    def test_ticket_and_option(self):
        for slug in RECIPES:
            header = self.header(slug)
            self.assertEqual(header['Ticket'], RECIPES[slug].ticket or 'none')
            if RECIPES[slug].option:
                self.assertEqual(header['Option'], RECIPES[slug].option.name)
