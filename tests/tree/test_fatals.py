"""What ends the process at once: fatals.md names each such place with its reason.

The table there counts them per file. One more, or one less, is a change of the table, and so a
question: can a client or a directory reach it?
"""

import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(TOP, 'tests', 'tree', 'fatals.md')
CALL = re.compile(r'(?<![\w.>])(?:base::fatal|std::abort|std::terminate|std::quick_exit|std::_Exit|'
                  r'abort|_exit|assert|__builtin_trap|__builtin_unreachable)\s*\(|'
                  r'(?<![\w.>:])fatal\s*\(|(?<=::)_exit\s*\(')
ROW = re.compile(r'^\| `([\w/.]+)` \| (\d+) \| ([^|]+) \|$', re.MULTILINE)


def calls_in(text):
    """How many calls stand in a source; declarations and comments do not count."""
    count = 0
    for line in text.splitlines():
        line = line.split('//')[0]
        if re.match(r'\s*(\[\[noreturn\]\] )?void \w*fatal\(', line):
            continue
        count += len(CALL.findall(line))
    return count


def found():
    counts = {}
    src = os.path.join(TOP, 'src')
    for folder, _, names in os.walk(src):
        if os.path.basename(folder) == 'testing':
            continue
        for name in names:
            if not name.endswith(('.cpp', '.h')) or name.endswith(('_test.cpp', '_bench.cpp')):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                count = calls_in(file.read())
            if count:
                counts[os.path.relpath(path, src)] = count
    return counts


def listed():
    with open(PAGE, encoding='utf-8') as file:
        return {name: int(count) for name, count, reason in ROW.findall(file.read())
                if reason.strip()}


class Fatals(unittest.TestCase):
    def test_the_table_has_all_of_them(self):
        self.assertEqual(found(), listed())

    def test_calls_are_distinguished_from_other_words(self):
        for text, count in (('base::fatal(1, "x");', 1), ('    fatal(id, text);', 1),
                            ('std::abort();', 1), ('::_exit(code);', 1), ('assert(x);', 1),
                            ('[[noreturn]] void fatal(int id);', 0), ('static_assert(x);', 0),
                            ('// base::fatal(1) is not called', 0), ('is_fatal(x)', 0),
                            ('x.abort()', 0), ('set_fatal_handler(x)', 0),
                            ('base::fatal(1, x); base::fatal(2, y);', 2)):
            self.assertEqual(calls_in(text), count, text)


if __name__ == '__main__':
    sys.exit(unittest.main())
