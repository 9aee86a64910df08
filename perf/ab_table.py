"""The table of one option against the base, from a result of perf/ab.py; patch headers quote it.

A change is called noise when it is within the noise band: the distance from the lowest run to the
highest, on the side that scatters more, as a share of its median.
"""

import re
import statistics

# Name in the table, digits, value of one run (of one traced run for those of TRACED).
METRICS = [
    ('inserts/s', 0, lambda row: row['per_second']),
    ('p50 ms', 2, lambda row: row['p50_us'] / 1e3),
    ('p99 ms', 2, lambda row: row['p99_us'] / 1e3),
    ('server CPU us per insert', 0, lambda row: row['server_cpu_us']),
]
# The last word: whether the figure of a commit is shared by its inserts.
TRACED = [
    ('journal bytes per insert', 0, 'bytes_per_commit', True),
    ('writes per insert', 2, 'writes_per_commit', True),
    ('syncs per insert', 2, 'syncs_per_commit', True),
    ('one sync, us', 0, 'sync_us_per_commit', False),
]
SIDES = ('base', 'option')
FORM = '    %-26s %-22s %-22s %s'


def percent(before, after):
    return 100 * (after - before) / before if before else 0.0


def noise_band(sides):
    """In percent; `sides` are lists of runs."""
    return max(100 * (max(values) - min(values)) / statistics.median(values)
               if statistics.median(values) else 0.0 for values in sides)


def compared(cell, value):
    """(runs of both sides, medians, change in percent, noise band in percent) of one metric."""
    sides = [[value(row) for row in cell[side]] for side in SIDES]
    medians = [statistics.median(values) for values in sides]
    return sides, medians, percent(*medians), noise_band(sides)


def clients_of(cell):
    return '%d client%s' % (cell['clients'], 's' if cell['clients'] > 1 else '')


def cell_lines(cell):
    lines = [FORM % (clients_of(cell), *SIDES, 'change (noise band)')]
    for name, digits, value in METRICS:
        sides, medians, change, band = compared(cell, value)
        texts = ['%.*f (%.*f..%.*f)' % (digits, median, digits, min(values), digits, max(values))
                 for median, values in zip(medians, sides)]
        lines.append(FORM % ('  ' + name, *texts, '%+.0f%% (%.0f%%)' % (change, band)))
    for name, digits, key, shared in TRACED:
        values = []
        for side in SIDES:
            row = cell[side + '_traced']
            values.append(row.get(key, 0) / (row['inserts_per_commit'] if shared else 1))
        lines.append(FORM % ('  ' + name, *['%.*f' % (digits, each) for each in values],
                             '%+.0f%%' % percent(*values)))
    return lines


def verdict(result):
    """One line for each number of clients: which clocks changed by more than the noise."""
    lines = []
    for cell in result['cells']:
        beyond = []
        for name, _, value in METRICS:
            _, _, change, band = compared(cell, value)
            if abs(change) > band:
                beyond.append('%s %+.0f%%' % (name, change))
        lines.append('    %s: %s' % (clients_of(cell), ', '.join(beyond) or 'nothing'))
    return ['Beyond the noise band:', ''] + lines


def table(result):
    """The text that a patch's header quotes."""
    host, floor = result['host'], result['floor']
    lines = [
        '%s, %d runs a side of %g s after %g s, alternating, fresh data;'
        % (result['workload'], result['runs'], result['seconds'],
           result.get('warmup', 0.5)),  # the first results do not say
        'median (min..max). %d cores, %s, Linux %s.'
        % (host['cores'], host['file_system'], host['kernel'].split('-')[0]),
        'Base:   ' + ' '.join(result['options']['base']),
        'Option: ' + ' '.join(result['options']['option']),
        'Disk alone: one 4 KB durable overwrite %.2f ms (p99 %.2f), one 8 KB append %.2f ms.'
        % (floor['overwrite_4k']['p50_us'] / 1e3, floor['overwrite_4k']['p99_us'] / 1e3,
           floor['append_8k']['p50_us'] / 1e3), '']
    for cell in result['cells']:
        lines += cell_lines(cell) + ['']
    return '\n'.join(line.rstrip() for line in lines + verdict(result))


def with_table(patch, table, path, date):
    """The text of a patch whose header quotes this table. The old one begins with the workload and
    ends with the verdict."""
    old = re.compile(r'^insertOne of (?:.*\n)*?Beyond the noise band:\n\n(?:    .*\n)+', re.M)
    return with_fields(old.subn(lambda _: table + '\n', patch, count=1), path, date)


def with_fields(replaced, path, date):
    """The end of with_table: `replaced` is the patch with its new table, and how many it had."""
    patch, tables = replaced
    if not tables:
        raise ValueError('its header has no table to replace')
    patch = re.sub(r'^Result: .*$', 'Result: ' + path, patch, count=1, flags=re.M)
    return re.sub(r'^Last-update: .*$', 'Last-update: ' + date, patch, count=1, flags=re.M)
