"""Installs what ./lab package builds into a bare Debian 12, and uses it there.

Makes the Debian with debootstrap, installs and enables the package by the commands of
docs/operating.md, starts the server as its service would, writes with j: true, kills it, adds the
packages of storage engines by those of docs/engines.md and starts the server with each, tries those
of geo, text and scripts, rotates its log, upgrades, removes and purges the package. Builds the
tarball twice and compares. Needs root; elsewhere one sentence says why it is skipped.
Usage: build/venv/bin/python tests/package/run.py [SELECTION]         (all)"""

import contextlib
import glob
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'packaging')]

import build as packages  # noqa: E402
import choice  # noqa: E402
import debian  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402
import tarball  # noqa: E402
from totals import Totals  # noqa: E402

PAGE, ENGINES_PAGE = 'docs/operating.md', 'docs/engines.md'
# What --storageEngine calls it: its package, and the library that this needs.
ENGINES = {'rocksdb': ('mongod-dur-engine-rocksdb', 'librocksdb7.8'),
           'wiredTiger': ('mongod-dur-engine-wiredtiger', 'libwiredtiger0')}
# Of the other shared objects: a command that needs it, and the code without it.
PARTS = {
    'geo': ({'count': 'c', 'query': {'at': {'$geoIntersects': {'$geometry': {
        'type': 'Point', 'coordinates': [0, 0]}}}}}, 115),
    'script': ({'count': 'c', 'query': {'$where': 'this._id == 1'}}, 115),
    'text': ({'createIndexes': 'd', 'indexes': [{'key': {'a': 'text'}, 'name': 'a'}]}, 20)}
UNIT = 'usr/lib/systemd/system/mongod-dur.service'
START_SECONDS_MAX = 60  # only ends a start that hangs


def why_not():
    """Why nothing can be installed here, or None."""
    if os.getuid() != 0:
        return 'installing into a bare Debian needs root'
    if not shutil.which('debootstrap'):
        return 'debootstrap is not installed'
    return None


class Machine:
    """A copy of the bare Debian."""

    def __init__(self, folder):
        self.root = os.path.join(folder, 'debian')
        subprocess.run(['cp', '-a', debian.tree(), self.root], check=True)
        shutil.copy('/etc/resolv.conf', os.path.join(self.root, 'etc/resolv.conf'))
        # Services are not started in a folder.
        pathlib.Path(self.path('usr/sbin/policy-rc.d')).write_text('#!/bin/sh\nexit 101\n', 'utf-8')
        os.chmod(self.path('usr/sbin/policy-rc.d'), 0o755)
        with open(self.path('etc/apt/apt.conf.d/test'), 'w', encoding='utf-8') as file:
            file.write('APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
        self.server = None

    def path(self, name):
        return os.path.join(self.root, name.lstrip('/'))

    def __call__(self, *words):
        """A command in it: (exit code, output)."""
        run = subprocess.run(['chroot', self.root, *words], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=dict(os.environ, DEBIAN_FRONTEND='noninteractive', LC_ALL='C',
                                      PATH='/usr/sbin:/usr/bin:/sbin:/bin'))
        return run.returncode, run.stdout

    def install(self, package, command='apt install ./PACKAGE'):
        shutil.copy(package, self.path('tmp'))
        return self('sh', '-c', 'cd /tmp && ' + command.replace(
            'PACKAGE', shlex.quote(os.path.basename(package))))

    def start(self, *options):
        """The service's command as its user, with these options, until it answers."""
        with open(self.path(UNIT), encoding='utf-8') as file:
            unit = dict(re.findall(r'^(\w+)=(.+)$', file.read(), re.M))
        os.makedirs(self.path('run/' + unit['RuntimeDirectory']), exist_ok=True)
        self('chown', unit['User'], '/run/' + unit['RuntimeDirectory'])
        port = server.free_port()
        self.server = subprocess.Popen(
            ['chroot', '--userspec=%s:%s' % (unit['User'], unit['Group']), self.root,
             *unit['ExecStart'].split(), '--port', str(port), *options], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(pymongo.errors.PyMongoError):
                client = pymongo.MongoClient('127.0.0.1', port, serverSelectionTimeoutMS=200)
                client.admin.command('ping')
                return client
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise AssertionError('the service did not start:\n' + self.log())

    def signal(self, number):
        self.server.send_signal(number)
        return self.server.wait()

    def log(self):
        try:
            return pathlib.Path(self.path('var/log/mongod-dur/mongod.log')).read_text('utf-8')
        except OSError as error:
            return str(error)


def newer(package, folder):
    """The same package with a higher version."""
    tree = os.path.join(folder, 'newer')
    subprocess.run(['dpkg-deb', '--raw-extract', package, tree], check=True)
    control = os.path.join(tree, 'DEBIAN', 'control')
    text = pathlib.Path(control).read_text('utf-8')
    pathlib.Path(control).write_text(re.sub(r'^(Version: .*)$', r'\1+1', text, flags=re.M), 'utf-8')
    path = os.path.join(folder, 'newer.deb')
    subprocess.run(['dpkg-deb', '--build', '--root-owner-group', tree, path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def listed(package):
    return subprocess.run(['dpkg-deb', '--contents', package], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def field(package, name):
    """Of its control file."""
    return subprocess.run(['dpkg-deb', '--field', package, name], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()


def try_licences(built, folder, check):
    """The server's package is free of the engines and their libraries, and that of wiredTiger says
    what it is under."""
    text = listed(built['mongod-dur']) + field(built['mongod-dur'], 'Depends')
    check('the server has no engine beside mmapv1 and needs no library of one',
          not re.search(r'engine|rocksdb|wiredtiger|libs2|[.]so\n', text, re.IGNORECASE), text)
    for name, (package, library) in ENGINES.items():
        tree = os.path.join(folder, package)
        subprocess.run(['dpkg-deb', '--extract', built[package], tree], check=True)
        depends = field(built[package], 'Depends')
        check('%s needs its library, and the server of its own version' % package,
              library in depends and 'mongod-dur (= %s)' % field(built['mongod-dur'], 'Version')
              in depends, depends)
        check('%s has its shared object' % package, os.path.exists(
            os.path.join(tree, 'usr/lib/mongod-dur/engine_%s.so' % name.lower())))
        said = pathlib.Path(os.path.join(tree, 'usr/share/doc', package,
                                         'copyright')).read_text('utf-8')
        check('%s is under %s' % (package, 'the GPL 3' if name == 'wiredTiger' else 'Apache 2.0'),
              ('License: GPL-3' in said) == (name == 'wiredTiger')
              and ('License: Apache-2.0' in said) == (name != 'wiredTiger'), said)


def try_engines(machine, built, check):
    """Those of storage engines, as the page installs and sets them up. The server looks beside its
    own program for them, which it finds by /proc."""
    code, said = machine('mount', '-t', 'proc', 'proc', '/proc')
    if code != 0:
        print('   no mounts here, so no engine is tried: ' + said)
        return
    try:
        try_mounted_engines(machine, built, check)
        try_parts(machine, built, check)
    finally:
        if machine.server.poll() is None:
            machine.signal(signal.SIGKILL)
        machine('umount', '/proc')


def try_mounted_engines(machine, built, check):
    with open(os.path.join(TOP, ENGINES_PAGE), encoding='utf-8') as file:
        section = re.search(r'^## To have it$(.*?)^## ', file.read(), re.M | re.S)[1]
    install, make_folder = re.findall(r'^sudo (.+)$', section, re.M)
    storage = re.search(r'^```yaml\n(.*?)^```$', section, re.M | re.S)[1]
    path = machine.path('etc/mongod-dur.yaml')
    usual = pathlib.Path(path).read_text('utf-8')
    for name, (package, _) in ENGINES.items():
        def refused(name=name):
            code, said = machine('sh', '-c', 'mkdir -p /tmp/empty && mongod --dbpath /tmp/empty '
                                 '--storageEngine ' + name)
            return code != 0 and 'storage engine %s is not installed' % name in said, said
        check('%s is refused by name before it is installed' % name, *refused())
        code, said = machine.install(built[package], re.sub(
            r'mongod-dur-engine-rocksdb_\S+\.deb', 'PACKAGE', install))
        check('%s installs as %s says' % (package, ENGINES_PAGE), code == 0, said)
        code, said = machine('sh', '-c', make_folder.replace('rocksdb', name))
        check('%s has a folder as %s says' % (name, ENGINES_PAGE), code == 0, said)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(re.sub(r'^storage:\n(?:[ #].*\n)*', storage.replace('rocksdb', name), usual,
                              flags=re.M))
        client = machine.start()
        client.test.get_collection('c', write_concern=pymongo.WriteConcern(w=1, j=True)).insert_one(
            {'_id': 1})
        check('%s runs as the service' % name, client.admin.command('serverStatus')[
            'storageEngine']['name'] == name)
        client.close()
        machine.signal(signal.SIGKILL)
        client = machine.start()
        check('%s: nothing acknowledged is lost by a kill' % name,
              client.test.c.count_documents({}) == 1)
        client.close()
        check('%s: ends cleanly' % name, machine.signal(signal.SIGTERM) == 0, machine.log())
        code, said = machine('dpkg', '--purge', package)
        check('%s is removed' % package, code == 0, said)
        check('%s is refused by name afterwards' % name, *refused())
    pathlib.Path(path).write_text(usual, 'utf-8')


def try_parts(machine, built, check):
    """The server without the other shared objects, then with each by itself."""
    def outcomes():
        client = machine.start('--scripting')
        found = {}
        for name, (command, _) in PARTS.items():
            try:
                found[name] = client.test.command(command)['ok']
            except pymongo.errors.OperationFailure as error:
                found[name] = error.code, 'mongod-dur-' + name in str(error)
        client.close()
        machine.signal(signal.SIGTERM)
        return found

    without = {name: (code, True) for name, (_, code) in PARTS.items()}
    found = outcomes()
    check('a server without shared objects starts, and names the package of each',
          found == without, found)
    for name in PARTS:
        package = 'mongod-dur-' + name
        code, said = machine.install(built[package])
        check('%s installs' % package, code == 0, said)
        found = outcomes()
        check('%s gives what it is for, and nothing else' % package,
              found == dict(without, **{name: 1}), found)
        code, said = machine('dpkg', '--purge', package)
        check('%s is removed' % package, code == 0, said)


def try_package(machine, built, selection, folder, check):
    """A life of the package: installed, used, with engines, upgraded, removed, purged."""
    package = built['mongod-dur']
    machine('apt-get', 'update')
    install, enable = commands_of_page(package)
    code, said = machine.install(package, install)
    check('installs as %s says' % PAGE, code == 0, said)
    code, said = machine('mongod', '--version')
    check('--version names the patches',
          code == 0 and all(slug in said for slug in selection.slugs), said)
    # The bare Debian leaves pages out, so look into the package.
    listing = listed(package)
    for page in ('man1/mongod.1', 'man1/journal_dump.1', 'man1/dbpath_check.1',
                 'man7/mongod-dur-lab.7'):
        check('a page for man: ' + page, '/%s.gz' % page in listing, listing)
    for name in ('mongod', 'lab'):
        check('completion of ' + name, '/bash-completion/completions/%s\n' % name in listing,
              listing)

    check('the notice of what is linked', '/usr/share/doc/mongod-dur/NOTICE' in listing, listing)

    try_unit(machine, enable, check)
    client = machine.start()
    journaled = client.test.get_collection('c', write_concern=pymongo.WriteConcern(w=1, j=True))
    journaled.insert_many([{'_id': n} for n in range(100)])
    client.close()
    machine.signal(signal.SIGKILL)
    client = machine.start()
    check('nothing acknowledged is lost by a kill', client.test.c.count_documents({}) == 100)
    owner = os.stat(machine.path('var/lib/mongod-dur/journal'))
    check('the data is its own user\'s', owner.st_uid != 0)
    mode = os.stat(machine.path('var/lib/mongod-dur/test.0')).st_mode & 0o777
    check('no other user reads it', mode & 0o007 == 0, oct(mode))

    code, said = machine('apt-get', 'install', 'logrotate')
    check('logrotate installs', code == 0, said)
    machine('logrotate', '--force', '/etc/logrotate.d/mongod-dur')
    rotated = glob.glob(machine.path('var/log/mongod-dur/mongod.log.*'))
    check('the log is rotated', len(rotated) == 1, rotated)
    client.admin.command('setParameter', 1, logLevel=1)
    client.admin.command('ping')
    check('and goes on', 'ping' in machine.log(), machine.log())
    client.close()
    check('ends cleanly', machine.signal(signal.SIGTERM) == 0)
    try_engines(machine, built, check)

    with open(machine.path('etc/mongod-dur.yaml'), 'a', encoding='utf-8') as file:
        file.write('# mine\n')
    code, said = machine.install(newer(package, folder))
    check('upgrades', code == 0, said)
    with open(machine.path('etc/mongod-dur.yaml'), encoding='utf-8') as file:
        check('an upgrade keeps the configuration', '# mine' in file.read())
    client = machine.start()
    check('and the data', client.test.c.count_documents({}) == 100)
    client.close()
    machine.signal(signal.SIGTERM)
    try_journal_elsewhere(machine, check)

    code, said = machine('dpkg', '--remove', 'mongod-dur')
    check('is removed', code == 0 and not os.path.exists(machine.path('usr/bin/mongod')), said)
    code, said = machine('dpkg', '--purge', 'mongod-dur')
    check('is purged, but for the data',
          code == 0 and not os.path.exists(machine.path('etc/mongod-dur.yaml'))
          and os.path.exists(machine.path('var/lib/mongod-dur/test.0')), said)


def commands_of_page(package):
    """What the page has its reader type to install and to start the service, without sudo, the
    file's name as PACKAGE."""
    with open(os.path.join(TOP, PAGE), encoding='utf-8') as file:
        section = re.search(r'^## Install$(.*?)^## ', file.read(), re.M | re.S)[1]
    commands = re.findall(r'^    sudo (.+)$', section, re.M)
    architecture = os.path.basename(package).removesuffix('.deb').split('_')[2]
    pattern = r'mongod-dur_\*[+][\w.+-]+_%s\.deb' % architecture
    return [re.sub(pattern, 'PACKAGE', command) for command in commands]


def try_journal_elsewhere(machine, check):
    """The journal on another device, by the page's command; a folder stands for the device."""
    with open(os.path.join(TOP, PAGE), encoding='utf-8') as file:
        command = re.search(r'^    (mount --bind (\S+) (\S+))$', file.read(), re.M)
    mount, there, journal = command.groups()
    machine('mkdir', '-p', there, journal)
    machine('chown', '-R', 'mongod-dur:', there, journal)
    code, said = machine('sh', '-c', mount)
    if code != 0:
        print('   no mounts here, so the journal stays beside the data: ' + said)
        return
    try:
        client = machine.start()
        journaled = client.test.get_collection('c', write_concern=pymongo.WriteConcern(w=1, j=True))
        journaled.insert_one({'_id': 'elsewhere'})
        client.close()
        machine.signal(signal.SIGKILL)
        check('the journal is where it was mounted from',
              glob.glob(machine.path(there + '/j._*')) != [], os.listdir(machine.path(there)))
        client = machine.start()
        check('and is replayed from there', client.test.c.count_documents({}) == 101)
        client.close()
        check('and a clean end empties it', machine.signal(signal.SIGTERM) == 0
              and glob.glob(machine.path(there + '/j._*')) == [])
    finally:
        machine('umount', journal)


def try_unit(machine, enable, check):
    """What systemd itself makes of the service. It runs nothing in a folder."""
    code, said = machine('apt-get', 'install', 'systemd')
    check('systemd installs', code == 0, said)
    wanted = machine.path('etc/systemd/system/multi-user.target.wants/mongod-dur.service')
    check('the service starts with the machine', os.path.lexists(wanted))
    machine('systemctl', 'disable', 'mongod-dur')
    check('and can be asked not to', not os.path.lexists(wanted))
    # Now is for a machine: the service's own command follows.
    code, said = machine('sh', '-c', enable.replace(' --now', ''))
    check('is enabled as %s says' % PAGE, code == 0 and os.path.lexists(wanted), said)
    # The image keeps no pages for man; that the package has the unit's is checked above.
    code, said = machine('systemd-analyze', 'verify', '--man=no', '/' + UNIT)
    check('the service is understood', code == 0, said)
    code, said = machine('systemd-analyze', 'security', '--offline=true', '--threshold=30',
                         '/' + UNIT)
    check('the service may do little', code == 0, said)


def try_tarball(selection, folder, check):
    """Twice the same bytes, and it builds."""
    paths = [tarball.write(selection, os.path.join(folder, name)) for name in ('one', 'two')]
    contents = []
    for path in paths:
        contents.append(pathlib.Path(path).read_bytes())
    check('the tarball is reproducible', contents[0] == contents[1])
    subprocess.run(['tar', '-xf', paths[0], '-C', folder], check=True)
    tree = os.path.join(folder, 'mongod-dur-' + tarball.version(selection))
    run = subprocess.run(['scons', '-Q', 'patches=none', 'mongod'], cwd=tree,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check('the tarball builds', run.returncode == 0, run.stdout[-4000:])
    said = subprocess.run([os.path.join(tree, 'build/none/bin/mongod'), '--version'],
                          stdout=subprocess.PIPE, text=True).stdout
    check('and knows its patches', all(slug in said for slug in selection.slugs), said)


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('selection', type=choice.selection, nargs='?', default='all')
    selection = staging.select(TOP, parser.parse_args().selection)
    totals = Totals()

    def check(name, good, shown=''):
        totals.add('package: ' + name, 1 if good else 0, 0 if good else 1)
        if not good and shown:
            print(shown)

    paths = packages.build(selection)
    lint = packages.lint(paths)
    check('lintian is content', lint.returncode == 0, lint.stdout)
    built = {os.path.basename(path).split('_')[0]: path for path in paths}
    with tempfile.TemporaryDirectory(dir=packages.OUT) as folder:
        try_licences(built, folder, check)
        try_tarball(selection, folder, check)
        reason = why_not()
        if reason:
            totals.close_skipped(reason)
        machine = Machine(folder)
        try:
            try_package(machine, built, selection, folder, check)
        except AssertionError as error:
            check('a life of the package', False, str(error))
        finally:
            if machine.server and machine.server.poll() is None:
                machine.signal(signal.SIGKILL)
    totals.close()


if __name__ == '__main__':
    main()
