"""A file of the tree while it is edited: text, tokens, and the edits that recipes are made of.

Offsets are places in the text. Inserted lines get the indentation and the line ending of the line
beside which they stand, so a file with CRLF keeps it."""

import re
import textwrap

from port import tokens as lexer
from port.structure import structure_of

INDENT = '    '


class Problem(Exception):
    """Why a recipe does not fit a tree: `kind` is a key of outcome.EXIT_CODES, `path` the file
    below the tree, `anchor` what was looked for, `text` the rest of the sentence."""

    def __init__(self, kind, path, anchor, text):
        super().__init__(text)
        self.kind, self.path, self.anchor, self.text = kind, path, anchor, text
        self.slug = None

    def __str__(self):
        anchor = ', anchor `%s`' % self.anchor if self.anchor else ''
        return '%s: %s%s: %s' % (self.slug, self.path, anchor, self.text)


class Source:
    """`path` is below the tree; `before` is the text on disk, None for a file that is new."""

    def __init__(self, path, text, exists=True):
        self.path, self.text = path, text
        self.before = text if exists else None

    @property
    def tokens(self):
        return lexer.scan(self.text)[0]

    @property
    def structure(self):
        return structure_of(self.text)

    # -- finding

    def definition(self, scope):
        """The one definition of a scope."""
        found = self.structure.definitions(scope)
        if len(found) == 1:
            return found[0]
        if not found:
            raise Problem('moved', self.path, scope,
                          'there is no definition of it; the code has moved, or it is another '
                          'version')
        raise Problem('ambiguous', self.path, scope,
                      'there are %d definitions of it, where one is expected' % len(found))

    def range_of(self, scope):
        """(start, end) of a scope's body, the whole file for None."""
        if scope is None:
            return 0, len(self.text)
        definition = self.definition(scope)
        tokens = self.structure.tokens
        return tokens[definition.opening].start, tokens[definition.closing].end

    def find(self, anchor, scope=None):
        """[(start, end)] of all places of an anchor, which is code, within a scope."""
        start, end = self.range_of(scope)
        sequence = lexer.words(anchor)
        tokens = self.tokens
        places = [(tokens[i].start, tokens[i + len(sequence) - 1].end)
                  for i in lexer.find(tokens, sequence)]
        return [place for place in places if start <= place[0] and place[1] <= end]

    def the(self, anchor, scope=None):
        """(start, end) of the one place of an anchor."""
        places = self.find(anchor, scope)
        if len(places) == 1:
            return places[0]
        where = ' in `%s`' % scope if scope else ''
        if not places:
            raise Problem('moved', self.path, anchor,
                          'not found%s; the code has moved, or it is another version' % where)
        lines = ', '.join(str(self.text.count('\n', 0, place[0]) + 1) for place in places)
        raise Problem('ambiguous', self.path, anchor,
                      'found %d times%s (lines %s), where one is expected'
                      % (len(places), where, lines))

    def statements(self, offset, anchor):
        index = self.structure.index_at(offset)
        chain = self.structure.around(index) if index is not None else []
        if not chain:
            raise Problem('moved', self.path, anchor, 'stands in no statement that can be edited')
        return chain

    def statement(self, offset, anchor):
        """The innermost statement; the head of the chain where that is `if ... else if`."""
        chain = self.statements(offset, anchor)
        node = chain.pop()
        while (node.kind == 'if' and chain and chain[-1].kind == 'if'
               and node in chain[-1].parts[1:]):
            node = chain.pop()
        return node

    def span(self, node):
        tokens = self.structure.tokens
        return tokens[node.first].start, tokens[node.last].end

    # -- editing

    def change(self, edits):
        """Applies [(start, end, text)], which must not overlap."""
        for start, end, text in sorted(edits, reverse=True):
            self.text = self.text[:start] + text + self.text[end:]

    def line_start(self, offset):
        return self.text.rfind('\n', 0, offset) + 1

    def indent_at(self, offset):
        return re.match(r'[ \t]*', self.text[self.line_start(offset):])[0]

    def newline_at(self, offset):
        """The line ending in use around an offset."""
        end = self.text.find('\n', offset)
        if end < 0:
            end = self.text.rfind('\n', 0, offset)
        return '\r\n' if end > 0 and self.text[end - 1] == '\r' else '\n'

    def block(self, code, offset, indent=None):
        """Code as whole lines, for a place at an offset."""
        indent = self.indent_at(offset) if indent is None else indent
        newline = self.newline_at(offset)
        return ''.join((indent + line if line else '') + newline for line in code.split('\n'))

    def insertion_before(self, start, code, above_comment=False):
        """The edit that puts lines before the token at `start`, if wanted above the comment that
        stands directly over it."""
        line = self.line_start(start)
        for first, end in reversed(lexer.scan(self.text)[1] if above_comment else []):
            above = self.line_start(first)
            if end <= line and self.text[end:line].strip(' \t\r') in ('', '\n') \
                    and not self.text[above:first].strip():
                line = above
                start = first
        if not self.tokens_between(line, start):
            return (line, line, self.block(code, start))
        indent = self.indent_at(start) + INDENT
        return (start, start, self.newline_at(start) + self.block(code, start, indent) + indent)

    def insertion_after(self, end, code, indent_of=None):
        """The edit that puts lines after the token that ends at `end`."""
        indent = self.indent_at(end if indent_of is None else indent_of)
        newline = self.newline_at(end)
        line_end = self.text.find('\n', end)
        line_end = len(self.text) if line_end < 0 else line_end
        if self.tokens_between(end, line_end) or self.in_comment(line_end):
            text = newline + self.block(code, end, indent)
            # What follows on the same line keeps a line of its own.
            return (end, end + re.match(r'[ \t]*', self.text[end:]).end(), text + indent)
        if line_end == len(self.text):
            return (end, end, newline + self.block(code, end, indent)[:-len(newline)])
        return (line_end + 1, line_end + 1, self.block(code, end, indent))

    def tokens_between(self, start, end):
        return any(start <= token.start < end for token in self.tokens)

    def in_comment(self, offset):
        return any(a < offset < b for a, b in lexer.scan(self.text)[1])


def dedent(code):
    """Code of a recipe, which is written as an indented block, as lines: without the newline after
    the opening quotes and the white space at the end. An empty line at the start stays."""
    code = textwrap.dedent(code).rstrip()
    return code[1:] if code.startswith('\n') else code
