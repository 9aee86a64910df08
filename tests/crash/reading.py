"""Reads back what the writers of load.py have written, and checks its structure on the way.

A `server` here is a connection of load.py: command(database, command) gives the reply."""

import bson

SHARED = 'crash.c'
RING_DOCUMENTS_MIN = 40  # that a ring keeps; its documents have one size


class Failure(Exception):
    """What was found differs from what was acknowledged, or the server failed under load."""


class Refused(Failure):
    """The server answered with an error."""


class Collection:
    """What is in a collection: documents by _id, names of indexes, the newest number of a ring."""

    def __init__(self, documents=None, indexes=('_id_',), newest=None):
        self.documents = documents or {}
        self.indexes = set(indexes)
        self.newest = newest

    def __eq__(self, other):
        return vars(self) == vars(other)


def namespaces(number):
    """All that a writer has for itself: its collection, ring, large documents, many documents."""
    return ('crash.own%d' % number, 'crash.ring%d' % number, 'crash_%d.c' % number,
            'crash.many%d' % number)


def ring_document(number):
    return {'_id': number, 'text': 'ring %09d' % number * 12}


def read_all(server, count):
    """What each writer's namespaces hold, for numbers below count: [{namespace: Collection}].
    Validates everything."""
    found = [{} for _ in range(count)]
    names = [info['name'] for info in server.command('admin', {'listDatabases': 1})['databases']]
    for database in names:
        if not database.startswith('crash'):
            continue
        for info in collections(server, database):
            ns = database + '.' + info['name']
            collection = read_collection(server, database, info)
            if ns == SHARED:
                for number in range(count):
                    found[number][ns] = part_of(collection, number)
                continue
            owners = [number for number in range(count) if ns in namespaces(number)]
            if not owners:
                raise Failure('%s: no client made this collection' % ns)
            found[owners[0]][ns] = collection
    return found


def read_own(server, number):
    found = {}
    for database in ('crash', 'crash_%d' % number):
        for info in collections(server, database):
            ns = database + '.' + info['name']
            if ns == SHARED or ns in namespaces(number):
                collection = read_collection(server, database, info, quiet=ns != SHARED)
                found[ns] = part_of(collection, number) if ns == SHARED else collection
    return found


def part_of(collection, number):
    return Collection({key: document for key, document in collection.documents.items()
                       if key.startswith('%d-' % number)}, collection.indexes)


def collections(server, database):
    return [info for info in cursor(server, database, {'listCollections': 1, 'cursor': {}})
            if not info['name'].startswith('system.')]


def cursor(server, database, command):
    """All documents of a cursor."""
    reply = server.command(database, command)['cursor']
    yield from reply['firstBatch']
    while reply['id']:
        reply = server.command(database, {'getMore': bson.Int64(reply['id']),
                                          'collection': reply['ns'].split('.', 1)[1]})['cursor']
        yield from reply['nextBatch']


def read_collection(server, database, info, quiet=True):
    """`quiet`: no client writes into it now, so that its indexes can be compared with it."""
    name = info['name']
    ns = database + '.' + name
    documents = list(cursor(server, database, {'find': name}))
    indexes = {index['name']: index['key']
               for index in cursor(server, database, {'listIndexes': name, 'cursor': {}})}
    for key in indexes.values() if quiet else ():
        by_index = cursor(server, database, {'find': name, 'hint': key, 'projection': {'_id': 1}})
        if sum(1 for _ in by_index) != len(documents):
            raise Failure('%s: the index %s does not have every document' % (ns, dict(key)))
    result = server.command(database, {'validate': name, 'full': True})
    if not result['valid']:
        raise Failure('validate %s: %r' % (ns, result['errors']))
    if not info['options'].get('capped'):
        by_key = {document['_id']: document for document in documents}
        if quiet and len(by_key) != len(documents):
            raise Failure('%s: an _id is there twice' % ns)
        return Collection(by_key, indexes)
    newest = documents[-1]['_id'] if documents else 0
    kept = max(min(newest, RING_DOCUMENTS_MIN), len(documents))
    if documents != [ring_document(n) for n in range(newest - kept + 1, newest + 1)]:
        raise Failure('%s has gaps: %r' % (ns, [document['_id'] for document in documents]))
    return Collection({}, indexes, newest)
