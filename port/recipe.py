"""A recipe: how one patch of the series goes into an original tree. patches/upstream/ has them.

A recipe is a list of steps (steps.py) and, for what several recipes share, pieces of text: its
option, its members and functions in our header, its metrics in serverStatus().dur. The pieces are
put together by own_files.py and options.py.
"""

import importlib.util
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(TOP, 'patches', 'upstream')
VERSIONS = ('2.4', '2.6', '3.4')


class Option:
    """An option on the command line, and in YAML below storage.journal.

    `type` is unsigned, string or flag. `refuse` is a C++ condition under which the value is
    refused with `message`, `store` what is done with it; both know the value as `value`, and
    `store` may use the data directory as `dbpath` if `needs_dbpath`."""

    def __init__(self, name, yaml, type, help, store, refuse=None, message='', late=(),
                 needs_dbpath=False):
        self.name, self.yaml, self.type, self.help = name, yaml, type, help
        self.store, self.refuse, self.message = store, refuse, message
        self.late = late  # [(condition, message expression)] after the value is known to be valid
        self.needs_dbpath = needs_dbpath

    @property
    def dotted(self):
        return 'storage.journal.' + self.yaml


class Recipe:
    """`slug` is the patch's name in patches/series, `ticket` as in its header. `unportable` maps
    versions to the reason why they cannot have it; `steps` are those of all versions, each with
    the versions it is for. `header` and `metrics` are pieces (own_files.py). `try_it` are options
    to see it with, `expect` is what a trace of the ported server on that `system` then shows,
    `notes` maps versions to what is less there."""

    def __init__(self, slug, ticket, subject, steps, option=None, header=None, metrics=None,
                 unportable=None, upstream=None, try_it=None, expect='', notes=None,
                 system='linux'):
        self.slug, self.ticket, self.subject = slug, ticket, subject
        self.own_steps, self.option = steps, option
        self.header, self.metrics = header, metrics
        self.unportable = unportable or {}
        self.upstream = upstream  # (file, anchor, sentence): the tree has it if the anchor is gone
        self.try_it, self.expect, self.notes = try_it, expect, notes or {}
        self.system = system

    def places(self, version):
        """[(file, scope)] that the recipe edits in the code of that version, without options."""
        seen = []
        for step in sorted(self.own_steps, key=lambda step: step.inside is None):
            if (step.only is None or version in step.only) and not step.is_include():
                if step.place() not in seen:
                    seen.append(step.place())
        return seen

    def location(self, version='2.6'):
        """The header field Upstream-location: files, and the definitions edited in them."""
        files = {}
        for file, scope in self.places(version):
            files.setdefault(file, [])
            name = re.sub(r'^(type|static|void|bool|unsigned) ', '', scope or '')
            name = re.sub(r'^(void|bool) ', '', name)
            if name and name not in files[file]:
                files[file].append(name)
        return '; '.join(file + (': ' + ', '.join(names) if names else '')
                         for file, names in files.items())


def sections(path):
    """{name: text} of a file in which each text stands below a line `==== NAME`."""
    with open(path, encoding='utf-8') as file:
        _, *parts = re.split(r'^==== (.+)\n', file.read(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2]))


def load(slug):
    path = os.path.join(FOLDER, slug + '.py')
    spec = importlib.util.spec_from_file_location('recipe_' + slug.replace('-', '_'), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.RECIPE.slug != slug:
        raise ValueError('%s has the recipe of %s' % (path, module.RECIPE.slug))
    return module.RECIPE


def series():
    """The slugs of patches/series, in order."""
    with open(os.path.join(TOP, 'patches', 'series'), encoding='utf-8') as file:
        return re.findall(r'^([a-z][\w-]*)\.patch', file.read(), re.MULTILINE)


def without_recipe():
    """{slug: why} of the patches that have no recipe, from their headers."""
    found = {}
    for slug in series():
        with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
            why = re.search(r'^No-recipe: (.+)$', file.read(), re.MULTILINE)
        if why:
            found[slug] = why[1]
    return found


def all_recipes():
    """Every recipe, in the order of patches/series; those that are not in it come last."""
    order = series()
    present = sorted(name[:-3] for name in os.listdir(FOLDER) if name.endswith('.py'))
    ordered = [slug for slug in order if slug in present]
    return [load(slug) for slug in ordered + [slug for slug in present if slug not in order]]
