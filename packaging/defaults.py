"""The configuration that a package or an image starts with: conf/durable.yaml, without the options
of patches that are not built in."""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, 'site_scons'))

import staging  # noqa: E402


def profile(slugs):
    """Its text. Journal files have 128 MB: a volume may be small, and a first start should be
    quick."""
    missing = set()
    for slug in staging.series(TOP):
        if slug not in slugs:
            fields = staging.header_fields(os.path.join(TOP, 'patches', slug + '.patch'))
            missing.add(fields['Yaml'])
    with open(os.path.join(TOP, 'conf', 'durable.yaml'), encoding='utf-8') as file:
        lines = file.read().splitlines()
    kept, comments, path = [], [], []
    for line in lines[lines.index('storage:'):]:
        if line.strip().startswith('#'):
            comments.append(line)
            continue
        indent, name = re.match(r'( *)(\w+):', line).groups()
        path[len(indent) // 2:] = [name]
        if '.'.join(path) not in missing:
            kept += comments + [line]
        comments = []
    if not any('smallFiles' in line for line in kept):
        kept.insert(1, '  smallFiles: true')
    return '\n'.join(kept) + '\n'
