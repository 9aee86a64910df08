#!/usr/bin/env python3
"""Question: are durable inserts quicker here than in PostgreSQL and MariaDB, on this machine, now?

Round after round in turn, with the disk alone before and after each cell: each server with 1, 8 and
64 clients on one table of some 200 bytes a row with a primary key, every insert durable before it
is acknowledged, all over a Unix socket, driven by the C client that comes with the server:
load_client, pgbench, mariadb-slap. What is not installed is left out, and said so.
Usage:    peers.py [--seconds 3] [--rounds 3]         (./lab bench peers builds what it needs)
          Ctrl-C ends it with what is measured so far.
Needs:    postgresql-15 and mariadb-server (Debian), which are not installed for this; no service of
          theirs is used or touched: each gets a data directory of its own under build/scratch.
Settings: the servers' defaults, which are durable (synchronous_commit and fsync on;
          innodb_flush_log_at_trx_commit=1), no binary log; 256 MB of buffers; direct I/O for
          InnoDB. conf/durable.yaml for mongod.
Not for:  anything else that these servers do; the rates of ./lab run, which are over TCP. Takes
          two minutes.
"""

import argparse
import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.parse

import cells
import ladder
import machine
import measuring

import server

TEXT = 'x' * 170  # with keys and headers some 200 bytes a row
EXIT_INTERRUPTED = 130
STARTING_SECONDS_MAX = 60  # only ends a start that hangs
SLAP_SECONDS_MIN = 1e-3  # what mariadb-slap counts in


def program(name, *folders):
    """The path of a program, or None."""
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ['PATH'], '/usr/sbin']))


def as_user(name):
    """Keyword arguments of a process for a server that refuses to run as root."""
    return {'user': name, 'group': pwd.getpwnam(name).pw_gid} if os.getuid() == 0 else {}


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True, **options).stdout


def wait_until_up(process, check):
    limit = time.monotonic() + STARTING_SECONDS_MAX
    while subprocess.run(check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError('%s does not come up' % process.args[0])
        time.sleep(0.05)


@contextlib.contextmanager
def running(command, check, log, **options):
    """A server process until the end of the block."""
    with open(log, 'w', encoding='utf-8') as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, **options)
    try:
        wait_until_up(process, check)
        yield
    finally:
        process.terminate()
        process.wait()


class Peer:
    """One server that is compared. `programs` are what it needs; None for what is not there."""

    user = None  # of a server that refuses to run as root

    def __init__(self, data, programs):
        self.data, self.programs = data, programs
        self.sockets = None  # while it runs

    def missing(self):
        return ', '.join(name for name, path in self.programs.items() if not path)

    @contextlib.contextmanager
    def folders(self):
        """A data directory, and one for sockets, whose path must be short; the server's own."""
        with tempfile.TemporaryDirectory(prefix='peers-') as self.sockets:
            os.chmod(self.sockets, 0o755)
            os.makedirs(self.data)
            if self.user and os.getuid() == 0:
                shutil.chown(self.sockets, self.user)
                shutil.chown(self.data, self.user)
            yield


class Mongod(Peer):
    name = 'mongod-dur, durable.yaml'

    def __init__(self, folder):
        program_path = os.path.join(measuring.TOP, 'build', 'all', 'bin', 'mongod')
        super().__init__(os.path.join(folder, 'mongod'),
                         {program_path: os.path.exists(program_path) and program_path})
        self.tools = measuring.Bench(os.path.join(measuring.TOP, 'build', 'none', 'bin'), folder, 0,
                                   0.3)
        self.uri = None

    @contextlib.contextmanager
    def serve(self):
        with self.folders(), server.Server(
                *self.programs, self.data, measuring.COMMON + measuring.PROFILE
                + ['--unixSocketPrefix', self.sockets]) as mongod:
            self.uri = socket_uri(self.sockets, mongod.port)
            yield

    def insert(self, clients, seconds):
        self.tools.seconds = seconds
        return self.tools.load(self.uri, clients)['per_second']


class PostgreSQL(Peer):
    name = 'PostgreSQL'
    user = 'postgres'

    def __init__(self, folder):
        bins = sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1:]
        super().__init__(os.path.join(folder, 'postgresql'),
                         {name: program(name, *bins)
                          for name in ('initdb', 'postgres', 'pgbench', 'psql')})

    def client(self, name):
        return [self.programs[name], '-h', self.sockets, '-U', 'postgres']

    @contextlib.contextmanager
    def serve(self):
        user = as_user(self.user)
        with self.folders():
            run([self.programs['initdb'], '-D', self.data, '-A', 'trust', '-U', 'postgres'],
                cwd=self.sockets, **user)
            query = self.client('psql') + ['-q', '-c']
            with running([self.programs['postgres'], '-D', self.data, '-k', self.sockets, '-h', '',
                          '-c', 'shared_buffers=256MB', '-c', 'max_connections=100'],
                         query + ['select 1'], self.sockets + '/log', cwd=self.sockets, **user):
                run(query + ['create table load (id bigserial primary key, text text)'])
                with open(self.sockets + '/insert.sql', 'w', encoding='utf-8') as file:
                    file.write("insert into load (text) values ('%s');\n" % TEXT)
                yield

    def insert(self, clients, seconds):
        return pgbench_rate(run(self.client('pgbench') + [
            '-n', '-M', 'prepared', '-f', self.sockets + '/insert.sql', '-c', str(clients),
            '-j', '2' if clients > 1 else '1', '-T', str(max(1, round(seconds))), 'postgres']))


class MariaDB(Peer):
    name = 'MariaDB InnoDB'
    user = 'mysql'

    def __init__(self, folder):
        super().__init__(os.path.join(folder, 'mariadb'),
                         {name: program(name) for name in
                          ('mariadb-install-db', 'mariadbd', 'mariadb-slap', 'mariadb-admin',
                           'mariadb')})
        self.rates = {}

    def client(self, name):
        return [self.programs[name], '--no-defaults', '--socket', self.sockets + '/socket',
                '--user', 'root']

    @contextlib.contextmanager
    def serve(self):
        user = as_user(self.user)
        with self.folders():
            run([self.programs['mariadb-install-db'], '--no-defaults', '--datadir=' + self.data,
                 '--auth-root-authentication-method=normal', '--skip-test-db'], cwd=self.sockets,
                **user)
            with running([self.programs['mariadbd'], '--no-defaults', '--datadir=' + self.data,
                          '--socket', self.sockets + '/socket', '--skip-networking',
                          '--innodb-flush-log-at-trx-commit=1', '--innodb-flush-method=O_DIRECT',
                          '--innodb-buffer-pool-size=256M', '--max-connections=100'],
                         self.client('mariadb-admin') + ['ping'], self.sockets + '/log',
                         cwd=self.sockets, **user):
                run(self.client('mariadb') + ['-e', 'create database perf; create table perf.load_ '
                    '(id bigint auto_increment primary key, text varchar(200)) engine=innodb'])
                yield

    def slap(self, clients, inserts):
        """Inserts a second. mariadb-slap counts inserts, not seconds."""
        return inserts / slap_seconds(run(self.client('mariadb-slap') + [
            '--create-schema=perf', '--no-drop', '--csv',
            "--query=insert into load_ (text) values ('%s')" % TEXT,
            '--concurrency=%d' % clients, '--number-of-queries=%d' % inserts]))

    def insert(self, clients, seconds):
        if clients not in self.rates:  # how many are some tenths of a second
            self.rates[clients] = self.slap(clients, clients * 200)
        inserts = max(clients, round(self.rates[clients] * seconds / clients) * clients)
        self.rates[clients] = self.slap(clients, inserts)
        return self.rates[clients]


def socket_uri(folder, port):
    """The address of a mongod's Unix socket for the driver."""
    path = os.path.join(folder, 'mongodb-%d.sock' % port)
    return 'mongodb://%s/?directConnection=true' % urllib.parse.quote(path, safe='')


def pgbench_rate(out):
    """Inserts a second, from what pgbench prints: "tps = 4221.5 (without initial ...)"."""
    found = re.search(r'^tps = ([\d.]+)', out, re.M)
    if not found:
        raise RuntimeError('pgbench printed no line "tps = ...":\n' + out)
    return float(found[1])


def slap_seconds(out):
    """Seconds, from what mariadb-slap --csv prints: engine, kind of load, average, shortest,
    longest, clients, queries per client."""
    found = re.search(r'^[^,\n]*,[^,\n]*,([\d.]+),[\d.]+,[\d.]+,\d+,\d+$', out, re.M)
    if not found:
        raise RuntimeError('mariadb-slap printed no line of figures:\n' + out)
    return max(float(found[1]), SLAP_SECONDS_MIN)


def installed(folder):
    """The peers that can run here; the others are named."""
    for peer in (Mongod(folder), PostgreSQL(folder), MariaDB(folder)):
        if peer.missing():
            measuring.say('left out: %s (%s not found)' % (peer.name, peer.missing()))
        else:
            yield peer


def table(result):
    floors = result['floors']
    lines = textwrap.wrap(machine.quiet_text(result), 100)
    if 'stopped' in result:
        lines.append('It was ended before its end: %s.' % result['stopped'])
    lines += ['The disk alone, beside each cell: %.0f durable 4 KB overwrites/s (%.0f..%.0f).'
              % (statistics.median(floors), min(floors), max(floors)),
              'Durable inserts/s, median (min..max):', '']
    clients = next(iter(result['servers'].values()))
    lines.append('%-28s' % 'clients' + ''.join('%-22s' % number for number in clients))
    for name, rates_of in result['servers'].items():
        lines.append('%-28s' % name + ''.join(
            '%-22s' % ('%.0f (%.0f..%.0f)' % (statistics.median(rates), min(rates), max(rates))
                       if rates else '') for rates in rates_of.values()))
    return '\n'.join(line.rstrip() for line in lines)


def measure(arguments, folder):
    """The result; usable as far as it got when it was interrupted (`stopped`)."""
    tools = measuring.Bench(os.path.join(measuring.TOP, 'build', 'none', 'bin'), folder,
                            arguments.seconds)
    result = {'host': machine.host(folder), 'servers': {}, 'floors': [], 'idle': [],
              'load': machine.load_average(), 'device': machine.device_of(folder)}
    moved, watch = [], machine.Watch(folder)

    def floor():
        result['floors'].append(tools.floor_now(ladder.FLOOR_SECONDS)['per_second'])
        return result['floors'][-1]
    try:
        measuring.say('measuring the disk alone')
        result['floor'] = tools.floor()
        result['idle'].append(machine.idle_watch(folder, ladder.IDLE_SECONDS))
        with contextlib.ExitStack() as stack:
            peers = list(installed(folder))
            for peer in peers:
                measuring.say('starting ' + peer.name)
                stack.enter_context(peer.serve())
                result['servers'][peer.name] = {number: [] for number in arguments.clients}
            steps = len(arguments.clients) * arguments.rounds * len(peers)
            progress = measuring.Progress(steps * (arguments.seconds + 1), steps)
            before = floor()
            for number in arguments.clients:
                for turn in range(arguments.rounds):
                    for peer in peers:
                        progress.step('%s, %d clients, round %d' % (peer.name, number, turn + 1))
                        result['servers'][peer.name][number].append(
                            peer.insert(number, arguments.seconds))
                        after = floor()
                        moved.append(cells.has_moved({'floor_before': before,
                                                      'floor_after': after}))
                        before = after
        result['idle'].append(machine.idle_watch(folder, ladder.IDLE_SECONDS))
    except KeyboardInterrupt:
        result['stopped'] = 'interrupted'
    result.update(steal=watch.end()['steal'], floors_moved=sum(moved) / max(1, len(moved)))
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=measuring.seconds, default=3)
    parser.add_argument('--rounds', type=measuring.count, default=3)
    parser.add_argument('--clients', type=measuring.clients, default=[1, 8, 64])
    arguments = parser.parse_args()
    measuring.interruptible()
    scratch = os.path.join(measuring.TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='peers-', dir=scratch) as folder:
        os.chmod(folder, 0o755)
        result = measure(arguments, folder)
    if not any(rates for each in result['servers'].values() for rates in each.values()):
        sys.exit('peers.py: interrupted before anything was measured' if 'stopped' in result else
                 'peers.py: nothing is installed here that could be measured')
    print(table(result))
    results = os.path.join(measuring.TOP, 'build', 'results')
    os.makedirs(results, exist_ok=True)
    path = os.path.join(results, 'peers-%s.json' % time.strftime('%Y%m%dT%H%M%S'))
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
    print('\nThe figures are in ' + os.path.relpath(path, measuring.TOP))
    if 'stopped' in result:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == '__main__':
    main()
