"""Applying recipes to a tree in memory: what is there already, what does not fit, the result."""

from port import options
from port.own_files import OwnFile
from port.source import Problem
from port.steps import Include, WrapReturn


def steps_of(recipe, version):
    steps = []
    if recipe.header:
        steps.append(OwnFile('dur_options.h', recipe.slug))
    if recipe.option:
        steps += options.steps_for(recipe.option, version)
    if recipe.metrics:
        steps += [OwnFile('dur_additions.h', recipe.slug), Include('dur.cpp', 'dur_additions.h'),
                  WrapReturn('dur.cpp', 'return dur :: stats . asObj (', 'dur::withMetrics(',
                             shared=True)]
    return steps + [step for step in recipe.own_steps if step.only is None or version in step.only]


class Finding:
    """A sentence about a recipe and a tree. `kind` as in outcome.py."""

    def __init__(self, kind, slug, sentence):
        self.kind, self.slug, self.sentence = kind, slug, sentence


class Plan:
    """Recipes applied one after the other, each whole or not at all. `stages` are [(recipe, changed
    files since the stage before)], `findings` why others are left out, `notes` what else is worth
    saying."""

    def __init__(self, tree, recipes, asked):
        self.tree, self.stages, self.findings, self.notes = tree, [], [], []
        for recipe in recipes:
            finding = self._unportable(recipe)
            if finding is None:
                finding = self._state(recipe)
            if finding is not None:
                # Without a choice by the user, what is there or cannot be is no fault.
                mild = finding.kind in ('applied', 'unportable') and not asked
                (self.notes if mild else self.findings).append(finding)
                continue
            before = tree.texts()
            problems = self._apply(recipe)
            if problems:
                self.findings += problems
                tree.restore(before)
            else:
                self.stages.append((recipe, self._changes_since(before)))
        if not self.stages and not self.findings:
            # Nothing to do. That the rest cannot be had does not matter if something is there.
            applied = [note for note in self.notes if note.kind == 'applied']
            self.findings = applied or self.notes
            self.notes = [note for note in self.notes if note not in self.findings]

    def _changes_since(self, before):
        return [(path, before.get(path, source.before), source.text)
                for path, source in sorted(self.tree.sources.items())
                if source.text != (before.get(path, source.before) or '')]

    def _unportable(self, recipe):
        version = self.tree.version
        if version in recipe.unportable:
            return Finding('unportable', recipe.slug, '%s: not for %s: %s'
                           % (recipe.slug, version, recipe.unportable[version]))
        if recipe.upstream:
            file, anchor, sentence = recipe.upstream
            try:
                source = self.tree.source(file)
            except Problem as problem:
                return _finding(problem, recipe.slug)
            if not source.find(anchor):
                return Finding('unportable', recipe.slug, '%s: %s, anchor `%s`: %s'
                               % (recipe.slug, source.path, anchor, sentence))
        return None

    def _state(self, recipe):
        """A finding if the recipe is there, in whole or in part."""
        there, absent = [], []
        for step in steps_of(recipe, self.tree.version):
            if step.shared:
                continue
            try:
                (there if step.present(self.tree) else absent).append(step)
            except Problem:
                absent.append(step)  # applying says why
        if not there:
            return None
        if not absent:
            step = ([step for step in there if step.anchor] or there)[-1]
            return Finding('applied', recipe.slug, '%s: already applied: %s has it%s'
                           % (recipe.slug, self.tree.path(step.file), _at(step)))
        return Finding('partly', recipe.slug,
                       '%s: partly applied: %s has it%s, %s has not%s; undo the rest of it first'
                       % (recipe.slug, self.tree.path(there[0].file), _at(there[0]),
                          self.tree.path(absent[0].file), _at(absent[0])))

    def _apply(self, recipe):
        problems = []
        for step in steps_of(recipe, self.tree.version):
            try:
                if not (step.shared and step.present(self.tree)):
                    step.apply(self.tree)
            except Problem as problem:
                problems.append(_finding(problem, recipe.slug))
        return problems


def _at(step):
    if step.anchor:
        return ' at `%s`' % step.anchor
    return ' in `%s`' % step.scope if step.scope else ''


def _finding(problem, slug):
    problem.slug = slug
    return Finding(problem.kind, slug, str(problem))
