"""Makes docs/options.md from what two mongods print: the base's options, then, under a heading of
its own, each option that is there or reads otherwise with the full series.

The programs print a list of facts for each option; the page has them in one line and leaves out
what its head says of all options.
Usage: python3 site_scons/options_page.py > docs/options.md     (./lab docs builds both first)"""

import os
import re
import subprocess
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

HEAD = '''# Options of mongod

`./lab docs` makes this page from the descriptions in `src/options/` and `src/journal/options/`;
`mongod --help` prints the same texts. The command line wins over the configuration file; brackets
have an option's name there ("opposite": with the opposite sense), its older names and its values.
"Run-time" options can change while the server runs, "readable" ones only be read as parameters.
Unless an entry says otherwise, a switch is off, and a text has no default.
'''

WITH_PATCHES = '''
## With patches

Options that patches of the series bring, and those that take more with them. The base refuses them
and names the patch. Unless an entry says otherwise, durability is unchanged.
'''

# Said once, by HEAD and WITH_PATCHES.
SAID = re.compile(r' Default (?:off|none)\.| Durability is unchanged(?:\.|, (?:and )?(\w))')


def described(program, form='markdown'):
    """What a mongod says about its options."""
    return subprocess.run([program, '--describe', form], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def blocks(page):
    """{heading: text} of the options of a page. A text ends with its list of facts."""
    found = {}
    for part in re.split(r'^(?=##)', page, flags=re.M):
        if part.startswith('### '):
            heading, text = part.split('\n', 1)
            found[heading] = re.match(r'\n(?:[^-].*\n+)*(?:- .*\n)+', text)[0].strip('\n')
    return found


def wrapped(text, indent=''):
    return '\n'.join(textwrap.wrap(text, 100, subsequent_indent=indent, break_long_words=False,
                                   break_on_hyphens=False))


def values_of(help_text, facts):
    """The values, unless the text, the name of the value or the kind of the option says them."""
    values = facts.get('Values', '')
    named = re.split(', | or ', values)
    bounds = re.fullmatch(r'a (?:whole )?number from (-?\d+) to (\d+)(?: \w+)?', values)
    if values.startswith('text') or values in ('on or off', 'a whole number') or \
            all(each in facts.get('Command line', '') or each in help_text for each in named) or \
            bounds and re.search(r'\b%s to %s\b' % bounds.groups(), help_text):
        return ''
    values = re.sub(r'from (-?\d+) to (\d+)', r'\1..\2', values)
    values = values.replace('a whole number ', '')
    return re.sub(r'^a number (\S+(?: \w+)?)', r'\1' if 'ractions' in help_text
                  else r'\1, fractions too', values)


def change_of(name, facts):
    change = facts.get('Can be changed', '')
    shown = re.search(r'(?:parameter|shows) (\w+)$', change)
    other = ' `%s`' % shown[1] if shown and shown[1] != name.lstrip('-') else ''
    if 'while the server runs' in change:
        return 'run-time' + (other and ' parameter' + other)
    return 'readable' + other if 'shows' in change else ''


def line_of(name, help_text, facts):
    """The facts of an option that neither its text nor the page's head has."""
    default = facts.get('Default', 'none')
    line = [facts.get('YAML', '').replace(' with the opposite sense', ' (opposite)'),
            'Old names' in facts and 'old ' + facts['Old names'], values_of(help_text, facts),
            default not in ('off', 'none') and 'Default ' not in help_text and 'default ' + default,
            change_of(name, facts), 'Can be lost' in facts and 'loss: ' + facts['Can be lost'],
            'Patch' in facts and 'patch ' + facts['Patch'],
            'Not in `--help`' in facts and 'not in `--help`']
    return '; '.join(each for each in line if each)


def entry(heading, text, suffix=''):
    """An option as the page has it."""
    name = heading.removeprefix('### ')
    facts = dict(re.findall(r'^- ([^:\n]+)(?:: (.*))?$', text, re.M))
    help_text = re.sub(r'\n*(^- .*\n?)+\Z', '', text, flags=re.M).strip()
    line = line_of(name, help_text, facts)
    help_text = SAID.sub(lambda said: ' ' + said[1].upper() if said[1] else '', help_text)
    value = facts.get('Command line', '').strip('`').split(name, 1)[-1].strip()
    letter = re.match(r'`(-\w), ', facts.get('Command line', ''))
    head = '**`%s%s%s`**%s' % (letter[1] + ', ' if letter else '', name, value and ' ' + value,
                               suffix)
    return '\n%s\n' % wrapped('%s %s%s' % (head, help_text, ' [%s]' % line if line else ''))


def grouped(rows):
    """A list with an item for each reason."""
    by_reason = {}
    for name, detail, reason in rows:
        more = ' (%s)' % detail if '`' in detail else detail and ': ' + detail
        by_reason.setdefault(reason, []).append(name + more)
    return '\n'.join(wrapped('- %s: %s' % (reason.rstrip('.'), ', '.join(names)), '  ')
                     for reason, names in by_reason.items()) + '\n'


def shorter(page):
    """A program's page with its lists and tables told in lines."""
    out = []
    for part in re.split(r'^(?=##)', page.split('\n', 1)[1], flags=re.M)[1:]:
        if part.startswith('### '):
            heading, text = part.split('\n', 1)
            out.append(entry(heading, text.strip()))
        else:
            out.append('\n' + re.sub(r'(?:^\|.*\n)+', table_as_list, part, flags=re.M)
                       .strip('\n') + '\n')
    return ''.join(out)


def table_as_list(table):
    rows = [[cell.strip() for cell in row.strip('|\n').split('|')]
            for row in table[0].splitlines()[2:]]
    return grouped((name, detail.replace(' with the opposite sense', ', opposite'), reason)
                   for name, detail, reason in rows)


def page(base, series):
    known = blocks(base)
    return HEAD + shorter(base) + WITH_PATCHES + ''.join(
        entry(heading, text, ' with the patch:' if heading in known else '')
        for heading, text in blocks(series).items() if known.get(heading) != text)


if __name__ == '__main__':
    sys.stdout.write(page(*(described(os.path.join(TOP, 'build', selection, 'bin', 'mongod'))
                            for selection in ('none', 'all'))))
