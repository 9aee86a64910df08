#!/usr/bin/env python3
"""Question: what does a durable append cost the device when the file system must note the file's
time and length with each, as write-through makes NTFS do, and when it need not?

A model on Linux of journal-no-write-through: O_SYNC stands for write-through, fdatasync on
blocks that were written before for the option, and a growing file for one that was not made in
advance. perf/append_cost.c makes the appends and counts what the device does. Where this script may
(as root), it uses a file system of its own on a loop device, so that no other process is counted.
Usage:    write_through.py [--runs 5] [--appends 100] [--folder FOLDER] [--host-class NAME]
                           [--headers]
          write_through.py --table RESULT.json       prints the table of an earlier run
          (./lab bench journal-no-write-through builds append_cost first)
Needs:    256 MB on the disk that holds build/. Takes 15 seconds.
Writes:   build/results/<date>/<host class>/journal-no-write-through.json. With --keep, or with
          --headers, which puts the table into the patch, perf/results/ instead."""

import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import ab
import machine
import measuring
from write_through_table import table, whole_table, with_table

TOP = measuring.TOP
SLUG = 'journal-no-write-through'
PROGRAM = os.path.join(measuring.programs(), 'append_cost')
IMAGE_BYTES = 256 * 1024 * 1024


@contextlib.contextmanager
def own_file_system(scratch):
    """A folder on an ext4 file system on a loop device; None where that cannot be had."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        image, place = os.path.join(folder, 'image'), os.path.join(folder, 'mounted')
        os.mkdir(place)
        with open(image, 'wb') as file:
            for _ in range(IMAGE_BYTES // (1 << 20)):  # no holes, to be filled while measuring
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        commands = (['mkfs.ext4', '-q', '-F', '-b', '4096', image],
                    ['mount', '-o', 'loop', image, place])
        try:
            made = all(subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
                       for command in commands)
        except OSError:
            made = False
        try:
            yield place if made else None
        finally:
            if made:
                subprocess.run(['umount', place], check=True)


def measure(folder, arguments):
    runs = []
    for number in range(arguments.runs):
        measuring.say('run %d of %d' % (number + 1, arguments.runs))
        run = subprocess.run([PROGRAM, '-n', str(arguments.appends), folder],
                             stdout=subprocess.PIPE, check=True)
        runs.append(json.loads(run.stdout))
    return runs


def put_into_header(result, path):
    patch = os.path.join(TOP, 'patches', SLUG + '.patch')
    text = pathlib.Path(patch).read_text('utf-8')
    text = with_table(text, table(result), os.path.relpath(path, TOP), result['time'])
    pathlib.Path(patch).write_text(text, 'utf-8')


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--runs', type=measuring.count, default=5, metavar='N',
                        help='of each kind of append (%(default)s)')
    parser.add_argument('--appends', type=measuring.count, default=100, metavar='N',
                        help='in a run (%(default)s)')
    parser.add_argument('--folder', metavar='DIR',
                        help='on a disk that others leave alone during the run')
    parser.add_argument('--host-class', default='%dcore' % os.cpu_count(), metavar='NAME',
                        help='the folder of the result (%(default)s)')
    parser.add_argument('--header', '--headers', action='store_true',
                        help='puts the table into the patch')
    parser.add_argument('--keep', action='store_true', help='the result goes to perf/results/')
    parser.add_argument('--table', metavar='RESULT.json', help='prints that of an earlier run',
                        type=measuring.result_with('appends', 'runs'))
    return parser


def main():
    arguments = make_parser().parse_args()
    if arguments.table:
        print(whole_table(arguments.table))
        return
    if arguments.folder and not os.path.isdir(arguments.folder):
        sys.exit('write_through.py: %s is no folder' % arguments.folder)
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc)
    with own_file_system(scratch) if not arguments.folder else contextlib.nullcontext() as own:
        folder = own or arguments.folder or scratch
        result = {'slug': SLUG, 'time': now.isoformat('T', 'seconds'),
                  'host_class': arguments.host_class, 'host': machine.host(folder),
                  'device': 'a loop device of its own' if own else 'a device that others use too',
                  'appends': arguments.appends, 'runs': measure(folder, arguments)}
    root = os.path.join(TOP, 'perf' if arguments.keep or arguments.header else 'build', 'results')
    path = ab.write_result(result, ab.results_folder(root, arguments.host_class, [SLUG]))
    if arguments.header:
        put_into_header(result, path)
    print('%s\n\nThe figures are in %s' % (whole_table(result), os.path.relpath(path, TOP)))


if __name__ == '__main__':
    main()
