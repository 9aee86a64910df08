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
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd; }}
svg {{ width: 49%; height: auto; }}
</style></head><body>
<h1>Durable inserts</h1>
<p>{host}. Patches known: {patches}. {time}.</p>
<p>The disk alone: {overwrite:.0f} durable 4 KB overwrites a second, each {overwrite_ms:.3f} ms;
{append:.0f} durable 8 KB appends, each {append_ms:.3f} ms (medians).</p>
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


def plot(rows, title, unit, value, floor=None):
    """One SVG: `value` of each row over the number of clients, a line for each server."""
    figure, axes = plt.subplots(figsize=(6, 5))
    for name in dict.fromkeys(row['name'] for row in rows):
        own = [row for row in rows if row['name'] == name]
        axes.plot([row['clients'] for row in own], [value(row) for row in own], marker='o',
                  label=name)
    if floor:
        axes.axhline(floor[1], color='gray', linestyle=':', label=floor[0])
    axes.set(title=title, xlabel='clients', ylabel=unit, xscale='log', yscale='log')
    clients = sorted({row['clients'] for row in rows})
    axes.set_xticks(clients, [str(number) for number in clients])
    axes.minorticks_off()
    axes.legend(fontsize='x-small')
    out = io.StringIO()
    figure.savefig(out, format='svg', bbox_inches='tight')
    plt.close(figure)
    return out.getvalue()[out.getvalue().index('<svg'):]


def page(result):
    rows, floor = result['rows'], result['floor']
    plots = [
        plot(rows, 'Rate', 'durable inserts/s', lambda row: row['per_second'],
             ('one durable write after the other', floor['overwrite_4k']['per_second'])),
        plot(rows, 'Latency, median', 'ms', lambda row: row['p50_us'] / 1e3,
             ('one durable write', floor['overwrite_4k']['p50_us'] / 1e3)),
    ]
    host = result['host']
    return PAGE.format(
        time=html.escape(result['time']), patches=html.escape(', '.join(result['patches'])),
        host=html.escape('%s, %d cores, Linux %s, %s' % (host['cpu'], host['cores'],
                                                         host['kernel'], host['file_system'])),
        overwrite=floor['overwrite_4k']['per_second'],
        overwrite_ms=floor['overwrite_4k']['p50_us'] / 1e3,
        append=floor['append_8k']['per_second'], append_ms=floor['append_8k']['p50_us'] / 1e3,
        plots='\n'.join(plots), head=''.join('<th>%s</th>' % name for name, _ in COLUMNS),
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
