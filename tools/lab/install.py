"""What building, testing and measuring need, and how it is installed.

Every step first looks whether it is done, so that a second run costs a fraction of a second."""

import contextlib
import fcntl
import filecmp
import functools
import os
import shutil
import subprocess
import sys
import time

from lab import attempt, base

LISTS_SECONDS_MAX = 600  # until the package lists must be free
LISTS_SECONDS = 5  # between two looks
NODE_MAJOR_MIN = 20  # of the driver inside mongosh; Debian 12 has 18
APT_GET = ['apt-get', '-o', 'DPkg::Lock::Timeout=%d' % LISTS_SECONDS_MAX]


# ---- where things go, and the lock ----

def need_build():
    """A place for all that is made, writable for us: a sentence, where it is another user's. A user
    without a home (a service's, a container's) has the caches of compiler and npm there."""
    try:
        os.makedirs(base.BUILD, exist_ok=True)
        names = os.listdir(base.BUILD)
    except OSError:
        base.give_up('cannot make %s: what is built and installed goes there. Take a copy of the '
                     'sources that you may write to' % base.BUILD)
    for place in [base.BUILD] + [os.path.join(base.BUILD, name)
                                 for name in names if name != 'docker']:
        if os.path.exists(place) and not os.access(place, os.W_OK):
            base.give_up('%s is not yours to write; was it made as another user? Give build/ to '
                         'yourself with chown -R, or delete it' % place)
    if not os.access(os.environ.get('HOME', ''), os.W_OK):
        os.environ['HOME'] = os.path.join(base.BUILD, 'home')
        os.makedirs(os.environ['HOME'], exist_ok=True)


@contextlib.contextmanager
def setup_lock():
    """Only one ./lab installs at a time; the others say that they wait."""
    need_build()
    with open(os.path.join(base.BUILD, 'setup.lock'), 'w', encoding='ascii') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            base.say('another ./lab is installing; waiting for it')
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_same(one, other):
    with contextlib.suppress(OSError):
        return filecmp.cmp(one, other, shallow=False)
    return False


def once(wanted, done, sentence, step):
    """Calls step() unless the file `done` is as the list `wanted` already, or has become so while
    another ./lab held the lock."""
    if is_same(wanted, done):
        return
    with setup_lock():
        if not is_same(wanted, done):
            base.say(sentence)
            step()


# ---- Debian packages ----

def is_package_missing(package, command=None):
    if command and shutil.which(command):
        return False
    with contextlib.suppress(FileNotFoundError):
        asked = subprocess.run(['dpkg-query', '-W', '-f', '${db:Status-Status}', package],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return asked.stdout.strip() != 'installed'
    return True


def missing_of(*lists):
    """The packages of these lists in setup/ that are not there."""
    missing = []
    for name in lists:
        with open(os.path.join(base.SETUP, name), encoding='utf-8') as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith('#')]
        missing += [words[0] for words in lines if is_package_missing(*words)]
    return missing


def can_make_environments():
    try:
        import ensurepip  # noqa: F401  Debian has it in a package of its own
    except ImportError:
        return False
    return True


def debian(*lists):
    """Installs the packages of these lists in setup/, and what a virtual environment needs."""
    missing = missing_of(*lists)
    if not can_make_environments():
        missing.append('python3-venv')
    if not missing:
        return
    with setup_lock():
        missing = [package for package in missing if is_package_missing(package)]
        if missing:
            install_packages(missing)


def install_packages(packages):
    if not shutil.which('apt-get'):
        base.give_up('this is not Debian; install these yourself, then try again: '
                     + ' '.join(packages))
    attempt.need_root('install Debian packages')
    base.say('installing %d Debian packages: %s' % (len(packages), ' '.join(packages)))
    update_lists()
    say_what_is_fetched(packages)
    attempt.must('env', 'DEBIAN_FRONTEND=noninteractive', *APT_GET, 'install', '-y',
                 '--no-install-recommends', *packages, as_root=True)


def say_what_is_fetched(packages):
    """With all that these need. apt-get itself says it only once it has begun."""
    asked = subprocess.run([*APT_GET, 'install', '--print-uris', '-qq', '-y',
                            '--no-install-recommends', *packages],
                           stdout=subprocess.PIPE, text=True)
    # 'ADDRESS' FILE BYTES HASH
    sizes = [int(line.split()[2]) for line in asked.stdout.splitlines() if line.startswith("'")]
    if sizes:
        base.say('with what they need they are %d packages, %d MB to fetch'
                 % (len(sizes), round(sum(sizes) / 1e6)))


@functools.cache
def update_lists():
    """Once is enough. apt-get waits for others at the lock of dpkg, but not for the lists."""
    command = [*APT_GET, 'update']
    limit = time.monotonic() + LISTS_SECONDS_MAX
    while attempt.attempt(*command, as_root=True) != 0:
        if 'Could not get lock' not in attempt.log() or time.monotonic() > limit:
            attempt.give_up_about(['apt-get', 'update'])
        base.say('another program fetches package lists; waiting for it')
        time.sleep(LISTS_SECONDS)


# ---- packages of other registries ----

def python(name, requirements, size=''):
    """A virtual environment build/NAME with what that file in setup/ lists. `size`: of that."""
    place = os.path.join(base.BUILD, name)
    wanted, done = os.path.join(base.SETUP, requirements), os.path.join(place, 'installed.txt')
    with open(wanted, encoding='utf-8') as file:
        packages = ' '.join(file.read().split())

    def step():
        shutil.rmtree(place, ignore_errors=True)
        attempt.must(sys.executable, '-m', 'venv', place)
        attempt.must(os.path.join(place, 'bin', 'pip'), 'install', '--disable-pip-version-check',
                     '-r', wanted)
        shutil.copyfile(wanted, done)
    once(wanted, done,
         'installing Python packages into build/%s%s: %s' % (name, size, packages), step)


def drivers():
    """The Python of the scripts in perf/, and of most parts of the tests."""
    python('venv', 'python.txt', ', 44 MB to fetch')


def npm(name, *options):
    """build/NAME/node_modules from the lock file in setup/NAME."""
    source, place = os.path.join(base.SETUP, name), os.path.join(base.BUILD, name)
    wanted, done = os.path.join(source, 'package-lock.json'), os.path.join(place, 'installed.json')

    def step():
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for file in ('package.json', 'package-lock.json'):
            shutil.copy(os.path.join(source, file), place)
        attempt.must('npm', 'ci', '--prefix', place, '--ignore-scripts', '--no-audit', '--no-fund',
                     *options)
        shutil.copyfile(wanted, done)
    once(wanted, done, 'installing %s with npm into build/%s' % (name, name), step)


def maven(name):
    """build/NAME/lib with what setup/NAME/pom.xml names, and what that needs."""
    wanted, place = os.path.join(base.SETUP, name, 'pom.xml'), os.path.join(base.BUILD, name)
    done = os.path.join(place, 'installed.xml')

    def step():
        shutil.rmtree(place, ignore_errors=True)
        attempt.must('mvn', '--quiet', '--batch-mode', '--file', wanted,
                     'dependency:copy-dependencies',
                     '-DoutputDirectory=' + os.path.join(place, 'lib'))
        shutil.copyfile(wanted, done)
    once(wanted, done, 'installing %s with mvn into build/%s' % (name, name), step)
