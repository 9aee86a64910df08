"""What linkbench.py prints and draws of a result; findings.py and overview.py read it too."""

import statistics
import textwrap

import any_server
import articles
import claims
import experiment
import kept_results
import plots

KINDS = ('get_node', 'add_node', 'update_node', 'delete_node', 'get_link', 'get_link_list',
         'count_link', 'add_link', 'update_link', 'delete_link')
ARTICLES_KINDS = ('add_link', 'update_link', 'get_link_list')  # whose times it has
PARTS = 12  # of the measured time; the article has a rate for each of its 12 hours


def kind_of(runs, kind):
    """(requests, average, p95, p99, longest in ms, rows a request) over the rounds."""
    each = [run['kinds'][kind] for run in runs if run['kinds'][kind]['count']]
    count = sum(one['count'] for one in each)
    if not each:
        return 0, None, None, None, None, None
    return (count, *(statistics.median(one[name] for one in each) / 1e3
                     for name in ('mean_us', 'p95_us', 'p99_us')),
            max(one['max_us'] for one in each) / 1e3, sum(one['rows'] for one in each) / count)


def measured(result):
    return {name: each for name, each in result['contenders'].items() if each['runs']}


def check_text(check):
    if not check:
        return ''
    if check['visible_links'] == check['counted_links']:
        return 'right'
    return 'off by %d' % abs(check['visible_links'] - check['counted_links'])


SUMMARY = '%-28s%10s  %-24s%8s%8s  %-10s'


def table(result):
    lines = experiment.head(result)
    shown = measured(result)
    loads = [each['load'] for each in shown.values()]
    lines += ['', 'A graph of %d nodes and %d links; %s; %s.' % (
        result['nodes'], loads[0]['links'], experiment.plural(result['clients'], 'client'),
        'answers do not wait for the disk' if result['lazy'] else
        'each write is on the disk before it is answered')]
    if result.get('transactions'):
        lines += ['By MongoDB\'s protocol a link and its count change in one transaction.']
    lines += ['', SUMMARY % ('', 'load', 'requests/s', 'cpu us', '', 'counts'),
              SUMMARY % ('', 'rows/s', 'median (min..max)', 'server', 'client', 'at the end')]
    for name, each in shown.items():
        server_cpu = experiment.middle([run.get('server_cpu_us') for run in each['runs']])
        lines.append(SUMMARY % (
            name, '%.0f' % each['load']['per_second'],
            experiment.spread([run['per_second'] for run in each['runs']]),
            '' if server_cpu is None else '%.0f' % server_cpu,
            '%.0f' % statistics.median(run['client_cpu_us'] for run in each['runs']),
            check_text(each.get('check'))))
    for name, each in shown.items():
        lines += ['', name, '%-18s%9s%10s%10s%10s%10s%9s' % (
            '', 'requests', 'average', 'p95', 'p99', 'longest', 'rows')]
        for kind in KINDS:
            count, *figures, rows = kind_of(each['runs'], kind)
            lines.append('%-18s%9d' % (kind, count) + ''.join('%10s' % text(value, '%.3f')
                                                              for value in figures)
                         + '%9s' % text(rows, '%.1f'))
        rates = [' '.join('%.0f' % (count / result['interval']) for count in run['per_interval'])
                 for run in each['runs']]
        if any(rates):
            lines.append('requests/s in each %g s, round after round: %s' % (
                result['interval'], ' | '.join(rates)))
        repeated = sum(run['repeated'] for run in each['runs'])
        if repeated:
            lines.append('%d requests were repeated, since another client was in the way.'
                         % repeated)
    lines += ['', *(engines_lines(result, shown) if 'engines' in result else frequent_lines(shown))]
    lines += ['', 'Times in ms: medians of the rounds, and the longest of all. rows: found or '
              'written by a request.']
    lines += ['%s: %s' % (name, each['settings']) for name, each in shown.items()]
    lines += ['left out: %s: %s' % item for item in result['left_out'].items()]
    lines += any_server.texts(result)
    lines += claims.lines('linkbench', result)
    return '\n'.join(line.rstrip() for line in lines)


def text(value, form):
    return '' if value is None else form % value


def page_table(name):
    """Of the result that is kept, for docs/benchmarks.md."""
    lines = [['', 'requests/s', *('%s, ms' % kind for kind in ARTICLES_KINDS),
              'KB read, written a request', 'MB stored']]
    for contender, each in measured(kept_results.newest(name)).items():
        runs = each['runs']
        lines.append([contender, experiment.spread([run['per_second'] for run in runs]),
                      *('%.1f' % kind_of(runs, kind)[1] for kind in ARTICLES_KINDS),
                      ', '.join('%.1f' % (statistics.median(run[field] for run in runs) / 1e3)
                                for field in ('device_read_bytes', 'device_written_bytes')),
                      '%.0f' % (runs[-1]['stored_bytes'] / 1e6)])
    return articles.markdown(lines)


# ---- beside the article ----

def frequent_lines(shown):
    """The requests whose times the article has: average ms, ours and its."""
    form = '%-40s' + '%16s' * len(ARTICLES_KINDS)
    yield form % ('Average ms of a request', *ARTICLES_KINDS)
    for name, each in shown.items():
        yield form % (name, *(text(kind_of(each['runs'], kind)[1], '%.3f')
                              for kind in ARTICLES_KINDS))
    for name in names_of('linkbench-requests'):
        row = articles.row('linkbench-requests', name)
        yield form % ('the article, %s' % name,
                      *('%.3f' % row[kind + ', ms'] for kind in ARTICLES_KINDS))


def names_of(table_name):
    return [words[0] for words in articles.tables()[table_name]['rows']]


def in_parts(result, runs):
    """Requests a second in PARTS equal parts of all rounds, or in as many as there are
    intervals."""
    rates = [count / result['interval'] for run in runs for count in run['per_interval']]
    parts = min(PARTS, len(rates))
    bounds = [part * len(rates) // parts for part in range(parts + 1)] if parts else []
    return [statistics.mean(rates[begin:end]) for begin, end in zip(bounds, bounds[1:])]


COURSE = '%-24s' + '%6s' * PARTS


def course_lines(result, shown, larger):
    yield ('Requests/s, the measured time in up to %d parts; of the article one for each hour'
           % PARTS)
    yield COURSE % ('', *range(1, PARTS + 1))
    for name, each in shown.items():
        rates = ['%.0f' % rate for rate in in_parts(result, each['runs'])]
        yield COURSE % (name, *rates, *[''] * (PARTS - len(rates)))
    table_name = 'linkbench-hours' + '-larger' * larger
    for name in names_of(table_name):
        row = articles.row(table_name, name)
        yield COURSE % ('the article, %s' % name, *('%.0f' % rate for rate in row.values()))


TIMES = '%-24s' + '%9s%7s%7s ' * len(ARTICLES_KINDS)


def times_lines(shown, larger):
    yield ('%-24s' + '%-24s' * len(ARTICLES_KINDS)) % (
        '', *('   %s, ms' % kind for kind in ARTICLES_KINDS))
    yield TIMES % ('', *('average', 'p95', 'p99') * len(ARTICLES_KINDS))
    for name, each in shown.items():
        yield TIMES % (name, *(text(value, '%.3f') for kind in ARTICLES_KINDS
                               for value in kind_of(each['runs'], kind)[1:4]))
    for name, row in of_article(larger):
        yield TIMES % (name, *(cell for kind in ARTICLES_KINDS
                               for cell in ('%.3f' % row[kind + ', ms'], '', '')))


def of_article(larger):
    """(name, row of linkbench-requests) of those of one size."""
    for name in names_of('linkbench-requests'):
        engine, size = name.split(', ')
        if larger == (size == 'larger'):
            yield 'the article, %s' % engine, articles.row('linkbench-requests', name)


DEVICE = '%-24s%8s%9s%11s%10s%11s%8s%7s%8s'


def device_lines(shown, larger):
    """What the device did for a request, memory, and what is stored."""
    yield DEVICE % ('', 'reads', 'KB read', 'KB written', 'stored MB', '', 'files', 'log', 'memory')
    yield DEVICE % ('', '/request', '/request', '/request', 'loaded', 'at the end', 'MB', 'MB',
                    'MB')
    for name, each in shown.items():
        runs = each['runs']

        def middle(field, unit, form, runs=runs):
            value = experiment.middle([run.get(field) for run in runs])
            return '' if value is None else form % (value / unit)

        def last(field, run, form='%.0f'):
            return '' if run.get(field) is None else form % (run[field] / 1e6)
        memory = [run['memory_bytes'] for run in runs if 'memory_bytes' in run]
        yield DEVICE % (name, middle('device_reads', 1, '%.3f'),
                        middle('device_read_bytes', 1e3, '%.3f'),
                        middle('device_written_bytes', 1e3, '%.3f'),
                        last('stored_bytes', each['load'], '%.1f'),
                        last('stored_bytes', runs[-1], '%.1f'), last('data_bytes', runs[-1]),
                        last('log_bytes', runs[-1]), '%.0f' % (max(memory) / 1e6) if memory else '')
    rows = articles.tables()['linkbench-sizes']
    sizes = articles.row('linkbench-sizes', 'larger than memory' if larger else 'in memory')
    times = {name.split(', ')[1]: row for name, row in of_article(larger)}
    for engine in rows['columns']:
        row = times.get(engine, {})
        yield DEVICE % ('the article, %s' % engine, *(
            text(row.get(name), '%.3f') for name in ('reads a request', 'KB read', 'KB written')),
            '', text(sizes[engine] and sizes[engine] * 1e3, '%.0f'), '', '', '')


def memory_text(result):
    engines = result['engines']
    caches = 'caches of wiredTiger and rocksdb of %.0f MB' % (engines['cache_bytes'] / 1e6)
    if not engines['memory_mb']:
        return 'Memory is not limited; %s.' % caches
    if engines['no_group']:
        return ('No server could be kept to %d MB (%s), so pages of files are wherever they have '
                'room; %s.' % (engines['memory_mb'], engines['no_group'], caches))
    return 'Each server has %d MB, pages of files included; %s.' % (engines['memory_mb'], caches)


def engines_lines(result, shown):
    """The article's tables, ours above its own."""
    larger = claims.is_larger(result)
    yield from course_lines(result, shown, larger)
    yield ''
    yield from times_lines(shown, larger)
    yield ''
    yield from device_lines(shown, larger)
    yield ''
    yield from textwrap.wrap(' '.join((
        memory_text(result),
        'The graph is larger than memory in every server.' if larger else
        "The graph fits into memory, so beside it stands what the article had in memory.",
        "Reads and bytes are the device's, with those of others on it, up to a full flush at the "
        'end of each round. stored: of the graph, as the engine counts it; files: all in the data '
        'directory but the log, with the oplog and what is preallocated. memory: of the process '
        'without pages of mapped files, the most after a round.')), experiment.WIDTH)


# ---- plots ----

def draw(result, stem):
    shown = measured(result)
    paths = []
    counts = {name: [count / result['interval'] for run in each['runs']
                     for count in run['per_interval']] for name, each in shown.items()}
    if all(counts.values()):
        paths.append(plots.course(
            stem + '-intervals.svg', plots.title_of('LinkBench, requests a second', result),
            'interval of %g s, round after round' % result['interval'], 'requests/s', counts))
    return paths
