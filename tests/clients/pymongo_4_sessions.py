"""Sessions by pymongo of today: those that a program asks for, those that the driver uses by
itself, what belongs to one, and how they end. Commands are looked at as they leave the driver."""

import bson
import case
import pymongo
from bson.binary import UUID_SUBTYPE, Binary
from pymongo import errors, monitoring


class Watcher(monitoring.CommandListener):
    """The commands that were sent, by name."""

    def __init__(self):
        self.sent = []

    def started(self, event):
        self.sent.append((event.command_name, event.command))

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass

    def last(self, name):
        return next(command for sent, command in reversed(self.sent) if sent == name)


class Sessions(case.Refusals):
    def setUp(self):
        self.watcher = Watcher()
        self.client = pymongo.MongoClient(case.URI, event_listeners=[self.watcher])
        self.addCleanup(self.client.close)
        self.c = self.client.sessions[self.id().rsplit('.', 1)[-1]]
        self.c.insert_many({'_id': n, 'group': n % 3} for n in range(10))

    def ids_on_the_server(self):
        listed = self.client.admin.aggregate([{'$listLocalSessions': {}}])
        return [bytes(one['_id']['id']) for one in listed]

    def open_cursors(self):
        return self.client.admin.command('serverStatus')['cursors']['totalOpen']

    def test_are_announced(self):
        self.assertEqual(self.client.admin.command('hello')['logicalSessionTimeoutMinutes'], 30)

    def test_are_used_by_every_command_without_asking(self):
        self.c.update_one({'_id': 1}, {'$set': {'a': 1}})
        self.c.find_one_and_update({'_id': 1}, {'$inc': {'a': 1}})
        self.c.delete_one({'_id': 9})
        self.assertEqual(self.c.distinct('group'), [0, 1, 2])
        self.assertEqual(self.c.count_documents({}), 9)
        self.c.create_index('group')
        self.assertEqual(len(list(self.c.list_indexes())), 2)
        self.client.sessions.list_collection_names()
        self.c.drop()
        for name, command in self.watcher.sent:
            self.assertIn('lsid', command, name)
            self.assertEqual(command['lsid']['id'].subtype, UUID_SUBTYPE)
            self.assertNotIn('txnNumber', command, name)

    def test_asked_for(self):
        with self.client.start_session() as session:
            own = bytes(session.session_id['id'])
            self.c.insert_one({'_id': 'in'}, session=session)
            self.assertEqual(self.c.find_one({'_id': 'in'}, session=session), {'_id': 'in'})
            self.assertEqual(bytes(self.watcher.last('find')['lsid']['id']), own)
            self.assertIn(own, self.ids_on_the_server())
            self.assertEqual(len(list(self.c.find({}, batch_size=2, session=session))), 11)
            self.assertEqual(bytes(self.watcher.last('getMore')['lsid']['id']), own)
            groups = self.c.aggregate([{'$group': {'_id': '$group'}}, {'$sort': {'_id': 1}}],
                                      batchSize=1, session=session)
            self.assertEqual([one['_id'] for one in groups], [None, 0, 1, 2])

    def test_their_cursors_are_theirs(self):
        with self.client.start_session() as one, self.client.start_session() as two:
            reply = self.client.sessions.command('find', self.c.name, batchSize=1, session=one)
            more = {'getMore': reply['cursor']['id'], 'collection': self.c.name, 'batchSize': 1}
            self.fails(50738, self.client.sessions.command, more, session=two)
            # Not asked for, and still one: that of the driver.
            self.fails(50738, self.client.sessions.command, more)
            self.assertEqual(len(self.client.sessions.command(more, session=one)
                                 ['cursor']['nextBatch']), 1)
            self.assertEqual(self.client.sessions.command(
                'killCursors', self.c.name, cursors=[reply['cursor']['id']],
                session=two)['cursorsKilled'], [reply['cursor']['id']])

    def test_end_with_their_client(self):
        before = self.open_cursors()
        client = pymongo.MongoClient(case.URI)
        session = client.start_session()
        cursor = client.sessions[self.c.name].find({}, batch_size=2, session=session)
        next(cursor)
        own = bytes(session.session_id['id'])
        self.assertIn(own, self.ids_on_the_server())
        self.assertEqual(self.open_cursors(), before + 1)
        # The driver ends the sessions of its pool when it is closed; this one goes back to it.
        self.client.admin.command('endSessions', [session.session_id])
        self.assertNotIn(own, self.ids_on_the_server())
        self.assertEqual(self.open_cursors(), before)
        self.fails(43, list, cursor)
        session.end_session()
        client.close()

    def test_closing_a_client_leaves_none_behind(self):
        client = pymongo.MongoClient(case.URI)
        ids = set()
        for _ in range(3):
            with client.start_session() as session:
                client.sessions[self.c.name].find_one(session=session)
                ids.add(bytes(session.session_id['id']))
        client.close()
        self.assertFalse(ids & set(self.ids_on_the_server()))

    def test_are_refreshed_and_killed(self):
        with self.client.start_session() as session:
            self.client.admin.command('refreshSessions', [session.session_id])
            own = bytes(session.session_id['id'])
            self.assertIn(own, self.ids_on_the_server())
            cursor = self.c.find({}, batch_size=2, session=session)
            next(cursor)
            self.client.admin.command('killSessions', [session.session_id])
            self.assertNotIn(own, self.ids_on_the_server())
            self.fails(43, list, cursor)

    def test_transactions_are_refused_by_their_name(self):
        with self.client.start_session() as session:
            session.start_transaction()
            error = self.fails(20, self.c.insert_one, {'_id': 'never'}, session=session)
            self.assertIn('only allowed on a replica set member', str(error))
            self.assertNotIn('retryWrites', str(error))
            session.abort_transaction()
        lsid = {'id': Binary(b'0123456789abcdef', UUID_SUBTYPE)}
        self.fails(20, self.client.sessions.command, 'insert', self.c.name,
                   documents=[{'_id': 'never'}], lsid=lsid, txnNumber=bson.Int64(1))
        self.fails(20, self.client.admin.command, 'commitTransaction', lsid=lsid,
                   txnNumber=bson.Int64(1), autocommit=False)
        self.assertIsNone(self.c.find_one({'_id': 'never'}))

    def test_a_read_after_a_write_of_the_same_session(self):
        with self.client.start_session(causal_consistency=True) as session:
            self.c.insert_one({'_id': 'mine'}, session=session)
            self.assertEqual(self.c.count_documents({'_id': 'mine'}, session=session), 1)
        with self.client.start_session(snapshot=True) as session:
            with self.assertRaises((errors.OperationFailure, errors.ConfigurationError)):
                self.c.find_one({}, session=session)


if __name__ == '__main__':
    case.main(Sessions)
