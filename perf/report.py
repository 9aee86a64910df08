#!/usr/bin/env python3
"""Turns a result of perf/run.py into one HTML page: what was measured, plots, table, all figures.

The page needs nothing beside itself: plots are SVG in it, the figures are in it as JSON too.
Usage: report.py RESULT.json       writes RESULT.html beside it
"""

import html
import io
import json
import re
import sys

import matplotlib

matplotlib.use('svg')
# Text stays text, so that a reader can search and copy it; names of parts do not change from run
# to run.
matplotlib.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'report',
                            'font.family': ['sans-serif']})
import matplotlib.pyplot as plt  # noqa: E402

BASE, OPTION, PROFILE, FLOOR, OTHER = '#8c8c8c', '#4878a8', '#3a9a5b', '#c44e52', '#b07aa1'

PAGE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Durable inserts, option by option</title><style>
body {{ font: 16px/1.5 sans-serif; color: #222; margin: 2em auto; max-width: 74em;
       padding: 0 1em; }}
h1 {{ margin-bottom: 0; }}
.when {{ color: #666; margin-top: 0; }}
p, ul, dl {{ max-width: 48em; }}
figure {{ margin: 2em 0; }}
figcaption {{ font-size: 14px; color: #444; max-width: 55em; }}
svg {{ width: 100%; height: auto; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 14px; }}
td, th {{ padding: .15em .5em; text-align: right; white-space: nowrap; }}
thead th {{ vertical-align: bottom; }}
tbody {{ border-top: 1px solid #999; }}
tbody th {{ text-align: left; vertical-align: top; font-weight: normal; }}
thead tr:first-child th {{ text-align: center; color: #666; font-weight: normal; }}
.key {{ display: inline-block; width: .8em; height: .8em; }}
dt {{ float: left; clear: left; width: 9em; color: #666; }}
dd {{ margin-left: 9em; }}
pre {{ font-size: 12px; overflow-x: auto; }}
</style></head><body>
<h1>Durable inserts, option by option</h1>
<p class="when">{time}</p>
<p>How many inserts a second does a server acknowledge when each must be on the disk first, and what
does each option of its journal change? The disk alone makes {overwrite} durable overwrites of 4 KB
a second one after the other ({overwrite_ms} ms each), and {append} appends of 8 KB
({append_ms} ms). Above that rate inserts share a write.</p>
<ul>
{findings}
</ul>
<p>{keys}</p>
{figures}
<h2>The figures</h2>
<div class="table"><table><thead>
<tr><th colspan="2"></th><th colspan="{timed}">timed run</th>
<th colspan="{traced}">run under strace</th></tr>
<tr><th></th><th>clients</th>{head}</tr></thead>
{rows}
</table></div>
<h2>How it was measured</h2>
<dl>
{setting}
</dl>
<p>Each line of the table is two runs: one for the rate, the latencies and the processor time, and
one under strace, which slows the server, for what a commit does to the journal. Client and server
share the machine. Each run was made once: small differences are noise.</p>
<details><summary>All figures as JSON</summary><pre>{json}</pre></details>
</body></html>
'''


def number(value, digits=0):
    return format(value, ',.%df' % digits)


def times(ratio):
    return number(ratio, 0 if ratio >= 10 else 1)


# Heading, cell. The first ones are of the run without strace.
TIMED = [
    ('inserts/s', lambda row: number(row['per_second'])),
    ('share of<br>the disk’s', lambda row: number(100 * row['share_of_floor']) + ' %'),
    ('p50 ms', lambda row: number(row['p50_us'] / 1e3, 2)),
    ('p99 ms', lambda row: number(row['p99_us'] / 1e3, 2)),
    ('server CPU,<br>us per insert', lambda row: number(row['server_cpu_us'])),
]
TRACED = [
    ('inserts<br>per commit', lambda row: number(row['traced']['inserts_per_commit'], 1)),
    ('bytes<br>per insert', lambda row: number(row['bytes_per_insert'])),
    ('writes<br>per insert', lambda row: number(row['writes_per_insert'], 2)),
    ('syncs<br>per insert', lambda row: number(row['syncs_per_insert'], 2)),
]


def kind(row):
    """The colour of a server; one of --server has no patches of ours."""
    if row['selection'] is None:
        return OTHER
    name = row['name']
    return BASE if name.startswith('base') else PROFILE if name.startswith('conf') else OPTION


def server_texts(result):
    """A sentence for each server of --server, and on how all were loaded."""
    for about in result.get('servers', ()):
        yield '%s: %s (%s)' % (about['name'], ' '.join([about['program']] + about['options']),
                               about['version'])
    if result.get('old_wire'):
        yield ('All servers were loaded as old drivers did it, by OP_INSERT and getLastError: one '
               'knows nothing newer.')


def label(axes, ends, texts):
    """Figures at the ends of the marks, readable where the disk's line runs through them."""
    for place, (end, text) in enumerate(zip(ends, texts)):
        axes.annotate(text, (end, place), xytext=(6, 0), textcoords='offset points', va='center',
                      fontsize=10, bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 1})


def bars(axes, rows, value, floor=None):
    """A bar for each row with its figure; a dotted line for the disk alone."""
    values = [value(row) for row in rows]
    axes.barh(range(len(rows)), values, color=[kind(row) for row in rows])
    label(axes, values, [number(shown) for shown in values])
    if floor is not None:
        axes.axvline(floor, color=FLOOR, linestyle=':', linewidth=2)
    axes.set_xlim(0, 1.22 * max(values + [floor or 0]))
    axes.locator_params(axis='x', nbins=4)
    axes.xaxis.set_major_formatter(lambda x, _: number(x))


def latencies(axes, rows, floor):
    """Median and 99th percentile on a logarithmic axis: between slowest and quickest lie hundreds,
    and a bar would have no foot there."""
    medians, highest = [[row[name] / 1e3 for row in rows] for name in ('p50_us', 'p99_us')]
    colours = [kind(row) for row in rows]
    axes.hlines(range(len(rows)), medians, highest, color=colours, linewidth=2)
    axes.scatter(medians, range(len(rows)), color=colours, s=45, zorder=3)
    label(axes, highest, [number(median, 2) for median in medians])
    axes.axvline(floor, color=FLOOR, linestyle=':', linewidth=2)
    axes.set_xscale('log')
    axes.set_xlim(min(medians + [floor]) / 1.5, 4 * max(highest))
    axes.xaxis.set_major_formatter(lambda x, _: '%g' % x)


FIGURES = [
    ('rate', 'durable inserts a second',
     'Durable inserts a second. The dotted line is what the disk does alone, one write after the '
     'other; more clients than one can pass it, because their inserts share a commit. The axes '
     'differ.',
     lambda axes, rows, floor: bars(axes, rows, lambda row: row['per_second'],
                                    floor['per_second'])),
    ('latency', 'latency, ms',
     'Time from sending an insert to its acknowledgement: the dot and its figure are the median, '
     'the line reaches to the 99th percentile. Logarithmic. The dotted line is the median of the '
     'disk alone.',
     lambda axes, rows, floor: latencies(axes, rows, floor['p50_us'] / 1e3)),
    ('bytes', 'bytes of journal per insert',
     'Bytes written to the journal for each insert of the traced run. More inserts in a commit '
     'share its padding.',
     lambda axes, rows, floor: bars(axes, rows, lambda row: row['bytes_per_insert'])),
]


def clients_of(rows):
    return sorted({row['clients'] for row in rows})


def plural(clients):
    return '%d client%s' % (clients, '' if clients == 1 else 's')


def drawing(rows, floor, name, unit, draw):
    """One SVG: a panel for each number of clients."""
    clients = clients_of(rows)
    servers = len({row['name'] for row in rows})
    figure, panels = plt.subplots(1, len(clients), squeeze=False,
                                  figsize=(4.6 * len(clients), 1.2 + 0.3 * servers))
    for axes, count in zip(panels[0], clients):
        shown = [row for row in rows if row['clients'] == count]
        draw(axes, shown, floor)
        axes.set_yticks(range(len(shown)), [row['name'] for row in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_title(plural(count), fontsize=12)
        axes.set_xlabel(unit, fontsize=10)
        axes.tick_params(labelsize=10, labelleft=count == clients[0])
        axes.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format='svg', metadata={'Creator': None, 'Date': None, 'Format': None,
                                                'Type': None})
    plt.close(figure)
    svg = out.getvalue()[out.getvalue().index('<svg'):]
    # Several drawings in one page must not share names of parts.
    svg = re.sub(r'(\bid="|href="#|url\(#)', r'\g<1>%s-' % name, svg)
    return svg.replace('<svg ', '<svg role="img" aria-label="%s" ' % unit, 1)


def figures(rows, floor):
    return '\n'.join('<figure id="%s">%s<figcaption>%s</figcaption></figure>'
                     % (name, drawing(rows, floor, name, unit, draw), caption)
                     for name, unit, caption, draw in FIGURES)


def findings(rows):
    """For each number of clients, the last server of the ladder beside those of the base."""
    for count in clients_of(rows):
        shown = [row for row in rows if row['clients'] == count]
        last = [row for row in shown if row['selection'] is not None][-1]
        beside = ', '.join('%s times "%s"' % (times(last['per_second'] / row['per_second']),
                                              row['name'])
                           for row in shown if kind(row) == BASE)
        yield ('With %s, %s: <b>%s</b> durable inserts a second; %s.'
               % (plural(count), html.escape(last['name']), number(last['per_second']),
                  html.escape(beside, quote=False)))


def setting(result):
    host, first = result['host'], result['rows'][0]
    yield 'Machine', '%s, %d cores, Linux %s' % (host['cpu'], host['cores'], host['kernel'])
    yield 'Disk', '%s on %s (%s)' % (host['file_system'], host['disk'], host['mount_options'])
    yield 'Load', ('documents of %d bytes, one an insert, j: true; %g s each'
                   % (first['document_bytes'], first['seconds']))
    yield 'Source', host['source']
    for text in server_texts(result):
        yield 'Server', text
    yield 'Patches', ', '.join(result['patches'])
    for row in result['rows']:
        if row['clients'] == first['clients'] and row['selection'] is not None:
            yield row['name'], 'patches=%s %s' % (row['selection'], ' '.join(row['options']))


def table(rows):
    """A group of lines for each server, one for each number of clients."""
    for name in dict.fromkeys(row['name'] for row in rows):
        shown = [row for row in rows if row['name'] == name]
        lines = [''.join('<td>%s</td>' % cell for cell in
                         [row['clients']] + [cell(row) for _, cell in TIMED + TRACED])
                 for row in shown]
        yield ('<tbody><tr><th rowspan="%d">%s</th>%s</tr></tbody>'
               % (len(shown), html.escape(name), '</tr>\n<tr>'.join(lines)))


def one_core_text(one):
    floors = ', '.join('%s from core %s' % (number(rate), core)
                       for core, rate in sorted(one['floors'].items()))
    return ('On one core, where no thread wakes another one across cores: the disk alone makes so '
            'many durable 4 KB overwrites a second: %s. With %s beside the server on core %s, '
            'conf/durable.yaml makes %s inserts a second, %s %% of that core\'s (p50 %s ms).'
            % (floors, plural(one['clients']), one['core'], number(one['per_second']),
               number(100 * one['share_of_floor']), number(one['p50_us'] / 1e3, 2)))


def page(result):
    rows, floor = result['rows'], result['floor']
    overwrite, append = floor['overwrite_4k'], floor['append_8k']
    all_findings = list(findings(rows))
    if 'one_core' in result:  # not in results before 2026-11-21
        all_findings.append(one_core_text(result['one_core']))
    keys = ((BASE, 'the base'), (OPTION, 'the full series with one option'),
            (PROFILE, 'the recommended profile'), (OTHER, 'another server'),
            (FLOOR, 'the disk alone'))
    if all(row['selection'] is not None for row in rows):
        keys = [key for key in keys if key[0] != OTHER]
    return PAGE.format(
        time=html.escape(result['time'].replace('T', ' ')),
        overwrite=number(overwrite['per_second']),
        overwrite_ms=number(overwrite['p50_us'] / 1e3, 3),
        append=number(append['per_second']), append_ms=number(append['p50_us'] / 1e3, 3),
        findings='\n'.join('<li>%s</li>' % text for text in
                           all_findings),
        keys=' &nbsp; '.join('<span class="key" style="background: %s"></span> %s' % key
                             for key in keys),
        figures=figures(rows, overwrite), timed=len(TIMED), traced=len(TRACED),
        head=''.join('<th>%s</th>' % name for name, _ in TIMED + TRACED),
        rows='\n'.join(table(rows)),
        setting='\n'.join('<dt>%s</dt><dd>%s</dd>' % (html.escape(name), html.escape(text))
                          for name, text in setting(result)),
        json=html.escape(json.dumps(result, indent=1), quote=False))


def write(path):
    """Writes the page of a result file; returns its path."""
    with open(path, encoding='utf-8') as file:
        result = json.load(file)
    out = path[:-len('.json')] + '.html'
    with open(out, 'w', encoding='utf-8') as file:
        file.write(page(result))
    return out


if __name__ == '__main__':
    if len(sys.argv) != 2 or not sys.argv[1].endswith('.json'):
        sys.exit(__doc__)
    print(write(sys.argv[1]))
