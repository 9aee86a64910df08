"""Stages one selection of patches: build/<selection>/src is src/ with those patches applied.

Sources are never patched in place. A staged file is rewritten only when its content changes, so
that SCons and ccache see nothing new after a run that changed nothing."""

import fcntl
import filecmp
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The build with a sanitizer, for another system, or for one purpose lives beside the usual one.
SANITIZERS = {'': '', 'address,undefined': '-asan', 'thread': '-tsan'}
PLATFORMS = {'linux': '', 'arm64': '-arm64', 'windows': '-windows'}
VARIANTS = {'': '', 'checked': '-checked', 'unhardened': '-unhardened', 'fuzz': '-fuzz'}


class StagingError(Exception):
    """The selection does not exist or its patches do not apply; the text says what to do."""


class Selection:
    """A list of patch slugs in series order, and the name of its folder under build/."""

    def __init__(self, name, slugs, is_prefix):
        self.name, self.slugs, self.is_prefix = name, slugs, is_prefix


def series(top):
    path = os.path.join(top, 'patches', 'series')
    if not os.path.exists(path):
        return []
    slugs = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            entry = line.split('#')[0].strip()
            if not entry:
                continue
            if not entry.endswith('.patch'):
                raise StagingError("patches/series: '%s' does not end in .patch" % entry)
            slugs.append(entry[:-len('.patch')])
    return slugs


def applied(top):
    """The slugs that are in src/ already, in a tarball of a selection (packaging/tarball.py)."""
    path = os.path.join(top, 'patches', 'applied')
    if not os.path.exists(path):
        return []
    return pathlib.Path(path).read_text('utf-8').split()


def select(top, wish):
    """Turns the value of patches= into a Selection."""
    known = series(top)

    def check(slug):
        if slug not in known:
            raise StagingError("patches=%s: no patch '%s' in patches/series" % (wish, slug))

    if wish == 'none':
        return Selection('none', [], True)
    if wish == 'all':
        return Selection('all', known, True)
    if wish.startswith('upto:'):
        slug = wish[len('upto:'):]
        check(slug)
        return Selection('upto-' + slug, known[:known.index(slug) + 1], True)
    wanted = [slug for slug in wish.split(',') if slug]
    if not wanted:
        raise StagingError('patches= is empty; give all, none, upto:SLUG or SLUG,SLUG')
    for slug in wanted:
        check(slug)
        wanted += needed_by(top, slug)
    slugs = [slug for slug in known if slug in wanted]
    return Selection('+'.join(slugs), slugs, slugs == known[:len(slugs)])


def needed_by(top, slug):
    """What its header says that has to be applied before it (Depends)."""
    fields = header_fields(os.path.join(top, 'patches', slug + '.patch'))
    return [need for need in fields.get('Depends', 'none').split(', ') if need != 'none']


def folder_of(selection, sanitize='', platform='linux', variant=''):
    """build/<selection>, where this kind of build of a selection goes."""
    if sanitize not in SANITIZERS:
        raise StagingError('sanitize=%s is not known; give address,undefined or thread' % sanitize)
    if platform not in PLATFORMS:
        raise StagingError('platform=%s is not known; give linux, arm64 or windows' % platform)
    if sanitize and platform != 'linux':
        raise StagingError('the compiler for platform=%s has no sanitizers; leave out sanitize='
                           % platform)
    of_arm64 = platform == 'arm64' and variant == 'checked'
    if variant and not of_arm64 and (sanitize or platform != 'linux'):
        raise StagingError('the %s build is one of this machine without sanitize=; leave out %s'
                           % (variant, 'sanitize=' if sanitize else 'platform='))
    return os.path.join('build', selection.name + SANITIZERS[sanitize] + PLATFORMS[platform]
                        + VARIANTS[variant])


def take_turn(top, folder):
    """Waits until no other build has this folder, and keeps others from it until the file that is
    returned is closed or the process ends."""
    path = os.path.join(top, folder)
    os.makedirs(path, exist_ok=True)
    turn = open(os.path.join(path, 'turn'), 'w', encoding='ascii')
    try:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print('scons: another build is at work in %s; waiting for it' % folder, file=sys.stderr,
              flush=True)
        fcntl.flock(turn, fcntl.LOCK_EX)
    return turn


def stage(top, selection, sanitize='', platform='linux', variant=''):
    """Brings build/<selection>/src up to date and returns build/<selection>."""
    result = folder_of(selection, sanitize, platform, variant)
    destination = os.path.join(top, result)
    os.makedirs(destination, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='stage-', dir=os.path.join(top, 'build')) as fresh:
        shutil.copytree(os.path.join(top, 'src'), os.path.join(fresh, 'src'))
        for slug in selection.slugs:
            apply(top, fresh, slug, strict=selection.is_prefix)
        _write_applied_patches(fresh, applied(top) + selection.slugs)
        _write_series(top, fresh, selection.slugs)
        _write_patch_options(fresh)
        _mirror(os.path.join(fresh, 'src'), os.path.join(destination, 'src'))
    return result


def sconscripts(top, stage_dir):
    """The SConscript of each staged room, then those of the programs outside src/."""
    found = []
    for folder, folders, files in os.walk(os.path.join(top, stage_dir, 'src')):
        folders.sort()
        if 'SConscript' in files:
            found.append(os.path.relpath(os.path.join(folder, 'SConscript'), top))
    outside = [os.path.join(folder, 'SConscript')
               for folder in ('perf', 'tests/clients', 'tests/crash', 'tests/fuzz',
                              'tests/replica', 'tests/server')]
    return found + [path for path in outside if os.path.exists(os.path.join(top, path))]


def apply(top, fresh, slug, strict):
    """Applies one patch to the tree `fresh`. Where strict, in series order, nothing may have moved:
    offsets are refused too."""
    name = 'patches/%s.patch' % slug
    path = os.path.join(top, name)
    if not os.path.exists(path):
        raise StagingError('%s is in patches/series but does not exist' % name)
    touched = re.findall(r'^\+\+\+ (?:b/)?(\S+)', pathlib.Path(path).read_text('utf-8'), re.M)
    for other in touched:  # a patch may also carry lines of docs/ or jstests/
        target = os.path.join(fresh, other)
        source = os.path.join(top, other)
        if not other.startswith('src/') and os.path.exists(source) and not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
    run = subprocess.run(
        ['patch', '--fuzz=0', '-p1', '--force', '--no-backup-if-mismatch', '--input', path],
        cwd=fresh, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        raise StagingError('%s does not apply with --fuzz=0; refresh it with quilt:\n%s'
                           % (name, run.stdout))
    if strict and re.search(r'offset -?\d+ line', run.stdout):
        raise StagingError('%s applies only at an offset; refresh it with quilt:\n%s'
                           % (name, run.stdout))


def _write_applied_patches(fresh, slugs):
    """The body of base/applied_patches.h: the program knows its patches."""
    with open(os.path.join(fresh, 'src', 'base', 'applied_patches.cpp'), 'w',
              encoding='utf-8') as file:
        file.write('// Written by the build from patches/series.\n'
                   '#include "base/applied_patches.h"\n\n'
                   'namespace base {\n\n'
                   'std::span<const char* const> applied_patches() {\n')
        if slugs:
            file.write('    static const char* const slugs[] = {\n')
            for slug in slugs:
                file.write('        "%s",\n' % slug)
            file.write('    };\n    return slugs;\n')
        else:
            file.write('    return {};\n')
        file.write('}\n\n}  // namespace base\n')


def header_of(text):
    """What a patch has in front of its first file."""
    return re.split(r'^(?=--- (?:a/|/dev/null)|Index: |diff )', text, maxsplit=1, flags=re.M)[0]


def header_fields(path):
    """The fields of a patch's header: its last paragraph, see patches/README.md."""
    header = header_of(pathlib.Path(path).read_text('utf-8'))
    last = re.split(r'\n\s*\n', header.strip('\n'))[-1]
    return dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', last, re.M))


def _write_series(top, fresh, slugs):
    """The table of options/series.h: which option comes with which patch, applied or not."""
    folder = os.path.join(fresh, 'src', 'options')
    if not os.path.exists(folder):  # a tree without that room
        return
    rows = []
    for slug in series(top):
        fields = header_fields(os.path.join(top, 'patches', slug + '.patch'))
        for field in ('Option', 'Yaml', 'Values'):
            if field not in fields:
                raise StagingError("patches/%s.patch: the header has no field '%s'; see "
                                   'patches/README.md' % (slug, field))
        words = [slug] + [fields[name] for name in ('Option', 'Yaml', 'Values')]
        rows.append('        {%s, %s},\n' % (', '.join(json.dumps(word) for word in words),
                                            'true' if slug in slugs else 'false'))
    with open(os.path.join(folder, 'series_table.cpp'), 'w', encoding='utf-8') as file:
        file.write('// Written by the build from the headers of patches/*.patch.\n'
                   '#include "options/series.h"\n\n'
                   'namespace options {\n\n'
                   'std::span<const SeriesPatch> series() {\n')
        if rows:
            file.write('    static const SeriesPatch patches[] = {\n%s    };\n'
                       '    return patches;\n' % ''.join(rows))
        else:
            file.write('    return {};\n')
        file.write('}\n\n}  // namespace options\n')


def _write_patch_options(fresh):
    """The includes of journal/patch_options.h, sorted: the options of the applied patches."""
    header = os.path.join(fresh, 'src', 'journal', 'patch_options.h')
    options = os.path.join(fresh, 'src', 'journal', 'options')
    if os.path.exists(header) and os.path.isdir(options):
        with open(header, 'a', encoding='utf-8') as file:
            file.write('\n')
            file.writelines('#include "journal/options/%s"\n' % name
                            for name in sorted(os.listdir(options)) if name.endswith('.h'))


def _mirror(source, destination):
    """Makes destination equal to source, leaving files alone whose content is already right."""
    os.makedirs(destination, exist_ok=True)
    wanted = set(os.listdir(source))
    for name in set(os.listdir(destination)) - wanted:
        path = os.path.join(destination, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    for name in wanted:
        old, new = os.path.join(destination, name), os.path.join(source, name)
        if os.path.isdir(new):
            _mirror(new, old)
        elif not os.path.exists(old) or not filecmp.cmp(old, new, shallow=False):
            shutil.copyfile(new, old)


if __name__ == '__main__':  # ./lab asks for the folder name of a selection
    try:
        print(select(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.argv[1]).name)
    except StagingError as error:
        sys.exit('lab: %s' % error)
