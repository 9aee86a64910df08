"""The files of our own that recipes share: they are written anew from the recipes that are in.

    dur_options.h     the options, and the code that several places need
    dur_additions.h   for dur.cpp alone: what serverStatus().dur shows beyond the old metrics

Each piece begins with a comment `// SLUG: ...`, which tells the recipes that are in. All is inline:
nothing is added to any link, and mongos, which stores no journal, may include the options."""

import re

from port.recipe import sections
from port.source import Problem, dedent
from port.steps import Step

CODE = sections(__file__[:-2] + 'code')


class OwnFile(Step):
    """That the recipe has its piece in one of these files."""

    def __init__(self, role, slug):
        super().__init__(role)
        self.slug = slug

    def present(self, tree):
        return self.slug in slugs_in(tree.own_source(self.file).text)

    def apply(self, tree):
        source = tree.own_source(self.file)
        present = slugs_in(source.text)
        unknown = [slug for slug in present if slug not in tree.recipes]
        if unknown or (source.text and source.text.replace('\r\n', '\n')
                       != RENDER[self.file](tree, present)):
            raise Problem('partly', source.path, None,
                          'the file is there, but not as this tool writes it; move it away, or '
                          'undo the changes made to it')
        text = RENDER[self.file](tree, present + [self.slug])
        source.text = text.replace('\n', tree.source('dur_journal.cpp').newline_at(0))


def slugs_in(text):
    return re.findall(r'^ *// ([a-z]+(?:-[a-z0-9]+)+): ', text, re.M)


def _pieces(tree, slugs, part):
    """[(slug, piece)] in the order of the series."""
    return [(slug, getattr(recipe, part)) for slug, recipe in tree.recipes.items() if slug in slugs]


def _wrap(text, indent):
    """A comment of several lines."""
    lines, line = [], indent + '//'
    for word in text.split():
        if len(line) + 1 + len(word) > 90:
            lines.append(line)
            line = indent + '//'
        line += ' ' + word
    return lines + [line]


def _indented(code, indent):
    return [indent + line if line and line[0] != '#' else line
            for line in dedent(code).split('\n')] if code else []


def _file(tree, head, includes, body):
    """The text of a header; `body` are lines as they stand in namespace dur."""
    nested = tree.version != '3.4'
    lines = head + ['#pragma once', '']
    lines += ['#include %s' % name for name in includes] + ([''] if includes else [])
    inner = '        ' if nested else ''
    lines += ['namespace mongo {', ('    ' if nested else '') + 'namespace dur {', '']
    lines += [inner + line if line and line[0] != '#' else line for line in body]
    lines += ['', '    }' if nested else '}  // namespace dur',
              '}' if nested else '}  // namespace mongo']
    return '\n'.join(lines) + '\n'


def _includes(pieces):
    names = []
    for _, piece in pieces:
        names += [name for name in piece.includes if name not in names]
    return sorted(names, key=lambda name: (name[0] == '"', name))


def render_options(tree, slugs):
    pieces = _pieces(tree, slugs, 'header')
    body = ['struct DurTuning {', '    DurTuning() {']
    for _, piece in pieces:
        body += _indented(piece.initial, '        ')
    body += ['    }']
    for slug, piece in pieces:
        body += [''] + _wrap(slug + ': ' + piece.comment, '    ')
        body += _indented(piece.members, '    ')
    body += ['};', '', 'inline DurTuning& durTuning() {', '    static DurTuning options;',
             '    return options;', '}']
    for _, piece in pieces:
        if piece.code:
            body += [''] + _indented(piece.code, '')
    stored = [piece.stored_if for _, piece in pieces if piece.stored_if]
    if stored:
        body += [''] + _indented(CODE['rawStore'], '') + ['']
        body += ['inline bool storeUncompressed(size_t raw, size_t overhead) {',
                 '    DurTuning& options = durTuning();']
        for code in stored:
            body += _indented(code, '    ')
        body += ['    return false;', '}']
    quick = [piece.quick_if for _, piece in pieces if piece.quick_if]
    if quick:
        body += ['', '// Whether commits may come more quickly than at an interval of 2 ms.',
                 'inline bool commitsAreQuick() {', '    return %s;' % ' || '.join(quick), '}']
    includes = _includes(pieces)
    if stored:
        includes = ['<cstring>'] + [name for name in includes if name != '<cstring>']
    head = ['// Options of the journal beyond those that this server was released with. They are',
            '// set while the command line is stored, before there are threads, unless a comment',
            '// says more.']
    return _file(tree, head, includes, body)


def render_additions(tree, slugs):
    pieces = _pieces(tree, slugs, 'metrics')
    body = []
    for _, piece in pieces:
        if piece.before:
            body += _indented(piece.before, '') + ['']
    if any(piece.runs_cycles for _, piece in pieces):
        locks = [piece.cycle_lock for _, piece in pieces if piece.cycle_lock]
        body += ['// One commit of the journal thread.',
                 'inline void runCycle(void (*groupCommit)()) {']
        body += ['    ' + lock for lock in locks] + ['    groupCommit();', '}', '']
    if any(piece.delays_commits for _, piece in pieces):
        body += ['// Before the journal thread commits for waiters; the last commit took so long.',
                 'inline void delayCommit(NotifyAll& waiters,',
                 '                        unsigned long long lastCommitMicros) {']
        for _, piece in pieces:
            body += _indented(piece.delay, '    ')
        body += ['}', '']
    body += ['inline BSONObj withMetrics(const BSONObj& interval) {', '    BSONObjBuilder b;',
             '    b.appendElements(interval);']
    for slug, piece in pieces:
        body += _wrap(slug + ': ' + piece.comment, '    ')
        body += _indented(piece.code, '    ')
    body += ['    return b.obj();', '}']
    head = ['// What dur.cpp has beyond its old code, above all what serverStatus().dur shows',
            '// beyond the metrics of the last interval. Included by dur.cpp alone, as the last.']
    includes = _includes(pieces)
    includes.insert(sum(name[0] == '<' for name in includes),
                    '"%s"' % tree.include_path('dur_options.h'))
    return _file(tree, head, includes, body)


RENDER = {'dur_options.h': render_options, 'dur_additions.h': render_additions}
