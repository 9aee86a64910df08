"""Ten thousand collections in one database, each with a document, then a kill: all are there."""

import bson
from client import MB, Client, Failure, Watched, at_most, documents_of

AHEAD = 200  # commands that are sent before the first answer is read
COLLECTION_BYTES, SERVER_BYTES = 16 << 10, 256 * MB


def write(port, count):
    """One insert each, which makes the collection and its index; the last is durable, with all
    before it."""
    with Client(port) as client:
        for first in range(0, count, AHEAD):
            numbers = range(first, min(first + AHEAD, count))
            for number in numbers:
                concern = {'w': 1, 'j': number == numbers[-1]}
                client.ask({'insert': 'c%d' % number, 'writeConcern': concern}, 'load',
                           ('documents', bson.encode({'_id': number, 'text': 'x' * 50})))
            for number in numbers:
                client.answer('insert')


def check(port, count):
    with Client(port) as client:
        names = {info['name'] for info in documents_of(
            client, 'load', {'listCollections': 1, 'cursor': {}})}
        missing = {'c%d' % number for number in range(count)} - names
        if missing:
            raise Failure('%d collections are missing, e.g. %s' % (len(missing),
                                                                  sorted(missing)[:3]))
        for first in range(0, count, AHEAD):
            numbers = range(first, min(first + AHEAD, count))
            for number in numbers:
                client.ask({'find': 'c%d' % number, 'filter': {'_id': number}}, 'load')
            for number in numbers:
                found = client.answer('find')['cursor']['firstBatch']
                if found != [{'_id': number, 'text': 'x' * 50}]:
                    raise Failure('collection c%d has %r' % (number, found))


def run(stage, directory, collections):
    with Watched(stage, directory, ['--smallfiles']) as watched:
        write(watched.start(), collections)
        memory = watched.memory()
        watched.kill()
        check(watched.start(), collections)
        memory = max(memory, watched.memory())
        at_most('memory of its own, MB', memory, SERVER_BYTES + collections * COLLECTION_BYTES)
        watched.close()
    return '%d collections, %d MB' % (collections, memory / MB)
