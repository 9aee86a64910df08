"""Change streams by a driver: what its defaults give, kills of the server and of readers,
hand-overs; readers that go on by their tokens see each event once, in order."""

import os
import threading

import pymongo
from pymongo import errors

import server
from set_member import SECONDARY, wait_until
from sets import Case, Worker, code_of

KILLS = int(os.environ.get('STREAM_KILLS', '5'))
EVENTS = int(os.environ.get('STREAM_EVENTS', '2000'))


class Reader(Worker):
    """Notes the numbers of what is inserted; goes on by its token whenever its stream ends."""

    def __init__(self, connect, each=0):
        super().__init__()
        self.connect, self.each = connect, each
        self.numbers, self.token, self.streams = [], None, 0
        self.is_open = threading.Event()

    def one(self):
        with self.connect() as client:
            self.read(client)

    def read(self, client):
        """Until it is over, or after so many events: as a reader that is killed."""
        self.streams += 1
        with client.load.watch([{'$match': {'ns.coll': 'numbered'}}], resume_after=self.token,
                               max_await_time_ms=100) as stream:
            self.token = stream.resume_token
            self.is_open.set()
            count = 0
            while not self.is_over.is_set() and (self.each == 0 or count < self.each):
                event = stream.try_next()
                if event is None:
                    self.token = stream.resume_token
                    continue
                self.numbers.append(event['documentKey']['_id'])
                self.token = event['_id']
                count += 1

    def end_after(self, count):
        while len(self.numbers) < count and self.failure is None:
            seen = len(self.numbers)
            wait_until('more than %d of %d events come' % (seen, count), lambda: len(
                self.numbers) > seen or self.failure is not None)  # pylint: disable=W0640
        super().end()


def logged(member):
    return [entry['o']['_id'] for entry in member.client.local['oplog.rs'].find(
        {'op': 'i', 'ns': 'load.numbered'}, {'o._id': 1})]


class Streams(Case):
    def test_drivers_at_their_defaults(self):
        (member,) = self.begin(1)[:1]
        client, c = member.client, member.client.test.c
        with c.watch() as of_c, client.test.watch(full_document='updateLookup') as of_test, \
                client.watch() as of_all:
            c.insert_one({'_id': 1, 'a': {'b': 1}, 'l': [1, 2, 3]})
            c.update_one({'_id': 1}, {'$set': {'a.b': 2}, '$unset': {'l': 1}})
            c.update_one({'_id': 1}, [{'$set': {'p': {'$add': ['$a.b', 1]}}}])
            c.find_one_and_update({'_id': 1}, [{'$unset': 'p'}])
            c.replace_one({'_id': 1}, {'x': 1})
            c.delete_one({'_id': 1})
            client.other.d.insert_one({'_id': 5})
            c.drop()
            events = [of_c.next() for _ in range(8)]
            self.assertEqual([each['operationType'] for each in events],
                             ['insert', 'update', 'update', 'update', 'replace', 'delete', 'drop',
                              'invalidate'])
            self.assertEqual(events[1]['updateDescription'], {
                'updatedFields': {'a.b': 2}, 'removedFields': ['l'], 'truncatedArrays': []})
            self.assertEqual(events[2]['updateDescription'], {
                'updatedFields': {'p': 3}, 'removedFields': [], 'truncatedArrays': []})
            self.assertEqual(events[3]['updateDescription'], {
                'updatedFields': {}, 'removedFields': ['p'], 'truncatedArrays': []})
            self.assertRaises(StopIteration, of_c.next)
            events = [of_test.next() for _ in range(7)]
            self.assertIsNone(events[1]['fullDocument'])
            self.assertEqual(events[6]['operationType'], 'drop')
            names = [of_all.next()['ns'] for _ in range(8)]
            self.assertEqual(names[6:], [{'db': 'other', 'coll': 'd'}, {'db': 'test', 'coll': 'c'}])
            with client.test.watch(resume_after=events[0]['_id']) as again:
                self.assertEqual(again.next()['_id'], events[1]['_id'])
            client.drop_database('test')

    def test_kills_of_the_server(self):
        (member,) = self.begin(1)[:1]
        reader = Reader(member.connect)
        reader.start()
        reader.is_open.wait()
        is_over, written = threading.Event(), []

        def write():
            number = 0
            while not is_over.is_set():
                try:
                    member.client.load.numbered.insert_one({'_id': number})
                    written.append(number)
                except errors.PyMongoError:
                    is_over.wait(0.02)
                number += 1

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        for _ in range(KILLS):
            enough = len(written) + EVENTS // KILLS
            wait_until('writes go on', lambda: len(written) >= enough)  # pylint: disable=W0640
            member.kill()
            member.start_again()
            wait_until('it is the primary', lambda: member.state() == 1)
        is_over.set()
        writer.join()
        expected = logged(member)
        reader.end_after(len(expected))
        self.assertEqual(reader.numbers, expected)

    def test_kills_of_the_reader(self):
        (member,) = self.begin(1)[:1]
        readers = [Reader(member.connect, each * max(1, EVENTS // 2000)) for each in (1, 7, 64)]
        for reader in readers:
            reader.start()
            reader.is_open.wait()
        for number in range(0, EVENTS // 10):
            member.client.load.numbered.insert_many([{'_id': number * 10 + i} for i in range(10)])
            member.client.load.others.insert_one({})
        for reader in readers:
            reader.end_after(EVENTS)
            self.assertEqual(reader.numbers, list(range(EVENTS)))

    def test_hand_overs_and_secondaries(self):
        first, (second,) = self.begin(2)
        hosts = [each.host for each in self.members]

        def connect(preference):
            return pymongo.MongoClient(hosts, replicaSet='rs0', readPreference=preference)

        readers = [Reader(lambda: connect('primary')),
                   Reader(lambda: connect('secondaryPreferred'))]
        for reader in readers:
            reader.start()
            reader.is_open.wait()
        client = connect('primary')
        self.addCleanup(client.close)
        old, new = first, second
        number = 0
        for _ in range(4):
            for _ in range(100):
                client.load.numbered.insert_one({'_id': number})
                number += 1
            self.hand_over(old, new)
            self.wait_for_state(old, SECONDARY)
            old, new = new, old
        for reader in readers:
            reader.end_after(number)
            self.assertEqual(reader.numbers, list(range(number)))

    def test_a_stream_waits_for_the_majority(self):
        first, (second,) = self.begin(2)
        first.run('replSetReconfig', dict(self.config(2), members=[
            {'_id': 0, 'host': first.host}, {'_id': 1, 'host': second.host, 'priority': 0}]))
        wait_until('it has the configuration', lambda: second.run(
            'replSetGetConfig')['config']['version'] == 2)
        with first.client.load.watch(max_await_time_ms=200) as stream:
            second.halt()
            try:
                first.client.load.numbered.insert_one({'_id': 1})
                seen = []
                reading = threading.Thread(target=lambda: seen.append(stream.next()), daemon=True)
                reading.start()
                reading.join(1)
                self.assertEqual(seen, [])
            finally:
                second.go_on()
            reading.join()
            self.assertEqual(seen[0]['documentKey'], {'_id': 1})

    def test_idle_streams_cost_little(self):
        (member,) = self.begin(1)[:1]
        streams = 500

        def memory():
            return server.memory_bytes(member.pid)

        def open_some(count):
            for _ in range(count):
                reply = member.client.test.command(
                    'aggregate', 'c', pipeline=[{'$changeStream': {}}], cursor={})
                self.assertNotEqual(reply['cursor']['id'], 0)

        open_some(100)
        before = memory()
        open_some(streams)
        self.assertLess((memory() - before) / streams, 8 * 1024)

    def test_it_needs_the_right_to_find(self):
        (member,) = self.begin(1)[:1]
        for name, role in (('one', 'read'), ('none', 'dbAdmin')):
            member.client.test.command('createUser', name, pwd='x', roles=[role])
        member.client.admin.command('createUser', 'all', pwd='x', roles=['readAnyDatabase'])
        member.kill()
        member.options = [*member.options, '--auth']
        member.start_again()

        def refusal(user, database, target):
            with pymongo.MongoClient(member.uri, username=user, password='x',
                                     authSource='admin' if user == 'all' else 'test') as client:
                watched = {'c': client[database].c, 'database': client[database], 'all': client}
                try:
                    with watched[target].watch() as stream:
                        stream.try_next()
                    return None
                except errors.OperationFailure as error:
                    return code_of(error)

        for user, database, target, code in (
                ('one', 'test', 'c', None), ('one', 'test', 'database', None),
                ('one', 'other', 'c', 13), ('one', 'other', 'database', 13),
                ('one', 'test', 'all', 13), ('none', 'test', 'c', 13),
                ('none', 'test', 'database', 13), ('all', 'other', 'database', None),
                ('all', 'test', 'all', None)):
            self.assertEqual(refusal(user, database, target), code, (user, database, target))

    def test_what_is_no_token_is_refused(self):
        (member,) = self.begin(1)[:1]
        with self.assertRaises(errors.OperationFailure) as raised:
            member.client.test.watch(resume_after={'_data': '8263'})
        self.assertEqual(code_of(raised.exception), 260)
