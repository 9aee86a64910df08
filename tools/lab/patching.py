"""./lab patch: a patch of one's own, from its first lines to its place in the series.

Sources to edit lie in build/patch/SLUG/: `before` as the patch finds them, `src` with it. What
differs is the patch: nothing has to be announced before it is edited. A new one is written on the
bare base, so that it applies without the others, and then goes behind them."""

import datetime
import email.utils
import os
import re
import shutil
import string
import subprocess

from lab import base, needs, selections
from lab.command_line import Parser

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'new_patch')
PATCHES = os.path.join(base.TOP, 'patches')
FIELDS_WITH_DATES = re.compile(r'^(Date|Last-update): .*$', re.MULTILINE)


def folder(slug, *path):
    return os.path.join(base.BUILD, 'patch', slug, *path)


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def write(text, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), 'w', encoding='utf-8') as file:
        file.write(text)


def names(slug):
    """What the option of that patch is called everywhere (patches/README.md)."""
    words = slug.split('-')[1:]
    own = words[0] + ''.join(word.capitalize() for word in words[1:])
    now = datetime.datetime.now(datetime.timezone.utc)
    return {'slug': slug, 'own': own, 'option': 'journal' + own[0].upper() + own[1:],
            'file': '_'.join(words), 'type': own[0].upper() + own[1:],
            'date': email.utils.format_datetime(now), 'day': now.date().isoformat()}


def template(name, slug):
    return string.Template(read(TEMPLATES, name)).substitute(names(slug))


class Quilt:
    """The series in a scratch tree of its own."""

    def __init__(self, slug):
        self.tree = folder(slug, 'series')
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(os.path.join(base.TOP, 'src'), os.path.join(self.tree, 'src'))
        shutil.copytree(PATCHES, os.path.join(self.tree, 'patches'))

    def __call__(self, *words):
        """What it says; ends the process where it fails."""
        run = subprocess.run(['quilt', '--quiltrc', 'patches/quiltrc', *words], cwd=self.tree,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        if run.returncode != 0:
            base.give_up('quilt %s failed; nothing was written into patches/:\n%s'
                         % (' '.join(words), run.stdout))
        return run.stdout

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


def make_sources(slug):
    """`before` and `src` for the patch."""
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
    if not re.fullmatch(r'journal(-[a-z0-9]+)+', slug):
        base.give_up("a patch is called as its option, journal and what it is about: not '%s' but "
                     'for instance journal-say-more' % slug, base.EXIT_USAGE)
    if slug in selections.patches():
        base.give_up('there is a patch %s; ./lab patch edit %s shows its sources' % (slug, slug))
    needs.tools()
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
    show(slug)


def edit(slug):
    needs.tools()
    make_sources(slug)
    header = read(PATCHES, slug + '.patch')
    write(re.split(r'^(?=--- (?:a/|/dev/null))', header, maxsplit=1, flags=re.MULTILINE)[0],
          folder(slug, 'header.txt'))
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
                         stdout=subprocess.PIPE, check=False, env=dict(os.environ, LC_ALL='C'))
    if run.returncode == 0:
        base.give_up('nothing differs between before/src and src in %s' % folder(slug))
    text = re.sub(r'^diff .*\n', '', run.stdout, flags=re.MULTILINE)
    return re.sub(r'^--- before/(\S+).*\n\+\+\+ (\S+).*$', r'--- a/\1\n+++ b/\2', text,
                  flags=re.MULTILINE)


def refresh(slug):
    if not os.path.isdir(folder(slug, 'src')):
        base.give_up('there are no sources of %s: begin with ./lab patch new or edit' % slug)
    needs.tools()
    is_new = slug not in selections.patches()
    now = names(slug)
    header = FIELDS_WITH_DATES.sub(
        lambda field: '%s: %s' % (field[1], now['date' if field[1] == 'Date' else 'day']),
        read(folder(slug, 'header.txt')))
    quilt = Quilt(slug)
    path = os.path.join('patches', slug + '.patch')
    write(header.rstrip('\n') + '\n\n' + difference(slug), quilt.tree, path)
    if is_new:
        quilt.place(slug, first=True)
        quilt('push')
        quilt('refresh')
        quilt('pop')
        quilt.place(slug, first=False)
    quilt('push', '-a', '--refresh')
    for name in os.listdir(os.path.join(quilt.tree, 'patches')):
        if name.endswith('.patch') or name == 'series':
            shutil.copy(os.path.join(quilt.tree, 'patches', name), PATCHES)
    base.say('patches/%s.patch is written; patches/check.py looks at it. docs/options.md and the '
             'rest: ./lab test documents series' % slug)
    base.become_python('patches/check.py')


COMMANDS_OF_A_PATCH = {'new': new, 'edit': edit, 'refresh': refresh}


def patch(words):
    if len(words) != 2 or words[0] not in COMMANDS_OF_A_PATCH:
        base.give_up_with_help(parser(words))
    if words[0] == 'edit' and words[1] not in selections.patches():
        selections.give_up_without_patch(words[1])
    COMMANDS_OF_A_PATCH[words[0]](words[1])


def parser(_):
    return Parser('./lab patch', add_help=False, usage='''\
./lab patch new SLUG          begins a patch: option, unit test, jstest, trace template, header
./lab patch edit SLUG         the sources of a patch that is there, to edit
./lab patch refresh SLUG      writes what was edited into patches/, and checks the series

SLUG is the option's name: journal-say-more brings journalSayMore. The sources lie in
build/patch/SLUG/; try them with

  ./lab patch refresh journal-say-more && scons patches=journal-say-more test_journal
  ./lab test js -- --selection all patches/journal-say-more''',
                  epilog='The patches are\n' + selections.listed())


COMMANDS = {
    'patch': {'form': 'new|edit|refresh SLUG', 'summary': 'a patch of your own, or a change to one',
              'parser': parser, 'run': patch}}
