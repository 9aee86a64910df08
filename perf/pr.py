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

{prose}

Option {Option}: {Values}; default {Default}.
Durability: {Durability}.
Journal format: {On-disk-format}.
The same change belongs in {Upstream-location}.
Measured with {Measured-by} on {Last-update}; all figures: {Result}.
'''


def text_of(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        header = check.header_of(file.read()).strip('\n')
    paragraphs = re.split(r'\n\s*\n', header)
    fields = dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', paragraphs[-1], re.M))
    subject = re.search(r'^Subject: (.*)$', paragraphs[0], re.M)[1]
    where = ('For ' + fields['Ticket'] if fields['Ticket'] != 'none'
             else 'There is no ticket for this yet')
    return TEMPLATE.format(subject=subject, where=where + '.',
                           prose='\n\n'.join(paragraphs[1:-1]), **fields)


def main():
    slugs = [entry[:-len('.patch')] for entry in check.read_series(os.path.join(TOP, 'patches'))]
    if len(sys.argv) != 2 or sys.argv[1] not in slugs:
        sys.exit('usage: pr.py SLUG, one of: ' + ' '.join(slugs))
    print(text_of(sys.argv[1]), end='')


if __name__ == '__main__':
    main()
