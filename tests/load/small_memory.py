"""A database several times as large as the memory that the server may use, pages of files included:
written, changed at random, read, after a kill too.

The limit is a control group of its own, below the one that this process is in.
"""

import os
import random

import bson
from client import MB, Client, Failure, Skipped, Watched, documents_of, server

# Private copies of changed pages count as the server's own memory until the next remap, and a quick
# disk lets many come between two: here each commit remaps (journalOptions 32).
OPTIONS = ['--smallfiles', '--nssize', '1', '--syncdelay', '1', '--journalCommitInterval', '3',
           '--journalOptions', '32']
DOCUMENT_BYTES = 100_000
BATCH = 20


class Group:
    """A control group with a limit of memory; the server is put into it."""

    def __init__(self, limit_bytes):
        self.path = None
        parent, files = place()
        path = os.path.join(parent, 'mongod-dur-%d' % os.getpid())
        try:
            os.mkdir(path)
            self.path = path
            self.limit_file, self.peak_file = (os.path.join(path, name) for name in files)
            self.write(self.limit_file, limit_bytes)
        except OSError as error:
            self.close()
            raise Skipped('no control group can be made: %s' % error) from error

    @staticmethod
    def write(path, value):
        with open(path, 'w', encoding='ascii') as file:
            file.write('%d' % value)

    def server(self):
        """A class of servers that run in the group from their first instruction on."""
        class Limited(server.Server):
            process_options = {'preexec_fn': self.enter}
        return Limited

    def enter(self):
        self.write(os.path.join(self.path, 'cgroup.procs'), 0)

    def peak(self):
        """Bytes, or None where this kernel does not say."""
        try:
            with open(self.peak_file, encoding='ascii') as file:
                return int(file.read())
        except FileNotFoundError:
            return None

    def close(self):
        if self.path:
            os.rmdir(self.path)
            self.path = None


def place():
    """The folder of this process's group that limits memory, and the names of limit and peak."""
    with open('/proc/self/cgroup', encoding='ascii') as file:
        lines = [line.strip().split(':', 2) for line in file]
    for _, controllers, path in lines:
        if 'memory' in controllers.split(','):
            return '/sys/fs/cgroup/memory' + path, ('memory.limit_in_bytes',
                                                    'memory.max_usage_in_bytes')
    for number, _, path in lines:
        folder = '/sys/fs/cgroup' + path
        controls = os.path.join(folder, 'cgroup.subtree_control')
        if number == '0' and os.path.exists(controls):
            with open(controls, encoding='ascii') as file:
                if 'memory' in file.read().split():
                    return folder, ('memory.max', 'memory.peak')
    raise Skipped('no control group here limits memory')


def document(number, version):
    line = b'%d of %d,' % (version, number)
    return {'_id': number, 'version': version,
            'text': (line * (DOCUMENT_BYTES // len(line))).decode()}


def write(client, documents):
    for first in range(0, documents, BATCH):
        batch = b''.join(bson.encode(document(number, 1))
                         for number in range(first, min(first + BATCH, documents)))
        client.run({'insert': 'c', 'writeConcern': {'w': 1, 'j': True}}, 'load',
                   ('documents', batch))


def change(client, versions, count):
    chance = random.Random(count)
    for number in (chance.randrange(len(versions)) for _ in range(count)):
        new = document(number, versions[number] + 1)
        client.run({'update': 'c', 'updates': [{'q': {'_id': number}, 'u': new}],
                    'writeConcern': {'w': 1, 'j': True}}, 'load')
        versions[number] += 1


def check(client, versions):
    expected = iter(range(len(versions)))
    for found in documents_of(client, 'load', {'find': 'c', 'sort': {'_id': 1}}):
        number = next(expected, None)
        if number is None or found != document(number, versions[number]):
            raise Failure('document %r is there instead of %r, version %r' % (
                found['_id'], number, number is not None and versions[number]))
    if next(expected, None) is not None:
        raise Failure('documents are missing')


def run(stage, directory, megabytes, times):
    group = Group(megabytes * MB)
    try:
        with Watched(stage, directory, OPTIONS, group.server()) as watched:
            documents = megabytes * MB * times // DOCUMENT_BYTES
            versions = [1] * documents
            with Client(watched.start()) as client:
                write(client, documents)
            watched.running.stop()  # what is written anew at the recovery are the changes
            with Client(watched.start()) as client:
                change(client, versions, documents // 10)
            watched.kill()
            with Client(watched.start()) as client:
                change(client, versions, documents // 10)
                check(client, versions)
            watched.close()
            peak = group.peak()
    finally:
        group.close()
    return '%d MB of documents in %d MB%s' % (
        megabytes * times, megabytes, '' if peak is None else ', of which %d MB were used'
        % (peak / MB))
