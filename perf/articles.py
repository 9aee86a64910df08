#!/usr/bin/env python3
"""The figures of the articles: articles.json has each one once, as they were published.

docs/articles.md shows most in tables that this program writes, behind lines <!-- table: NAME -->;
the tables `requests` (claims.py) and `sizes` (iibench_sizes.py) there set them beside the results
that are kept. So does it for docs/benchmarks.md, of results alone.
Usage: articles.py      writes the tables of both anew; ./lab measure does it too"""

import argparse
import decimal
import functools
import json
import os
import pathlib
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = [os.path.join(TOP, 'docs', page) for page in ('articles.md', 'benchmarks.md')]


@functools.cache
def tables():
    """{name: {'article', 'first', 'columns', 'rows'}}; figures keep their published digits."""
    with open(os.path.join(TOP, 'perf', 'articles.json'), encoding='utf-8') as file:
        return json.load(file, parse_float=decimal.Decimal)


def row(table, name):
    """{column: figure or None} of a row."""
    found = tables()[table]
    values = next(words[1:] for words in found['rows'] if words[0] == name)
    return {column: None if value is None else float(value)
            for column, value in zip(found['columns'], values)}


def figure(table, name, column):
    return row(table, name)[column]


def markdown(lines):
    """Lines of cells, of which the first is the head, as a table of a page."""
    head, *rest = ['| %s |' % ' | '.join(line) for line in lines]
    return '\n'.join([head, '|---' * len(lines[0]) + '|', *rest]) + '\n'


def shown(value):
    return '' if value is None else format(value, ',')


def table(name):
    found = tables()[name]
    return markdown([[found['first'], *found['columns']]]
                    + [[words[0], *map(shown, words[1:])] for words in found['rows']])


def filled(page, made):
    """The text of a page with its tables as made(name) makes them."""
    return re.sub(r'(<!-- table: ([a-z-]+) -->\n)(?:\|.*\n)*',
                  lambda found: found[1] + made(found[2]), page)


def made(name):
    import claims  # they read the figures here
    import iibench_sizes
    import linkbench_tables
    if name == 'requests':
        return claims.requests_table()
    if name.startswith('linkbench-l'):
        return linkbench_tables.page_table(name)
    return iibench_sizes.table() if name == 'sizes' else table(name)


def write_pages():
    for page in map(pathlib.Path, PAGES):
        page.write_text(filled(page.read_text('utf-8'), made), 'utf-8')


def main():
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    write_pages()


if __name__ == '__main__':
    main()
