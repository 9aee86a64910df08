#!/usr/bin/env python3
"""Question: how long does an insert take with each write concern, and is it the device that makes
j: true three times as slow with the journal beside the data?

The experiment of the article of 2013 in Python: single inserts of a lone client with w:0, w:1 and
j:1 into the base at its default settings, the journal beside the data and on another device; then
into the full series with conf/durable.yaml. Through pymongo, as then, and through the C client.
In each round every cell once on fresh data, --inserts of them, with the disk alone before and
after; the first round has each cell once more with --long of them, for the plots. Two servers more
tell interval from device: an interval of 30 ms beside the data, one of 100 ms on the other device.
With --replicas the other half of the article: a set of four members in two places, whose lines have
its round trips of 0.864 and 71.187 ms, with w:2 and w:3 too, and several clients at once.
Usage:    write_concern.py [--inserts 200] [--long 20000] [--rounds 5] [--long-seconds 10]
                           [--journal-folder DIR] [--device-delay MS]
          write_concern.py --replicas [--inserts 200] [--rounds 2] [--clients 1,8,64]
                           [--concerns w:0,w:1,j:1,w:2,w:3] [--device-delay MS]
          (./lab bench write-concern builds what it needs)
          Ctrl-C ends it with what is measured so far.
Needs:    a folder on another device than build/. Without --journal-folder it is /dev/shm, which is
          memory: that shows what the place of the journal does to the interval, and not what
          another disk does. Takes about four minutes.
          --replicas: root, network namespaces and TUN (perf/delay_router.c says why); about twelve
          minutes. The four members share the processors and the disk of this machine.
Columns:  average   of the rounds: their median, with the least and the greatest
          least, p50, most    of all inserts of all rounds
          flush     of 4 KB by the journal's device alone, beside the cells
          cpu us    of an insert: server, client
          --replicas: lines, how many round trips of the line that it waits for an insert takes
Not for:  rates of many clients (./lab run)."""

import argparse
import contextlib
import functools
import os
import statistics
import tempfile
import textwrap

import claims
import experiment
import measuring
import plots
import replicas
import single_inserts

import server

BESIDE, ELSEWHERE = 'beside', 'elsewhere'
CONCERNS = ('w:0', 'w:1', 'j:1')
CLIENTS = ('pymongo', 'C')
MEMORY = '/dev/shm'
BASE_HERE, BASE_THERE = 'base', 'base, journal on another device'
SHORT_HERE, LONG_THERE = 'base, 30 ms', 'base, 100 ms, journal on another device'
SERVERS = [  # name, selection, options, where the journal lies, cells
    (BASE_HERE, 'none', [], BESIDE, [(client, concern) for client in CLIENTS
                                     for concern in CONCERNS]),
    (BASE_THERE, 'none', [], ELSEWHERE, [(client, concern) for client in CLIENTS
                                         for concern in CONCERNS]),
    (SHORT_HERE, 'none', ['--journalCommitInterval', '30'], BESIDE, [('C', 'j:1')]),
    (LONG_THERE, 'none', ['--journalCommitInterval', '100'], ELSEWHERE, [('C', 'j:1')]),
    ('conf/durable.yaml', 'all', measuring.PROFILE, BESIDE,
     [(client, concern) for client in CLIENTS for concern in CONCERNS]),
]
# For the guess of the time left, ms: what an insert takes.
EXPECTED_MS = {BASE_HERE: 35, BASE_THERE: 11.3, SHORT_HERE: 11.5, LONG_THERE: 35}
STRETCHES = 500  # of a long run
ALIKE = 0.25  # of the difference that is to be explained


def thinned(run):
    """A long run with two latencies kept of each `stretch` in a row, the least and the greatest: as
    many as a plot can show, and a result that is not megabytes."""
    latencies = run['latencies_us']
    stretch = max(2, -(-len(latencies) // STRETCHES))
    rows = [latencies[at:at + stretch] for at in range(0, len(latencies), stretch)]
    return dict(run, stretch=stretch,
                latencies_us=[each for row in rows for each in (min(row), max(row))])


def another_device(folder, asked):
    """(a folder for the journal on another device than `folder`, a sentence why there is none)."""
    candidate = asked or MEMORY
    if not (os.path.isdir(candidate) and os.access(candidate, os.W_OK)):
        return None, "'%s' is no folder that can be written to" % candidate
    if os.stat(candidate).st_dev == os.stat(folder).st_dev:
        return None, ("'%s' lies on the same device as the data in '%s'" % (candidate, folder))
    return os.path.abspath(candidate), ''


@contextlib.contextmanager
def serve(rung, elsewhere, dbpath):
    """A server whose journal lies where it shall."""
    _, selection, options, place, _ = rung
    options = measuring.COMMON + options
    with contextlib.ExitStack() as stack:
        if place == ELSEWHERE:
            journal = stack.enter_context(tempfile.TemporaryDirectory(dir=elsewhere))
            os.makedirs(dbpath)
            os.symlink(journal, os.path.join(dbpath, 'journal'))
            options = options + ['--setParameter', 'followJournalLink=1']
        yield stack.enter_context(server.Server(measuring.program_of(selection), dbpath, options))


def rows_of(result):
    return {(row['server'], row['client'], row['concern']): row for row in result['rows']}


def add(result, rung, client, concern, run, long):
    row = rows_of(result).get((rung[0], client, concern))
    if row is None:
        row = {'server': rung[0], 'client': client, 'concern': concern, 'journal': rung[3],
               'selection': rung[1], 'runs': [], 'long': None}
        row['options'] = [word.replace(measuring.TOP + os.sep, '') for word in rung[2]]
        result['rows'].append(row)
    if long:
        row['long'] = thinned(run)
    else:
        row['runs'].append(run)


def visit(trial, rung, arguments, progress, first):
    name, _, _, place, cells = rung
    where = arguments.elsewhere if place == ELSEWHERE else None
    with trial.fresh() as dbpath, serve(rung, arguments.elsewhere, dbpath) as running:
        for client, concern in cells:
            for long in (False, True) if first else (False,):
                progress.step('%s, %s, %s%s' % (name, client, concern, ', long' * long))
                count = arguments.long if long else arguments.inserts
                limit = arguments.long_seconds if long else 3600
                run = trial.cell(functools.partial(single_inserts.run, running, client, concern,
                                                   count, limit), where)
                add(trial.result, rung, client, concern, run, long)


def seconds_of(rungs, arguments):
    """A guess."""
    whole = 0
    for name, _, _, _, cells in rungs:
        for client, concern in cells:
            each = (EXPECTED_MS.get(name, 0.4) if concern == 'j:1' else
                    0.15 if client == 'C' else 0.3) / 1e3
            start_of_client = 0.1 if client == 'C' else 0.4
            whole += arguments.rounds * (each * arguments.inserts + start_of_client + 0.15)
            whole += min(arguments.long_seconds, each * arguments.long) + start_of_client
        whole += arguments.rounds * 0.4
    return whole


def measure(trial, arguments):
    rungs = [rung for rung in SERVERS if rung[3] == BESIDE or arguments.elsewhere]
    steps = sum(len(rung[4]) for rung in rungs) * (arguments.rounds + 1)
    progress = measuring.announced(seconds_of(rungs, arguments), steps)
    for number, rung in trial.rounds(arguments.rounds, rungs):
        visit(trial, rung, arguments, progress, number == 0)


def all_of(row):
    return [each for run in row['runs'] for each in run['latencies_us']]


def flush_ms(row):
    """Of the journal's device alone, beside the cells of a row."""
    return 1e3 / statistics.median(rate for run in row['runs']
                                   for rate in (run['floor_before'], run['floor_after']))


def cpu_us(row, name):
    """Of an insert, over all rounds: the kernel counts in ticks of 10 ms."""
    return (sum(run[name] * run['inserts'] for run in row['runs'])
            / sum(run['inserts'] for run in row['runs']))


def middle_ms(row):
    return statistics.median(all_of(row)) / 1e3


def explanation(result):
    """Why j:1 takes so much less with the journal on another device: a paragraph of what was
    measured."""
    rows = rows_of(result)
    four = [rows.get((name, 'C', 'j:1')) for name in (BASE_HERE, BASE_THERE, SHORT_HERE,
                                                      LONG_THERE)]
    if not all(four):
        return ('What j:1 takes is not explained here: that needs a journal on another device '
                'too%s.' % (' (%s)' % result['no_journal_folder']
                            if result['no_journal_folder'] else ''))
    here, there, short_here, long_there = map(middle_ms, four)
    flush_here, flush_there = flush_ms(four[0]), flush_ms(four[1])
    difference = here - there
    text = ('With j:1 an insert takes %.1f ms in the middle with the journal beside the data and '
            '%.1f ms with it on another device (%s), %.1f ms %s. A flush alone takes %.2f ms '
            'beside the data and %.2f ms there'
            % (here, there, result['journal_folder'], abs(difference),
               'less' if difference >= 0 else 'more', flush_here, flush_there))
    share = (flush_here - flush_there) / difference if difference > 0 else 0
    # Above all of it, or below nothing, it explains nothing: the disk changed in between.
    text += (': that is %.0f %% of the difference.' % (100 * share)
             if difference > 0 and 0 <= share <= 1 else '.')
    text += (' With the interval given, the places change over: %.1f ms beside the data at 30 ms, '
             '%.1f ms on the other device at 100 ms.' % (short_here, long_there))
    same = (difference > 0 and abs(short_here - there) < ALIKE * difference
            and abs(long_there - here) < ALIKE * difference and abs(share) < ALIKE)
    if same:
        text += (' So it is the interval and not the device: where none is given it is 100 ms, and '
                 '30 ms when the journal lies on another device than the data, and the journal '
                 'thread sleeps a third of it and 1 ms before it looks at who waits: 34 ms, or 11. '
                 'The 34 and 11 ms of the article fit these two, whatever its disks were.')
    else:
        text += (' These figures do not show that the interval alone is the reason; on a quiet '
                 'machine and a device whose flush takes less than a few ms they should.')
    return text


HEADS = '%-40s%-9s%-8s%-22s%8s%8s%9s%9s%7s%7s'


def table(result):
    lines = experiment.head(result)
    if result['no_journal_folder']:
        lines += textwrap.wrap('Left out, the journal on another device: %s; --journal-folder names'
                               ' one.' % result['no_journal_folder'], experiment.WIDTH)
    elif result['journal_folder'].startswith(MEMORY):
        lines += textwrap.wrap('The other device is memory (%s): it shows the interval, and not '
                               'what another disk does.' % result['journal_folder'],
                               experiment.WIDTH)
    lines += ['', 'Single inserts of %d bytes, ms; %d in each of %s.' % (
        result['document_bytes'], result['inserts'],
        experiment.plural(result['rounds'], 'round')), '',
              HEADS % ('server', 'concern', 'client', 'average', 'least', 'p50', 'most', 'flush',
                       'cpu us', '')]
    for row in sorted((row for row in result['rows'] if row['runs']), key=order):
        every = sorted(all_of(row))
        lines.append(HEADS % (
            row['server'], row['concern'], row['client'],
            experiment.spread([run['mean_us'] / 1e3 for run in row['runs']], '%.3f'),
            '%.3f' % (every[0] / 1e3), '%.3f' % (statistics.median(every) / 1e3),
            '%.2f' % (every[-1] / 1e3), '%.3f' % flush_ms(row),
            '%.0f' % cpu_us(row, 'server_cpu_us'), '%.0f' % cpu_us(row, 'client_cpu_us')))
    longs = [row for row in result['rows'] if row['long']]
    if longs:
        lines += ['', 'Once %d in a row, or as many as %g s are enough for:'
                  % (result['long'], result['long_seconds']), '',
                  HEADS % ('server', 'concern', 'client', 'average', 'least', 'p50', 'most',
                           'inserts', 'cpu us', '')]
        for row in sorted(longs, key=order):
            run = row['long']
            lines.append(HEADS % (
                row['server'], row['concern'], row['client'], '%.3f' % (run['mean_us'] / 1e3),
                '%.3f' % (run['least_us'] / 1e3), '%.3f' % (run['p50_us'] / 1e3),
                '%.2f' % (run['most_us'] / 1e3), run['inserts'],
                '%.0f' % run['server_cpu_us'], '%.0f' % run['client_cpu_us']))
    lines += [''] + textwrap.wrap(explanation(result), experiment.WIDTH)
    lines += claims.lines('write-concern', result)
    return '\n'.join(line.rstrip() for line in lines)


def order(row):
    return ([rung[0] for rung in SERVERS].index(row['server']), CONCERNS.index(row['concern']),
            CLIENTS.index(row['client']))


def draw(result, stem):
    """A plot of the short runs of the first round and one of the long runs for each client."""
    paths = []
    for client in CLIENTS:
        for kind, pick in (('short', lambda row: row['runs'] and row['runs'][0]),
                           ('long', lambda row: row['long'])):
            shown = [row for row in sorted(result['rows'], key=order)
                     if row['client'] == client and pick(row)]
            if not shown:
                continue
            count = result['inserts'] if kind == 'short' else result['long']
            title = '%s inserts, %s' % (format(count, ','), client)
            if kind == 'long':
                title += ': least and greatest of stretches'
            paths.append(plots.dots('%s-%s-%s.svg' % (stem, client, kind),
                                    plots.title_of(title, result), 'insert', 'ms',
                                    {'%s, %s' % (row['server'], row['concern']): points(pick(row))
                                     for row in shown}))
    return paths


def points(run):
    """(the number of the insert, its ms) for each latency of a run that is kept."""
    stretch = run.get('stretch')
    return [(1 + (number // 2 * stretch if stretch else number), each / 1e3)
            for number, each in enumerate(run['latencies_us'])]


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--inserts', type=measuring.count, default=200, metavar='N',
                        help='in each cell of each round (%(default)s, as the article had)')
    parser.add_argument('--long', type=measuring.large_count(1, 1000000, 'inserts'),
                        default=20000, metavar='N',
                        help='in one more run of each cell, for the plots (%(default)s)')
    parser.add_argument('--rounds', type=measuring.count, metavar='N',
                        help='how often each server has its turn (5; with --replicas 2)')
    parser.add_argument('--long-seconds', type=measuring.seconds, default=10, metavar='S',
                        help='at most, of each run of --long inserts (%(default)s)')
    parser.add_argument('--journal-folder', metavar='DIR',
                        help='a folder on another device than build/ (/dev/shm, which is memory)')
    parser.add_argument('--replicas', action='store_true',
                        help='a set of four members in two places, and w:2 and w:3')
    parser.add_argument('--clients', type=measuring.clients, metavar='N,...',
                        help='with --replicas: so many at once (1,8,64)')
    parser.add_argument('--concerns', type=concerns_of, metavar='WHICH,...',
                        help='with --replicas: only these (%s)' % ','.join(replicas.CONCERNS))
    measuring.add_device_delay(parser)
    return parser


def check(parser, arguments):
    """Ends where an option is for the other kind; fills in what depends on the kind."""
    for name, is_for in (('clients', True), ('concerns', True), ('journal_folder', False)):
        if getattr(arguments, name) and arguments.replicas != is_for:
            parser.error('argument --%s: it is %s --replicas'
                         % (name.replace('_', '-'), 'for' if is_for else 'not for'))
    arguments.rounds = arguments.rounds or (2 if arguments.replicas else 5)
    arguments.clients = arguments.clients or [1, 8, 64]
    arguments.concerns = arguments.concerns or replicas.CONCERNS


def concerns_of(text):
    found = text.split(',')
    for each in found:
        if each not in replicas.CONCERNS:
            raise argparse.ArgumentTypeError("there is no '%s' here; there are %s"
                                             % (each, ', '.join(replicas.CONCERNS)))
    return found


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    check(parser, arguments)
    if arguments.replicas:
        replicas.run(arguments)
        return
    with experiment.scratch('write-concern-', arguments) as folder:
        elsewhere, why = another_device(folder, arguments.journal_folder)
        if arguments.journal_folder and not elsewhere:
            parser.error('argument --journal-folder: ' + why)
        if why:
            measuring.say('left out, the journal on another device: ' + why)
        trial = experiment.Experiment(folder, arguments)
        trial.result.update(rows=[], journal_folder=elsewhere, no_journal_folder=why,
                            inserts=arguments.inserts, long=arguments.long, document_bytes=200,
                            long_seconds=arguments.long_seconds, rounds=arguments.rounds)
        with tempfile.TemporaryDirectory(prefix='mongod-dur-', dir=elsewhere or folder) as beyond:
            arguments.elsewhere = elsewhere and beyond
            result = trial.run(functools.partial(measure, arguments=arguments))
    experiment.finish('write_concern.py', result, any(row['runs'] for row in result['rows']), table,
                      'write-concern', draw)


if __name__ == '__main__':
    main()
