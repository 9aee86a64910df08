#!/usr/bin/env python3
"""Question: how fast are durable inserts, what does each option of the patches change, and what
could the disk do?

Measures the disk alone, then the ladder: inserts with j:true from 1, 8 and 64 clients into a server
of the base at the default commit interval and at 2 ms, into the full series with each option alone,
and with conf/durable.yaml, which turns on all that help; each cell once more under strace for the
journal's system calls; at last that profile once more with client and server on one core, which
leaves out what waking a thread on another core costs. Prints a table; writes
build/results/<time>.json and an HTML report.
Usage:    run.py [--seconds 2] [--clients 1,8,64]        (./lab run builds both servers first)
          run.py --server 'NAME=PATH OPTIONS'            another mongod as a rung of its own, e.g.
                                                         one that ./lab port has made
Needs:    strace; 1 GB on the disk that holds build/. Takes about three minutes.
Overhead: rates and latencies are taken without strace; the columns under "traced" come from a
          second run that strace slows.
Not for:  telling small effects from noise: each cell runs once. ./lab bench SLUG alternates.
"""

import argparse
import datetime
import functools
import json
import os
import shutil
import sys
import tempfile
import textwrap

import any_server
import measuring

import report
import server
import staging

TOP = measuring.TOP

# Name in the table, patches of the server, options.
LADDER = [('base, default', 'none', []), ('base, 2 ms', 'none', measuring.SHORT)]
LADDER += [(' '.join(measuring.option_of(slug)[0]).lstrip('-'), 'all', measuring.sides(slug)[1])
           for slug in measuring.measurable()]
LADDER += [('conf/durable.yaml', 'all', measuring.PROFILE)]


def derived(row, floor):
    """What the table shows per insert; the share is of the disk's durable writes, one by one."""
    traced = row['traced']
    for name in ('bytes', 'writes', 'syncs'):
        row[name + '_per_insert'] = (traced.get(name + '_per_commit', 0)
                                     / max(traced['inserts_per_commit'], 1e-9))
    row['share_of_floor'] = row['per_second'] / floor['overwrite_4k']['per_second']


def table(result):
    floor = result['floor']
    lines = ['', 'The disk alone: %.0f durable 4 KB overwrites/s (p50 %.3f ms, p99 %.3f ms),'
             % (floor['overwrite_4k']['per_second'], floor['overwrite_4k']['p50_us'] / 1e3,
                floor['overwrite_4k']['p99_us'] / 1e3),
             '                %.0f durable 8 KB appends/s    (p50 %.3f ms, p99 %.3f ms).'
             % (floor['append_8k']['per_second'], floor['append_8k']['p50_us'] / 1e3,
                floor['append_8k']['p99_us'] / 1e3),
             '', '%-34s%55s' % ('', '| traced, per insert'),
             '%-32s clients inserts/s  p50 ms  p99 ms  cpu us of floor |  bytes writes  syncs'
             % 'server']
    for row in result['rows']:
        lines.append('%-32s %7d %9.0f %7.2f %7.2f %7.0f %7.0f%% | %6.0f %6.2f %6.2f' % (
            row['name'], row['clients'], row['per_second'], row['p50_us'] / 1e3,
            row['p99_us'] / 1e3, row['server_cpu_us'], 100 * row['share_of_floor'],
            row['bytes_per_insert'], row['writes_per_insert'], row['syncs_per_insert']))
    return '\n'.join(lines)


def one_core(tools, program, dbpath, clients):
    """The recommended profile with client and server on the core that reaches the disk soonest:
    what they cost without wake-ups from one core to another."""
    floors = {}
    for core in sorted(os.sched_getaffinity(0)):
        measuring.say('measuring the disk alone from core %d' % core)
        with measuring.on_core(core):
            floors[core] = tools.floor()['overwrite_4k']
    core = max(floors, key=lambda core: floors[core]['per_second'])
    measuring.say('inserting: conf/durable.yaml on core %d, %d clients' % (core, clients))
    with measuring.on_core(core), \
            server.Server(program, dbpath, measuring.COMMON + measuring.PROFILE) as running:
        row = tools.measure_plain(running, clients)
    return {'core': core, 'clients': clients, **row,
            'share_of_floor': row['per_second'] / floors[core]['per_second'],
            'floors': {str(core): floor['per_second'] for core, floor in floors.items()}}


def program_of(selection):
    return os.path.join(TOP, 'build', selection, 'bin', 'mongod')


def rungs(servers):
    """(name, selection of patches or None, options, what starts it on a directory) of each line of
    the table."""
    for name, selection, options in LADDER:
        yield name, selection, options, functools.partial(
            server.Server, program_of(selection), options=measuring.COMMON + options)
    for named in servers:
        yield named.name, None, named.options, named.start


def describe_servers(servers, folder):
    """Starts each other server once; ends the program with a sentence when one does not."""
    try:
        return [any_server.probe(named, folder) for named in servers]
    except server.ServerError as error:
        sys.exit('run.py: ' + str(error))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--clients', default='1,8,64')
    any_server.add_option(parser)
    arguments = parser.parse_args()
    any_server.check_names(parser, arguments.servers, [name for name, _, _ in LADDER])
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    folder = tempfile.mkdtemp(prefix='run-', dir=scratch)
    described = describe_servers(arguments.servers, folder)
    tools = measuring.Bench(os.path.join(TOP, 'build', 'none', 'bin'), folder, arguments.seconds,
                            old_wire=any(about['old_wire'] for about in described))
    result = {'time': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
              'patches': staging.series(TOP), 'host': measuring.host(folder),
              'servers': described, 'old_wire': tools.old_wire, 'rows': []}
    measuring.say('measuring the disk alone')
    result['floor'] = tools.floor()
    dbpath = os.path.join(folder, 'db')
    for name, selection, options, start in rungs(arguments.servers):
        with start(dbpath) as running:
            for clients in [int(number) for number in arguments.clients.split(',')]:
                measuring.say('inserting: %s, %d clients' % (name, clients))
                row = tools.measure(running, clients)
                row.update(name=name, selection=selection,
                           options=[word.replace(TOP + os.sep, '') for word in options])
                derived(row, result['floor'])
                result['rows'].append(row)
        shutil.rmtree(dbpath)
    result['one_core'] = one_core(tools, program_of('all'), dbpath,
                                  int(arguments.clients.split(',', maxsplit=1)[0]))
    print(table(result))
    print('\n'.join(report.server_texts(result)))
    print('\n' + textwrap.fill(report.one_core_text(result['one_core']), 100))
    results = os.path.join(TOP, 'build', 'results')
    os.makedirs(results, exist_ok=True)
    path = os.path.join(results, result['time'].replace(':', '') + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
    print('\nThe figures are in %s, with plots in %s'
          % (os.path.relpath(path, TOP), os.path.relpath(report.write(path), TOP)))
    shutil.rmtree(folder)


if __name__ == '__main__':
    main()
