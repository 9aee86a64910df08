#!/usr/bin/env python3
"""One page of all results that are kept: the verdict, the picture and the articles, claim by claim;
folded, what was found, where we lose, on what the time goes, and the table of each.

Without names: of each kind of measurement the newest in build/results/, and where there is none the
newest of perf/results/, which the repository keeps.
Usage:  overview.py [RESULT.json...] [--output STEM]        (./lab report)
        writes STEM.html (build/results/report)
        overview.py --picture     draws the picture of README.md from the newest ladder that is kept
The page needs nothing beside itself, on a screen of any width: long lines of a table scroll."""

import collections
import datetime
import html
import os
import pathlib
import re
import string
import sys

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
import transactions
import write_concern
import write_through_table

import staging

TOP = measuring.TOP

Kind = collections.namedtuple('Kind', 'name title is_it table find')

PATCH_TITLE = 'A patch (./lab bench PATCH)'


def has(*names):
    return lambda result: all(name in result for name in names)


KINDS = [
    Kind('run', 'Option by option (./lab run)', has('rows', 'patches', 'flush_cost'), run.table,
         findings.of_ladder),
    Kind('peers', 'Beside other engines (./lab bench peers)', has('peers'), compare.table,
         findings.of_peers),
    Kind('linkbench', 'A social graph (./lab bench linkbench)', has('contenders', 'nodes'),
         linkbench_tables.table, findings.of_linkbench),
    Kind('append', 'The smallest durable insert (./lab bench append)', has('contenders'),
         append.table, findings.of_append),
    Kind('iibench', 'The insert benchmark (./lab bench iibench)', has('lines', 'sources'),
         insert_benchmark.table, findings.of_iibench),
    Kind('write-concern', 'Write concerns (./lab bench write-concern)',
         has('rows', 'journal_folder', 'long'), write_concern.table, findings.of_write_concern),
    Kind('replicas', 'A replica set (./lab bench write-concern --replicas)',
         has('rows', 'round_trips_ms'), replicas.table, findings.of_replicas),
    Kind('sweep', 'Sweeps (./lab bench sweep)', has('rows', 'what'), sweep.table,
         findings.of_sweep),
    Kind('growth', 'Growth (./lab bench growth)', has('lines', 'memory_bytes'), growth.table,
         findings.of_growth),
    Kind('transactions', 'Transactions (./lab bench transactions)', has('transfers'),
         transactions.table, findings.of_transactions),
    Kind('patch', PATCH_TITLE, has('slug', 'blocks'), ab_table.whole_table, findings.of_patch),
    Kind('windows', PATCH_TITLE, has('slug', 'appends', 'runs'), write_through_table.whole_table,
         findings.of_write_through),
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
COMPARISON_HEADS = ('', 'article', 'here', 'verdict', 'why')
REQUESTS_HEADS = ('request', 'ticket', 'patch', 'the article', 'here')


def comparison(every):
    """{article: [cells of a line]}."""
    found = {}
    for row in claims.rows([(each.kind.name, each.title(), each.result) for each in every]):
        found.setdefault(row.claim.article, []).append(
            (row.claim.what, row.claim.theirs, row.ours or '-', row.verdict, row.why or row.source))
    return found


def verdict(every):
    """What is to be known, in three lines."""
    ladder = next((each.result for each in every if each.kind.name == 'run'), None)
    if ladder:
        first, last = ([row for row in ladder['rows'] if row['name'] == name] for name in (
            ladder['rows'][0]['name'], ladder['rows'][-1]['name']))
        yield ('Durable inserts a second, by the old server\'s rules and by the series with its '
               'profile: %s.' % ', '.join('%s and %s with %s' % (
                   plots.number(one['per_second']), plots.number(other['per_second']),
                   findings.clients_text(one['clients'])) for one, other in zip(first, last)))
    peers = next((each.findings for each in every if each.kind.name == 'peers'), None)
    if peers:
        yield 'Beside other engines it is ahead in %d of %d comparisons%s.' % (
            len(peers.found), len(peers.found) + len(peers.lost),
            peers.lost and ' and behind in ' + '; '.join(peers.lost) or '')
    counts = collections.Counter(row[3] for rows in comparison(every).values() for row in rows)
    yield 'Of %d claims of the articles %s; %d are of their machines alone.' % (
        counts.total(), ', '.join('%d are %s' % (counts[name], name) if name != claims.CANNOT else
                                  '%d cannot be here' % counts[name] for name in (
            claims.REPRODUCED, claims.NOT_REPRODUCED, claims.CANNOT, claims.NOT_MEASURED)),
        counts[''])


def picture(every):
    """The ladder, in the colours of the page."""
    ladder = next((each.result for each in every if each.kind.name == 'run'), None)
    if not ladder:
        return ''
    svg = ladder_picture.draw(ladder, 'dark')
    return svg[svg.index('<svg'):].replace(ladder_picture.DARK, 'var(--paper)').replace(
        ladder_picture.BRIGHT, 'var(--ink)')


def requests(every):
    """[cells of a line]: each request with what is measured here."""
    patches = {each.slug: each.result for each in every if each.kind.name == 'patch'}
    iibench = [each.result for each in every if each.kind.name == 'iibench']
    for request, text in claims.answered(patches, iibench):
        yield request.what, request.ticket, request.slug, request.theirs, text


def section(each, number):
    fine, quiet = each.quiet()
    return '<details id="result-%d"><summary>%s</summary>\n<p class="from">%s; measured %s UTC, ' \
        'sources of commit %s, on %s</p>\n%s<pre>%s</pre></details>' % (
            number, *map(html.escape, (each.title(), each.path, each.when(), each.commit(),
                                       each.machine())),
            quiet and '<p class="%s">%s</p>\n' % ('quiet' if fine else 'noisy',
                                                  html.escape(quiet)),
            html.escape(each.table, quote=False))


def html_table(head, rows):
    """Of cells that are HTML."""
    return ('<table><thead><tr>%s</tr></thead><tbody>\n%s\n</tbody></table>' % (
        ''.join('<th>%s</th>' % cell for cell in head), '\n'.join('<tr>%s</tr>' % ''.join(
            '<td data-of="%s">%s</td>' % each for each in zip(head, row)) for row in rows)))


def escaped(rows):
    return [[html.escape(cell, quote=False) for cell in row] for row in rows]


def coloured(row):
    """A line of the comparison, its verdict in the colour of the verdict."""
    *before, text, why = row
    return [*before, text and '<span class="%s">%s</span>' % (text.replace(' ', '-'), text), why]


def comparison_html(every):
    parts = []
    for article, rows in comparison(every).items():
        parts += ['<h3>The article of %s</h3>' % html.escape(article),
                  html_table(COMPARISON_HEADS, map(coloured, escaped(rows)))]
    parts += ['<h3>%s</h3>' % REQUESTS, html_table(REQUESTS_HEADS, escaped(requests(every)))]
    return '\n'.join(parts)


def contents_html(every):
    return html_table(CONTENTS_HEADS, [
        ['<a href="#result-%d">%s</a>' % (number, row[0]), *row[1:]]
        for number, row in enumerate(escaped(contents(every)))])


def as_page(every):
    lines = []
    for heading, style, groups in summary(every):
        lines.append('<details id="%s"><summary>%s</summary>' % (style, heading))
        for title, sentences in groups:
            lines.append('<p>%s</p><ul class="%s">%s</ul>' % (
                html.escape(title), style, '\n'.join(
                    '<li>%s</li>' % html.escape(sentence, quote=False) for sentence in sentences)))
        lines.append('</details>' if groups else '<p>Nothing.</p></details>')
    with open(os.path.join(TOP, 'perf', 'report.html'), encoding='utf-8') as file:
        page = string.Template(file.read())
    return page.substitute(
        made=html.escape(made()), picture=picture(every), comparison=comparison_html(every),
        verdict='\n'.join('<li>%s</li>' % html.escape(line, quote=False)
                          for line in verdict(every)),
        contents=contents_html(every), summary='\n'.join(lines),
        sections='\n'.join(section(each, number) for number, each in enumerate(every)))


def write(every, stem):
    os.makedirs(os.path.dirname(os.path.abspath(stem)), exist_ok=True)
    pathlib.Path(stem + '.html').write_text(as_page(every), 'utf-8')


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('results', nargs='*', metavar='RESULT.json',
                        help='what is shown; without names the newest of each kind')
    parser.add_argument('--picture', action='store_true',
                        help='draws the picture of README.md anew, and makes no report')
    parser.add_argument('--output', metavar='STEM', help='writes STEM.html (build/results/report)',
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
    print('The report is in %s.html' % os.path.relpath(arguments.output))


if __name__ == '__main__':
    main()
