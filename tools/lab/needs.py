"""What each use of the laboratory needs, in steps of install.py."""

import glob
import os
import shutil
import subprocess
import sys

from lab import attempt, base, install


def begin():
    """Before anything is installed: a place for it, and the first time what it will cost."""
    install.need_build()
    if not any(os.path.exists(os.path.join(base.BUILD, name))
               for name in ('none', 'all', 'none-checked', 'all-checked')):
        base.say('the first time: some minutes for installing and compiling; then build/ holds '
                 '1.0 GB after ./lab run, 3.4 GB after ./lab test')


def compiler():
    begin()
    install.debian('apt-build.txt')


def measuring():
    begin()
    install.debian('apt-build.txt', 'apt-measure.txt')
    install.drivers()


def failover():
    """A set with elections, and the drivers that write to it."""
    measuring()
    shell()
    install.debian('apt-cluster.txt')
    install.npm('node-clients')


def shell():
    """mongosh. Returns the words that start it."""
    begin()
    install.debian('apt-shell.txt')
    install.npm('mongosh', '--omit=optional')
    node = shutil.which('node')
    version = subprocess.run([node, '-p', 'process.versions.node.split(".")[0]'],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    if int(version) < install.NODE_MAJOR_MIN:
        install.npm('node')
        node, = glob.glob(os.path.join(base.BUILD, 'node/node_modules/node-linux-*/bin/node'))
    main = os.path.join(base.BUILD, 'mongosh/node_modules/mongosh/bin/mongosh.js')
    if not os.path.isfile(main):
        base.give_up('mongosh is not where it should be: ' + main)
    os.environ.update(MONGOSH_NODE=node, MONGOSH_MAIN=main)  # for the tests
    return [node, '--no-deprecation', main]


def tests():
    begin()
    install.debian('apt-build.txt', 'apt-measure.txt', 'apt-shell.txt', 'apt.txt')
    install.drivers()
    stemmers()
    install.python('venv-old-driver', 'python-old-driver.txt')
    shell()


def clients():
    """The drivers and applications of tests/clients/."""
    install.debian('apt-clients.txt')
    install.python('venv-mappers', 'python-mappers.txt')
    install.npm('node-clients')
    install.npm('node-apps')


def programs():
    """The programs of tests/programs/, and what their tests use; it fetches the suites itself."""
    install.debian('apt-programs.txt')
    install.python('venv-mappers', 'python-mappers.txt')
    install.python('venv-programs', 'python-programs.txt')
    install.npm('node-programs')
    install.maven('spring')
    install.maven('debezium')


def stemmers():
    libraries('text', 'compiling stemmers into build/text-libs', '/bin/sh',
              'setup/text/libraries.sh')


def libraries(system, sentence, *program):
    """build/SYSTEM-libs, as the program, or libraries.py, in its folder below setup/ makes it."""
    source = os.path.join(base.SETUP, system)
    install.once(os.path.join(source, 'libraries.txt'),
                 os.path.join(base.BUILD, system + '-libs', 'installed.txt'), sentence,
                 lambda: attempt.must(*program or [sys.executable, source + '/libraries.py']))


def architecture():
    """Debian's word for this machine; nothing elsewhere."""
    if not shutil.which('dpkg'):
        return ''
    return subprocess.run(['dpkg', '--print-architecture'], stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def windows():
    """The cross compiler, Wine, and libraries. A machine that cannot have them goes without: that
    part of the tests then says so in a sentence."""
    installed = os.path.join(base.BUILD, 'windows-libs', 'installed.txt')
    if not install.missing_of('apt-windows.txt') and install.is_same(
            os.path.join(base.SETUP, 'windows', 'libraries.txt'), installed):
        return
    if architecture() != 'amd64':
        base.say('no Windows programs here: Wine runs them on Debian for amd64 only')
        return
    try:
        install.debian('apt-windows.txt')
        libraries('windows', 'building libraries for Windows from Debian sources into '
                             'build/windows-libs')
    except SystemExit as end:
        if end.code != base.EXIT_FAILED:
            raise
        base.say('the part "windows" of the tests will be skipped')


def blocks():
    """Without root that part is skipped, and needs nothing."""
    if os.getuid() == 0:
        install.debian('apt-blocks.txt')


def arm64():
    """The cross compiler, qemu, and libraries."""
    install.debian('apt-arm64.txt')
    libraries('arm64', 'fetching libraries for arm64 from Debian into build/arm64-libs')


def docker():
    """The images themselves are built as root, or that is skipped."""
    install.debian('apt-docker.txt')
    install.python('venv-docker', 'python-docker.txt')


def package():
    """For ./lab package too, which makes a package of each shared object."""
    install.debian('apt-package.txt', 'apt-engines.txt')
    stemmers()


# What single parts of the tests need beside tests().
PARTS = {
    'clients': clients, 'clients-secured': clients, 'windows': windows, 'crash-blocks': blocks,
    'tidy': lambda: install.debian('apt-tidy.txt'), 'arm64': arm64,
    'engines': lambda: install.debian('apt-engines.txt'),
    'fuzz': lambda: install.debian('apt-fuzz.txt'),
    'model': lambda: install.debian('apt-model.txt'), 'docker': docker, 'package': package,
    'programs': programs, 'odbc': lambda: install.debian('apt-odbc.txt')}


def parts(names):
    """What building and these parts of the tests need."""
    tests()
    for step in dict.fromkeys(PARTS[name] for name in names if name in PARTS):
        step()
