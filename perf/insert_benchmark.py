#!/usr/bin/env python3
"""Question: what does the insert benchmark of the article of 2014 write, here and now?

Rows with three secondary indexes (iibench.c) go into a server of the base: each row durable before
the next (sync, commits every 2 ms), acknowledged at once with a commit every 300 ms (lazy), and
without a journal; and into the full series with conf/durable.yaml, durable, also without its option
for less redo (at flush) and without that for less writing of data files either (at commit). InnoDB
of MariaDB and PostgreSQL take the same rows, where they are installed. All alternate, round after
round, each in an empty data directory, with the disk alone before and after. For each: the columns
of the article, medians of the rounds. Then, from a journal that a kill has left, where the bytes of
an insert come from.
Usage:    insert_benchmark.py [--rows 20000] [--rounds 5] [--clients 1] [--cache 256]
          insert_benchmark.py --server 'NAME=PATH OPTIONS' --uri mongodb://...
                           other servers beside them, durable and not: a mongod of any make, and
                           one that runs already, whose collection perf.iibench is dropped
          insert_benchmark.py --only series --rows 1e7 --rounds 1       some of them, grown large
          insert_benchmark.py --device-delay 8     on a disk whose flushes take 8 ms longer
          (./lab bench iibench builds what it needs; --install first installs the others)
          Ctrl-C ends it with what is measured so far.
Needs:    some 2 KB of disk for each row. The base makes some 700 durable rows a second. For the
          others mariadb-server and postgresql-15 (Debian); no service of theirs is used or touched.
Columns:  bytes/doc   in the data files, with its four indexes
          MB/s, MB    written by the device from the first row to a full flush after the last one,
                      by its own counters: others' writes too, see the first line
          bytes/insert   the same for each row
          log MB, log B/insert   written to the journal or log, with padding
          log B raw, packed      for each row: before compression, and compressed with framing.
                      Counted by the server: the base is built with journal-cumulative-stats, which
                      changes nothing else. Of PostgreSQL only the first is known
          data B/insert  what is left of bytes/insert without the journal: data files, pages written
                      again and again
          Of other servers the log's columns are there where they count as ours do, and of one that
          runs already neither the device's nor the processor's.
--old-wire: what speaks MongoDB's protocol gets OP_INSERT with getLastError behind it; so too, by
          itself, where one of the others is too old for today's drivers.
Not for:  rates of small runs: the trees must outgrow the caches before the article's rates show."""

import collections
import contextlib
import json
import os
import re
import subprocess

import any_server
import articles
import claims
import compare
import experiment
import machine
import measuring

import server

import peers.iibench
import peers.peer

STATS = 'journal-cumulative-stats'
COUNTED = ['--journalCumulativeStats']
RUNS = [  # name, selection, options, whether rows are durable
    ('base, sync', STATS, measuring.SHORT + COUNTED, True),
    ('base, lazy', STATS, ['--journalCommitInterval', '300'] + COUNTED, False),
    ('base, no journal', STATS, ['--nojournal'], False),
    ('series, sync', 'all', measuring.PROFILE, True),
]
LESS_WRITING, LESS_REDO = 'storage.dataFileWrites', 'storage.journal.insertEntries'
ROWS = measuring.large_count(100, 10 ** 9, 'rows')
SAMPLE_ROWS = 2000  # whose journal is taken apart
# Rows a second, roughly: only for what is said of the time left.
RATES = {'base, sync': 700, 'base, lazy': 15000, 'base, no journal': 12000}
RATE_USUAL = 5000
STARTING_SECONDS, SQL_STARTING_SECONDS = 2, 6
PROGRESS_ROWS = 100000  # from so many on a run says how far it is
SMALL_BYTES = 40    # of a write that is a header, a link or a count and no content


def iibench(running, rows, clients, text_bytes, durable, progress=True, old_wire=False):
    run = subprocess.run([os.path.join(experiment.PROGRAMS, 'iibench'), '--uri', running.uri,
                          '--clients', str(clients), '--text', str(text_bytes)]
                         + ['--lazy'] * (not durable) + ['--progress'] * progress
                         + ['--old-wire'] * old_wire + [str(rows)], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(run.stdout)


def totals(running):
    status = measuring.command(running, 'admin', {'serverStatus': 1})
    found = status.get('dur', {}).get('cumulativeStats', {})
    return {name: int(found.get(name, 0)) for name in
            ('journaledBytes', 'uncompressedBytes', 'paddingBytes', 'commits')}


class Mongod:
    """A server of ours; in `with serve(folder):` it runs on fresh data."""

    starting_seconds = STARTING_SECONDS
    local = True  # it writes to the device that is looked at
    old_wire = False

    def __init__(self, name, selection, options, durable, without=()):
        """`without`: YAML names that are taken out of the profile."""
        self.name, self.selection = name, selection
        self.options, self.durable, self.without = options, durable, without
        self.settings = ' '.join([word.replace(measuring.TOP + os.sep, '') for word in options]
                                 + ['without ' + name for name in without])
        self.running = None  # while it is served

    @contextlib.contextmanager
    def serve(self, folder):
        options = self.options
        if self.without:
            options = measuring.profile_without(self.without, folder)
        with server.Server(measuring.program_of(self.selection), os.path.join(folder, 'db'),
                           ['--bind_ip', '127.0.0.1'] + options) as self.running:
            yield self

    def pids(self):
        return [self.running.pid]

    def fill(self, rows, clients, text_bytes):
        return iibench(self.running, rows, clients, text_bytes, self.durable,
                       rows >= PROGRESS_ROWS, self.old_wire)

    def flush(self):
        measuring.command(self.running, 'admin', {'fsync': 1})

    def log(self):
        """Bytes so far, and commits; 0 without a journal."""
        found = totals(self.running)
        return {'log_raw': found['uncompressedBytes'], 'log_padded': found['journaledBytes'],
                'log_compressed': found['journaledBytes'] - found['paddingBytes'],
                'commits_per_insert': found['commits']}

    def stored_bytes(self):
        found = measuring.command(self.running, 'perf', {'collStats': 'iibench'})
        return int(found['storageSize']) + int(found['totalIndexSize'])


class Other(Mongod):
    """Another mongod, which --server or --uri names. `start` is a block on a data directory in
    which it runs."""

    def __init__(self, name, settings, start, durable, local=True):
        self.name, self.settings, self.start = name, settings, start
        self.durable, self.local = durable, local
        self.running = None  # while it is served

    @contextlib.contextmanager
    def serve(self, folder):
        with self.start(os.path.join(folder, 'db')) as self.running:
            yield self

    def pids(self):
        return [self.running.pid] if self.running.pid else []

    def flush(self):
        if self.local:
            super().flush()

    def log(self):
        """Nothing where it does not count."""
        status = measuring.command(self.running, 'admin', {'serverStatus': 1})
        return super().log() if 'cumulativeStats' in status.get('dur', {}) else {}

    def stored_bytes(self):
        found = measuring.command(self.running, 'perf', {'collStats': 'iibench'})
        sizes = [found.get(name) for name in ('storageSize', 'totalIndexSize')]
        return None if None in sizes else int(sum(sizes))


def others(servers, uri):
    """Each other server durable and not."""
    for named in servers:
        settings = ' '.join([named.shown_program()] + named.options)
        if not named.has('--nojournal'):
            yield Other(named.name + ', sync', settings, named.start, True)
        yield Other(named.name + ', lazy', settings, named.start, False)
    for durable in (True, False) if uri else ():
        yield Other(any_server.shown(uri) + (', sync' if durable else ', lazy'), '',
                    lambda _: contextlib.nullcontext(any_server.Running(uri)), durable, False)


class Sql:
    """A SQL server; likewise."""

    starting_seconds = SQL_STARTING_SECONDS
    local = True

    def __init__(self, kind, cache_mb):
        self.kind, self.name, self.cache_mb = kind, kind.name, cache_mb
        self.settings = '%s, %d MB of cache' % (kind.settings, cache_mb)

    @contextlib.contextmanager
    def serve(self, folder):
        peer = self.kind(folder)
        peer.cache_mb = self.cache_mb
        with peer.serve():
            peer.prepare()
            yield peer


def all_runs(servers=(), uri=None, cache_mb=peers.peer.Peer.cache_mb):
    return [*(Mongod(*run) for run in RUNS),
            Mongod('series, at flush', 'all', measuring.PROFILE, True, (LESS_REDO,)),
            Mongod('series, at commit', 'all', measuring.PROFILE, True, (LESS_REDO, LESS_WRITING)),
            *(Sql(kind, cache_mb) for kind in peers.iibench.EVERY), *others(servers, uri)]


def written(device):
    counters = machine.device_counters(machine.lines_of('/proc/diskstats'), device)
    return counters[1] if counters else None


def measure_run(run, arguments, trial):
    """One server, from empty to full."""
    device = trial.result['device']
    with trial.fresh() as path:
        folder = os.path.dirname(path)
        os.chmod(folder, 0o755)  # SQL servers run as users of their own
        with run.serve(folder) as filled:
            os.sync()
            before, disk_before = filled.log(), written(device) if run.local else None
            cpu_before = compare.cpu_seconds(*filled.pids())
            row = filled.fill(arguments.rows, arguments.clients, arguments.text)
            if filled.pids():
                row['server_cpu_us'] = 1e6 * (compare.cpu_seconds(*filled.pids())
                                              - cpu_before) / row['rows']
            filled.flush()
            row.update({name: (value - before[name]) / row['rows']
                        for name, value in filled.log().items()})
            if disk_before is not None:
                row['device_bytes'] = written(device) - disk_before
            row['stored_bytes'] = filled.stored_bytes()
    if 'device_bytes' in row and 'log_padded' in row:
        row['data_bytes_per_insert'] = row['device_bytes'] / row['rows'] - row['log_padded']
    return row


def chosen(only, servers=(), uri=None, cache_mb=peers.peer.Peer.cache_mb):
    """Those that are asked for and can run here; the others are named."""
    for run in all_runs(servers, uri, cache_mb):
        if only and not any(word.lower() in run.name.lower() for word in only):
            continue
        missing = isinstance(run, Sql) and run.kind('unused').missing()
        if missing:
            measuring.say('left out: %s (%s not found; %s)' % (run.name, missing,
                                                             run.kind('unused').hint()))
        else:
            yield run


def measure(trial, arguments):
    """All that are asked for, alternating, the other way round in every second round."""
    trial.result['servers'], old_wire = any_server.survey(arguments, trial.folder)
    trial.result['old_wire'] = old_wire
    runs = list(chosen(arguments.only, arguments.servers, arguments.uri, arguments.cache))
    for run in runs:
        run.old_wire = old_wire
    rows = {run.name: {'name': run.name, 'settings': run.settings, 'runs': []} for run in runs}
    trial.result['lines'] += rows.values()
    planned = arguments.rounds * sum(
        arguments.rows / RATES.get(run.name, RATE_USUAL) + run.starting_seconds for run in runs)
    progress = measuring.announced(planned, max(1, len(runs) * arguments.rounds))
    for number in range(arguments.rounds):
        for run in runs[::-1 if number % 2 else 1]:
            progress.step('%s, round %d of %d' % (run.name, number + 1, arguments.rounds))
            rows[run.name]['runs'].append(
                trial.cell(lambda run=run: measure_run(run, arguments, trial)))
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
            row = iibench(running, SAMPLE_ROWS, 1, arguments.text, True, False)
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


HEADS = '%-26s%6s%8s%10s%9s%9s  %-21s%10s%9s%8s%8s%9s%6s'


def shown(runs, value, form='%.0f'):
    """The median of value(run); empty where no run has one."""
    found = experiment.middle([value(run) for run in runs])
    return '' if found is None else form % found


def cells_of(row):
    def named(name, form='%.0f'):
        return shown(row['runs'], lambda run: run.get(name), form)

    def of_device(count):
        return lambda run: run.get('device_bytes') and run['device_bytes'] / count(run)

    def times_rows(name):
        return lambda run: run.get(name) and run[name] * run['rows'] / 1e6
    return (row['name'],
            shown(row['runs'], lambda run: run.get('stored_bytes') and
                  run['stored_bytes'] / run['rows']),
            shown(row['runs'], of_device(lambda run: 1e6 * run['seconds']), '%.1f'),
            shown(row['runs'], of_device(lambda run: 1e6), '%.1f'), named('seconds', '%.1f'),
            shown(row['runs'], of_device(lambda run: run['rows'])),
            experiment.spread([run['per_second'] for run in row['runs']]),
            shown(row['runs'], times_rows('log_padded'), '%.1f'), named('log_padded'),
            named('log_raw'), named('log_compressed'), named('data_bytes_per_insert'),
            named('server_cpu_us'))


def cells_of_article():
    """The article's lines for the same columns: its bytes were counted in GB."""
    table_of = articles.tables()['insert-benchmark']
    for name in [words[0] for words in table_of['rows']]:
        row = articles.row('insert-benchmark', name)

        def text(column, form='%.0f', times=1):
            return '' if row[column] is None else form % (row[column] * times)
        yield (name, text('bytes a document'), text('MB/s', '%.1f'),
               text('GB written', '%.0f', 1e3), text('seconds'),
               text('bytes written an insert'), text('inserts/s'), text('log GB', '%.0f', 1e3),
               text('log bytes an insert'), text('before padding and compression'), '', '', '')


def table(result):
    lines = experiment.head(result) + [
        '', '%d rows, %s; %s, %s' % (result['rows'], experiment.plural(result['clients'], 'client'),
                                     result['host']['file_system'],
                                     'Linux ' + result['host']['kernel']), '',
        HEADS % ('', 'bytes', 'device', 'device', 'seconds', 'bytes', 'inserts/s', 'log', 'log B',
                 'log B', 'log B', 'data B', 'cpu'),
        HEADS % ('', '/doc', 'MB/s', 'MB', '', '/insert', 'median (min..max)', 'MB', '/insert',
                 'raw', 'packed', '/insert', 'us')]
    lines += [HEADS % cells_of(row) for row in result['lines'] if row['runs']]
    lines += ['', 'The article: %d rows, 1 client' % claims.THEIR_ROWS]
    lines += [HEADS % cells for cells in cells_of_article()]
    if result.get('sources'):
        lines += ['', 'What a lone durable client journals in the base after %d rows, in a run of '
                  'its own:' % SAMPLE_ROWS, '%-46s%14s%16s' % ('', 'bytes/insert', 'writes/insert')]
        lines += ['%-46s%14.0f%16.1f' % (kind, size, count) for kind, (size, count) in
                  [*sorted(result['sources'].items(), key=lambda item: -item[1][0]),
                   ('all', map(sum, zip(*result['sources'].values())))]]
    lines += claims.lines('iibench', result)
    settings = ['%s: %s' % (row['name'], row['settings']) for row in result['lines']
                if row['runs'] and row.get('settings')]
    settings += any_server.texts(result)
    return '\n'.join(line.rstrip() for line in lines + [''] * bool(settings) + settings)


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--rows', type=ROWS, default=20000, metavar='N',
                        help='that each server gets, e.g. 1e6 (%(default)s)')
    parser.add_argument('--rounds', type=measuring.count, default=5, metavar='N',
                        help='how often each server has its turn (%(default)s)')
    parser.add_argument('--clients', type=measuring.count, default=1, metavar='N',
                        help='each sends its next row when the last one was answered '
                        '(%(default)s)')
    parser.add_argument('--text', type=measuring.count, default=100, metavar='BYTES',
                        help='of the text in each row (%(default)s)')
    parser.add_argument('--cache', type=measuring.count, default=peers.peer.Peer.cache_mb,
                        metavar='MB', help='that InnoDB and PostgreSQL have; where their tables '
                        'outgrow it, they write pages again and again (%(default)s)')
    measuring.add_only(parser, 'lines')
    any_server.add_option(parser)
    any_server.add_running(parser)
    measuring.add_install(parser)
    measuring.add_device_delay(parser)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    any_server.check_names(parser, arguments.servers,
                           {run.name.split(',')[0] for run in all_runs()})
    measuring.check_only(arguments.only, [run.name for run in all_runs(arguments.servers,
                                                                       arguments.uri)])
    if arguments.install:
        compare.install_packages({kind.package for kind in peers.iibench.EVERY
                                  if kind('unused').missing()}, 'insert_benchmark.py')
    experiment.conduct('iibench', arguments, measure, experiment.has_lines, table, lines=[],
                       script='insert_benchmark.py', fields='rows clients rounds', sources={})


if __name__ == '__main__':
    main()
