"""Every citation of the specification leads to a section that exists; every safety rule of the
journal names the tests that hold it."""

import os
import re
import unittest

import citations
from test_style import TOP, read, tracked_files

from added_files import added_files

# Results are data, the licence has sections of its own, and the pages of the specification name
# their own sections by bare numbers (test_every_reference_inside_a_page).
NOT_PROSE = ('perf/results/', 'docs/spec/', 'LICENSE')
NOT_PROSE_SUFFIXES = ('.xz', '.json', '.png', '.svg', '.jsonl', '.bin', '.gz')
CITES_NOT_REALLY = {
    'tests/tree/citations.py': 'explains the forms, wrong ones too',
    'tests/tree/test_citations.py': 'its samples are wrong on purpose',
    'tests/tree/citations.txt': 'these, too',
    'tests/tree/vocabulary.txt': 'its samples name what is gone',
}

# Files in which paths are those of the original server.
SPEAKS_OF_ANOTHER_TREE = ('port/', 'patches/upstream/', 'tests/port/', 'perf/pr.py')


def texts():
    """(name, text) of every file whose prose is ours to keep true."""
    for name in tracked_files():
        if name.startswith(NOT_PROSE) or name.endswith(NOT_PROSE_SUFFIXES) or \
                name in CITES_NOT_REALLY:
            continue
        try:
            yield name, read(name)
        except UnicodeDecodeError:
            continue


def all_pages():
    return {name: citations.sections_of(read('docs', 'spec', name + '.md'))
            for name in citations.PAGES.values()}


def files_of_patches():
    found = {}
    for name in tracked_files():
        if name.endswith('.patch'):
            found.update(added_files(read(name)))
    return found


# The first rules of the base, and of patches that bring some.
FIRST_RULES = ('J1', 'J21', 'J24')


def rules_of_the_journal():
    """{J1: tests, ...}; the numbers run on from one header to the next."""
    heads = [read(name) for name in sorted(tracked_files())
             if name.endswith(('journal/journal.h', '/group_commit.h', '/data_file_writer.h'))]
    heads += [text for name, text in files_of_patches().items() if name.endswith('.h')]
    found = {}
    for head in heads:
        for label, tests in citations.labels_of(head).items():
            assert label not in found, '%s stands in two headers' % label
            found[label] = tests
    return found


def all_labels():
    return citations.defects_of(read('docs', 'spec', 'journal.md')) | set(rules_of_the_journal())


def gtests_of(text):
    """{Suite.Name: labels of the rules that the comment above it says it holds}."""
    return {'%s.%s' % (suite, name): set(citations.LABEL.findall(' '.join(
        line for line in comment.split('\n') if line.startswith('// Holds '))))
            for comment, suite, name in re.findall(
                r'((?:^//[^\n]*\n)*)^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)', text, re.M)}


def gtests():
    found = {}
    for name in tracked_files():
        if name.startswith('src/') and name.endswith('_test.cpp'):
            found.update(gtests_of(read(name)))
    for name, text in files_of_patches().items():
        if name.endswith('_test.cpp'):
            found.update(gtests_of(text))
    return found


def faults_of_rules(rules, tests):
    """Sentences about safety rules that nothing holds, or that a test does not know it holds.

    rules: {label: tests}. tests: {test: labels}."""
    for label, named in sorted(rules.items(), key=lambda r: int(r[0][1:])):
        if label not in FIRST_RULES and 'J%d' % (int(label[1:]) - 1) not in rules:
            yield '%s: the rule before it is missing' % label
        if not named:
            yield '%s names no test' % label
        for test in named:
            if test not in tests:
                yield '%s: there is no test %s' % (label, test)
            elif label not in tests[test]:
                yield '%s: its comment does not say that it holds %s' % (test, label)
    for test, labels in tests.items():
        for label in labels:
            if test not in rules.get(label, []):
                yield '%s: the rule %s does not name it' % (test, label)


def check_samples(case, kind, faults_of, most=1):
    """Those of citations.txt: of a wrong one there are faults, one of them with that part."""
    section = re.search(r'^== %s\n((?:.+\n)+)' % kind, read('tests/tree/citations.txt'), re.M)[1]
    for line in section.splitlines():
        text, _, part = line.replace('\\n', '\n').partition(' => ')
        found = list(faults_of(text))
        case.assertTrue(1 <= len(found) <= most if part else not found, (text, found))
        case.assertIn(part, '\n'.join(found), text)


class Citations(unittest.TestCase):
    PAGES = {'journal': {'1': set(), '1.6': {1, 2, 3}, '2': set(), '9': set()},
             'mmapv1-format': {'5.8': {10, 12}, '6': set(), '7': set()},
             'wire-and-commands': {'0': {7}, '1b': set()}, 'semantics': {'6': {6}}}

    def faults(self, comment, name='a.cpp'):
        text = '/* %s */' % comment if name == 'a.cpp' else comment
        return list(citations.faults_of(name, text, self.PAGES, {'D4', 'J2'}))

    def test_samples(self):
        check_samples(self, 'citation', self.faults, most=9)

    def test_citations_run_over_lines_and_are_sought_in_comments_only(self):
        self.assertEqual(self.faults('int a;  // (journal\n        // spec 1.6)\n', 'b.cpp'), [])
        self.assertEqual(self.faults('x\n// (journal\n// spec 9.9)\n', 'b.cpp'),
                         ['b.cpp:2: journal spec has no section 9.9'])
        self.assertEqual(self.faults('const char* a = "spec 9 // rule 3";\n', 'b.cpp'), [])
        self.assertEqual(self.faults('a = "# rule 3"  # journal spec 3\n', 'b.py'),
                         ['b.py:1: journal spec has no section 3'])
        patch = ('Text, journal spec 7.\n\n--- a/src/x.h\n+++ b/src/x.h\n@@ -1,2 +1,2 @@\n'
                 ' // wire\n-// spec 3\n+// spec 4\n')
        self.assertEqual(self.faults(patch, 'c.patch'),
                         ['c.patch:1: journal spec has no section 7',
                          'c.patch:6: wire spec has no section 4'])

    def test_a_page_has_each_number_once(self):
        page = '## 1. One\n1. a\n2. b\n### 1.1 Two\n1. c\n'
        self.assertEqual(citations.sections_of(page), {'1': {1, 2}, '1.1': {1}})
        for twice in ('## 1. Again\n', '### 1.1 Again\n', '1. again\n'):
            with self.assertRaises(ValueError):
                citations.sections_of(page + twice)

    def test_every_citation(self):
        pages, labels = all_pages(), all_labels()
        found = []
        for name, text in texts():
            found += citations.faults_of(name, text, pages, labels)
        self.assertEqual(found, [], '\n' + '\n'.join(found))

    def test_what_a_patch_brings(self):
        patch = ('Subject: a\n\n--- a/src/x.h\n+++ b/src/x.h\n@@ -1 +1,2 @@\n x\n+y\n'
                 '--- /dev/null\n+++ b/src/a.h\n@@ -0,0 +1,3 @@\n+// J1\n+\n++z\n')
        self.assertEqual(added_files(patch), {'src/a.h': '// J1\n\n+z\n'})

    def test_samples_of_safety_rules(self):
        head = ('// a.h - what it is\n//\n//   J1  One thing.\n//       [A.B, A.C]\n'
                '//   J2  Another [not this],\n//       and more. [A.B]\n//\n'
                '// Text, see J1.\n\nint a;\n')
        rules = citations.labels_of(head)
        self.assertEqual(rules, {'J1': ['A.B', 'A.C'], 'J2': ['A.B']})
        tests = gtests_of('// Holds J1, J2.\n// Text.\nTEST(A, B) {}\n\n'
                          '// Holds J1.\nTEST_F(A, C) {\n}\n// J1\nTEST(A, D) {}\n')
        self.assertEqual(tests, {'A.B': {'J1', 'J2'}, 'A.C': {'J1'}, 'A.D': set()})
        self.assertEqual(list(faults_of_rules(rules, tests)), [])
        self.assertEqual(list(faults_of_rules({'J1': [], 'J3': ['A.D', 'A.E']},
                                              {'A.B': {'J1'}, 'A.D': set()})),
                         ['J1 names no test', 'J3: the rule before it is missing',
                          'A.D: its comment does not say that it holds J3',
                          'J3: there is no test A.E', 'A.B: the rule J1 does not name it'])
        with self.assertRaises(ValueError):
            citations.labels_of(head.replace('J2', 'J1'))

    def test_every_safety_rule_is_held_by_tests(self):
        rules = rules_of_the_journal()
        self.assertGreaterEqual(len(rules), 10)
        self.assertEqual(list(faults_of_rules(rules, gtests())), [])

    def test_every_test_that_a_page_names(self):
        tests = gtests()
        suites = {name.split('.')[0] for name in tests}
        found = []
        for name, text in texts():
            if name.startswith('docs/'):
                found += ['%s: there is no test %s' % (name, named)
                          for named in re.findall(r'`([A-Z]\w+\.[A-Z]\w+)`', text)
                          if named.split('.')[0] in suites and named not in tests]
        self.assertEqual(found, [])

    def test_references_inside_a_page(self):
        page = {'1.2': {1}, '2': set()}
        check_samples(self, 'reference', lambda text: citations.inner_faults_of(
            'a.md', text, page, {'D1'}))

    def test_every_reference_inside_a_page(self):
        defects = citations.defects_of(read('docs', 'spec', 'journal.md'))
        pages = all_pages()
        found = []
        for name, sections in pages.items():
            text = read('docs', 'spec', name + '.md')
            found += citations.inner_faults_of(name, text, sections,
                                               defects if name == 'journal' else None)
            for block in citations.prose_of(name + '.md', text):
                found += citations.citation_faults_of(name, block, pages)
        self.assertEqual(found, [], '\n' + '\n'.join(found))


class Files(unittest.TestCase):
    def test_samples(self):
        files = citations.with_folders({'src/os/file.h', 'docs/a.md'})
        check_samples(self, 'file', lambda comment: citations.lost_files_of(
            'a.cpp', '// ' + comment, files))
        self.assertEqual(list(citations.lost_files_of('src/os/file.h', '// os/files.h - x', files)),
                         ['src/os/file.h:1: there is no os/files.h',
                          'src/os/file.h:1: calls itself os/files.h'])

    def test_every_heading_that_is_quoted(self):
        found = []
        for name, text in texts():
            for page, heading in re.findall(r'(docs/[\w/-]+\.md), "([^"\n]+)"', text):
                if '# %s\n' % heading not in read(page):
                    found.append('%s: %s has no heading "%s"' % (name, page, heading))
        self.assertEqual(found, [])

    def test_every_file_that_is_spoken_of(self):
        files = set(tracked_files())
        for name in tracked_files():
            if name.endswith('.patch'):
                files |= citations.files_of_patch(read(name))
        known = citations.with_folders(files)
        found = []
        for name, text in texts():
            if not name.startswith(SPEAKS_OF_ANOTHER_TREE):
                found += citations.lost_files_of(name, text, known)
        self.assertEqual(found, [], '\n' + '\n'.join(found))


class Functions(unittest.TestCase):
    def test_samples(self):
        files = {'src/a.cpp': 'int f() {}\nvoid A::g(int x) {}\n', 'src/b.cpp': 'h();'}
        check_samples(self, 'function', lambda text: citations.lost_functions_of(
            'a.md', text, files.get))

    def test_every_function_of_the_tour(self):
        def read_file(path):
            return read(path) if os.path.isfile(os.path.join(TOP, path)) else None

        page = 'docs/design.md'
        found = list(citations.lost_functions_of(page, read(page), read_file))
        self.assertEqual(found, [], '\n' + '\n'.join(found))


LINK = re.compile(r'\[[^\]\n]*\]\(([^()\s]+)\)')


def anchor_of(heading):
    """The anchor that a heading gets on a page."""
    return re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')


def broken_links(name, text, read_page):
    """Sentences about links of a page `name` that lead nowhere. read_page(path): text or None."""
    text = re.sub(r'```.*?```|^ {4}.*$|`[^`\n]*`', '', text, flags=re.S | re.M)
    for target in LINK.findall(text):
        if re.match(r'[a-z]+:', target):
            continue
        path, _, anchor = target.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        page = read_page(path)
        if page is None:
            yield '%s: no file %s' % (name, target)
        elif anchor and anchor not in {anchor_of(line.lstrip('#')) for line in page.split('\n')
                                       if line.startswith('#')}:
            yield '%s: no heading %s' % (name, target)


class Links(unittest.TestCase):
    def test_samples(self):
        files = {'docs/a.md': '# A page\n## 1.2 What: it is', 'README.md': ''}
        check_samples(self, 'link', lambda text: broken_links('docs/a.md', text, files.get))

    def test_every_link(self):
        def read_page(path):
            full = os.path.join(TOP, path)
            if not os.path.isfile(full):
                return '' if os.path.isdir(full) else None
            return read(path) if path.endswith('.md') else ''

        found = []
        for name in tracked_files():
            if name.endswith('.md'):
                found += broken_links(name, read(name), read_page)
        self.assertEqual(found, [], '\n' + '\n'.join(found))
