#!/usr/bin/env python3
"""Question: does the base cost what it should, beside a ping on the same connection?

One server of the base per interval, one load client. The workloads that are compared with a ping
alternate with it, so that both meet the same noise; quoted are the medians over the rounds. CPU
time is the server's, from /proc. The waits of durable inserts are put beside the journal's own
stage counters and the disk's own sync time. Memory is what the kernel calls resident.
Usage:    base.py [--seconds 2] [--rounds 3]             (./lab bench base builds what it needs)
          base.py --server 'NAME=PATH OPTIONS'           another mongod alternates with the base,
                                                         for instance one built before a change, or
                                                         with harden=0
Overhead: the client shares the machine with the server.
Not for:  the options of the patches (./lab run, ./lab bench PATCH)."""

import contextlib
import os
import shutil
import socket
import statistics
import tempfile

import any_server
import late
import measuring

import server

pymongo = late.Module('pymongo')

PAIRED = [('ping', ['ping']),
          ('insert, w:1, one more index', ['insert', '--no-journal', '--index']),
          ('find by _id, plain command', ['find_raw']),
          ('find by _id, client cursor', ['find_one']),
          ('insert, w:1, batches of 1000', ['insert', '--no-journal', '--batch', '1000']),
          # Reads what the line before has left, and comes last for that.
          ('range scan, batches of 10000', ['range_scan', '--batch', '10000'])]
IDLE_CONNECTIONS = 1000
STATISTICS_SECONDS = 3  # the blocks of serverStatus().dur: the last whole one is shown


def resident_kb(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS'))


def paired(tools, contenders, rounds):
    """The rows of each workload, by contender: latency, operations, and the server's CPU time."""
    taken = [{name: [] for name, _ in PAIRED} for _ in contenders]
    for number in range(rounds):
        for name, words in PAIRED:
            measuring.say('round %d of %d: %s' % (number + 1, rounds, name))
            # The server that begins in this round comes last in the next one.
            for i in range(len(contenders)):
                at = (i + number) % len(contenders)
                taken[at][name].append(tools.measure_plain(contenders[at], 1, words))
    return taken


def show(taken):
    print('\n%-30s %9s %9s %7s %12s %14s' % ('one client, 200-byte documents', 'p50 us', 'mean us',
                                            '/ ping', 'cpu us / op', 'docs / cpu s'))
    ping = statistics.median(row['p50_us'] for row in taken['ping'])
    for name, rows in taken.items():
        middle = {key: statistics.median(row[key] for row in rows)
                  for key in ('p50_us', 'mean_us', 'server_cpu_us')}
        batch = statistics.median(row['documents'] / max(1, row['operations']) for row in rows)
        counted = batch > 1 or 'insert' in name
        print('%-30s %9.1f %9.1f %7.2f %12.1f %14s' % (
            name, middle['p50_us'], middle['mean_us'], middle['p50_us'] / ping,
            middle['server_cpu_us'],
            '%.0f' % (batch * 1e6 / middle['server_cpu_us']) if counted else ''))


def show_beside(taken, name, others):
    """The base's figures over those of another server, round by round."""
    print('\n%-30s %24s %24s' % ('the base / ' + name, 'p50 us', 'cpu us / op'))
    for workload, rows in taken.items():
        cells = []
        for key in ('p50_us', 'server_cpu_us'):
            ratios = sorted(row[key] / other[key] for row, other in zip(rows, others[workload])
                            if other[key] > 0)
            cells.append('%.3f (%.3f..%.3f)' % (statistics.median(ratios), ratios[0], ratios[-1])
                         if ratios else '')
        print('%-30s %24s %24s' % (workload, *cells))


def waits(tools, folder, floor):
    """Durable inserts of one client at the default and at 2 ms."""
    tools.seconds = max(tools.seconds, 2 * STATISTICS_SECONDS)
    sync_ms = floor['append_8k']['mean_us'] / 1e3
    for name, options, expected in (('default', [], 1000 / (100 / 3 + 1)),
                                    ('2 ms', measuring.SHORT, 1000 / (1 + sync_ms))):
        with server.Server(tools.program('mongod'), os.path.join(folder, 'waits'),
                           measuring.COMMON + options) as running:
            row = tools.load(running.uri, 1)
            with pymongo.MongoClient(running.uri) as client:
                stages = client.admin.command('serverStatus')['dur']['timeMs']
        shutil.rmtree(os.path.join(folder, 'waits'))
        print('%-30s %9.1f inserts/s, expected %.1f; p50 %.2f ms; last block of dur.timeMs: %s'
              % ('j:true, interval ' + name, row['per_second'], expected, row['p50_us'] / 1e3,
                 ', '.join('%s %d' % item for item in stages.items())))


def memory(tools, folder):
    with server.Server(tools.program('mongod'), os.path.join(folder, 'memory'),
                       measuring.COMMON) as running:
        idle = resident_kb(running.pid)
        connections = [socket.create_connection(('127.0.0.1', running.port))
                       for _ in range(IDLE_CONNECTIONS)]
        with pymongo.MongoClient(running.uri) as client:
            current = client.admin.command('serverStatus')['connections']['current']
        print('%-30s %9.1f MB resident; %.1f MB more with %d connections'
              % ('idle', idle / 1024, (resident_kb(running.pid) - idle) / 1024, current))
        for connection in connections:
            connection.close()


def make_parser():
    parser = measuring.parser(__doc__)
    measuring.add_turns(parser, 'cell', 2, 3)
    any_server.add_option(parser)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    any_server.check_names(parser, arguments.servers, ['base'])
    scratch = os.path.join(measuring.TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    folder = tempfile.mkdtemp(prefix='base-', dir=scratch)
    tools = measuring.Bench(measuring.programs(), folder, arguments.seconds)
    measuring.say('measuring the disk alone')
    floor = tools.floor()
    with contextlib.ExitStack() as stack:
        contenders = [stack.enter_context(server.Server(
            tools.program('mongod'), os.path.join(folder, 'paired'), measuring.COMMON))]
        contenders += [stack.enter_context(named.start(
            os.path.join(folder, 'paired-%d' % number), measuring.COMMON))
            for number, named in enumerate(arguments.servers)]
        taken = paired(tools, contenders, arguments.rounds)
    show(taken[0])
    for named, rows in zip(arguments.servers, taken[1:]):
        show_beside(taken[0], named.name, rows)
    print('\nThe disk alone: a durable 8 KB append takes %.3f ms.'
          % (floor['append_8k']['mean_us'] / 1e3))
    waits(tools, folder, floor)
    memory(tools, folder)
    shutil.rmtree(folder)


if __name__ == '__main__':
    main()
