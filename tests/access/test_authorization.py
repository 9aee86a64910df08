"""Requests of clients that have not logged in, or that lack the privilege."""

import os

import pymongo
from bson.int64 import Int64
from bson.son import SON

import access
import messages
from access import UNAUTHORIZED


class Unauthenticated(access.Case):
    def test_every_opcode(self):
        cursor = self.root.test.c.find(batch_size=2)
        next(cursor)
        client = self.connect()
        documents, flags = client.query('test.c', {})
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        for command in ('inprog', 'killop', 'unlock'):
            documents, _ = client.query('admin.$cmd.sys.' + command, {}, 1)
            self.assertEqual(documents[0]['code'], UNAUTHORIZED, command)
        documents, flags = client.query('test.$cmd', {'count': 'c'}, -1)
        self.assertEqual(documents[0]['code'], UNAUTHORIZED)
        documents, flags = client.get_more('test.c', cursor.cursor_id)
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        documents, flags = client.get_more('test.c', 4711)
        self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2))
        for send in (lambda: client.send_insert('test.c', {'_id': 'new'}),
                     lambda: client.send_insert('test.system.indexes',
                                             {'ns': 'test.c', 'key': {'a': 1}, 'name': 'a_1'}),
                     lambda: client.send_insert('admin.system.users', {'_id': 'admin.me'}),
                     lambda: client.send_update('test.c', {'_id': 1}, {'$set': {'a': 1}}),
                     lambda: client.send_update('test.c', {'_id': 'x'}, {'a': 1}, 1),
                     lambda: client.send_delete('test.c', {})):
            send()
            self.assertEqual(client.run({'getLastError': 1}, 'test')['code'], UNAUTHORIZED)
        locks = len(self.root.admin.command('serverStatus')['locks'])
        for namespace in ('test.c', 'test.nothing', 'nowhere.c', 'admin.system.users'):
            documents, flags = client.get_more(namespace, 4711)
            self.assertEqual((documents[0]['code'], flags & 2), (UNAUTHORIZED, 2), namespace)
        self.assertEqual(len(self.root.admin.command('serverStatus')['locks']), locks)
        client.send_kill_cursors(cursor.cursor_id, 4711)
        self.assertEqual(client.run({'ping': 1})['ok'], 1)
        self.assertEqual(len(list(cursor)), 299)
        self.assertEqual(self.root.test.c.count_documents({}), 300)
        self.assertEqual(self.root.test.c.count_documents({'a': {'$exists': True}}), 0)
        self.assertEqual(list(self.root.test.c.index_information()), ['_id_'])
        self.assertEqual(self.root.admin.command('usersInfo', 'me')['users'], [])

    def test_what_needs_no_login(self):
        client = self.connect()
        for command in ('hello', 'isMaster', 'ping', 'buildInfo', 'connectionStatus', 'whatsmyuri',
                        'getLastError', 'logout'):
            self.assertEqual(client.run({command: 1})['ok'], 1, command)
        self.assertNotIn('saslSupportedMechs', client.run({'hello': 1}))
        error = client.run({'find': 'c', 'filter': {'a': 1}}, 'test')
        self.assertEqual((error['code'], error['codeName']), (UNAUTHORIZED, 'Unauthorized'))
        self.assertTrue(error['errmsg'].startswith(
            'not authorized on test to execute command { find: "c", filter: { a: 1 }'), error)

    def test_messages_are_small(self):
        for size, answered in ((15 << 10, True), (17 << 10, False), (40 << 20, False)):
            client = self.connect()
            try:
                reply = client.run({'ping': 1, 'comment': 'x' * size})
                self.assertTrue(answered, size)
                self.assertEqual(reply['ok'], 1)
            except (ConnectionError, BrokenPipeError):
                self.assertFalse(answered, size)
        user = self.connect()
        self.assertEqual(user.log_in()['ok'], 1)
        self.assertEqual(user.run({'ping': 1, 'comment': 'x' * (1 << 20)})['ok'], 1)
        user.run({'logout': 1})
        with self.assertRaises((ConnectionError, BrokenPipeError)):
            user.run({'ping': 1, 'comment': 'x' * (1 << 20)})


    def test_what_cannot_be_read_is_logged_once(self):
        """With a line in the log for each message an unknown client could fill the disk."""
        for opcode, body in ((999, b''), (messages.OP_KILL_CURSORS, bytes(8)),
                             (messages.OP_INSERT, bytes(4) + b'a.b\0' + bytes(5)),
                             (messages.OP_QUERY, bytes(4)), (messages.OP_MSG, b'')):
            with self.subTest(opcode):
                client = self.connect()
                client.send(opcode, body)
                with self.assertRaises(ConnectionError):
                    for _ in range(2):  # the first one may be an answer to that message
                        client.run({'ping': 1})
        early = {'hello': 1, 'speculativeAuthenticate': {
            'saslStart': 1, 'mechanism': 'SCRAM-SHA-256', 'payload': b'x', 'db': 'told-once'}}
        client = self.connect()
        with open(self.server.log_path, encoding='utf-8', errors='replace') as log:
            log.seek(0, os.SEEK_END)
            for _ in range(100):
                self.assertNotIn('speculativeAuthenticate', client.run(early))
            told = log.read()
        self.assertNotIn('authentication failed', told)
        user = self.connect()
        user.log_in()
        user.send_kill_cursors()
        self.assertEqual(user.run({'ping': 1})['ok'], 1)


class Roles(access.Case):
    def test_reading_and_writing(self):
        reader = self.make('reader', ['read'])
        writer = self.make('writer', ['readWrite'])
        self.assertEqual(reader.test.c.count_documents({}), 300)
        self.assertEqual(len(list(reader.test.c.aggregate([{'$match': {'_id': {'$lt': 5}}}]))), 5)
        self.refused(UNAUTHORIZED, reader.test.c.insert_one, {})
        self.refused(UNAUTHORIZED, reader.test.c.update_one, {}, {'$set': {'a': 1}})
        self.refused(UNAUTHORIZED, reader.test.c.delete_many, {})
        self.refused(UNAUTHORIZED, reader.test.c.find_one_and_delete, {})
        self.refused(UNAUTHORIZED, reader.test.c.create_index, 'a')
        self.refused(UNAUTHORIZED, reader.test.c.drop)
        elsewhere = {'db': 'other', 'coll': 'd'}
        for stage in ({'$out': 'd'}, {'$merge': 'd'}, {'$merge': {'into': 'd'}}):
            self.refused(UNAUTHORIZED, reader.test.c.aggregate, [stage])
            writer.test.c.aggregate([stage])
        for stage in ({'$out': elsewhere}, {'$merge': {'into': elsewhere}}):
            self.refused(UNAUTHORIZED, writer.test.c.aggregate, [stage])
        self.root.test.d.drop()
        self.refused(UNAUTHORIZED, reader.other.c.find_one)
        writer.test.d.insert_one({'_id': 1})
        writer.test.d.create_index('a')
        writer.test.d.rename('e')
        writer.test.e.drop()
        self.refused(UNAUTHORIZED, writer.other.c.insert_one, {})
        self.refused(UNAUTHORIZED, writer.drop_database, 'test')
        self.refused(UNAUTHORIZED, writer.admin.command, 'serverStatus')

    def test_what_is_listed_is_what_may_be_seen(self):
        self.root.hidden.c.insert_one({})
        reader = self.make('lister', ['read'])
        self.assertEqual(reader.list_database_names(), ['test'])
        self.assertIn('hidden', self.root.list_database_names())
        self.assertIn('c', reader.test.list_collection_names())
        self.refused(UNAUTHORIZED, reader.hidden.list_collection_names)
        self.assertEqual(reader.hidden.list_collection_names(authorizedCollections=True), [])

    def test_the_server_itself(self):
        admin = self.make('operator', ['clusterAdmin'], 'admin')
        for command in ('serverStatus', 'currentOp', 'top', 'getCmdLineOpts', 'hostInfo', 'fsync'):
            self.assertEqual(admin.admin.command(command)['ok'], 1, command)
        self.refused(UNAUTHORIZED, admin.test.c.find_one)
        self.refused(UNAUTHORIZED, admin.admin.command, 'usersInfo')
        reader = self.make('onlooker', ['readAnyDatabase'], 'admin')
        for command in ('serverStatus', 'currentOp', 'fsync', 'shutdown', 'logRotate',
                        {'setParameter': 1, 'logLevel': 0}, {'getParameter': '*'}):
            self.refused(UNAUTHORIZED, reader.admin.command, command)
        self.refused(UNAUTHORIZED, lambda: list(reader.admin.aggregate([{'$currentOp': {}}])))

    def test_cursors_of_others(self):
        one = self.make('one', ['read'])
        two = self.make('two', ['read'])
        cursor = one.test.c.find(batch_size=2)
        next(cursor)
        self.refused(UNAUTHORIZED, two.test.command,
                     {'getMore': Int64(cursor.cursor_id), 'collection': 'c'})
        self.refused(UNAUTHORIZED, two.test.command,
                     {'killCursors': 'c', 'cursors': [Int64(cursor.cursor_id)]})
        self.assertEqual(len(list(cursor)), 299)

    def test_sessions_of_others(self):
        one = self.make('session-one', ['read'])
        two = self.make('session-two', ['readWrite'])
        with one.start_session() as session:
            cursor = one.test.c.find(batch_size=2, session=session)
            next(cursor)
            own = bytes(session.session_id['id'])

            def listed(client, spec):
                return [bytes(each['_id']['id']) for each in
                        client.admin.aggregate([{'$listLocalSessions': spec}])]
            self.assertIn(own, listed(one, {}))
            self.assertNotIn(own, listed(two, {}))
            self.refused(UNAUTHORIZED, listed, two, {'allUsers': True})
            self.assertIn(own, listed(self.root, {'allUsers': True}))
            for command in ('endSessions', 'killSessions'):
                two.admin.command(command, [{'id': session.session_id['id']}])
            two.admin.command('killSessions', [])
            self.refused(UNAUTHORIZED, two.admin.command, 'killAllSessions', [])
            self.assertEqual(len(list(cursor)), 299)

    def test_passwords_leave_no_trace(self):
        self.root.admin.command('profile', 2, slowms=0)
        self.root.trace.command('profile', 2)
        self.root.admin.command('setParameter', 1, logLevel=2, traceExceptions=True)
        secret = 'never-to-be-seen'
        self.root.trace.command('createUser', 'quiet', pwd=secret, roles=['read'])
        self.root.trace.command('updateUser', 'quiet', pwd=secret + '2')
        self.client('quiet', secret + '2', 'trace').trace.c.find_one()
        made = {'createUser': 'x', 'pwd': secret, 'roles': []}
        for command in (made, SON(explain=made), SON(find='system.users', filter={'x': secret})):
            self.refused(UNAUTHORIZED, self.client('quiet', secret + '2', 'trace').trace.command,
                         command)
        for command in (SON(explain=made), SON(explain={'updateUser': 'quiet', 'pwd': secret}),
                        SON(explain={'explain': made}), SON(explain={'creatUser': 'x',
                                                                     'pwd': secret}),
                        {'creatUser': 'x', 'pwd': secret}, {'explain': [made]},
                        {'explain': {'saslStart': 1, 'payload': secret}},
                        SON(grantRolesToUser='absent', roles=['read'], pwd=secret),
                        SON(dropUser='absent', pwd=secret)):
            self.assertRaises(pymongo.errors.OperationFailure, self.root.trace.command, command)
        for command in (SON(explain={'find': 'system.users', 'filter': {'x': secret}}),
                        SON(explain={'update': 'system.users', 'updates': [
                            {'q': {}, 'u': {'credentials': secret}}]}),
                        SON(find='system.users\0', filter={'x': secret}),
                        SON(dataSize='trace.system.users', keyPattern={'x': 1}, min={'x': secret},
                            max={'x': secret}),
                        SON(hello=1, speculativeAuthenticate={
                            'saslStart': 1, 'mechanism': 'PLAIN', 'payload': secret, 'db': 'x'})):
            try:
                self.root.trace.command(command)
            except pymongo.errors.OperationFailure:
                pass
        with self.assertRaises(pymongo.errors.OperationFailure):
            self.root.admin.command(SON(copydb=1, fromdb='a', todb='b', key=secret))
        for database in ('admin', 'other'):  # no user may write to the first one
            users = self.root[database]['system.users']
            for write in (lambda c: c.insert_one({'_id': 'x', 'credentials': secret}),
                          lambda c: c.update_one({'_id': 'x'}, {'$set': {'credentials': secret}}),
                          lambda c: c.replace_one({'_id': 'x'}, {'credentials': secret}),
                          lambda c: c.find_one({'_id': 'x', 'credentials': secret}),
                          lambda c: c.delete_one({'_id': 'x', 'credentials': secret})):
                try:
                    write(users)
                except pymongo.errors.OperationFailure:
                    pass
        self.root.admin.command('setParameter', 1, logLevel=0, traceExceptions=False)
        self.root.trace.command('profile', 0)
        self.root.admin.command('profile', 0, slowms=100)
        profile = list(self.root.trace.system.profile.find())
        self.assertEqual({entry['user'] for entry in profile}, {'root@admin', 'quiet@trace'})
        self.assertIn([{'user': 'quiet', 'db': 'trace'}],
                      [entry['allUsers'] for entry in profile])
        self.assertTrue([entry for entry in profile
                         if entry.get('command', {}).get('createUser') == 'quiet'], profile)
        for text in (str(profile), str(list(self.root.admin.system.profile.find())),
                     open(self.server.log_path, encoding='utf-8', errors='replace').read(),
                     str(self.root.admin.command('getLog', 'global'))):
            self.assertNotIn(secret, text)
            self.assertNotIn('storedKey', text)
        with open(os.path.join(self.server.dbpath, 'trace.0'), 'rb') as file:
            self.assertNotIn(secret.encode(), file.read())
