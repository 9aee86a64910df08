#!/usr/bin/env python3
"""Question: how does a social graph's mix of reads and small writes run here, beside other engines?

LinkBench's work (perf/graph/): nodes, links of two types, and how many visible links each node
has; seven reads for three writes, most of them for few nodes. Every contender first loads the same
graph, then all alternate, round after round, with the disk alone before and after. A write is one
transaction and on the disk when it is answered; on MongoDB's protocol it is two writes of which the
second one waits for the disk, unless --transactions makes them one.
Usage:    linkbench.py [--nodes 20000] [--clients 12] [--seconds 3] [--rounds 5] [--lazy]
                       [--only NAME,...] [--uri mongodb://...] [--server 'NAME=PATH OPTIONS']
                       [--old-wire] [--transactions]
          linkbench.py --engines [--memory MB] [--oplog MB] ...
                           the article's experiment: storage engines under one server
          (./lab bench linkbench builds what it needs; --install first installs the others)
          Ctrl-C ends it with what is measured so far.
Needs:    any of postgresql-15 with libpq-dev, mariadb-server and mariadb-plugin-rocksdb with
          libmariadb-dev (Debian). No service of theirs is used or touched: each gets a data
          directory of its own under build/scratch. Some 2 KB of disk for each node and contender.
          With --engines librocksdb-dev and libwiredtiger-dev, and for mmapv1 the oplog twice.
--lazy:   answers do not wait for the disk: w:1 (base at its default of 100 ms, as in the article
          of 2015, whose figures stand beside ours), synchronous_commit=off,
          ..._flush_log_at_trx_commit=2.
--uri:    a server that runs already; its database `linkbench` is dropped.
--old-wire: what speaks MongoDB's protocol is asked by OP_QUERY, OP_UPDATE, OP_DELETE and
          getLastError; so too, by itself, where one of --server or --uri is too old for today's
          drivers.
--transactions: a link and its count change in one transaction, by wiredTiger and rocksdb of this
          build, each a set of one member, in place of mmapv1; no crash leaves a count that is off
          by one. Else they are two writes, as the article had.
--engines: in place of the SQL servers mmapv1 of the base and of the series, wiredTiger and rocksdb
          of this build, as the article had them: --lazy, a commit every 100 ms, a flush every 60 s,
          an oplog of 2,000 MB, caches of half of the memory, its levels and buffers of RocksDB. The
          series has conf/durable.yaml instead of an interval. wiredTiger's log is compressed, which
          the article's was not. A server stands still while another one has its turn; a turn ends
          with a full flush, which all rates and times are without. The tables of the article
          follow, ours above its own: rates as time goes on; the three requests' average, p95 and
          p99; for a request what the device reads and writes; what is stored.
--memory: each server gets no more than that, pages of files included, and wiredTiger and rocksdb
          half of it as their caches: a graph that is larger than memory, --memory 512 --nodes 2e6.
          Where no control group can be made the caches alone are so small, and the table says so.
          For a table like the article's use rounds of an hour: --rounds 12 --seconds 3600
          --interval 3600.
Not for:  without --memory graphs larger than memory, unless --nodes makes one: 20,000 nodes are
          some 40 MB."""

import contextlib
import functools
import os
import subprocess

import any_server
import compare
import experiment
import linkbench_engines
import linkbench_tables
import measuring
import transactions

import server

import peers.mariadb
import peers.mongod
import peers.postgresql

# Clients of SQL servers: what compiling them needs, what Debian calls it.
SQL_CLIENTS = {
    'linkbench_postgresql': ('/usr/include/postgresql/libpq-fe.h', 'libpq-dev'),
    'linkbench_mariadb': ('/usr/include/mariadb/mysql.h', 'libmariadb-dev'),
}
ARTICLES_CLIENTS = 12
SECONDS_PER_NODE = 1.5e-4  # of a load; for the guess of the time left


def why_not(peer, client):
    """What is missing for a peer with its C client; nothing when it can run."""
    missing, packages = peer.missing(), [peer.package] if peer.package else []
    header, package = SQL_CLIENTS.get(client, ('', ''))
    if header and not os.path.exists(header):
        missing = ', '.join(filter(None, [missing, os.path.basename(header)]))
        packages.append(package)
    return missing and '%s not found%s' % (
        missing, '; apt install ' + ' '.join(packages) if packages else '')


def every_peer(folder, arguments):
    """(peer, settings, client, words) of all that can take part."""
    lazy = arguments.lazy
    off = {'PostgreSQL': 'synchronous_commit=off', 'InnoDB': 'innodb_flush_log_at_trx_commit=2',
           'MyRocks': 'rocksdb_flush_log_at_trx_commit=2'}
    base = peers.mongod.BaseDefault if lazy else peers.mongod.BaseShort
    mongod_settings = 'w: 1' if lazy else 'j: true'

    def uri(peer):
        return ['--address', peer.uri]

    def socket(engine, peer):
        return ['--address', peer.sockets + '/socket', '--engine', engine]
    ours = (transactions.engines(folder) if arguments.transactions
            else [peers.mongod.Mongod(folder), base(folder)])
    return [
        *((each, mongod_settings, linkbench_engines.MONGODB_CLIENT, uri) for each in ours),
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
    every = every_peer(folder, arguments)
    joined = [named.name for named in arguments.servers]
    if arguments.uri:
        joined.append(any_server.shown(arguments.uri))
    measuring.check_only(arguments.only, [peer.name for peer, *_ in every] + joined)
    for peer, settings, client, words in every:
        if arguments.only and not any(word.lower() in peer.name.lower() for word in arguments.only):
            continue
        missing = why_not(peer, client)
        if missing:
            measuring.say('left out: %s (%s)' % (peer.name, missing))
        else:
            found.append(linkbench_engines.of_peer(peer, settings, client, words))
    if arguments.uri:
        peer = peers.mongod.AnyMongod(folder, arguments.uri)
        found.append(linkbench_engines.of_peer(
            peer, ('w: 1' if arguments.lazy else 'j: true') + ', its own settings',
            linkbench_engines.MONGODB_CLIENT, lambda peer: ['--address', peer.uri]))
    return found + [linkbench_engines.of_named_database(named, folder)
                    for named in arguments.servers]


def build_clients():
    """Those of SQL servers for which there are headers."""
    targets = [name for name, (header, _) in SQL_CLIENTS.items() if os.path.exists(header)]
    if targets:
        measuring.build(' '.join(targets), 'patches=none', *targets)


def cell_of(trial, contender, measured):
    """What measured() returns, as Experiment.cell(); None when it failed, which is reported: that
    contender is left out from then on, and the others go on."""
    try:
        return trial.cell(measured)
    except (subprocess.CalledProcessError, server.ServerError) as error:
        why = experiment.said_by(error)
        measuring.say('left out: %s: %s' % (contender.name, why))
        trial.result['left_out'][contender.name] = why
        return None


def load(trial, contender, arguments):
    """Loads the graph; True when it is there."""
    run = cell_of(trial, contender, lambda: contender.load(arguments))
    if run:
        trial.result['contenders'][contender.name] = {'settings': contender.settings, 'load': run,
                                                      'runs': []}
    return run is not None


def measure(trial, arguments):
    trial.result['servers'], arguments.old_wire = any_server.survey(arguments, trial.folder)
    trial.result['old_wire'] = arguments.old_wire
    with contextlib.ExitStack() as stack:
        chosen = []
        if arguments.engines:
            memory = linkbench_engines.Memory(arguments.memory)
            stack.callback(memory.close)
            every = linkbench_engines.contenders(trial.folder, arguments, memory,
                                                 trial.result['device'])
        else:
            every = contenders(trial.folder, arguments)
        steps = len(every) * (arguments.rounds + 1)
        planned = len(every) * (arguments.rounds * (arguments.seconds + 0.8)
                                + 3 + arguments.nodes * SECONDS_PER_NODE)
        progress = measuring.announced(planned, max(1, steps))
        for contender in every:
            progress.step('%s, load' % contender.name)
            stack.enter_context(contender.serve())
            if load(trial, contender, arguments):
                chosen.append(contender)
        if arguments.engines:
            trial.result['engines'] = linkbench_engines.settings(arguments, memory)
        for number, contender in trial.rounds(arguments.rounds, chosen):
            progress.step('%s, round %d of %d' % (contender.name, number + 1, arguments.rounds))
            run = cell_of(trial, contender, functools.partial(contender.request, arguments))
            if run:
                trial.result['contenders'][contender.name]['runs'].append(run)
            else:
                chosen.remove(contender)
        for contender in chosen:
            trial.result['contenders'][contender.name]['check'] = contender.check(arguments)


def install(arguments):
    if arguments.engines:
        compare.install_packages(linkbench_engines.packages(), 'linkbench.py')
        return
    packages = {peer.package for peer, _, _, _ in every_peer('unused', arguments)
                if peer.package and peer.missing()}
    packages |= {package for header, package in SQL_CLIENTS.values() if not os.path.exists(header)}
    compare.install_packages(packages, 'linkbench.py')


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--nodes', type=measuring.large_count(100, 10 ** 9, 'nodes'), default=20000,
                        metavar='N', help='of the graph, e.g. 1e6 (%(default)s)')
    parser.add_argument('--clients', type=measuring.large_count(1, 256, 'clients'),
                        default=ARTICLES_CLIENTS, metavar='N',
                        help='threads, one connection each (%(default)s, as the article had)')
    parser.add_argument('--seconds', type=measuring.seconds, default=3, metavar='S',
                        help='of each contender in each round (%(default)s)')
    parser.add_argument('--interval', type=measuring.seconds, default=1, metavar='S',
                        help='there is a rate for each of these (%(default)s)')
    parser.add_argument('--rounds', type=measuring.count, default=5, metavar='N',
                        help='how often each contender has its turn (%(default)s)')
    parser.add_argument('--lazy', action='store_true',
                        help='answers do not wait for the disk, as in the article')
    parser.add_argument('--transactions', action='store_true',
                        help='a link and its count change in one; wiredTiger and rocksdb')
    parser.add_argument('--engines', action='store_true',
                        help='mmapv1, wiredTiger and rocksdb of this build, with the settings of '
                        'the article; --lazy')
    parser.add_argument('--memory',
                        type=measuring.large_count(linkbench_engines.MEMORY_MB_MIN, 1 << 20, 'MB'),
                        default=0, metavar='MB',
                        help='with --engines: that each server gets (no limit)')
    parser.add_argument('--oplog', type=measuring.large_count(0, 1 << 20, 'MB'),
                        default=linkbench_engines.OPLOG_MB, metavar='MB',
                        help='with --engines: of those of this build; 0 for none (%(default)s)')
    measuring.add_only(parser, 'contenders')
    any_server.add_option(parser)
    any_server.add_running(parser)
    measuring.add_device_delay(parser)
    measuring.add_install(parser)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    arguments.lazy = arguments.lazy or arguments.engines
    if arguments.memory and not arguments.engines:
        parser.error('argument --memory: it is for --engines')
    if arguments.transactions and (arguments.old_wire or arguments.engines):
        parser.error('argument --transactions: it is not for --old-wire and --engines')
    any_server.check_names(
        parser, arguments.servers, linkbench_engines.NAMES if arguments.engines else
        [peer.name for peer, *_ in every_peer('unused', arguments)])
    if arguments.install:
        install(arguments)
    if not arguments.engines:
        build_clients()
    if arguments.transactions:
        transactions.build_engines()
    experiment.conduct('linkbench', arguments, measure, linkbench_tables.measured,
                       linkbench_tables.table, linkbench_tables.draw, contenders={}, left_out={},
                       fields='nodes lazy clients interval rounds seconds transactions')


if __name__ == '__main__':
    main()
