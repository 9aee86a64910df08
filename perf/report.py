#!/usr/bin/env python3
"""Turns a result of perf/run.py into one HTML page: what was measured, plots, table, all figures.

The page needs nothing beside itself: plots are SVG in it, the figures are in it as JSON too. It can
be read on a narrow screen: the panels of a plot wrap, tables scroll.
Usage: report.py RESULT.json       writes RESULT.html beside it
"""

import html
import io
import json
import re
import sys

import statistics

import any_server
import cells
import late
import machine

plt = late.Module('drawing')

BASE, OPTION, PROFILE, FLOOR, OTHER = '#8c8c8c', '#4878a8', '#3a9a5b', '#c44e52', '#b07aa1'

PAGE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Durable inserts, option by option{delayed}</title><style>
body {{ font: 16px/1.5 sans-serif; color: #222; margin: 2em auto; max-width: 74em;
       padding: 0 1em; }}
h1 {{ margin-bottom: 0; }}
.when {{ color: #666; margin-top: 0; }}
p, ul, dl {{ max-width: 48em; }}
figure {{ margin: 2em 0; }}
figcaption {{ font-size: 14px; color: #444; max-width: 55em; }}
.panels {{ display: flex; flex-wrap: wrap; gap: .5em; }}
.panels svg {{ flex: 1 1 26em; min-width: 0; max-width: 40em; width: 100%; height: auto; }}
.quiet, .noisy {{ border-left: .4em solid #3a9a5b; padding-left: .6em; }}
.noisy {{ border-color: #c44e52; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 14px; }}
td, th {{ padding: .15em .5em; text-align: right; white-space: nowrap; }}
thead th {{ vertical-align: bottom; }}
tbody {{ border-top: 1px solid #999; }}
tbody th {{ text-align: left; vertical-align: top; font-weight: normal; }}
thead tr:first-child th {{ text-align: center; color: #666; font-weight: normal; }}
.key {{ display: inline-block; width: .8em; height: .8em; }}
dl {{ display: grid; grid-template-columns: minmax(9em, max-content) 1fr; gap: .2em 1em; }}
dt {{ color: #666; overflow-wrap: anywhere; }}
dd {{ margin: 0; min-width: 0; overflow-wrap: anywhere; }}
@media (max-width: 45em) {{ dl {{ display: block; }} dd {{ margin: 0 0 .6em 1em; }}
                            body {{ margin: 1em auto; }} }}
pre {{ font-size: 12px; overflow-x: auto; }}
</style></head><body>
<h1>Durable inserts, option by option{delayed}</h1>
<p class="when">{time}</p>
<p class="{quiet_class}">{quiet}</p>
<p>How many inserts a second does a server acknowledge when each must be on the disk first, and what
does each option of its journal change? The disk alone makes {overwrite} durable overwrites of 4 KB
a second one after the other ({least} to {greatest} in {looks} looks, one beside each cell). Above
that rate inserts share a write.</p>
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
{explained}
<h2>What a flush costs</h2>
<p>4 KB writes with O_DSYNC: the median in ms, and how many a second all writers made together. What
grows with the number at once is bound by waiting for the device, not by its work.</p>
<div class="table"><table><thead><tr><th></th>{flush_head}</tr></thead><tbody>
{flush_rows}
</tbody></table></div>
<h2>How it was measured</h2>
<dl>
{setting}
</dl>
<p>{noise} In each round every server had its turn on fresh data; shown are medians, and the least
and the greatest rate. Shares are of the disk alone just before and just after the same cell. The
traced columns are one run under strace, which slows the server. Client and server share the
machine.</p>
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
    ('least to<br>greatest', lambda row: '%s–%s' % (number(row['per_second_min']),
                                                    number(row['per_second_max']))),
    ('share of<br>the disk’s', lambda row: (number(100 * row['share_of_floor']) + ' % '
                                            + cells.marks(row)).strip()),
    ('p50 ms', lambda row: number(row['p50_us'] / 1e3, 2)),
    ('p99 ms', lambda row: number(row['p99_us'] / 1e3, 2)),
    ('server CPU,<br>us per insert', lambda row: number(row['server_cpu_us'])),
    ('client CPU,<br>us per insert', lambda row: number(row['client_cpu_us'])),
    ('of it in<br>the kernel', lambda row: number(100 * row['kernel_share']) + ' %'),
    ('processors<br>busy', lambda row: number(row['processors'], 1)),
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


def label(axes, ends, texts):
    """Figures at the ends of the marks, readable where the disk's line runs through them."""
    for place, (end, text) in enumerate(zip(ends, texts)):
        axes.annotate(text, (end, place), xytext=(6, 0), textcoords='offset points', va='center',
                      fontsize=10, bbox={'facecolor': axes.get_facecolor(), 'edgecolor': 'none',
                                         'pad': 1})


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
     lambda axes, rows, floor: bars(axes, rows, lambda row: row.get('bytes_per_insert', 0))),
]


def clients_of(rows):
    return sorted({row['clients'] for row in rows})


def plural(clients):
    return '%d client%s' % (clients, '' if clients == 1 else 's')


def svg_of(figure):
    """Its element, the same for the same figure; the figure is closed."""
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format='svg', metadata={'Creator': None, 'Date': None, 'Format': None,
                                                'Type': None})
    plt.close(figure)
    return out.getvalue()[out.getvalue().index('<svg'):]


def drawings(rows, floor, name, unit, draw, delayed=''):
    """An SVG for each number of clients."""
    for count in clients_of(rows):
        shown = [row for row in rows if row['clients'] == count]
        figure, axes = plt.subplots(figsize=(6.2, 1.2 + 0.3 * len(shown)))
        draw(axes, shown, floor)
        axes.set_yticks(range(len(shown)), [row['name'].replace('$', r'\$') for row in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_title(plural(count) + delayed, fontsize=12)
        axes.set_xlabel(unit, fontsize=10)
        axes.tick_params(labelsize=10)
        axes.spines[['top', 'right']].set_visible(False)
        svg = svg_of(figure)
        # Several drawings in one page must not share names of parts.
        svg = re.sub(r'(\bid="|href="#|url\(#)', r'\g<1>%s-%d-' % (name, count), svg)
        yield svg.replace('<svg ', '<svg role="img" aria-label="%s, %s" ' % (unit, plural(count)),
                          1)


def figures(rows, floor, delayed):
    return '\n'.join('<figure id="%s"><div class="panels">%s</div><figcaption>%s</figcaption>'
                     '</figure>' % (name, ''.join(drawings(rows, floor, name, unit, draw, delayed)),
                                    caption)
                     for name, unit, caption, draw in FIGURES)


def noise_text(rows):
    """How often, how long, and what a difference must exceed to say something."""
    rounds = max(len(row['runs']) for row in rows)
    if rounds == 1:
        return ('One round of %g s a cell: how much a rate moves by itself is not known, so '
                'differences say nothing.' % rows[0]['seconds'])
    return ('Medians of %d rounds of %g s a cell. From round to round a rate moved by %.0f %% up or'
            ' down (half the range, in the middle of the rows): smaller differences say nothing.'
            % (rounds, rows[0]['seconds'], 100 * cells.noise(rows)))


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


def disk_text(host):
    """Only what is known: a mount may be hidden, as in some containers."""
    text = ' on '.join(part for part in (host['file_system'], host['disk']) if part)
    text += ' (%s)' % host['mount_options'] if host['mount_options'] else ''
    facts = [text or 'not known']
    if host.get('device'):
        facts.append('device %s' % host['device'])
    if host.get('write_cache'):
        facts.append('cache: %s' % host['write_cache'])
    if host.get('fua'):
        facts.append('FUA: %s' % ('yes' if host['fua'] == '1' else 'no'))
    return '; '.join(facts)


def setting(result):
    host, first = result['host'], result['rows'][0]
    yield 'Machine', '%s, %d cores, Linux %s' % (host['cpu'], host['cores'], host['kernel'])
    yield 'Disk', disk_text(host)
    yield 'Load', ('documents of %d bytes, one an insert, j: true; %g s a cell'
                   % (first['document_bytes'], first['seconds']))
    yield 'Source', host['source'] or 'not known'
    for text in any_server.texts(result):
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
                         [row['clients']] + [cell(row) for _, cell in TIMED]
                         + [cell(row) if row.get('traced') else '' for _, cell in TRACED])
                 for row in shown]
        yield ('<tbody><tr><th rowspan="%d">%s</th>%s</tr></tbody>'
               % (len(shown), html.escape(name), '</tr>\n<tr>'.join(lines)))


def one_core_text(one):
    floors = ', '.join('%s from core %s' % (number(rate), core)
                       for core, rate in sorted(one['floors'].items()))
    share = one['share_of_floor']
    return ('On one core, where no thread wakes another one across cores: the disk alone makes so '
            'many durable 4 KB overwrites a second: %s. With %s beside the server on core %s, '
            'conf/durable.yaml makes %s inserts a second (p50 %s ms), %s.'
            % (floors, plural(one['clients']), one['core'], number(one['per_second']),
               number(one['p50_us'] / 1e3, 2),
               '%s %% of that core\'s' % number(100 * share)
               if one['clients'] > 1 or share <= 1 else
               'more than that core\'s: the disk was slower beside the run than during it'))


def flush_table(costs):
    """(headings, rows) of what a flush costs."""
    depths = list(dict.fromkeys(cell['depth'] for cell in costs))
    head = ''.join('<th>%s</th>' % ('%d at once' % depth if depth > 1 else 'one by one')
                   for depth in depths)
    rows = []
    for kind in dict.fromkeys((cell['append'], cell['direct']) for cell in costs):
        name = '%s, %s' % ('append' if kind[0] else 'overwrite',
                           'O_DIRECT' if kind[1] else 'page cache')
        rows.append('<tr><th>%s</th>%s</tr>' % (name, ''.join(
            '<td>%s ms, %s/s</td>' % (number(cell['p50_us'] / 1e3, 3), number(cell['per_second']))
            for cell in costs if (cell['append'], cell['direct']) == kind)))
    return head, '\n'.join(rows)


def page(result):
    rows, floors = result['rows'], result['floors']
    floor = {'per_second': statistics.median(floors), 'p50_us': 1e6 / statistics.median(floors)}
    delayed = cells.delay_text(result) and ', ' + cells.delay_text(result)
    all_findings = list(findings(rows))
    if 'one_core' in result:
        all_findings.append(one_core_text(result['one_core']))
    if result.get('stopped'):
        all_findings.append('It was ended before its end: %s.' % html.escape(result['stopped']))
    keys = ((BASE, 'the base'), (OPTION, 'the full series with one option'),
            (PROFILE, 'the recommended profile'), (OTHER, 'another server'),
            (FLOOR, 'the disk alone'))
    if all(row['selection'] is not None for row in rows):
        keys = [key for key in keys if key[0] != OTHER]
    flush_head, flush_rows = flush_table(result['flush_cost'])
    return PAGE.format(
        time=html.escape(result['time'].replace('T', ' ')),
        quiet=html.escape(machine.quiet_text(result)),
        quiet_class='quiet' if machine.quiet(result)[0] else 'noisy',
        overwrite=number(floor['per_second']), least=number(min(floors)),
        greatest=number(max(floors)), looks=len(floors),
        findings='\n'.join('<li>%s</li>' % text for text in all_findings),
        keys=' &nbsp; '.join('<span class="key" style="background: %s"></span> %s' % key
                             for key in keys),
        figures=figures(rows, floor, delayed), delayed=delayed,
        timed=len(TIMED), traced=len(TRACED),
        head=''.join('<th>%s</th>' % name for name, _ in TIMED + TRACED),
        rows='\n'.join(table(rows)),
        explained='\n'.join('<p>%s</p>' % html.escape(text)
                            for text in cells.explanations(rows)),
        flush_head=flush_head, flush_rows=flush_rows,
        noise=noise_text(rows),
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
    try:
        print(write(sys.argv[1]))
    except KeyError as error:
        sys.exit('report.py: %s has no %s: it is of before the ladder was measured in rounds'
                 % (sys.argv[1], error))
