"""The structure of a C++ file as far as an edit needs it: brackets, definitions, statements.

This is no parser of the language. It knows brackets, the words that control other statements, and
what a definition looks like: a name, its parameters, and `{` before any `;`, with only a return
type and class names before it (upstream map 0). Lines of the preprocessor are left out; where the
branches of an #if do not balance their brackets by themselves, the first one is taken."""

import functools

from port import tokens as lexer

# Statements that run another one, and macros that are used like them.
CONTROL = {'for', 'while', 'switch', 'BOOST_FOREACH', 'SOMETIMES'}
BARE_CONTROL = {'DEV', 'RARELY', 'OCCASIONALLY', 'ONCE'}
LABELS = {'case', 'default', 'public', 'private', 'protected'}
TYPE_WORDS = {'class', 'struct', 'union', 'enum'}
# What cannot stand between the end of the last statement and the name that is defined.
NO_TYPE = {'return', 'new', 'delete', 'throw', 'else', 'if', 'while', 'for', 'switch', 'case',
           'goto', 'do', 'try', 'catch', 'sizeof', 'using', 'typedef'}
TYPE_MARKS = {'::', '<', '>', '>>', ',', '*', '&', '&&', '~'}
CLOSING = {'(': ')', '[': ']', '{': '}'}


class Node:
    """A statement: tokens first..last of the structure. `body`: it is run by the statement around
    it and stands without braces. `condition`: the brackets of an if. `parts`: statements and blocks
    inside."""

    def __init__(self, kind, first, last, parts=(), condition=None):
        self.kind, self.first, self.last = kind, first, last
        self.parts, self.condition, self.body = list(parts), condition, False
        if kind in ('if', 'control', 'do'):
            for part in self.parts:
                part.body = part.kind != 'block'


class Definition:
    """A function or type: `first` token of its declaration, `name`, parameters and body brackets
    (indexes into Structure.tokens; `parameters` is None for a type)."""

    def __init__(self, first, name, parameters, opening, closing):
        self.first, self.name, self.parameters = first, name, parameters
        self.opening, self.closing = opening, closing


class Structure:
    def __init__(self, text):
        self.text = text
        self.tokens, self.after_directive = _without_directives(lexer.scan(text)[0])
        self.partner, self._definitions = {}, {}
        waiting = []
        for i, token in enumerate(self.tokens):
            if token.text in CLOSING:
                waiting.append(i)
            elif token.text in CLOSING.values():
                while waiting and CLOSING[self.tokens[waiting[-1]].text] != token.text:
                    waiting.pop()
                if waiting:
                    self.partner[waiting[-1]] = i
                    self.partner[i] = waiting.pop()

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ''

    def index_at(self, offset):
        """The token that begins at an offset of the text; None if the structure left it out."""
        low, high = 0, len(self.tokens)
        while low < high:
            middle = (low + high) // 2
            if self.tokens[middle].start < offset:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.tokens) and self.tokens[low].start == offset else None

    # -- definitions

    def definitions(self, scope):
        """All definitions of a scope as recipes write it: `Journal::journal`, `static void f`,
        `type NotifyAll`."""
        if scope not in self._definitions:
            self._definitions[scope] = list(self._find_definitions(scope))
        return self._definitions[scope]

    def _find_definitions(self, scope):
        words = lexer.words(scope)
        if words[0] == 'type':
            return self._types(words[1])
        # The name is the last word with all that "::" joins to it; before it, the return type.
        split = len(words) - 1
        while split >= 2 and words[split - 1] == '::':
            split -= 2
        return self._functions(words[split:], words[:split])

    def _types(self, name):
        for i in range(len(self.tokens) - 2):
            if self.word(i) not in ('class', 'struct') or self.word(i + 1) != name:
                continue
            j = i + 2
            if self.word(j) == 'final':
                j += 1
            if self.word(j) == ':':
                while j < len(self.tokens) and self.word(j) not in ('{', ';', '('):
                    j += 1
            if self.word(j) == '{' and j in self.partner:
                yield Definition(i, i + 1, None, j, self.partner[j])

    def _functions(self, name, before):
        for i in lexer.find(self.tokens, name):
            after = i + len(name)
            if self.word(after) != '(' or after not in self.partner:
                continue
            if before and tuple(self.word(i - len(before) + k)
                                for k in range(len(before))) != before:
                continue
            first = self._declaration_start(i)
            opening = self._body(self.partner[after] + 1)
            if first is not None and opening is not None:
                yield Definition(first, i, (after, self.partner[after]), opening,
                                 self.partner[opening])

    def _declaration_start(self, name):
        """Where the declaration of `name` begins, or None if this is no declaration."""
        i = name
        while i > 0 and i not in self.after_directive:
            word = self.word(i - 1)
            if word in (';', '{', '}', ':', ')'):  # `)`: of a macro used without a semicolon
                break
            identifier = word[0].isalpha() or word[0] == '_' or word == '"C"'
            if word in NO_TYPE or not (identifier or word in TYPE_MARKS):
                return None
            if i == name and word == '::':
                return None  # another, longer name
            i -= 1
        return i

    def _body(self, i):
        """The `{` of a function's body, if what follows the parameters leads to one."""
        while i < len(self.tokens):
            word = self.word(i)
            if word == '{':
                return i if i in self.partner else None
            if word in ('const', 'volatile', 'override', 'final', '&', '&&'):
                i += 1
            elif word in ('throw', 'noexcept'):
                i += 1
                if self.word(i) == '(':
                    i = self.partner.get(i, len(self.tokens)) + 1
            elif word == ':':
                return self._body_after_initialisers(i + 1)
            else:
                return None
        return None

    def _body_after_initialisers(self, i):
        while i < len(self.tokens) and self.word(i) != ';':
            if self.word(i) in ('(', '{'):
                if i not in self.partner:
                    return None
                after = self.word(self.partner[i] + 1)
                named = self.word(i - 1)[0].isalpha() or self.word(i - 1)[0] in '_>'
                if self.word(i) == '{' and not (named and after in (',', '{')):
                    return i
                i = self.partner[i]
            i += 1
        return None

    # -- statements

    def around(self, i):
        """The statements around token i, the outermost first."""
        chain = []
        nodes = self._statements(0, len(self.tokens))
        while nodes:
            node = next((node for node in nodes if node.first <= i <= node.last), None)
            if node is None:
                break
            if node.kind == 'block':
                nodes = self._statements(node.first + 1, node.last)
                continue
            chain.append(node)
            nodes = node.parts
        return chain

    def _statements(self, i, end):
        nodes = []
        while i < end:
            node = self._statement(i, end)
            nodes.append(node)
            i = node.last + 1
        return nodes

    def _statement(self, i, end):
        word = self.word(i)
        if i >= end:
            return Node('simple', end - 1, end - 1)
        if word == '{' and i in self.partner:
            return Node('block', i, self.partner[i])
        if word in LABELS or (self.word(i + 1) == ':' and word[0].isalpha()):
            while i < end - 1 and self.word(i) != ':':
                i += 1
            return Node('label', i, i)
        following = self.partner.get(i + 1) if self.word(i + 1) == '(' else None
        if word == 'if' and following:
            body = self._statement(following + 1, end)
            parts, last = [body], body.last
            if self.word(last + 1) == 'else' and last + 1 < end:
                parts.append(self._statement(last + 2, end))
                last = parts[1].last
            return Node('if', i, last, parts, (i + 1, following))
        if word in CONTROL and following:
            body = self._statement(following + 1, end)
            return Node('control', i, body.last, [body])
        if word in BARE_CONTROL:
            body = self._statement(i + 1, end)
            return Node('control', i, body.last, [body])
        if word == 'do':
            body = self._statement(i + 1, end)
            last = body.last
            while last < end - 1 and self.word(last) != ';' or last == body.last:
                last += 1
            return Node('do', i, last, [body])
        if word == 'try':
            parts = [self._statement(i + 1, end)]
            while self.word(parts[-1].last + 1) == 'catch':
                closing = self.partner.get(parts[-1].last + 2, end - 2)
                parts.append(self._statement(closing + 1, end))
            return Node('try', i, parts[-1].last, parts)
        return self._simple(i, end)

    def _simple(self, i, end):
        """A declaration or an expression: to its `;`, or to the `}` of its body."""
        first, parts = i, []
        has_parameters = has_value = False
        is_type = False
        while i < end:
            word = self.word(i)
            if word == ';':
                break
            if word == '(' or word == '[':
                has_parameters = has_parameters or word == '('
                i = self.partner.get(i, i)
            elif word == '{' and i in self.partner:
                parts.append(Node('block', i, self.partner[i]))
                i = self.partner[i]
                if not (has_value or (is_type and not has_parameters)):
                    break
            elif word in ('=', 'return'):
                has_value = True
            elif word in TYPE_WORDS:
                is_type = True
            i += 1
        return Node('simple', first, min(i, end - 1), parts)


def _without_directives(tokens):
    """(tokens without preprocessor lines, indexes of those that follow such a line)."""
    kept, after = [], set()
    groups = []  # per open #if: where in `kept` each of its branches begins
    for i, token in enumerate(tokens):
        if not token.directive:
            kept.append(token)
        if token.directive != 'start':
            continue
        word = tokens[i + 1].text if i + 1 < len(tokens) else ''
        if word in ('if', 'ifdef', 'ifndef'):
            groups.append([len(kept)])
        elif word in ('else', 'elif') and groups:
            groups[-1].append(len(kept))
        elif word == 'endif' and groups:
            starts = groups.pop() + [len(kept)]
            if len(starts) > 2 and any(_unbalanced(kept[a:b]) for a, b in zip(starts, starts[1:])):
                del kept[starts[1]:]
                after = {k for k in after if k <= len(kept)}
        after.add(len(kept))
    return kept, after


def _unbalanced(tokens):
    depth = 0
    for token in tokens:
        if token.text in CLOSING:
            depth += 1
        elif token.text in CLOSING.values():
            depth -= 1
            if depth < 0:
                return True
    return depth != 0


@functools.lru_cache(maxsize=1024)
def structure_of(text):
    return Structure(text)
