"""A bare Debian 12 from packages, for tests that need one: made once, kept in build/docker/."""

import os
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(TOP, 'build', 'docker')


def tree():
    """The folder with its files, to be copied. Needs root and debootstrap. Raises OSError or
    CalledProcessError where it cannot be made."""
    path = os.path.join(KEPT, 'debian')
    if os.path.exists(path + '.done'):
        return path
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(KEPT, exist_ok=True)
    print('making debian:12-slim with debootstrap', flush=True)
    with open(os.path.join(KEPT, 'debootstrap.log'), 'w', encoding='utf-8') as log:
        subprocess.run(['debootstrap', '--variant=minbase', 'bookworm', path], check=True,
                       stdout=log, stderr=subprocess.STDOUT)
    for left_over in ('var/lib/apt/lists', 'var/cache/apt', 'usr/share/doc', 'usr/share/man',
                      'usr/share/locale'):
        shutil.rmtree(os.path.join(path, left_over), ignore_errors=True)
    os.makedirs(os.path.join(path, 'var/lib/apt/lists'))
    os.makedirs(os.path.join(path, 'var/cache/apt/archives/partial'))
    open(path + '.done', 'w', encoding='utf-8').close()
    return path
