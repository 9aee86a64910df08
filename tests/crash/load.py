"""The load of the crash driver, and what its writers know about their data.

A writer changes data of its own: documents in a collection that all share, a collection and a ring
that it makes and drops, many small documents to be indexed, a whole database. What it did is a list
of steps. A step is one change under one lock; after a crash it is there as a whole or not at all,
and only with all steps before."""

import copy
import random
import re
import struct
import threading
import traceback

import bson
import messages
import pymongo
import reading
from pymongo import errors
from reading import SHARED, Collection, Failure, Refused, namespaces, ring_document

SHARED_INDEXES = {'_id_', 'k_1'}
RING_BYTES = 16384
GROUPS = 4
INTERRUPTED = 'interrupted at shutdown'  # the answer to an operation that a shutdown cuts short
OWN_DOCUMENTS_MAX, SHARED_DOCUMENTS_MAX, LARGE_DOCUMENTS_MAX = 60, 150, 120
LARGE_TEXT = 'L' * 300000

MANY_DOCUMENTS, MANY_BATCH = 2400, 300  # what an index build has to do


# --- steps: functions that change a state, a dict of namespace: Collection ---


def put(ns, document):
    return lambda state: state.setdefault(ns, Collection()).documents.update(
        {document['_id']: document})


def put_all(ns, documents):
    return lambda state: state[ns].documents.update(
        {document['_id']: document for document in documents})


def together(steps):
    def step(state):
        for each in steps:
            each(state)
    return step


def remove(ns, keys):
    def step(state):
        for key in keys:
            del state[ns].documents[key]
    return step


def create(ns):
    return lambda state: state.setdefault(ns, Collection())


def push(ns, number):
    def step(state):
        state[ns].newest = number
    return step


def become(found):
    """What is there after an operation that was refused half-way."""
    def step(state):
        state.clear()
        state.update(copy.deepcopy(found))
    return step


def add_index(ns, name):
    return lambda state: state[ns].indexes.add(name)


def drop_index(ns, name):
    return lambda state: state[ns].indexes.discard(name)


def drop(ns):
    return lambda state: state.pop(ns)


# --- dialects: without a journal no client may ask for j: true, nor needs it against kills ---


class Modern:
    def __init__(self, port, journal=True):
        self.journal = journal
        self.client = pymongo.MongoClient('127.0.0.1', port, directConnection=True,
                                          serverSelectionTimeoutMS=5000, maxPoolSize=1,
                                          retryWrites=False)

    def close(self):
        self.client.close()

    def command(self, database, command):
        try:
            return self.client[database].command(command)
        except errors.OperationFailure as error:
            raise Refused('%r: %s' % (next(iter(command)), error)) from error

    def insert(self, ns, documents, durable):
        self.write(ns, 'insert', {'documents': documents}, durable)

    def update(self, ns, query, change, durable, multi=False):
        self.write(ns, 'update', {'updates': [{'q': query, 'u': change, 'multi': multi}]}, durable)

    def delete(self, ns, query, durable):
        self.write(ns, 'delete', {'deletes': [{'q': query, 'limit': 0}]}, durable)

    def transact(self, puts, durable):
        """Puts documents, (namespace, document), in a transaction."""
        concern = pymongo.WriteConcern(w=1, j=durable)
        with self.client.start_session() as session:
            try:
                with session.start_transaction(write_concern=concern):
                    for ns, document in puts:
                        database, collection = ns.split('.', 1)
                        self.client[database][collection].replace_one(
                            {'_id': document['_id']}, document, upsert=True, session=session)
            except errors.OperationFailure as error:
                raise Refused('a transaction: %s' % error) from error

    def write(self, ns, name, fields, durable):
        database, collection = ns.split('.', 1)
        concern = {'w': 1, 'j': durable} if self.journal else {'w': 1}
        reply = self.command(database, {name: collection, **fields, 'writeConcern': concern})
        if 'writeErrors' in reply or 'writeConcernError' in reply:
            raise Refused('%s in %s: %r' % (name, ns, reply))


def make_shared(port):
    """The collection that all writers share (SHARED), with its indexes."""
    client = Modern(port)
    client.command('crash', {'create': 'c'})
    client.command('crash', {'createIndexes': 'c', 'indexes': [{'key': {'k': 1}, 'name': 'k_1'}]})
    client.close()


class Legacy(messages.Connection):
    """OP_INSERT, OP_UPDATE and OP_DELETE with getLastError, by hand."""

    def __init__(self, port, journal=True):
        super().__init__(port)
        self.journal = journal

    def command(self, database, command):
        self.send_query(database + '.$cmd', command, count=-1)
        message = self.receive()
        answered, = struct.unpack_from('<i', message, 8)
        reply = bson.decode(message[36:])
        if answered != self.request:
            raise Failure('%r: an answer to something else: %r' % (command, reply))
        if reply['ok'] != 1:
            raise Refused('%r: %r' % (next(iter(command)), reply))
        return reply

    def insert(self, ns, documents, durable):
        self.send_insert(ns, *documents)
        self.last_error(ns, durable)

    def update(self, ns, query, change, durable, multi=False):
        self.send_update(ns, query, change, flags=2 if multi else 0)
        self.last_error(ns, durable)

    def delete(self, ns, query, durable):
        self.send_delete(ns, query)
        self.last_error(ns, durable)

    def last_error(self, ns, durable):
        concern = {'j': durable} if self.journal else {}
        reply = self.command(ns.split('.', 1)[0], {'getlasterror': 1, **concern})
        if reply['err'] is not None:
            raise Refused('getLastError for %s: %r' % (ns, reply))


class Writer(threading.Thread):
    """Changes its data until the server is gone.

    state    what is certain: acknowledged with j: true, or by any answer where there is no journal
    tail     the steps since then, in order; any number of the first of them may have survived
    now      both together, without what is under way
    pending  the steps of the operation that is under way, the last ones of the tail
    watch    called with the name of an action as it begins, and with 'ack' after a durable one
    ending   an event: the server is being ended, a lost connection is no surprise
    journal  whether the server has one
    spread   whether the usual writes go to every database, and indexes to its collections
    refusal  a regular expression: errors that may be answered here, as of a full disk; None: none
    """

    def __init__(self, number, state, seed, port, watch, ending, journal=True, refusal=None,
                 spread=False):
        super().__init__(daemon=True)
        self.number, self.state, self.port, self.watch = number, state, port, watch
        self.ending, self.journal, self.refusal, self.spread = ending, journal, refusal, spread
        self.now, self.tail, self.pending = copy.deepcopy(state), [], []
        self.random = random.Random(seed)
        self.own, self.ring, self.large, self.many = namespaces(number)
        self.error = None
        self.lost_connection = False  # before the test meant to end the server
        self.acknowledged = self.refused = 0
        self.next_key = max([0] + [int(key.split('-')[1]) for collection in state.values()
                                   for key in collection.documents])

    def run(self):
        server = None
        try:
            server = self.dialects[self.number % 2](self.port, self.journal)
            while True:
                action = self.random.choices(*zip(*self.ACTIONS.items()))[0]
                self.watch(action)
                try:
                    getattr(self, action)(server)
                except Refused as error:
                    if self.ending.is_set() and INTERRUPTED in str(error):
                        return
                    if self.refusal is None or not re.search(self.refusal, str(error)):
                        raise
                    self.take_stock(server)
                    self.refused += 1
                    self.watch('refused')
        except (errors.ConnectionFailure, OSError):
            self.lost_connection = not self.ending.is_set()
        except Exception as error:  # for the driver to report
            self.error = error if isinstance(error, Failure) else Failure(
                ''.join(traceback.format_exception(error)))
        finally:
            if server:
                server.close()

    def take_stock(self, server):
        """After an error: each document must be as before the operation or as after it."""
        after = copy.deepcopy(self.now)
        for step in self.pending:
            step(after)
        found = self.read(server)
        complain_unless_between(self.number, self.now, after, found)
        del self.tail[len(self.tail) - len(self.pending):]
        for count in range(len(self.pending) + 1):
            if self.now == found:
                self.tail += self.pending[:count]
                break
            if count < len(self.pending):
                self.pending[count](self.now)
        else:
            self.now = found
            self.tail.append(become(found))
        self.pending = []

    def read(self, server):
        while True:
            try:
                return reading.read_own(server, self.number)
            except Refused as error:  # others close the databases
                if not self.spread or not re.search(self.refusal, str(error)):
                    raise

    # One of these is called again and again, chosen by weight.
    ACTIONS = {'insert': 30, 'batch': 12, 'replace': 25, 'remove': 8, 'multi': 12, 'push': 12,
               'grow': 3, 'index': 6, 'drop': 3, 'drop_database': 1, 'build': 0, 'close': 0,
               'transact': 0}
    dialects = (Modern, Legacy)

    def perform(self, steps, write, durable=None):
        """Does one operation. Without j: true it may be lost, but not without what follows it."""
        if durable is None:
            durable = self.random.random() < 0.8
        self.begin(steps)
        write(durable)
        self.done(durable or not self.journal)

    def define(self, server, ns, command, steps):
        """Changes a definition, then makes that durable by a write that follows it."""
        self.begin(steps)
        server.command(ns.split('.', 1)[0], command)
        self.done(not self.journal)
        self.insert(server, durable=True)

    def begin(self, steps):
        self.tail += steps
        self.pending = list(steps)

    def done(self, durable):
        """The operation has been answered, and with it all that came before."""
        for step in self.pending:
            step(self.now)
        self.pending = []
        if durable:
            for step in self.tail:
                step(self.state)
            self.tail = []
            self.acknowledged += 1
            self.watch('ack')

    def stopped(self):
        """The server ended cleanly: everything that was answered must be there."""
        self.state, self.tail = self.now, self.pending

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
        if self.spread:
            limits[self.large] = LARGE_DOCUMENTS_MAX
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

    def transact(self, server):
        """Documents of two collections, new ones and others: all or none."""
        puts = []
        for ns in (SHARED, self.own):
            there = list(self.documents(ns).values())
            for old in self.random.sample(there, min(len(there), 2)):
                puts.append((ns, self.make(old['_id'], old['version'] + 1)))
            puts.append((ns, self.make()))
        # A collection that is not there is made before.
        self.perform([create(self.own), together([put(*each) for each in puts])],
                     lambda j: server.transact(puts, j))

    def replace(self, server):
        ns = self.random.choice((SHARED, self.own))
        if not self.documents(ns):
            return
        old = self.random.choice(list(self.documents(ns).values()))
        new = self.make(old['_id'], old['version'] + 1)
        self.perform([put(ns, new)], lambda j: server.update(ns, {'_id': new['_id']}, new, j))

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
            self.define(server, self.ring,
                        {'create': self.ring.split('.')[1], 'capped': True, 'size': RING_BYTES},
                        [lambda state: state.update({self.ring: Collection(newest=0)})])
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
        ns = self.random.choice([self.own, self.large]) if self.spread else self.own
        if ns not in self.now:
            return
        name = self.random.choice(('k_1', 'group_1'))
        collection = ns.split('.')[1]
        if name in self.now[ns].indexes:
            self.define(server, ns, {'dropIndexes': collection, 'index': name},
                        [drop_index(ns, name)])
        else:
            self.define(server, ns, {'createIndexes': collection, 'indexes': [
                {'key': {name[:-2]: 1}, 'name': name,
                 'background': self.random.random() < 0.5}]}, [add_index(ns, name)])

    def close(self, server):
        """The data files of all databases are closed and opened again, perhaps elsewhere."""
        try:
            server.command('admin', {'closeAllDatabases': 1})
        except Refused as error:
            if 'an index is being built in the background' not in str(error):
                raise

    def build(self, server):
        """Builds an index that takes some milliseconds, or drops it."""
        while len(self.documents(self.many)) < MANY_DOCUMENTS:
            first = len(self.documents(self.many))
            documents = [many_document(self.number, first + n) for n in range(MANY_BATCH)]
            self.perform([put(self.many, document) for document in documents],
                         lambda j, batch=documents: server.insert(self.many, batch, j), True)
        name = self.random.choice(('k_1', 'text_1'))
        collection = self.many.split('.')[1]
        if name in self.now[self.many].indexes:
            self.define(server, self.many, {'dropIndexes': collection, 'index': name},
                        [drop_index(self.many, name)])
            return
        self.watch('building')
        self.define(server, self.many, {'createIndexes': collection, 'indexes': [
            {'key': {name[:-2]: 1}, 'name': name,
             'background': self.random.random() < 0.5}]}, [add_index(self.many, name)])

    def drop(self, server):
        ns = self.random.choice([ns for ns in (self.own, self.ring, self.large, self.many)
                                 if ns in self.now] or [None])
        if ns is not None:
            self.define(server, ns, {'drop': ns.split('.')[1]}, [drop(ns)])

    def drop_database(self, server):
        if self.large in self.now:
            self.define(server, self.large, {'dropDatabase': 1}, [drop(self.large)])


def many_document(number, key):
    return {'_id': 'm%d-%d' % (number, key), 'k': key * 7919 % 10007,
            'text': ('%d,' % (key * 104729 % 1299709)) * 12}


def settle(writer, found):
    """Finds how many steps of a writer's tail survived; returns that and the state with them.

    Where errors may be answered, or a shutdown cuts operations short, the last one may have been
    given up and its documents may be in pieces: each is then as before or as after. `writer` has
    number, state, tail, pending and refusal."""
    state = copy.deepcopy(writer.state)
    before = None
    for survived in range(len(writer.tail) + 1):
        if state == found:
            return survived, state
        if survived == len(writer.tail) - len(writer.pending):
            before = copy.deepcopy(state)
        if survived < len(writer.tail):
            writer.tail[survived](state)
    if writer.refusal is not None and writer.pending:
        complain_unless_between(writer.number, before, state, found)
        return len(writer.tail), copy.deepcopy(found)
    raise Failure('writer %d: after none of its last %d steps is the data as found:\n%s'
                  % (writer.number, len(writer.tail), '\n'.join(differences(state, found))))


def complain_unless_between(number, before, after, found):
    """Each document as before or as after, each definition too; nothing else."""
    problems = []
    for ns in set(before) | set(after) | set(found):
        old, new, there = (state.get(ns) for state in (before, after, found))
        if there is None:
            if old is not None and new is not None:
                problems.append('%s is missing' % ns)
            continue
        sides = [side for side in (old, new) if side is not None]
        if not sides:
            problems.append('%s should not be there' % ns)
            continue
        if old is None:
            sides.append(Collection(newest=None if new.newest is None else 0))
        keys = set(there.documents).union(*(side.documents for side in sides))
        wrong = [key for key in keys if there.documents.get(key) not in
                 [side.documents.get(key) for side in sides]]
        if wrong:
            problems.append('%s: %d documents are neither as before nor as after, e.g. %s'
                            % (ns, len(wrong), sorted(wrong)[:5]))
        if not set.intersection(*(side.indexes for side in sides)) <= there.indexes \
                or not there.indexes <= set.union(*(side.indexes for side in sides)):
            problems.append('%s: indexes %s' % (ns, sorted(there.indexes)))
        newest = [side.newest for side in sides if side.newest is not None]
        if newest and not min(newest) <= there.newest <= max(newest):
            problems.append('%s: the newest is %d' % (ns, there.newest))
    if problems:
        raise Failure('writer %d: an operation that was not finished left:\n     %s'
                      % (number, '\n     '.join(problems)))


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
