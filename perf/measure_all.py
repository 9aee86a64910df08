#!/usr/bin/env python3
"""Measures what the pages, the headers of patches and the claims say, and keeps it.

In pieces, the one that gains most first, so that it may be cut short. A piece whose figures are
kept already, of these sources (or of --since) and such a machine, is passed over: nights add up.
What a machine gave that was not quiet is not kept. A kept result takes the place of the older one
of its kind in perf/results/; what shows it is written anew: the header of its patch, the tables of
docs/articles.md, the ladder of README.md and its picture.
Usage:    ./lab measure --list           the pieces, and which ones are kept
          ./lab measure --all [--minutes 120]    those that are not, as far as they fit
          ./lab measure PIECE... [--again]
          (each piece builds and installs what it needs)
          Ctrl-C ends it; what is kept stays.
Needs:    a machine that does nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import ab
import ab_table
import articles
import kept_results
import machine
import measuring

TOP = measuring.TOP
IDLE_SECONDS = 5


def pieces():
    """[(kept as, minutes, words of ./lab)]."""
    with open(os.path.join(TOP, 'perf', 'measure_all.txt'), encoding='utf-8') as file:
        rows = [[word.strip() for word in line.split('|')] for line in file if line[0] != '#']
    return [(slug or name, int(minutes), command.split() + [slug] * bool(slug))
            for name, minutes, command in rows
            for slug in (measuring.measurable() if name == 'PATCHES' else [''])]


def is_quiet(result):
    return bool(result.get('floors')) and machine.quiet(result)[0]


def is_kept(name, host, since):
    """Whether such a machine, quiet, has given it, of the sources since that commit."""
    kept = kept_results.newest(name) or {'host': {}}
    return (is_quiet(kept) and all(kept['host'][key] == host[key] for key in ('cpu', 'cores')) and
            subprocess.run(['git', 'merge-base', '--is-ancestor', since,
                                      kept['host']['source']], cwd=TOP).returncode == 0)


def keep(name, path):
    result, older = kept_results.read(path), kept_results.of_repository(name)
    folder = ab.results_folder(os.path.join(TOP, 'perf', 'results'), '%dcore' % os.cpu_count(),
                               [name])
    kept = shutil.copy(path, os.path.join(folder, name + '.json'))
    if 'slug' in result:
        put_into_header(result, kept)
    for each in older:
        os.remove(each)
    articles.write_pages()
    if name == 'ladder':
        import ladder_picture  # its drawing takes a second to load
        ladder_picture.write()
    return os.path.relpath(kept, TOP)


def put_into_header(result, path):
    patch = os.path.join(TOP, 'patches', result['slug'] + '.patch')
    old = measuring.header_of(result['slug'])['Result']
    text = pathlib.Path(patch).read_text('utf-8')
    new = (ab_table.table(result), os.path.relpath(path, TOP), result['time'])
    if old == 'none':
        text = ab_table.with_first_table(text, *new)
    else:
        text = ab_table.with_table(text, ab_table.table(kept_results.read(os.path.join(TOP, old))),
                                   *new)
    pathlib.Path(patch).write_text(text, 'utf-8')


def measure(name, words):
    """Returns why nothing is kept, or nothing."""
    command = subprocess.Popen([os.path.join(TOP, 'lab'), *words], stdout=subprocess.PIPE,
                               text=True)
    found = ''
    for line in command.stdout:
        print(line, end='', flush=True)
        found = next(iter(re.findall(r'^The figures are in ([^ ,\n]+\.json)', line)), found)
    if command.wait() != 0 or not found:
        return './lab %s ended with %d' % (' '.join(words), command.returncode)
    path = os.path.join(TOP, found)
    result = kept_results.read(path)
    if not is_quiet(result):
        return (machine.quiet_text(result) if result.get('floors') else
                'it does not say how quiet the machine was')
    return measuring.say('kept: ' + keep(name, path))


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('pieces', nargs='*', metavar='PIECE', help='only these')
    parser.add_argument('--all', action='store_true', help='all of them')
    parser.add_argument('--list', action='store_true', help='measure nothing')
    parser.add_argument('--again', action='store_true', help='what is kept already, too')
    parser.add_argument('--since', metavar='COMMIT', help='what is kept of that or a later one '
                        'counts (the last change of src/)')
    parser.add_argument('--minutes', type=measuring.count, default=600, metavar='N',
                        help='begin no piece that would take longer in all (%(default)s)')
    return parser


def main():
    arguments = make_parser().parse_args()
    host, wanted = machine.host(os.path.join(TOP, 'build')), pieces()
    unknown = set(arguments.pieces) - {name for name, _, _ in wanted}
    if unknown or not (arguments.pieces or arguments.all or arguments.list):
        sys.exit('measure: which pieces? --all, or some of --list' + ''.join(
            '; there is no ' + name for name in sorted(unknown)))
    wanted = [each for each in wanted if not arguments.pieces or each[0] in arguments.pieces]
    left = [each for each in wanted if arguments.again or not is_kept(
        each[0], host, arguments.since or host['source'])]
    if arguments.list:
        for each in wanted:
            print('%-32s%4d min  %-16s./lab %s' % (
                *each[:2], 'to be measured' if each in left else 'kept', ' '.join(each[2])))
        return
    refused, begun = {}, time.monotonic()
    for at, (name, minutes, words) in enumerate(left):
        measuring.say('piece %d of %d: %s, about %d min; about %d min are left\n' % (
            at + 1, len(left), name, minutes, sum(each[1] for each in left[at:])))
        busy = machine.idle_watch(os.path.join(TOP, 'build'), IDLE_SECONDS)['busy']
        if (time.monotonic() - begun) / 60 + minutes > arguments.minutes:
            refused[name] = 'its %d minutes do not fit any more' % minutes
        elif busy > machine.BUSY_MAX:
            refused[name] = 'others keep %.0f %% of the processors busy' % (100 * busy)
        else:
            refused[name] = measure(name, words)
    refused = {name: why for name, why in refused.items() if why}
    print('%d of %d pieces are kept now' % (len(wanted) - len(refused), len(wanted)))
    for name, why in refused.items():
        print('not %s: %s' % (name, why))
    sys.exit(bool(refused))


if __name__ == '__main__':
    main()
