#!/usr/bin/env python3
"""Prints what to paste into the upstream ticket of a patch, made from the patch's header.

Usage: pr.py SLUG       (./lab pr SLUG)
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, 'patches'))

import check  # noqa: E402

TEMPLATE = '''{subject}

{where}

PROBLEM

{problem}

CHANGE

{change}

Option {Option}: {Values}; default {Default}.

WHERE IT BELONGS UPSTREAM

{upstream}

EVIDENCE

{evidence}

Measured with {Measured-by} on {Last-update}; all figures: {Result}.

RISK

Durability: {Durability}.
Journal format: {On-disk-format}.
With the default, nothing changes: perf/templates/base.txt has the system calls of a commit,
perf/templates/{slug}.txt those with the option. The behaviour is in
jstests/patches/{slug}.js, with recovery across builds with and
without the patch after kill -9.

TO REPRODUCE, in a checkout on Debian 12

    ./lab bench {slug}
    ./lab test js -- patches/{slug}
    ./lab test syscalls
'''


def text_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        header = check.header_of(file.read()).strip('\n')
    paragraphs = re.split(r'\n\s*\n', header)
    fields = dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', paragraphs[-1], re.M))
    subject = re.search(r'^Subject: (.*)$', paragraphs[0], re.M)[1]
    where = ('For ' + fields['Ticket'] if fields['Ticket'] != 'none'
             else 'There is no ticket for this yet')
    prose = paragraphs[1:-1]
    # The evidence begins with the line that names the workload.
    measured = next(i for i, text in enumerate(prose) if text.startswith('insertOne of '))
    upstream = '\n'.join('    ' + place for place in fields['Upstream-location'].split('; '))
    return TEMPLATE.format(slug=slug, subject=subject, where=where + '.', problem=prose[0],
                           change='\n\n'.join(prose[1:measured]), upstream=upstream,
                           evidence='\n\n'.join(prose[measured:]), **fields)


def main():
    slugs = [entry[:-len('.patch')] for entry in check.read_series(os.path.join(TOP, 'patches'))]
    if len(sys.argv) != 2 or sys.argv[1] not in slugs:
        sys.exit('usage: pr.py SLUG, one of: ' + ' '.join(slugs))
    print(text_of(sys.argv[1]), end='')


if __name__ == '__main__':
    main()
