"""What a patch of the series brings."""

import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def added_files(patch):
    """{name: text} of the new files in the text of a patch."""
    return {name: re.sub(r'^\+', '', lines, flags=re.M) for name, lines in re.findall(
        r'^--- /dev/null\n\+\+\+ b/(\S+)\n@@[^\n]*\n((?:\+[^\n]*\n)*)', patch, re.M)}


def added_by(slug):
    with open(os.path.join(TOP, 'patches', slug + '.patch'), encoding='utf-8') as file:
        return added_files(file.read())
