"""A tarball of the sources with a selection of patches applied, for those who build elsewhere.

Usage: tarball.py SELECTION FOLDER
Writes FOLDER/mongod-dur-VERSION+SELECTION.tar.xz: the files of the last commit, the patches applied
to src/, and in place of patches/series a file `applied`, so that `scons patches=none` there builds
that selection. The same commit gives the same bytes: names sorted, times those of the commit."""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, 'site_scons'))

import program_version  # noqa: E402
import staging  # noqa: E402


def git(*words):
    run = subprocess.run(['git', *words], cwd=TOP, stdout=subprocess.PIPE)
    if run.returncode != 0:
        sys.exit('tarball.py: the sources come from the last commit; this is no git checkout')
    return run.stdout


def version(selection):
    """That of the sources, and the selection: 1.2.3+all."""
    return '%s+%s' % (program_version.read(TOP), re.sub(r'[^A-Za-z0-9.+~-]', '-', selection.name))


def commit_time():
    return int(git('log', '-1', '--format=%ct'))


def unpack(selection, folder):
    """The last commit's files with the patches applied, in `folder`."""
    with tarfile.open(fileobj=io.BytesIO(git('archive', '--format=tar', 'HEAD'))) as archive:
        archive.extractall(folder)
    for slug in selection.slugs:
        staging.apply(TOP, folder, slug, strict=selection.is_prefix)
    patches = os.path.join(folder, 'patches')
    os.remove(os.path.join(patches, 'series'))
    with open(os.path.join(patches, 'applied'), 'w', encoding='utf-8') as file:
        file.writelines(slug + '\n' for slug in selection.slugs)


def write(selection, folder):
    """Writes the tarball; returns its path."""
    name = 'mongod-dur-' + version(selection)
    seconds = commit_time()

    def plain(info):
        info.mtime = seconds
        info.uid = info.gid = 0
        info.uname = info.gname = 'root'
        info.mode = 0o755 if info.mode & 0o100 or info.isdir() else 0o644
        return info

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + '.tar.xz')
    with tempfile.TemporaryDirectory() as tree:
        unpack(selection, tree)
        with tarfile.open(path, 'w:xz', format=tarfile.GNU_FORMAT, preset=6) as archive:
            archive.add(tree, name, filter=plain)  # sorted by name
    return path


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        selection = staging.select(TOP, sys.argv[1])
    except staging.StagingError as error:
        sys.exit('tarball.py: %s' % error)
    print(write(selection, sys.argv[2]))


if __name__ == '__main__':
    main()
