"""Citations of the specification: which ones a text makes, and whether what they name exists.

A citation names a page of docs/spec and a section of it, if need be with a numbered rule:

    journal spec 1.6            mmapv1 spec 8.3 rules 1 to 3, 7, 10.4
    wire spec 3.3 to 3.5, 1b    semantics 6 rule 9
    upstream map 7a

Two kinds of labels stand alone: D4 is a defect of the old server (journal spec 9), J2 a safety
rule of the journal (heads of journal.h and group_commit.h). Anything else that looks like a
citation ("spec section 5", "(5.8 rule 10)", "rule 3") is a fault, since it cannot be followed."""

import io
import re
import tokenize

PAGES = {'journal spec': 'journal', 'mmapv1 spec': 'mmapv1-format',
         'wire spec': 'wire-and-commands', 'semantics': 'semantics', 'upstream map': 'upstream-map'}

_SECTION = r'(?:\d{1,2}[a-z]?(?:\.\d{1,2})*)(?![\w%]|\.\d)'
_RULE = r'\d{1,2}(?![\w%]|\.\d)'
_AND = r'(?:, | and | to )'
_ITEM = r'%s(?: rules? %s(?:%s%s)*)?' % (_SECTION, _RULE, _AND, _RULE)
CITATION = re.compile(
    r'\b(?i:(journal spec|mmapv1 spec|wire spec|semantics|upstream map)) (%s(?:%s%s)*)'
    % (_ITEM, _AND, _ITEM))
LABEL = re.compile(r'\b([DJ]\d{1,2})\b')

# What a citation looks like that cannot be resolved. '~' stands for one that could be read.
SUSPECTS = [
    re.compile(r'(?i)\bspec(?:s|ification)?[,.:]? (?:sections? |rules? |§ ?)?\d[\w.]*'),
    re.compile(r'(?i)\bsemantics,? (?:spec |sections? |rules? |§ ?)?\d[\w.]*'),
    re.compile(r'(?i)\b(?:mmapv1-format|wire-and-commands|(?:journal|semantics)\.md)[,:]? '
               r'\d[\d.]*'),
    re.compile(r'(?i)\b(?:wire|journal|mmapv1) (?:document|page|format),? \d[\d.]*'),
    re.compile(r'(?i)\b(?:sections?|rules?|invariants?|chapters?|paragraphs?|sec\.|appendix) '
               r'\d{1,2}(?:\.\d+)*\b'),
    re.compile(r'(?i)\bappendix [A-Z]\b'),
    re.compile(r'\(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:[),;]| (?:and|to) \d)'),
    re.compile(r'(?i)(?:\bcf\.|\bsee) \d{1,2}\.\d{1,2}\b'),
    re.compile(r'~(?:[,;]|,? ?[/&-]|,? (?:through|or|and))? ?\d{1,2}\.\d{1,2}\b'),
    re.compile(r'§'),
]

_HEADING = re.compile(r'^#{2,3} (\d{1,2}[a-z]?(?:\.\d{1,2})*)\.? ')
_NUMBERED = re.compile(r'^(\d{1,2})\. ')


def sections_of(page):
    """{section: {rule numbers}} of a page of the specification."""
    found = {}
    current = None
    for line in page.split('\n'):
        heading = _HEADING.match(line)
        rule = _NUMBERED.match(line)
        if heading:
            current = heading[1]
            if current in found:
                raise ValueError('section %s stands twice' % current)
            found[current] = set()
        elif rule and current is not None:
            if int(rule[1]) in found[current]:
                raise ValueError('section %s has two rules %s' % (current, rule[1]))
            found[current].add(int(rule[1]))
    return found


def defects_of(page):
    """The labels D1, D2, ... that the journal page explains."""
    return set(re.findall(r'^- (D\d+) ', page, re.M))


def labels_of(head):
    """{label: tests} of the numbered safety rules in a header's opening comment.

    A rule begins with its label, and ends with the tests that hold it:

        J3  Files are removed in ascending order.
            [Journal.FilesAreRemovedInOrder, Recovery.AHoleIsRefused]"""
    found = {}
    opening = re.match(r'(?://[^\n]*\n)*', head)[0]
    for match in re.finditer(r'^// {1,4}(J\d+) (.*?)(?=^// {1,4}J\d+ |^//\s*$|\Z)', opening,
                             re.M | re.S):
        if match[1] in found:
            raise ValueError('%s stands twice' % match[1])
        tests = re.search(r'\[([^\[\]]+)\]$', re.sub(r'\s*\n//\s*', ' ', match[2]).strip())
        found[match[1]] = tests[1].split(', ') if tests else []
    return found


# References inside a page: bare numbers, of that page unless a citation names another. A bracket
# may also hold a version of the server.
_VERSIONS = {'1.0', '2.0', '2.2', '2.4', '2.6', '2.8', '3.0', '3.2', '3.4', '3.6', '4.0', '4.2'}
_INSIDE = re.compile(r'(?i)(?<![\w.])(\d{1,2}(?:\.\d{1,2})?) (?:rules?|steps?) (\d{1,2})\b'
                     r'|\b(?:sections?|rows? of|step \d+ of|see|rules? of|table of) '
                     r'(\d{1,2}(?:\.\d{1,2})?)(?!\.?[\w%])|\((\d{1,2}\.\d{1,2})[),;]')


def inner_faults_of(name, text, sections, defects):
    """Sentences about references inside a page of the specification that lead nowhere."""
    for block in _paragraphs(text):
        rest = CITATION.sub(lambda match: '~' * len(match[0]), block.text)
        for match in _INSIDE.finditer(rest):
            section = match[1] or match[3] or match[4]
            if match[4] in _VERSIONS and section not in sections:
                continue
            where = '%s:%d' % (name, block.line(match.start()))
            if section not in sections:
                yield '%s: this page has no section %s' % (where, section)
            elif match[2] and int(match[2]) not in sections[section]:
                yield '%s: section %s has no rule %s' % (where, section, match[2])
        if defects:
            for match in re.finditer(r'\bD\d+\b', rest):
                if match[0] not in defects:
                    yield '%s:%d: no %s is explained' % (name, block.line(match.start()), match[0])


# --- The prose of a file: its comments, with the line each piece begins in ------------------------

_C_LIKE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
                     r'|`(?:\\.|[^`\\])*`|(?P<comment>//[^\n]*|/\*.*?\*/)', re.S)
_HASH = re.compile(r'(?P<comment>(?<!\S)#[^\n]*)')
_MARK = re.compile(r'^[ \t]*(?:///?|#+|\*(?!/)|/\*+|""")?[ \t]?', re.M)


class Prose:
    """A run of text without comment marks and line breaks; knows the line of every character."""

    def __init__(self):
        self.text, self._lines = '', []

    def add(self, text, line):
        for number, part in enumerate(text.split('\n'), line):
            part = _MARK.sub('', part, count=1).rstrip() + ' '
            self.text += part
            self._lines += [number] * len(part)

    def line(self, offset):
        return self._lines[min(offset, len(self._lines) - 1)]


def _blocks(text, comments):
    """Prose of `comments`, (start, end) in `text`; those with nothing between them are one."""
    block = None
    last = 0
    for start, end in comments:
        if block is None or text[last:start].strip():
            if block is not None:
                yield block
            block = Prose()
        block.add(text[start:end], 1 + text.count('\n', 0, start))
        last = end
    if block is not None:
        yield block


def _comments(text, pattern):
    return _blocks(text, [match.span() for match in pattern.finditer(text) if match['comment']])


def _python_comments(text):
    """Comments, and strings that are statements: what a module or function says of itself."""
    starts = [0]
    for line in text.split('\n'):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type == tokenize.STRING and fresh:
            found.append(tuple(starts[row - 1] + column
                               for row, column in (token.start, token.end)))
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            fresh = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return _blocks(text, found)


def _paragraphs(text):
    for match in re.finditer(r'(?:[^\n]+\n?)+', text):
        block = Prose()
        block.add(match[0].rstrip('\n'), 1 + text.count('\n', 0, match.start()))
        yield block


def _patch_parts(text):
    """(file name or None for the header, lines as they are once it is applied)."""
    name, part = None, []
    for line in text.split('\n'):
        if line.startswith(('--- ', 'Index: ')):
            part.append('')
        elif line.startswith('+++ '):
            yield name, '\n'.join(part)
            name, part = line[4:].split('\t')[0], ['' for _ in part] + ['']
        elif name is None:
            part.append(line)
        else:
            part.append(line[1:] if line[:1] in ('+', ' ') else '')
    yield name, '\n'.join(part)


def prose_of(name, text, in_patch=False):
    if name.endswith('.patch'):
        for part, lines in _patch_parts(text):
            yield from (_paragraphs(lines) if part is None else prose_of(part, lines, True))
    elif name.endswith('.md'):
        yield from _paragraphs(text)
    elif name.endswith(('.cpp', '.h', '.c', '.js', '.ts', '.mjs', '.go')):
        yield from _comments(text, _C_LIKE)
    elif name.endswith('.py') and not in_patch:
        yield from _python_comments(text)
    else:
        yield from _comments(text, _HASH)


# --- Judging --------------------------------------------------------------------------------------

def _numbers(rules):
    numbers = []
    for part in re.split(r', | and ', rules):
        ends = [int(end) for end in part.split(' to ')]
        numbers += range(ends[0], ends[-1] + 1)
    return numbers


def citation_faults_of(name, block, pages):
    """Sentences about citations in a run of prose that lead nowhere."""
    for match in CITATION.finditer(block.text):
        where = '%s:%d' % (name, block.line(match.start()))
        key = match[1].lower()
        sections = pages[PAGES[key]]
        for item in re.finditer(r'(%s)(?: rules? (%s(?:%s%s)*))?'
                                % (_SECTION, _RULE, _AND, _RULE), match[2]):
            if item[1] not in sections:
                yield '%s: %s has no section %s' % (where, key, item[1])
                continue
            for rule in _numbers(item[2]) if item[2] else []:
                if rule not in sections[item[1]]:
                    yield '%s: %s %s has no rule %d' % (where, key, item[1], rule)


def faults_of(name, text, pages, labels):
    """Sentences about what is cited in `text` and leads nowhere, or cannot be looked up.

    pages: {name of the page: sections_of it}. labels: the D and J labels that exist."""
    for block in prose_of(name, text):
        yield from citation_faults_of(name, block, pages)
        rest = CITATION.sub(lambda match: '~' * len(match[0]), block.text)
        for match in LABEL.finditer(rest):
            if match[1] not in labels:
                yield '%s:%d: no %s is explained' % (name, block.line(match.start()), match[1])
        for suspect in SUSPECTS:
            for match in suspect.finditer(rest):
                yield "%s:%d: '%s' looks like a citation, but of which page?" \
                    % (name, block.line(match.start()), match[0])


# --- Files that prose speaks of -------------------------------------------------------------------

_FOLDERS = 'docs|src|tests|jstests|perf|patches|conf|setup|site_scons'
_ROOMS = 'base|sched|bson|os|journal|storage|catalog|query|command|wire|server|tools'
_FILE = re.compile(r'(?<![\w/.<*-])(?:(?P<top>(?:%s)/[\w./-]*[\w/])'
                   r'|(?P<room>(?:%s)/[\w/]+\.(?:h|cpp)))(?![\w*{<])' % (_FOLDERS, _ROOMS))
_PLACEHOLDER = re.compile(r'\b(SLUG|NAME|LIST|x\.cpp)\b')
_OWN_NAME = re.compile(r'^// ([\w/]+\.(?:h|cpp)) - ')


def with_folders(files):
    """The files and all folders that they lie in."""
    return files | {file[:end] for file in files for end in range(len(file)) if file[end] == '/'}


def lost_files_of(name, text, known):
    """Sentences about files and folders that `text` names and that are not among `known`, which
    with_folders made."""
    for block in prose_of(name, text):
        for match in _FILE.finditer(block.text):
            path = match['top'] or 'src/' + match['room']
            if path.rstrip('/') not in known and not _PLACEHOLDER.search(path):
                yield '%s:%d: there is no %s' % (name, block.line(match.start()), match[0])
    own = _OWN_NAME.match(text)
    if own and name.startswith('src/') and name != 'src/' + own[1]:
        yield '%s:1: calls itself %s' % (name, own[1])


def files_of_patch(text):
    return set(re.findall(r'^\+\+\+ b/(\S+)', text, re.M))


_FUNCTION = re.compile(r'`(?:\w+::)*(\w+)\(\)`')


def lost_functions_of(name, text, read_file):
    """Sentences about `function()`s of a page that none of the files named in the same row, item or
    paragraph has. read_file(path): its text, or None."""
    for block in re.split(r'\n(?=\|)|\n(?=\d+\. )|\n(?=- )|\n\n', text):
        functions = _FUNCTION.findall(block)
        if not functions:
            continue
        files = [read_file(path) or '' for path in re.findall(r'`(src/[\w/]+\.(?:h|cpp))`', block)]
        for function in functions:
            if not any(re.search(r'\b%s\(' % function, file) for file in files):
                yield '%s: no %s() in the files beside it: %s' \
                    % (name, function, block.strip().split('\n')[0][:60])
