#!/usr/bin/env python3
"""Question: what does the insert benchmark of the article of 2014 write, here and now?

Rows with three secondary indexes (iibench.c) go into a server of the base: each row durable before
the next (sync, commits every 2 ms), acknowledged at once with a commit every 300 ms (lazy), and
without a journal; and into the full series with conf/durable.yaml, durable. They alternate, round
after round, each in an empty data directory, with the disk alone before and after. For each: the
columns of the article, medians of the rounds. Then, from a journal that a kill has left, where the
bytes of an insert come from.
Usage:    insert_benchmark.py [--rows 20000] [--rounds 5] [--clients 1] [--text 100]
          insert_benchmark.py --only series --rows 1e7 --rounds 1       some of them, grown large
          insert_benchmark.py --device-delay 8     on a disk whose flushes take 8 ms longer
          (./lab bench iibench builds what it needs)
          Ctrl-C ends it with what is measured so far.
Needs:    some 2 KB of disk for each row. The base makes some 700 durable rows a second.
Columns:  bytes/doc   of a row as it is sent
          device MB   written by the device from the first row to a full flush after the last one,
                      by its own counters: others' writes too, see the first line
          B/insert    the same for each row
          log B/insert   journal bytes for each row: before compression, compressed with framing,
                      and with padding. Counted by the server: the base is built with
                      journal-cumulative-stats, which changes nothing else
          data B/insert  what is left of B/insert without the journal: data files, pages written
                      again and again
Not for:  rates of small runs: the trees must outgrow the caches before the article's rates show.
"""

import argparse
import collections
import functools
import json
import os
import re
import subprocess

import experiment
import machine
import measuring

import server

STATS = 'journal-cumulative-stats'
COUNTED = ['--journalCumulativeStats']
RUNS = [  # name, selection, options, whether rows are durable
    ('base, sync', STATS, ['--journalCommitInterval', '2'] + COUNTED, True),
    ('base, lazy', STATS, ['--journalCommitInterval', '300'] + COUNTED, False),
    ('base, no journal', STATS, ['--nojournal'], False),
    ('series, sync', 'all', measuring.PROFILE, True),
]
SAMPLE_ROWS = 2000  # whose journal is taken apart
# Rows a second, roughly: only for what is said of the time left.
RATES = {'base, sync': 700, 'base, lazy': 15000, 'base, no journal': 12000, 'series, sync': 5000}
STARTING_SECONDS = 2
PROGRESS_ROWS = 100000  # from so many on a run says how far it is
SMALL_BYTES = 40    # of a write that is a header, a link or a count and no content


def iibench(running, rows, arguments, durable, progress=True):
    run = subprocess.run(
        [os.path.join(experiment.PROGRAMS, 'iibench'), '--uri', running.uri, '--clients',
         str(arguments.clients), '--text', str(arguments.text)]
        + ['--lazy'] * (not durable) + ['--progress'] * progress + [str(rows)],
        stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def totals(running):
    status = measuring.command(running, 'admin', {'serverStatus': 1})
    found = status.get('dur', {}).get('cumulativeStats', {})
    return {name: int(found.get(name, 0)) for name in
            ('journaledBytes', 'uncompressedBytes', 'paddingBytes', 'commits')}


def written(device):
    counters = machine.device_counters(machine.lines_of('/proc/diskstats'), device)
    return counters[1] if counters else None


def measure_run(run, arguments, trial):
    """One server, from empty to full."""
    _, selection, options, durable = run
    device = trial.result['device']
    with trial.fresh() as dbpath, \
            server.Server(measuring.program_of(selection), dbpath,
                          ['--bind_ip', '127.0.0.1'] + options) as running:
        os.sync()
        before, disk_before = totals(running), written(device)
        cpu_before = measuring.cpu_seconds(running.pid)[0]
        row = iibench(running, arguments.rows, arguments, durable,
                      arguments.rows >= PROGRESS_ROWS)
        row['server_cpu_us'] = 1e6 * (measuring.cpu_seconds(running.pid)[0] - cpu_before) / \
            row['rows']
        measuring.command(running, 'admin', {'fsync': 1})
        log = {key: (value - before[key]) / row['rows'] for key, value in totals(running).items()}
        if disk_before is not None:
            row['device_bytes'] = written(device) - disk_before
            row['data_bytes_per_insert'] = (row['device_bytes'] / row['rows']
                                            - log['journaledBytes'])
    row.update(log_raw=log['uncompressedBytes'], log_padded=log['journaledBytes'],
               log_compressed=log['journaledBytes'] - log['paddingBytes'],
               commits_per_insert=log['commits'])
    return row


def chosen(only):
    return [run for run in RUNS if not only or any(word.lower() in run[0].lower() for word in only)]


def measure(trial, arguments):
    """All that are asked for, alternating, the other way round in every second round."""
    runs = chosen(arguments.only)
    rows = {run[0]: {'name': run[0], 'runs': []} for run in runs}
    trial.result['lines'] += rows.values()
    planned = arguments.rounds * sum(arguments.rows / RATES[run[0]] + STARTING_SECONDS
                                     for run in runs)
    progress = measuring.Progress(planned, len(runs) * arguments.rounds)
    measuring.say('This takes about %s; Ctrl-C ends it with what is measured so far.'
                  % measuring.duration(planned))
    for number in range(arguments.rounds):
        for run in runs[::-1 if number % 2 else 1]:
            progress.step('%s, round %d of %d' % (run[0], number + 1, arguments.rounds))
            rows[run[0]]['runs'].append(
                trial.cell(functools.partial(measure_run, run, arguments, trial)))
    measuring.say('taking a journal apart')
    trial.result['sources'] = sources(arguments, trial)


WRITE = re.compile(r'^    write    (\S+) +@(\d+) +(\d+) bytes', re.M)


def kind_of(file, offset, size, extents):
    """What a journaled write was for."""
    if file.endswith('.ns'):
        return 'free lists, counts, roots of the trees (.ns)'
    if any(name == file and begin <= offset < begin + length for name, begin, length in extents):
        return ('record: header and document' if size > SMALL_BYTES else
                'links between records and free space')
    return ('trees: nodes and keys moved or written' if size > SMALL_BYTES else
            'trees: headers and counts of nodes')


def record_extents(running):
    """[(file, offset, bytes)] of the collection's own extents."""
    found = measuring.command(running, 'perf', {'validate': 'iibench', 'full': True})
    extents = []
    for each in found['extents']:
        number, offset = each['loc'].split(':')
        extents.append(('perf.%d' % int(number, 16), int(offset, 16), int(each['size'])))
    return extents


def sources(arguments, trial):
    """{kind: (bytes, writes) for each insert} of what a lone durable client journals."""
    with trial.fresh() as dbpath:
        with server.Server(measuring.program_of('none'), dbpath,
                           ['--bind_ip', '127.0.0.1', '--journalCommitInterval', '2']) as running:
            row = iibench(running, SAMPLE_ROWS, argparse.Namespace(**{**vars(arguments),
                                                                     'clients': 1}), True, False)
            extents = record_extents(running)
            running.kill()
        out = subprocess.run([os.path.join(experiment.PROGRAMS, 'journal_dump'), dbpath],
                             stdout=subprocess.PIPE, check=True, text=True).stdout
    return split_by_kind(out, extents, row['rows'])


def split_by_kind(dump, extents, rows):
    found = collections.defaultdict(lambda: [0, 0])
    for file, offset, size in WRITE.findall(dump):
        if not file.startswith('perf.'):
            continue
        each = found[kind_of(file, int(offset), int(size), extents)]
        each[0] += int(size)
        each[1] += 1
    return {kind: (size / rows, count / rows) for kind, (size, count) in found.items()}


HEADS = '%-18s%7s%9s  %-20s%9s%9s%7s  %8s%8s%8s%9s%6s'


def shown(runs, value, form='%.0f'):
    """The median of value(run); empty where no run has one."""
    found = experiment.middle([value(run) for run in runs])
    return '' if found is None else form % found


def cells_of(row):
    """The texts of a line."""
    def named(name, form='%.0f'):
        return shown(row['runs'], lambda run: run.get(name), form)

    def of_device(count):
        return lambda run: run.get('device_bytes') and run['device_bytes'] / count(run)

    return (row['name'], named('document_bytes'), named('seconds', '%.1f'),
            experiment.spread([run['per_second'] for run in row['runs']]),
            shown(row['runs'], of_device(lambda run: 1e6), '%.1f'),
            shown(row['runs'], of_device(lambda run: run['rows'])),
            shown(row['runs'], lambda run: run['document_bytes'] * run['per_second'] / 1e6, '%.2f'),
            named('log_raw'), named('log_compressed'), named('log_padded'),
            named('data_bytes_per_insert'), named('server_cpu_us'))


def table(result):
    lines = experiment.head(result) + [
        '', '%d rows, %s; %s, %s' % (result['rows'], experiment.plural(result['clients'], 'client'),
                                     result['host']['file_system'],
                                     'Linux ' + result['host']['kernel']), '',
        HEADS % ('', 'bytes', 'seconds', 'inserts/s', 'device', 'bytes', 'doc',
                 'log B', 'log B', 'log B', 'data B', 'cpu'),
        HEADS % ('', '/doc', '', 'median (min..max)', 'MB', '/insert', 'MB/s', 'raw', 'packed',
                 'padded', '/insert', 'us')]
    lines += [HEADS % cells_of(row) for row in result['lines'] if row['runs']]
    if result.get('sources'):
        lines += ['', 'What a lone durable client journals, in the base, after %d rows:'
                  % SAMPLE_ROWS, '%-46s%14s%16s' % ('', 'bytes/insert', 'writes/insert')]
        lines += ['%-46s%14.0f%16.1f' % (kind, size, count) for kind, (size, count) in
                  sorted(result['sources'].items(), key=lambda item: -item[1][0])]
    return '\n'.join(line.rstrip() for line in lines)


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rows', type=rows_of, default=20000)
    parser.add_argument('--rounds', type=measuring.count, default=5)
    parser.add_argument('--clients', type=measuring.count, default=1)
    parser.add_argument('--text', type=measuring.count, default=100)
    parser.add_argument('--only', type=lambda text: text.split(','), default=(),
                        metavar='NAME,...', help='runs whose names contain one of these')
    measuring.add_device_delay(parser)
    return parser


def main():
    arguments = make_parser().parse_args()
    measuring.check_only(arguments.only, [run[0] for run in RUNS])
    with experiment.scratch('iibench-', arguments) as folder:
        trial = experiment.Experiment(folder, arguments)
        trial.result.update(lines=[], sources={}, rows=arguments.rows, clients=arguments.clients,
                            rounds=arguments.rounds)
        result = trial.run(functools.partial(measure, arguments=arguments))
    experiment.finish('insert_benchmark.py', result, any(row['runs'] for row in result['lines']),
                      table, 'iibench')


def rows_of(text):
    """For argparse."""
    return measuring.large_count(text, 100, 10 ** 9, 'rows')


if __name__ == '__main__':
    main()
