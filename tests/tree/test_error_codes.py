"""What the sources throw, and what ends the process. Every code that src/ throws is one that
clients can look up: in the table of src/base/error_codes.h, or a place in a server, five to seven
digits; the table holds nothing that is thrown nowhere. An error that sends its reader to a backup
or to dbpath_check is about a file that is cut or damaged, and says how to get out what can be read:
base::fail(base::Damaged{code}, ...) appends it. fatals.md names each place that ends the process at
once, with its reason: one more, or one less, is a change of the table, and so a question: can a
client or a directory reach it? docs/differences.md has the rows of src/dialect/*.h, and no row is
one that no code asks for."""

import re
import unittest

import differences_page
from test_style import read, tracked_files

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


def sources():
    """{path: text} of what the product is made of."""
    return {name: read(name) for name in tracked_files() if name.startswith('src/')
            and name.endswith(('.cpp', '.h')) and not is_for_tests(name)}


def code_faults(table, files):
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
        files = sources()
        self.assertGreater(sum(len(THROWN.findall(text)) for text in files.values()), 500)
        self.assertEqual(list(code_faults(files[TABLE], files)), [])

    def test_what_is_wrong_is_reported(self):
        table = 'X(2, BadValue, "a")\nX(11000, DuplicateKey, "b")\nX(7, Unused, "c")'
        files = {'a.cpp': 'constexpr int kOwn = 17000;\nconstexpr int kShort = 170;\n'
                          'constexpr int kAgain = 11000;\n'
                          'fail(base::kBadValue, "x"); throw base::Error(kDuplicateKey, "x");\n'
                          'fail(kOwn, "x"); fail(17001, "x");\n'
                          'fail(2, "x");\nfail(\n    171, "x");\nfail(kShort, "x");\n'
                          'fail(kAgain, "x");\nfail(base::kUnknown, "x");\n'
                          'DecodeError(Reaction::close, 172, "x");'}
        self.assertEqual(list(code_faults(table, files)), [
            'a.cpp:6: 2 has a name, base::kBadValue',
            'a.cpp:8: 171 is neither in the table nor a place, five to seven digits',
            'a.cpp:9: 170 is neither in the table nor a place, five to seven digits',
            'a.cpp:10: 11000 has a name, base::kDuplicateKey',
            'a.cpp:11: base::kUnknown is no code of the table, nor a constant',
            'a.cpp:12: 172 is neither in the table nor a place, five to seven digits',
            'src/base/error_codes.h: 7 Unused is thrown nowhere'])


FAIL = re.compile(r'base::fail\((?P<code>[^,]+),\s*(?P<text>(?:"(?:[^"\\]|\\.)*"\s*)+)')
OF_DAMAGE = re.compile(r'from a backup|from a copy|dbpath_check')
# What is built again from the documents, and a disk that is only full.
OF_OTHERS = re.compile(r'build it again|make room')


def damage_faults(name, text):
    for match in FAIL.finditer(text):
        said = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group('text')))
        if OF_DAMAGE.search(said) and not OF_OTHERS.search(said) \
                and 'Damaged{' not in match.group('code'):
            yield '%s:%d: %s' % (name, text.count('\n', 0, match.start()) + 1, said)


class Damage(unittest.TestCase):
    def test_errors_about_damage_say_what_to_do(self):
        files = sources()
        self.assertEqual([fault for name, text in files.items() if name.endswith('.cpp')
                          for fault in damage_faults(name, text)], [])
        self.assertGreater(sum(text.count('base::Damaged{') for text in files.values()), 20)

    def test_others_are_found(self):
        for text, count in (('base::fail(5, "bad; restore it "\n"from a backup", x);', 1),
                            ('base::fail(base::Damaged{5}, "restore it from a backup");', 0),
                            ('base::fail(5, "check it with dbpath_check, build it again");', 0),
                            ('base::fail(5, "bad");', 0)):
            self.assertEqual(len(list(damage_faults('f', text))), count, text)


CALL = re.compile(r'(?<![\w.>])(?:base::fatal|std::abort|std::terminate|std::quick_exit|std::_Exit|'
                  r'abort|_exit|assert|__builtin_trap|__builtin_unreachable)\s*\(|'
                  r'(?<![\w.>:])fatal\s*\(|(?<=::)_exit\s*\(')
ROW = re.compile(r'^\| `([\w/.]+)` \| (\d+) \| ([^|]+) \|$', re.M)


def calls_in(text):
    """How many calls stand in a source; declarations and comments do not count."""
    count = 0
    for line in text.splitlines():
        line = line.split('//')[0]
        if re.match(r'\s*(\[\[noreturn\]\] )?void \w*fatal\(', line):
            continue
        count += len(CALL.findall(line))
    return count


class Fatals(unittest.TestCase):
    def test_the_table_has_all_of_them(self):
        counts = {name.removeprefix('src/'): calls_in(text) for name, text in sources().items()}
        self.assertEqual({name: count for name, count in counts.items() if count}, {
            name: int(count) for name, count, reason in ROW.findall(read('tests/tree/fatals.md'))
            if reason.strip()})

    def test_calls_are_distinguished_from_other_words(self):
        for text, count in (('base::fatal(1, "x");', 1), ('    fatal(id, text);', 1),
                            ('std::abort();', 1), ('::_exit(code);', 1), ('assert(x);', 1),
                            ('[[noreturn]] void fatal(int id);', 0), ('static_assert(x);', 0),
                            ('// base::fatal(1) is not called', 0), ('is_fatal(x)', 0),
                            ('x.abort()', 0), ('set_fatal_handler(x)', 0),
                            ('base::fatal(1, x); base::fatal(2, y);', 2)):
            self.assertEqual(calls_in(text), count, text)


# By this the product asks a dialect.
QUESTION = re.compile(r'\bhas\(\s*(?:dialect::)?(k\w+)\s*\)')


class Differences(unittest.TestCase):
    def test_the_committed_page_has_their_rows(self):
        text = differences_page.read()
        self.assertEqual(text, differences_page.page(text, differences_page.headers()),
                         'run ./lab docs')

    def test_each_is_asked_for(self):
        names = [name for rows in differences_page.headers().values() for name, _ in rows]
        self.assertGreater(len(names), 50)
        self.assertEqual(len(names), len(set(names)))
        questions = {name for text in sources().values() for name in QUESTION.findall(text)}
        self.assertEqual(sorted(set(names) - questions), [], 'no code asks for these')


class DifferencesPage(unittest.TestCase):
    HEADER = '''
inline constexpr Difference kOne{
    "a, \\"b\\"", "one, "
    "two", "-"};
inline constexpr Difference kTwo{"x", "y\\\\", "z"};
'''
    ROWS = [('kOne', ('a, "b"', 'one, two', '-')), ('kTwo', ('x', 'y\\', 'z'))]

    def test_constants(self):
        self.assertEqual(differences_page.differences(self.HEADER), self.ROWS)
        for wrong in ('Difference kOne{"a", "b"};', 'Difference kOne{"a", "b", kC};',
                      'Difference kOne{"a", "", "c"};'):
            with self.subTest(wrong), self.assertRaises(differences_page.Unreadable):
                differences_page.differences(wrong)

    def test_page(self):
        text = 'Before.\n\n<!--rows:one.h-->\n| old | row |\n|---|---|\n\nAfter.\n'
        made = differences_page.page(text, {'one.h': self.ROWS})
        self.assertEqual(made, 'Before.\n\n<!--rows:one.h-->\n' + differences_page.HEAD
                         + '| a, "b" | one, two | - |\n| x | y\\ | z |\n\nAfter.\n')
        self.assertEqual(differences_page.page(made, {'one.h': self.ROWS}), made)
        for rows in ({}, {'one.h': self.ROWS, 'two.h': self.ROWS}):
            with self.assertRaises(differences_page.Unreadable):
                differences_page.page(text, rows)
