"""The rows of dialect in docs/differences.md: src/dialect/*.h have them, one constant for each.

Usage: python3 site_scons/differences_page.py        writes them into the page

A line `<!--rows:HEADER-->` stands above each table; what is between the tables is the page's own.
"""

import ast
import glob
import os
import pathlib
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TOP, 'docs', 'differences.md')
HEADERS = 'src/dialect'
HEAD = '| topic | 2.6 | by OP_MSG |\n|---|---|---|\n'
MARK = re.compile(r'^<!--rows:(\S+)-->\n(?:\|.*\n)*', re.M)
STRING = r'"(?:[^"\\\n]|\\.)*"'
CONSTANT = re.compile(r'\bDifference\s+(k\w+)\s*\{((?:\s|,|%s)*)\};' % STRING)


class Unreadable(Exception):
    """A header or the page is not as it has to be."""


def differences(text):
    """[(name, (topic, 2.6, by OP_MSG))] of a header."""
    found = []
    for name, body in CONSTANT.findall(text):
        cells = ['']
        for token in re.findall(STRING + '|,', body):
            if token == ',':
                cells.append('')
            else:
                cells[-1] += ast.literal_eval(token)
        if len(cells) != 3 or not all(cells):
            raise Unreadable('%s has not three cells' % name)
        found.append((name, tuple(cells)))
    if len(found) != len(re.findall(r'\bDifference\s+k', text)):
        raise Unreadable('a Difference is written in a form that cannot be read')
    return found


def headers():
    """{path below the top: its differences}, of headers with any."""
    found = {}
    for path in sorted(glob.glob(os.path.join(TOP, HEADERS, '*.h'))):
        here = differences(pathlib.Path(path).read_text('utf-8'))
        if here:
            found[os.path.relpath(path, TOP).replace(os.sep, '/')] = here
    return found


def table(rows):
    return HEAD + ''.join('| %s | %s | %s |\n' % cells for _, cells in rows)


def page(text, rows_of):
    marked = MARK.findall(text)
    if sorted(marked) != sorted(rows_of):
        raise Unreadable('tables are marked for %s, but headers are %s'
                         % (sorted(marked), sorted(rows_of)))
    return MARK.sub(lambda mark: '<!--rows:%s-->\n%s' % (mark[1], table(rows_of[mark[1]])), text)


def read():
    return pathlib.Path(PAGE).read_text('utf-8')


if __name__ == '__main__':
    TEXT = page(read(), headers())
    pathlib.Path(PAGE).write_text(TEXT, 'utf-8')
