"""Every recipe on the small trees: applies alone and in subsets, compiles, is known again when it
is there in whole or in part, and says what is missing when the code is another."""

import functools
import itertools
import math
import os
import re
import unittest

import small_trees
from small_trees import (RECIPES, STANDARDS, VERSIONS, SmallTree, compile_errors,
                         compile_errors_at_once, portable)

from port import tokens
from port.own_files import OwnFile
from port.plan import Plan, steps_of
from port.tree import Tree

PORTABLE = {version: portable(version) for version in VERSIONS}


# Thousands of subsets share a few hundred texts.
@functools.lru_cache(maxsize=1024)
def unbalanced(text):
    """Whether braces outside the preprocessor's lines do not match. Branches of an #if do."""
    braces = [token.text for token in tokens.scan(text)[0] if token.text in '{}']
    return braces.count('{') != braces.count('}')


def code(text):
    return [token.text for token in tokens.scan(text)[0]]


class Subsets(unittest.TestCase):
    def add(self, tree, slug):
        plan = Plan(tree, [RECIPES[slug]], asked=True)
        self.assertEqual([f.sentence for f in plan.findings], [], slug)

    @staticmethod
    def wanted(taken, left):
        """Recipes meet in pairs, and almost all are there when one is left out; --whole tries the
        thousands between."""
        return small_trees.WHOLE or taken <= 2 or left <= 1

    def with_and_without(self, tree, slugs, taken=0, left=0):
        """The wanted subsets of `slugs` on top of what the tree has; returns how many."""
        if not self.wanted(taken, left):
            return 0
        if not slugs:
            for path, text in tree.texts().items():
                self.assertFalse(unbalanced(text), path)
            return 1
        count = self.with_and_without(tree, slugs[1:], taken, left + 1)
        before = tree.texts()
        self.add(tree, slugs[0])
        count += self.with_and_without(tree, slugs[1:], taken + 1, left)
        tree.restore(before)
        return count

    def test_subsets_apply(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                tree, _ = small.plan([])
                count = self.with_and_without(tree, PORTABLE[version])
                recipes = len(PORTABLE[version])
                self.assertEqual(count, sum(math.comb(recipes, taken)
                                            for taken in range(recipes + 1)
                                            if self.wanted(taken, recipes - taken)))
                self.assertEqual(tree.changed(), [])

    def test_the_order_does_not_matter(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                tree, _ = small.plan([])
                for pair in itertools.combinations(PORTABLE[version], 2):
                    texts = []
                    for order in (pair, reversed(pair)):
                        for slug in order:
                            self.add(tree, slug)
                        texts.append({path: sorted(code(text))
                                      for path, text in tree.texts().items()})
                        tree.restore({})
                    self.assertEqual(texts[0], texts[1], (version, pair))

    def test_all_have_lines_that_fit(self):
        for version in VERSIONS:
            with SmallTree(version) as small:
                tree, _ = small.plan()
                for path, before, after in tree.changed():
                    old = set((before or '').split('\n'))
                    for line in after.split('\n'):
                        if line not in old:
                            self.assertLessEqual(len(line), 104, path + ': ' + line)
                            self.assertEqual(line, line.rstrip(), path)
                            self.assertNotIn('$', line, path)

    def test_line_endings_stay(self):
        for version in VERSIONS:
            with SmallTree(version, crlf=True) as small:
                small.port()
                for path, text in small.contents().items():
                    self.assertEqual(text.count('\n'), text.count('\r\n'), path)
                with SmallTree(version) as plain:
                    plain.port()
                    self.assertEqual({path: text.replace('\r\n', '\n') for path,
                                      text in small.contents().items()}, plain.contents())


class Compile(unittest.TestCase):
    def test_the_trees_by_themselves(self):
        for version in VERSIONS:
            for standard in STANDARDS[version]:
                with SmallTree(version) as small:
                    self.assertEqual(compile_errors_at_once(small, standard), '')

    def test_each_recipe_alone_in_old_cpp(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                subset = [slug]
                with SmallTree(version) as small:
                    before = small.contents()
                    self.assertEqual(small.port(subset).findings, [])
                    paths = [path for path in small.sources()
                             if small.read(path) != before.get(path)]
                    found = compile_errors(small, STANDARDS[version][0], paths)
                    self.assertEqual(found, '', (version, slug))

    def test_all_recipes_in_every_standard(self):
        for version in VERSIONS:
            for standard in STANDARDS[version]:
                with SmallTree(version) as small:
                    small.port()
                    found = compile_errors_at_once(small, standard)
                    self.assertEqual(found, '', (version, standard))

    def test_all_but_one(self):
        """What a recipe leans on without saying so is missing in one of these."""
        for slug in PORTABLE['2.6']:
            with SmallTree('2.6') as small:
                small.port([each for each in PORTABLE['2.6'] if each != slug])
                self.assertEqual(compile_errors_at_once(small, 'gnu++98'), '', slug)

    def test_debug_builds_too(self):
        with SmallTree('2.6') as small:
            small.port()
            path = small.path('dur_options.h')
            small.write(path, '#define _DEBUG 1\n' + small.read(path))
            found = compile_errors(small, 'gnu++98', [small.path('dur_journal.cpp')])
            self.assertEqual(found, '')


class Known(unittest.TestCase):
    """What is there already, in whole or in part."""

    def each(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                yield version, slug, [slug]

    def test_applied(self):
        for version, slug, subset in self.each():
            with SmallTree(version) as small:
                small.port(subset)
                _, plan = small.plan([slug])
                self.assertEqual([f.kind for f in plan.findings], ['applied'], (version, slug))
                sentence = plan.findings[0].sentence
                self.assertRegex(sentence, '^%s: already applied: src/mongo/.* has it' % slug)
                self.assertIn('`', sentence)

    def test_the_others_still_apply(self):
        for version, slug, subset in self.each():
            with SmallTree(version) as small:
                small.port(subset)
                _, plan = small.plan()
                self.assertEqual([f.sentence for f in plan.findings], [])
                self.assertEqual([each.slug for each, _ in plan.stages],
                                 [each for each in PORTABLE[version] if each not in subset])

    def test_one_step_undone_is_partly_applied(self):
        """Each file of a change put back by itself."""
        for version, slug, subset in self.each():
            with SmallTree(version) as small:
                before = small.contents()
                small.port([slug])
                after = small.contents()
                for path in [path for path in after if after[path] != before.get(path)]:
                    own = [step for step in steps_of(RECIPES[slug], version)
                           if not step.shared and small.path(step.file) == path]
                    if not own:
                        continue  # only what it shares with others
                    if path in before:
                        small.write(path, before[path])
                    else:
                        os.unlink(os.path.join(small.root, path))
                    tree, plan = small.plan([slug])
                    self.assertEqual([f.kind for f in plan.findings], ['partly'],
                                     (version, slug, path))
                    self.assertIn(path, plan.findings[0].sentence)
                    self.assertEqual(tree.changed(), [])
                    small.write(path, after[path])

    def test_own_files_changed_by_hand(self):
        with SmallTree('2.6') as small:
            small.port(['journal-compressor'])
            path = small.path('dur_options.h')
            small.edit(path, 'storeAll = false;', 'storeAll = true;')
            _, plan = small.plan(['journal-pad-bytes'])
            self.assertEqual({f.kind for f in plan.findings}, {'partly'})
            self.assertIn('dur_options.h', plan.findings[0].sentence)
            small.write(path, '// another file\n')
            _, plan = small.plan(['journal-pad-bytes'])
            self.assertEqual({f.kind for f in plan.findings}, {'partly'})


class Moved(unittest.TestCase):
    """Each anchor of each recipe, spoilt in turn."""

    def anchored(self, version, slug):
        for step in steps_of(RECIPES[slug], version):
            if step.anchor and not step.is_include() and not isinstance(step, OwnFile):
                yield step

    def spoil(self, small, step, change):
        """Changes the anchor's text in its scope; returns the file's path."""
        source = Tree(small.root).source(step.file)
        start, end = source.find(step.anchor, step.scope)[0]
        text = source.text
        small.write(source.path, text[:start] + change(text[start:end]) + text[end:])
        return source.path

    def test_an_anchor_that_is_gone(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                for step in self.anchored(version, slug):
                    with SmallTree(version) as small:
                        # The last name in the anchor is another one.
                        path = self.spoil(small, step, lambda text: re.sub(
                            r'([A-Za-z_]\w*)(?!.*[A-Za-z_])', r'\1_moved', text, flags=re.S))
                        before = small.contents()
                        tree, plan = small.plan([slug])
                        kinds = {f.kind for f in plan.findings}
                        if RECIPES[slug].upstream and RECIPES[slug].upstream[1] in step.anchor:
                            self.assertEqual(kinds, {'unportable'})  # then the tree has it
                            continue
                        self.assertEqual(kinds, {'moved'}, (version, slug, step.anchor))
                        sentences = '\n'.join(f.sentence for f in plan.findings)
                        self.assertIn(slug, sentences)
                        self.assertIn(path, sentences)
                        self.assertIn('`%s`' % step.anchor, sentences)
                        self.assertEqual(tree.changed(), [])
                        self.assertEqual(before, small.contents())

    def test_an_anchor_that_is_there_twice(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                for step in self.anchored(version, slug):
                    with SmallTree(version) as small:
                        path = self.spoil(small, step, lambda text: text + ' ' + text)
                        tree, plan = small.plan([slug])
                        kinds = {f.kind for f in plan.findings}
                        self.assertIn('ambiguous', kinds, (version, slug, step.anchor))
                        self.assertIn(path, '\n'.join(f.sentence for f in plan.findings))
                        self.assertEqual(tree.changed(), [])

    def test_anchors_in_comments_and_strings_do_not_count(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                with SmallTree(version) as small:
                    for step in self.anchored(version, slug):
                        path = small.path(step.file)
                        anchor = step.anchor.replace('"', '\\"')
                        small.write(path, small.read(path) + '\n/* %s */ // %s\n'
                                    'static const char* const unused%d __attribute__((unused)) '
                                    '= "%s";\n' % (step.anchor, step.anchor,
                                                   len(small.read(path)), anchor))
                    _, plan = small.plan([slug])
                    self.assertEqual([f.sentence for f in plan.findings], [])

    def test_a_file_that_is_gone(self):
        for version in VERSIONS:
            for slug in PORTABLE[version]:
                for file in {step.file for step in self.anchored(version, slug)}:
                    with SmallTree(version) as small:
                        path = small.path(file)
                        if file in ('dur_journal.cpp', 'mongod_options.cpp', 'parameters.cpp'):
                            continue  # then it is another version, or none
                        os.unlink(os.path.join(small.root, path))
                        _, plan = small.plan([slug])
                        self.assertIn('moved', {f.kind for f in plan.findings}, (slug, file))
                        self.assertIn(path, plan.findings[0].sentence)
