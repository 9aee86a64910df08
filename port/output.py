"""What ./lab port hands out: a git diff, or a quilt series of one patch per slug."""

import os
import re
import shutil
import subprocess
import tempfile

QUIET_GIT = {'GIT_CONFIG_NOSYSTEM': '1', 'GIT_CONFIG_GLOBAL': os.devnull, 'GIT_ATTR_NOSYSTEM': '1',
             'LC_ALL': 'C'}


def diff(changed, executable=lambda path: False):
    """[(path, text before or None, text after)] as a git diff, in bytes."""
    with tempfile.TemporaryDirectory(prefix='port-') as folder:
        for side in ('a', 'b'):
            os.mkdir(os.path.join(folder, side))
        for path, before, after in changed:
            for side, text in (('a', before), ('b', after)):
                if text is None:
                    continue
                place = os.path.join(folder, side, path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, 'w', encoding='latin-1', newline='') as file:
                    file.write(text)
                os.chmod(place, 0o755 if executable(path) else 0o644)
        command = ['git', '-c', 'core.autocrlf=false', '-c', 'core.quotePath=false', '-c',
                   'diff.noprefix=false', '-c', 'diff.mnemonicPrefix=false', 'diff', '--no-index',
                   '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames', '--text',
                   '--no-prefix', '--unified=3', '--', 'a', 'b']
        if not shutil.which('git'):
            raise OSError('git, which writes the diff, is not installed')
        run = subprocess.run(command, cwd=folder, capture_output=True,
                             env=dict(os.environ, **QUIET_GIT))
        if run.returncode not in (0, 1) or run.stderr:
            raise OSError('git diff failed: ' + run.stderr.decode(errors='replace').strip())
        # A file that is new stands on one side only, and git names it so on both.
        return re.sub(rb'^diff --git b/', b'diff --git a/', run.stdout, flags=re.M)


def header(recipe, version):
    """The text above the diff of one patch of a series."""
    lines = ['Subject: %s%s' % (recipe.ticket + ' ' if recipe.ticket else '', recipe.subject), '']
    if recipe.option:
        lines += ['Option: --%s%s' % (recipe.option.name, '' if version == '2.4' else
                                      ', in YAML ' + recipe.option.dotted)]
    lines += ['Tree: %s' % version,
              'Origin: patches/%s.patch of mongod-dur, ported by identifiers' % recipe.slug]
    return '\n'.join(lines) + '\n\n'


def write_series(folder, stages, version, executable=lambda path: False):
    """Writes series and SLUG.patch files into a folder that is new or empty."""
    os.makedirs(folder, exist_ok=True)
    names = []
    for recipe, changed in stages:
        name = recipe.slug + '.patch'
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(header(recipe, version).encode() + diff(changed, executable))
        names.append(name)
    with open(os.path.join(folder, 'series'), 'w', encoding='utf-8') as file:
        file.write(''.join(name + '\n' for name in names))
    return names
