#!/usr/bin/env python3
"""Prints what to paste into the upstream ticket of a patch, made from the patch's header.

Usage: pr.py SLUG [--tree DIR] [--force]       (./lab pr SLUG)
With a checkout of the original server the text has the change in that tree, and how to see it
there; --force as in ./lab port."""

import argparse
import glob
import os
import re
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TOP, os.path.join(TOP, 'patches')]

import check  # noqa: E402
from port import __main__ as port  # noqa: E402
from port import output  # noqa: E402
import ab_table  # noqa: E402
import kept_results  # noqa: E402
import machine  # noqa: E402
from port import recipe as recipes  # noqa: E402
import staging  # noqa: E402
import write_through_table  # noqa: E402

TEXTS = recipes.sections(os.path.join(TOP, 'perf', 'pr.txt'))
OURS = 'mongod-dur'  # begins buildInfo().gitVersion of every server of this project
RESULTS = os.path.join(TOP, 'build', 'results')  # of ./lab bench SLUG --server 'ported=...'

DESCRIPTION = """\
Prints what to paste into the upstream ticket: the problem, the change, figures; with --tree the
change in that checkout too, and how to see it there.
"""

TEST_LINE = './lab test js -- --selection all patches/%s'

QUIET_IS = ' (The bounds are in perf/machine.py.)'
QUIET_UNKNOWN = 'Whether other work disturbed the machine was not recorded.'

FIRST_LINES = (ab_table.FIRST_LINE, write_through_table.FIRST_LINE)

INSERTS = {
    '2.4': 'for (i = 0; i < 20; i++) { db.t.insert({_id: i}); '
           'printjson(db.runCommand({getLastError: 1, j: true})) }',
    '2.6': 'for (i = 0; i < 20; i++) db.t.insert({_id: i}, {writeConcern: {j: true}})',
    '3.4': 'for (i = 0; i < 20; i++) db.t.insert({_id: i}, {writeConcern: {j: true}})',
}

TRACES = {
    'linux': {'watch': 'strace -f -e trace=lseek,write,fdatasync -p $(pgrep -f port.30001)',
              'calls': 'lseek(<j._0>, 0, SEEK_CUR)\n    write(<j._0>, ..., 8192)\n'
                       '    fdatasync(<j._0>)'},
    'windows': {'watch': 'Procmon64 /AcceptEula      (filter: path contains \\journal\\)',
                'calls': 'WriteFile  ...\\journal\\j._0  Length: 8,192, I/O Flags: Non-cached, '
                         'Write Through'},
}


def servers_of(slug, fields):
    """For whom it is, and which original trees can have it."""
    recipe = {each.slug: each for each in recipes.all_recipes()}.get(slug)
    if recipe is None:
        text = 'No recipe puts it into one of their trees yet: %s.' % fields['No-recipe']
    elif recipe.upstream:
        text = '`./lab port` puts it only into trees before that: %s.' \
            % recipe.upstream[2].removeprefix('already upstream: ')
    else:
        *others, last = [v for v in recipes.VERSIONS if v not in recipe.unportable]
        text = '`./lab port` puts it into trees of %s.' % ' and '.join(
            filter(None, (', '.join(others), last)))
        text += ''.join(' Not of %s: %s.' % reason for reason in recipe.unportable.items())
    return filled(TEXTS['servers'].format(recipe=text))


def machine_of(host):
    return '%d cores (%s), Linux %s, %s on %s%s' % (
        host['cores'], host['cpu'], host['kernel'], host['file_system'], host['disk'],
        ', which writes through its cache (FUA)' if host.get('fua') == '1' else '')


def quiet_of(result):
    """Whether the machine was quiet, in sentences."""
    return machine.quiet_text(result) + QUIET_IS if result.get('floors') else QUIET_UNKNOWN


def origin_of(slug, fields):
    """Where the figures come from, and how far to trust them."""
    if fields['Result'] == 'none':
        return filled(TEXTS['origin'], TEXTS['unmeasured'].format(slug=slug, **fields))
    result = kept_results.read(os.path.join(TOP, fields['Result']))
    host, awaits = result['host'], fields.get('Awaits-measurement')
    terms = [TEXTS['terms'].format(patches=len(result['series']))] if 'series' in result else []
    return filled(TEXTS['origin'], *terms, TEXTS['measured'].format(
        date=result['time'][:10], commit=host['source'][:12], machine=machine_of(host),
        quiet=quiet_of(result),
        awaits='These figures wait for a new measurement: %s.\n' % awaits if awaits else '',
        **fields))


def filled(*texts):
    return '\n'.join(textwrap.fill(line, 100, break_on_hyphens=False)
                     for text in texts for line in text.splitlines())


def is_ported(server):
    """Whether it was called so, and is none of ours."""
    return server['name'] == 'ported' and not server.get('git_version', '').startswith(OURS)


def ported_of(slug):
    """The newest figures of the original server with this change that were measured here."""
    found = {path: kept_results.read(path)
             for path in glob.glob(os.path.join(RESULTS, '*', '*', slug + '.json'))}
    found = {path: result for path, result in found.items()
             if any(map(is_ported, result.get('servers', ())))}
    if not found:
        return ''
    path = max(found, key=lambda path: found[path]['time'])
    result, host = found[path], found[path]['host']
    shown = dict(result, servers=[each for each in result['servers'] if is_ported(each)])
    place = os.path.relpath(path, TOP) if path.startswith(TOP + os.sep) else path
    return '\n\n%s\n%s' % (filled(TEXTS['ported'].format(
        date=result['time'][:10], runs=result['runs'], seconds=result['seconds'],
        commit=host['source'][:12], machine=machine_of(host), quiet=quiet_of(result), path=place)),
        '\n'.join(line.rstrip() for line in ab_table.servers_lines(shown)))


def text_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        header = staging.header_of(file.read()).strip('\n')
    paragraphs = re.split(r'\n\s*\n', header)
    fields = dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', paragraphs[-1], re.M))
    subject = re.search(r'^Subject: (.*)$', paragraphs[0], re.M)[1]
    where = ('For ' + fields['Ticket'] if fields['Ticket'] != 'none'
             else 'There is no ticket for this yet')
    prose = paragraphs[1:-1]
    # The evidence begins with the line that names the workload.
    measured = next((i for i, text in enumerate(prose) if text.startswith(FIRST_LINES)), len(prose))
    windows = fields['Measured-by'] == 'perf/write_through.py'
    folder = 'windows/' if windows else ''
    upstream = '\n'.join('    ' + place for place in fields['Upstream-location'].split('; '))
    evidence = '\n\n'.join(prose[measured:])
    return TEXTS['ticket'].format(slug=slug, servers=servers_of(slug, fields),
                                  test_line=TEST_LINE % slug,
                                  origin=origin_of(slug, fields) + ported_of(slug), subject=subject,
                                  where=where + '.', problem=prose[0],
                                  change='\n\n'.join(prose[1:measured]), upstream=upstream,
                                  evidence=evidence + '\n\n' if evidence else '',
                                  base=folder + 'base', option=folder + slug,
                                  part='windows' if windows else 'syscalls', **fields)


def text_in_tree(slug, root, force):
    """The reproduction for a checkout, and the diff. Ends the process if the slug does not fit."""
    port.check_clean(root, False, force)
    tree, plan = port.plan_for(root, [slug])
    recipe = tree.recipes[slug]
    notes = recipe.notes.get(tree.version)
    expect = textwrap.fill('With the change: ' + recipe.expect, 96)
    measure = TEXTS['measure'].format(slug=slug) if recipe.system == 'linux' else ''
    text = TEXTS['in the tree'].format(measure=measure, version=tree.version, slug=slug,
                                       options=recipe.try_it, insert=INSERTS[tree.version],
                                       expect=expect, **TRACES[recipe.system],
                                       notes='\n%s\n' % notes if notes else '')
    return text.encode() + output.diff(tree.changed(), tree.executable)


def known_slugs():
    return [entry[:-len('.patch')] for entry in check.read_series(os.path.join(TOP, 'patches'))]


def make_parser():
    parser = argparse.ArgumentParser(
        prog='./lab pr', usage='%(prog)s PATCH [--tree DIR] [--force]', allow_abbrev=False,
        description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='The patches are\n  ' + '\n  '.join(known_slugs()))
    parser.add_argument('slug', metavar='PATCH', help='one of the series')
    parser.add_argument('--tree', metavar='DIR',
                        help='a checkout of the original server: its change too')
    parser.add_argument('--force', action='store_true',
                        help='go on although the working tree is not clean')
    return parser


def main():
    parser, slugs = make_parser(), known_slugs()
    arguments, unknown = parser.parse_known_args()
    if unknown:
        parser.error('unrecognized arguments: %s; give one PATCH of %s'
                     % (' '.join(unknown), ' '.join(slugs)))
    if arguments.slug not in slugs:
        sys.exit('pr.py: no patch "%s"; there are: %s' % (arguments.slug, ' '.join(slugs)))
    text = text_of(arguments.slug).encode()
    if arguments.tree is not None:
        text += text_in_tree(arguments.slug, os.path.abspath(arguments.tree), arguments.force)
    sys.stdout.buffer.write(text)


if __name__ == '__main__':
    main()
