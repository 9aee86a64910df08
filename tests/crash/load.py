"""The load of the crash driver, and what its writers know about their data.

A writer changes data of its own: documents in a collection that all share, a collection and a ring
that it makes and drops, a whole database. What it did is a list of steps. A step is one change
under one lock; after a crash it is there as a whole or not at all, and only with all steps before.
"""

import copy
import random
import struct
import threading

import bson
import messages
import pymongo
from pymongo import errors

SHARED = 'crash.c'
SHARED_INDEXES = {'_id_', 'k_1'}
RING_BYTES, RING_DOCUMENTS_MIN = 16384, 40  # documents of a ring have one size
GROUPS = 4
OWN_DOCUMENTS_MAX, SHARED_DOCUMENTS_MAX, LARGE_DOCUMENTS_MAX = 60, 150, 120
LARGE_TEXT = 'L' * 300000


class Failure(Exception):
    """What was found differs from what was acknowledged, or the server failed under load."""


class Collection:
    """What is in a collection: documents by _id, names of indexes, the newest number of a ring."""

    def __init__(self, documents=None, indexes=('_id_',), newest=None):
        self.documents = documents or {}
        self.indexes = set(indexes)
        self.newest = newest

    def __eq__(self, other):
        return vars(self) == vars(other)


# --- steps: functions that change a state, a dict of namespace: Collection ---

def put(ns, document):
    return lambda state: state.setdefault(ns, Collection()).documents.update(
        {document['_id']: document})


def put_all(ns, documents):
    return lambda state: state[ns].documents.update(
        {document['_id']: document for document in documents})


def remove(ns, keys):
    def step(state):
        for key in keys:
            del state[ns].documents[key]
    return step


def create_ring(ns):
    return lambda state: state.update({ns: Collection(newest=0)})


def push(ns, number):
    def step(state):
        state[ns].newest = number
    return step


def add_index(ns, name):
    return lambda state: state[ns].indexes.add(name)


def drop_index(ns, name):
    return lambda state: state[ns].indexes.discard(name)


def drop(ns):
    return lambda state: state.pop(ns)


# --- dialects ---

class Modern:
    """Commands in OP_MSG, by today's driver."""

    def __init__(self, port):
        self.client = pymongo.MongoClient('127.0.0.1', port, directConnection=True,
                                          serverSelectionTimeoutMS=1000, maxPoolSize=1,
                                          retryWrites=False)

    def close(self):
        self.client.close()

    def command(self, database, command):
        return self.client[database].command(command)

    def insert(self, ns, documents, durable):
        self.write(ns, 'insert', {'documents': documents}, durable)

    def update(self, ns, query, change, durable, multi=False):
        self.write(ns, 'update', {'updates': [{'q': query, 'u': change, 'multi': multi}]}, durable)

    def delete(self, ns, query, durable):
        self.write(ns, 'delete', {'deletes': [{'q': query, 'limit': 0}]}, durable)

    def write(self, ns, name, fields, durable):
        database, collection = ns.split('.', 1)
        reply = self.command(database, {name: collection, **fields,
                                        'writeConcern': {'w': 1, 'j': durable}})
        if 'writeErrors' in reply or 'writeConcernError' in reply:
            raise Failure('%s in %s: %r' % (name, ns, reply))


class Legacy(messages.Connection):
    """OP_INSERT, OP_UPDATE and OP_DELETE with getLastError, by hand."""

    REPLY, UPDATE, INSERT, QUERY, DELETE = 1, 2001, 2002, 2004, 2006

    def __init__(self, port):
        super().__init__(port, 60)

    def send_parts(self, opcode, *parts):
        self.send(opcode, b''.join(parts))

    def command(self, database, command):
        self.send_parts(self.QUERY, struct.pack('<i', 0), database.encode(), b'.$cmd\0',
                  struct.pack('<ii', 0, -1), bson.encode(command))
        message = self.receive()
        answered, = struct.unpack_from('<i', message, 8)
        reply = bson.decode(message[36:])
        if answered != self.request or reply['ok'] != 1:
            raise Failure('%r: %r' % (command, reply))
        return reply

    def insert(self, ns, documents, durable):
        self.send_parts(self.INSERT, struct.pack('<i', 0), ns.encode(), b'\0',
                  *[bson.encode(document) for document in documents])
        self.last_error(ns, durable)

    def update(self, ns, query, change, durable, multi=False):
        self.send_parts(self.UPDATE, struct.pack('<i', 0), ns.encode(), b'\0',
                  struct.pack('<i', 2 if multi else 0), bson.encode(query), bson.encode(change))
        self.last_error(ns, durable)

    def delete(self, ns, query, durable):
        self.send_parts(self.DELETE, struct.pack('<i', 0), ns.encode(), b'\0', struct.pack('<i', 0),
                  bson.encode(query))
        self.last_error(ns, durable)

    def last_error(self, ns, durable):
        reply = self.command(ns.split('.', 1)[0], {'getlasterror': 1, 'j': durable})
        if reply['err'] is not None:
            raise Failure('getLastError for %s: %r' % (ns, reply))


class Writer(threading.Thread):
    """Changes its data until the server is gone.

    state    what is certain: acknowledged with j: true
    tail     the steps since then, in order; any number of the first of them may have survived
    now      both together
    watch    called with the name of an action as it begins, and with 'ack' after a durable one
    """

    def __init__(self, number, state, seed, port, watch):
        super().__init__()
        self.number, self.state, self.port, self.watch = number, state, port, watch
        self.now, self.tail = copy.deepcopy(state), []
        self.random = random.Random(seed)
        self.own, self.ring = 'crash.own%d' % number, 'crash.ring%d' % number
        self.large = 'crash_%d.c' % number
        self.error = None
        self.acknowledged = 0
        self.next_key = max([0] + [int(key.split('-')[1]) for collection in state.values()
                                   for key in collection.documents])

    def run(self):
        server = None
        try:
            server = (Modern, Legacy)[self.number % 2](self.port)
            while True:
                action = self.random.choices(*zip(*self.ACTIONS.items()))[0]
                self.watch(action)
                getattr(self, action)(server)
        except (errors.ConnectionFailure, OSError):
            pass  # the kill; the driver looks whether it was one
        except (Failure, errors.PyMongoError) as error:
            self.error = error
        finally:
            if server:
                server.close()

    # One of these is called again and again, chosen by weight.
    ACTIONS = {'insert': 30, 'batch': 12, 'replace': 25, 'remove': 8, 'multi': 12, 'push': 12,
               'grow': 3, 'index': 6, 'drop': 3, 'drop_database': 1}

    def perform(self, steps, write, durable=None):
        """Does one operation. Without j: true it may be lost, but not without what follows it."""
        if durable is None:
            durable = self.random.random() < 0.8
        self.tail += steps
        write(durable)
        for step in steps:
            step(self.now)
        if durable:
            for step in self.tail:
                step(self.state)
            self.tail = []
            self.acknowledged += 1
            self.watch('ack')

    def define(self, server, ns, command, steps):
        """Changes a definition, then makes that durable by a write that follows it."""
        self.tail += steps
        server.command(ns.split('.', 1)[0], command)
        for step in steps:
            step(self.now)
        self.insert(server, durable=True)

    def documents(self, ns):
        return self.now.get(ns, Collection()).documents

    def make(self, key=None, version=1):
        """A document whose text repeats its version, so that a mixture shows."""
        if key is None:
            self.next_key += 1
            key = '%d-%d' % (self.number, self.next_key)
        text = ('%d,' % version) * self.random.choice((1, 10, 200, 2000))
        return {'_id': key, 'version': version, 'text': text, 'k': self.random.randrange(1000),
                'group': self.random.randrange(GROUPS)}

    def choose(self):
        """A namespace with room for documents."""
        limits = {SHARED: SHARED_DOCUMENTS_MAX, self.own: OWN_DOCUMENTS_MAX}
        return self.random.choice([ns for ns, limit in limits.items()
                                   if len(self.documents(ns)) < limit] or [None])

    def insert(self, server, durable=None):
        ns, document = self.choose(), self.make()
        if ns is None:
            self.remove(server, durable)
            return
        self.perform([put(ns, document)], lambda j: server.insert(ns, [document], j), durable)

    def batch(self, server):
        ns, documents = self.choose(), [self.make() for _ in range(self.random.randrange(2, 9))]
        if ns is not None:
            self.perform([put(ns, document) for document in documents],
                         lambda j: server.insert(ns, documents, j))

    def replace(self, server):
        ns = self.random.choice((SHARED, self.own))
        if not self.documents(ns):
            return
        old = self.random.choice(list(self.documents(ns).values()))
        new = self.make(old['_id'], old['version'] + 1)
        self.perform([put(ns, new)],
                     lambda j: server.update(ns, {'_id': new['_id']}, new, j))

    def remove(self, server, durable=None):
        ns = self.random.choice([ns for ns in (SHARED, self.own) if self.documents(ns)] or [None])
        if ns is not None:
            key = self.random.choice(list(self.documents(ns)))
            self.perform([remove(ns, [key])], lambda j: server.delete(ns, {'_id': key}, j), durable)

    def multi(self, server):
        """Changes or removes all documents of a group: few enough for one hold of the lock."""
        group = self.random.randrange(GROUPS)
        before = [document for document in self.documents(self.own).values()
                  if document['group'] == group]
        if not before:
            return
        if self.random.random() < 0.2:
            self.perform([remove(self.own, [document['_id'] for document in before])],
                         lambda j: server.delete(self.own, {'group': group}, j))
            return
        text = self.make(version=max(document['version'] for document in before))['text']
        after = [dict(document, version=document['version'] + 1, text=text) for document in before]
        self.perform([put_all(self.own, after)],
                     lambda j: server.update(self.own, {'group': group},
                                             {'$inc': {'version': 1}, '$set': {'text': text}},
                                             j, multi=True))

    def push(self, server):
        """Into a capped collection: one write adds a document and removes the oldest ones."""
        if self.ring not in self.now:
            self.define(server, self.ring, {'create': self.ring.split('.')[1], 'capped': True,
                                            'size': RING_BYTES}, [create_ring(self.ring)])
        first = self.now[self.ring].newest + 1
        numbers = list(range(first, first + self.random.choice((1, 5, 40))))
        self.perform([push(self.ring, number) for number in numbers],
                     lambda j: server.insert(self.ring, [ring_document(n) for n in numbers], j))

    def grow(self, server):
        """Large documents make the writer's database need file after file."""
        if len(self.documents(self.large)) >= LARGE_DOCUMENTS_MAX:
            self.drop_database(server)
        documents = [dict(self.make(), text=LARGE_TEXT) for _ in range(10)]
        self.perform([put(self.large, document) for document in documents],
                     lambda j: server.insert(self.large, documents, j))

    def index(self, server):
        if self.own not in self.now:
            return
        name = self.random.choice(('k_1', 'group_1'))
        collection = self.own.split('.')[1]
        if name in self.now[self.own].indexes:
            self.define(server, self.own, {'dropIndexes': collection, 'index': name},
                        [drop_index(self.own, name)])
        else:
            self.define(server, self.own, {'createIndexes': collection, 'indexes': [
                {'key': {name[:-2]: 1}, 'name': name,
                 'background': self.random.random() < 0.5}]}, [add_index(self.own, name)])

    def drop(self, server):
        ns = self.random.choice([ns for ns in (self.own, self.ring, self.large) if ns in self.now]
                                or [None])
        if ns is not None:
            self.define(server, ns, {'drop': ns.split('.')[1]}, [drop(ns)])

    def drop_database(self, server):
        if self.large in self.now:
            self.define(server, self.large, {'dropDatabase': 1}, [drop(self.large)])


def ring_document(number):
    return {'_id': number, 'text': 'ring %09d' % number * 12}


def namespaces(number):
    """All that a writer has for itself."""
    return 'crash.own%d' % number, 'crash.ring%d' % number, 'crash_%d.c' % number


def settle(number, state, tail, found):
    """Finds how many steps of the tail survived; returns that and the state with them."""
    state = copy.deepcopy(state)
    for survived in range(len(tail) + 1):
        if state == found:
            return survived, state
        if survived < len(tail):
            tail[survived](state)
    raise Failure('writer %d: after none of its last %d steps is the data as found:\n%s'
                  % (number, len(tail), '\n'.join(differences(state, found))))


def differences(state, found):
    """Lines that say how what was found differs from the state with all steps."""
    for ns in sorted(set(state) | set(found)):
        if ns not in found or ns not in state:
            yield '     %s %s' % (ns, 'is missing' if ns in state else 'should not be there')
            continue
        wanted, there = state[ns], found[ns]
        if wanted.indexes != there.indexes or wanted.newest != there.newest:
            yield ('     %s: indexes %s, newest %s; expected %s, %s'
                   % (ns, sorted(there.indexes), there.newest, sorted(wanted.indexes),
                      wanted.newest))
        for title, keys in (
                ('missing', [key for key in wanted.documents if key not in there.documents]),
                ('not removed', [key for key in there.documents if key not in wanted.documents]),
                ('different', [key for key in wanted.documents if key in there.documents
                               and wanted.documents[key] != there.documents[key]])):
            if keys:
                yield '     %s: %d %s, e.g. %s' % (ns, len(keys), title, keys[:5])
