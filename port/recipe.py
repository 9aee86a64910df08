"""A recipe: how one patch of the series goes into an original tree. patches/upstream/ has them.

A recipe is a list of steps (SLUG.py, in the words of steps.py) and, for what several recipes share,
pieces of text (SLUG.code): its option, its members and functions in our header, its metrics in
serverStatus().dur. The pieces are put together by own_files.py and options.py."""

import collections
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


class Header:
    """A recipe's part of dur_options.h. `stored_if`: the condition under which a section of `raw`
    bytes and `overhead` is not compressed, with what is then counted. `quick_if`: the condition
    under which commits may follow each other more quickly than at the shortest fixed interval."""

    def __init__(self, comment, members='', initial='', code='', includes=(), stored_if='',
                 quick_if=''):
        self.comment, self.members, self.initial = comment, members, initial
        self.code, self.includes = code, tuple(includes)
        self.stored_if, self.quick_if = stored_if, quick_if


class Metrics:
    """A recipe's part of dur_additions.h: `code` appends to a BSONObjBuilder `b`, `before` are
    functions for it. `runs_cycles`: it calls runCycle, with which the journal thread commits;
    `cycle_lock` is what that takes first. `delays_commits`: it calls delayCommit before a commit
    for waiters; `delay` is what that does."""

    def __init__(self, comment, code, before='', includes=(), runs_cycles=False, cycle_lock='',
                 delays_commits=False, delay=''):
        self.comment, self.code, self.before = comment, code, before
        self.includes = tuple(includes)
        self.runs_cycles, self.cycle_lock = runs_cycles, cycle_lock
        self.delays_commits, self.delay = delays_commits, delay


class Recipe:
    """`slug` is the patch's name in patches/series, `ticket` as in its header. `unportable` maps
    versions to the reason why they cannot have it; `steps` are those of all versions, each with
    the versions it is for. `header` and `metrics` are pieces. `try_it` are options
    to see it with, `expect` is what a trace of the ported server on that `system` then shows,
    `notes` maps versions to what is less there."""

    def __init__(self, slug, subject, steps, ticket=None, option=None, header=None, metrics=None,
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
        _, *parts = re.split(r'^==== (.+)\n', file.read(), flags=re.M)
    return dict(zip(parts[::2], parts[1::2]))


def fields_of(text):
    """{group: {name: value}} of lines `NAME: VALUE` or `GROUP.NAME: VALUE`. Indented lines go on
    with prose, or are code, where there is no value beside the name."""
    found = collections.defaultdict(dict)
    for key, first, more in re.findall(r'^([\w.]+):(.*)\n((?:(?: .*)?\n)*)', text, re.M):
        group, _, name = key.rpartition('.') if not key[-1].isdigit() else key.partition('.')
        found[group][name] = ' '.join((first + '\n' + more).split()) if first else more
    return found


def load(slug):
    """The recipe of SLUG.code and SLUG.py."""
    path = os.path.join(FOLDER, slug)
    spec = importlib.util.spec_from_file_location('recipe_' + slug.replace('-', '_'), path + '.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    code = sections(path + '.code')
    fields = fields_of(code['recipe'])
    option, header, metrics = fields['option'], fields['header'], fields['metrics']
    if 'late' in option:
        option['late'] = [(option['late'], code['late'].rstrip('\n'))]
    for part in (header, metrics):
        part['includes'] = part.get('includes', '').split()
    return Recipe(
        slug, steps=module.STEPS, **fields[''], unportable=fields['unportable'],
        upstream=tuple(fields['upstream'].values()) or None, notes=fields['notes'],
        option=Option(**option) if option else None,
        header=Header(**header, code=code.get('header', '')),
        metrics=Metrics(**metrics, code=code['metrics'], before=code.get('metrics, before', ''),
                        delay=code.get('metrics, delay', '')) if 'comment' in metrics else None)


def series():
    """The slugs of patches/series, in order."""
    with open(os.path.join(TOP, 'patches', 'series'), encoding='utf-8') as file:
        return re.findall(r'^([a-z][\w-]*)\.patch', file.read(), re.M)


def without_recipe():
    """{slug: why} of the patches that have no recipe, from their headers."""
    found = {}
    for slug in series():
        with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
            why = re.search(r'^No-recipe: (.+)$', file.read(), re.M)
        if why:
            found[slug] = why[1]
    return found


def all_recipes():
    """Every recipe, in the order of patches/series; those that are not in it come last."""
    order = series()
    present = sorted(name[:-3] for name in os.listdir(FOLDER) if name.endswith('.py'))
    ordered = [slug for slug in order if slug in present]
    return [load(slug) for slug in ordered + [slug for slug in present if slug not in order]]
