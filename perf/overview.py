#!/usr/bin/env python3
"""One page of all results that are kept: first what was found, where we lose and on what the time
goes, then the plots and tables of each; and the same without plots as text.

Without names: of each kind of measurement the newest in build/results/, and where there is none the
newest of perf/results/, which the repository keeps.
Usage:  overview.py [RESULT.json...] [--output STEM]        (./lab report)
        writes STEM.html and STEM.txt (build/results/report)
The page needs nothing beside itself, on a screen of any width: long lines of a table scroll.
"""

import argparse
import collections
import glob
import html
import io
import json
import os
import re
import sys
import tempfile

import ab_table
import append
import cells
import compare
import findings
import growth
import insert_benchmark
import linkbench
import machine
import measuring
import plots
import report
import run
import sweep
import write_concern

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
.panels {{ display: flex; flex-wrap: wrap; gap: .5em; }}
.panels svg {{ flex: 1 1 26em; min-width: 0; max-width: 40em; width: 100%; height: auto; }}
pre {{ font-size: 12px; line-height: 1.35; overflow-x: auto; overflow-wrap: normal; }}
</style></head><body>
<h1>What was measured</h1>
{summary}
{sections}
</body></html>
'''


def peers_bars(result, stem):
    """A bar for each engine, a panel for each number of clients."""
    paths = []
    floor = report.statistics.median(result['floors'])
    names = [name for name, peer in result['peers'].items() if any(peer['runs'].values())]
    for count in next(iter(result['peers'].values()))['runs']:
        shown = [(name, findings.middle(result['peers'][name]['runs'][count], 'per_second'))
                 for name in names if result['peers'][name]['runs'][count]]
        if shown:
            paths.append(plots.bars('%s-%s.svg' % (stem, count), plots.title_of(
                'Durable inserts a second, ' + findings.clients_text(count), result), shown, floor))
    return paths


def ladder_panels(result, stem):
    """Those of its own page."""
    del stem
    floor = {'per_second': report.statistics.median(result['floors'])}
    floor['p50_us'] = 1e6 / floor['per_second']
    delayed = cells.delay_text(result) and ', ' + cells.delay_text(result)
    return [panel for name, unit, _, draw in report.FIGURES
            for panel in report.drawings(result['rows'], floor, name, unit, draw, delayed)]


def has(*names):
    return lambda result: all(name in result for name in names)


KINDS = [
    Kind('run', 'Option by option (./lab run)', has('rows', 'patches', 'flush_cost'), run.table,
         ladder_panels, findings.of_ladder),
    Kind('peers', 'Beside other engines (./lab bench peers)', has('peers'), compare.table,
         peers_bars, findings.of_peers),
    Kind('linkbench', 'A social graph (./lab bench linkbench)', has('contenders', 'nodes'),
         linkbench.table, linkbench.draw, findings.of_linkbench),
    Kind('append', 'The smallest durable insert (./lab bench append)', has('contenders'),
         append.table, None, findings.of_append),
    Kind('iibench', 'The insert benchmark (./lab bench iibench)', has('lines', 'sources'),
         insert_benchmark.table, None, findings.of_iibench),
    Kind('write-concern', 'Write concerns (./lab bench write-concern)',
         has('rows', 'journal_folder', 'long'), write_concern.table, write_concern.draw,
         findings.of_write_concern),
    Kind('sweep', 'Sweeps (./lab bench sweep)', has('rows', 'what'), sweep.table, sweep.draw,
         findings.of_sweep),
    Kind('growth', 'Growth (./lab bench growth)', has('lines', 'memory_bytes'), growth.table,
         growth.draw, findings.of_growth),
    Kind('patch', 'A patch (./lab bench PATCH)', has('slug', 'blocks'), ab_table.whole_table, None,
         findings.of_patch),
]


class Measured:
    """A result with its kind; of a patch the slug counts as a kind of its own. OSError or
    ValueError where the file cannot be read."""

    def __init__(self, path):
        self.path = os.path.relpath(path, TOP)
        with open(path, encoding='utf-8') as file:
            self.result = json.load(file)
        self.kind = next((kind for kind in KINDS if isinstance(self.result, dict)
                          and kind.is_it(self.result)), None)
        self.key = self.kind and (self.result.get('slug') or self.kind.name)
        self.table, self.findings = None, None

    def work_out(self):
        """Its table and findings. ValueError where it lacks what its kind has today."""
        try:
            self.table = self.kind.table(self.result).strip('\n')
            self.findings = self.kind.find(self.result)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError('it was made by other scripts than these; measure again (%s: %s)'
                             % (type(error).__name__, error)) from error

    def title(self):
        slug = self.result.get('slug')
        return self.kind.title.replace('A patch', slug).replace('PATCH', slug) if slug else \
            self.kind.title

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


def newest():
    """Of each kind one. The folders of perf/results/ are named by date, so that later ones sort
    behind."""
    kept = sorted(glob.glob(os.path.join(TOP, 'perf', 'results', '**', '*.json'), recursive=True))
    own = sorted(glob.glob(os.path.join(TOP, 'build', 'results', '*.json')), key=os.path.getmtime)
    found = {}
    for path in reversed(kept + own):
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
            for heading, style, name in (('What was found', 'found', 'found'),
                                         ('Where we lose', 'lost', 'lost'),
                                         ('On what the time goes', 'times', 'times'))]


def as_text(every):
    lines = ['WHAT WAS MEASURED']
    for heading, _, groups in summary(every):
        lines += ['', heading, '']
        for title, sentences in groups:
            lines += [title] + ['  - ' + sentence for sentence in sentences]
        if not groups:
            lines.append('  nothing')
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
    out.write('<h2>%s</h2>\n<p class="from">%s</p>\n' % (html.escape(each.title()),
                                                        html.escape(each.path)))
    if quiet:
        out.write('<p class="%s">%s</p>\n' % ('quiet' if fine else 'noisy', html.escape(quiet)))
    if each.kind.draw:
        out.write('<div class="panels">%s</div>\n' % '\n'.join(svgs(each, folder, number)))
    out.write('<pre>%s</pre>' % html.escape(each.table, quote=False))
    return out.getvalue()


def as_page(every):
    lines = []
    for heading, style, groups in summary(every):
        lines.append('<h2>%s</h2>' % heading)
        for title, sentences in groups:
            lines.append('<p>%s</p><ul class="%s">%s</ul>' % (
                html.escape(title), style, '\n'.join(
                    '<li>%s</li>' % html.escape(sentence, quote=False)
                    for sentence in sentences)))
        if not groups:
            lines.append('<p>Nothing.</p>')
    with tempfile.TemporaryDirectory() as folder:
        sections = [section(each, number, folder) for number, each in enumerate(every)]
    return PAGE.format(summary='\n'.join(lines), sections='\n'.join(sections))


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('results', nargs='*', metavar='RESULT.json')
    parser.add_argument('--output', metavar='STEM',
                        help='writes STEM.html and STEM.txt (build/results/report)',
                        default=os.path.join(TOP, 'build', 'results', 'report'))
    return parser


def main():
    arguments = make_parser().parse_args()
    every = named(arguments.results) if arguments.results else newest()
    if not every:
        sys.exit('overview.py: nothing is kept; ./lab run and ./lab bench measure')
    try:
        os.makedirs(os.path.dirname(os.path.abspath(arguments.output)), exist_ok=True)
        for suffix, text in (('.txt', as_text(every)), ('.html', as_page(every))):
            with open(arguments.output + suffix, 'w', encoding='utf-8') as file:
                file.write(text)
    except OSError as error:
        sys.exit('overview.py: the report cannot be written: %s' % error)
    print('The report is in %s.html, and as text in %s.txt' % (2 * (os.path.relpath(
        arguments.output),)))


if __name__ == '__main__':
    main()
