"""That the tool and the small trees have each file where the map says it lies in that version."""

import os
import re
import unittest

from small_trees import RECIPES, TOP, VERSIONS, SmallTree

from port.plan import steps_of
from port.tree import MMAP_V1, TOP as BELOW, Tree

MAP = os.path.join(TOP, 'docs', 'spec', 'upstream-map.md')
PATH = re.compile(r'\b((?:M|db|s|util)/[\w/]+)\.(\w+|\{[\w,]+\})')


def paths_in(cell):
    """Every path below src/mongo/ that a cell of the table of files names."""
    for stem, suffixes in PATH.findall(cell):
        for suffix in suffixes.strip('{}').split(','):
            yield '%s.%s' % (stem.replace('M/', MMAP_V1), suffix)


def mapped():
    """{version: {name: path}} by the table of files in the map."""
    with open(MAP, encoding='utf-8') as file:
        table = re.search(r'^## 1\. Files\n(.*?)\n\n', file.read(), re.M | re.S)[1]
    found = {version: {} for version in VERSIONS}
    for row in table.split('\n')[2:]:
        _, old, new = row.strip('| ').split(' | ')
        for version in VERSIONS:
            for path in paths_in(new if version == '3.4' else old):
                name = os.path.basename(path)
                assert found[version].setdefault(name, path) == path, (version, name)
    return found


class Places(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mapped = mapped()

    def test_the_table_is_read(self):
        for version, name, path in (('2.4', 'db.cpp', 'db/db.cpp'),
                                    ('2.6', 'logfile.cpp', 'util/logfile.cpp'),
                                    ('2.6', 'storage_options.h', 'db/storage_options.h'),
                                    ('3.4', 'logfile.cpp', MMAP_V1 + 'logfile.cpp'),
                                    ('3.4', 'mongod_options.cpp', 'db/mongod_options.cpp')):
            self.assertEqual(self.mapped[version][name], path)

    def test_the_tool_looks_there(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                tree = Tree(small.root)
                for name, path in self.mapped[version].items():
                    self.assertEqual(tree.path(name), BELOW + path, version)

    def test_the_small_trees_have_them_there(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                for path in small.files():
                    there = self.mapped[version].get(os.path.basename(path))
                    if there:
                        self.assertEqual(path, BELOW + there, version)

    def test_every_file_that_a_recipe_edits_is_in_its_small_tree(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                tree, files = Tree(small.root), small.files()
                for slug, recipe in RECIPES.items():
                    if version in recipe.unportable:
                        continue
                    for step in steps_of(recipe, version):
                        if step.file not in ('dur_options.h', 'dur_additions.h'):  # made anew
                            self.assertIn(tree.path(step.file), files, (version, slug))
