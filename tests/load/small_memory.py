"""A database several times as large as the memory that the server may use, pages of files included:
written, changed at random, read, after a kill too."""

import random

import bson
from client import MB, Client, Failure, Skipped, Watched, documents_of

import memory_group

# Private copies of changed pages count as the server's own memory until the next remap, and a quick
# disk lets many come between two: here each commit remaps (journalOptions 32).
OPTIONS = ['--smallfiles', '--nssize', '1', '--syncdelay', '1', '--journalCommitInterval', '3',
           '--journalOptions', '32']
DOCUMENT_BYTES = 100_000
BATCH = 20


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
    try:
        group = memory_group.Group(megabytes * MB)
    except memory_group.NoGroup as reason:
        raise Skipped(reason) from reason
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
