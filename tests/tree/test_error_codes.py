"""Every code that src/ throws is one that clients can look up: in the table of
src/base/error_codes.h, or a place in a server, five to seven digits. And the table holds nothing
that is thrown nowhere.

Run: python3 -m unittest test_error_codes (in tests/tree/)
"""

import glob
import os
import re
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = 'src/base/error_codes.h'

ENTRY = re.compile(r'\bX\((\d+), (\w+), "[^"]+"\)')
# Also one of a list, or of an enum.
CONSTANT = re.compile(r'\b(k[A-Z]\w*) = (\d+)\s*[,;}]')
# The first argument of what throws; of a DecodeError the second. Exit codes are not for clients.
THROWN = re.compile(r'\b(?:fail|Error|DecodeError)\('
                    r'\s*(?:(?:wire::)?(?:DecodeError::)?Reaction::\w+,\s*)?'
                    r'(?:base::Damaged\{)?((?:base::)?k(?!Exit)[A-Z]\w*|\d+)\}?\s*,')


def is_for_tests(path):
    return '/testing/' in path or '/contract/' in path or re.search(r'_(test|bench)\.', path)


def sources(top):
    """{path: text} of what the product is made of."""
    found = {}
    for path in glob.glob(os.path.join(top, 'src', '**', '*'), recursive=True):
        name = os.path.relpath(path, top)
        if path.endswith(('.cpp', '.h')) and not is_for_tests(name):
            with open(path, encoding='utf-8') as file:
                found[name] = file.read()
    return found


def violations(table, files):
    """Sentences about the codes of `files`, with `table` as the text of the table."""
    entries = [(int(number), name) for number, name in ENTRY.findall(table)]
    names = dict(entries)
    constants = {'k' + name: number for number, name in entries}
    if len(names) != len(entries) or len(constants) != len(entries):
        yield 'the table names something twice'
    own = {}
    for path, text in files.items():
        for name, number in CONSTANT.findall(text):
            own.setdefault(name, set()).add(int(number))
    for path, text in sorted(files.items()):
        for match in THROWN.finditer(text):
            code = match.group(1)
            where = '%s:%d' % (path, text.count('\n', 0, match.start(1)) + 1)
            name = code.split('::')[-1]
            if not code.isdigit() and name in constants:
                continue
            numbers = {int(code)} if code.isdigit() else own.get(name, set())
            if not numbers and re.search(r'(char\*?|string_view) %s\b' % name, text):
                continue  # a function of that file's own
            if not numbers:
                yield '%s: %s is no code of the table, nor a constant' % (where, code)
            for number in sorted(numbers):
                if number in names:
                    yield '%s: %d has a name, base::k%s' % (where, number, names[number])
                elif not 10000 <= number <= 9999999:
                    yield '%s: %d is neither in the table nor a place, five to seven digits' % (
                        where, number)
    used = {name for path, text in files.items() if path != TABLE
            for name in re.findall(r'\bk([A-Z]\w*)', text)}
    for number, name in entries:
        if name not in used:
            yield '%s: %d %s is thrown nowhere' % (TABLE, number, name)


class ErrorCodes(unittest.TestCase):
    maxDiff = None

    def test_every_code_can_be_looked_up(self):
        files = sources(TOP)
        self.assertGreater(sum(len(THROWN.findall(text)) for text in files.values()), 500)
        self.assertEqual(list(violations(files[TABLE], files)), [])

    def test_what_is_wrong_is_reported(self):
        table = 'X(2, BadValue, "a")\nX(11000, DuplicateKey, "b")\nX(7, Unused, "c")'
        files = {'a.cpp': 'constexpr int kOwn = 17000;\nconstexpr int kShort = 170;\n'
                          'constexpr int kAgain = 11000;\n'
                          'fail(base::kBadValue, "x"); throw base::Error(kDuplicateKey, "x");\n'
                          'fail(kOwn, "x"); fail(17001, "x");\n'
                          'fail(2, "x");\nfail(\n    171, "x");\nfail(kShort, "x");\n'
                          'fail(kAgain, "x");\nfail(base::kUnknown, "x");\n'
                          'DecodeError(Reaction::close, 172, "x");'}
        self.assertEqual(list(violations(table, files)), [
            'a.cpp:6: 2 has a name, base::kBadValue',
            'a.cpp:8: 171 is neither in the table nor a place, five to seven digits',
            'a.cpp:9: 170 is neither in the table nor a place, five to seven digits',
            'a.cpp:10: 11000 has a name, base::kDuplicateKey',
            'a.cpp:11: base::kUnknown is no code of the table, nor a constant',
            'a.cpp:12: 172 is neither in the table nor a place, five to seven digits',
            'src/base/error_codes.h: 7 Unused is thrown nowhere'])
