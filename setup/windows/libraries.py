#!/usr/bin/env python3
"""Builds the libraries of libraries.txt for Windows into build/windows-libs.

The sources are those of this machine's Debian (setup/apt_lists.py).
Usage: python3 setup/windows/libraries.py"""

import glob
import os
import shutil
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'setup'))

from apt_lists import Apt, run  # noqa: E402

HERE = os.path.join(TOP, 'setup', 'windows')
WORK = os.path.join(TOP, 'build', 'windows-sources')
RESULT = os.path.join(TOP, 'build', 'windows-libs')


def libraries():
    """[(source package, [option, ...])] of libraries.txt."""
    with open(os.path.join(HERE, 'libraries.txt'), encoding='utf-8') as file:
        lines = [line.split('|') for line in file if line.strip() and not line.startswith('#')]
    return [(name.strip(), options.split()) for name, options in lines]


def unpack(apt, package, folder):
    """Fetches and unpacks a source package; returns its folder."""
    os.makedirs(folder)
    apt('source', package, cwd=folder)
    return next(path for path in glob.glob(os.path.join(folder, '*')) if os.path.isdir(path))


def build(source, target, options):
    objects = source + '-build'
    flags = '-ffile-prefix-map=%s=.' % source
    launcher = ['-DCMAKE_%s_COMPILER_LAUNCHER=ccache' % language for language in ('C', 'CXX')]
    run('cmake', '-S', source, '-B', objects, '-DCMAKE_BUILD_TYPE=Release',
        '-DCMAKE_TOOLCHAIN_FILE=' + os.path.join(HERE, 'toolchain.cmake'),
        '-DCMAKE_INSTALL_PREFIX=' + target, '-DBUILD_SHARED_LIBS=OFF', '-DCMAKE_C_FLAGS=' + flags,
        '-DCMAKE_CXX_FLAGS=' + flags, *(launcher if shutil.which('ccache') else []), *options)
    # One job: two targets of Debian's snappy make the same file.
    run('cmake', '--build', objects, '--target', 'install', '-j', '1')


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(RESULT, ignore_errors=True)
    apt = Apt(WORK, 'deb-src')
    apt.update()
    fresh = os.path.join(WORK, 'installed')
    for package, options in libraries():
        build(unpack(apt, package, os.path.join(WORK, package)), fresh, options)
    shutil.copy2(os.path.join(HERE, 'libraries.txt'), os.path.join(fresh, 'installed.txt'))
    os.rename(fresh, RESULT)  # whole or not at all
    shutil.rmtree(WORK)


if __name__ == '__main__':
    main()
