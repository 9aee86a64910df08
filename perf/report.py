#!/usr/bin/env python3
"""Turns a result of perf/run.py into one HTML file with its table and plots.

Usage: report.py RESULT.json       writes RESULT.html beside it
"""

import html
import io
import json
import sys

import matplotlib

matplotlib.use('svg')
import matplotlib.pyplot as plt  # noqa: E402

PAGE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Durable inserts, {time}</title><style>
body {{ font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
td, th {{ padding: .15em .6em; font-size: 13px; text-align: right; border-bottom: 1px solid #ddd; }}
td {{ white-space: nowrap; }}
td:first-child, th:first-child {{ text-align: left; }}
svg {{ width: 100%; height: auto; }}
</style></head><body>
<h1>Durable inserts</h1>
<p>{host}. Patches known: {patches}. {time}.</p>
<p>The disk alone: {overwrite:.0f} durable 4 KB overwrites a second, each {overwrite_ms:.3f} ms;
{append:.0f} durable 8 KB appends, each {append_ms:.3f} ms (medians). The dotted line is the first
of the two. Grey: the base; blue: the full series with one option; green: the recommended profile.
</p>
{plots}
<table><tr>{head}</tr>
{rows}
</table>
<p>The columns from "inserts per commit" on come from a second run under strace, which slows it.</p>
</body></html>
'''

COLUMNS = [
    ('server', lambda row: html.escape(row['name'])),
    ('clients', lambda row: row['clients']),
    ('inserts/s', lambda row: '%.0f' % row['per_second']),
    ('p50 ms', lambda row: '%.2f' % (row['p50_us'] / 1e3)),
    ('p99 ms', lambda row: '%.2f' % (row['p99_us'] / 1e3)),
    ('server CPU us', lambda row: '%.0f' % row['server_cpu_us']),
    ('of the floor', lambda row: '%.0f %%' % (100 * row['share_of_floor'])),
    ('inserts per commit', lambda row: '%.1f' % row['traced']['inserts_per_commit']),
    ('bytes per insert', lambda row: '%.0f' % row['bytes_per_insert']),
    ('writes per insert', lambda row: '%.2f' % row['writes_per_insert']),
    ('syncs per insert', lambda row: '%.2f' % row['syncs_per_insert']),
]


# What is drawn: title, unit, lower and upper end of the bar's mark, digits of its label.
PANELS = [
    ('Durable inserts', '1/s', lambda row: row['per_second'], None, '%.0f'),
    ('Latency: median, and 99th percentile', 'ms', lambda row: row['p50_us'] / 1e3,
     lambda row: row['p99_us'] / 1e3, '%.2f'),
    ('Journal written per insert', 'bytes', lambda row: row['bytes_per_insert'], None, '%.0f'),
]
BASE, OPTION, PROFILE, FLOOR = '#999999', '#4878a8', '#3a9a5b', '#c44e52'


def colour(name):
    return BASE if name.startswith('base') else PROFILE if name.startswith('conf') else OPTION


def draw(axes, rows, panel, floor, first):
    title, unit, value, upper, digits = panel
    names = [row['name'] for row in rows]
    values = [value(row) for row in rows]
    axes.barh(names, values, color=[colour(name) for name in names])
    ends = [upper(row) for row in rows] if upper else values
    if upper:
        axes.hlines(names, values, ends, color='black', linewidth=1)
    for name, end, shown in zip(names, ends, values):
        axes.annotate(digits % shown, (end, name), xytext=(3, 0), textcoords='offset points',
                      va='center', fontsize=7)
    if floor:
        axes.axvline(floor, color=FLOOR, linestyle=':', linewidth=1.5)
    clients = rows[0]['clients']
    axes.set_title('%s, %d client%s' % (title, clients, '' if clients == 1 else 's'), fontsize=9)
    axes.set_xlabel(unit, fontsize=8)
    axes.set_xlim(0, 1.18 * max(ends + ([floor] if floor else [])))
    axes.tick_params(labelsize=7, labelleft=first)
    axes.invert_yaxis()
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)


def plots(result):
    """One SVG: a row for each figure, a column for each number of clients."""
    rows, floor = result['rows'], result['floor']['overwrite_4k']
    marks = [floor['per_second'], floor['p50_us'] / 1e3, None]
    clients = sorted({row['clients'] for row in rows})
    figure, grid = plt.subplots(len(PANELS), len(clients), squeeze=False,
                                figsize=(4.4 * len(clients), 2.8 * len(PANELS)))
    for line, panel, mark in zip(grid, PANELS, marks):
        for axes, number in zip(line, clients):
            draw(axes, [row for row in rows if row['clients'] == number], panel, mark,
                 number == clients[0])
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format='svg')
    plt.close(figure)
    return out.getvalue()[out.getvalue().index('<svg'):]


def page(result):
    rows, floor, host = result['rows'], result['floor'], result['host']
    return PAGE.format(
        time=html.escape(result['time']), patches=html.escape(', '.join(result['patches'])),
        host=html.escape('%s, %d cores, Linux %s, %s' % (host['cpu'], host['cores'],
                                                         host['kernel'], host['file_system'])),
        overwrite=floor['overwrite_4k']['per_second'],
        overwrite_ms=floor['overwrite_4k']['p50_us'] / 1e3,
        append=floor['append_8k']['per_second'], append_ms=floor['append_8k']['p50_us'] / 1e3,
        plots=plots(result), head=''.join('<th>%s</th>' % name for name, _ in COLUMNS),
        rows='\n'.join('<tr>%s</tr>' % ''.join('<td>%s</td>' % cell(row) for _, cell in COLUMNS)
                       for row in rows))


def write(path):
    """Writes the page of a result file; returns its path."""
    with open(path, encoding='utf-8') as file:
        result = json.load(file)
    out = path[:-len('.json')] + '.html'
    with open(out, 'w', encoding='utf-8') as file:
        file.write(page(result))
    return out


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(write(sys.argv[1]))
