"""What long runs of the fuzz targets found worth keeping, under version control, so that the next
run begins where they ended: kept/TARGET.tar.xz, and kept/figures.txt with what it took.

An input is there because the program goes where no recorded one (corpora.py) leads it."""

import io
import lzma
import os
import shutil
import subprocess
import tarfile
import tempfile

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kept')
FIGURES = 'figures.txt'
COLUMNS = ('target', 'processor s', 'inputs tried', 'inputs kept', 'edges', 'edges in all')
HEAD = """\
# What the fuzz targets have been given, by ./lab test fuzz -- TARGET --minutes N --keep
#
# processor s   in all runs whose finds are kept here; inputs tried, too
# edges         that the kept and the recorded inputs reached at the end of the last such run, of
#               those in the rooms that the target links
"""


def archive(target, place=KEPT):
    return os.path.join(place, target + '.tar.xz')


def unpack(target, folder, place=KEPT):
    """Writes a target's kept inputs into a folder; returns how many."""
    if not os.path.exists(archive(target, place)):
        return 0
    with tarfile.open(archive(target, place)) as tar:
        members = [member for member in tar if member.isfile() and '/' not in member.name]
        for member in members:
            with open(os.path.join(folder, member.name), 'wb') as file:
                file.write(tar.extractfile(member).read())
    return len(members)


def pack(target, inputs, place=KEPT):
    """Writes the archive of {name: bytes}: the same bytes for the same inputs."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(inputs.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    os.makedirs(place, exist_ok=True)
    with open(archive(target, place), 'wb') as file:
        file.write(lzma.compress(raw.getvalue(), preset=9))


def read_all(folder):
    inputs = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), 'rb') as file:
            inputs[name] = file.read()
    return inputs


def merge(start, recorded, folders):
    """{name: bytes} of the inputs in these folders that lead where no recorded one does; `start`
    starts the target with options. None where it did not end well."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(recorded)) as merged:
        shutil.copytree(recorded, merged, dirs_exist_ok=True)
        known = set(os.listdir(merged))
        # Without counters: an input for each edge, not for each number of times it is taken.
        with start(['-merge=1', '-use_counters=0', merged, *folders], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL) as process:
            if process.wait() != 0:
                return None
        return {name: data for name, data in read_all(merged).items() if name not in known}


def read_figures(place=KEPT):
    """{target: [a number for each column but the first]}."""
    figures = {}
    if os.path.exists(os.path.join(place, FIGURES)):
        with open(os.path.join(place, FIGURES), encoding='utf-8') as file:
            for line in file:
                name, *numbers = (field.strip() for field in line.split('|'))
                if numbers and all(number.isdigit() for number in numbers):
                    figures[name] = [int(number) for number in numbers]
    return figures


def write_figures(figures, place=KEPT):
    rows = [COLUMNS] + [(name, *map(str, numbers)) for name, numbers in sorted(figures.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    with open(os.path.join(place, FIGURES), 'w', encoding='utf-8') as file:
        file.write(HEAD)
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width)
                                                 for cell, width in zip(row[1:], widths[1:])]
            file.write(' | '.join(cells).rstrip() + '\n')


def keep(target, inputs, seconds, tried, edges, edges_in_all, place=KEPT):
    """Puts what a run found into the archive, and its effort to what is there."""
    pack(target, inputs, place)
    figures = read_figures(place)
    before = figures.get(target, [0] * (len(COLUMNS) - 1))
    figures[target] = [before[0] + round(seconds), before[1] + tried, len(inputs), edges,
                       edges_in_all]
    write_figures(figures, place)
