#!/usr/bin/env python3
"""Question: how many durable transfers over two documents a second, beside PostgreSQL?

A transfer is one transaction: two documents of a hundred thousand, each as likely, change in one
snapshot, and the answer comes when that is on the disk. wiredTiger and rocksdb of this build, each
a set of one member, and PostgreSQL at REPEATABLE READ, round after round in turn, each over a Unix
socket by the C client that comes with it. What another client is in the way of is repeated and
counts as one. All accounts together are added up after each cell.
Usage:    transactions.py [--seconds 2] [--rounds 5] [--clients 1,8,64] [--only NAME,...]
          (./lab bench transactions builds what it needs; --install first installs PostgreSQL)
          Ctrl-C ends it with what is measured so far.
Needs:    librocksdb-dev, libwiredtiger-dev, postgresql-15 with libpq-dev (Debian).
Columns:  repeated  for a hundred transfers
          cpu us    of the server, for a transfer
          p50, p99  ms from the first statement to the answer of the commit
Not for:  documents that many clients want at once."""

import contextlib
import json
import os
import statistics
import subprocess

import compare
import experiment
import late
import linkbench_engines
import measuring

import peers.mongod
import peers.postgresql

pymongo = late.Module('pymongo')

AT_ONCE = ['--journalCommitInterval', '0', '--journalCommitDelay', '--journalWaiterCommits']
SET = 'rs0'


def transfers(client, address, clients, seconds):
    done = subprocess.run([os.path.join(experiment.PROGRAMS, client), '--address', address,
                           '--clients', str(clients), '--seconds', str(seconds), 'run'],
                          capture_output=True, text=True, check=True)
    run = json.loads(done.stdout)
    return dict(run, inserts=run['transfers'])


class PostgreSQL(peers.postgresql.PostgreSQL):
    settings = 'synchronous_commit and fsync on, REPEATABLE READ'

    def insert(self, clients, seconds):
        return transfers('transfers_postgresql', 'host=%s user=postgres dbname=postgres'
                         % self.sockets, clients, seconds)


class Engine(peers.mongod.Mongod):
    settings, common = 'j: true; ' + ' '.join(AT_ONCE), []

    def __init__(self, folder, engine):
        super().__init__(folder)
        self.name, self.data = engine, os.path.join(folder, engine)
        self.options = ['--storageEngine', engine, '--replSet', SET, '--oplogSize', '500', *AT_ONCE]

    @contextlib.contextmanager
    def serve(self):
        with super().serve(), pymongo.MongoClient(self.uri) as client:
            client.admin.command('replSetInitiate', {'_id': SET, 'members': [
                {'_id': 0, 'host': '127.0.0.1:%d' % self.port}]})
            yield

    def insert(self, clients, seconds):
        return transfers('transfers_mongodb', self.uri, clients, seconds)


def built_engines():
    return [name for name in linkbench_engines.LIBRARIES if not linkbench_engines.missing(name)]


def engines(folder):
    return [Engine(folder, name) for name in built_engines()]


def build_engines():
    """Their shared objects beside the series."""
    linkbench_engines.build(built_engines(), 'all')


def measure(trial, arguments):
    chosen = list(compare.installed([*engines(trial.folder), PostgreSQL(trial.folder)],
                                   arguments.only))
    compare.measure_in_turns(trial, trial.result['transfers'], chosen, arguments,
                             lambda peer: {'settings': peer.settings})


ROW = '%-16s%6s  %-26s%10s%10s%9s%9s'


def table(result):
    lines = experiment.head(result) + ['', ROW % (
        '', 'cli.', 'transfers/s', 'repeated', 'cpu us', 'p50', 'p99'),
        ROW % ('', '', 'median (min..max)', 'of 100', 'server', 'ms', 'ms')]
    for name, each in result['transfers'].items():
        for clients, runs in each['runs'].items():
            if not runs:
                continue

            def middle(form, value, runs=runs):
                return form % statistics.median(map(value, runs))
            lines.append(ROW % (
                name, clients, experiment.spread([run['per_second'] for run in runs]),
                middle('%.1f', lambda run: 100 * run['repeated'] / max(1, run['transfers'])),
                middle('%.0f', lambda run: run['cpu_us']),
                middle('%.2f', lambda run: run['p50_us'] / 1e3),
                middle('%.2f', lambda run: run['p99_us'] / 1e3)))
    lines += ['', *('%s: %s' % (name, each['settings'])
                    for name, each in result['transfers'].items())]
    return '\n'.join(line.rstrip() for line in lines)


def make_parser():
    return compare.parser_of(__doc__, 'contender', [1, 8, 64])


def main():
    arguments = make_parser().parse_args()
    if arguments.install:
        compare.install_packages(linkbench_engines.packages() | {'postgresql-15', 'libpq-dev'},
                                 'transactions.py')
    build_engines()
    measuring.build('transfers_postgresql', 'patches=none', 'transfers_postgresql')
    compare.run_contenders('transactions', arguments, measure, 'transfers', table)


if __name__ == '__main__':
    main()
