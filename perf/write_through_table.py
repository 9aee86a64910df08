"""The table of perf/write_through.py; the header of journal-no-write-through quotes it."""

import re
import statistics

import ab_table
import claims

MODES = [('overwrite_sync', 'written blocks, O_SYNC'),
         ('overwrite_datasync', 'written blocks, fdatasync'),
         ('grow_sync', 'growing, O_SYNC'),
         ('grow_datasync', 'growing, fdatasync')]
COLUMNS = [('requests', 1, lambda row: row['device_writes'] / row['appends']),
           ('flushes', 1, lambda row: row['flushes'] / row['appends']),
           ('KB written', 1, lambda row: row['kilobytes'] / row['appends']),
           ('p50 ms', 2, lambda row: row['p50_us'] / 1e3)]
FIRST_LINE = 'Durable appends of 8 KB, '


def table(result):
    host = result['host']
    lines = [FIRST_LINE + '%d a run, %d runs a line, on %s;'
             % (result['appends'], len(result['runs']), result['device']),
             'median (min..max) per append. %s, Linux %s; a flush counts as a request too.'
             % (host['file_system'], host['kernel']), '',
             '    %-26s' % '' + ''.join(' %-17s' % name for name, _, _ in COLUMNS)]
    for mode, words in MODES:
        line = '    %-26s' % words
        for _, digits, value in COLUMNS:
            values = [value(run[mode]) for run in result['runs']]
            line += ' %-17s' % ('%.*f (%.*f..%.*f)' % (
                digits, statistics.median(values), digits, min(values), digits, max(values)))
        lines.append(line)
    return '\n'.join(line.rstrip() for line in lines)


def whole_table(result):
    """The same beside the figures of the article."""
    return '\n'.join([table(result), *claims.lines('windows', result)])


def with_table(patch, text, path, time):
    """The text of a patch whose header quotes this table instead of the old one."""
    old = re.compile(r'^%s.*\n.*\n\n(?:    .*\n)+' % FIRST_LINE, re.M)
    return ab_table.with_fields(old.subn(lambda _: text + '\n', patch, count=1), path, time)
