"""What mongodump, mongorestore, mongoexport, mongoimport, mongostat, mongotop and mongofiles say.

These programs are in no registry. Their conversations, as they were once recorded, are spoken here
command by command, and of each answer the fields that they read are checked with their types."""

import datetime

import bson
import case
from bson import Int64, ObjectId
from conversation import BOOL, DATE, DOUBLE, INT, LONG, TEXT, Conversation
from pymongo import errors

MAJORITY = {'w': 'majority'}


class Tools(Conversation):
    def greet(self):
        for name in ('isMaster', 'ismaster'):
            self.has(self.ok('admin', name), ismaster=BOOL, maxBsonObjectSize=INT,
                     maxMessageSizeBytes=INT, maxWriteBatchSize=INT, localTime=DATE,
                     minWireVersion=INT, maxWireVersion=INT)
        self.ok('admin', 'ping')
        self.assertEqual(self.code_of('admin', 'atlasVersion'), 59)
        build = self.ok('admin', 'buildInfo')
        self.has(build, version=TEXT, gitVersion=TEXT, versionArray=list, bits=INT, debug=BOOL,
                 maxBsonObjectSize=INT)
        self.assertEqual([type(n) for n in build['versionArray']], [int] * 4)
        return build

    def documents(self, coll, **find):
        """A find as the tools send it, and getMores without a batch size in its session."""
        ns = '%s.%s' % (self.db.name, coll)
        with self.client.start_session() as session:
            cursor = self.cursor_of(self.ok(self.db.name, 'find', value=coll, session=session,
                                            **find), ns)
            found = cursor['firstBatch']
            while cursor['id']:
                reply = self.db.command('getMore', cursor['id'], collection=coll, session=session)
                cursor = self.cursor_of(reply, ns, 'nextBatch')
                found += cursor['nextBatch']
        return found

    def dump(self, query=None):
        """mongodump of the test's database: ({collection: documents}, {collection: indexes})."""
        self.greet()
        names = self.ok('admin', 'listDatabases', filter={}, nameOnly=True)
        self.assertIn({'name': self.db.name}, names['databases'])
        listed = self.cursor_of(self.ok(self.db.name, 'listCollections', filter={}, cursor={}),
                                self.db.name + '.$cmd.listCollections')
        documents, indexes = {}, {}
        for each in listed['firstBatch']:
            self.has(each, name=TEXT, options=dict)
            coll = each['name']
            if coll.startswith('system.') or '$' in coll:
                continue
            for _ in range(2):
                self.assertIn(type(self.ok(self.db.name, 'count', value=coll)['n']), (INT, LONG))
            specs = self.cursor_of(self.ok(self.db.name, 'listIndexes', value=coll, cursor={}),
                                   '%s.$cmd.listIndexes.%s' % (self.db.name, coll))['firstBatch']
            for spec in specs:
                self.has(spec, v=INT, key=dict, name=TEXT)
            find = {'filter': query} if query else {'filter': {}, 'hint': {'$natural': 1}}
            documents[coll] = [bson.encode(d) for d in self.documents(coll, **find)]
            indexes[coll] = (specs, each['options'])
        return documents, indexes

    def restore(self, db, documents, indexes, drop=False):
        self.greet()
        for coll, (specs, options) in indexes.items():
            self.cursor_of(self.ok(db, 'listCollections', filter={'name': coll}, cursor={}),
                           db + '.$cmd.listCollections')
            if drop:
                self.assertIn(self.drop(db, coll), (0, 26))
            id_index = dict(next(s for s in specs if s['name'] == '_id_'), ns='%s.%s' % (db, coll))
            self.ok(db, 'create', value=coll, idIndex=id_index, writeConcern=MAJORITY, **options)
            batch = [bson.decode(d) for d in documents[coll]]
            for start in range(0, len(batch), 1000):
                part = batch[start:start + 1000]
                reply = self.ok(db, 'insert', value=coll, documents=part, ordered=False,
                                writeConcern=MAJORITY)
                self.has(reply, n=INT)
                self.assertEqual(reply['n'], len(part))
            others = [dict(s, ns='%s.%s' % (db, coll)) for s in specs if s['name'] != '_id_']
            if others:
                made = self.ok(db, 'createIndexes', value=coll, indexes=others,
                               writeConcern=MAJORITY)
                self.has(made, numIndexesBefore=INT, numIndexesAfter=INT,
                         createdCollectionAutomatically=BOOL)

    def drop(self, db, coll):
        try:
            self.ok(db, 'drop', value=coll, writeConcern=MAJORITY)
        except errors.OperationFailure as error:
            return error.code
        return 0

    def fill(self):
        self.db.plain.insert_many([{'_id': n, 'a': n % 10, 'text': 'x' * 100, 'at': Int64(n),
                                    'list': [n, {'deep': 1.5}]} for n in range(3000)])
        self.db.plain.create_index('a', background=True)
        self.db.plain.create_index([('text', 1), ('a', -1)], unique=False, sparse=True)
        self.db.unique.create_index('u', unique=True)
        self.db.unique.insert_many([{'_id': ObjectId(), 'u': n} for n in range(10)])
        self.db.create_collection('ring', capped=True, size=8192, max=5)
        self.db.ring.insert_many([{'_id': n} for n in range(20)])
        self.db.expiring.create_index('when', expireAfterSeconds=3600)

    def test_dump_drop_restore_dump(self):
        self.fill()
        first = self.dump()
        self.assertEqual(sorted(first[0]), ['expiring', 'plain', 'ring', 'unique'])
        self.assertEqual(len(first[0]['plain']), 3000)
        self.assertEqual([bson.decode(d)['_id'] for d in first[0]['ring']], list(range(15, 20)))
        self.restore(self.db.name, *first, drop=True)
        self.assertEqual(self.dump(), first)

    def test_dump_of_a_part(self):
        self.fill()
        documents, _ = self.dump(query={'a': 3})
        self.assertEqual(len(documents['plain']), 300)

    def test_restore_over_what_is_there(self):
        self.fill()
        batch = list(self.db.unique.find())
        reply = self.ok(self.db.name, 'insert', value='unique', ordered=False,
                        documents=batch + [{'_id': 'new', 'u': 'new'}], writeConcern=MAJORITY)
        self.has(reply, n=INT, writeErrors=list)
        self.assertEqual(reply['n'], 1)
        for index, error in enumerate(reply['writeErrors']):
            self.has(error, index=INT, code=INT, errmsg=TEXT)
            self.assertEqual((error['index'], error['code']), (index, 11000))
        self.assertEqual(self.code_of(self.db.name, 'create', value='unique'), 48)

    def test_export_and_import(self):
        self.fill()
        self.greet()
        self.cursor_of(self.ok(self.db.name, 'listCollections', filter={'name': 'plain'},
                               cursor={}), self.db.name + '.$cmd.listCollections')
        rows = self.documents('plain', filter={'a': {'$lt': 5}}, sort={'_id': 1}, skip=0, limit=0,
                              projection={'a': 1})
        self.assertEqual(rows[:2] + rows[-1:],
                         [{'_id': 0, 'a': 0}, {'_id': 1, 'a': 1}, {'_id': 2994, 'a': 4}])
        self.greet()
        self.assertEqual(self.drop(self.db.name, 'target'), 0)
        for start in range(0, len(rows), 1000):
            part = rows[start:start + 1000]
            self.assertEqual(self.ok(self.db.name, 'insert', value='target', documents=part,
                                     ordered=False, writeConcern=MAJORITY)['n'], len(part))
        upserts = [{'q': {'_id': n}, 'u': {'_id': n, 'z': n}, 'upsert': True}
                   for n in (0, 1, 'new')]
        reply = self.ok(self.db.name, 'update', value='target', updates=upserts, ordered=True,
                        writeConcern=MAJORITY)
        self.has(reply, n=INT, nModified=INT, upserted=list)
        self.assertEqual((reply['n'], reply['nModified'], reply['upserted']),
                         (3, 2, [{'index': 2, '_id': 'new'}]))
        self.assertEqual(self.db.target.count_documents({}), len(rows) + 1)

    def test_mongofiles(self):
        self.greet()
        self.assertEqual(self.documents('fs.files', filter={}), [])
        self.assertEqual(self.code_of(self.db.name, 'listIndexes', value='fs.files', cursor={}), 26)
        for coll, key, unique in (('fs.files', {'filename': 1, 'uploadDate': 1}, False),
                                  ('fs.chunks', {'files_id': 1, 'n': 1}, True)):
            name = '_'.join('%s_1' % field for field in key)
            spec = dict({'key': key, 'name': name}, **({'unique': True} if unique else {}))
            reply = self.ok(self.db.name, 'createIndexes', value=coll, indexes=[spec])
            self.assertEqual(reply['numIndexesAfter'], 2)
        file_id = ObjectId()
        chunks = [{'_id': ObjectId(), 'files_id': file_id, 'n': n, 'data': b'x' * 261120}
                  for n in range(4)]
        self.assertEqual(self.ok(self.db.name, 'insert', value='fs.chunks',
                                 documents=chunks)['n'], 4)
        self.ok(self.db.name, 'insert', value='fs.files', documents=[
            {'_id': file_id, 'length': Int64(4 * 261120), 'chunkSize': 261120, 'filename': 'f',
             'uploadDate': datetime.datetime(2020, 1, 1)}])
        back = self.documents('fs.chunks', filter={'files_id': file_id}, sort={'n': 1})
        self.assertEqual(back, chunks)
        md5 = self.ok(self.db.name, 'filemd5', value=file_id, root='fs')
        self.has(md5, numChunks=INT, md5=TEXT)

    def test_mongostat(self):
        self.ok('admin', 'ping')
        before = self.status()
        self.db.c.insert_many([{} for _ in range(10)])
        self.db.c.find_one()
        self.db.c.update_one({}, {'$set': {'a': 1}})
        self.db.c.delete_one({})
        after = self.status()
        grown = {name: after['opcounters'][name] - before['opcounters'][name]
                 for name in ('insert', 'query', 'update', 'delete')}
        self.assertEqual(grown, {'insert': 10, 'query': 1, 'update': 1, 'delete': 1})
        self.assertGreater(after['network']['numRequests'], before['network']['numRequests'])
        self.assertGreater(after['uptimeMillis'], 0)

    def status(self):
        """serverStatus, where the tool takes a number for an integer or gives up."""
        status = self.ok('admin', 'serverStatus', recordStats=0)
        self.has(status, host=TEXT, version=TEXT, process=TEXT, pid=LONG, uptime=DOUBLE,
                 uptimeMillis=LONG, localTime=DATE, asserts__regular=INT, asserts__user=INT,
                 backgroundFlushing__flushes=INT, backgroundFlushing__total_ms=INT,
                 backgroundFlushing__average_ms=DOUBLE, backgroundFlushing__last_ms=INT,
                 connections__current=INT, connections__available=INT,
                 connections__totalCreated=LONG, globalLock__totalTime=LONG,
                 globalLock__lockTime=LONG, globalLock__currentQueue__total=INT,
                 globalLock__currentQueue__readers=INT, globalLock__currentQueue__writers=INT,
                 globalLock__activeClients__total=INT, globalLock__activeClients__readers=INT,
                 globalLock__activeClients__writers=INT, network__bytesIn=LONG,
                 network__bytesOut=LONG, network__numRequests=INT, opcounters__insert=INT,
                 opcounters__query=INT, opcounters__update=INT, opcounters__delete=INT,
                 opcounters__getmore=INT, opcounters__command=INT, mem__bits=INT,
                 mem__resident=INT, mem__virtual=INT, mem__supported=BOOL, mem__mapped=INT,
                 mem__mappedWithJournal=INT, dur__commits=INT, writeBacksQueued=BOOL)
        for section in ('asserts', 'connections', 'dur', 'globalLock', 'mem', 'network',
                        'opcounters', 'opcountersRepl', 'recordStats', 'locks', 'uptime',
                        'uptimeEstimate'):
            self.no_fractions(status.get(section, 0), section)
        return status

    def no_fractions(self, value, where):
        if isinstance(value, dict):
            for name, each in value.items():
                self.no_fractions(each, '%s.%s' % (where, name))
        elif isinstance(value, float):
            self.assertEqual(value, int(value), where)

    def test_mongotop(self):
        self.ok('admin', 'ping')
        self.ok('admin', 'ismaster')
        self.db.c.insert_one({})
        self.db.c.find_one()
        totals = self.ok('admin', 'top')['totals']
        self.assertIsInstance(totals.pop('note'), str)
        self.assertIn(self.db.name + '.c', totals)
        for each in totals.values():
            for kind in ('total', 'readLock', 'writeLock', 'queries', 'getmore', 'insert', 'update',
                         'remove', 'commands'):
                self.assertIn(type(each[kind]['time']), (INT, LONG))
                self.assertIn(type(each[kind]['count']), (INT, LONG))
        self.assertEqual(totals[self.db.name + '.c']['insert']['count'], 1)
        for name, each in self.ok('admin', 'serverStatus')['locks'].items():
            self.assertNotIn('acquireCount', each)
            for part in ('timeLockedMicros', 'timeAcquiringMicros'):
                for number in each[part].values():
                    self.assertIs(type(number), LONG, '%s.%s' % (name, part))


if __name__ == '__main__':
    case.main(Tools)
