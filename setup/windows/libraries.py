#!/usr/bin/env python3
"""Builds the libraries of libraries.txt for Windows into build/windows-libs.

The sources are those of this machine's Debian: apt-get fetches them from where it fetches packages,
with lists of its own under build/, so that neither root nor a change of /etc/apt is needed.
Usage: python3 setup/windows/libraries.py
"""

import glob
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, 'setup', 'windows')
WORK = os.path.join(TOP, 'build', 'windows-sources')
RESULT = os.path.join(TOP, 'build', 'windows-libs')


def run(*command, **more):
    print('+ ' + ' '.join(command), flush=True)
    return subprocess.run(command, check=True, text=True, **more)


def libraries():
    """[(source package, [option, ...])] of libraries.txt."""
    with open(os.path.join(HERE, 'libraries.txt'), encoding='utf-8') as file:
        lines = [line.split('|') for line in file if line.strip() and not line.startswith('#')]
    return [(name.strip(), options.split()) for name, options in lines]


class Apt:
    """apt-get with its own lists, which also know source packages."""

    def __init__(self, folder):
        self.sources = os.path.join(folder, 'sources.list')
        self.options = []
        for name, path in (('State::Lists', 'lists'), ('Cache', 'cache')):
            full = os.path.join(folder, path)
            os.makedirs(os.path.join(full, 'archives' if path == 'cache' else '', 'partial'),
                        exist_ok=True)
            self.options += ['-o', 'Dir::%s=%s' % (name, full)]
        self.options += ['-o', 'APT::Sandbox::User=root']

    def places(self, options):
        """The lines for source packages beside those that this machine has for packages."""
        form = 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)'
        output = run('apt-get', *options, 'indextargets', '--format', form, 'Created-By: Packages',
                     'Origin: Debian', stdout=subprocess.PIPE).stdout
        return sorted(set(output.splitlines()))

    def update(self):
        places = self.places([])
        if not places:  # the lists of this machine were never fetched, or thrown away
            run('apt-get', *self.options, 'update')
            places = self.places(self.options)
        if not places:
            sys.exit('no Debian among the package sources of this machine (apt-get indextargets)')
        with open(self.sources, 'w', encoding='utf-8') as file:
            file.write('\n'.join(places) + '\n')
        self.options += ['-o', 'Dir::Etc::SourceList=' + self.sources,
                         '-o', 'Dir::Etc::SourceParts=/dev/null']
        run('apt-get', *self.options, 'update')

    def unpack(self, package, folder):
        """Fetches and unpacks a source package; returns its folder."""
        os.makedirs(folder)
        run('apt-get', *self.options, 'source', package, cwd=folder)
        return next(path for path in glob.glob(os.path.join(folder, '*')) if os.path.isdir(path))


def build(source, target, options):
    objects = source + '-build'
    flags = '-ffile-prefix-map=%s=.' % source
    launcher = ['-DCMAKE_%s_COMPILER_LAUNCHER=ccache' % language for language in ('C', 'CXX')]
    run('cmake', '-S', source, '-B', objects, '-DCMAKE_BUILD_TYPE=Release',
        '-DCMAKE_TOOLCHAIN_FILE=' + os.path.join(HERE, 'toolchain.cmake'),
        '-DCMAKE_INSTALL_PREFIX=' + target, '-DBUILD_SHARED_LIBS=OFF',
        '-DCMAKE_C_FLAGS=' + flags, '-DCMAKE_CXX_FLAGS=' + flags,
        *(launcher if shutil.which('ccache') else []), *options)
    # One job: two targets of Debian's snappy make the same file.
    run('cmake', '--build', objects, '--target', 'install', '-j', '1')


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(RESULT, ignore_errors=True)
    apt = Apt(WORK)
    apt.update()
    fresh = os.path.join(WORK, 'installed')
    for package, options in libraries():
        build(apt.unpack(package, os.path.join(WORK, package)), fresh, options)
    shutil.copy2(os.path.join(HERE, 'libraries.txt'), os.path.join(fresh, 'installed.txt'))
    os.rename(fresh, RESULT)  # whole or not at all
    shutil.rmtree(WORK)


if __name__ == '__main__':
    main()
