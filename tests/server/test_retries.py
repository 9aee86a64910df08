"""Writes of a driver at its defaults, on a replica set whose connections break and which is killed:
each is done exactly once, and its answer is that of the one time.

The driver sends a write again once, by the number that it gave it. A proxy between the two lets a
request pass, or cuts the connection before it has been forwarded, right after, or when the server
has answered; it also kills the server, which is then started again."""

import random
import socket
import struct
import threading

import pymongo
from pymongo import DeleteOne, InsertOne, ReturnDocument, UpdateOne

import server
from process_case import ProcessCase

HEADER = struct.Struct('<i')
NUMBERED = b'\x12txnNumber\x00'
BEFORE, BEHIND, ANSWERED, KILLED, KILLED_ANSWERED = 'before', 'behind', 'answered', 'killed', \
    'killed when it had answered'
CUTS = [BEFORE, BEHIND, ANSWERED]
KILLS = [KILLED, KILLED_ANSWERED]


def receive(connection, count):
    parts = b''
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionError('closed')
        parts += part
    return parts


def receive_message(connection):
    head = receive(connection, HEADER.size)
    return head + receive(connection, HEADER.unpack(head)[0] - HEADER.size)


class Proxy:
    """Forwards to the server, and breaks one in a few of the numbered writes; never the next one,
    which is the driver's second and last try."""

    def __init__(self, running, chance, faults):
        self.running, self.chance, self.faults = running, chance, faults
        self.lock = threading.Lock()
        self.spared, self.made = True, []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def fault(self, message):
        if NUMBERED not in message:
            return None
        with self.lock:
            if self.spared or self.chance.random() < 0.5:
                self.spared = False
                return None
            self.spared = True
            self.made.append(self.chance.choice(self.faults))
            return self.made[-1]

    def serve(self, client):
        try:
            with client, socket.create_connection(('127.0.0.1', self.running.port)) as behind:
                while True:
                    message = receive_message(client)
                    fault = self.fault(message)
                    if fault == BEFORE:
                        return
                    behind.sendall(message)
                    if fault == BEHIND:
                        return
                    if fault == KILLED:
                        self.running.kill_and_start()
                        return
                    answer = receive_message(behind)
                    if fault == KILLED_ANSWERED:
                        self.running.kill_and_start()
                    if fault is not None:
                        return
                    client.sendall(answer)
        except OSError:
            pass  # closed by one of the two


class Member(server.Server):
    """A replica set of one that can be started again at its port."""

    def kill_and_start(self):
        self.kill()
        if not self._start():
            raise server.ServerError('the port is taken')


class Writer:
    """Does random writes, each with a token of its own, and knows what has to come of them."""

    def __init__(self, name, database, chance):
        self.name, self.db, self.chance = name, database, chance
        self.tokens = 0
        self.inserted, self.pushed, self.upserted, self.taken = [], [], [], []
        self.before, self.after = [], []
        self.count = 0

    def token(self):
        self.tokens += 1
        return '%s %d' % (self.name, self.tokens)

    def step(self):
        self.chance.choice([self.insert, self.insert_many, self.push, self.upsert, self.take,
                            self.count_before, self.count_after, self.delete, self.bulk])()

    def insert(self):
        self.inserted.append(self.token())
        self.db.things.insert_one({'token': self.inserted[-1]})

    def insert_many(self):
        tokens = [self.token() for _ in range(self.chance.randrange(2, 9))]
        result = self.db.things.insert_many([{'token': token} for token in tokens],
                                            ordered=self.chance.random() < 0.5)
        assert len(result.inserted_ids) == len(tokens)
        self.inserted += tokens

    def push(self):
        self.pushed.append(self.token())
        result = self.db.lists.update_one({'_id': self.name},
                                          {'$push': {'tokens': self.pushed[-1]}})
        assert (result.matched_count, result.modified_count) == (1, 1), result.raw_result

    def upsert(self):
        token = self.token()
        result = self.db.things.update_one({'_id': token}, {'$push': {'list': token}}, upsert=True)
        assert result.upserted_id == token, result.raw_result
        self.upserted.append(token)

    def take(self):
        self.taken.append(self.db.bag.find_one_and_delete({}, sort=[('_id', 1)])['_id'])

    def count_before(self):
        self.before.append(self.db.counters.find_one_and_update(
            {'_id': 'all'}, {'$inc': {'n': 1}})['n'])

    def count_after(self):
        self.after.append(self.db.counters.find_one_and_update(
            {'_id': 'all'}, {'$inc': {'n': 1}}, projection={'_id': 0, 'n': 1},
            return_document=ReturnDocument.AFTER)['n'])

    def delete(self):
        if not self.inserted:
            return
        token = self.inserted.pop(self.chance.randrange(len(self.inserted)))
        assert self.db.things.delete_one({'token': token}).deleted_count == 1

    def bulk(self):
        new, pushed, upserted = self.token(), self.token(), self.token()
        result = self.db.things.bulk_write([
            InsertOne({'token': new}),
            UpdateOne({'token': new}, {'$inc': {'changes': 1}}),
            UpdateOne({'_id': upserted}, {'$push': {'list': upserted}}, upsert=True),
            UpdateOne({'token': new}, {'$inc': {'changes': 1}}),
            InsertOne({'_id': pushed}),
            DeleteOne({'_id': pushed})], ordered=True)
        assert result.bulk_api_result['nInserted'] == 2, result.bulk_api_result
        assert (result.matched_count, result.modified_count) == (2, 2), result.bulk_api_result
        assert result.upserted_ids == {2: upserted}, result.bulk_api_result
        assert result.deleted_count == 1, result.bulk_api_result
        self.inserted.append(new)
        self.upserted.append(upserted)


class Retries(ProcessCase):

    def setUp(self):
        super().setUp()
        self.chance = random.Random(self.seed)
        self.running = Member(self.program, self.dbpath, ('--smallfiles', '--nounixsocket',
                                                          '--replSet', 'rs0', '--oplogSize', '64'))
        self.addCleanup(lambda: self.running.process.poll() is None and self.running.kill())
        self.direct = self.enterContext(pymongo.MongoClient(self.running.uri, journal=True))
        self.direct.admin.command('replSetInitiate', {
            '_id': 'rs0', 'members': [{'_id': 0, 'host': '127.0.0.1:%d' % self.running.port}]})
        self.direct.test.counters.insert_one({'_id': 'all', 'n': 0})
        self.direct.test.bag.insert_many([{'_id': number} for number in range(1000)])

    def writer(self, name, faults):
        """A writer whose client knows the server by a proxy, and is at its defaults."""
        proxy = Proxy(self.running, random.Random(self.chance.random()), faults)
        self.addCleanup(proxy.close)
        client = pymongo.MongoClient('127.0.0.1', proxy.port, directConnection=True, journal=True)
        self.addCleanup(client.close)
        self.direct.test.lists.insert_one({'_id': name, 'tokens': []})
        return Writer(name, client.test, random.Random(self.chance.random())), proxy

    def check(self, writers):
        db = self.direct.test
        found = sorted(thing['token'] for thing in db.things.find({'token': {'$exists': True}}))
        self.assertEqual(found, sorted(sum((writer.inserted for writer in writers), [])))
        for thing in db.things.find({'changes': {'$exists': True}}):
            self.assertEqual(thing['changes'], 2)
        upserted = {thing['_id']: thing['list']
                    for thing in db.things.find({'list': {'$ne': None}})}
        self.assertEqual(upserted, {token: [token] for writer in writers
                                    for token in writer.upserted})
        for writer in writers:
            self.assertEqual(db.lists.find_one(writer.name)['tokens'], writer.pushed)
        counted = sorted(sum((writer.after + [n + 1 for n in writer.before]
                              for writer in writers), []))
        self.assertEqual(counted, list(range(1, len(counted) + 1)))
        self.assertEqual(db.counters.find_one('all')['n'], len(counted))
        taken = sorted(sum((writer.taken for writer in writers), []))
        self.assertEqual(taken, list(range(len(taken))))
        self.assertEqual(db.bag.count_documents({}), 1000 - len(taken))

    def retried(self):
        # No read that a driver tries again: not by a connection to the server that was killed.
        with pymongo.MongoClient(self.running.uri) as client:
            return client.admin.command('serverStatus')['transactions']['retriedCommandsCount']

    def test_connections_that_break(self):
        writers = [self.writer('writer %d' % number, CUTS) for number in range(4)]
        failures = []

        def work(writer):
            try:
                for _ in range(150):
                    writer.step()
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=work, args=(writer,)) for writer, _ in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.check([writer for writer, _ in writers])
        for _, proxy in writers:
            self.assertEqual(set(proxy.made), set(CUTS))
        self.assertGreater(self.retried(), 20)
        self.running.kill_and_start()
        self.check([writer for writer, _ in writers])

    # A write that no commit has reached when the server is killed is done by the second try; one
    # that is in the journal, with its entry, is answered from that.
    def test_kills(self):
        writer, proxy = self.writer('writer', KILLS + CUTS)
        retried = 0
        while proxy.made.count(KILLED) < 4 or retried < 4:
            kills = sum(fault in KILLS for fault in proxy.made)
            writer.step()
            if sum(fault in KILLS for fault in proxy.made) > kills and \
                    proxy.made[-1] == KILLED_ANSWERED:
                self.assertEqual(self.retried(), 1, 'answered from the log')
                retried += 1
        self.check([writer])

    def test_what_a_driver_learns_from_hello(self):
        hello = self.direct.admin.command('hello')
        self.assertEqual(hello['logicalSessionTimeoutMinutes'], 30)
        self.assertEqual(hello['setName'], 'rs0')
        self.assertGreaterEqual(hello['maxWireVersion'], 6)
