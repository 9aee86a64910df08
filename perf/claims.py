"""What the articles claim, claim by claim, and whether a result here shows it too.

Their machines are not ours, so a rate of theirs is shown beside ours and not judged. What is judged
is what should carry over to any machine: a figure that the server's own rules set, as the 34 ms of
a commit by default or the bytes that an insert journals (within FIXED), and ratios of two figures
of one machine (within RATIO). Needs nothing but Python: figures come from articles.json, ours from
the dict that an experiment keeps."""

import dataclasses
import math
import statistics

import ab_table
import articles
import cells
import kept_results
import machine

FIXED, RATIO = 0.1, 0.25
REPRODUCED, NOT_REPRODUCED = 'reproduced', 'not reproduced'
CANNOT, NOT_MEASURED = 'cannot be here', 'not measured'

COMMITS_MAX = 1000  # a second at an interval of 2 ms: each waits for a sleep of 1 ms

DURABLE, CONCERNS = '2013, durable inserts', '2013, write concerns'
IIBENCH, LINKBENCH = '2014', '2015'
# What measures each kind of result, where a claim needs more words than its kind.
COMMANDS = {'run': './lab run', 'windows': './lab bench journal-no-write-through',
            'iibench': './lab bench iibench --install',
            'replicas': './lab bench write-concern --replicas',
            'linkbench': './lab bench linkbench --engines --install'}


@dataclasses.dataclass(frozen=True)
class Claim:
    """`sources`: {kind of result: function of such a result, our figure or None}. `wanted`: the
    (least, most) of ours that carries the claim over; None shows both and judges nothing. `cannot`:
    why it cannot be here, where no result has it. `note`: what of a result explains a figure that
    is another one. `command`: what measures it, where that is not what measures its kind."""

    article: str
    what: str
    theirs: str
    sources: dict = dataclasses.field(default_factory=dict)
    form: str = ',.0f'
    wanted: tuple = None
    cannot: str = ''
    note: object = lambda result: ''
    command: str = ''

    def verdict(self, ours, result):
        """(verdict, what is to be known beside it) of our figure and the result that has it."""
        if ours is not None:
            if self.wanted is None:
                return '', ''
            least, most = self.wanted
            fits = least <= ours <= most
            return REPRODUCED if fits else NOT_REPRODUCED, '; '.join(filter(None, [
                '' if fits else self.note(result), cells.delay_text(result),
                '' if is_quiet(result) else 'the machine was not quiet enough']))
        if self.cannot:
            return CANNOT, self.cannot
        return NOT_MEASURED, self.command or ', '.join(
            COMMANDS.get(kind, './lab bench ' + kind) for kind in self.sources)

    def shown(self, value):
        return '' if value is None else format(value, self.form)

    def shown_wanted(self):
        """What ours should be, as text."""
        if self.wanted is None:
            return ''
        least, most = self.wanted
        return ('at least ' + self.shown(least) if math.isinf(most) else
                '%s to %s' % (self.shown(least), self.shown(most)))


def near(value, share):
    return value * (1 - share), value * (1 + share)


def between(one, other, share):
    return min(one, other) * (1 - share), max(one, other) * (1 + share)


def ratio(one, other):
    """None where one of them is missing, or there is nothing to divide by."""
    return one / other if one is not None and other else None


def middle(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


# ---- our figures ----

def ladder_rate(name, clients):
    """Inserts a second of a rung of ./lab run."""
    return lambda result: next((row['per_second'] for row in result['rows'] if (
        row['name'], row['clients']) == (name, clients)), None)


def append_rate(name, clients):
    """The same of a contender of ./lab bench append. A result that was kept has its numbers of
    clients as text."""
    def of(result):
        runs = result['contenders'].get(name, {}).get('runs', {})
        return middle([run['per_second'] for run in runs.get(clients, runs.get(str(clients), ()))])
    return of


def peer_rate(word, clients):
    """The same of the first peer of ./lab bench peers with that word in its name."""
    def of(result):
        runs = next((peer['runs'] for name, peer in result['peers'].items()
                     if word in name.lower()), {})
        return middle([run['per_second'] for run in runs.get(clients, runs.get(str(clients), ()))])
    return of


def sweep_rate(name, clients):
    """The same of the sweep over places of the journal."""
    return lambda result: next((row['per_second'] for row in result['rows'] if (
        row['sweep'], row['name'], row['x']) == ('journal', name, clients)), None)


def divided(one, other, by=1):
    return lambda result: ratio(one(result), (other(result) or 0) * by)


def milliseconds(rate):
    """Of an insert of a lone client."""
    return lambda result: ratio(1e3, rate(result))


def latency(name, concern):
    """Average ms of an insert by the driver of the article's language."""
    def of(result):
        runs = [run['mean_us'] / 1e3 for row in result['rows'] for run in row['runs'] if (
            row['server'], row['client'], row['concern']) == (name, 'pymongo', concern)]
        return middle(runs)
    return of


def set_latency(name, concern):
    """The same on a replica set."""
    def of(result):
        return middle([run['mean_us'] / 1e3 for row in result['rows'] for run in row['runs'] if (
            row['server'], row['kind'], row['concern'], row['client'], row['clients']) == (
                name, 'set', concern, 'pymongo', 1)])
    return of


def of_line(name, field):
    """A figure of a line of ./lab bench iibench."""
    def of(result):
        return middle([run.get(field) for line in result['lines'] if line['name'] == name
                       for run in line['runs']])
    return of


def per_row(name, field):
    return divided(of_line(name, field), of_line(name, 'rows'))


def best_sql(result):
    """The quicker one of the SQL servers that stand for the article's."""
    return max(filter(None, (append_rate(name, 1)(result)
                             for name in ('PostgreSQL', 'MariaDB InnoDB'))), default=None)


def is_larger(result):
    """Whether a graph has room in no contender's memory. Only results of --engines say that."""
    memory = result.get('engines', {}).get('memory_bytes')
    stored = [each['load']['stored_bytes'] for each in result['contenders'].values()
              if 'stored_bytes' in each.get('load', {})]
    return bool(memory and stored) and min(stored) > memory


def of_graph(words, figure, larger=False):
    """A figure of the contender with one of the words in its name, the first word first; of a run
    that does not wait for the disk, as the article's did not, and of a graph of that size."""
    def of(result):
        runs = [each['runs'] for word in words for name, each in result['contenders'].items()
                if word in name.lower()]
        fits = result['lazy'] and is_larger(result) == larger
        return middle(map(figure, runs[0])) if runs and fits else None
    return of


def graph_rate(words, larger=False):
    return of_graph(words, lambda run: run['per_second'], larger)


def graph_figure(words, field, larger=False):
    """What a run of --engines has besides."""
    return of_graph(words, lambda run: run.get(field), larger)


def request_ms(words, kind):
    """Average of one kind of request; None where there was none."""
    return of_graph(words, lambda run: run['kinds'][kind]['mean_us'] / 1e3
                    if run['kinds'][kind]['count'] else None)


def flushes(mode):
    """Of the device for an append, by the model of write-through."""
    return lambda result: middle([run[mode]['flushes'] / run[mode]['appends']
                                  for run in result['runs']])


# ---- the claims ----

def of_durable():
    disk, ssd = ({name: articles.figure('durable-inserts', name, column) for name in (
        'MongoDB, interval by default, 1 thread', 'MongoDB, interval 2, 1 thread',
        'MongoDB, interval 2, 8 threads',
        'MongoDB, interval 2, 8 threads, without write-through')} for column in ('disk', 'SSD'))
    default, lone, eight, without = disk
    sql = articles.figure('durable-inserts', 'MS SQL Server, 1 thread', 'disk')
    busy = articles.row('disk-busy', 'with write-through')['at most']
    less = articles.row('disk-busy', 'without write-through')

    def rates(name, clients):
        return {'run': ladder_rate(name, clients), 'append': append_rate(name, clients),
                'sweep': sweep_rate(name + ', beside', clients)}
    short, short_eight = (rates('base, 2 ms', clients) for clients in (1, 8))
    windows = 'wants Windows and its NTFS'
    yield Claim(DURABLE, 'interval by default, 1 client: inserts/s, whatever the disk',
                '%.0f, %.0f' % (disk[default], ssd[default]), rates('base, default', 1),
                wanted=near(disk[default], FIXED))
    yield Claim(DURABLE, 'interval 2 ms, 1 client: inserts/s',
                '%.0f, %.0f' % (disk[lone], ssd[lone]), short,
                wanted=(disk[lone] * (1 - FIXED), COMMITS_MAX))
    yield Claim(DURABLE, 'interval 2 ms, 8 clients: inserts/s',
                '%s, %s' % (format(disk[eight], ',.0f'), format(ssd[eight], ',.0f')), short_eight)
    yield Claim(DURABLE, 'a group commit: inserts/s, 8 clients to 1',
                '%.1f, %.1f' % (disk[eight] / disk[lone], ssd[eight] / ssd[lone]),
                {kind: divided(short_eight[kind], short[kind]) for kind in short}, '.1f',
                between(disk[eight] / disk[lone], ssd[eight] / ssd[lone], FIXED))
    yield Claim(DURABLE, 'a SQL server (here PostgreSQL or InnoDB) to 2 ms, 1 client',
                '%.1f' % (sql / disk[lone]), {'append': divided(best_sql, short['append'])}, '.1f',
                (1, math.inf))
    yield Claim(DURABLE, 'MS SQL Server itself: inserts/s of 1 client', format(sql, ',.0f'),
                {'peers': peer_rate('sql server', 1)},
                cannot='there is none for Debian; ./lab bench peers --odbc asks one elsewhere')
    yield Claim(DURABLE, 'flushes an append, write-through to without (a model)',
                '2', {'windows': divided(flushes('overwrite_sync'), flushes('overwrite_datasync'))},
                '.1f', near(2, RATIO))
    yield Claim(DURABLE, '8 threads, disk: inserts/s without write-through to with it',
                '%.1f' % (disk[without] / disk[eight]), cannot=windows)
    yield Claim(DURABLE, '8 threads, SSD: the same', '%.1f' % (ssd[without] / ssd[eight]),
                cannot=windows)
    yield Claim(DURABLE, 'how busy the disk is, with write-through and without',
                '%.0f %%, %.0f to %.0f %%' % (busy, less['at least'], less['at most']),
                cannot=windows)


def of_concerns():
    average = articles.row('write-concerns', 'average')

    def here(name, concern):
        return {'write-concern': latency(name, concern)}
    there = dict(here('base, journal on another device', 'j:1'),
                 sweep=milliseconds(sweep_rate('base, default, elsewhere', 1)))
    yield Claim(CONCERNS, 'w:0, average ms', '%.2f' % average['w=0'], here('base', 'w:0'), '.2f')
    yield Claim(CONCERNS, 'w:1, average ms', '%.2f' % average['w=1'], here('base', 'w:1'), '.2f')
    yield Claim(CONCERNS, 'w:1 takes so many times w:0', '%.1f' % (average['w=1'] / average['w=0']),
                {'write-concern': divided(latency('base', 'w:1'), latency('base', 'w:0'))}, '.1f',
                near(average['w=1'] / average['w=0'], RATIO))
    yield Claim(CONCERNS, 'j:1, journal beside the data (disk), average ms',
                '%.2f' % average['j=1, disk'], here('base', 'j:1'), '.2f',
                near(average['j=1, disk'], FIXED))
    yield Claim(CONCERNS, 'j:1, journal on another device (SSD), average ms',
                '%.2f' % average['j=1, SSD'], there, '.2f', near(average['j=1, SSD'], FIXED))
    for concern in ('w:2', 'w:3'):
        figure = average[concern.replace(':', '=')]
        yield Claim(CONCERNS, concern + ', average ms', '%g' % figure,
                    {'replicas': set_latency('base', concern)}, '.2f')


THEIR_ROWS = 10 ** 7
SYNC, LAZY, NO_JOURNAL = 'MongoDB, sync', 'MongoDB, lazy', 'MongoDB without a journal'
INNODB, INNODB_LAZY, TOKUMX = 'InnoDB, sync', 'InnoDB, lazy', 'TokuMX, sync'
# Lines of insert_benchmark.py, by the names of the article.
LINES = {SYNC: 'base, sync', LAZY: 'base, lazy', NO_JOURNAL: 'base, no journal', INNODB: INNODB,
         INNODB_LAZY: INNODB_LAZY}
RATE, LOG, RAW = 'inserts/s', 'log bytes an insert', 'before padding and compression'
WRITTEN, SIZE = 'bytes written an insert', 'bytes a document'
FIELDS = {RATE: 'per_second', LOG: 'log_padded', RAW: 'log_raw', WRITTEN: 'device_bytes',
          SIZE: 'stored_bytes'}


def of_iibench():
    def theirs(name, column):
        return articles.figure('insert-benchmark', name, column)

    def ours(name, column):
        of = per_row if column in (WRITTEN, SIZE) else of_line
        return of(LINES[name], FIELDS[column])

    def note(result):
        return ', '.join(
            ['%s rows, not %s' % (format(result['rows'], ','), format(THEIR_ROWS, ','))]
            * (result['rows'] < THEIR_ROWS)
            + ['%d clients, not 1' % result.get('clients', 1)] * (result.get('clients', 1) > 1))

    def fixed(what, name, column):
        value = theirs(name, column)
        return Claim(IIBENCH, what, format(value, ',.0f'), {'iibench': ours(name, column)},
                     wanted=near(value, FIXED), note=note)

    def compared(what, one, other, column):
        value = theirs(one, column) / theirs(other, column)
        sources = {'iibench': divided(ours(one, column), ours(other, column))}
        return Claim(IIBENCH, what, '%.1f' % value, sources, '.1f', near(value, RATIO), note=note)
    yield fixed('1 client at 2 ms: inserts/s', SYNC, RATE)
    yield fixed('the same: bytes of log an insert', SYNC, LOG)
    yield fixed('the same, before padding and compression', SYNC, RAW)
    yield fixed('w:1 at 300 ms: bytes of log an insert', LAZY, LOG)
    yield fixed('the same, before padding and compression', LAZY, RAW)
    yield compared('inserts/s, w:1 to j:1', LAZY, SYNC, RATE)
    yield compared('inserts/s, without a journal to w:1', NO_JOURNAL, LAZY, RATE)
    yield compared('inserts/s, InnoDB to MongoDB, both sync', INNODB, SYNC, RATE)
    yield compared('inserts/s, InnoDB to MongoDB, both lazy', INNODB_LAZY, LAZY, RATE)
    yield compared('bytes of log an insert, MongoDB to InnoDB', SYNC, INNODB, LOG)
    yield compared('bytes written an insert, MongoDB to InnoDB', SYNC, INNODB, WRITTEN)
    yield compared('bytes a document, MongoDB to InnoDB', SYNC, INNODB, SIZE)
    yield Claim(IIBENCH, 'TokuMX, sync: inserts/s, bytes of log an insert',
                '%s, %.0f' % (format(theirs(TOKUMX, RATE), ',.0f'), theirs(TOKUMX, LOG)),
                cannot='there is no TokuMX to install')


# What contenders are called: those of --engines and --server, then those that stand for them.
WIREDTIGER, ROCKSDB = ('wiredtiger',), ('rocksdb', 'myrocks')
ENGINES = (('RocksDB', ROCKSDB, ' (or MyRocks of MariaDB)', ''), ('WiredTiger', WIREDTIGER, '', ''),
           ('TokuMX', ('tokumx',), '', 'no such server to install; --server adds one'))
MMAPV1 = ('mmapv1', 'base, default')
LARGER = './lab bench linkbench --engines --memory 512 --nodes 2e6'


def of_linkbench():
    def hour(engine, number):
        return articles.figure('linkbench-hours', engine, str(number))

    ours = graph_rate(MMAPV1)
    yield Claim(LINKBENCH, 'mmapv1, in memory: requests/s in hour 12',
                format(hour('mmapv1', 12), ',.0f'), {'linkbench': ours})
    for engine, words, stands, cannot in ENGINES:
        value = hour(engine, 12) / hour('mmapv1', 12)
        yield Claim(LINKBENCH, 'requests/s, %s%s to mmapv1' % (engine, stands), '%.1f' % value,
                    {'linkbench': divided(graph_rate(words), ours)}, '.1f', near(value, RATIO),
                    cannot)
    times = articles.row('linkbench-requests', 'mmapv1, in memory')
    for kind in ('add_link', 'update_link', 'get_link_list'):
        yield Claim(LINKBENCH, 'mmapv1, in memory: average ms of %s' % kind,
                    '%.3f' % times[kind + ', ms'], {'linkbench': request_ms(MMAPV1, kind)}, '.3f')
    for kind in ('add_link', 'update_link'):
        value = times[kind + ', ms'] / times['get_link_list, ms']
        yield Claim(LINKBENCH, 'mmapv1: %s takes so many times get_link_list' % kind,
                    '%.1f' % value, {'linkbench': divided(
                        request_ms(MMAPV1, kind), request_ms(MMAPV1, 'get_link_list'))}, '.1f',
                    near(value, RATIO))
    sizes = articles.row('linkbench-sizes', 'in memory')
    for engine, words in (('WiredTiger', WIREDTIGER), ('RocksDB', ROCKSDB)):
        value = sizes['mmapv1'] / sizes[engine]
        yield Claim(LINKBENCH, 'bytes stored at the end, mmapv1 to %s' % engine, '%.1f' % value,
                    {'linkbench': divided(graph_figure(MMAPV1, 'stored_bytes'),
                                          graph_figure(words, 'stored_bytes'))},
                    '.1f', near(value, RATIO))
    yield Claim(LINKBENCH, 'mmapv1 keeps its rate: hour 12 to hour 1',
                '%.2f' % (hour('mmapv1', 12) / hour('mmapv1', 1)), cannot='it takes 12 hours')
    yield Claim(LINKBENCH, 'larger than memory, hour 12: TokuMX, RocksDB, WiredTiger',
                ', '.join('%.0f' % articles.figure('linkbench-hours-larger', engine, '12')
                          for engine in ('TokuMX', 'RocksDB', 'WiredTiger')),
                cannot='it takes six disks and %.0f GB' % articles.figure(
                    'linkbench-sizes', 'larger than memory', 'TokuMX'))
    yield from of_larger_linkbench()


def of_larger_linkbench():
    """Ratios of the graph that is larger than memory."""
    rates = [articles.figure('linkbench-hours-larger', engine, '12')
             for engine in ('RocksDB', 'WiredTiger')]
    rocks, wired = (articles.row('linkbench-requests', engine + ', larger')
                    for engine in ('RocksDB', 'WiredTiger'))
    written, reads = (wired['KB written'] / rocks['KB written'],
                      rocks['reads a request'] / wired['reads a request'])

    def figures(field, one, other):
        return {'linkbench': divided(graph_figure(one, field, True),
                                     graph_figure(other, field, True))}
    yield Claim(LINKBENCH, 'larger than memory: requests/s, RocksDB to WiredTiger',
                '%.1f' % (rates[0] / rates[1]), figures('per_second', ROCKSDB, WIREDTIGER), '.1f',
                near(rates[0] / rates[1], RATIO), command=LARGER)
    yield Claim(LINKBENCH, 'larger: KB written a request, WiredTiger to RocksDB',
                '%.1f' % written, figures('device_written_bytes', WIREDTIGER, ROCKSDB), '.1f',
                near(written, RATIO), command=LARGER)
    yield Claim(LINKBENCH, 'larger: reads a request, RocksDB to WiredTiger', '%.1f' % reads,
                figures('device_reads', ROCKSDB, WIREDTIGER), '.1f', near(reads, RATIO),
                command=LARGER)


CLAIMS = [*of_durable(), *of_concerns(), *of_iibench(), *of_linkbench()]

# ---- beside a result ----

HEADS = '%-60s%15s%9s%16s  %s'


def lines(kind, result):
    """What an experiment prints below its table; nothing where no article is about it."""
    found = []
    for article in dict.fromkeys(claim.article for claim in CLAIMS):
        mine = [claim for claim in CLAIMS if claim.article == article and kind in claim.sources]
        if not mine:
            continue
        found += ['', HEADS % ('Beside the article of %s' % article, 'article', 'here',
                               'carries over', '')]
        for claim in mine:
            ours = claim.sources[kind](result)
            found.append(HEADS % (claim.what, claim.theirs, claim.shown(ours) or '-',
                                  claim.shown_wanted(),
                                  ': '.join(filter(None, claim.verdict(ours, result)))))
    return [line.rstrip() for line in found]


@dataclasses.dataclass(frozen=True)
class Row:
    """Of the comparison of everything that was measured. `source`: the name of the result."""

    claim: Claim
    ours: str
    verdict: str
    why: str
    source: str


def distance(named):
    """Sorts results (kind, name, result) of the insert benchmark by how near they come to the
    article's set-up: its one client before its rows."""
    kind, _, result = named
    return (result.get('clients', 1), -result['rows']) if kind == 'iibench' else (0, 0)


def rows(results):
    """Of [(kind, name, result)]: a Row for each claim, by the first result that has its figure, of
    the insert benchmark by the nearest one."""
    results = sorted(results, key=distance)
    for claim in CLAIMS:
        ours, source, result = next(
            ((found, name, result) for kind in claim.sources for of, name, result in results
             if of == kind and (found := claim.sources[kind](result)) is not None),
            (None, '', None))
        yield Row(claim, claim.shown(ours), *claim.verdict(ours, result), source)


def is_quiet(result):
    """Where it was not looked at, it counts as quiet."""
    return not result.get('idle') or 'steal' not in result or machine.quiet(result)[0]


# ---- what the article of 2014 asked for ----

@dataclasses.dataclass(frozen=True)
class Request:
    """A wish of the article, the patch that does it, and the figures that made it one. `prototype`
    has those of the patch's header until there is a kept result with that line."""

    what: str
    ticket: str
    slug: str
    theirs: str
    prototype: str = ''
    line: tuple = ()  # of iibench: without, with, field, what it counts


def all_requests():
    def theirs(name, column):
        return articles.figure('insert-benchmark', name, column)

    def beside_log(name):
        return format(theirs(name, WRITTEN) - theirs(name, LOG), ',.0f')
    log, raw, redo, least = (format(value, ',.0f') for value in (
        theirs(SYNC, LOG), theirs(SYNC, RAW), theirs(INNODB, LOG), theirs(TOKUMX, LOG)))
    more = 'about %.0f %% more inserts/s in some configurations'
    return [
        Request('no compression of what fits the padding', 'SERVER-13343',
                'journal-skip-compression-bytes', ''),
        Request('padding to 4 KB', 'SERVER-13344', 'journal-pad-bytes',
                '%s bytes of log an insert, %s before padding and compression' % (log, raw)),
        Request('an option without compression', 'SERVER-13345', 'journal-compressor',
                more % articles.figure('gains', 'an option without compression', 'about')),
        Request('preallocation and reuse of journal files forced', 'SERVER-13346',
                'journal-preallocate', more % articles.figure(
                    'gains', 'preallocation and reuse of journal files forced', 'about')),
        Request('counters that are not reset', 'SERVER-13186', 'journal-cumulative-stats', ''),
        Request('less redo', 'none', 'journal-insert-entries',
                '%s bytes of log an insert, %s before padding and compression; InnoDB %s, '
                'TokuMX %s' % (log, raw, redo, least),
                'iibench, 64 clients, a million rows: 4,330 bytes of log before padding and '
                'compression an insert without, 838 with it, 720 in files of 1 GB',
                ('series, at flush', 'series, sync', 'log_raw',
                 'bytes of log before padding and compression')),
        Request('less writing of data files', 'none', 'data-file-writes',
                '%s bytes an insert beside the log, InnoDB %s' % (beside_log(SYNC),
                                                                   beside_log(INNODB)),
                'iibench, 2.0 to 2.45 million rows: 3,970 bytes beside the log an insert without, '
                '1,250 with it; 8 clients make 1.2 to 1.5 times the inserts, 64 clients twice',
                ('series, at commit', 'series, at flush', 'data_bytes_per_insert',
                 'bytes beside the log')),
    ]


def of_pairs(result):
    """A sentence of a result of ./lab bench PATCH: its first workload, the patch alone."""
    block = result['blocks'][0]
    sides = [block['alone'][side] for side in ('without', 'with')]
    rates = [statistics.median(run['per_second'] for run in side) for side in sides]
    traced = [block['alone'][side + '_traced'] for side in ('without', 'with')]
    sizes = [row.get('bytes_per_commit', 0) / max(row['inserts_per_commit'], 1e-9)
             for row in traced]
    return ('%s: %s bytes of log an insert without, %s with it; %s and %s inserts/s%s' % (
        ab_table.in_words(block), *(format(value, ',.0f') for value in sizes + rates),
        '' if is_quiet(result) else ' (the machine was not quiet enough)'))


def of_rows(request, results):
    """The same of the largest of the results of ./lab bench iibench that have both lines; None
    where there is none."""
    if not request.line:
        return None
    without, with_it, field, what = request.line

    def values_of(result):
        return [of_line(name, field)(result) for name in (without, with_it)]
    result = max((each for each in results if None not in values_of(each)),
                 key=lambda each: (each['rows'], each['clients']), default=None)
    if result is None:
        return None
    values = values_of(result)
    return ('iibench, %s rows, %s: %s %s an insert without, %s with it%s' % (
        format(result['rows'], ','), clients_text(result),
        format(values[0], ',.0f'), what, format(values[1], ',.0f'),
        '' if is_quiet(result) else ' (the machine was not quiet enough)'))


def clients_text(result):
    return '1 client' if result['clients'] == 1 else '%d clients' % result['clients']


def answered(patches, iibench=()):
    """[(request, what is measured here)] by {slug: result} of the patches, and the results of
    iibench."""
    for request in all_requests():
        result = patches.get(request.slug)
        rows = of_rows(request, iibench) or request.prototype and 'its header: ' + request.prototype
        pairs = of_pairs(result) if result and result['blocks'] else ''
        yield request, '; '.join(filter(None, [rows, pairs])) or 'not measured'


def requests_table():
    """For docs/articles.md, of what is kept."""
    patches = {request.slug: kept_results.newest(request.slug) for request in all_requests()}
    return articles.markdown(
        [['request', 'ticket', 'patch', 'the article', 'here']]
        + [[request.what, request.ticket, '`patches/%s.patch`' % request.slug, request.theirs, text]
           for request, text in answered(patches, kept_results.iibench_by_size())])
