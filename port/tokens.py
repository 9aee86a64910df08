"""C++ source as a list of tokens, each with its place in the text.

Only what finding places needs: white space, comments and continued lines separate tokens and are
none themselves, so that two spellings of the same code compare equal (upstream map 0). Text that is
no C++ (the words of an #error, a byte order mark) gives single characters and never an error."""

import functools
import re

_PATTERN = re.compile(r'''
    (?P<space> \s+ | \\\r?\n )
  | (?P<comment> //(?:[^\\\n]|\\\r?\n|\\.)* | /\*.*?(?:\*/|\Z) )
  | (?P<string> (?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
              | (?:u8|[uUL])?"(?:[^"\\\n]|\\.|\\\r?\n)*"
              | [uUL]?'(?:[^'\\\n]|\\.)+' )
  | (?P<number> \.?\d(?:[eEpP][+-]|[\w.])* )
  | (?P<word> [A-Za-z_$][\w$]* )
  | (?P<mark2> <<=|>>=|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\# )
  | (?P<other> . )
''', re.VERBOSE | re.S)


class Token:
    """A token's text and its place. `directive` is 'start' for the # of a line like #include or
    #define, 'part' for the rest of that line, and empty elsewhere."""

    __slots__ = ('text', 'start', 'end', 'directive')

    def __init__(self, text, start, end, directive):
        self.text, self.start, self.end, self.directive = text, start, end, directive

    def __repr__(self):
        return 'Token(%r, %d)' % (self.text, self.start)


@functools.lru_cache(maxsize=1024)
def scan(text):
    """(tokens, comments) of a text; comments are (start, end). Neither list may be changed."""
    tokens, comments = [], []
    directive = ''
    first_of_line = True
    for match in _PATTERN.finditer(text):
        kind, start, end = match.lastgroup, match.start(), match.end()
        if kind == 'space':
            if '\n' in match.group() and not match.group().startswith('\\'):
                directive, first_of_line = '', True
        elif kind == 'comment':
            comments.append((start, end))
        else:
            if match.group() == '#' and first_of_line:
                directive = 'start'
            first_of_line = False
            tokens.append(Token(match.group(), start, end, directive))
            directive = directive and 'part'
    return tokens, comments


@functools.lru_cache(maxsize=4096)
def words(code):
    """The token texts of a piece of code, e.g. of an anchor."""
    return tuple(token.text for token in scan(code)[0])


def find(tokens, sequence, start=0, end=None):
    """Indexes in tokens[start:end] at which the texts of `sequence` begin."""
    end = len(tokens) if end is None else end
    first, length = sequence[0], len(sequence)
    return [i for i in range(start, end - length + 1) if tokens[i].text == first
            and all(tokens[i + k].text == sequence[k] for k in range(1, length))]
