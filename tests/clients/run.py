"""Drives servers with real clients: drivers of today and of old, and applications from registries.

Every client is a program that finds its server in the environment (MONGOD_URI, MONGOD_PORT) and
says how many of its checks passed. It gets a server of its own, which must then stop cleanly and
leave a directory that dbpath_check finds whole."""

import concurrent.futures
import contextlib
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import secured  # noqa: E402
import server  # noqa: E402

BUILD = os.path.join(TOP, 'build')
SCRATCH = os.path.join(BUILD, 'scratch')
GO_PROGRAMS = os.path.join(BUILD, 'go-clients')
PROGRAMS = {
    **{name: os.path.join(BUILD, folder, 'bin', 'python') for name, folder in (
        ('python', 'venv'), ('mappers_python', 'venv-mappers'), ('old_python', 'venv-old-driver'))},
    'go': GO_PROGRAMS, 'node': os.environ.get('MONGOSH_NODE', 'node'),
    'mongosh': os.environ.get('MONGOSH_MAIN', os.path.join(
        BUILD, 'mongosh/node_modules/mongosh/bin/mongosh.js'))}
AT_ONCE = 3  # clients; some mostly wait
CLIENT_SECONDS_MAX = 300  # only ends a client that hangs

OF_SET_SUFFIX = '_of_set'
OF_SET = ['--replSet', 'rs0', '--oplogSize', '8']


def read_clients():
    """({name: command}, {name: further options of its server}, names with a login) of clients.txt;
    one that is for both kinds of servers has a second name."""
    commands, options, secured = {}, {}, []
    with open(os.path.join(TOP, 'tests', 'clients', 'clients.txt'), encoding='utf-8') as file:
        for line in file:
            if line.startswith('#') or not line.strip():
                continue
            name, kind, login, command = (field.strip() for field in line.split('|'))
            secured += [name] * (login == 'secured')
            commands[name] = command.split()
            if kind != 'alone':
                of_set = name + OF_SET_SUFFIX * (kind == 'both')
                commands[of_set], options[of_set] = commands[name], OF_SET
    return commands, options, secured


CLIENTS, OPTIONS, SECURED = read_clients()
BUILT = ['mongod', 'dbpath_check', 'load_client', 'client_libmongoc', 'client_libmongoclient']

# binary: (folder under tests/clients/go/, file that names the versions, oldest Go that compiles it)
GO = {
    'go_v1': ('v1', 'go.mod', (1, 18)),
    'go_v2': ('v2', 'go.mod', (1, 18)),
    'go_v2_newest': ('v2', 'newest.mod', (1, 25)),
    'mgo': ('mgo', 'go.mod', (1, 18)),
}

GO_VERDICT = re.compile(r'^--- (PASS|FAIL|SKIP): ', re.M)
CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$', re.M)


def go_version():
    text = subprocess.run(['go', 'env', 'GOVERSION'], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return tuple(int(number) for number in re.findall(r'\d+', text)[:2])


def build_go(names, folder):
    """Compiles the Go clients among `names`; returns those that this Go is too old for."""
    too_old = []
    names = {name.removesuffix(OF_SET_SUFFIX) for name in names}
    version = go_version() if names & set(GO) else None
    for name in sorted(names):
        module, mod_file, oldest = GO.get(name, (None, None, None))
        if module and version < oldest:
            too_old.append(name)
        elif module:
            print('compile tests/clients/go/%s with %s' % (module, mod_file), flush=True)
            with go_sources(module) as sources:
                subprocess.run(['go', 'test', '-c', '-modfile=' + mod_file,
                                '-o', os.path.join(folder, name), '.'], cwd=sources, check=True,
                               env=dict(os.environ, GOTOOLCHAIN='local', GOFLAGS='-mod=readonly'))
    return too_old


@contextlib.contextmanager
def go_sources(module):
    """A folder with the module, and with the cases that versions 1 and 2 of the driver share."""
    folder = os.path.join(TOP, 'tests', 'clients', 'go')
    if not os.path.exists(os.path.join(folder, module, 'version_test.go')):
        yield os.path.join(folder, module)
        return
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix='go-') as scratch:
        sources = os.path.join(scratch, module)
        shutil.copytree(os.path.join(folder, module), sources)
        cases = pathlib.Path(os.path.join(folder, 'cases_test.go')).read_text('utf-8')
        if module == 'v2':
            cases = cases.replace('"go.mongodb.org/mongo-driver/',
                                  '"go.mongodb.org/mongo-driver/v2/')
        pathlib.Path(os.path.join(sources, 'cases_test.go')).write_text(cases, 'utf-8')
        yield sources


def counts_of(output):
    """(passed, failed, skipped) of a client's closing line, or of what a Go test prints."""
    closing = CLOSING_LINE.findall(output)
    if closing:
        return tuple(int(number or 0) for number in closing[-1])
    verdicts = GO_VERDICT.findall(output)
    return tuple(verdicts.count(word) for word in ('PASS', 'FAIL', 'SKIP'))


def initiate(mongod):
    """Makes the server the primary of its set; returns the URI that asks for the set."""
    host = '127.0.0.1:%d' % mongod.port
    with pymongo.MongoClient(mongod.uri) as client:
        client.admin.command('replSetInitiate',
                             {'_id': 'rs0', 'members': [{'_id': 0, 'host': host}]})
    return 'mongodb://%s/?replicaSet=rs0' % host


def numbered_writes(mongod):
    """How many entries of the set's log are of writes that their client may send again."""
    with pymongo.MongoClient(mongod.uri) as client:
        return client.local['oplog.rs'].count_documents({'txnNumber': {'$exists': True}})


def run_client(name, programs, folder, kind):
    """Runs one client against a fresh server; returns (passed, failed, skipped), and a report."""
    command = [word.format(bin=programs, **PROGRAMS) for word in CLIENTS[name]]
    of_set = name.endswith(OF_SET_SUFFIX)
    if name.removesuffix(OF_SET_SUFFIX) in GO:
        command.append('-test.v')
    dbpath = os.path.join(folder, name)
    started = time.monotonic()
    options = ['--smallfiles'] + OPTIONS.get(name, [])
    with kind(os.path.join(programs, 'mongod'), dbpath, options) as mongod:
        uri = initiate(mongod) if of_set else mongod.uri
        environment = dict(os.environ, MONGOD_URI=uri, MONGOD_PORT=str(mongod.port),
                           MONGOD_SCRATCH=os.path.join(folder, name + '.scratch'))
        os.makedirs(environment['MONGOD_SCRATCH'])
        try:
            run = subprocess.run(command, cwd=TOP, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors='replace', timeout=CLIENT_SECONDS_MAX)
            output, code = run.stdout, run.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b'').decode(errors='replace'), 'time-out'
        if of_set and code == 0 and numbered_writes(mongod) == 0:
            code = 'no numbered write'
    passed, failed, skipped = counts_of(output)
    if code != 0 and not failed:
        failed = 1
    report = []
    if failed or not passed:
        failed = failed or 1
        report.append('%s\nFAIL %s: %s ended with %s; server log:\n%s'
                      % (output, name, ' '.join(command), code, mongod.tail()))
    if glob.glob(os.path.join(dbpath, '*.ns')):  # some clients drop all that they made
        check = subprocess.run([os.path.join(programs, 'dbpath_check'), dbpath],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check.returncode != 0:
            report.append('FAIL %s: the directory that it left is damaged:\n%s'
                          % (name, check.stdout))
            failed += 1
    report.append('%-24s %d passed, %d failed, %d skipped, %.1f s'
                  % (name + ':', passed, failed, skipped, time.monotonic() - started))
    return (passed, failed, skipped), '\n'.join(report)


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--secured', action='store_true',
                        help='they log in over TLS; those that can: ' + ' '.join(SECURED))
    parser.add_argument('names', nargs='*', metavar='NAME',
                        help='clients to run; all when none is named: ' + ' '.join(CLIENTS))
    arguments = parser.parse_args()
    names = choice.exactly(arguments.names, SECURED if arguments.secured else CLIENTS, 'client')
    os.makedirs(SCRATCH, exist_ok=True)
    programs = os.path.join(server.build(arguments.selection, arguments.sanitize, BUILT), 'bin')
    folder = tempfile.mkdtemp(dir=SCRATCH, prefix='clients-')
    kind = secured.TlsServer if arguments.secured else server.Server
    os.makedirs(GO_PROGRAMS, exist_ok=True)
    too_old = build_go(names, GO_PROGRAMS)
    counts = [(0, 0, len(too_old))]
    for name in too_old:
        print('skipped %s: it wants Go %d.%d or newer' % (name, *GO[name][2]))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for count, report in pool.map(lambda name: run_client(name, programs, folder, kind),
                                      [name for name in names
                                       if name.removesuffix(OF_SET_SUFFIX) not in too_old]):
            counts.append(count)
            print(report, flush=True)
    totals = [sum(column) for column in zip(*counts)]
    if totals[1]:
        print('logs and data are in %s' % os.path.relpath(folder, TOP))
    else:
        shutil.rmtree(folder)
    print('%d passed, %d failed' % tuple(totals[:2])
          + (', %d skipped' % totals[2] if totals[2] else ''))
    sys.exit(1 if totals[1] else 0)


if __name__ == '__main__':
    main()
