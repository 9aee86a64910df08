"""Figures of the tree that may only shrink: ways of the past that grow back when not counted.

Usage: PYTHONPATH=site_scons:tests/lib:packaging python3 tests/tree/test_figures.py --figures"""

import os
import re
import sys
import unittest

from test_pages import INDIRECT, INDIRECT_MOST_PERCENT
from test_style import read, tracked_files

# Lines of the product with such a word: at most so many. Lower a number whenever it can be.
LINES_MOST = {
    r'\bover_msg|\bby_msg\b|\blegacy_\w+\(': 0,  # dialect::Dialect
    r'\bthread_local\b': 16,
    r'\bUninterruptible\b': 10,
    r'\bBlockingSection\b': 0,  # wire::LoopThreads numbers the calls of sessions
    r'\b(?:make_room|check_room|commit_if_needed)\b': 20,
    r'\btick\(': 150,
    # A question of the dialect has a name: has() of src/dialect/dialect.h, where one of these is.
    r'\bis_(?:today|v26)\(\)': 4,
}
# Lines of src/command/ that look for a field of a request themselves: the request's table binds it
# (src/command/request/bind.h).
REQUEST_LINES_MOST = {
    r'\belse if \((?:\w+\.)?(?:name(?:\(\))?|field) == "': 12,
    r'\bbody\["|\bfield\("': 111,
}
# Folders whose product lines have at least so many assertions in 1,000 lines.
ASSERTIONS_LEAST = 8
ASSERTING = ('src/storage/kv', 'src/storage/rocksdb', 'src/storage/wiredtiger', 'src/replica',
             'src/storage/mmapv1/btree', 'src/storage/mmapv1/salvage', 'src/storage/mmapv1/space',
             'src/query/accumulator', 'src/query/expression', 'src/query/stage', 'src/query/value',
             'src/command/access', 'src/command/commands', 'src/command/context',
             'src/command/cursor', 'src/command/observe', 'src/command/pipeline',
             'src/command/report', 'src/command/request', 'src/command/write')
FOLDER_FILES_MOST = 45
PRODUCT_FILE_LINES_MOST = 500
PYTHON_LINES_MOST = 47864  # of tests and tools together; what a shell can ask is in jstests/


def is_product(name):
    return not name.endswith('_test.cpp') and '/testing/' not in name


def paragraphs(lines):
    """The paragraphs of comments, as texts; indented lines, as of tables, end one."""
    texts = []
    for line in lines:
        found = re.match(r'\s*//+ ?(.*)$', line)
        text = found[1] if found else ''
        if text.strip() and not text.startswith('  '):
            texts.append(text)
            continue
        if texts:
            yield ' '.join(texts)
        texts = []
        behind = None if found else re.search(r'\s// (.*)$', line)
        if behind:
            yield behind[1]
    if texts:
        yield ' '.join(texts)


def sentences(lines):
    for paragraph in paragraphs(lines):
        for sentence in re.split(r'(?<=[.?!])\s+', paragraph.strip()):
            if re.search(r'[A-Za-z]{2}', sentence):
                yield sentence


def is_indirect(sentence):
    first = re.match(r"[A-Za-z']+", sentence)
    return bool(first) and first[0] in INDIRECT


def assertions(names, contents):
    """{folder: DCHECKs in 1,000 product lines}"""
    found = {}
    for folder in ASSERTING:
        lines = [line for name in names if is_product(name) and os.path.dirname(name) == folder
                 for line in contents[name]]
        found[folder] = 1000 * sum('DCHECK(' in line for line in lines) / max(len(lines), 1)
    return found


def figures():
    """{what: count}"""
    tracked = tracked_files()
    names = [name for name in tracked if name.startswith('src/') and name.endswith(('.h', '.cpp'))]
    contents = {name: read(name).split('\n') for name in names}
    found = {pattern: sum(1 for name, lines in contents.items() for line in lines
                          if is_product(name) and re.search(pattern, line))
             for pattern in LINES_MOST}
    for pattern in REQUEST_LINES_MOST:
        found[pattern] = sum(1 for name, lines in contents.items() for line in lines
                             if is_product(name) and name.startswith('src/command/')
                             and re.search(pattern, line))
    folders = {}
    for name in names:
        if is_product(name):
            folders[os.path.dirname(name)] = folders.get(os.path.dirname(name), 0) + 1
    found['folder files'] = max(folders.values())
    found['product file lines'] = max(len(contents[name]) - 1 for name in names if is_product(name))
    found['fewest assertions'] = min(assertions(names, contents).values())
    told = [sentence for lines in contents.values() for sentence in sentences(lines)]
    found['sentences'] = len(told)
    found['python lines'] = sum(read(name).count('\n') for name in tracked if name.endswith('.py'))
    found['indirect percent'] = 100 * sum(map(is_indirect, told)) / len(told)
    return found


class Figures(unittest.TestCase):
    def test_none_has_grown(self):
        found = figures()
        self.assertGreater(found['sentences'], 5000, 'there is nothing to count')
        for pattern, most in (LINES_MOST | REQUEST_LINES_MOST).items():
            self.assertLessEqual(found[pattern], most, pattern)
        self.assertLessEqual(found['folder files'], FOLDER_FILES_MOST)
        self.assertLessEqual(found['product file lines'], PRODUCT_FILE_LINES_MOST)
        self.assertGreater(found['python lines'], 10000, 'there is nothing to count')
        self.assertLessEqual(found['python lines'], PYTHON_LINES_MOST)
        self.assertLessEqual(found['indirect percent'], INDIRECT_MOST_PERCENT)
        self.assertGreaterEqual(found['fewest assertions'], ASSERTIONS_LEAST)

    def test_sentences_on_a_sample(self):
        sample = ['// Returns it. What is', '// left goes. So it is.', '//', '//   That is a table',
                  'int a;  // Of a', 'int b;']
        found = list(sentences(sample))
        self.assertEqual(found, ['Returns it.', 'What is left goes.', 'So it is.', 'Of a'])
        self.assertEqual(list(map(is_indirect, found)), [False, True, True, True])


if __name__ == '__main__':
    if '--figures' in sys.argv:
        for what, count in figures().items():
            print('%10.1f  %s' % (count, what))
    else:
        unittest.main()
