"""The figures of one cell of a measurement: what is made of its runs, and what is wrong with them.

A run is a dict with its rate, latencies and processor time, and with the disk alone before and
after it (`floor_before`, `floor_after`, writes a second). Needs nothing but Python."""

import statistics

import machine

MARKS = (
    ('~', 'floor_moved', 'the disk alone changed by more than %.1f times from before the cell to '
     'after it, in so many rounds: the share means little' % machine.FLOOR_MOVED_MAX),
    ('!', 'above_floor', 'a lone client had more durable inserts than the disk alone makes writes, '
     'in so many rounds, which cannot be: the disk was quicker during the cell than beside it'),
)


def delay_text(result):
    """For titles: of a result that was measured on a device that was made slower; else empty."""
    delay = result.get('device_delay_ms')
    return 'every flush made %g ms slower' % delay if delay else ''


def delay_lines(result):
    """The same as the first line of a report."""
    text = delay_text(result)
    return ['SIMULATED DEVICE: %s (--device-delay %g).' % (text, result['device_delay_ms'])
            ] if text else []


def share_of(run):
    """Of the disk alone, which is the mean of before and after."""
    return run['per_second'] / statistics.mean((run['floor_before'], run['floor_after']))


def has_moved(run):
    low, high = sorted((run['floor_before'], run['floor_after']))
    return high > machine.FLOOR_MOVED_MAX * low


def summarize(row):
    """Fills in what the table shows of a row from its `runs`: medians of rates, latencies and
    shares with the least and the greatest rate; processor time over all inserts; how many runs
    have which mark."""
    runs = row['runs']
    rates = [run['per_second'] for run in runs]
    row.update(per_second=statistics.median(rates), per_second_min=min(rates),
               per_second_max=max(rates), share_of_floor=statistics.median(map(share_of, runs)),
               floor_moved=sum(map(has_moved, runs)),
               above_floor=sum(row['clients'] == 1 and share_of(run) > 1 for run in runs))
    for name in ('p50_us', 'p99_us'):
        row[name] = statistics.median(run[name] for run in runs)
    for name in ('server_cpu_us', 'server_kernel_us', 'client_cpu_us', 'client_kernel_us'):
        row[name] = (sum(run[name] * run['per_second'] for run in runs) / max(sum(rates), 1e-9))
    cpu = row['server_cpu_us'] + row['client_cpu_us']
    row['kernel_share'] = (row['server_kernel_us'] + row['client_kernel_us']) / max(cpu, 1e-9)
    row['processors'] = cpu * row['per_second'] / 1e6
    traced = row.get('traced')
    if traced:
        for name in ('bytes', 'writes', 'syncs'):
            row[name + '_per_insert'] = (traced.get(name + '_per_commit', 0)
                                         / max(traced['inserts_per_commit'], 1e-9))


def marks(row):
    """For example '~2 !1'; empty for a row without."""
    return ' '.join('%s%d' % (sign, row[name]) for sign, name, _ in MARKS if row.get(name))


def explanations(rows):
    """What the marks in these rows mean."""
    return ['%s  %s' % (sign, text) for sign, name, text in MARKS
            if any(row.get(name) for row in rows)]


def noise(rows):
    """The noise band: the median over the rows of half the range of the rounds, as a share."""
    return statistics.median((row['per_second_max'] - row['per_second_min'])
                             / 2 / max(row['per_second'], 1e-9) for row in rows)


def noise_text(rows):
    """How often, how long, and what a difference must exceed to say something."""
    rounds = max(len(row['runs']) for row in rows)
    if rounds == 1:
        return ('One round of %g s a cell: how much a rate moves by itself is not known, so '
                'differences say nothing.' % rows[0]['seconds'])
    return ('Medians of %d rounds of %g s a cell. From round to round a rate moved by %.0f %% up or'
            ' down (half the range, in the middle of the rows): smaller differences say nothing.'
            % (rounds, rows[0]['seconds'], 100 * noise(rows)))
