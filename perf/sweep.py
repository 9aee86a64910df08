#!/usr/bin/env python3
"""Question: how do durable inserts change with the commit interval, with clients, with the size of
a document, and with a device of its own for the journal?

Four sweeps, each varying one of them: base and full series (conf/durable.yaml without its interval,
where that is varied), in rounds on fresh data, with the disk alone before and after each cell.
    interval   journalCommitInterval 0 to 300 ms; 0 and 1 only the series takes; 8 clients
    clients    1 to 256; base at 2 ms, series
    bytes      of a document, 100 to 65536; 8 clients
    journal    beside the data, and on another device; 1 and 8 clients
Usage:    sweep.py [--what interval,clients,bytes,journal] [--seconds 0.4] [--rounds 5]
                   [--intervals 0,1,2,...] [--clients 1,2,4,...] [--bytes 100,...]
                   [--journal-folder DIR] [--device-delay MS]
          (./lab bench sweep builds what it needs)
          Ctrl-C ends it with what is measured so far.
Needs:    for `journal` a folder on another device than build/; without --journal-folder that is
          /dev/shm, which is memory. About four and a half minutes.
Columns:  as in ./lab run: "floor" is the share of the disk alone beside the cell, cpu us of server
          and client for an insert. One plot for each sweep.
Not for:  combinations: each sweep holds the rest still."""

import argparse
import functools
import os
import statistics
import tempfile
import textwrap

import cells
import claims
import experiment
import measuring
import plots
import write_concern

SWEEPS = ('interval', 'clients', 'bytes', 'journal')
INTERVALS = [0, 1, 2, 5, 10, 30, 100, 300]  # ms
BASE_INTERVAL_MIN, INTERVAL_MAX = 2, 300
CLIENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
BYTES = [100, 400, 1024, 4096, 16384, 65536]
FEW_CLIENTS = 8  # where clients are not varied
BYTES_USUAL = 200
BASE, SERIES = 'base', 'series'
COMMITS_MIN = 12  # in a cell, however long the interval is
SLEEPS_OF_INTERVAL = 3  # the journal thread looks at who waits after a third of the interval


class Cell:
    """One cell of a sweep: `x` is what is varied."""

    def __init__(self, sweep, name, x, server, clients, size=BYTES_USUAL, seconds_min=0):
        self.sweep, self.name, self.x = sweep, name, x
        self.server = server  # (selection, options, place of the journal)
        self.clients, self.size, self.seconds_min = clients, size, seconds_min


def profile_without_interval(folder):
    """conf/durable.yaml with the interval left to the command line."""
    with open(measuring.PROFILE[1], encoding='utf-8') as file:
        lines = [line for line in file if 'commitIntervalMs:' not in line]
    path = os.path.join(folder, 'durable-without-interval.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(lines)
    return ['--config', path]


def interval_cells(arguments, folder):
    open_profile = profile_without_interval(folder)
    for interval in arguments.intervals:
        words = ['--journalCommitInterval', str(interval)]
        seconds = COMMITS_MIN * interval / SLEEPS_OF_INTERVAL / 1e3
        if interval >= BASE_INTERVAL_MIN:
            yield Cell('interval', BASE, interval, ('none', words, write_concern.BESIDE),
                       FEW_CLIENTS, seconds_min=seconds)
        yield Cell('interval', SERIES, interval, ('all', open_profile + words,
                                                  write_concern.BESIDE),
                   FEW_CLIENTS, seconds_min=seconds)


def both(place=write_concern.BESIDE):
    return ((BASE + ', 2 ms', ('none', measuring.SHORT, place)),
            (SERIES, ('all', measuring.PROFILE, place)))


def cells_of(arguments, folder):
    """All cells; those of one server follow each other."""
    if 'interval' in arguments.what:
        yield from interval_cells(arguments, folder)
    for name, made in both():
        if 'clients' in arguments.what:
            for clients in arguments.clients:
                yield Cell('clients', name, clients, made, clients)
        if 'bytes' in arguments.what:
            for size in arguments.bytes:
                yield Cell('bytes', name, size, made, FEW_CLIENTS, size)
    if 'journal' in arguments.what:
        for place in (write_concern.BESIDE, write_concern.ELSEWHERE):
            if place == write_concern.ELSEWHERE and not arguments.elsewhere:
                continue
            for name, made in ((BASE + ', default', ('none', [], place)), *both(place)):
                for clients in (1, FEW_CLIENTS):
                    yield Cell('journal', '%s, %s' % (name, place), clients, made, clients)


def by_server(every):
    """[(server, cells)]: what needs the same server is measured on one."""
    groups = {}
    for cell in every:
        selection, options, place = cell.server
        groups.setdefault((selection, tuple(options), place), []).append(cell)
    return list(groups.items())


def measure_one(trial, running, cell, seconds):
    tools = measuring.Bench(experiment.PROGRAMS, trial.folder, max(seconds, cell.seconds_min),
                            experiment.WARMUP_SECONDS)
    return tools.measure_plain(running, cell.clients, ['insert', '--bytes', str(cell.size)])


def measure(trial, arguments):
    groups = by_server(cells_of(arguments, trial.folder))
    steps = sum(len(group) for _, group in groups)
    each = arguments.seconds + experiment.WARMUP_SECONDS + experiment.FLOOR_SECONDS + 0.1
    longer = sum(max(0, cell.seconds_min - arguments.seconds)
                 for _, group in groups for cell in group)
    planned = arguments.rounds * (steps * each + longer + len(groups) * experiment.START_SECONDS)
    progress = measuring.announced(planned, max(1, steps * arguments.rounds))
    for _, ((selection, options, place), group) in trial.rounds(arguments.rounds, groups):
        rung = '', selection, list(options), place, None
        where = arguments.elsewhere if place == write_concern.ELSEWHERE else None
        with trial.fresh() as dbpath, \
                write_concern.serve(rung, arguments.elsewhere, dbpath) as running:
            for cell in group:
                progress.step('%s, %s, %s' % (cell.sweep, cell.name, cell.x))
                run = trial.cell(functools.partial(measure_one, trial, running, cell,
                                                   arguments.seconds), where)
                add(trial.result['rows'], cell, run)


def add(rows, cell, run):
    for row in rows:
        if (row['sweep'], row['name'], row['x']) == (cell.sweep, cell.name, cell.x):
            break
    else:
        row = {'sweep': cell.sweep, 'name': cell.name, 'x': cell.x, 'clients': cell.clients,
               'bytes': cell.size, 'selection': cell.server[0], 'journal': cell.server[2],
               'options': [os.path.basename(word) if os.sep in word else word
                           for word in cell.server[1]], 'runs': []}
        rows.append(row)
    row['runs'].append(run)
    cells.summarize(row)


HEADS = '%-36s%9s  %9s  %-18s%8s%8s%6s%6s%6s%7s %s'
TITLES = {'interval': ('commit interval, ms; 8 clients', 'ms'),
          'clients': ('clients', 'clients'),
          'bytes': ('bytes of a document; 8 clients', 'bytes'),
          'journal': ('journal beside the data or elsewhere', 'clients')}


def table(result):
    lines = experiment.head(result)
    if result['journal_folder'] and result['journal_folder'].startswith(write_concern.MEMORY):
        lines.append('"elsewhere" is memory (%s).' % result['journal_folder'])
    for sweep in SWEEPS:
        rows = sorted((row for row in result['rows'] if row['sweep'] == sweep),
                      key=lambda row: (row['name'], row['x']))
        if not rows:
            continue
        title, unit = TITLES[sweep]
        lines += ['', 'Durable inserts by %s' % title, HEADS % (
            '', unit, 'inserts/s', 'least..most', 'p50 ms', 'p99 ms', 'srv', 'cli', 'cpus',
            'floor', '')]
        lines += [HEADS % (
            row['name'], row['x'], '%.0f' % row['per_second'],
            '%.0f..%.0f' % (row['per_second_min'], row['per_second_max']),
            '%.2f' % (row['p50_us'] / 1e3), '%.2f' % (row['p99_us'] / 1e3),
            '%.0f' % row['server_cpu_us'], '%.0f' % row['client_cpu_us'],
            '%.1f' % row['processors'], '%.0f%%' % (100 * row['share_of_floor']),
            cells.marks(row)) for row in rows]
    lines += ['', 'Medians of %s of %g s a cell; srv and cli: processor time for an insert, us.'
              % (experiment.plural(result['rounds'], 'round'), result['seconds']),
              'One round: how much a rate moves by itself is not known.' if result['rounds'] == 1
              else 'From round to round a rate moved by %.0f %% up or down.'
              % (100 * cells.noise(result['rows']))]
    for text in cells.explanations(result['rows']):
        lines += textwrap.wrap(text, experiment.WIDTH, subsequent_indent='   ')
    if result['no_journal_folder'] and 'journal' in result['what']:
        lines.append('Left out, the journal on another device: %s; --journal-folder names one.'
                     % result['no_journal_folder'])
    if 'journal' in result['what']:
        lines += claims.lines('sweep', result)
    return '\n'.join(line.rstrip() for line in lines)


def kilobytes(size):
    return '%g KB' % (size / 1024) if size >= 1024 and size % 1024 == 0 else '%g' % size


def draw(result, stem):
    paths = []
    floor = statistics.median(result['floors'])
    for sweep in SWEEPS:
        series = {}
        for row in result['rows']:
            if row['sweep'] == sweep:
                series.setdefault(row['name'], []).append(
                    (row['x'], row['per_second'], row['per_second_min'], row['per_second_max']))
        if series:
            title, unit = TITLES[sweep]
            paths.append(plots.lines(
                '%s-%s.svg' % (stem, sweep),
                plots.title_of('Durable inserts a second by ' + title, result), unit, 'inserts/s',
                series, floor, kilobytes if sweep == 'bytes' else '%g'.__mod__,
                log_y=sweep in ('interval', 'journal')))
    return paths


def make_parser():
    parser = measuring.parser(__doc__)
    def listed(values):
        return ','.join(map(str, values))
    parser.add_argument('--what', type=what_of, default=list(SWEEPS), metavar='SWEEP,...',
                        help='some of the sweeps (%s)' % listed(SWEEPS))
    measuring.add_turns(parser, 'cell', 0.4)
    parser.add_argument('--intervals', type=numbers(0, INTERVAL_MAX, 'milliseconds'),
                        default=INTERVALS, metavar='MS,...',
                        help='of the sweep interval (%s)' % listed(INTERVALS))
    parser.add_argument('--clients', type=measuring.clients, default=CLIENTS, metavar='N,...',
                        help='of the sweep clients (%s)' % listed(CLIENTS))
    parser.add_argument('--bytes', type=numbers(50, 1048576, 'bytes'),
                        default=BYTES, metavar='N,...',
                        help='of a document, of the sweep bytes (%s)' % listed(BYTES))
    parser.add_argument('--journal-folder', metavar='DIR',
                        help='a folder on another device than build/ (/dev/shm, which is memory)')
    measuring.add_device_delay(parser)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    with experiment.scratch('sweep-', arguments) as folder:
        elsewhere, why = write_concern.another_device(folder, arguments.journal_folder)
        if arguments.journal_folder and not elsewhere:
            parser.error('argument --journal-folder: ' + why)
        trial = experiment.Experiment(folder, arguments)
        trial.result.update(rows=[], journal_folder=elsewhere, no_journal_folder=why,
                            what=arguments.what, rounds=arguments.rounds, seconds=arguments.seconds)
        with tempfile.TemporaryDirectory(prefix='mongod-dur-', dir=elsewhere or folder) as beyond:
            arguments.elsewhere = elsewhere and beyond
            result = trial.run(functools.partial(measure, arguments=arguments))
    experiment.finish('sweep.py', result, result['rows'], table, 'sweep', draw)


def what_of(text):
    words = text.split(',')
    for word in words:
        if word not in SWEEPS:
            raise argparse.ArgumentTypeError("there is no sweep '%s'; there are %s"
                                             % (word, ', '.join(SWEEPS)))
    return words


def numbers(least, most, what):
    """A type for argparse: several, in their order."""
    one = measuring.large_count(least, most, what)
    return lambda text: sorted({one(word.strip()) for word in text.split(',')})


if __name__ == '__main__':
    main()
