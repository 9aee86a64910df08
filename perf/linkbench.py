#!/usr/bin/env python3
"""Question: how does a social graph's mix of reads and small writes run here, beside other engines?

LinkBench's work (perf/graph/): nodes, links of two types, and how many visible links each node
has; seven reads for three writes, most of them for few nodes. Every contender first loads the same
graph, then all alternate, round after round, with the disk alone before and after. A write is one
transaction and on the disk when it is answered; on MongoDB's protocol it is two writes of which the
second one waits for the disk, since there is no transaction over two documents.
Usage:    linkbench.py [--nodes 20000] [--clients 12] [--seconds 3] [--rounds 5] [--lazy]
                       [--only NAME,...] [--uri mongodb://...] [--server 'NAME=PATH OPTIONS']
                       [--old-wire]
          (./lab bench linkbench builds what it needs; --install first installs the others)
          Ctrl-C ends it with what is measured so far.
Needs:    any of postgresql-15 with libpq-dev, mariadb-server and mariadb-plugin-rocksdb with
          libmariadb-dev (Debian). No service of theirs is used or touched: each gets a data
          directory of its own under build/scratch. Some 2 KB of disk for each node and contender.
--lazy:   answers do not wait for the disk: w:1 (base at its default of 100 ms, as in the article
          of 2015, whose figures stand beside ours), synchronous_commit=off,
          ..._flush_log_at_trx_commit=2.
--uri:    a server that runs already; its database `linkbench` is dropped.
--old-wire: what speaks MongoDB's protocol is asked by OP_QUERY, OP_UPDATE, OP_DELETE and
          getLastError; so too, by itself, where one of --server or --uri is too old for today's
          drivers.
Not for:  graphs larger than memory, unless --nodes makes one: 20,000 nodes are some 40 MB.
"""

import argparse
import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys

import any_server
import articles
import claims
import compare
import experiment
import measuring
import plots

import peers.mariadb
import peers.mongod
import peers.postgresql

KINDS = ('get_node', 'add_node', 'update_node', 'delete_node', 'get_link', 'get_link_list',
         'count_link', 'add_link', 'update_link', 'delete_link')
# Clients of SQL servers: what compiling them needs, what Debian calls it.
SQL_CLIENTS = {
    'linkbench_postgresql': ('/usr/include/postgresql/libpq-fe.h', 'libpq-dev'),
    'linkbench_mariadb': ('/usr/include/mariadb/mysql.h', 'libmariadb-dev'),
}
ARTICLES_CLIENTS = 12
ARTICLES_KINDS = ('add_link', 'update_link', 'get_link_list')  # whose times it has
MONGODB_CLIENT = 'linkbench_mongodb'
SECONDS_PER_NODE = 1.5e-4  # of a load; for the guess of the time left


class Contender:
    """`serve()` is a block in which the database runs; in it `words` are what its client needs
    and `pid`, where it is ours to know, is the process whose time counts."""

    def __init__(self, name, settings, client, serve):
        self.name, self.settings, self.client, self.serve = name, settings, client, serve
        self.words, self.pid = [], None

    def run(self, phase, arguments):
        """What one phase prints."""
        program = os.path.join(experiment.PROGRAMS, self.client)
        return json.loads(subprocess.run(
            [program, *self.words, '--nodes', str(arguments.nodes), '--clients',
             str(arguments.clients), '--seconds', str(arguments.seconds), '--interval',
             str(arguments.interval)] + ['--lazy'] * arguments.lazy
            + ['--old-wire'] * (arguments.old_wire and self.client == MONGODB_CLIENT) + [phase],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout)

    def request(self, arguments):
        """The same with the server's processor time for a request."""
        before = compare.cpu_seconds(self.pid) if self.pid else 0
        run = self.run('request', arguments)
        if self.pid:
            run['server_cpu_us'] = ((compare.cpu_seconds(self.pid) - before) * 1e6
                                    / max(1, run['requests']))
        return run


def of_peer(peer, settings, client, words_of):
    """A contender that is one of the peers of ./lab bench peers."""
    @contextlib.contextmanager
    def serve():
        with peer.serve():
            contender.pid, contender.words = peer.pid, words_of(peer)
            yield
    contender = Contender(peer.name, settings, client, serve)
    return contender


def of_named(named, folder):
    """A contender of --server."""
    @contextlib.contextmanager
    def serve():
        with named.start(os.path.join(folder, named.name)) as running:
            contender.pid, contender.words = running.pid, ['--address', running.uri]
            yield
    contender = Contender(named.name, ' '.join([named.shown_program()] + named.options),
                          MONGODB_CLIENT, serve)
    return contender


def why_not(peer, client):
    """What is missing for a peer with its C client; nothing when it can run."""
    missing, packages = peer.missing(), [peer.package] if peer.package else []
    header, package = SQL_CLIENTS.get(client, ('', ''))
    if header and not os.path.exists(header):
        missing = ', '.join(filter(None, [missing, os.path.basename(header)]))
        packages.append(package)
    return missing and '%s not found%s' % (
        missing, '; apt install ' + ' '.join(packages) if packages else '')


def every_peer(folder, lazy):
    """(peer, settings, client, words) of all that can take part."""
    off = {'PostgreSQL': 'synchronous_commit=off', 'InnoDB': 'innodb_flush_log_at_trx_commit=2',
           'MyRocks': 'rocksdb_flush_log_at_trx_commit=2'}
    base = peers.mongod.BaseDefault if lazy else peers.mongod.BaseShort
    mongod_settings = 'w: 1' if lazy else 'j: true'

    def uri(peer):
        return ['--address', peer.uri]

    def socket(engine, peer):
        return ['--address', peer.sockets + '/socket', '--engine', engine]
    return [
        (peers.mongod.Mongod(folder), mongod_settings, MONGODB_CLIENT, uri),
        (base(folder), mongod_settings, MONGODB_CLIENT, uri),
        (peers.postgresql.PostgreSQL(folder),
         off['PostgreSQL'] if lazy else peers.postgresql.PostgreSQL.settings,
         'linkbench_postgresql',
         lambda peer: ['--address', 'host=%s user=postgres dbname=postgres' % peer.sockets]),
        (peers.mariadb.MariaDB(folder),
         off['InnoDB'] if lazy else peers.mariadb.MariaDB.settings, 'linkbench_mariadb',
         functools.partial(socket, 'innodb')),
        (peers.mariadb.MyRocks(folder),
         off['MyRocks'] if lazy else peers.mariadb.MyRocks.settings, 'linkbench_mariadb',
         functools.partial(socket, 'rocksdb'))]


def contenders(folder, arguments):
    """Those that can run here; the others are named."""
    found = []
    every = every_peer(folder, arguments.lazy)
    joined = [named.name for named in arguments.servers]
    if arguments.uri:
        joined.append(any_server.shown(arguments.uri))
    measuring.check_only(arguments.only, [peer.name for peer, *_ in every] + joined)
    for peer, settings, client, words in every:
        if arguments.only and not any(word.lower() in peer.name.lower()
                                      for word in arguments.only):
            continue
        missing = why_not(peer, client)
        if missing:
            measuring.say('left out: %s (%s)' % (peer.name, missing))
        else:
            found.append(of_peer(peer, settings, client, words))
    if arguments.uri:
        peer = peers.mongod.AnyMongod(folder, arguments.uri)
        found.append(of_peer(peer, 'j: true, its own settings' if not arguments.lazy else
                             'w: 1, its own settings', MONGODB_CLIENT,
                             lambda peer: ['--address', peer.uri]))
    return found + [of_named(named, folder) for named in arguments.servers]


def build_clients():
    """Those of SQL servers for which there are headers."""
    targets = [name for name, (header, _) in SQL_CLIENTS.items() if os.path.exists(header)]
    if targets and subprocess.run(['scons', '-Q', 'patches=none', *targets], cwd=measuring.TOP,
                                  stdout=sys.stderr, check=False).returncode != 0:
        sys.exit('linkbench.py: %s could not be built; the message is above' % ' '.join(targets))


def load(trial, contender, arguments):
    """Loads the graph; True when it is there. What cannot be loaded is reported and left out."""
    try:
        run = trial.cell(lambda: contender.run('load', arguments))
    except subprocess.CalledProcessError as error:
        why = experiment.said_by(error)
        measuring.say('left out: %s: %s' % (contender.name, why))
        trial.result['left_out'][contender.name] = why
        return False
    trial.result['contenders'][contender.name] = {'settings': contender.settings, 'load': run,
                                                  'runs': []}
    return True


def measure(trial, arguments):
    trial.result['servers'], arguments.old_wire = any_server.survey(arguments, trial.folder)
    trial.result['old_wire'] = arguments.old_wire
    with contextlib.ExitStack() as stack:
        chosen = []
        every = contenders(trial.folder, arguments)
        steps = len(every) * (arguments.rounds + 1)
        planned = len(every) * (arguments.rounds * (arguments.seconds + 0.8)
                                + 3 + arguments.nodes * SECONDS_PER_NODE)
        progress = measuring.Progress(planned, max(1, steps))
        measuring.say('This takes about %s; Ctrl-C ends it with what is measured so far.'
                      % measuring.duration(planned))
        for contender in every:
            progress.step('%s, load' % contender.name)
            stack.enter_context(contender.serve())
            if load(trial, contender, arguments):
                chosen.append(contender)
        for number in range(arguments.rounds):
            trial.look_at_others()
            turn = number * len(chosen) // arguments.rounds
            for contender in chosen[turn:] + chosen[:turn]:
                progress.step('%s, round %d of %d' % (contender.name, number + 1,
                                                      arguments.rounds))
                run = trial.cell(functools.partial(contender.request, arguments))
                trial.result['contenders'][contender.name]['runs'].append(run)
        for contender in chosen:
            trial.result['contenders'][contender.name]['check'] = contender.run('check', arguments)


def kind_of(runs, kind):
    """(requests, average, p95, p99, longest in ms, rows a request) over the rounds."""
    each = [run['kinds'][kind] for run in runs if run['kinds'][kind]['count']]
    count = sum(one['count'] for one in each)
    if not each:
        return 0, None, None, None, None, None
    return (count, *(statistics.median(one[name] for one in each) / 1e3
                     for name in ('mean_us', 'p95_us', 'p99_us')),
            max(one['max_us'] for one in each) / 1e3, sum(one['rows'] for one in each) / count)


def check_text(check):
    if not check:
        return ''
    if check['visible_links'] == check['counted_links']:
        return 'right'
    return 'off by %d' % abs(check['visible_links'] - check['counted_links'])


SUMMARY = '%-28s%10s  %-24s%8s%8s  %-10s'


def table(result):
    lines = experiment.head(result)
    shown = {name: each for name, each in result['contenders'].items() if each['runs']}
    loads = [each['load'] for each in shown.values()]
    lines += ['', 'A graph of %d nodes and %d links; %s; %s.' % (
        result['nodes'], loads[0]['links'], experiment.plural(result['clients'], 'client'),
        'answers do not wait for the disk' if result['lazy'] else
        'each write is on the disk before it is answered'), '',
              SUMMARY % ('', 'load', 'requests/s', 'cpu us', '', 'counts'),
              SUMMARY % ('', 'rows/s', 'median (min..max)', 'server', 'client', 'at the end')]
    for name, each in shown.items():
        server_cpu = experiment.middle([run.get('server_cpu_us') for run in each['runs']])
        lines.append(SUMMARY % (
            name, '%.0f' % each['load']['per_second'],
            experiment.spread([run['per_second'] for run in each['runs']]),
            '' if server_cpu is None else '%.0f' % server_cpu,
            '%.0f' % statistics.median(run['client_cpu_us'] for run in each['runs']),
            check_text(each.get('check'))))
    for name, each in shown.items():
        lines += ['', name, '%-18s%9s%10s%10s%10s%10s%9s' % (
            '', 'requests', 'average', 'p95', 'p99', 'longest', 'rows')]
        for kind in KINDS:
            count, *figures, rows = kind_of(each['runs'], kind)
            lines.append('%-18s%9d' % (kind, count) + ''.join(
                '%10s' % ('' if value is None else '%.3f' % value) for value in figures)
                         + '%9s' % ('' if rows is None else '%.1f' % rows))
        rates = [' '.join('%.0f' % (count / result['interval']) for count in run['per_interval'])
                 for run in each['runs']]
        if any(rates):
            lines.append('requests/s in each %g s, round after round: %s' % (
                result['interval'], ' | '.join(rates)))
        repeated = sum(run['repeated'] for run in each['runs'])
        if repeated:
            lines.append('%d requests were repeated, since another client was in the way.'
                         % repeated)
    lines += ['', *frequent_lines(shown)]
    lines += ['', 'Times in ms: medians of the rounds, and the longest of all. rows: found or '
              'written by a request.']
    lines += ['%s: %s' % (name, each['settings']) for name, each in shown.items()]
    lines += ['left out: %s: %s' % item for item in result['left_out'].items()]
    lines += any_server.texts(result)
    lines += claims.lines('linkbench', result)
    return '\n'.join(line.rstrip() for line in lines)


def frequent_lines(shown):
    """The requests whose times the article has: average ms, ours and its."""
    form = '%-40s' + '%16s' * len(ARTICLES_KINDS)
    yield form % ('Average ms of a request', *ARTICLES_KINDS)
    for name, each in shown.items():
        averages = [kind_of(each['runs'], kind)[1] for kind in ARTICLES_KINDS]
        yield form % (name, *('' if value is None else '%.3f' % value for value in averages))
    for name in [words[0] for words in articles.tables()['linkbench-requests']['rows']]:
        row = articles.row('linkbench-requests', name)
        yield form % ('the article, %s' % name,
                      *('%.3f' % row[kind + ', ms'] for kind in ARTICLES_KINDS))


def draw(result, stem):
    shown = {name: each for name, each in result['contenders'].items() if each['runs']}
    paths = []
    counts = {name: [count / result['interval'] for run in each['runs']
                     for count in run['per_interval']] for name, each in shown.items()}
    if all(counts.values()):
        paths.append(plots.course(
            stem + '-intervals.svg', plots.title_of('LinkBench, requests a second', result),
            'interval of %g s, round after round' % result['interval'], 'requests/s', counts))
    return paths


def install():
    """Servers and headers, by name."""
    packages = {peer.package for peer, _, _, _ in every_peer('unused', False)
                if peer.package and peer.missing()}
    packages |= {package for header, package in SQL_CLIENTS.values()
                 if not os.path.exists(header)}
    compare.install_packages(packages, 'linkbench.py')


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nodes', type=nodes_of, default=20000, metavar='N',
                        help='of the graph, e.g. 1e6 (%(default)s)')
    parser.add_argument('--clients', type=clients_of, default=ARTICLES_CLIENTS, metavar='N',
                        help='threads, one connection each (%(default)s, as the article had)')
    parser.add_argument('--seconds', type=measuring.seconds, default=3, metavar='S',
                        help='of each contender in each round (%(default)s)')
    parser.add_argument('--interval', type=measuring.seconds, default=1, metavar='S',
                        help='there is a rate for each of these (%(default)s)')
    parser.add_argument('--rounds', type=measuring.count, default=5, metavar='N',
                        help='how often each contender has its turn (%(default)s)')
    parser.add_argument('--lazy', action='store_true',
                        help='answers do not wait for the disk, as in the article')
    measuring.add_only(parser, 'contenders')
    any_server.add_option(parser)
    any_server.add_running(parser)
    measuring.add_device_delay(parser)
    measuring.add_install(parser)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    any_server.check_names(parser, arguments.servers,
                           [peer.name for peer, *_ in every_peer('unused', arguments.lazy)])
    if arguments.install:
        install()
    build_clients()
    with experiment.scratch('linkbench-', arguments) as folder:
        os.chmod(folder, 0o755)
        trial = experiment.Experiment(folder, arguments)
        trial.result.update(contenders={}, left_out={}, nodes=arguments.nodes, lazy=arguments.lazy,
                            clients=arguments.clients, interval=arguments.interval,
                            rounds=arguments.rounds, seconds=arguments.seconds)
        result = trial.run(functools.partial(measure, arguments=arguments))
    experiment.finish('linkbench.py', result,
                      any(each['runs'] for each in result['contenders'].values()), table,
                      'linkbench', draw)


def nodes_of(text):
    """For argparse: a number of nodes, e.g. 100000 or 1e6."""
    return measuring.large_count(text, 100, 10 ** 9, 'nodes')


def clients_of(text):
    """For argparse: clients, each with a connection."""
    return measuring.large_count(text, 1, 256, 'clients')


if __name__ == '__main__':
    main()
