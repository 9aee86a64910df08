"""Builds the images of docker/ and runs them, without a Docker daemon.

Makes debian:12-slim with debootstrap, builds docker/Dockerfile with buildah in a chroot, starts
what came out, writes with j: true, kills it, starts it again. Then builds every service of
docker/compose.yaml, starts them with their settings and lets the load client drive them from the
laboratory. Needs root and a kernel that allows chroots with mounts; elsewhere one sentence says why
it is skipped.
Usage: build/venv/bin/python tests/docker/run.py [PATCHES...]       (all, and compose.yaml)
The base image is kept in build/docker/, the compiler's cache is the machine's."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import debian  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402
from totals import Totals  # noqa: E402

KEPT = debian.KEPT
COMPOSE = 'docker/compose.yaml'
HADOLINT = os.path.join(TOP, 'build', 'venv-docker', 'bin', 'hadolint')
SHELL_FILES = ['lab', 'docker/entrypoint', 'docker/healthcheck']
IMAGE_MB_MAX = 250  # the slim Debian alone is half of that

START_SECONDS_MAX = 120  # only ends a server that hangs


def why_not():
    """Why images cannot be built here, or None."""
    if os.getuid() != 0:
        return 'building images in a chroot needs root'
    for program in ('buildah', 'debootstrap'):
        if not shutil.which(program):
            return program + ' is not installed'
    return None


class Buildah:
    def __init__(self, folder):
        self.options = ['--root', os.path.join(folder, 'storage'),
                        '--runroot', os.path.join(folder, 'run'), '--storage-driver', 'vfs']

    def command(self, verb, *words):
        return ['buildah', *self.options, verb, *words]

    def __call__(self, verb, *words):
        """Runs it; returns what it prints. Raises CalledProcessError with all output."""
        run = subprocess.run(self.command(verb, *words), cwd=TOP, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
        if run.returncode != 0:
            raise subprocess.CalledProcessError(run.returncode, verb, run.stdout + run.stderr)
        return run.stdout.strip()


def make_debian(buildah):
    """The image that the Dockerfile begins with, from packages alone."""
    container = buildah('from', 'scratch')
    buildah('add', '-q', container, debian.tree(), '/')
    buildah('config', '--cmd', '/bin/bash', container)
    buildah('commit', '-q', '--rm', container, 'debian:12-slim')


def build_image(buildah, patches, target='mongod'):
    """Returns its name."""
    image = 'mongod-dur:%s-%s' % (target, re.sub(r'[^a-z0-9-]', '-', patches))
    cache = os.environ.get('CCACHE_DIR', os.path.expanduser('~/.cache/ccache'))
    os.makedirs(cache, exist_ok=True)
    print('building docker/Dockerfile with PATCHES=%s, target %s' % (patches, target), flush=True)
    command = buildah.command(
        'bud', '--pull-never', '--isolation', 'chroot', '--layers', '--target', target,
        '-v', cache + ':/root/.cache/ccache', '--build-arg', 'PATCHES=' + patches,
        '-f', 'docker/Dockerfile', '-t', image, '.')
    with subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as run:
        lines = []
        for line in run.stdout:
            lines.append(line)
            if re.match(r'STEP|compile \d+0/', line):
                print('   ' + line, end='', flush=True)
    if run.returncode != 0:
        raise subprocess.CalledProcessError(run.returncode, 'bud', ''.join(lines[-40:]))
    return image


class Container:
    """A container of an image; its network is the machine's, so it gets a free port."""

    def __init__(self, buildah, image):
        self.buildah = buildah
        self.name = buildah('from', '--pull-never', image)
        self.port = server.free_port()
        self.running, self.log = None, None

    def run(self, *words, volumes=(), **environment):
        """A program in the container, to its end: (exit code, output)."""
        run = subprocess.run(self._command(words, environment, volumes), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode, run.stdout

    def start(self, *words, **environment):
        self.log = tempfile.TemporaryFile(mode='w+')
        self.running = subprocess.Popen(
            self._command(('/usr/libexec/mongod-dur/entrypoint', 'mongod', *words), environment),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(pymongo.errors.PyMongoError):
                client = pymongo.MongoClient('127.0.0.1', self.port, serverSelectionTimeoutMS=200)
                client.admin.command('ping')
                return client
            if self.running.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise AssertionError('the server did not start:\n' + self.log.read()[-4000:])

    def signal(self, number):
        """To mongod itself, then waits for its end."""
        os.kill(self.mongod(), number)
        return self.running.wait()

    def mongod(self):
        """The process id of the server: the one below `buildah run` that is called so."""
        parents = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                with open('/proc/%s/stat' % pid, encoding='utf-8') as file:
                    name, rest = re.match(r'\d+ \((.*)\) (.*)', file.read()).groups()
                parents[int(pid)] = (int(rest.split()[1]), name)
        for pid, (_, name) in parents.items():
            above = pid
            while name == 'mongod' and above in parents:
                if above == self.running.pid:
                    return pid
                above = parents[above][0]
        raise AssertionError('no mongod below buildah run')

    def close(self):
        if self.running and self.running.poll() is None:
            with contextlib.suppress(AssertionError, ProcessLookupError):
                os.kill(self.mongod(), signal.SIGKILL)
            self.running.wait()
        self.buildah('rm', self.name)

    def _command(self, words, environment, volumes=()):
        environment = dict({'MONGOD_PORT': str(self.port)}, **environment)
        flags = [flag for name, value in environment.items()
                 for flag in ('--env', '%s=%s' % (name, value))]
        flags += [flag for volume in volumes for flag in ('--volume', volume)]
        return self.buildah.command('run', '--isolation', 'chroot', *flags, self.name, '--', *words)


def reaches(address, port):
    with socket.socket() as connection:
        return connection.connect_ex((address, port)) == 0


def try_image(buildah, image, patches, check):
    """What docker/README.md promises of an image."""
    slugs = staging.select(TOP, patches).slugs
    config = buildah('inspect', '--type', 'image', '--format',
                     '{{.OCIv1.Config.User}} {{.Docker.Config.StopSignal}} '
                     '{{.OCIv1.Config.Volumes}} {{.Docker.Config.Healthcheck}}', image)
    check('its own user, a volume and a stop signal',
          re.match(r'999:999 SIGTERM map\[/data/db:', config), config)
    container = Container(buildah, image)
    try:
        code, said = container.run('mongod', '--version')
        check('--version names the patches',
              code == 0 and all(slug in said for slug in slugs) and 'patches' in said, said)
        code, said = container.run('/usr/libexec/mongod-dur/entrypoint', 'id', '-u')
        check('other programs run as the user', said.strip() == '999', said)
        code, said = container.run('/usr/libexec/mongod-dur/entrypoint', 'mongod',
                                   MONGOD_DBPATH='/usr')
        check('a directory of another user gets a sentence',
              code == 1 and 'user 999 cannot write to /usr' in said, said)
        code, said = container.run('/usr/libexec/mongod-dur/healthcheck')
        check('no health without a server', code != 0, said)

        client = container.start()
        check('listens on loopback only', not reaches('127.0.0.2', container.port))
        code, said = container.run('/usr/libexec/mongod-dur/healthcheck')
        check('healthy', code == 0, said)
        journaled = pymongo.WriteConcern(w=1, j=True)
        client.test.get_collection('c', write_concern=journaled).insert_many(
            [{'_id': n} for n in range(100)])
        client.close()
        container.signal(signal.SIGKILL)
        code, said = container.run('bash', '-c', 'MONGOD_BIND_IP=0.0.0.0 '
                                   '/usr/libexec/mongod-dur/entrypoint')
        check('does not listen wider unless clients have to log in',
              code == 1 and 'MONGOD_ROOT_USER' in said, said)
        client = container.start(MONGOD_BIND_IP='0.0.0.0', MONGOD_WITHOUT_AUTH='yes',
                                 MONGOD_OPTIONS='--slowms 20')
        check('nothing acknowledged is lost by a kill', client.test.c.count_documents({}) == 100)
        check('listens wider when asked to', reaches('127.0.0.2', container.port))
        options = client.admin.command('getCmdLineOpts')['parsed']
        check('options from the environment', '20' in str(options), options)
        client.close()
        code = container.signal(signal.SIGTERM)
        code_check, said = container.run('dbpath_check', '/data/db')
        check('a clean end', code == 0 and code_check == 0, (code, said))
        client = container.start(MONGOD_BIND_IP='0.0.0.0', MONGOD_ROOT_USER='admin',
                                 MONGOD_ROOT_PASSWORD='from the environment')
        client.close()
        client = pymongo.MongoClient('127.0.0.1', container.port, username='admin',
                                     password='from the environment', directConnection=True)
        check('the first user from the environment', client.test.c.count_documents({}) == 100)
        client.close()
        container.signal(signal.SIGTERM)
        client = container.start('--slowms', '30', '--port', str(container.port))
        check('options after the name win', '30' in str(
            client.admin.command('getCmdLineOpts')['parsed']))
        client.close()
        container.signal(signal.SIGTERM)
    finally:
        container.close()


def try_lab(buildah, image, check):
    """What the laboratory holds, and that it can be used."""
    container = Container(buildah, image)
    try:
        for name, words in (('strace', ['strace', '-V']), ('perf', ['perf', '--version']),
                            ('./lab', ['./lab', 'trace', '--help']),
                            ('the base', ['build/none/bin/mongod', '--version']),
                            ('the series', ['build/all/bin/mongod', '--version'])):
            code, said = container.run(*words)
            check('the laboratory has ' + name, code == 0, said)
        code, said = container.run('strace', '-f', '-e', 'trace=openat',
                                   'build/none/bin/mongod', '--version')
        check('strace works in it', code == 0 and 'openat(' in said, said)
    finally:
        container.close()


def services_of_compose():
    """The services of compose.yaml as docker-compose reads them. CalledProcessError: it does not
    take the file."""
    run = subprocess.run(['docker-compose', '-f', COMPOSE, 'config'], cwd=TOP,
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise subprocess.CalledProcessError(run.returncode, 'docker-compose', run.stderr)
    # Debian's Python has the parser that docker-compose uses; that of the drivers has none.
    to_json = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'
    parsed = subprocess.run(['/usr/bin/python3', '-c', to_json], input=run.stdout,
                            stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(parsed.stdout)['services']


def try_compose(buildah, check):
    """Every service built and started as compose.yaml says. All share this machine's network, so
    that the servers get ports and the others get their numbers."""
    services = services_of_compose()
    images = {}
    for name, service in services.items():
        build = service['build']
        folder = os.path.relpath(build['context'], TOP)
        check('%s: the folder that it is built from' % name, folder == '.', folder)
        images[name] = build_image(buildah, build.get('args', {}).get('PATCHES', 'all'),
                                   build['target'])
    running, clients = {}, []
    results = tempfile.mkdtemp(dir=KEPT)
    try:
        for name, service in services.items():
            container = Container(buildah, images[name])
            running[name] = container
            if 'command' not in service:
                clients.append(container.start(**service.get('environment', {})))
                code, said = container.run('/usr/libexec/mongod-dur/healthcheck')
                check('%s: starts and is healthy' % name, code == 0, said)
                check('%s: can be reached from the others' % name,
                      reaches('127.0.0.2', container.port))
        for name, service in services.items():
            if 'command' not in service:
                continue
            for other in service.get('depends_on', {}):
                check('%s waits for a service that there is: %s' % (name, other), other in services)
            words = [re.sub(r'mongodb://(\w+):27017', lambda found: 'mongodb://127.0.0.1:%d'
                            % running[found.group(1)].port, word) for word in service['command']]
            volumes = ['%s:%s' % (results, volume.split(':')[1]) for volume in service['volumes']]
            code, said = running[name].run(*words[:2], '--rounds', '1', '--seconds', '0.5',
                                           *words[2:], volumes=volumes)
            check('%s: compares both' % name, code == 0 and re.search(
                r'^base .*\n *series ', said, re.M), said)
            check('%s: leaves its figures' % name, len(os.listdir(results)) == 1)
    finally:
        for client in clients:
            client.close()
        for container in running.values():
            container.close()
        shutil.rmtree(results)
    for name, service in services.items():
        if service['build']['target'] == 'lab':
            try_lab(buildah, images[name], check)


def image_mb(buildah, image):
    """Of all files in it."""
    name = buildah('from', '--pull-never', image)
    try:
        tree = buildah('mount', name)
        used = subprocess.run(['du', '-smx', tree], stdout=subprocess.PIPE, text=True, check=True)
        return int(used.stdout.split()[0])
    finally:
        buildah('rm', name)


def lint(check):
    for command in ([HADOLINT, '--no-color', 'docker/Dockerfile'],
                    ['shellcheck', '-x', *SHELL_FILES]):
        run = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        check(os.path.basename(command[0]), run.returncode == 0, run.stdout)


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('selections', nargs='*', metavar='PATCHES',
                        type=lambda word: word if word == COMPOSE else choice.selection(word))
    selections = parser.parse_args().selections or ['all', COMPOSE]
    totals = Totals()

    def check(name, good, shown=''):
        totals.add('docker: ' + name, 1 if good else 0, 0 if good else 1)
        if not good and shown:
            print(shown)

    lint(check)
    reason = why_not()
    if reason:
        totals.close_skipped(reason)
    os.makedirs(KEPT, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        buildah = Buildah(folder)
        try:
            make_debian(buildah)
        except (subprocess.CalledProcessError, OSError) as error:
            print('skipped: this machine cannot make images in a chroot: %s'
                  % (getattr(error, 'output', None) or error))
            totals.skipped += 1
            totals.close()
        try:
            for patches in selections:
                if patches == COMPOSE:
                    try_compose(buildah, check)
                    continue
                started = time.monotonic()
                image = build_image(buildah, patches)
                seconds = time.monotonic() - started
                size = image_mb(buildah, image)
                print('   PATCHES=%s: %d MB, built in %.0f s' % (patches, size, seconds))
                check('image of PATCHES=%s is small' % patches, size < IMAGE_MB_MAX)
                try_image(buildah, image, patches, check)
        except (subprocess.CalledProcessError, AssertionError) as error:
            check('PATCHES=%s' % patches, False, getattr(error, 'output', None) or str(error))
        finally:
            subprocess.run(buildah.command('rm', '--all'), stdout=subprocess.DEVNULL)
    totals.close()


if __name__ == '__main__':
    main()
