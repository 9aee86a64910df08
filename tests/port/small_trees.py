"""The small trees: copies of tree/ as a version has it, for a test to work on, and what compiles
them.

A file of tree/ begins with its path in each version that has it. `#if VERSION`, with `#else  //
VERSION` and `#endif  // VERSION`, holds what only some have: 24, 26 or 34. The rest is written in
the style of 2.6, and styled() makes that of the others."""

import functools
import glob
import hashlib
import operator
import os
import re
import shutil
import subprocess
import tempfile

from port import recipe
from port.plan import Plan
from port.tree import Tree

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FILES = os.path.join(HERE, 'tree')
SUPPORT = os.path.join(FILES, 'support')
VERSIONS = ('2.4', '2.6', '3.4')
STANDARDS = {'2.4': ('gnu++98', 'c++11'), '2.6': ('gnu++98', 'c++11'), '3.4': ('c++11',)}

WHOLE = False  # whether every subset of the recipes is tried: --whole

RECIPES = {each.slug: each for each in recipe.all_recipes()}


def git(root, *words):
    run = subprocess.run(['git', '-C', root, '-c', 'user.name=t', '-c', 'user.email=t@example.org',
                          '-c', 'core.autocrlf=false'] + list(words), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors='replace')
    return run.returncode, run.stdout


PLACE = re.compile(r'// small tree, ([\d. ]+): (\S+)')
CONDITION = re.compile(r'#if VERSION (<=|>=|==|!=) (\d+)')
COMPARE = {'<=': operator.le, '>=': operator.ge, '==': operator.eq, '!=': operator.ne}
INDENT_OF_NAMESPACES = 8  # which 3.4 has not


@functools.cache
def all_files():
    """{name: ({version: its path there}, the lines of the file)}."""
    found = {}
    for name in sorted(os.path.basename(path) for path in glob.glob(os.path.join(FILES, '*.*'))):
        with open(os.path.join(FILES, name), encoding='utf-8') as file:
            lines = file.read().splitlines()
        places = {}
        while place := PLACE.fullmatch(lines[0]):
            places.update(dict.fromkeys(place[1].split(), place[2]))
            del lines[0]
        found[name] = places, lines
    return found


def styled(line, version):
    """A line as a version writes it: includes by their path, but in 2.4; in 3.4 without the
    indentation of namespaces and the blanks in parentheses."""
    if version == '3.4':
        line = line[min(len(line) - len(line.lstrip(' ')), INDENT_OF_NAMESPACES):]
        line = re.sub(r'\b(if|while|for|switch)\(', r'\1 (', line)
        line = re.sub(r'(?<=\S) +\)', ')', re.sub(r'\( +(?=\S)', '(', line))
    include = re.fullmatch(r'#include "([\w.]+)"', line)
    if include and version != '2.4':
        places, _ = all_files().get(include[1], ({}, ()))
        if version in places:
            return '#include "%s"' % places[version].removeprefix('src/')
    return line


@functools.cache
def texts(version):
    """{path: text} of the tree of a version."""
    made = {}
    for places, lines in all_files().values():
        if version not in places:
            continue
        shown, own = True, []
        for line in lines:
            if condition := CONDITION.fullmatch(line):
                shown = COMPARE[condition[1]](int(version.replace('.', '')), int(condition[2]))
            elif line == '#else  // VERSION':
                shown = not shown
            elif line == '#endif  // VERSION':
                shown = True
            elif shown:
                own.append(styled(line, version) + '\n')
        made[places[version]] = ''.join(own)
    return made


class SmallTree:
    """A copy of a small tree in a folder of its own; `with` removes it."""

    def __init__(self, version, crlf=False, checkout=False):
        self.version = version
        self.root = tempfile.mkdtemp(prefix='small-tree-')
        for path, text in texts(version).items():
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            self.write(path, text.replace('\n', '\r\n') if crlf else text)
        if checkout:
            git(self.root, 'init', '-q')
            git(self.root, 'add', '-A')
            git(self.root, 'commit', '-qm', 'the tree')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.root) for folder, folders,
                      names in os.walk(self.root) for name in names if '.git' not in folder)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding='latin-1', newline='') as file:
            return file.read()

    def write(self, path, text):
        with open(os.path.join(self.root, path), 'w', encoding='latin-1', newline='') as file:
            file.write(text)

    def edit(self, path, old, new, times=1):
        text = self.read(path)
        assert text.count(old) == times, (path, old, text.count(old))
        self.write(path, text.replace(old, new))

    def path(self, role):
        return Tree(self.root).path(role)

    def contents(self):
        return {path: self.read(path) for path in self.files()}

    def plan(self, slugs=None):
        """(tree, plan) in memory."""
        tree = Tree(self.root)
        tree.recipes = RECIPES
        chosen = [each for each in RECIPES.values() if slugs is None or each.slug in slugs]
        return tree, Plan(tree, chosen, asked=slugs is not None)

    def port(self, slugs=None):
        """Applies recipes to the files, without git; returns the plan."""
        tree, plan = self.plan(slugs)
        tree.write(tree.changed())
        return plan

    def lab(self, *words, **named):
        return lab('port', '--tree', self.root, *words, **named)

    def include_flags(self):
        return ['-Isrc', '-Isrc/mongo/db', '-I' + SUPPORT]

    def sources(self):
        return [path for path in self.files() if path.endswith('.cpp')]


def lab(*words, cwd=None, env=None):
    run = subprocess.run([os.path.join(TOP, 'lab')] + list(words), cwd=cwd,
                         stdin=subprocess.DEVNULL, capture_output=True,
                         env=dict(os.environ, **env) if env else None)
    return run.returncode, run.stdout, run.stderr.decode()


def portable(version):
    with SmallTree(version) as small:
        return [each.slug for each, _ in small.plan()[1].stages]


_compiled = set()

# What has compiled once need not be compiled by the next run: named relatively to the tree, whose
# folder is another one each time, all that the compiler reads is the same.
COMPILER = ['ccache', 'g++'] if shutil.which('ccache') else ['g++']


def compile_errors(small, standard, paths):
    """What g++ -Wall -Werror says to these files, one by one; each text is compiled once."""
    errors = []
    headers = ''.join(text for path, text in small.contents().items() if path.endswith('.h'))
    for path in paths:
        key = hashlib.sha256((standard + path + small.read(path) + headers).encode()).digest()
        if key in _compiled:
            continue
        run = subprocess.run(COMPILER
                             + ['-std=' + standard, '-Wall', '-Werror', '-c', path, '-o',
                                'compiled.o'] + small.include_flags(), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, cwd=small.root)
        if run.returncode:
            errors.append(run.stdout)
        else:
            _compiled.add(key)
            os.remove(os.path.join(small.root, 'compiled.o'))
    return '\n'.join(errors)


def compile_errors_at_once(small, standard):
    """The same for all sources as one, which takes a tenth of the time."""
    # The file with main() has `using namespace` outside of all; it comes last.
    paths = sorted(small.sources(), key=lambda path: path.endswith('/db.cpp'))
    small.write('all.cpp', ''.join('#include "%s"\n' % path for path in paths))
    return compile_errors(small, standard, ['all.cpp'])


def build(small, main, program):
    """Compiles and links all of a tree with a main file; returns what the compiler says."""
    run = subprocess.run(['g++', '-std=' + STANDARDS[small.version][0], '-g', '-Wall', '-Werror']
                         + small.include_flags() + ['-o', os.path.abspath(program),
                                                    os.path.abspath(main)]
                         + small.sources() + ['-lpthread'], cwd=small.root,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout
