"""Builds the Debian packages of a selection of patches, and the tarball they are built from.

Usage: build.py SELECTION          (./lab package SELECTION installs what this needs)
Writes to build/package/: mongod-dur_VERSION_ARCH.deb, mongod-dur-engine-NAME_VERSION_ARCH.deb of
each storage engine beside mmapv1, mongod-dur-geo, -script and -text, their debugging symbols apart,
the tarball.
Ends with what lintian says of them; a complaint is an error."""

import email.utils
import glob
import os
import shutil
import subprocess
import sys

import defaults
import tarball

import staging

TOP = tarball.TOP
OUT = os.path.join(TOP, 'build', 'package')


def changelog(version, seconds):
    """The package's own; what changed is in CHANGELOG.md."""
    return ('mongod-dur (%s) stable; urgency=medium\n\n'
            '  * Built from the sources of that version.\n\n'
            ' -- mongod-dur maintainers <maintainers@users.noreply.a-seed-cb5f16e9.example>  %s\n'
            % (version, email.utils.formatdate(seconds)))


def build(selection):
    """Builds for this machine; returns the paths of the packages."""
    version = tarball.version(selection)
    seconds = tarball.commit_time()
    shutil.rmtree(os.path.join(OUT, 'work'), ignore_errors=True)
    tree = os.path.join(OUT, 'work', 'mongod-dur-' + version)
    os.makedirs(tree)
    tarball.unpack(selection, tree)
    # The stemmers, which no package of Debian has: setup/text/ fetched and compiled them.
    shutil.copytree(os.path.join(TOP, 'build', 'text-libs'),
                    os.path.join(tree, 'build', 'text-libs'))
    debian = os.path.join(tree, 'debian')
    shutil.copytree(os.path.join(TOP, 'packaging', 'debian'), debian)
    with open(os.path.join(debian, 'changelog'), 'w', encoding='utf-8') as file:
        file.write(changelog(version, seconds))
    with open(os.path.join(debian, 'mongod-dur.yaml'), 'a', encoding='utf-8') as file:
        file.write(defaults.profile(selection.slugs).replace(
            'storage:\n', 'storage:\n  dbPath: /var/lib/mongod-dur\n', 1))
    for form, name in (('man', 'mongod-dur-lab.7'), ('bash', 'lab.bash')):
        with open(os.path.join(debian, name), 'wb') as file:
            subprocess.run([sys.executable, os.path.join(TOP, 'tools', 'lab', 'describe.py'), form],
                           stdout=file, check=True)
    run = subprocess.run(['dpkg-buildpackage', '--build=binary', '--no-sign', '--jobs=auto'],
                         cwd=tree, env=dict(os.environ, SOURCE_DATE_EPOCH=str(seconds)))
    if run.returncode != 0:
        sys.exit('package: the build failed; its tree is left in ' + os.path.relpath(tree, TOP))
    found = glob.glob(os.path.join(OUT, 'work', '*.deb'))
    for path in found:
        shutil.copy2(path, OUT)
    return [os.path.join(OUT, os.path.basename(path)) for path in found]


def lint(paths):
    """What lintian says of packages: a finished process with its text; 0 when it is content."""
    return subprocess.run(['lintian', '--fail-on', 'error,warning', '--tag-display-limit', '0',
                           *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        selection = staging.select(TOP, sys.argv[1])
    except staging.StagingError as error:
        sys.exit('package: %s' % error)
    packages = build(selection)
    said = lint(packages)
    for path in packages + [tarball.write(selection, OUT)]:
        print('%6.1f MB  %s' % (os.path.getsize(path) / 1e6, os.path.relpath(path, TOP)))
    print('lintian: ' + ('content' if said.returncode == 0 else said.stdout))
    sys.exit(said.returncode)


if __name__ == '__main__':
    main()
