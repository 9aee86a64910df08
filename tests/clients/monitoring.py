"""What the monitoring agents ask: percona's exporter for Prometheus, Telegraf, Datadog, Netdata.

The programs are not run here. The commands that they send are public, and are sent as they send
them. Each is answered with the fields that they read, or refused with a code after which they go
on."""

import case
from bson import Regex
from conversation import BOOL, DATE, DOUBLE, INT, LONG, TEXT, Conversation

NO_REPLICATION, NOT_SUPPORTED, UNKNOWN, UNKNOWN_STAGE = 76, 115, 59, 40324
INVALID_OPTIONS, FAILED_TO_PARSE = 72, 9


class Monitoring(Conversation):
    def setUp(self):
        super().setUp()
        self.db.c.insert_many([{'_id': n, 'a': n} for n in range(20)])
        self.db.c.create_index('a')
        self.db.c.find_one({'a': 3})

    def rows(self, db, coll, *stages):
        reply = self.ok(db, 'aggregate', value=coll, pipeline=list(stages), cursor={})
        return reply['cursor']['firstBatch']

    def numbers(self, document, *paths):
        for path in paths:
            value = document
            for name in path.split('.'):
                self.assertIn(name, value, path)
                value = value[name]
            self.assertIn(type(value), (INT, LONG, DOUBLE), path)

    def greet(self):
        self.ok('admin', 'ping')
        for name in ('hello', 'isMaster', 'ismaster'):
            reply = self.ok('admin', name)
            self.has(reply, maxWireVersion=INT, **{
                'isWritablePrimary' if name == 'hello' else 'ismaster': BOOL})
            # What a replica set or a mongos would say.
            self.assertFalse({'setName', 'msg', 'arbiterOnly'} & set(reply))
        build = self.ok('admin', 'buildInfo')
        self.has(build, version=TEXT, gitVersion=TEXT, versionArray=list, bits=INT)

    def check_status(self, status):
        self.has(status, host=TEXT, version=TEXT, process=TEXT, pid=LONG, uptime=DOUBLE,
                 uptimeMillis=LONG, localTime=DATE, storageEngine__name=TEXT)
        self.assertEqual(status['storageEngine']['name'], 'mmapv1')
        self.numbers(
            status, 'asserts.regular', 'asserts.warning', 'asserts.msg', 'asserts.user',
            'asserts.rollovers', 'backgroundFlushing.flushes', 'backgroundFlushing.total_ms',
            'backgroundFlushing.average_ms', 'backgroundFlushing.last_ms', 'connections.current',
            'connections.available', 'connections.totalCreated', 'cursors.totalOpen',
            'cursors.timedOut', 'dur.commits', 'dur.journaledMB', 'dur.timeMs.dt',
            'dur.timeMs.writeToJournal', 'extra_info.page_faults', 'globalLock.totalTime',
            'globalLock.currentQueue.total', 'globalLock.currentQueue.readers',
            'globalLock.currentQueue.writers', 'globalLock.activeClients.total',
            'mem.bits', 'mem.resident', 'mem.virtual', 'mem.mapped', 'mem.mappedWithJournal',
            'metrics.cursor.open.total', 'metrics.cursor.open.pinned', 'metrics.cursor.timedOut',
            'metrics.document.inserted', 'metrics.document.returned', 'metrics.document.updated',
            'metrics.document.deleted', 'metrics.operation.scanAndOrder',
            'metrics.queryExecutor.scanned', 'metrics.queryExecutor.scannedObjects',
            'metrics.record.moves', 'metrics.ttl.deletedDocuments', 'metrics.ttl.passes',
            'network.bytesIn', 'network.bytesOut', 'network.numRequests', 'opcounters.insert',
            'opcounters.query', 'opcounters.update', 'opcounters.delete', 'opcounters.getmore',
            'opcounters.command', 'opcountersRepl.insert')

    def check_not_replicating(self):
        for name in ('replSetGetStatus', 'replSetGetConfig'):
            self.assertEqual(self.code_of('admin', name), NO_REPLICATION)

    def check_databases(self, **more):
        listed = self.ok('admin', 'listDatabases', **more)['databases']
        self.assertIn(self.db.name, [each['name'] for each in listed])

    def check_db_stats(self, command='dbStats', **more):
        stats = self.ok(self.db.name, command, **more)
        self.has(stats, db=TEXT)
        self.numbers(stats, 'collections', 'objects', 'avgObjSize', 'dataSize', 'storageSize',
                     'indexes', 'indexSize', 'numExtents', 'fileSize')

    def check_coll_stats(self, stats):
        self.numbers(stats, 'count', 'size', 'avgObjSize', 'storageSize', 'nindexes',
                     'totalIndexSize', 'indexSizes.a_1')
        self.assertEqual(stats['count'], 20)

    def check_top(self, **more):
        totals = self.ok('admin', 'top', **more)['totals']
        for kind in ('total', 'readLock', 'writeLock', 'queries', 'getmore', 'insert', 'update',
                     'remove', 'commands'):
            self.numbers(totals[self.db.name + '.c'], kind + '.time', kind + '.count')

    def test_percona_mongodb_exporter(self):
        self.greet()
        data = self.ok('admin', 'getDiagnosticData')['data']
        self.has(data, start=DATE, end=DATE, serverStatus__start=DATE, serverStatus__end=DATE)
        self.check_status(data['serverStatus'])
        self.check_not_replicating()
        compatible = self.ok('admin', 'getParameter', featureCompatibilityVersion=1)
        version = self.ok('admin', 'buildInfo')['version']
        self.assertEqual(compatible['featureCompatibilityVersion'],
                         {'version': '.'.join(version.split('.')[:2])})
        self.has(self.ok('admin', 'getCmdLineOpts'), argv=list, parsed=dict)
        self.has(self.ok('admin', 'hostInfo'), system__hostname=TEXT, system__numCores=INT,
                 system__memSizeMB=INT, os__type=TEXT)
        self.check_databases(nameOnly=True, filter={'name': {'$nin': ['admin', 'config']}})
        listed = self.ok(self.db.name, 'listCollections', nameOnly=True, filter={
            'type': {'$nin': ['view']}, 'name': {'$not': Regex('^system[.]')}}, cursor={})
        self.assertEqual([each['name'] for each in listed['cursor']['firstBatch']], ['c'])
        self.check_db_stats(scale=1)
        self.check_db_stats(scale=1, freeStorage=1)
        asked = {'latencyStats': {'histograms': False}, 'storageStats': {'scale': 1}}
        hidden = {'storageStats.wiredTiger': 0, 'storageStats.indexDetails': 0}
        for stages in ([{'$collStats': asked}], [{'$collStats': asked}, {'$project': hidden}]):
            row, = self.rows(self.db.name, 'c', *stages)
            self.check_coll_stats(row['storageStats'])
            for kind in ('reads', 'writes', 'commands'):
                self.numbers(row['latencyStats'], kind + '.ops', kind + '.latency')
        row, = self.rows(self.db.name, 'c', {'$collStats': asked},
                         {'$project': {'storageStats.indexSizes': 0, 'latencyStats': 0}})
        self.assertNotIn('latencyStats', row)
        self.assertNotIn('indexSizes', row['storageStats'])
        self.assertEqual(row['storageStats']['count'], 20)
        rows = self.rows(self.db.name, 'c', {'$indexStats': {}})
        self.assertEqual(sorted(row['name'] for row in rows), ['_id_', 'a_1'])
        for row in rows:
            self.has(row, name=TEXT, key=dict, accesses__since=DATE)
            self.numbers(row, 'accesses.ops')
        self.check_top(value='1')
        self.has(self.ok('admin', 'currentOp', value=True, active=True,
                         microsecs_running={'$exists': True, '$gte': 1}, op={'$ne': ''},
                         ns={'$ne': '', '$not': Regex('^admin.*|^local.*')}), inprog=list)
        self.numbers(self.ok(self.db.name, 'profile', value=-1), 'was', 'slowms')
        self.assertEqual(self.ok(self.db.name, 'count', value='system.profile', query={})['n'], 0)

    def test_telegraf_mongodb(self):
        self.greet()
        status = self.ok('admin', 'serverStatus', recordStats=0)
        self.check_status(status)
        self.assertNotIn('recordStats', status)
        self.check_not_replicating()
        for coll in ('oplog.rs', 'oplog.$main'):
            found = self.ok('local', 'find', value=coll, filter={'ts': {'$exists': True}},
                            sort={'$natural': -1}, limit=1)
            self.assertEqual(found['cursor']['firstBatch'], [])
        self.assertEqual(self.rows('config', 'chunks', {'$match': {'jumbo': True}},
                                   {'$group': {'_id': 1, 'n': {'$sum': 1}}}), [])
        self.assertEqual(self.code_of('admin', 'shardConnPoolStats'), NOT_SUPPORTED)
        self.check_databases(nameOnly=True, filter={})
        self.check_db_stats()
        listed = self.ok(self.db.name, 'listCollections', nameOnly=True, filter={}, cursor={})
        self.assertIn('c', [each['name'] for each in listed['cursor']['firstBatch']])
        self.check_coll_stats(self.ok(self.db.name, 'collStats', value='c'))
        self.check_top()

    def test_datadog_mongo(self):
        self.greet()
        for tcmalloc in (False, True, 0, 1):
            self.check_status(self.ok('admin', 'serverStatus', tcmalloc=tcmalloc))
        self.check_not_replicating()
        self.assertEqual(self.code_of('admin', 'listShards'), UNKNOWN)
        self.has(self.ok('admin', 'getCmdLineOpts'), parsed=dict)
        self.has(self.ok('admin', 'hostInfo'), system__hostname=TEXT)
        self.check_databases()
        self.check_db_stats('dbstats')
        self.check_top()
        # By the version that buildInfo gives it takes the command; the stage has no queryExecStats.
        self.check_coll_stats(self.ok(self.db.name, 'collstats', value='c'))
        self.assertEqual(self.code_of(self.db.name, 'aggregate', value='c', cursor={}, pipeline=[
            {'$collStats': {'latencyStats': {}, 'storageStats': {}, 'queryExecStats': {}}}]),
            FAILED_TO_PARSE)
        self.assertEqual(len(self.rows(self.db.name, 'c', {'$indexStats': {}})), 2)
        self.ok('admin', 'aggregate', value=1, cursor={},
                pipeline=[{'$currentOp': {'allUsers': True}}])
        self.assertEqual(self.code_of('config', 'aggregate', value='system.sessions', cursor={},
                                      pipeline=[{'$listSessions': {'allUsers': True}},
                                                {'$count': 'total'}]), UNKNOWN_STAGE)
        self.assertEqual(len(self.rows(self.db.name, 'c', {'$sample': {'size': 5}})), 5)
        self.numbers(self.ok('admin', 'connPoolStats'), 'totalAvailable', 'totalCreated')
        found = self.ok('local', 'find', value='oplog.rs', sort={'$natural': 1}, limit=1)
        self.assertEqual(found['cursor']['firstBatch'], [])

    def test_netdata_mongodb(self):
        self.greet()
        wanted = dict.fromkeys(('document', 'cursor', 'queryExecutor'), True)
        others = dict.fromkeys(
            ('apiVersions', 'aggStageCounters', 'commands', 'dotsAndDollarsFields', 'getLastError',
             'mongos', 'operation', 'operatorCounters', 'query', 'record', 'repl', 'storage',
             'ttl'), False)
        status = self.ok('admin', 'serverStatus', repl=1, metrics=dict(wanted, **others))
        self.check_status(status)
        self.assertNotIn('repl', status)
        self.check_databases(nameOnly=True, filter={})
        self.check_db_stats()
        self.check_not_replicating()

    def test_what_has_no_effect_is_refused(self):
        self.assertEqual(self.code_of(self.db.name, 'aggregate', value='c', cursor={}, pipeline=[
            {'$collStats': {'latencyStats': {'histograms': True}}}]), INVALID_OPTIONS)


if __name__ == '__main__':
    case.main(Monitoring)
