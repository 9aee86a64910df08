"""The table of one patch, from a result of perf/ab.py; the patch's header quotes it.

A row has, for the patch alone and in the full series, the medians of both sides and the change: the
median of the pairs, with the least and the greatest of them. No cell is marked as no chance: of the
200 cells of a series a test of each would mark some by chance, and one that allows for so many
wants more pairs than a run has."""

import datetime
import email.utils
import os
import re
import statistics
import textwrap

import cells
import machine

# Name in the table, digits, value of one run.
METRICS = [
    ('inserts/s', 0, lambda row: row['per_second']),
    ('p50 ms', 2, lambda row: row['p50_us'] / 1e3),
    ('p99 ms', 2, lambda row: row['p99_us'] / 1e3),
    ('server CPU us/insert', 1, lambda row: row['server_cpu_us']),
]
# The same of one traced run; the figures of a commit are shared by its inserts.
TRACED = [('journal bytes/insert', 0, 'bytes_per_commit'),
          ('writes/insert', 3, 'writes_per_commit')]
FIRST_LINE = 'Pairs of runs, '
LINES_MAX = 22
FORM = '    %-22s%8s%8s %-20s%8s%8s %s'
COLUMNS = {'alone': ('base', 'with it'), 'company': ('without', 'with it')}
IN_WORDS = {'company': 'full series'}  # of the halves whose name in a result says too little
PAIRS_MIN = 6


def change(before, after):
    """In percent; None where there was nothing before."""
    return 100 * (after - before) / before if before else None


def paired(cell, value):
    """(both medians, changes of the pairs or None)."""
    sides = [[value(row) for row in cell[side]] for side in ('without', 'with')]
    changes = [change(*pair) for pair in zip(*sides)]
    return ([statistics.median(values) for values in sides], None if None in changes else changes)


def shown_change(changes):
    if changes is None:
        return ''
    return '%+.0f%% (%+.0f..%+.0f)' % (statistics.median(changes), min(changes), max(changes))


def cells_of(cell, name, digits, value):
    medians, changes = paired(cell, value)
    return ['%.*f' % (digits, median) for median in medians] + [shown_change(changes)]


def traced_cells(cell, digits, key):
    values = [row.get(key, 0) / max(row['inserts_per_commit'], 1e-9)
              for row in (cell['without_traced'], cell['with_traced'])]
    moved = change(*values)
    return (['%.*f' % (digits, value) for value in values]
            + ['' if moved is None else '%+.0f%%' % moved])


def counter_cells(cell):
    values = [statistics.median(row['counter'] / max(row['documents_in_all'], 1)
                                for row in cell[side]) for side in ('without', 'with')]
    return ['%.1e' % value if 0 < value < 0.0005 else '%.3f' % value for value in values] + ['']


def in_words(block):
    """The workload in at most 25 characters: "4 clients, j:true, 64 KB"; that of
    "8 clients, 4 KB prose" has j:true too."""
    words, _, interval = block['workload'].partition(' at ')
    words = words.split()

    def after(name, default):
        return int(words[words.index(name) + 1]) if name in words else default
    clients, size = after('--clients', 1), after('--bytes', 200)
    if '--text' in words:
        kind = words[words.index('--text') + 1]
        return '%d clients, %d KB %s' % (clients, size // 1024,
                                         kind if kind == 'random' else 'prose')
    return ', '.join(
        ['%d client%s' % (clients, 's' if clients > 1 else ''),
         'w:1' if '--no-journal' in words else 'j:true']
        + ([] if size == 200 else ['%d KB' % (size // 1024) if size % 1024 == 0 else '%d B' % size])
        + ([interval] if interval else []))


def options_line(options):
    """What the two sides of the left half have in common, and what they have not."""
    common = os.path.commonprefix([options['without'], options['with']])
    if len(common) % 2 == 1:
        common = common[:-1]  # a name whose values differ
    parts = [('', common), ('base ', options['without'][len(common):]),
             ('with it ', options['with'][len(common):])]
    return 'Left, the patch alone: %s.' % ', '.join(name + ' '.join(words)
                                                    for name, words in parts if words)


def block_lines(block, counter):
    kinds = [kind for kind in COLUMNS if kind in block]

    def line(name, cells):
        padded = [text for kind in kinds for text in cells(block[kind], kind)] + [''] * 3
        return (FORM % (name, *padded[:6])).rstrip()

    head, title = line('', lambda _, kind: [*COLUMNS[kind], 'change (pairs)']), in_words(block)
    lines = ['    ' + title + head[4 + len(title):]]
    for name, digits, value in METRICS:
        lines.append(line('  ' + name, lambda cell, _: cells_of(cell, name, digits, value)))
    for name, digits, key in TRACED:
        lines.append(line('  ' + name, lambda cell, _: traced_cells(cell, digits, key)))
    if counter:
        lines.append(line('  ' + counter.rsplit('.', 1)[1], lambda cell, _: counter_cells(cell)))
    return lines


def quiet_lines(result):
    """That the machine was not quiet, and why."""
    if not result.get('floors') or machine.quiet(result)[0]:
        return []
    return textwrap.wrap('Not quiet enough for conclusions: %s.'
                         % '; '.join(machine.quiet(result)[1]), 100)


def table(result):
    """The text that a patch's header quotes."""
    host, floor = result['host'], result['floor']
    blocks = result['blocks']
    options = blocks[0]['alone']['options'] if blocks else {'without': [], 'with': []}
    company = any('company' in block for block in blocks)
    lines = [
        FIRST_LINE + '%d of %g s after %g s, in turn, fresh data; change: median (least..greatest).'
        % (result['runs'], result['seconds'], result.get('warmup', 0.5)),  # the first do not say
        '%d cores, %s, Linux %s; the disk alone: 4 KB overwrite %.2f ms, 8 KB append %.2f ms.'
        % (host['cores'], host['file_system'], host['kernel'].split('-')[0],
           floor['overwrite_4k']['p50_us'] / 1e3, floor['append_8k']['p50_us'] / 1e3),
        *quiet_lines(result), *textwrap.wrap(options_line(options), 100)]
    if company:
        lines.append('Right: the full series with conf/durable.yaml, without the option and with '
                     'it.')
    for block in blocks:
        lines += block_lines(block, result.get('counter'))
    return '\n'.join(line.rstrip() for line in lines)


def servers_lines(result):
    """A table for each server of --server, beside those of ours. A header does not quote them."""
    for about in result.get('servers', ()):
        yield ''
        yield '%s (%s): %s' % (about['name'], about['version'],
                               ' '.join([about['program']] + about['options']))
        for block in result['blocks']:
            cell = block['servers'].get(about['name'])
            if not cell:
                continue  # it was interrupted before
            sides = [' '.join(cell['options'][side]) or 'nothing more'
                     for side in ('without', 'with')]
            yield 'without: %s; with it: %s' % tuple(sides)
            yield from block_lines({'workload': block['workload'], 'alone': cell},
                                   result.get('counter'))
    if result.get('old_wire'):
        yield ''
        yield ('All servers were loaded as old drivers did it (OP_INSERT, then getLastError): one '
               'knows\nnothing newer.')


def cells_in(result):
    """(words, number of clients, cell) of all that was compared."""
    for block in result['blocks']:
        found = re.search(r'--clients (\d+)', block['workload'])
        halves = {name: block[name] for name in COLUMNS if name in block}
        for name, cell in {**halves, **block.get('servers', {})}.items():
            words = '%s, %s' % (in_words(block), IN_WORDS.get(name, name))
            yield words, int(found[1]) if found else 1, cell


def floors_moved(result):
    """Share of the runs beside which the disk alone changed too much."""
    runs = [run for _, _, cell in cells_in(result) for side in ('without', 'with')
            for run in cell[side]]
    return sum(map(cells.has_moved, runs)) / max(1, len(runs))


def method_lines(result):
    """What the disk and the processors did beside the figures, as far as the result has it (those
    before 2026-11-22 have not): a line for each side, with its marks."""
    if not result.get('floors'):
        return
    floors, rows = result['floors'], []
    yield ''
    yield ('The disk alone, beside each run: %.0f durable 4 KB overwrites/s (%.0f..%.0f).'
           % (statistics.median(floors), min(floors), max(floors)))
    yield ('Its device says of itself: force unit access %s, write cache "%s".'
           % ({'1': 'yes', '0': 'no'}.get(result['host'].get('fua'), 'unknown'),
              result['host'].get('write_cache') or 'unknown'))
    yield '%-54s%8s%8s%8s%8s  %s' % ('cpu us per insert, share of that disk', 'server', 'client',
                                     'kernel', 'floor', 'marks')
    for words, clients, cell in cells_in(result):
        for side in ('without', 'with'):
            row = {'clients': clients, 'runs': cell[side]}
            cells.summarize(row)
            rows.append(row)
            yield ('  %-52s%8.1f%8.1f%7.0f%%%7.0f%%  %s' % (
                '%s, %s it' % (words, side), row['server_cpu_us'], row['client_cpu_us'],
                100 * row['kernel_share'], 100 * row['share_of_floor'], cells.marks(row))).rstrip()
    for text in cells.explanations(rows):
        yield from textwrap.wrap(text, 100, subsequent_indent='   ')


def whole_table(result):
    """All of it; first, whether the machine was quiet enough."""
    lines = []
    if result.get('floors'):
        lines = cells.delay_lines(result)
        lines += textwrap.wrap(machine.quiet_text(result), 100)
        if result.get('stopped'):
            lines.append('It was ended before its end: %s.' % result['stopped'])
        lines.append('')
    return '\n'.join([*lines, table(result), *servers_lines(result), *method_lines(result)])


def git_date(time):
    """As git log --format=%aD has that ISO time: the first nine days of a month with one digit."""
    return email.utils.format_datetime(datetime.datetime.fromisoformat(time)).replace(', 0', ', ')


def with_fields(replaced, path, time):
    """A patch with another Result, of that ISO time; `replaced`: it, and how many tables it got."""
    patch, tables = replaced
    if not tables:
        raise ValueError('its header has no table to replace')
    patch = re.sub(r'^Result: .*$', lambda _: 'Result: ' + path, patch, count=1, flags=re.M)
    patch = re.sub(r'^Awaits-measurement: .*\n', '', patch, count=1, flags=re.M)
    patch = re.sub(r'^Last-update: .*$', 'Last-update: ' + time[:10], patch, count=1, flags=re.M)
    return re.sub(r'^Date: .*$', 'Date: ' + git_date(time), patch, count=1, flags=re.M)


def with_first_table(patch, table, path, time):
    """The text of a patch that was not measured before, with its table before the fields."""
    before_fields = '\n\nOption: '
    return with_table(patch, before_fields, '\n\n' + table + before_fields, path, time)


def with_table(patch, old_table, new_table, path, time):
    """The text of a patch whose header quotes the new table instead of the old one."""
    return with_fields((patch.replace(old_table, new_table, 1), patch.count(old_table)), path, time)
