#!/usr/bin/env python3
"""Puts the libraries of libraries.txt for arm64, and all that they need, into build/arm64-libs.

They are Debian's packages for arm64, from where this machine fetches its own
(setup/apt_lists.py); they are unpacked, not installed.
Usage: python3 setup/arm64/libraries.py"""

import glob
import os
import shutil
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'setup'))

from apt_lists import Apt, run  # noqa: E402

LIST = os.path.join(TOP, 'setup', 'arm64', 'libraries.txt')
WORK = os.path.join(TOP, 'build', 'arm64-packages')
RESULT = os.path.join(TOP, 'build', 'arm64-libs')
# What links with libc comes with the cross compiler; these packages' links lead out of the folder.
OF_THE_COMPILER = ('libc6-dev_', 'libc-dev-bin_', 'linux-libc-dev_', 'libcrypt-dev_')


def main():
    for folder in (WORK, RESULT):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(WORK)
    nothing_installed = os.path.join(WORK, 'status')
    open(nothing_installed, 'w', encoding='utf-8').close()
    apt = Apt(WORK, 'deb', ['-o', 'APT::Architecture=arm64', '-o', 'APT::Architectures::=arm64',
                            '-o', 'Dir::State::Status=' + nothing_installed])
    apt.update()
    with open(LIST, encoding='utf-8') as file:
        wanted = [line.strip() for line in file if line.strip() and not line.startswith('#')]
    apt('install', '--download-only', '--yes', '--no-install-recommends', *wanted)
    fresh = os.path.join(WORK, 'tree')
    for package in sorted(glob.glob(os.path.join(WORK, 'cache', 'archives', '*.deb'))):
        if os.path.basename(package).startswith(OF_THE_COMPILER):
            continue
        run('dpkg-deb', '--extract', package, fresh)
    shutil.copy2(LIST, os.path.join(fresh, 'installed.txt'))
    os.rename(fresh, RESULT)  # whole or not at all
    shutil.rmtree(WORK)


if __name__ == '__main__':
    main()
