#!/usr/bin/env python3
"""One page of all results that are kept: first what was found, where we lose and on what the time
goes; then the articles, claim by claim; then the plots and tables of each; and the same without
plots as text.

Without names: of each kind of measurement the newest in build/results/, and where there is none the
newest of perf/results/, which the repository keeps.
Usage:  overview.py [RESULT.json...] [--output STEM]        (./lab report)
        writes STEM.html and STEM.txt (build/results/report)
        overview.py --picture     draws the picture of README.md from the newest ladder that is kept
The page needs nothing beside itself, on a screen of any width: long lines of a table scroll.
"""

import collections
import datetime
import html
import io
import os
import re
import statistics
import sys
import tempfile

import ab_table
import append
import cells
import claims
import compare
import findings
import growth
import insert_benchmark
import kept_results
import ladder_picture
import linkbench_tables
import machine
import measuring
import plots
import replicas
import run
import sweep
import write_concern
import write_through_table

import staging

TOP = measuring.TOP

Kind = collections.namedtuple('Kind', 'name title is_it table draw find')

PAGE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>What was measured</title><style>
body {{ font: 16px/1.5 sans-serif; color: #222; margin: 1.5em auto; max-width: 74em;
       padding: 0 1em; overflow-wrap: anywhere; }}
p, ul {{ max-width: 52em; }}
ul {{ padding-left: 1.2em; }}
.quiet, .noisy {{ border-left: .4em solid #3a9a5b; padding-left: .6em; }}
.noisy {{ border-color: #c44e52; }}
.lost li::marker {{ color: #c44e52; }}
.from {{ color: #666; font-size: 14px; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 14px; overflow-wrap: normal; }}
td, th {{ padding: .15em .6em; text-align: left; vertical-align: top; }}
thead th {{ border-bottom: 1px solid #999; }}
.reproduced {{ color: #2b7a47; }}
.not-reproduced {{ color: #c44e52; }}
.panels {{ display: flex; flex-wrap: wrap; gap: .5em; }}
.panels svg {{ flex: 1 1 26em; min-width: 0; max-width: 40em; width: 100%; height: auto; }}
pre {{ font-size: 12px; line-height: 1.35; overflow-x: auto; overflow-wrap: normal; }}
</style></head><body>
<h1>What was measured</h1>
<p class="from">{made}</p>
<h2>Contents</h2>
{contents}
{summary}
<h2 id="articles">The articles, claim by claim</h2>
{comparison}
{sections}
</body></html>
'''


def peers_bars(result, stem):
    """A bar for each engine, a panel for each number of clients."""
    paths = []
    floor = statistics.median(result['floors'])
    names = [name for name, peer in result['peers'].items() if any(peer['runs'].values())]
    for count in next(iter(result['peers'].values()))['runs']:
        shown = [(name, findings.middle(result['peers'][name]['runs'][count], 'per_second'))
                 for name in names if result['peers'][name]['runs'][count]]
        if shown:
            paths.append(plots.bars('%s-%s.svg' % (stem, count), plots.title_of(
                'Durable inserts a second, ' + findings.clients_text(count), result), shown, floor))
    return paths


def ladder_panels(result, stem):
    del stem
    return [panel for figure in plots.FIGURES for panel in plots.panels(result, *figure)]


PATCH_TITLE = 'A patch (./lab bench PATCH)'


def has(*names):
    return lambda result: all(name in result for name in names)


KINDS = [
    Kind('run', 'Option by option (./lab run)', has('rows', 'patches', 'flush_cost'), run.table,
         ladder_panels, findings.of_ladder),
    Kind('peers', 'Beside other engines (./lab bench peers)', has('peers'), compare.table,
         peers_bars, findings.of_peers),
    Kind('linkbench', 'A social graph (./lab bench linkbench)', has('contenders', 'nodes'),
         linkbench_tables.table, linkbench_tables.draw, findings.of_linkbench),
    Kind('append', 'The smallest durable insert (./lab bench append)', has('contenders'),
         append.table, None, findings.of_append),
    Kind('iibench', 'The insert benchmark (./lab bench iibench)', has('lines', 'sources'),
         insert_benchmark.table, None, findings.of_iibench),
    Kind('write-concern', 'Write concerns (./lab bench write-concern)',
         has('rows', 'journal_folder', 'long'), write_concern.table, write_concern.draw,
         findings.of_write_concern),
    Kind('replicas', 'A replica set (./lab bench write-concern --replicas)',
         has('rows', 'round_trips_ms'), replicas.table, None, findings.of_replicas),
    Kind('sweep', 'Sweeps (./lab bench sweep)', has('rows', 'what'), sweep.table, sweep.draw,
         findings.of_sweep),
    Kind('growth', 'Growth (./lab bench growth)', has('lines', 'memory_bytes'), growth.table,
         growth.draw, findings.of_growth),
    Kind('patch', PATCH_TITLE, has('slug', 'blocks'), ab_table.whole_table, None,
         findings.of_patch),
    Kind('windows', PATCH_TITLE, has('slug', 'appends', 'runs'), write_through_table.whole_table,
         None, findings.of_write_through),
]


class Measured:
    """A result with its kind; of a patch its slug counts as a kind of its own, and so does a graph
    whose answers did not wait for the disk, that of the engines, with each size of memory, and the
    insert benchmark of each size. OSError or ValueError where the file cannot be read."""

    def __init__(self, path):
        self.path = os.path.relpath(path, TOP)
        self.result = kept_results.read(path)
        self.kind = next((kind for kind in KINDS if isinstance(self.result, dict)
                          and kind.is_it(self.result)), None)
        self.slug = self.kind and self.result.get('slug')
        # A patch that was renamed gave its name to the file, and not to what is in it.
        name = os.path.basename(path).removesuffix('.json')
        if self.slug and name in staging.series(TOP):
            self.slug = name
        self.key = self.kind and (self.slug or self.kind.name + self.variant())
        self.table, self.findings = None, None

    def variant(self):
        if self.kind.name == 'iibench':
            return ' --rows %(rows)d --clients %(clients)d' % self.result
        engines = self.result.get('engines')
        if engines:
            memory = engines['memory_mb']
            return ' --engines' + (' --memory %d' % memory if memory else '')
        return ' --lazy' if self.result.get('lazy') else ''

    def work_out(self):
        """Its table and findings. ValueError where it lacks what its kind has today."""
        try:
            self.table = self.kind.table(self.result).strip('\n')
            self.findings = self.kind.find(self.result)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError('it was made by other scripts than these; measure again (%s: %s)'
                             % (type(error).__name__, error)) from error

    def title(self):
        if self.slug:
            return self.kind.title.replace('A patch', self.slug).replace('PATCH', self.slug)
        return self.kind.title.replace(')', self.variant() + ')')

    def when(self):
        """To the minute; of results that do not say it the day in their path, if there is one."""
        if self.result.get('time'):
            return self.result['time'][:16].replace('T', ' ')
        found = re.search(r'\b(\d{4})(\d\d)(\d\d)\b', self.path)
        return '-'.join(found.groups()) if found else 'not recorded'

    def commit(self):
        """Of the sources that were measured."""
        return (self.result.get('host', {}).get('source') or 'not known')[:12]

    def machine(self):
        return machine_text(self.result.get('host', {}))

    def warning(self):
        """What a reader must know before any figure."""
        warnings = [] if self.quiet()[0] else ['the machine was not quiet enough for conclusions']
        if cells.delay_text(self.result):
            warnings.insert(0, cells.delay_text(self.result))
        return ': ' + '; '.join(warnings) if warnings else ''

    def quiet(self):
        """(whether the machine was, in words); nothing where it was not looked at."""
        if not self.result.get('idle') or 'steal' not in self.result:
            return True, ''
        return machine.quiet(self.result)[0], machine.quiet_text(self.result)


def machine_text(host):
    """In a line, as far as it is known."""
    parts = [host.get('cpu'), host.get('cores') and '%d cores' % host['cores'],
             host.get('kernel') and 'Linux ' + host['kernel'],
             ' on '.join(filter(None, [host.get('file_system'), host.get('disk')]))]
    return ', '.join(filter(None, parts)) or 'not known'


def newest():
    """Of each kind one."""
    found = {}
    for path in reversed(kept_results.every()):
        try:
            measured = Measured(path)
            if measured.kind and measured.key not in found:
                measured.work_out()
                found[measured.key] = measured
        except (OSError, ValueError) as error:
            sys.stderr.write('overview.py: left out, %s cannot be read: %s\n'
                             % (os.path.relpath(path, TOP), error))
    return in_order(found.values())


def in_order(every):
    return sorted(every, key=lambda each: (KINDS.index(each.kind), each.key))


def named(paths):
    """Those that were asked for; ends the program with a sentence when one is none."""
    every = []
    for path in paths:
        try:
            every.append(Measured(path))
            if every[-1].kind:
                every[-1].work_out()
        except (OSError, ValueError) as error:
            sys.exit('overview.py: %s cannot be read: %s' % (path, error))
        if not every[-1].kind:
            sys.exit('overview.py: %s is no result of ./lab run or ./lab bench' % path)
    return in_order(every)


def summary(every):
    """[(heading, class, [(title, sentences)])] of all results together."""
    found = [(each.title() + each.warning(), each.findings) for each in every]
    return [(heading, style, [(title, getattr(one, name)) for title, one in found
                              if getattr(one, name)])
            for heading, style, name in zip(HEADINGS, ('found', 'lost', 'times'),
                                            ('found', 'lost', 'times'))]


HEADINGS = ('What was found', 'Where we lose', 'On what the time goes')
ARTICLES = 'The articles, claim by claim'
REQUESTS = 'What the article of 2014 asked for'


def made():
    """When, at which commit and where a report is made."""
    commit = machine.output_of('git', 'rev-parse', '--short=12', 'HEAD') or 'not known'
    if machine.output_of('git', 'status', '--porcelain', '--untracked-files=no'):
        commit += ' with changes'
    now = datetime.datetime.now(datetime.timezone.utc)
    return 'Made %s UTC at commit %s; here: %s.' % (
        now.strftime('%Y-%m-%d %H:%M'), commit, machine_text(machine.host(TOP)))


def contents(every):
    """[(title, date, commit, machine, quiet or not)] of the results."""
    for each in every:
        quiet, text = each.quiet()
        yield (each.title(), each.when(), each.commit(), each.machine(),
               text and ('quiet' if quiet else 'not quiet enough'))


CONTENTS_HEADS = ('', 'measured (UTC)', 'commit', 'machine', '')
COMPARISON_HEADS = ('', 'article', 'here', 'carries over', 'verdict', 'from')
REQUESTS_HEADS = ('request', 'ticket', 'patch', 'the article', 'here')


def comparison(every):
    """{article: [cells of a line]}."""
    found = {}
    for row in claims.rows([(each.kind.name, each.title(), each.result) for each in every]):
        found.setdefault(row.claim.article, []).append(
            (row.claim.what, row.claim.theirs, row.ours or '-', row.claim.shown_wanted(),
             row.verdict + (row.why and ': ' + row.why), row.source))
    return found


def requests(every):
    """[cells of a line]: each request with what is measured here."""
    patches = {each.slug: each.result for each in every if each.kind.name == 'patch'}
    iibench = [each.result for each in every if each.kind.name == 'iibench']
    for request, text in claims.answered(patches, iibench):
        yield request.what, request.ticket, request.slug, request.theirs, text


def in_columns(head, rows):
    """Lines of a table of text, each column as wide as it must be."""
    rows = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ['  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in rows]


def comparison_lines(every):
    """The articles' part of the text."""
    for article, rows in comparison(every).items():
        yield from ['', 'The article of ' + article, *in_columns(COMPARISON_HEADS, rows)]
    yield from ['', REQUESTS]
    for what, ticket, slug, theirs, text in requests(every):
        yield '  - %s (%s; ticket: %s)' % (what, slug, ticket)
        yield from ['    %s: %s' % each for each in (('article', theirs), ('here', text))
                    if each[1]]


def as_text(every):
    lines = ['WHAT WAS MEASURED', made(), '', 'Contents', '']
    lines += ['  ' + line for line in (*HEADINGS, ARTICLES,
                                       *in_columns(CONTENTS_HEADS, contents(every))[1:])]
    for heading, _, groups in summary(every):
        lines += ['', heading, '']
        for title, sentences in groups:
            lines += [title] + ['  - ' + sentence for sentence in sentences]
        if not groups:
            lines.append('  nothing')
    lines += ['', ARTICLES, *comparison_lines(every)]
    for each in every:
        lines += ['', '', '%s' % each.title(), '=' * len(each.title()), each.path, '',
                  each.table]
    return '\n'.join(lines) + '\n'


def svgs(each, folder, number):
    """The plots of a result as elements of a page, in which no two share names of parts."""
    for count, plot in enumerate(each.kind.draw(each.result, os.path.join(folder, str(number)))):
        if plot.endswith('.svg'):
            with open(plot, encoding='utf-8') as file:
                plot = file.read()
        svg = plot[plot.index('<svg'):]
        yield re.sub(r'(\bid="|href="#|url\(#)', r'\g<1>p%d-%d-' % (number, count), svg)


def section(each, number, folder):
    out = io.StringIO()
    fine, quiet = each.quiet()
    out.write('<h2 id="result-%d">%s</h2>\n<p class="from">%s; measured %s UTC, sources of commit '
              '%s, on %s</p>\n' % (number, *map(html.escape, (
                  each.title(), each.path, each.when(), each.commit(), each.machine()))))
    if quiet:
        out.write('<p class="%s">%s</p>\n' % ('quiet' if fine else 'noisy', html.escape(quiet)))
    if each.kind.draw:
        out.write('<div class="panels">%s</div>\n' % '\n'.join(svgs(each, folder, number)))
    out.write('<pre>%s</pre>' % html.escape(each.table, quote=False))
    return out.getvalue()


def html_table(head, rows):
    """Of cells that are HTML."""
    def line(tag, row):
        return '<tr>%s</tr>' % ''.join('<%s>%s</%s>' % (tag, cell, tag) for cell in row)
    return ('<div class="table"><table><thead>%s</thead><tbody>\n%s\n</tbody></table></div>'
            % (line('th', head), '\n'.join(line('td', row) for row in rows)))


def escaped(rows):
    return [[html.escape(cell, quote=False) for cell in row] for row in rows]


def coloured(row):
    """A line of the comparison, its verdict in the colour of the verdict."""
    *before, verdict, source = row
    name = verdict.split(':')[0].replace(' ', '-')
    return [*before, '<span class="%s">%s</span>' % (name, verdict) if verdict else '', source]


def comparison_html(every):
    parts = []
    for article, rows in comparison(every).items():
        parts += ['<h3>The article of %s</h3>' % html.escape(article),
                  html_table(COMPARISON_HEADS, map(coloured, escaped(rows)))]
    parts += ['<h3>%s</h3>' % REQUESTS, html_table(REQUESTS_HEADS, escaped(requests(every)))]
    return '\n'.join(parts)


def contents_html(every):
    first = ''.join('<li><a href="#%s">%s</a></li>' % each for each in (
        *zip(('found', 'lost', 'times'), HEADINGS), ('articles', ARTICLES)))
    rows = [['<a href="#result-%d">%s</a>' % (number, row[0]), *row[1:]]
            for number, row in enumerate(escaped(contents(every)))]
    return '<ul>%s</ul>\n%s' % (first, html_table(CONTENTS_HEADS, rows))


def as_page(every):
    lines = []
    for heading, style, groups in summary(every):
        lines.append('<h2 id="%s">%s</h2>' % (style, heading))
        for title, sentences in groups:
            lines.append('<p>%s</p><ul class="%s">%s</ul>' % (
                html.escape(title), style, '\n'.join(
                    '<li>%s</li>' % html.escape(sentence, quote=False)
                    for sentence in sentences)))
        if not groups:
            lines.append('<p>Nothing.</p>')
    with tempfile.TemporaryDirectory() as folder:
        sections = [section(each, number, folder) for number, each in enumerate(every)]
    return PAGE.format(made=html.escape(made()), contents=contents_html(every),
                       summary='\n'.join(lines), comparison=comparison_html(every),
                       sections='\n'.join(sections))


def write(every, stem):
    """The page and the text of these results."""
    os.makedirs(os.path.dirname(os.path.abspath(stem)), exist_ok=True)
    for suffix, text in (('.txt', as_text(every)), ('.html', as_page(every))):
        with open(stem + suffix, 'w', encoding='utf-8') as file:
            file.write(text)


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('results', nargs='*', metavar='RESULT.json',
                        help='what is shown; without names the newest of each kind')
    parser.add_argument('--picture', action='store_true',
                        help='draws the picture of README.md anew, and makes no report')
    parser.add_argument('--output', metavar='STEM',
                        help='writes STEM.html and STEM.txt (build/results/report)',
                        default=os.path.join(TOP, 'build', 'results', 'report'))
    return parser


def main():
    arguments = make_parser().parse_args()
    if arguments.picture:
        for path in ladder_picture.write():
            print('The picture is in ' + os.path.relpath(path, TOP))
        return
    every = named(arguments.results) if arguments.results else newest()
    if not every:
        sys.exit('overview.py: nothing is kept; ./lab run and ./lab bench measure')
    try:
        write(every, arguments.output)
    except OSError as error:
        sys.exit('overview.py: the report cannot be written: %s' % error)
    print('The report is in %s.html, and as text in %s.txt' % (2 * (os.path.relpath(
        arguments.output),)))


if __name__ == '__main__':
    main()
