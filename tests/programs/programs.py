"""The programs that tests/programs/run.py runs: where each comes from, and how."""

import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, 'tests', 'programs')
BUILD = os.path.join(TOP, 'build')
SOURCES = os.path.join(BUILD, 'programs')
PYTHON = os.path.join(BUILD, 'venv-programs', 'bin', 'python')
OF_MAPPERS = os.path.join(BUILD, 'venv-mappers', 'bin', 'python')
NODE = os.environ.get('MONGOSH_NODE', 'node')
RUN_SECONDS_MAX = 1800  # only ends a program that hangs
# For programs that refuse a server of 2.6.
OF_TODAY = ['--setParameter', 'announcedVersion=8.0.0']
OF_A_SET = ['--replSet', 'rs0', '--oplogSize', '64', '--storageEngine', 'wiredTiger', *OF_TODAY]
OWN_LINE = re.compile(r'^(ok|FAIL): (.+)$', re.M)

OWN = 'its own'
OURS = 'ours'


def sources_of(package):
    """The unpacked source package of Python's registry, which has the tests."""
    name, version = package.split('==')
    place = os.path.join(SOURCES, '%s-%s' % (name, version))
    if os.path.isdir(place):
        return place
    os.makedirs(SOURCES, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SOURCES) as folder:
        subprocess.run([PYTHON, '-m', 'pip', 'download', '--quiet', '--no-deps',
                        '--disable-pip-version-check', '--no-binary', ':all:', '-d', folder,
                        package], check=True)
        archive, = glob.glob(os.path.join(folder, '*.tar.gz'))
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter='data')
        unpacked, = (path for path in glob.glob(os.path.join(folder, '*')) if os.path.isdir(path))
        shutil.move(unpacked, place)
    return place


def call(command, place, port, **environment):
    """What it prints. Of our environment it has what finds programs and caches: suites test what
    drivers tell of theirs."""
    kept = {name: os.environ[name] for name in ('PATH', 'HOME', 'LANG') if name in os.environ}
    try:
        return subprocess.run(
            command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors='replace',
            timeout=RUN_SECONDS_MAX,
            env=dict(kept, MONGOD_URI='mongodb://127.0.0.1:%d/' % port, PYTHONPATH=HERE,
                     MONGOD=os.environ['MONGOD'], **environment)).stdout
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b'').decode(errors='replace') + '\nit hangs'


class Program:
    """package: with its version. limit: failures at most. target: what the limit is to become.
    port: None for any."""

    tests = OURS

    def __init__(self, package, limit=0, target=0, port=None, options=()):
        self.package, self.limit, self.target, self.port = package, limit, target, port
        self.options = list(options)

    def run(self, port, report):
        """Runs it; `report` is a path for a file that it may write. Returns ({test: passed, failed
        or skipped}, what was printed)."""
        raise NotImplementedError


class Pytest(Program):
    """A suite of pytest in a source package of Python's registry."""

    tests = OWN

    def __init__(self, package, paths, *arguments, **options):
        super().__init__(package, **options)
        self.paths, self.arguments = paths, list(arguments)

    def run(self, port, report):
        output = call([PYTHON, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--timeout', '120',
                       '--continue-on-collection-errors', '--junitxml', report, '--tb', 'short',
                       *self.arguments, *self.paths], sources_of(self.package), port)
        return (outcomes(report) if os.path.exists(report) else {}), output


def outcomes(report):
    """Of a suite's report; a test whose end fails counts once."""
    found = {}
    for case in ElementTree.parse(report).iter('testcase'):
        test = '%s.%s' % (case.get('classname'), case.get('name').split('[')[0])
        kinds = {child.tag for child in case}
        outcome = 'failed' if kinds & {'failure', 'error'} else \
            'skipped' if 'skipped' in kinds else 'passed'
        if found.get(test) != 'failed':
            found[test] = outcome
    return found


class Django(Program):
    """The suite of a database of Django's, by django_suite.py."""

    tests = OWN

    def run(self, port, report):
        place = os.path.join(sources_of(self.package), 'tests')
        output = call([PYTHON, os.path.join(HERE, 'django_suite.py'), place, report], place, port)
        if not os.path.exists(report):
            return {}, output
        with open(report, encoding='utf-8') as file:
            return json.load(file), output


class Ours(Program):
    """A program of ours, which prints a line for each of its checks."""

    def __init__(self, package, command, **options):
        super().__init__(package, **options)
        self.command = command

    def run(self, port, report):
        return self.checks(call(self.command, os.path.dirname(report), port))

    @staticmethod
    def checks(output):
        return {name: 'passed' if word == 'ok' else 'failed'
                for word, name in OWN_LINE.findall(output)}, output


class Spring(Ours):
    """The program in Java, compiled against what setup/spring/pom.xml names."""

    def __init__(self, package, **options):
        super().__init__(package, ['java', '-cp', 'out:lib/*', 'Program'], **options)
        self.place = os.path.join(BUILD, 'spring')

    def run(self, port, report):
        subprocess.run(['javac', '-parameters', '-d', 'out', '-cp', 'lib/*',
                        own('spring/Program.java')], cwd=self.place, check=True)
        return self.checks(call(self.command, self.place, port))


def own(name):
    return os.path.join(HERE, name)


PROGRAMS = {
    # Of 5.0: with a server that calls itself older, the suite expects refusals of what is here.
    'pymongo': Pytest('pymongo==4.20.0', ['test'], '-m', 'default', limit=12, target=12,
                      port=27017, options=['--setParameter', 'announcedVersion=5.0.31']),
    'mongoengine': Pytest('mongoengine==0.29.3', ['tests'], port=27017),
    'pymongo-transactions': Pytest(
        'pymongo==4.20.0', ['test/test_transactions.py', 'test/test_transactions_unified.py'],
        '-m', 'default', limit=6, target=6, port=27017, options=OF_A_SET),
    'limits': Pytest('limits==5.8.0', ['tests'], '-p', 'no_docker', '-o', 'addopts=', '-m',
                     'mongodb and not benchmark', port=37017),
    'django-mongodb-backend': Django('django-mongodb-backend==5.2.4', limit=2, options=OF_TODAY),
    'django-migrate': Ours('django-mongodb-backend==5.2.4', [PYTHON, own('django_migrate.py')],
                           options=OF_TODAY),
    'payload': Ours('@payloadcms/db-mongodb 3.90.2', [NODE, own('node/payload.js')]),
    'families': Ours('mongoose 9.12.1, @payloadcms/db-mongodb 3.90.2', [
        NODE, own('node/families.js')], options=['--scripting']),
    'librechat': Ours('@librechat/data-schemas 0.0.71', [NODE, own('node/librechat.js')]),
    'nodebb': Ours('mongodb 7.8.0', [NODE, own('node/nodebb.js')]),
    'spring-data': Spring('spring-data-mongodb 5.1.2'),
    'spring-transactions': Spring('spring-data-mongodb 5.1.2', options=OF_A_SET),
    'debezium': Ours('debezium-connector-mongodb 3.6.1', [NODE, own('node/debezium.js')]),
    'socket.io': Ours('@socket.io/mongo-adapter 0.4.0', [NODE, own('node/socket_io.js')]),
    'transactions': Ours('mongodb 7.8.0, mongoose 9.12.1, @mikro-orm/mongodb 6.6.7, better-auth '
                         '1.7.25', [NODE, own('node/transactions.js')]),
    'mappers-transactions': Ours('beanie 2.2.0, odmantic 1.1.0', [
        OF_MAPPERS, own('mappers_transactions.py')], options=OF_A_SET),
    'causal': Ours('mongodb, mongo-driver, mongodb-driver-sync', [NODE, own('node/causal.js')]),
}
