"""Each file is where the map says it lies in that version; every patch has its recipe, unless its
header says why it has none, and Upstream-location says where it goes; the commands of
port/README.md do, on a small tree in place of the checkout, what they say."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from port.plan import steps_of
from port.tree import MMAP_V1, TOP as BELOW, Tree
from small_trees import RECIPES, SmallTree, TOP, VERSIONS, git

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


class Headers(unittest.TestCase):
    def series(self):
        with open(os.path.join(TOP, 'patches', 'series'), encoding='utf-8') as file:
            return re.findall(r'^([a-z][\w-]*)\.patch', file.read(), re.M)

    def header(self, slug):
        with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
            return dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', file.read(), re.M))

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


PAGE = os.path.join(TOP, 'port', 'README.md')
# What stands for a server that was ported and built.
SERVER = '#!/bin/sh\nexit 0\n'
# They fetch and build the original server, which is not here.
NOT_RUN = re.compile(r'git clone \.\.\. |cd ~/mongo && scons ')
MEASURES = re.compile(r'\./lab (run|bench journal-[\w-]+|trace \w+) --server ')
SCRIPTS = {'run': 'run', 'bench': 'ab', 'trace': 'trace_server'}
# Only has the script of perf/ in its first word read the others.
READS = ('import importlib, sys; sys.path.insert(0, sys.argv[1]); '
         'importlib.import_module(sys.argv[2]).make_parser().parse_args(sys.argv[3:])')


def commands():
    with open(PAGE, encoding='utf-8') as file:
        return re.findall(r'^    ((?:\./lab|git|cd|scons) .*)$', file.read(), re.M)


class Page(unittest.TestCase):
    def run_in(self, home, command):
        return subprocess.run(['bash', '-euc', command], cwd=TOP, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, HOME=home))

    def test_every_command_does_what_the_page_says(self):
        ported = [command for command in commands()
                  if not NOT_RUN.match(command) and not MEASURES.match(command)]
        self.assertGreaterEqual(len(ported), 5, ported)
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as home, SmallTree(version, checkout=True) as small:
                os.symlink(small.root, os.path.join(home, 'mongo'))
                before = small.contents()
                for command in ported:
                    command = command.replace('> durable.diff', '> "$HOME/durable.diff"')
                    with self.subTest([version, command]):
                        run = self.run_in(home, command)
                        self.assertEqual(run.returncode, 0, run.stdout)
                        changed = small.contents() != before
                        self.assertEqual(changed, '--apply' in command or 'diff ' in command)
                with open(os.path.join(home, 'durable.diff'), encoding='utf-8') as file:
                    self.assertTrue(file.read().startswith('diff --git a/src/mongo/'))
                self.assertEqual(git(small.root, 'status', '--porcelain'), (0, ''))

    def test_commands_that_measure_are_understood(self):
        found = [command for command in commands() if MEASURES.match(command)]
        self.assertEqual(len(found), 3)
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, 'mongo'))
            server = os.path.join(home, 'mongo', 'mongod')
            pathlib.Path(server).write_text(SERVER, 'utf-8')
            os.chmod(server, 0o755)
            for command in found:
                word, rest = re.fullmatch(r'\./lab (\w+)(.*)', command).groups()
                run = self.run_in(home, '"%s" -c "%s" "%s" %s %s' % (
                    sys.executable, READS, os.path.join(TOP, 'perf'), SCRIPTS[word], rest))
                self.assertEqual((run.returncode, run.stdout), (0, ''), command)
