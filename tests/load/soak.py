"""All kinds of work for a while on data that do not grow: nor do memory, descriptors, threads, data
files or the journal.

Clients insert, change, remove, search, sort, aggregate, leave cursors open, come and go, make and
drop indexes, collections and databases. The first third of the time is for the server to find
its size. After a clean end the files are consistent and each client's documents those it knows of.
"""

import os
import random
import threading
import time

import bson
from client import MB, Client, Failure, Watched, at_most, documents_of

CLIENTS = 8
DOCUMENTS = 300  # of a client, about
SAMPLE_SECONDS = 0.5
# What may come on top of the most of the first third.
GROWTH_BYTES, GROWTH_FILES, GROWTH_THREADS, GROWTH_DISK = 64 * MB, 40, 20, 256 * MB


class Worker(threading.Thread):
    def __init__(self, port, number, until):
        super().__init__(daemon=True)
        self.port, self.number, self.until = port, number, until
        self.name_of = 'c%d' % number
        self.chance = random.Random(number)
        self.documents, self.error = {}, None
        self.next_key = self.operations = 0
        self.client = None

    def run(self):
        work = [self.insert] * 6 + [self.change] * 6 + [self.remove] * 4 + [self.search] * 4 + [
            self.aggregate, self.leave_cursor, self.index, self.scratch, self.come_again]
        try:
            self.client = Client(self.port)
            while not self.until.is_set():
                self.chance.choice(work)()
                self.operations += 1
            self.client.close()
        except (Failure, OSError) as error:
            self.error = error

    def call(self, command, documents=None, database='soak'):
        return self.client.run(command, database, documents)

    def concern(self):
        return {'w': 1, 'j': self.chance.random() < 0.3}

    def make(self, key):
        return {'_id': key, 'k': self.chance.randrange(1000),
                'text': 'x' * self.chance.choice((10, 100, 1000, 10000))}

    def insert(self):
        if len(self.documents) > DOCUMENTS:
            self.remove()
            return
        documents = []
        for _ in range(self.chance.randrange(1, 20)):
            self.next_key += 1
            documents.append(self.make(self.next_key))
        self.call({'insert': self.name_of, 'writeConcern': self.concern()},
                  ('documents', b''.join(bson.encode(document) for document in documents)))
        self.documents.update((document['_id'], document) for document in documents)

    def change(self):
        if self.documents:
            new = self.make(self.chance.choice(list(self.documents)))
            self.call({'update': self.name_of, 'writeConcern': self.concern(),
                       'updates': [{'q': {'_id': new['_id']}, 'u': new}]})
            self.documents[new['_id']] = new

    def remove(self):
        k = self.chance.randrange(1000)
        self.call({'delete': self.name_of, 'writeConcern': self.concern(),
                   'deletes': [{'q': {'k': {'$gte': k, '$lt': k + 100}}, 'limit': 0}]})
        self.documents = {key: document for key, document in self.documents.items()
                          if not k <= document['k'] < k + 100}

    def search(self):
        k = self.chance.randrange(1000)
        found = [document['_id'] for document in documents_of(self.client, 'soak', {
            'find': self.name_of, 'filter': {'k': {'$gte': k}}, 'sort': {'text': 1, '_id': -1},
            'batchSize': 50})]
        expected = [key for key, document in self.documents.items() if document['k'] >= k]
        if sorted(found) != sorted(expected):
            raise Failure('client %d found %d documents, %d match' % (self.number, len(found),
                                                                     len(expected)))

    def aggregate(self):
        groups = list(documents_of(self.client, 'soak', {'aggregate': self.name_of, 'pipeline': [
            {'$group': {'_id': {'$mod': ['$k', 10]}, 'n': {'$sum': 1}}}], 'cursor': {}}))
        if sum(group['n'] for group in groups) != len(self.documents):
            raise Failure('client %d: wrong groups' % self.number)

    def leave_cursor(self):
        """Opens one and reads a little of it; sometimes the connection ends with that."""
        self.call({'find': self.name_of, 'batchSize': 2})
        if self.chance.random() < 0.3:
            self.come_again()

    def index(self):
        if not self.documents:
            return
        names = {index['name'] for index in documents_of(
            self.client, 'soak', {'listIndexes': self.name_of, 'cursor': {}})}
        if 'k_1' in names:
            self.call({'dropIndexes': self.name_of, 'index': 'k_1'})
        else:
            self.call({'createIndexes': self.name_of, 'indexes': [
                {'key': {'k': 1}, 'name': 'k_1', 'background': self.chance.random() < 0.5}]})

    def scratch(self):
        """A collection or a database that comes and goes."""
        database = 'soak' if self.chance.random() < 0.8 else 'soak%d' % self.number
        documents = b''.join(bson.encode(self.make(key)) for key in range(50))
        self.call({'insert': 's%d' % self.number}, ('documents', documents), database)
        if database == 'soak':
            self.call({'drop': 's%d' % self.number})
        else:
            self.call({'dropDatabase': 1}, database=database)

    def come_again(self):
        self.client.close()
        self.client = Client(self.port)

    def check(self, client):
        found = {document['_id']: document
                 for document in documents_of(client, 'soak', {'find': self.name_of})}
        if found != self.documents:
            raise Failure('client %d: %d documents are there, %d should be'
                          % (self.number, len(found), len(self.documents)))


def disk_bytes(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def sample(watched):
    return {'memory of its own, MB': watched.memory(), 'descriptors': watched.descriptors(),
            'threads': watched.threads(), 'MB on the disk': disk_bytes(watched.dbpath)}


UNITS = {'descriptors': 1, 'threads': 1}
GROWTH = {'memory of its own, MB': GROWTH_BYTES, 'descriptors': GROWTH_FILES,
          'threads': GROWTH_THREADS, 'MB on the disk': GROWTH_DISK}


def work(watched, port, seconds):
    """Returns the workers and the most that was used, after the first third."""
    until = threading.Event()
    workers = [Worker(port, number, until) for number in range(CLIENTS)]
    for worker in workers:
        worker.start()
    begin = time.monotonic()
    first, later = {}, {}
    try:
        while time.monotonic() - begin < seconds:
            time.sleep(SAMPLE_SECONDS)
            now = sample(watched)
            most = first if time.monotonic() - begin < seconds / 3 else later
            for what, value in now.items():
                most[what] = max(most.get(what, 0), value)
            if not all(worker.is_alive() for worker in workers):
                break
    finally:
        until.set()
        for worker in workers:
            worker.join()
    for worker in workers:
        if worker.error:
            raise Failure('client %d: %s\n%s' % (worker.number, worker.error, watched.errors()))
    for what, value in later.items():
        at_most(what, value, first[what] + GROWTH[what], UNITS.get(what, MB))
    return workers, later


def run(stage, directory, seconds):
    with Watched(stage, directory, ['--smallfiles', '--nssize', '2', '--syncdelay',
                                    '2']) as watched:
        workers, most = work(watched, watched.start(), seconds)
        watched.running.stop()
        with Client(watched.start()) as client:
            for worker in workers:
                worker.check(client)
        watched.close()
    return '%d operations in %d s; at most %s' % (
        sum(worker.operations for worker in workers), seconds,
        ', '.join('%d %s' % (value / UNITS.get(what, MB), what) for what, value in most.items()))
