"""./lab patch: a patch of one's own, from its first lines to its place in the series.

Sources to edit lie in build/patch/SLUG/: `before` as the patch finds them, `src` with it. What
differs is the patch: nothing has to be announced before it is edited. A new one is written on the
bare base, so that it applies without the others, and then goes behind them. `written` is what
patches/ has of it, so that nothing else is lost by beginning again."""

import datetime
import os
import pathlib
import re
import shutil
import string
import subprocess
import sys

from lab import base, needs, selections
from lab.command_line import HELP, Parser

import ab_table
import staging

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'new_patch')
PATCHES = os.path.join(base.TOP, 'patches')
DATE = re.compile(r'^Date: .*$', re.M)
UPDATE = re.compile(r'^Last-update: .*$', re.M)
SLUG = re.compile(r'(journal|flush)(-[a-z][a-z0-9]*)+')


def folder(slug, *path):
    return os.path.join(base.BUILD, 'patch', slug, *path)


def read(*path):
    return pathlib.Path(os.path.join(*path)).read_text('utf-8')


def write(text, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    pathlib.Path(os.path.join(*path)).write_text(text, 'utf-8')


def names(slug):
    """What the option of that patch is called everywhere (patches/README.md)."""
    kind, *words = slug.split('-')
    of_flush = kind == 'flush'  # storage.flushSayMore, not storage.journal.sayMore
    words = ['flush', *words] if of_flush else words
    own = words[0] + ''.join(map(str.capitalize, words[1:]))
    type_name = own[0].upper() + own[1:]
    return {'slug': slug, 'option': own if of_flush else 'journal' + type_name,
            'yaml': 'storage.' + own if of_flush else 'storage.journal.' + own,
            'file': '_'.join(words), 'type': type_name, 'author': author(), **today()}


def today():
    now = datetime.datetime.now(datetime.timezone.utc)
    return {'date': ab_table.git_date(now.isoformat()), 'day': now.date().isoformat()}


def author():
    """As git knows the user."""
    def setting(name):
        return subprocess.run(['git', 'config', name], cwd=base.TOP, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    return '%s <%s>' % (setting('user.name') or 'Your Name',
                        setting('user.email') or 'you@example.org')


def template(name, slug):
    return string.Template(read(TEMPLATES, name)).substitute(names(slug))


class Failed(Exception):
    """quilt could not; the text is what it said."""


class Quilt:
    """The series in a scratch tree of its own."""

    def __init__(self, slug):
        self.tree = folder(slug, 'series')
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(os.path.join(base.TOP, 'src'), os.path.join(self.tree, 'src'))
        shutil.copytree(PATCHES, os.path.join(self.tree, 'patches'))

    def __call__(self, *words):
        run = subprocess.run(['quilt', '--quiltrc', 'patches/quiltrc', *words], cwd=self.tree,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise Failed('quilt %s failed:\n%s' % (' '.join(words), run.stdout))

    def entries(self):
        """The lines of the series, titles too."""
        return read(self.tree, 'patches', 'series').split('\n')

    def place(self, slug, first):
        """Puts the patch in front of all others, or behind them."""
        name = slug + '.patch'
        lines = [line for line in self.entries() if line.strip() != name]
        while lines and not lines[-1].strip():
            lines.pop()
        lines = [name, *lines] if first else [*lines, name]
        write('\n'.join(lines) + '\n', self.tree, 'patches', 'series')


def before(slug):
    """The patches in front of one in the series."""
    series = selections.patches()
    return series[:series.index(slug)] if slug in series else []


def state(slug):
    """All that refresh would make a patch of."""
    return read(folder(slug, 'header.txt')) + difference(slug)


def keep_state(slug):
    write(state(slug), folder(slug, 'written'))


def is_edited(slug):
    return not os.path.exists(folder(slug, 'written')) or \
        read(folder(slug, 'written')) != state(slug)


def refuse_to_lose(slug):
    """Ends the process where something was edited that patches/ does not have."""
    if os.path.isdir(folder(slug, 'src')) and is_edited(slug):
        place = os.path.relpath(folder(slug), base.TOP)
        base.give_up('%s has changes that are in no patch: ./lab patch refresh %s writes them, '
                     'rm -r %s drops them' % (place, slug, place))


def make_sources(slug):
    """`before` and `src` for the patch."""
    refuse_to_lose(slug)
    shutil.rmtree(folder(slug), ignore_errors=True)
    quilt = Quilt(slug)
    if before(slug):
        quilt('push', before(slug)[-1] + '.patch')
    shutil.copytree(os.path.join(quilt.tree, 'src'), folder(slug, 'before', 'src'))
    if slug in selections.patches():
        quilt('push', slug + '.patch')
    shutil.copytree(os.path.join(quilt.tree, 'src'), folder(slug, 'src'))
    shutil.rmtree(quilt.tree)


def new(slug):
    if not SLUG.fullmatch(slug):
        base.give_up("a patch is called as its option, journal or flush and what it is about: not "
                     "'%s' but for instance journal-say-more" % slug, base.EXIT_USAGE)
    if slug in selections.patches():
        base.give_up('there is a patch %s; ./lab patch edit %s shows its sources' % (slug, slug))
    needs.compiler()
    make_sources(slug)
    own = names(slug)['file']
    for ending in ('.h', '.cpp', '_test.cpp'):
        write(template('option' + ending, slug),
              folder(slug, 'src', 'journal', 'options', own + ending))
    write(template('header.txt', slug), folder(slug, 'header.txt'))
    for name, path in (('jstest.js', 'jstests/patches/%s.js'),
                       ('template.txt', 'perf/templates/%s.txt')):
        path = os.path.join(base.TOP, path % slug)
        if not os.path.exists(path):
            write(template(name, slug), path)
    keep_state(slug)
    show(slug)


def edit(slug):
    needs.compiler()
    make_sources(slug)
    write(staging.header_of(read(PATCHES, slug + '.patch')), folder(slug, 'header.txt'))
    keep_state(slug)
    show(slug)


def show(slug):
    base.say('''edit these, then ./lab patch refresh %s
  %s/        the sources; %s/ is what they were
  %s   the text of the patch
  jstests/patches/%s.js, perf/templates/%s.txt'''
             % (slug, *(os.path.relpath(folder(slug, name), base.TOP)
                        for name in ('src', 'before', 'header.txt')), slug, slug))


def difference(slug):
    run = subprocess.run(['diff', '-urN', 'before/src', 'src'], cwd=folder(slug), text=True,
                         stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL='C'))
    text = re.sub(r'^diff .*\n', '', run.stdout, flags=re.M)
    return re.sub(r'^--- before/(\S+).*\n\+\+\+ (\S+).*$', r'--- a/\1\n+++ b/\2', text, flags=re.M)


def refresh(slug):
    if not os.path.isdir(folder(slug, 'src')):
        base.give_up('there are no sources of %s: begin with ./lab patch new or edit' % slug)
    needs.compiler()
    if not difference(slug):
        base.give_up('nothing differs between %s and src beside it; to take the patch away, remove '
                     'its file and its line in patches/series' % folder(slug, 'before', 'src'))
    quilt = Quilt(slug)
    write(dated(slug) + '\n\n' + difference(slug), quilt.tree, 'patches', slug + '.patch')
    try:
        if slug not in selections.patches():
            quilt.place(slug, first=True)
            quilt('push')
            quilt('refresh')
            quilt('pop')
            quilt.place(slug, first=False)
        quilt('push', '-a', '--refresh')
    except Failed as failed:
        give_up_with_collisions(quilt, failed)
    written = take_patches(os.path.join(quilt.tree, 'patches'))
    keep_state(slug)
    base.say('%s; patches/check.py looks at it. Then ./lab docs for docs/options.md, and ./lab test'
             % (', '.join(written) + ' written' if written else
                'patches/%s.patch is as it was' % slug))
    base.become_python('patches/check.py')


def take_patches(folder_of_tree):
    """Copies the patches and their series that differ from ours; their names."""
    written = []
    for name in sorted(os.listdir(folder_of_tree)):
        path, ours = os.path.join(folder_of_tree, name), os.path.join(PATCHES, name)
        if not (name.endswith('.patch') or name == 'series'):
            continue
        if os.path.exists(ours) and read(path) == read(ours):
            continue
        shutil.copy(path, ours)
        written.append('patches/' + name)
    return written


def dated(slug):
    """Its header, with the date of the change if there is one. The date of the last measurement is
    that of a result; without one it is the day that the header says so."""
    header, now = read(folder(slug, 'header.txt')).rstrip('\n'), today()
    if slug not in selections.patches() or is_edited(slug):
        header = DATE.sub('Date: ' + now['date'], header)
        if '\nResult: none\n' in header:
            header = UPDATE.sub('Last-update: ' + now['day'], header)
    return header


def give_up_with_collisions(quilt, failed):
    """Says where the patches of a scratch tree meet, which the failure of quilt does not."""
    sys.path.append(PATCHES)
    import applying
    patches = os.path.join(quilt.tree, 'patches')
    depends = applying.depends_of(patches)
    found = list(applying.check_subsets(base.TOP, patches, applying.read_series(patches), depends))
    base.give_up('nothing was written into patches/:\n' + '\n'.join(found or [str(failed)]))


COMMANDS_OF_A_PATCH = {'new': new, 'edit': edit, 'refresh': refresh}


def patch(words):
    if len(words) != 2 or words[0] not in COMMANDS_OF_A_PATCH:
        base.give_up_with_help(parser(words))
    if words[0] == 'edit' and words[1] not in selections.patches():
        selections.give_up_without_patch(words[1])
    COMMANDS_OF_A_PATCH[words[0]](words[1])


def parser(_):
    return Parser('./lab patch', add_help=False, usage=HELP['patch'],
                  epilog='The patches are\n' + selections.listed())


COMMANDS = {
    'patch': {'form': 'new|edit|refresh SLUG', 'summary': 'a patch of your own, or a change to one',
              'parser': parser, 'run': patch, 'words': lambda: [*COMMANDS_OF_A_PATCH],
              'more': selections.patches}}
