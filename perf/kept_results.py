"""The results that are kept, found and read: those of the repository, in folders that are named by
date, and one's own. All that is made of them begins here: the report (overview.py), the picture of
README.md (ladder_picture.py), the tables of docs/articles.md (articles.py)."""

import glob
import json
import os

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def below(folder, name):
    return glob.glob(os.path.join(TOP, folder, 'results', '**', name + '.json'), recursive=True)


def of_repository(name='*'):
    """The paths with that name, the oldest first."""
    return sorted(below('perf', name))


def every():
    """The paths of the repository, then those of one's own, the oldest first."""
    return of_repository() + sorted(below('build', '*'), key=os.path.getmtime)


def newest(name):
    """The newest result of the repository with that name, or None."""
    paths = of_repository(name)
    return read(paths[-1]) if paths else None


def iibench_by_size():
    """The results of the insert benchmark, the smallest first; those of one size and day are one,
    and of a size the newest day counts."""
    found = {}
    for path in of_repository('iibench*'):
        result = read(path)
        size, folder = (result['rows'], result['clients']), os.path.dirname(path)
        if size in found and found[size][0] == folder:
            found[size][1]['lines'] += result['lines']
        else:
            found[size] = folder, result
    return [result for _, (_, result) in sorted(found.items())]
