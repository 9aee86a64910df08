#!/usr/bin/env python3
"""Question: how fast are durable inserts, what does each option of the patches change, and what
could the disk do?

Measures what a flush costs, then the ladder: inserts with j:true from 1, 8 and 64 clients into a
server of the base at the default commit interval and at 2 ms, into the full series with each option
alone, and with conf/durable.yaml, which turns on all that help. The servers alternate, round after
round, on fresh data, with the disk alone measured before and after each cell; the first round has
each cell once more under strace for the journal's system calls. At last that profile once more with
client and server on one core, which leaves out what waking a thread on another core costs. Prints a
table, whose first lines say whether the machine was quiet enough; writes build/results/<time>.json
and an HTML report.
Usage:    run.py [--seconds 0.5] [--rounds 5] [--clients 1,8,64]  (./lab run builds both servers)
          run.py --server 'NAME=PATH OPTIONS'                     another mongod as a rung of its
                                                                  own, e.g. one of ./lab port
          run.py --device-delay 8         the same on a disk whose flushes take 8 ms longer
          Ctrl-C ends it with what is measured so far.
Needs:    strace; 1 GB on the disk that holds build/. Takes about five minutes.
Overhead: rates and latencies are taken without strace; the columns under "traced" come from a
          run of its own that strace slows.
Not for:  telling small effects from noise: ./lab bench SLUG compares in pairs."""

import functools
import os
import statistics
import sys
import textwrap

import any_server
import cells
import claims
import experiment
import halts
import ladder
import machine
import measuring
import plots
import server
import staging

TOP = measuring.TOP
WIDTH = 110
FLUSH_SECONDS = 0.15  # of each cell of the table of flushes
ONE_CORE_FLOOR_SECONDS = 0.3

# Name in the table, patches of the server, options.
LADDER = [('base, default', 'none', []), ('base, 2 ms', 'none', measuring.SHORT)]
LADDER += [(' '.join(measuring.option_of(slug)[0]).lstrip('-'), 'all', measuring.sides(slug)[1])
           for slug in measuring.measurable()]
LADDER += [('conf/durable.yaml', 'all', measuring.PROFILE)]

WIDTHS = '%-32s%4s %9s %13s %6s %6s %4s %4s %4s %4s %6s %-5s|'
TRACED_WIDTHS = ' %5s %5s %5s'
HEADS = ('%-32s%37s%14s%23s%11s%s' % ('', '', 'latency, ms', 'cpu us per insert', '',
                                     '      | traced, per insert'),
         WIDTHS % ('server', 'cli.', 'inserts/s', 'least..most', 'p50', 'p99', 'srv', 'cli',
                   'krnl', 'cpus', 'floor', '') + TRACED_WIDTHS % ('bytes', 'write', 'sync'))


def line(row):
    """A row of the table. What a run that was interrupted has not got is left out."""
    text = WIDTHS % (row['name'], row['clients'], '%.0f' % row['per_second'],
                     '%.0f..%.0f' % (row['per_second_min'], row['per_second_max']),
                     '%.2f' % (row['p50_us'] / 1e3), '%.2f' % (row['p99_us'] / 1e3),
                     '%.0f' % row['server_cpu_us'], '%.0f' % row['client_cpu_us'],
                     '%.0f%%' % (100 * row['kernel_share']), '%.1f' % row['processors'],
                     '%.0f%%' % (100 * row['share_of_floor']), cells.marks(row))
    if row.get('traced'):
        text += TRACED_WIDTHS % ('%.0f' % row['bytes_per_insert'],
                                 '%.2f' % row['writes_per_insert'],
                                 '%.2f' % row['syncs_per_insert'])
    return text


def flush_lines(costs):
    """What a flush costs, as a table."""
    depths = list(dict.fromkeys(cell['depth'] for cell in costs))
    yield ('%-45s' % 'What a flush of 4 KB costs: p50 ms (writes/s)'
           + ''.join('%18s' % ('%d at once' % depth if depth > 1 else 'one by one')
                     for depth in depths))
    for append in (False, True):
        for direct in (True, False):
            found = [cell for cell in costs if (cell['append'], cell['direct']) == (append, direct)]
            name = '  O_DSYNC %s, %s' % ('append' if append else 'overwrite',
                                         'O_DIRECT' if direct else 'through the page cache')
            yield '%-45s' % name + ''.join(
                '%18s' % ('%.3f (%.0f)' % (cell['p50_us'] / 1e3, cell['per_second']))
                for cell in found)


def one_core_text(one):
    floors = ', '.join('%s from core %s' % (plots.number(rate), core)
                       for core, rate in sorted(one['floors'].items()))
    share = one['share_of_floor']
    return ('On one core, where no thread wakes another one across cores: the disk alone makes so '
            'many durable 4 KB overwrites a second: %s. With %s beside the server on core %s, '
            'conf/durable.yaml makes %s inserts a second (p50 %s ms), %s.'
            % (floors, plots.plural(one['clients']), one['core'], plots.number(one['per_second']),
               plots.number(one['p50_us'] / 1e3, 2),
               '%s %% of that core\'s' % plots.number(100 * share)
               if one['clients'] > 1 or share <= 1 else
               'more than that core\'s: the disk was slower beside the run than during it'))


def table(result):
    rows, floors = result['rows'], result['floors']
    lines = [''] + cells.delay_lines(result)
    lines += textwrap.wrap(machine.quiet_text(result), WIDTH)
    lines += halts.lines(result, WIDTH)
    if result.get('stopped'):
        lines += textwrap.wrap('It was ended before its end (%s): %d of %d rounds are whole.'
                               % (result['stopped'], result['rounds_whole'], result['rounds']),
                               WIDTH)
    lines += textwrap.wrap(
        'The disk alone, beside each cell: %.0f durable 4 KB overwrites/s (%.0f..%.0f in %d looks).'
        % (statistics.median(floors), min(floors), max(floors), len(floors)), WIDTH)
    lines += ['', *flush_lines(result['flush_cost']), '', *HEADS, *map(line, rows)]
    lines += ['', *textwrap.wrap(
        cells.noise_text(rows) + ' Processor time is that of server and client, with the share '
        'spent in the kernel; "cpus" is how many they kept busy, of %d here. "floor" is the share '
        'of the disk alone beside the cell. All processors busy: bound by them; if not and one '
        'client is near 100 %%: by the device.' % result['host']['cores'], WIDTH)]
    for text in cells.explanations(rows):
        lines += textwrap.wrap(text, WIDTH, subsequent_indent='   ')
    for text in any_server.texts(result):
        lines += textwrap.wrap(text, WIDTH)
    if 'one_core' in result:
        lines += ['', *textwrap.wrap(one_core_text(result['one_core']), WIDTH)]
    lines += claims.lines('run', result)
    return '\n'.join(text.rstrip() for text in lines)


def one_core(trial, program, clients, rounds):
    """The recommended profile with client and server on the core that reaches the disk soonest:
    what they cost without wake-ups from one core to another. The disk alone before and after each
    run, from that core."""
    floors = {}
    for core in sorted(os.sched_getaffinity(0)):
        with measuring.on_core(core):
            floors[core] = trial.tools.floor_now(ONE_CORE_FLOOR_SECONDS)['per_second']
    core = max(floors, key=lambda core: floors[core])
    measuring.say('last: conf/durable.yaml on core %d, %d clients' % (core, clients))
    row = {'clients': clients, 'runs': []}
    with trial.fresh() as dbpath, measuring.on_core(core), server.Server(
            program, dbpath, measuring.COMMON + measuring.PROFILE) as running:
        row['runs'] = [trial.cell(lambda: trial.tools.measure_plain(running, clients))
                       for _ in range(rounds)]
    cells.summarize(row)
    return {'core': core, **row, 'floors': {str(core): floor for core, floor in floors.items()}}


def rungs(servers):
    """(name, selection of patches or None, options, what starts it on a directory) of each line of
    the table."""
    for name, selection, options in LADDER:
        yield name, selection, options, functools.partial(
            server.Server, measuring.program_of(selection), options=measuring.COMMON + options)
    for named in servers:
        yield named.name, None, named.options, named.start


def describe_servers(servers, folder):
    """(what each other server is, whether all are loaded the old way); starts each once, and ends
    the program with a sentence when one does not or when they do not go together."""
    try:
        described = [any_server.probe(named, folder) for named in servers]
        return described, any_server.common_wire(described)
    except server.ServerError as error:
        sys.exit('run.py: ' + str(error))


def measure(trial, contest, arguments):
    measuring.say('measuring what a flush costs')
    trial.result['flush_cost'] = trial.tools.flush_cost(FLUSH_SECONDS)
    contest.measure(trial)
    trial.result['one_core'] = one_core(trial, measuring.program_of('all'), arguments.clients[0],
                                        arguments.rounds)


def run(arguments, folder):
    """The result, as far as it got when it was interrupted (`stopped` says by what)."""
    described, old_wire = describe_servers(arguments.servers, folder)
    trial = experiment.Experiment(folder, arguments, old_wire)
    contest = ladder.Ladder(rungs(arguments.servers), arguments)
    trial.result.update(patches=staging.series(TOP), servers=described, old_wire=old_wire,
                        rounds=arguments.rounds, flush_cost=[], awake=arguments.awake,
                        halts=halts.measure())
    measuring.say('This takes about %s; Ctrl-C ends it with what is measured so far.'
                  % measuring.duration(contest.estimate_seconds() + 16 * FLUSH_SECONDS))
    result = trial.run(functools.partial(measure, contest=contest, arguments=arguments))
    result.update(rows=contest.in_order(), rounds_whole=contest.rounds_whole)
    return result


def make_parser():
    parser = measuring.parser(__doc__)
    measuring.add_turns(parser, 'server', 0.5)
    parser.add_argument('--clients', type=measuring.clients, default=[1, 8, 64], metavar='LIST',
                        help='numbers of clients, e.g. 1,8 (1,8,64)')
    any_server.add_option(parser)
    measuring.add_device_delay(parser)
    halts.add_option(parser)
    return parser


def parse():
    parser = make_parser()
    arguments = parser.parse_args()
    any_server.check_names(parser, arguments.servers, [name for name, _, _ in LADDER])
    return arguments


def main():
    arguments = parse()
    with experiment.scratch('run-', arguments) as folder, halts.held_off(arguments.awake):
        result = run(arguments, folder)
    stopped = result.get('stopped')
    if not result['rows']:
        measuring.end_without('run.py', '%s before anything was measured' % stopped)
    print(table(result))
    path = measuring.keep(result, result['time'].replace(':', ''))
    import overview  # which imports this
    overview.write(overview.named([path]), path.removesuffix('.json'))
    print('\nThe figures are in %s, and as a page in %s.html'
          % (os.path.relpath(path, TOP), os.path.relpath(path, TOP).removesuffix('.json')))
    if stopped:
        sys.exit(experiment.EXIT_INTERRUPTED if stopped == 'interrupted' else 'run.py: ' + stopped)


if __name__ == '__main__':
    main()
