#!/usr/bin/env python3
"""Question: what does one option of the patch series change, against the base?

Measures the disk alone, then durable inserts (j:true, 200 bytes) into a server of the base and one
with the option, in turn, on fresh data each time; for each side one more run under strace, for the
journal's calls per commit. Prints the table that the patch's header quotes: median (min..max).
Usage:    ab.py SLUG [--runs 3] [--seconds 2] [--clients 1,8,64] [--host-class NAME]
          ab.py --table RESULT.json       prints the table of an earlier run
          (./lab bench SLUG builds both servers first)
Needs:    strace; 1 GB on the disk that holds build/. Takes one to two minutes.
Writes:   perf/results/<date>/<host class>/SLUG.json
Overhead: rates, latencies and CPU time are taken without strace.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import sys
import tempfile

import bench

import server
import staging

TOP = bench.TOP

# Name in the table, digits, value of one run (of one traced run for the last three).
METRICS = [
    ('inserts/s', 0, lambda row: row['per_second']),
    ('p50 ms', 2, lambda row: row['p50_us'] / 1e3),
    ('p99 ms', 2, lambda row: row['p99_us'] / 1e3),
    ('server CPU us per insert', 0, lambda row: row['server_cpu_us']),
]
TRACED = [
    ('journal bytes per insert', 0, 'bytes_per_commit', True),
    ('writes per insert', 2, 'writes_per_commit', True),
    ('syncs per insert', 2, 'syncs_per_commit', True),
    ('one sync, us', 0, 'sync_us_per_commit', False),
]


def measure_side(program, options, clients, traced, seconds, scratch):
    """One run on fresh data; returns its row."""
    folder = tempfile.mkdtemp(prefix='ab-', dir=scratch)
    runner = bench.Bench(os.path.dirname(program), folder, seconds)
    with server.Server(program, os.path.join(folder, 'db'), bench.COMMON + options) as running:
        row = (runner.measure_traced if traced else runner.measure_plain)(running, clients)
    shutil.rmtree(folder)
    return row


def measure(slug, arguments):
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    selections = {'base': staging.select(TOP, 'none').name,
                  'option': staging.select(TOP, arguments.selection).name}
    programs = {side: os.path.join(TOP, 'build', name, 'bin', 'mongod')
                for side, name in selections.items()}
    options = dict(zip(('base', 'option'), bench.sides(slug)))
    now = datetime.datetime.now(datetime.timezone.utc)
    result = {
        'slug': slug, 'time': now.isoformat('T', 'seconds'), 'host_class': arguments.host_class,
        'host': bench.host(scratch), 'patches': selections, 'options': options,
        'common_options': bench.COMMON, 'workload': 'insertOne of 200 bytes, j:true',
        'runs': arguments.runs, 'seconds': arguments.seconds, 'cells': []}
    bench.say('measuring the disk alone')
    tools = bench.Bench(os.path.join(TOP, 'build', 'none', 'bin'), scratch, arguments.seconds)
    result['floor'] = tools.floor()
    for clients in [int(number) for number in arguments.clients.split(',')]:
        cell = {'clients': clients, 'base': [], 'option': []}
        for number in range(arguments.runs + 1):
            traced = number == arguments.runs
            for side in ('base', 'option'):
                bench.say('%s: %d clients, %s, run %s'
                          % (slug, clients, side, 'under strace' if traced else number + 1))
                row = measure_side(programs[side], options[side], clients, traced,
                                   arguments.seconds, scratch)
                if traced:
                    cell[side + '_traced'] = row
                else:
                    cell[side].append(row)
        result['cells'].append(cell)
    return result


def change(before, after):
    return '%+.0f%%' % (100 * (after - before) / before) if before else '-'


def table(result):
    """The lines that a patch's header quotes."""
    host, floor = result['host'], result['floor']
    lines = [
        '%s, %d runs a side of %g s after 0.5 s, alternating, fresh data;'
        % (result['workload'], result['runs'], result['seconds']),
        'median (min..max). %d cores, %s, Linux %s.'
        % (host['cores'], host['file_system'], host['kernel'].split('-')[0]),
        'Base:   ' + ' '.join(result['options']['base']),
        'Option: ' + ' '.join(result['options']['option']),
        'Disk alone: one 4 KB durable overwrite %.2f ms (p99 %.2f), one 8 KB append %.2f ms.'
        % (floor['overwrite_4k']['p50_us'] / 1e3, floor['overwrite_4k']['p99_us'] / 1e3,
           floor['append_8k']['p50_us'] / 1e3), '']
    form = '    %-28s %-22s %-22s %s'
    for cell in result['cells']:
        lines.append(form % ('%d client%s' % (cell['clients'], 's' if cell['clients'] > 1 else ''),
                             'base', 'option', 'change'))
        for name, digits, value in METRICS:
            sides = [[value(row) for row in cell[side]] for side in ('base', 'option')]
            medians = [statistics.median(values) for values in sides]
            texts = ['%.*f (%.*f..%.*f)' % (digits, median, digits, min(values), digits,
                                            max(values))
                     for median, values in zip(medians, sides)]
            lines.append(form % ('  ' + name, *texts, change(*medians)))
        for name, digits, key, shared in TRACED:
            values = []
            for side in ('base', 'option'):
                row = cell[side + '_traced']
                values.append(row.get(key, 0) / (row['inserts_per_commit'] if shared else 1))
            lines.append(form % ('  ' + name, *['%.*f' % (digits, each) for each in values],
                                 change(*values)))
        lines.append('')
    return '\n'.join(line.rstrip() for line in lines[:-1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('slug', nargs='?', choices=sorted(bench.OPTIONS))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--clients', default='1,8,64')
    parser.add_argument('--selection', default='all', help='patches of the server with the option')
    parser.add_argument('--host-class', default='%dcore' % os.cpu_count())
    parser.add_argument('--table', metavar='RESULT.json')
    arguments = parser.parse_args()
    if arguments.table:
        with open(arguments.table, encoding='utf-8') as file:
            print(table(json.load(file)))
        return
    if not arguments.slug:
        sys.exit('ab.py: which patch? one of: ' + ' '.join(sorted(bench.OPTIONS)))
    result = measure(arguments.slug, arguments)
    folder = os.path.join(TOP, 'perf', 'results', result['time'][:10].replace('-', ''),
                          arguments.host_class)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, arguments.slug + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
        file.write('\n')
    print(table(result))
    print('\nThe figures are in ' + os.path.relpath(path, TOP))


if __name__ == '__main__':
    main()
