#!/usr/bin/env python3
"""Question: are durable inserts quicker here than in other engines, on this machine, now?

Round after round in turn, with the disk alone before and after each cell: each engine with 1, 8 and
64 clients on one table of some 200 bytes a row with a primary key, every insert durable before it
is acknowledged. Servers are asked over a Unix socket by the C client that comes with them;
libraries (marked "in process") run inside ours, with threads as clients, so that they pay for no
socket and no protocol. What is not installed is left out, and said so. How often each one syncs for
an insert of a lone client is counted by strace first: that proves the settings.
Usage:    compare.py [--seconds 2] [--rounds 5] [--only NAME,...] [--uri mongodb://...]
          compare.py --odbc 'SQL Server=Driver=FreeTDS;Server=db;Port=1433;UID=sa;PWD=...'
                                           a database that runs already, by its ODBC driver
          compare.py --device-delay 8      on a disk whose flushes take 8 ms longer
          (./lab bench peers builds what it needs; --install first installs the others' packages)
          Ctrl-C ends it with what is measured so far.
Needs:    any of postgresql-15, mariadb-server, mariadb-plugin-rocksdb, libsqlite3-dev, liblmdb-dev,
          librocksdb-dev, libwiredtiger-dev (Debian), FerretDB (its Go module); no service of
          theirs is used or touched: each gets a data directory of its own under build/scratch.
          strace.
Settings: the table names them; peers/ has a file for each kind. conf/durable.yaml for mongod.
          What --uri or --odbc names is as durable as it is set; of --odbc the table mongod_dur_load
          is made anew and dropped.
Not for:  anything else that these engines do; the rates of ./lab run, which are over TCP."""

import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys

import any_server
import claims
import experiment
import halts
import measuring

import peers
import peers.mongod
import peers.odbc
import peers.syncs

TRACED_SECONDS = 0.5


def by_odbc(folder, databases):
    """The peers that --odbc names."""
    return [peers.odbc.ODBC(folder, name, connection) for name, connection in databases]


def installed(every, only=(), always=()):
    """Those that are asked for and can run here; the others are named."""
    measuring.check_only(only, [peer.name for peer in every])
    for peer in every:
        if only and peer not in always and not any(word.lower() in peer.name.lower()
                                                   for word in only):
            continue
        if peer.missing():
            measuring.say('left out: %s (%s not found%s)' % (
                peer.name, peer.missing(), '; ' + peer.hint() if peer.hint() else ''))
        else:
            yield peer


def chosen_of(folder, arguments):
    every, named = peers.every(folder), by_odbc(folder, arguments.odbc)
    if arguments.uri:
        every.insert(1, peers.mongod.AnyMongod(folder, arguments.uri))
    return list(installed(every + named, arguments.only, named))


def install(databases):
    """What the peers need, by name."""
    packages = {peer.package for peer in peers.every('unused') if peer.package and peer.missing()}
    for peer in by_odbc('unused', databases):
        packages.update(peer.packages())
    install_packages(packages, 'compare.py')
    for peer in peers.every('unused'):
        peer.install()


def install_packages(packages, script):
    packages = sorted(packages)
    if not packages:
        return
    if os.getuid() != 0 and not shutil.which('sudo'):
        sys.exit('%s: installing %s needs root or sudo' % (script, ' '.join(packages)))
    sudo = [] if os.getuid() == 0 else ['sudo']
    # Services that a package would start stay off: each peer has a server of its own.
    environment = dict(os.environ, DEBIAN_FRONTEND='noninteractive', RUNLEVEL='1')
    done = subprocess.run(sudo + ['apt-get', 'install', '-y', '--no-install-recommends']
                          + packages, env=environment, stdout=sys.stderr)
    if done.returncode != 0:
        sys.exit('%s: apt-get could not install %s' % (script, ' '.join(packages)))


def trees(pids):
    return [below for pid in pids for below in peers.syncs.tree(pid)]


def signal_all(number, pids):
    """To processes and all below them, as far as they are still there."""
    for each in trees(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


@contextlib.contextmanager
def turn_of(pids):
    """They go on, and stand still behind it: what they do on the side falls into their own turns,
    and no other contender's."""
    signal_all(signal.SIGCONT, pids)
    try:
        yield
    finally:
        signal_all(signal.SIGSTOP, pids)


def cpu_seconds(*pids):
    """Of processes, all below them, and all that they have waited for."""
    total = 0
    for each in trees(pids):
        # One that ends in between cannot be opened, or not be read.
        # One that ends at that moment cannot be opened, or not be read.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open('/proc/%d/stat' % each, encoding='ascii') as file:
            fields = file.read().rsplit(')', 1)[1].split()
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf('SC_CLK_TCK')


def seconds_of_ended():
    """Of our own processes that have ended, as clients have."""
    return sum(os.times()[2:4])


def measure_cell(peer, clients, seconds):
    """One run; with the engine's processor time for an insert, in us, where it is known."""
    pids = peer.pids()
    before, clients_before = cpu_seconds(*pids), seconds_of_ended()
    run = peer.insert(clients, seconds)
    if pids:
        run['cpu_seconds'] = cpu_seconds(*pids) - before
        run['client_cpu_us'] = ((seconds_of_ended() - clients_before) * 1e6
                                / max(1, run['inserts']))
    if 'cpu_seconds' in run:
        run['cpu_us'] = run['cpu_seconds'] * 1e6 / max(1, run['inserts'])
    return run


def measure_in_turns(trial, rows, chosen, arguments, row_of, cell=None):
    """Each of `chosen` has its turn in each round with each number of clients; cell(peer, clients)
    makes a run. Runs go into `rows`, by their names, to what row_of(peer) says once it serves."""
    with contextlib.ExitStack() as stack:
        for peer in chosen:
            measuring.say('starting %s' % peer.name)
            stack.enter_context(peer.serve())
            rows[peer.name] = {**row_of(peer), 'runs': {number: [] for number in arguments.clients}}
        measure_rounds(trial, rows, chosen, arguments, cell or (
            lambda peer, clients: measure_cell(peer, clients, arguments.seconds)))


def measure_rounds(trial, rows, chosen, arguments, cell):
    def in_turn():
        with turn_of(peer.pids()):
            return cell(peer, number)
    steps = len(arguments.clients) * arguments.rounds * len(chosen)
    progress = measuring.Progress(steps * (arguments.seconds + 0.5), max(1, steps))
    every = [pid for peer in chosen for pid in peer.pids()]
    signal_all(signal.SIGSTOP, every)
    try:
        for number in arguments.clients:
            for turn, peer in trial.rounds(arguments.rounds, chosen):
                progress.step('%s, %s, round %d of %d' % (
                    peer.name, experiment.plural(number, 'client'), turn + 1, arguments.rounds))
                rows[peer.name]['runs'][number].append(trial.cell(in_turn))
    finally:
        signal_all(signal.SIGCONT, every)


def table(result):
    lines = experiment.head(result) + halts.lines(result, experiment.WIDTH)
    lines += ["Durable inserts/s, median (min..max), and below CPU us for each: the engine's, and "
              "its client's:", '']
    clients = next(iter(result['peers'].values()))['runs']
    lines.append('%-38s%-8s' % ('clients', 'syncs')
                 + ''.join('%-22s' % number for number in clients))
    for name, peer in result['peers'].items():
        syncs = '%.2f' % peer['syncs'] if peer.get('syncs') is not None else ''
        lines.append('%-38s%-8s' % (name, syncs) + ''.join(
            '%-22s' % experiment.spread([run['per_second'] for run in runs])
            for runs in peer['runs'].values()))
        cpu = ''.join('%-22s' % ', '.join(
            '%.1f' % statistics.median(run[field] for run in runs)
            for field in ('cpu_us', 'client_cpu_us') if all(field in run for run in runs))
            for runs in peer['runs'].values())
        lines += [' ' * 46 + cpu] * bool(cpu.strip())
    lines += ['', 'syncs: for an insert of a lone client, counted by strace.']
    lines += ['%s: %s' % (name, peer['settings']) for name, peer in result['peers'].items()]
    lines += claims.lines('peers', result)
    return '\n'.join(line.rstrip() for line in lines)


def measure(trial, arguments):
    trial.result.update(awake=arguments.awake, halts=halts.measure(), floor=trial.tools.floor())

    def row_of(peer):
        traceable = peer.pids() or peer.in_process
        return {'settings': peer.settings, 'in_process': peer.in_process,
                'syncs': peers.syncs.per_insert(peer, TRACED_SECONDS) if traceable else None}
    measure_in_turns(trial, trial.result['peers'], chosen_of(trial.folder, arguments), arguments,
                     row_of)


def parser_of(doc, kind, clients):
    """That of an experiment in which contenders have their turns at each number of clients."""
    parser = measuring.parser(doc)
    measuring.add_turns(parser, kind, 2)
    parser.add_argument('--clients', type=measuring.clients, default=clients, metavar='LIST',
                        help='numbers of clients, e.g. 1,8 (%s)' % ','.join(map(str, clients)))
    measuring.add_only(parser, kind + 's')
    measuring.add_install(parser)
    measuring.add_device_delay(parser)
    return parser


def run_contenders(name, arguments, measure_all, rows, table_of, script=None):
    """Runs such an experiment; measure_all(trial, arguments) fills `rows`."""
    experiment.conduct(name, arguments, measure_all, lambda result: any(
        runs for each in result[rows].values() for runs in each.get('runs', {}).values()),
                       table_of, script=script, fields='rounds seconds', **{rows: {}})


def make_parser():
    parser = parser_of(__doc__, 'peer', [1, 8, 64])
    any_server.add_uri(parser)
    parser.add_argument('--odbc', metavar="'NAME=CONNECTION STRING'", type=peers.odbc.parse,
                        action='append', default=[], help=peers.odbc.HELP)
    halts.add_option(parser)
    return parser


def check_names(parser, databases):
    """Ends with 2 when a name is there twice."""
    seen = {peer.name for peer in peers.every('unused')}
    for name, _ in databases:
        if name in seen:
            parser.error("argument --odbc: the name '%s' is taken" % name)
        seen.add(name)


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    check_names(parser, arguments.odbc)
    if arguments.install:
        install(arguments.odbc)
    with halts.held_off(arguments.awake):
        run_contenders('peers', arguments, measure, 'peers', table, 'compare.py')


if __name__ == '__main__':
    main()
