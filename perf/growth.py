#!/usr/bin/env python3
"""Question: what does a durable insert cost as the collection grows, up to indexes that are larger
than memory?

The rows of the insert benchmark with their three secondary indexes (iibench.c). At 10,000 rows,
30,000, 100,000 and so on up to --rows: base and full series first grow to there with answers that
wait for nothing, then alternate with --sample durable rows each, round after round, with the disk
alone before and after. A sample ends with a full flush, so that its bytes are all there.
Usage:    growth.py [--rows 300000] [--sample 500] [--rounds 5] [--clients 1] [--memory MB]
          (./lab bench growth builds what it needs)
          Ctrl-C ends it with what is measured so far.
--memory: each server gets no more than that, pages of files included, so that its trees outgrow
          their memory soon: --memory 256 --rows 1e6. Private pages of the base count until they are
          remapped, so 128 is too little for a quick disk.
Needs:    some 1 KB of disk for each row and server; two minutes for 300,000 rows on a quick disk,
          for more of them longer in proportion and then, behind the memory, beyond it. With --rows
          1e8 it is a day's work.
Columns:  files MB, index MB    data files as the disk has them, and all indexes; "x memory" is the
                    files' share of the memory: above 1 they no longer fit
          grown/s   rows a second while growing, without waiting for the disk
          log B     journal bytes for a durable row: before compression, and on the disk
          device B  written by the device for a durable row with the flush after them: others' too
Not for:  small differences: a sample is short."""

import contextlib
import json
import os
import statistics
import subprocess
import sys

import experiment
import insert_benchmark
import measuring
import memory_group
import plots

import server

FIRST_POINT = 10000
GROWN_PER_SECOND = 20000  # for the guess of the time left
DURABLE_PER_SECOND = 500
RUNS = [(name, selection, options) for name, selection, options, durable in insert_benchmark.RUNS
        if durable]


def points(rows):
    """10,000, 30,000, 100,000 and so on, and last the number itself."""
    found, step = [], FIRST_POINT
    while step < rows:
        found += [point for point in (step, 3 * step) if point < rows]
        step *= 10
    return found + [rows]


class Growing:
    """A server with a collection that grows."""

    def __init__(self, name, running):
        self.name, self.running, self.rows = name, running, 0

    def insert(self, count, clients, durable):
        """What iibench prints; with the server's processor time for a row."""
        before = measuring.cpu_seconds(self.running.pid)[0]
        run = json.loads(subprocess.run(
            [os.path.join(experiment.PROGRAMS, 'iibench'), '--uri', self.running.uri, '--clients',
             str(clients), '--from', str(self.rows)] + ['--lazy'] * (not durable) + [str(count)],
            stdout=subprocess.PIPE, check=True).stdout)
        self.rows += count
        run['server_cpu_us'] = 1e6 * (measuring.cpu_seconds(self.running.pid)[0] - before) / count
        return run

    def flush(self):
        measuring.command(self.running, 'admin', {'fsync': 1})

    def sizes(self):
        found = measuring.command(self.running, 'perf', {'collStats': 'iibench'})
        return {'data_bytes': int(found['size']), 'index_bytes': int(found['totalIndexSize'])}

    def sample(self, count, clients, device):
        """Durable rows with all that they write."""
        before = insert_benchmark.totals(self.running)
        disk_before = insert_benchmark.written(device)
        run = self.insert(count, clients, True)
        self.flush()
        after = insert_benchmark.totals(self.running)
        run['log_raw'] = (after['uncompressedBytes'] - before['uncompressedBytes']) / count
        run['log_bytes'] = (after['journaledBytes'] - before['journaledBytes']) / count
        if disk_before is not None:
            run['device_bytes'] = (insert_benchmark.written(device) - disk_before) / count
        return run


def memory_bytes():
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')


def kind_of_server(stack, megabytes):
    """A class of servers that have no more memory than that; 0: as much as there is."""
    if not megabytes:
        return server.Server
    group = memory_group.Group(megabytes << 20)
    stack.callback(group.close)
    return group.server()


def measure(trial, arguments):
    every = points(arguments.rows)
    planned = len(RUNS) * (arguments.rows / GROWN_PER_SECOND + len(every) * arguments.rounds * (
        0.5 + arguments.sample / DURABLE_PER_SECOND))
    progress = measuring.announced(planned, len(every) * len(RUNS) * (arguments.rounds + 1))
    with contextlib.ExitStack() as stack:
        growing = [Growing(name, stack.enter_context(kind_of_server(stack, arguments.memory)(
            measuring.program_of(selection), os.path.join(trial.folder, name.replace(', ', '-')),
            ['--bind_ip', '127.0.0.1'] + options))) for name, selection, options in RUNS]
        for point in every:
            rows = {}
            for each in growing:
                progress.step('%s, growing to %d rows' % (each.name, point))
                grown = each.insert(max(1, point - each.rows), arguments.clients, False)
                each.flush()
                rows[each.name] = {'name': each.name, 'rows': point, 'grown': grown, 'runs': [],
                                   **each.sizes()}
                trial.result['lines'].append(rows[each.name])
            for number in range(arguments.rounds):
                trial.look_at_others()
                for each in growing[number % 2:] + growing[:number % 2]:
                    progress.step('%s, %d rows, round %d of %d' % (each.name, point, number + 1,
                                                                   arguments.rounds))
                    rows[each.name]['runs'].append(trial.cell(lambda each=each: each.sample(
                        arguments.sample, arguments.clients, trial.result['device'])))


HEADS = '%-14s%11s%8s%8s%9s%8s%7s  %-20s%7s%7s%8s%8s%9s'


def figure(runs, name):
    value = experiment.middle([run.get(name) for run in runs])
    return '' if value is None else '%.0f' % value


def table(result):
    lines = experiment.head(result) + [
        '', '%s, samples of %d rows.' % (experiment.plural(result['clients'], 'client'),
                                        result['sample']), '',
        HEADS % ('', 'rows', 'data', 'index', 'x', 'grown', 'cpu', 'durable rows/s', 'p99',
                 'cpu', 'log B', 'log B', 'device'),
        HEADS % ('', '', 'MB', 'MB', 'memory', '/s', 'us', 'median (min..max)', 'ms', 'us', 'raw',
                 'written', 'B')]
    for row in result['lines']:
        runs = row['runs']
        if not runs:
            continue
        lines.append(HEADS % (
            row['name'], row['rows'], '%.0f' % (row['data_bytes'] / 1e6),
            '%.0f' % (row['index_bytes'] / 1e6),
            '%.3f' % ((row['data_bytes'] + row['index_bytes']) / result['memory_bytes']),
            '%.0f' % row['grown']['per_second'], '%.0f' % row['grown']['server_cpu_us'],
            experiment.spread([run['per_second'] for run in runs]),
            '%.2f' % (statistics.median(run['p99_us'] for run in runs) / 1e3),
            figure(runs, 'server_cpu_us'), figure(runs, 'log_raw'), figure(runs, 'log_bytes'),
            figure(runs, 'device_bytes')))
    lines += ['', 'cpu: of the server, us for a row. %s %.1f GB of memory.' % (
        'Each server may use' if result.get('limited') else 'This machine has',
        result['memory_bytes'] / 1e9)]
    return '\n'.join(line.rstrip() for line in lines)


PLOTS = [('rate', 'Durable rows a second by rows that are there', 'rows/s', 'per_second'),
         ('cpu', 'Processor time of the server for a durable row', 'us', 'server_cpu_us'),
         ('bytes', 'Bytes written by the device for a durable row', 'bytes', 'device_bytes'),
         ('log', 'Journal bytes for a durable row, before compression', 'bytes', 'log_raw')]


def draw(result, stem):
    paths = []
    for kind, title, unit, name in PLOTS:
        series = {}
        for row in result['lines']:
            values = [run[name] for run in row['runs'] if name in run]
            if values:
                series.setdefault(row['name'], []).append(
                    (row['rows'], statistics.median(values), min(values), max(values)))
        if series:
            paths.append(plots.lines('%s-%s.svg' % (stem, kind), plots.title_of(title, result),
                                     'rows', unit, series))
    return paths


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--rows', type=insert_benchmark.ROWS, default=300000, metavar='N',
                        help='to which the collections grow, e.g. 1e7 (%(default)s)')
    parser.add_argument('--sample', type=measuring.large_count(10, 1000000, 'rows'), default=500,
                        metavar='N', help='durable rows at each size (%(default)s)')
    parser.add_argument('--rounds', type=measuring.count, default=5, metavar='N',
                        help='samples at each size (%(default)s)')
    parser.add_argument('--clients', type=measuring.count, default=1, metavar='N',
                        help='of the samples (%(default)s)')
    parser.add_argument('--memory', type=measuring.large_count(64, 1 << 20, 'MB'), default=0,
                        metavar='MB', help='that each server gets, by a control group (no limit)')
    measuring.add_device_delay(parser)
    return parser


def main():
    arguments = make_parser().parse_args()
    try:
        experiment.conduct('growth', arguments, measure, experiment.has_lines, table, draw,
                           fields='rows sample clients rounds', lines=[],
                           limited=arguments.memory > 0,
                           memory_bytes=arguments.memory << 20 or memory_bytes())
    except memory_group.NoGroup as reason:
        sys.exit('growth.py: argument --memory: ' + str(reason))


if __name__ == '__main__':
    main()
