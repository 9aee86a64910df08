#!/usr/bin/env python3
"""Question: what does each patch of the series change?

Measures each patch twice: alone, a server of the base against one built with this patch only; and
in the full series with conf/durable.yaml, without its option and with it. The two sides run in
turn, on fresh data each time, and what is compared are the pairs. The workload is the one
that shows the effect: the patch's header names it (Measured-with). For each side one more run under
strace, for the journal's calls. The disk alone is measured before and after each run. Prints
whether the machine was quiet enough, the table that the header quotes, and what the disk did.
Usage:    ab.py PATCH... [--runs 6] [--seconds 5] [--warmup 2] [--host-class NAME]
          ab.py all --estimate            how long that would take
          ab.py PATCH --server 'NAME=PATH OPTIONS'     another mongod too, with and without the
                                          option, e.g. one that ./lab port has made
          ab.py PATCH --table RESULT.json      prints the table of an earlier run
          ab.py PATCH --device-delay 8    on a disk whose flushes take 8 ms longer
          Ctrl-C ends it with the pairs that are measured so far.
          (./lab bench PATCH... and ./lab bench all build the servers first)
Needs:    strace; 4 GB on the disk that holds build/; a machine that does nothing else. Five minutes
          for a patch and each workload that it names.
Writes:   build/results/<date>/<host class>/PATCH.json, under the time too when that exists already:
          results are never overwritten. ./lab measure PATCH keeps them, and fills the header.
Overhead: rates, latencies and CPU time are taken without strace."""

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

import ab_table
import any_server
import experiment
import machine
import measuring

import server
import staging

TOP = measuring.TOP
TOOLS = measuring.programs()
TRACED_SECONDS = 3  # counts are the same in the long run, and strace makes it long
START_SECONDS = 1.5  # of a server, with its end; for the estimate
EXIT_INTERRUPTED = 130


def workloads_of(slug):
    """[(words for the load client, commit interval of both sides or None)] of a patch's header."""
    found = []
    for text in measuring.header_of(slug)['Measured-with'].split('; '):
        words, _, interval = text.partition(' at ')
        found.append((words.split(), interval.removesuffix(' ms') or None))
    return found


def alone(slug, interval):
    """Options of a server of the base, and of one with the patch."""
    own, base = measuring.option_of(slug)
    short = ['--journalCommitInterval', interval] if interval else measuring.SHORT
    return [words if short[0] in words else short + words for words in (base, own)]


def in_company(slug, interval, folder):
    """Options of the full series with the recommended profile, without the option and with it."""
    own, base = measuring.option_of(slug)
    taken = [measuring.header_of(slug)['Yaml']]
    fixed = []
    if interval:
        taken.append('storage.journal.commitIntervalMs')
        fixed = ['--journalCommitInterval', interval]
    elif own[0] == measuring.SHORT[0]:
        base = measuring.SHORT + base  # its own default would hide all else
    common = measuring.profile_without(taken, folder) + fixed
    return common + base, common + own


def metric(status, path):
    """A metric of serverStatus().dur, 0 when it is not shown; None when none is asked for."""
    if not path:
        return None
    for name in path.split('.'):
        status = status.get(name, {})
    return int(status or 0)


def of_server(named, slug, interval):
    """Options of another server behind its own, without the patch's option and with it. What its
    own say already stays so."""
    own, base = measuring.option_of(slug)
    fixed = ['--journalCommitInterval', interval] if interval else measuring.SHORT
    if named.has(fixed[0]) or own[0] == fixed[0] and not interval:
        fixed = []
    if base and named.has(base[0]):
        base = []
    return fixed + base, fixed + own


def refuse_servers(servers, slugs):
    """A sentence when an option that is compared is in a server's own options, else None."""
    for named in servers:
        for slug in slugs:
            option = measuring.option_of(slug)[0][0]
            if named.has(option):
                return ("%s: leave %s out of its options; it is measured without it and with it"
                        % (named.name, option))
    return None


def measure_side(start, options, workload, counter, traced, arguments, scratch):
    """One run on fresh data; returns its row."""
    folder = tempfile.mkdtemp(prefix='ab-', dir=scratch)
    seconds = min(arguments.seconds, TRACED_SECONDS) if traced else arguments.seconds
    before = arguments.floor()
    runner = measuring.Bench(TOOLS, folder, seconds, arguments.warmup, arguments.old_wire)
    clients = int(workload[workload.index('--clients') + 1])
    with start(os.path.join(folder, 'db'), options) as running:
        row = (runner.measure_traced if traced else runner.measure_plain)(running, clients,
                                                                          workload)
        status = measuring.command(running, 'admin', {'serverStatus': 1}).get('dur', {})
        row['documents_in_all'] = measuring.command(running, 'perf', {'count': 'load'})['n']
        row['counter'] = metric(status, counter)
        if not traced:
            row.update(floor_before=before, floor_after=arguments.floor())
    shutil.rmtree(folder)
    return row


def compare(cell, what, starts, options, workload, counter, arguments, scratch):
    """Runs both sides in turn. Fills `cell`, so that what there is when it is interrupted can be
    used: {'without': rows, 'with': rows, '..._traced': row, 'options'}."""
    cell.update({'options': {side: [word.replace(scratch, '...').replace(TOP + os.sep, '')
                                    for word in words] for side, words in options.items()},
                 'without': [], 'with': []})
    for number in range(arguments.runs + 1):
        traced = number == 0
        arguments.look_at_others()
        # The side that begins changes from pair to pair.
        for side in ('without', 'with') if number % 2 == 0 else ('with', 'without'):
            arguments.progress.step('%s, %s it, run %s' % (what, side, 'under strace' if traced
                                                           else number))
            row = measure_side(starts[side], options[side], workload, counter, traced,
                               arguments, scratch)
            if traced:
                cell[side + '_traced'] = row
            else:
                cell[side].append(row)


def prune(result):
    """Leaves only whole pairs, and what has some; for a result that was interrupted."""
    for block in result['blocks']:
        for halves, names in ((block, ab_table.COLUMNS), (block['servers'], [*block['servers']])):
            for name in [name for name in names if name in halves]:
                half = halves[name]
                pairs = min(len(half.get(side, ())) for side in ('without', 'with'))
                for side in ('without', 'with'):
                    half[side] = half.get(side, [])[:pairs]
                if not pairs:
                    del halves[name]
    result['blocks'] = [block for block in result['blocks'] if 'alone' in block]
    result['runs'] = max([len(cell['without']) for _, _, cell in ab_table.cells_in(result)],
                         default=0)


def starter_of(selection):
    """What starts our server of a selection: from a directory and options."""
    program = os.path.join(TOP, 'build', staging.select(TOP, selection).name, 'bin', 'mongod')
    return lambda dbpath, options: server.Server(program, dbpath, measuring.COMMON + options)


def measure(slug, arguments, scratch):
    """The result; `stopped` in it says by what it was ended early, if it was."""
    now = datetime.datetime.now(datetime.timezone.utc)
    tools = measuring.Bench(TOOLS, scratch, arguments.seconds)
    result = {
        'slug': slug, 'time': now.isoformat('T', 'seconds'), 'host_class': arguments.host_class,
        'host': machine.host(scratch), 'series': staging.series(TOP),
        'counter': measuring.header_of(slug).get('Measured-counter'),
        'common_options': measuring.COMMON, 'runs': arguments.runs, 'seconds': arguments.seconds,
        'warmup': arguments.warmup, 'old_wire': arguments.old_wire,
        'device_delay_ms': arguments.device_delay, 'servers': list(arguments.described),
        'blocks': [], 'idle': [], 'floors': [],
        'load': os.getloadavg()[0], 'device': machine.device_of(scratch)}

    def floor():
        result['floors'].append(tools.floor_now(experiment.FLOOR_SECONDS)['per_second'])
        return result['floors'][-1]
    arguments.floor = floor
    arguments.look_at_others = lambda: result['idle'].append(
        machine.idle_watch(scratch, experiment.IDLE_SECONDS))
    watch = machine.Watch(scratch)
    try:
        measuring.say('measuring the disk alone')
        result['floor'] = tools.floor()
        for workload, interval in workloads_of(slug):
            measure_block(result, slug, workload, interval, arguments, scratch)
    except KeyboardInterrupt:
        result['stopped'] = 'interrupted'
    except (server.ServerError, subprocess.CalledProcessError, OSError) as error:
        result['stopped'] = str(error)
    if 'stopped' in result:
        prune(result)
    result['steal'] = watch.end()['steal']
    result['floors_moved'] = ab_table.floors_moved(result)
    return result


def measure_block(result, slug, workload, interval, arguments, scratch):
    """One workload: the patch alone, in the full series, other servers; into result['blocks']."""
    name = ' '.join(workload) + (' at %s ms' % interval if interval else '')
    block = {'workload': name, 'servers': {}}
    result['blocks'].append(block)
    sides = ('without', 'with')

    def run(cell, kind, starts, options):
        compare(cell, '%s, %s, %s' % (slug, name, kind), dict(zip(sides, starts)),
                dict(zip(sides, options)), workload, result['counter'], arguments, scratch)
    run(block.setdefault('alone', {}), 'alone', map(starter_of, (measuring.base_of(slug), slug)),
        alone(slug, interval))
    run(block.setdefault('company', {}), ab_table.IN_WORDS['company'], 2 * [starter_of('all')],
        in_company(slug, interval, scratch))
    for named in arguments.servers:
        run(block['servers'].setdefault(named.name, {}), named.name, 2 * [named.start],
            of_server(named, slug, interval))


def estimate_seconds(slugs, arguments):
    """How long measuring them takes, without building."""
    run = arguments.seconds + arguments.warmup + START_SECONDS + 2 * experiment.FLOOR_SECONDS
    traced = min(arguments.seconds, TRACED_SECONDS) + arguments.warmup + START_SECONDS
    return sum(2 * arguments.seconds  # the disk alone, twice
               + len(workloads_of(slug)) * (4 + 2 * len(arguments.servers))
               * (arguments.runs * run + traced) for slug in slugs)


def steps(slugs, arguments):
    """How many runs that are."""
    return sum(len(workloads_of(slug)) * (4 + 2 * len(arguments.servers)) * (arguments.runs + 1)
               for slug in slugs)


def describe_servers(slugs, arguments, scratch):
    """Starts each other server with each option once. Sets `described` and `old_wire`; ends the
    program with a sentence when one does not start."""
    arguments.described = []
    with tempfile.TemporaryDirectory(prefix='ab-', dir=scratch) as folder:
        for named in arguments.servers:
            for slug in slugs:
                for _, interval in workloads_of(slug):
                    for options in of_server(named, slug, interval):
                        measuring.say('trying %s %s' % (named.name, ' '.join(options)))
                        try:
                            about = any_server.probe(named, folder, options)
                        except server.ServerError as error:
                            sys.exit('ab.py: ' + str(error))
            arguments.described.append(about)
    try:
        arguments.old_wire = any_server.common_wire(arguments.described)
    except server.ServerError as error:
        sys.exit('ab.py: ' + str(error))


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


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('slugs', nargs='*', metavar='PATCH', help='one of the series, or all')
    parser.add_argument('--runs', type=measuring.count, default=6, metavar='N',
                        help='pairs of runs (%(default)s)')
    parser.add_argument('--seconds', type=measuring.seconds, default=5, metavar='S',
                        help='of each run (%(default)s)')
    parser.add_argument('--warmup', type=measuring.seconds_or_none, default=2, metavar='S',
                        help='before each run, not counted (%(default)s)')
    parser.add_argument('--host-class', default='%dcore' % os.cpu_count(), metavar='NAME',
                        help='the folder of the results (%(default)s)')
    parser.add_argument('--estimate', action='store_true', help='only say how long it takes')
    any_server.add_option(parser)
    measuring.add_device_delay(parser)
    parser.add_argument('--table', metavar='RESULT.json', help='prints that of an earlier run',
                        type=measuring.result_with('slug', 'blocks'))
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    if arguments.table:
        print(ab_table.whole_table(arguments.table))
        return
    measurable = measuring.measurable()
    slugs = measurable if arguments.slugs == ['all'] else arguments.slugs
    if not slugs or set(slugs) - set(measurable):
        sys.exit('ab.py: which patch? all, or some of: ' + ' '.join(measurable))
    any_server.check_names(parser, arguments.servers)
    trouble = refuse_servers(arguments.servers, slugs)
    if trouble:
        parser.error(trouble)
    if arguments.device_delay:
        arguments.host_class += '-delay%gms' % arguments.device_delay
    print('This takes about %.0f minutes.' % (estimate_seconds(slugs, arguments) / 60), flush=True)
    if arguments.estimate:
        return
    measuring.interruptible()
    measuring.delay_device(TOOLS, arguments.device_delay)
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='ab-', dir=scratch) as folder:
        describe_servers(slugs, arguments, folder)
        arguments.progress = measuring.Progress(estimate_seconds(slugs, arguments),
                                                steps(slugs, arguments))
        measure_all(slugs, arguments, folder)


def measure_all(slugs, arguments, scratch):
    """Measures, keeps and prints one after the other; ends the program when one is interrupted."""
    folder = None
    for slug in slugs:
        result = measure(slug, arguments, scratch)
        stopped = result.get('stopped')
        if result['blocks']:
            folder = folder or results_folder(os.path.join(TOP, 'build', 'results'),
                                              arguments.host_class, slugs)
            path = write_result(result, folder)
            print('%s\n\nThe figures are in %s\n' % (ab_table.whole_table(result),
                                                     os.path.relpath(path, TOP)), flush=True)
        if stopped:
            sys.exit(EXIT_INTERRUPTED if stopped == 'interrupted' else 'ab.py: ' + stopped)


if __name__ == '__main__':
    main()
