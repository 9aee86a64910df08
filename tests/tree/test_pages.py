"""Keeps the pages of docs/ short and their sentences direct; docs/spec/ is not counted.

Usage: python3 tests/tree/test_pages.py --figures       prints a line for each page
"""

import glob
import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES_MOST = 16
WORDS_MOST = 30000
CELL_MOST = 300
INDIRECT_MOST_PERCENT = 6
# A sentence that begins so mostly hides its subject.
INDIRECT = ('What', 'Of', 'That', 'Where', 'As', 'By', 'Those', 'All', 'So')
BLOCK = re.compile(r'\s*(?:[-*]|\d+\.)\s+')
SHORTEST_SENTENCE = 3


def pages():
    """{name: text} of every page, in the order of their names."""
    found = {}
    for path in sorted(glob.glob(os.path.join(TOP, 'docs', '*.md'))):
        with open(path, encoding='utf-8') as file:
            found[os.path.basename(path)] = file.read()
    return found


def words(text):
    return len(text.split())


def prose_and_rows(text):
    """(blocks of prose, rows of tables): without code, headings and comments."""
    text = re.sub(r'^```.*?^```$|<!--.*?-->', '', text, flags=re.DOTALL | re.MULTILINE)
    blocks, rows, open_block = [], [], False
    for line in text.split('\n'):
        if line.startswith('|'):
            rows.append(line)
            open_block = False
        elif not line.strip() or line.startswith('#') or \
                (line.startswith('    ') and not open_block):
            open_block = False
        elif BLOCK.match(line) or not open_block:
            blocks.append(BLOCK.sub('', line, count=1).strip())
            open_block = True
        else:
            blocks[-1] += ' ' + line.strip()
    return blocks, rows


def cells(rows):
    """The cells of tables; those that draw the line below a head are none."""
    for row in rows:
        for cell in re.split(r'(?<!\\)\|', row.strip().strip('|')):
            if not re.fullmatch(r'\s*:?-+:?\s*', cell):
                yield cell.strip()


def sentences(text):
    """The sentences of paragraphs, lists and cells, each with its first letter as it stands."""
    blocks, rows = prose_and_rows(text)
    for block in blocks + list(cells(rows)):
        for sentence in re.split(r'(?<=[.!?:;])["*)]*\s+(?=["*(`\[]*[A-Z`])', block):
            if words(sentence) >= SHORTEST_SENTENCE:
                yield sentence


def is_indirect(sentence):
    first = re.match(r'\W*(\w+)', sentence)
    return first is not None and first[1].capitalize() in INDIRECT


def figures(text):
    """(words, characters of the longest cell, sentences, indirect sentences)."""
    found = list(sentences(text))
    return (words(text), max(map(len, cells(prose_and_rows(text)[1])), default=0), len(found),
            sum(map(is_indirect, found)))


class Pages(unittest.TestCase):
    def test_sums(self):
        counted = [figures(text) for text in pages().values()]
        self.assertGreater(len(counted), 5)
        self.assertLessEqual(len(counted), PAGES_MOST)
        self.assertLessEqual(sum(each[0] for each in counted), WORDS_MOST)
        self.assertLessEqual(100 * sum(each[3] for each in counted),
                             INDIRECT_MOST_PERCENT * sum(each[2] for each in counted))

    def test_cells(self):
        for name, text in pages().items():
            long = [cell for cell in cells(prose_and_rows(text)[1]) if len(cell) > CELL_MOST]
            self.assertEqual(long, [], name)

    def test_samples(self):
        text = ('# What it is\n\nIt is short. What is long\ngoes. `a` is b.\n\n'
                '    Of code nothing counts here.\n\n```\nAs here it does.\n```\n'
                '- So a list\n  goes on. It ends.\n1. All is said.\n\n'
                '| a | as it was before |\n|---|---|\n| x \\| y | The rest is here |\n')
        self.assertEqual(list(sentences(text)),
                         ['It is short.', 'What is long goes.', '`a` is b.',
                          'So a list goes on.', 'All is said.', 'as it was before', 'x \\| y',
                          'The rest is here'])
        self.assertEqual(figures(text)[1:], (16, 8, 4))
        self.assertEqual(words('a b\n  c'), 3)


def main():
    total = [0, 0, 0, 0]
    for name, text in pages().items():
        found = figures(text)
        total = [total[0] + found[0], max(total[1], found[1]), total[2] + found[2],
                 total[3] + found[3]]
        print('%-18s %6d words, longest cell %5d, %4d of %4d sentences indirect'
              % (name, found[0], found[1], found[3], found[2]))
    print('%d pages, %d words, longest cell %d, %.1f %% of sentences indirect'
          % (len(pages()), total[0], total[1], 100 * total[3] / total[2]))


if __name__ == '__main__':
    if sys.argv[1:] == ['--figures']:
        main()
    else:
        unittest.main()
