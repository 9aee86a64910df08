"""The vocabulary of the recipes: one class for each kind of edit.

A step names a file by its role (tree.Tree.path), if need be a scope and an anchor in it, and our
code. `$name` in the code is a capture: what the tree itself writes at a named place.

A step can be asked whether it has been made (`present`) and to be made (`apply`); either looks at
the text alone. `shared` steps belong to several recipes: the first one that is applied makes them.
"""

import re

from port import tokens as lexer
from port.source import INDENT, Problem, dedent


class Receiver:
    """Capture: the object that a method is called on, e.g. `commitJob._notify`."""

    def __init__(self, file, anchor, method, scope=None):
        self.file, self.anchor, self.method, self.scope = file, anchor, method, scope

    def read(self, tree):
        source = tree.source(self.file)
        start = source.the(self.anchor, self.scope)[0]
        structure = source.structure
        node = source.statements(start, self.anchor)[-1]
        for i in range(node.first, node.last):
            if structure.word(i) == self.method and structure.word(i + 1) == '(':
                break
        else:
            raise Problem('moved', source.path, self.anchor,
                          'there is no call of %s around it' % self.method)
        first = i
        while structure.word(first - 1) in ('.', '::'):
            first -= 2
        if first == i or structure.word(first - 1) == '->':
            raise Problem('moved', source.path, self.anchor,
                          '%s is not called on an object that has a name' % self.method)
        tokens = structure.tokens
        return source.text[tokens[first].start:tokens[i - 1].start].rstrip()


class Parameter:
    """Capture: the name of a function's parameter, the first one or that of a number from 0."""

    def __init__(self, file, scope, number=0):
        self.file, self.scope, self.number = file, scope, number

    def read(self, tree):
        source = tree.source(self.file)
        opening, closing = source.definition(self.scope).parameters
        words = [source.structure.word(i) for i in range(opening + 1, closing)]
        ends = [i for i, word in enumerate(words) if word == ','] + [len(words)]
        start = ends[self.number - 1] + 1 if self.number else 0
        parameter = words[start:ends[self.number]] if self.number < len(ends) else []
        if len(parameter) < 2 or not re.fullmatch(r'[A-Za-z_]\w*', parameter[-1]):
            raise Problem('moved', source.path, self.scope,
                          'its parameter %d has no name' % (self.number + 1))
        return parameter[-1]


class Step:
    def __init__(self, file, anchor=None, code='', scope=None, only=None, shared=False,
                 captures=None, inside=None):
        self.file, self.anchor, self.code, self.scope = file, anchor, code, scope
        self.inside = inside or scope  # what the anchor is in, for the reader
        self.only = only  # versions; None for all
        self.shared = shared
        self.captures = captures or {}

    def text(self, tree, code=None):
        """The code with its captures filled in."""
        code = dedent(self.code if code is None else code)
        for name, capture in self.captures.items():
            code = code.replace('$' + name, capture.read(tree))
        return code

    def present(self, tree):
        return self.holds(tree, self.code)

    def holds(self, tree, code, scope=None):
        """Whether the file has this code, whatever its captures say."""
        source = tree.source(self.file)
        runs = re.split(r'\$[a-z]+', dedent(code))
        return all(source.find(run, scope) for run in runs if lexer.words(run))

    def is_include(self):
        return False

    def place(self):
        """(file, where): how docs and headers name the place."""
        return self.file, self.inside

    def apply(self, tree):
        raise NotImplementedError


class Before(Step):
    """Our lines before the statement that has the anchor."""

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        node = source.statement(source.the(self.anchor, self.scope)[0], self.anchor)
        start, end = source.span(node)
        if node.body:
            source.change(braces(source, start, end, before=code))
        else:
            source.change([source.insertion_before(start, code)])


class After(Step):
    """Our lines after the statement that has the anchor. `outermost`: after the statement of the
    function's body that it is a part of."""

    def __init__(self, *args, outermost=False, **named):
        super().__init__(*args, **named)
        self.outermost = outermost

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        self.after(source, source.the(self.anchor, self.scope)[0], code)

    def after(self, source, offset, code):
        node = source.statement(offset, self.anchor)
        if self.outermost:
            opening = source.range_of(self.scope)[0]
            node = next(node for node in source.statements(offset, self.anchor)
                        if source.span(node)[0] > opening)
        start, end = source.span(node)
        if node.body:
            source.change(braces(source, start, end, after=code))
        else:
            source.change([source.insertion_after(end, code, start)])


class AfterEach(After):
    """After each statement with the anchor, of which there are `times`."""

    def __init__(self, *args, times=1, **named):
        super().__init__(*args, **named)
        self.times = times

    def present(self, tree):
        return len(tree.source(self.file).find(self.code, self.scope)) == self.times

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        found = len(source.find(self.anchor, self.scope))
        if found != self.times:
            raise Problem('ambiguous' if found > self.times else 'moved', source.path, self.anchor,
                          'found %d times in `%s`, where %d are expected'
                          % (found, self.scope, self.times))
        for k in range(found):
            self.after(source, source.find(self.anchor, self.scope)[k][0], code)


class Count(Step):
    """After a statement `X += operand;` our own sums of the same operand, as `$operand`. What is
    more than a name is stored first, so that it is computed once."""

    def apply(self, tree):
        source = tree.source(self.file)
        node = source.statement(source.the(self.anchor, self.scope)[0], self.anchor)
        start, end = source.span(node)
        structure = source.structure
        adds = [i for i in range(node.first, node.last) if structure.word(i) == '+=']
        if node.kind != 'simple' or len(adds) != 1 or structure.word(node.last) != ';':
            raise Problem('moved', source.path, self.anchor, 'is no statement `... += ...;`')
        tokens = structure.tokens
        operand = (tokens[adds[0] + 1].start, tokens[node.last].start)
        text = source.text[operand[0]:operand[1]].strip()
        if '//' in text:
            text = ' '.join(token.text for token in tokens[adds[0] + 1:node.last])
        if re.fullmatch(r'[A-Za-z_]\w*', text):
            code = self.text(tree).replace('$operand', text)
            if node.body:
                source.change(braces(source, start, end, after=code))
            else:
                source.change([source.insertion_after(end, code, start)])
            return
        head = source.text[start:operand[0]].rstrip()
        code = self.text(tree).replace('$operand', 'amount')
        lines = '{\n    const unsigned long long amount = %s;\n    %s amount;\n%s\n}' % (
            text, head, '\n'.join('    ' + line for line in code.split('\n')))
        newline = source.newline_at(start)
        source.change([(start, end, lines.replace('\n', newline + source.indent_at(start)))])


class Replace(Step):
    """Our code in place of a part of the anchor, by default of all of it."""

    def __init__(self, *args, part=None, **named):
        super().__init__(*args, **named)
        self.part = part

    def present(self, tree):
        old = lexer.words(self.part or self.anchor)
        whole = lexer.words(self.anchor)
        at = [i for i in range(len(whole)) if whole[i:i + len(old)] == old][0]
        new = whole[:at] + lexer.words(dedent(self.code)) + whole[at + len(old):]
        return bool(tree.source(self.file).find(' '.join(new), self.scope))

    def apply(self, tree):
        source = tree.source(self.file)
        start, end = source.the(self.anchor, self.scope)
        if self.part:
            sequence = lexer.words(self.part)
            inside = [token for token in source.tokens if start <= token.start < end]
            at = lexer.find(inside, sequence)[0]
            start, end = inside[at].start, inside[at + len(sequence) - 1].end
        newline = source.newline_at(start) + source.indent_at(start)
        source.change([(start, end, self.text(tree).replace('\n', newline))])


class ReplaceStatement(Step):
    """Our lines in place of the statement that has the anchor. `uses`: {code: times}, what the old
    statement must have in it; otherwise it is not the one that we know."""

    def __init__(self, *args, uses=None, **named):
        super().__init__(*args, **named)
        self.uses = uses or {}

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        node = source.statements(source.the(self.anchor, self.scope)[0], self.anchor)[-1]
        start, end = source.span(node)
        for use, times in self.uses.items():
            found = [place for place in source.find(use) if start <= place[0] < end]
            if len(found) != times:
                raise Problem('moved', source.path, self.anchor,
                              'its statement has `%s` %d times, where %d are expected'
                              % (use, len(found), times))
        if node.kind == 'if' and len(node.parts) > 1:
            raise Problem('moved', source.path, self.anchor, 'its statement has an else')
        indent, newline = source.indent_at(start), source.newline_at(start)
        source.change([(start, end, code.replace('\n', newline + indent))])


class Wrap(Step):
    """Our code around the statement that has the anchor: `code` before it, `closing` after it."""

    def __init__(self, *args, closing='}', **named):
        super().__init__(*args, **named)
        self.closing = closing

    def apply(self, tree):
        source = tree.source(self.file)
        before, after = self.text(tree), self.text(tree, self.closing)
        node = source.statement(source.the(self.anchor, self.scope)[0], self.anchor)
        source.change(wrapped(source, node, before, after))


class WrapReturn(Step):
    """Our code around the value of the `return` statement that the anchor begins."""

    def __init__(self, *args, closing=')', **named):
        super().__init__(*args, **named)
        self.closing = closing

    def present(self, tree):
        return self.holds(tree, 'return ' + self.code)

    def apply(self, tree):
        source = tree.source(self.file)
        start = source.the(self.anchor, self.scope)[0]
        node = source.statement(start, self.anchor)
        first, last = source.span(node)
        value = source.structure.tokens[node.first + 1].start
        if first != start or source.text[last - 1] != ';':
            raise Problem('moved', source.path, self.anchor, 'is no return statement')
        source.change([(value, value, self.text(tree)),
                       (last - 1, last - 1, self.text(tree, self.closing))])


class WrapCondition(Step):
    """Our code around the condition of the `if` that has the anchor in it."""

    def __init__(self, *args, closing=')', **named):
        super().__init__(*args, **named)
        self.closing = closing

    def apply(self, tree):
        source = tree.source(self.file)
        node = source.statements(source.the(self.anchor, self.scope)[0], self.anchor)[-1]
        if node.kind != 'if':
            raise Problem('moved', source.path, self.anchor, 'is not in the condition of an if')
        tokens = source.structure.tokens
        opening, closing = tokens[node.condition[0]].end, tokens[node.condition[1]].start
        newline = source.newline_at(opening) + source.indent_at(opening) + '        '
        code = self.text(tree).replace('\n', newline)
        source.change([(opening, opening, ' ' + code + newline),
                       (closing, closing, ' ' + self.text(tree, self.closing) + ' ')])


class Rename(Step):
    """In the statement that has the anchor, `new` for the name `old`, which is there `times`."""

    def __init__(self, file, anchor, old, new, times, **named):
        super().__init__(file, anchor, new, **named)
        self.old, self.times = old, times

    def _counts(self, tree, anchor):
        source = tree.source(self.file)
        node = source.statement(source.the(anchor, self.scope)[0], anchor)
        names = [token for token in source.structure.tokens[node.first:node.last + 1]]
        return ([t for t in names if t.text == self.old], [t for t in names if t.text == self.code])

    def present(self, tree):
        source = tree.source(self.file)
        changed = ' '.join(self.code if word == self.old else word
                           for word in lexer.words(self.anchor))
        if len(source.find(changed, self.scope)) != 1:
            return False
        old, new = self._counts(tree, changed)
        return not old and len(new) == self.times

    def apply(self, tree):
        source = tree.source(self.file)
        old, _ = self._counts(tree, self.anchor)
        if len(old) != self.times:
            raise Problem('moved', source.path, self.anchor,
                          'its statement has `%s` %d times, where %d are expected'
                          % (self.old, len(old), self.times))
        source.change([(token.start, token.end, self.code) for token in old])


class AtStart(Step):
    """Our lines at the start of a function's body."""

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        definition = source.definition(self.scope)
        tokens = source.structure.tokens
        opening = tokens[definition.opening]
        first = tokens[definition.opening + 1]
        indent = source.indent_at(tokens[definition.first].start) + INDENT
        newline = source.newline_at(opening.end)
        line_end = source.text.find('\n', opening.end)
        if 0 <= line_end < first.start and not source.in_comment(line_end):
            source.change([(line_end + 1, line_end + 1, source.block(code, opening.end, indent))])
        else:
            blanks = len(source.text[opening.end:first.start]) - len(
                source.text[opening.end:first.start].lstrip(' \t'))
            source.change([(opening.end, opening.end + blanks,
                            newline + source.block(code, opening.end, indent) + indent)])


class AroundDefinition(Step):
    """Our lines before or after the definition of `scope`."""

    def __init__(self, file, scope, code, where, **named):
        super().__init__(file, None, code, scope, **named)
        self.where = where

    def apply(self, tree):
        source = tree.source(self.file)
        code = self.text(tree)
        definition = source.definition(self.scope)
        tokens = source.structure.tokens
        start = tokens[definition.first].start
        end = tokens[definition.closing].end
        if self.where == 'before':
            source.change([source.insertion_before(start, code + '\n', above_comment=True)])
        else:
            source.change([source.insertion_after(end, '\n' + code, start)])


class Include(Step):
    """An #include of one of our files: beside that of a file with this name, or without one after
    the last of those that always hold, before the first `{`. Every recipe that needs it shares it.
    """

    def __init__(self, file, header, beside=None, only=None, where='after'):
        super().__init__(file, beside, '', None, only, True)
        self.header, self.where = header, where

    def present(self, tree):
        return bool(tree.source(self.file).find(self._line(tree)))

    def is_include(self):
        return True

    def _line(self, tree):
        return '#include "%s"' % tree.include_path(self.header)

    def apply(self, tree):
        source = tree.source(self.file)
        places = self._includes(source)
        if self.anchor:
            chosen = [token for token, _, name in places if name == self.anchor]
            if len(chosen) != 1:
                raise Problem('ambiguous' if chosen else 'moved', source.path,
                              '#include "%s"' % self.anchor,
                              'found %d times, where one is expected' % len(chosen))
        else:
            chosen = [token for token, depth, _ in places if depth == 0][-1:]
            if not chosen:
                raise Problem('moved', source.path, '#include', 'the file includes nothing')
        line = source.line_start(chosen[0].start)
        if self.where == 'before':
            source.change([(line, line, source.block(self._line(tree), chosen[0].start, ''))])
        else:
            source.change([source.insertion_after(chosen[0].end, self._line(tree))])

    @staticmethod
    def _includes(source):
        """[(last token of an #include, number of #if around it, name of the file)]"""
        found, depth = [], 0
        tokens = source.tokens
        for i, token in enumerate(tokens):
            if token.text == '{' and not token.directive:
                break
            if token.directive != 'start' or i + 2 >= len(tokens):
                continue
            word = tokens[i + 1].text
            depth += (word in ('if', 'ifdef', 'ifndef')) - (word == 'endif')
            if word == 'include':
                last = i + 2
                while last + 1 < len(tokens) and tokens[last + 1].directive == 'part':
                    last += 1
                found.append((tokens[last], depth, tokens[last].text.strip('"').rsplit('/', 1)[-1]))
        return found


class Uncast(Step):
    """A variable that is declared as `old` and set from a cast to `old` gets the type `code`, and
    the cast goes."""

    def __init__(self, file, anchor, old, code, **named):
        super().__init__(file, anchor, code, **named)
        self.old = old

    def present(self, tree):
        changed = [self.code if word == self.old else word for word in lexer.words(self.anchor)]
        return bool(tree.source(self.file).find(' '.join(changed), self.scope))

    def apply(self, tree):
        source = tree.source(self.file)
        start, end = source.the(self.anchor, self.scope)
        tokens = [token for token in source.tokens if token.start >= start][:12]
        after = len(lexer.words(self.anchor))
        words = [token.text for token in tokens]
        casts = (['(', self.old, ')'], [self.old], ['static_cast', '<', self.old, '>'])
        cast = next((cast for cast in casts if words[after:after + len(cast)] == cast), None)
        if cast is None:
            raise Problem('moved', source.path, self.anchor,
                          'is not set from a cast to %s' % self.old)
        declared = next(token for token in tokens if token.text == self.old)
        source.change([(declared.start, declared.end, self.code),
                       (tokens[after].start, tokens[after + len(cast)].start, '')])


class BothWays(Step):
    """Under a condition the statement that has the anchor with our code in the anchor's place, and
    else the statement as it is."""

    def __init__(self, *args, condition, **named):
        super().__init__(*args, **named)
        self.condition = condition

    def apply(self, tree):
        source = tree.source(self.file)
        start, end = source.the(self.anchor, self.scope)
        node = source.statement(start, self.anchor)
        if node.kind != 'simple' or node.parts:
            raise Problem('moved', source.path, self.anchor, 'is in no plain statement')
        first, last = source.span(node)
        changed = source.text[first:start] + self.text(tree) + source.text[end:last]
        changed = re.sub(r'\r?\n(?=[^\r\n])', '\n    ', changed)
        source.change(wrapped(source, node, 'if ( %s ) {\n    %s\n}\nelse {'
                              % (self.condition, changed), '}'))


def braces(source, start, end, before='', after=''):
    """Edits that make a block of the statement start..end, which an if or a loop runs, with our
    lines in it."""
    newline, indent = source.newline_at(start), source.indent_at(start)
    line = source.line_start(start)
    outer = indent[:-4] if indent.endswith('    ') else indent
    if source.tokens_between(line, start):  # `if (x) statement;` on one line
        line, outer, indent = start, indent, indent + '    '
        opening = '{'
    else:
        opening = outer + '{'
    lines = [opening]
    lines += [indent + each for each in before.split('\n') if before]
    lines += [indent + source.text[start:end]]
    lines += [indent + each for each in after.split('\n') if after]
    return [(line, end, newline.join(lines + [outer + '}']))]


def wrapped(source, node, before, after):
    """Edits that put lines around a statement, which gets one more indentation. Where an if or a
    loop runs it, in a block, so that no else of ours is theirs."""
    start, end = source.span(node)
    if node.body:
        before = '{\n    ' + before.replace('\n', '\n    ')
        after = '    ' + after.replace('\n', '\n    ') + '\n}'
    newline = source.newline_at(start) + source.indent_at(start)
    deeper = '        ' if node.body else '    '
    inner = re.sub(r'\n(?=[^\r\n])', '\n' + deeper, source.text[start:end])
    return [(start, end, before.replace('\n', newline) + newline + deeper + inner + newline
             + after.replace('\n', newline))]
