"""The page for man and the completion for bash of ./lab, made from the help of its commands.

Usage: python3 tools/lab/describe.py man|bash     (./lab docs writes both; the package holds them)
"""

import os
import re
import sys

if __name__ == '__main__':  # perf/ has modules of the same names as some of this package
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from lab import base, commands  # noqa: E402
from lab.command_line import Parser  # noqa: E402

import program_version  # noqa: E402

OPTION = re.compile(r'(?<![\w-])--[a-zA-Z][\w-]*')


# ---- the page ----

def escaped(text):
    """For troff: its escape, and dashes that are to be typed as they are."""
    return text.replace('\\', '\\e').replace('-', '\\-')


def as_it_is(text):
    """A help in its own lines, its options in bold."""
    lines = []
    for line in text.strip('\n').split('\n'):
        line = OPTION.sub(lambda option: '\0' + option[0] + '\1', line)
        line = escaped(line).replace('\0', '\\fB').replace('\1', '\\fR')
        lines.append('\\&' + line if line[:1] in ('.', "'") else line)
    return '.nf\n%s\n.fi\n' % '\n'.join(lines)


def man():
    lab = commands.make_lab()
    out = ['.TH MONGOD\\-DUR\\-LAB 7 "" "mongod\\-dur %s" "mongod\\-dur"\n'
           % program_version.read(base.TOP),
           '.SH NAME\nmongod\\-dur\\-lab \\- build, measure, test and port mongod\\-dur\n'
           '.SH SYNOPSIS\n\\fB./lab\\fR \\fICOMMAND\\fR [\\fIWORD\\fR ...]\n' '.SH DESCRIPTION\n'
           'The program \\fBlab\\fR at the top of a checkout of mongod\\-dur. What it needs it\n'
           'installs; \\fB./lab\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR prints what is below.\n',
           as_it_is(lab.format_help()), '.SH COMMANDS\n']
    for name, command in lab.commands.items():
        out.append('.SS ./lab %s\n%s.\n.PP\n' % (escaped(name), escaped(
            command.summary[0].upper() + command.summary[1:])))
        out.append(as_it_is(command.parser([]).format_help()))
        for title, _, parser in command.inner():
            out.append('.SS ./lab %s %s\n' % (escaped(name), escaped(title)))
            out.append(as_it_is(parser.format_help()))
    out.append('.SH SEE ALSO\nmongod(1)\n')
    return ''.join(out)


# ---- completion ----

def case(pattern, words):
    return "        %s)\n            words='%s'\n            ;;\n" % (pattern, ' '.join(words))


def options_of(parser):
    """Those of a parser; where it only has a text, those that this names."""
    own = parser.options() if isinstance(parser, Parser) else []
    return list(dict.fromkeys(['--help', *(own or OPTION.findall(parser.format_help()))]))


def bash():
    lab = commands.make_lab()
    out = ['# Completion of ./lab for bash; made by tools/lab/describe.py.\n'
           '_lab()\n{\n'
           '    local cur=${COMP_WORDS[COMP_CWORD]} first= second= words=\n'
           '    if [ "$COMP_CWORD" -gt 1 ]; then first=${COMP_WORDS[1]}; fi\n'
           '    if [ "$COMP_CWORD" -gt 2 ]; then second=${COMP_WORDS[2]}; fi\n'
           '    case "$first $second" in\n', case("' '", [*lab.commands, 'help', '--help'])]
    for name, command in lab.commands.items():
        for _, words, parser in command.inner():
            out.append(case(' | '.join("'%s %s'" % (name, word) for word in words),
                            options_of(parser)))
        options = options_of(command.parser([]))
        out.append(case("'%s '" % name, [*command.words(), *options]))
        out.append(case("'%s '*" % name, [*command.more(), *options]))
    out.append('    esac\n' '    COMPREPLY=($(compgen -W "$words" -- "$cur"))\n}\n'
               'complete -o default -F _lab lab\n')
    return ''.join(out)


FORMS = {'man': man, 'bash': bash}

if __name__ == '__main__':
    if len(sys.argv) != 2 or sys.argv[1] not in FORMS:
        sys.exit(__doc__)
    print(FORMS[sys.argv[1]](), end='')
