#!/usr/bin/env python3
"""Question: what does each patch of the series change, alone, against the base?

For each patch: measures the disk alone, then durable inserts (j:true, 200 bytes) into a server of
the base and one built with this patch only, in turn, on fresh data each time; for each side one
more run under strace, for the journal's calls per commit. Prints the table that the patch's header
quotes: median (min..max), the change, and the noise band to hold it against.
Usage:    ab.py SLUG... [--runs 5] [--seconds 1] [--clients 1,8,64] [--host-class NAME]
          ab.py all --headers             all, and puts the new tables into patches/*.patch
          ab.py --table RESULT.json       prints the table of an earlier run
          (./lab bench SLUG... and ./lab bench all build the servers first)
Needs:    strace; 1 GB on the disk that holds build/. Takes 70 seconds for a patch.
Writes:   perf/results/<date>/<host class>/SLUG.json, under the time too when that exists already:
          results are never overwritten. With --scratch, build/results/ instead.
Overhead: rates, latencies and CPU time are taken without strace.
"""

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile

import ab_table
import measuring

import server
import staging

TOP = measuring.TOP
TOOLS = os.path.join(TOP, 'build', 'none', 'bin')

def measure_side(program, options, clients, traced, arguments, scratch):
    """One run on fresh data; returns its row."""
    folder = tempfile.mkdtemp(prefix='ab-', dir=scratch)
    runner = measuring.Bench(TOOLS, folder, arguments.seconds, arguments.warmup)
    with server.Server(program, os.path.join(folder, 'db'), measuring.COMMON + options) as running:
        row = (runner.measure_traced if traced else runner.measure_plain)(running, clients)
    shutil.rmtree(folder)
    return row


def measure(slug, arguments):
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    selections = {'base': staging.select(TOP, 'none').name,
                  'option': staging.select(TOP, slug).name}
    programs = {side: os.path.join(TOP, 'build', name, 'bin', 'mongod')
                for side, name in selections.items()}
    options = dict(zip(('base', 'option'), measuring.sides(slug)))
    now = datetime.datetime.now(datetime.timezone.utc)
    result = {
        'slug': slug, 'time': now.isoformat('T', 'seconds'), 'host_class': arguments.host_class,
        'host': measuring.host(scratch), 'patches': selections, 'options': options,
        'common_options': measuring.COMMON, 'workload': 'insertOne of 200 bytes, j:true',
        'runs': arguments.runs, 'seconds': arguments.seconds, 'warmup': arguments.warmup,
        'cells': []}
    measuring.say('measuring the disk alone')
    result['floor'] = measuring.Bench(TOOLS, scratch, arguments.seconds).floor()
    for clients in [int(number) for number in arguments.clients.split(',')]:
        cell = {'clients': clients, 'base': [], 'option': []}
        for number in range(arguments.runs + 1):
            traced = number == arguments.runs
            for side in ('base', 'option'):
                measuring.say('%s: %d clients, %s, run %s'
                          % (slug, clients, side, 'under strace' if traced else number + 1))
                row = measure_side(programs[side], options[side], clients, traced, arguments,
                                   scratch)
                if traced:
                    cell[side + '_traced'] = row
                else:
                    cell[side].append(row)
        result['cells'].append(cell)
    return result


def results_folder(root, host_class, slugs):
    """Where the results of this run go: one folder, named by the date, or by date and time when
    there are results of these patches already."""
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = os.path.join(root, now.strftime('%Y%m%d'), host_class)
    if any(os.path.exists(os.path.join(folder, slug + '.json')) for slug in slugs):
        folder = os.path.join(root, now.strftime('%Y%m%d-%H%M%S'), host_class)
    os.makedirs(folder, exist_ok=True)
    return folder


def write_result(result, folder):
    path = os.path.join(folder, result['slug'] + '.json')
    with open(path, 'x', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
        file.write('\n')
    return path


def put_into_header(result, path):
    patch = os.path.join(TOP, 'patches', result['slug'] + '.patch')
    with open(patch, encoding='utf-8') as file:
        text = file.read()
    text = ab_table.with_table(text, ab_table.table(result), os.path.relpath(path, TOP),
                               result['time'][:10])
    with open(patch, 'w', encoding='utf-8') as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('slugs', nargs='*', metavar='SLUG', help='or all')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=1)
    parser.add_argument('--warmup', type=float, default=0.3)
    parser.add_argument('--clients', default='1,8,64')
    parser.add_argument('--host-class', default='%dcore' % os.cpu_count())
    parser.add_argument('--headers', action='store_true', help='put the tables into the patches')
    parser.add_argument('--scratch', action='store_true', help='keep the results under build/')
    parser.add_argument('--table', metavar='RESULT.json')
    arguments = parser.parse_args()
    if arguments.table:
        with open(arguments.table, encoding='utf-8') as file:
            print(ab_table.table(json.load(file)))
        return
    slugs = arguments.slugs
    measurable = measuring.measurable()
    if slugs == ['all']:
        slugs = measurable
    if not slugs or set(slugs) - set(measurable):
        sys.exit('ab.py: which patch? all, or some of: ' + ' '.join(measurable))
    if arguments.headers and arguments.scratch:
        sys.exit('ab.py: a header names a result that is kept; leave out --scratch or --headers')
    root = os.path.join(TOP, 'build' if arguments.scratch else 'perf', 'results')
    folder = results_folder(root, arguments.host_class, slugs)
    for slug in slugs:
        result = measure(slug, arguments)
        path = write_result(result, folder)
        if arguments.headers:
            put_into_header(result, path)
        print('%s\n\nThe figures are in %s\n' % (ab_table.table(result),
                                                 os.path.relpath(path, TOP)))


if __name__ == '__main__':
    main()
