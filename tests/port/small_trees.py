"""The small trees: copies of trees/VERSION for a test to work on, and what compiles them."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TREES = os.path.join(HERE, 'trees')
SUPPORT = os.path.join(TREES, 'support')
VERSIONS = ('2.4', '2.6', '3.4')
STANDARDS = {'2.4': ('gnu++98', 'c++11'), '2.6': ('gnu++98', 'c++11'), '3.4': ('c++11',)}

sys.path.insert(0, TOP)

from port import recipe  # noqa: E402
from port.plan import Plan  # noqa: E402
from port.tree import Tree  # noqa: E402

WHOLE = False  # whether every subset of the recipes is tried: run.py --whole

RECIPES = {each.slug: each for each in recipe.all_recipes()}


def git(root, *words):
    run = subprocess.run(['git', '-C', root, '-c', 'user.name=t', '-c', 'user.email=t@example.org',
                          '-c', 'core.autocrlf=false'] + list(words), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors='replace', check=False)
    return run.returncode, run.stdout


class SmallTree:
    """A copy of a small tree in a folder of its own; `with` removes it."""

    def __init__(self, version, crlf=False, checkout=False):
        self.version = version
        self.root = tempfile.mkdtemp(prefix='small-tree-')
        shutil.copytree(os.path.join(TREES, version, 'src'), os.path.join(self.root, 'src'))
        if crlf:
            for path in self.files():
                self.write(path, self.read(path).replace('\n', '\r\n'))
        if checkout:
            git(self.root, 'init', '-q')
            git(self.root, 'add', '-A')
            git(self.root, 'commit', '-qm', 'the tree')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.root)
                      for folder, folders, names in os.walk(self.root) for name in names
                      if '.git' not in folder)

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
        """./lab port on the tree: (exit code, stdout in bytes, stderr)."""
        return lab('port', '--tree', self.root, *words, **named)

    def include_flags(self):
        return ['-Isrc', '-Isrc/mongo/db', '-I' + SUPPORT]

    def sources(self):
        return [path for path in self.files() if path.endswith('.cpp')]


def lab(*words, cwd=None, env=None):
    run = subprocess.run([os.path.join(TOP, 'lab')] + list(words), cwd=cwd,
                         stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                         env=dict(os.environ, **env) if env else None)
    return run.returncode, run.stdout, run.stderr.decode()


def portable(version):
    """Slugs that a version can have."""
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
        run = subprocess.run(COMPILER + ['-std=' + standard, '-Wall', '-Werror', '-c', path,
                                         '-o', 'compiled.o'] + small.include_flags(),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False, cwd=small.root)
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
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout
