"""Whether the patches of a series apply: each on the one before, and every subset of them.

For the subsets each two are tried, with what they depend on. That is enough: what a hunk looks for
are lines of the base that follow each other. Where no other patch by itself changes them, or puts
something between them, no number of others does.

Findings are sentences. It reads the tree, and works in temporary copies of what the series touches.
"""

import os
import re
import shutil
import subprocess
import tempfile

import staging


def read_series(patches):
    entries = []
    with open(os.path.join(patches, 'series'), encoding='utf-8') as file:
        for line in file:
            entry = line.split('#')[0].strip()
            if entry:
                entries.append(entry)
    return entries


def depends_of(patches):
    """{patch: the patches that its header says it depends on}, of those that depend on some."""
    found = {}
    for entry in read_series(patches):
        with open(os.path.join(patches, entry), encoding='utf-8') as file:
            match = re.search(r'^Depends: (.*)$', staging.header_of(file.read()), re.M)
        if match and match[1] != 'none':
            found[entry] = [need + '.patch' for need in match[1].split(', ')]
    return found


def apply_one(patch, tree):
    """Applies a patch to a tree; returns (applied, output)."""
    run = subprocess.run(
        ['patch', '--fuzz=0', '-p1', '--force', '--no-backup-if-mismatch', '--input', patch],
        cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.returncode == 0, run.stdout


def files_touched(patch):
    with open(patch, encoding='utf-8') as file:
        return set(re.findall(r'^(?:\+\+\+ b/|--- a/)(\S+)', file.read(), re.M))


def copy_tree(top, entries, patches, target):
    """Copies just the files that the series touches: applying them then takes milliseconds."""
    for entry in entries:
        for path in files_touched(os.path.join(patches, entry)):
            source = os.path.join(top, path)
            if os.path.exists(source):
                os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
                shutil.copy2(source, os.path.join(target, path))


def check_apply(top, patches, entries):
    with tempfile.TemporaryDirectory() as tree:
        copy_tree(top, entries, patches, tree)
        for entry in entries:
            applied, output = apply_one(os.path.join(patches, entry), tree)
            if not applied:
                yield '%s does not apply:\n%s' % (entry, output)
                return
            if re.search(r'offset -?\d+ line|fuzz', output):
                yield '%s applies only with an offset or fuzz:\n%s' % (entry, output)


def with_needed(chosen, entries, depends):
    """These patches and those that they depend on, in the order of the series."""
    found, left = set(), list(chosen)
    while left:
        entry = left.pop()
        if entry not in found:
            found.add(entry)
            left += depends.get(entry, ())
    return [entry for entry in entries if entry in found]


def first_failure(top, patches, subset):
    """(patch, "FILE near line N, ...") of the first of these that does not apply to the base, or
    None."""
    with tempfile.TemporaryDirectory() as tree:
        copy_tree(top, subset, patches, tree)
        for entry in subset:
            applied, output = apply_one(os.path.join(patches, entry), tree)
            if not applied:
                places, file = [], ''
                for line in output.splitlines():
                    file = (re.match(r'patching file (\S+)', line) or ['', file])[1]
                    failed = re.match(r'Hunk #\d+ FAILED at (\d+)', line)
                    if failed:
                        places.append('%s near line %s' % (file, failed[1]))
                return entry, ', '.join(places) or output.strip()
    return None


def check_subsets(top, patches, entries, depends):
    """A finding for each patch that does not apply without the others, and for each two that do not
    apply together."""
    for *together, (entry, place) in collisions(top, patches, entries, depends):
        if len(together) == 1:
            yield ('%s does not apply to the base by itself%s: %s. It is to be written on the '
                   'base, not on other patches, or says on which it depends (Depends)'
                   % (entry, ', with what it depends on' * (entry in depends), place))
        else:
            yield ('%s and %s edit lines within three of each other, in %s: move one of the edits, '
                   'or add a seam to the base (patches/README.md, "Add one")' % (*together, place))


def collisions(top, patches, entries, depends):
    """(patch, failure) and (patch, patch, failure), the latter of those that apply alone."""
    alone = set()
    for entry in entries:
        failure = first_failure(top, patches, with_needed([entry], entries, depends))
        if failure:
            yield entry, failure
        else:
            alone.add(entry)
    for number, entry in enumerate(entries):
        for other in entries[:number]:
            if {entry, other} <= alone and \
                    files_touched(os.path.join(patches, entry)) \
                    & files_touched(os.path.join(patches, other)):
                failure = first_failure(top, patches, with_needed([other, entry], entries, depends))
                if failure:
                    yield other, entry, failure


def check_refresh(top, patches, entries):
    if not shutil.which('quilt'):
        yield 'quilt is not installed; run ./lab test once, it installs it'
        return
    with tempfile.TemporaryDirectory() as tree:
        copy_tree(top, entries, patches, tree)
        shutil.copytree(patches, os.path.join(tree, 'patches'))
        run = subprocess.run(['quilt', '--quiltrc', 'patches/quiltrc', 'push', '-a', '--refresh'],
                             cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode not in (0, 2):
            yield 'quilt push -a --refresh failed:\n%s' % run.stdout
            return
        for entry in entries:
            with open(os.path.join(patches, entry), 'rb') as before, \
                    open(os.path.join(tree, 'patches', entry), 'rb') as after:
                if before.read() != after.read():
                    yield '%s changes on refresh; run quilt refresh with patches/quiltrc' % entry
