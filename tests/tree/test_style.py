"""Style that a script can check: format, width, length, and words that do not belong here.

Exceptions are named with their reasons; everything else has none."""

import os
import re
import shutil
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WIDTH_MAX = 100
LINES_MAX = 700
CODE = ('.cpp', '.h', '.c', '.js', '.py', '.sh', 'SConscript', 'SConstruct', 'lab', '.ci/run')

# A left-over note to oneself, or a path of some machine.
UNWANTED = re.compile(r'\b(TODO|FIXME|XXX)\b|/(home|work|root|Users)/\w')
UNWANTED_ALLOWED = {'tests/tree/test_style.py': 'names what it looks for'}


def all_files():
    for folder, folders, names in os.walk(TOP):
        folders[:] = [name for name in folders if name not in ('.git', 'build', '__pycache__')]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), TOP)


def tracked_files():
    """Files under version control; all files where git is missing or knows of no checkout."""
    command = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    if shutil.which('git'):
        run = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if run.returncode == 0:
            names = run.stdout.decode().split('\0')
            return [name for name in names if name and os.path.isfile(os.path.join(TOP, name))]
    return sorted(all_files())


def read(*path, errors='strict'):
    with open(os.path.join(TOP, *path), encoding='utf-8', errors=errors) as file:
        return file.read()


def violations(name, text):
    lines = text.split('\n')
    if lines[-1] != '':
        yield '%s: no newline at the end' % name
    if len(lines) - 1 > LINES_MAX:
        yield '%s: %d lines; is there a seam to split along?' % (name, len(lines) - 1)
    if name.startswith('src/') and name.endswith('.h'):
        head = '// %s - ' % name.removeprefix('src/')
        if not text.startswith(head):
            yield "%s: a header begins with '%s' and what it is" % (name, head)
    for number, line in enumerate(lines, 1):
        where = '%s:%d' % (name, number)
        if len(line) > WIDTH_MAX:
            yield '%s: %d columns wide' % (where, len(line))
        if line != line.rstrip() or '\t' in line:
            yield '%s: a tab, or white space at the end' % where
        if UNWANTED.search(line) and name not in UNWANTED_ALLOWED:
            yield "%s: '%s'" % (where, UNWANTED.search(line).group())


class Style(unittest.TestCase):
    def code(self):
        return [name for name in tracked_files() if name.endswith(CODE)]

    def test_samples(self):
        self.assertEqual(list(violations('a.cpp', 'int a;\n')), [])
        for text, part in (('int a;', 'newline'), ('x' * 101 + '\n', 'wide'), ('a \n', 'white'),
                           ('\ta\n', 'tab'), ('// TO' + 'DO\n', "'TO" + "DO'"),
                           ('a\n' * 701, '701 lines')):
            self.assertIn(part, '\n'.join(violations('a.cpp', text)))
        self.assertEqual(list(violations('src/x/a.h', '// x/a.h - one thing.\n')), [])
        self.assertIn('what it is', '\n'.join(violations('src/x/a.h', '// One thing.\n')))

    def test_every_code_file(self):
        found = []
        for name in self.code():
            found += violations(name, read(name))
        self.assertEqual(found, [])

    @unittest.skipUnless(shutil.which('clang-format'), 'clang-format is not installed')
    def test_clang_format_changes_nothing(self):
        names = [name for name in self.code() if name.endswith(('.cpp', '.h', '.c'))]
        run = subprocess.run(['clang-format', '--dry-run', '--ferror-limit=1'] + names, cwd=TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=True)
        found = sorted({line.split(':')[0] for line in run.stdout.splitlines()
                        if 'clang-format-violations' in line})
        self.assertEqual(found, [], 'run clang-format -i on these')
