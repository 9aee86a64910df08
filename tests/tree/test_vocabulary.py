"""One vocabulary: no text of the project has a word or an identifier that was retired.

docs/glossary.md has the terms that are used instead, vocabulary.txt what is retired."""

import re
import unittest

from test_style import read, tracked_files

LINES = [line for line in read('tests/tree/vocabulary.txt').split('\n')
         if line and not line.startswith('#')]


def word(stem, endings=''):
    """A word in prose and inside identifiers of each form: mend, MENDED, needs_mending,
    needsMending, kMend."""
    return r'(?<![a-zA-Z])(?i:%s%s)(?![a-z])|(?<=[a-z])%s%s(?![a-z])' % (
        stem, endings, stem.capitalize(), endings)


def retired():
    """[(pattern, the term to use, paths where; empty: everywhere)]"""
    for line in LINES:
        if not line.startswith(('pass ', 'fail ')):
            rule, _, where = line.partition(' @ ')
            pattern, term = rule.split(' -> ')
            yield (re.compile(re.sub(r'\{(\w+) ([^}]+)\}', lambda found: word(*found.groups()),
                                     pattern)), term, tuple(where.split()))


RETIRED = list(retired())

# Not ours to word: recordings, data, results.
DATA = ('tests/fixtures/', 'tests/fuzz/kept/', 'perf/results/', 'LICENSE')
DATA_SUFFIXES = ('.jsonl', '.json', '.xz', '.gz', '.png', '.svg', '.bin')
# {file: why it may have retired words}
NAMES_THEM = {
    'docs/glossary.md': 'says what replaces what',
    'tests/tree/test_vocabulary.py': 'has forms of one',
    'tests/tree/vocabulary.txt': 'names what is looked for',
}
# (part of a line, why it may have a retired word): the part is taken out before the line is read.
ALLOWED = [(re.compile(pattern), why) for pattern, why in (
    (r'scatter/gather', "the field's term for writing from several buffers"),
    (r'indexes: sound\b|<< "sound\\n"', 'dbpath_check prints it'),
    (r'\b(extents|collections) are told by the', 'the salvage report prints it'),
    (r'\bnobody can log in\b', 'the log prints it at a start'),
    (r'\bis somebody else here|process %d is somebody ', '--shutdown prints it'),
)]


def faults(name, text):
    """Sentences that name file, line, word and the term to use."""
    for pattern, _ in ALLOWED:
        text = pattern.sub('', text)
    for pattern, term, where in RETIRED:
        if not where or name.startswith(where):
            for found in pattern.finditer(text):
                yield "%s:%d: '%s': say %s" % (
                    name, text.count('\n', 0, found.start()) + 1, found.group(), term)


def texts():
    for name in tracked_files():
        if name.startswith(DATA) or name.endswith(DATA_SUFFIXES) or name in NAMES_THEM:
            continue
        try:
            yield name, read(name)
        except UnicodeDecodeError:
            continue


class Vocabulary(unittest.TestCase):
    maxDiff = None

    def test_samples(self):
        for line in LINES:
            if line.startswith('pass '):
                self.assertEqual(list(faults(*line[len('pass '):].split(': ', 1))), [], line)
            elif line.startswith('fail '):
                sample, word, term = line[len('fail '):].split(' -> ')
                found = '\n'.join(faults(*sample.split(': ', 1)))
                self.assertIn("%s:1: '%s': say " % (sample.split(': ', 1)[0], word), found)
                self.assertIn(term, found)

    def test_every_text(self):
        found = [fault for name, text in texts() for fault in faults(name, text)]
        self.assertEqual(found, [], '\n' + '\n'.join(found))
