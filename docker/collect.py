"""Collects what the image of a selection of patches holds: the programs without their debugging
symbols, the names of the Debian packages whose libraries they load, and the default configuration.

Usage, from the top of the tree and after the build: python3 docker/collect.py PATCHES FOLDER"""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'packaging')]

import defaults  # noqa: E402
import staging  # noqa: E402

PROGRAMS = ['mongod', 'journal_dump', 'dbpath_check']


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def packages_of(programs):
    """The Debian packages that own the libraries of these programs."""
    found = set()
    for program in programs:
        for path in re.findall(r'=> (/\S+)', output_of('ldd', program)):
            # dpkg knows the files by the names they had before /lib became a link to /usr/lib.
            names = [path, os.path.realpath(path)]
            names += [name[len('/usr'):] for name in names if name.startswith('/usr/')]
            for name in names:
                run = subprocess.run(['dpkg', '-S', name], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
                if run.returncode == 0:
                    found.add(run.stdout.split(':')[0])
                    break
            else:
                sys.exit('collect.py: no package owns %s' % path)
    return sorted(found)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    selection, out = staging.select(TOP, sys.argv[1]), sys.argv[2]
    built = os.path.join(TOP, 'build', selection.name, 'bin')
    os.makedirs(os.path.join(out, 'bin'), exist_ok=True)
    for name in PROGRAMS:
        subprocess.run(['strip', '-o', os.path.join(out, 'bin', name), os.path.join(built, name)],
                       check=True)
    with open(os.path.join(out, 'packages'), 'w', encoding='utf-8') as file:
        file.write('\n'.join(packages_of(os.path.join(built, name) for name in PROGRAMS)) + '\n')
    with open(os.path.join(out, 'mongod.yaml'), 'w', encoding='utf-8') as file:
        file.write('# What this image starts with; docker/README.md says how to change it.\n'
                   + defaults.profile(selection.slugs))


if __name__ == '__main__':
    main()
