"""Makes docs/options.md from what two mongods print: the base's options, then, under a heading of
its own, each option that is there or reads otherwise with the full series.

Usage: python3 site_scons/options_page.py > docs/options.md     (./lab docs builds both first)
"""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

WITH_PATCHES = '''
## With patches

Options that patches of the series bring, and those that take more with them. The base refuses them
and names the patch.
'''


def described(program, form='markdown'):
    """What a mongod says about its options."""
    return subprocess.run([program, '--describe', form], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def blocks(page):
    """{heading: text} of the options of a page. A text ends with its list of facts."""
    found = {}
    for part in re.split(r'^(?=##)', page, flags=re.MULTILINE):
        if part.startswith('### '):
            heading, text = part.split('\n', 1)
            found[heading] = re.match(r'\n(?:[^-].*\n+)*(?:- .*\n)+', text)[0].strip('\n')
    return found


def page(base, series):
    known = blocks(base)
    return base + WITH_PATCHES + ''.join(
        '\n%s (with the patch)\n\n%s\n' % (heading, text) if heading in known
        else '\n%s\n\n%s\n' % (heading, text)
        for heading, text in blocks(series).items() if known.get(heading) != text)


if __name__ == '__main__':
    sys.stdout.write(page(*(described(os.path.join(TOP, 'build', selection, 'bin', 'mongod'))
                            for selection in ('none', 'all'))))
