"""The types that fields of replies must have, for any reply and for those of each command (wire
spec 2.0 to 2.5), and the functions that look."""

import datetime

from bson import Binary
from bson.int64 import Int64

DATABASE = 'surface'  # that the commands run on

INT32 = 'int32'
NUMBER = 'number without a fraction'
# path: type. A star stands for every element or field. (Wire spec 2.0 to 2.5.)
ANY_REPLY = {
    'ok': float, 'errmsg': str, 'code': INT32, 'codeName': str, 'localTime': datetime.datetime,
    'cursor.id': Int64, 'cursor.ns': str, 'cursor.firstBatch': list, 'cursor.nextBatch': list,
    'writeErrors.*.index': INT32, 'writeErrors.*.code': INT32, 'writeErrors.*.errmsg': str,
}
OF_COMMAND = {
    'startSession': {'id.id': Binary, 'timeoutMinutes': INT32},
    'hello': {'isWritablePrimary': bool, 'helloOk': bool, 'readOnly': bool},
    'isMaster': {'ismaster': bool, 'helloOk': bool, 'readOnly': bool},
    'bulkWrite': {'nErrors': INT32, 'nInserted': INT32, 'nMatched': INT32, 'nModified': INT32,
                  'nUpserted': INT32, 'nDeleted': INT32, 'cursor.firstBatch.*.ok': float,
                  'cursor.firstBatch.*.idx': INT32, 'cursor.firstBatch.*.n': INT32},
    'insert': {'n': INT32}, 'delete': {'n': INT32}, 'count': {'n': INT32},
    'update': {'n': INT32, 'nModified': INT32},
    'findAndModify': {'lastErrorObject.n': INT32, 'lastErrorObject.updatedExisting': bool},
    'getLastError': {'n': INT32, 'connectionId': INT32},
    'buildInfo': {'version': str, 'gitVersion': str, 'versionArray.*': INT32, 'bits': INT32,
                  'debug': bool, 'maxBsonObjectSize': INT32},
    'hostInfo': {'system.currentTime': datetime.datetime, 'system.cpuAddrSize': INT32,
                 'system.memSizeMB': INT32, 'system.numCores': INT32, 'system.numaEnabled': bool},
    'listDatabases': {'databases.*.name': str, 'databases.*.sizeOnDisk': float,
                      'databases.*.empty': bool, 'totalSize': float},
    'listCommands': {'commands.*.help': str, 'commands.*.slaveOk': bool,
                     'commands.*.adminOnly': bool},
    'getLog': {'totalLinesWritten': INT32, 'log.*': str},
    'getCmdLineOpts': {'argv.*': str, 'parsed': dict},
    'profile': {'was': INT32, 'slowms': INT32},
    'drop': {'ns': str, 'nIndexesWas': INT32},
    'dropDatabase': {'dropped': str},
    'dropIndexes': {'nIndexesWas': INT32},
    'createIndexes': {'createdCollectionAutomatically': bool, 'numIndexesBefore': INT32,
                      'numIndexesAfter': INT32},
    'reIndex': {'nIndexesWas': INT32, 'nIndexes': INT32, 'indexes': list},
    'killCursors': {'cursorsKilled.*': Int64, 'cursorsNotFound.*': Int64,
                    'cursorsAlive.*': Int64, 'cursorsUnknown.*': Int64},
    'collStats': {'ns': str, 'count': NUMBER, 'size': NUMBER, 'storageSize': NUMBER,
                  'numExtents': INT32, 'nindexes': INT32, 'lastExtentSize': INT32,
                  'paddingFactor': float, 'systemFlags': INT32, 'userFlags': INT32,
                  'totalIndexSize': NUMBER, 'indexSizes.*': NUMBER},
    'dbStats': {'db': str, 'collections': INT32, 'objects': NUMBER, 'avgObjSize': float,
                'indexes': INT32, 'nsSizeMB': INT32, 'dataFileVersion.major': INT32},
    'top': {'totals.DB.c.total.time': Int64, 'totals.DB.c.total.count': Int64},
    'validate': {'valid': bool, 'errors': list, 'nrecords': NUMBER, 'extentCount': INT32},
    'currentOp': {'inprog.*.opid': INT32, 'inprog.*.active': bool, 'inprog.*.op': str,
                  'inprog.*.ns': str, 'inprog.*.client': str, 'inprog.*.desc': str,
                  'inprog.*.connectionId': INT32, 'inprog.*.waitingForLock': bool,
                  'inprog.*.numYields': INT32, 'inprog.*.locks': dict,
                  'inprog.*.lockStats.timeLockedMicros.r': Int64},
    'getDiagnosticData': {
        'data.start': datetime.datetime, 'data.end': datetime.datetime,
        'data.serverStatus.start': datetime.datetime, 'data.serverStatus.end': datetime.datetime,
        'data.serverStatus.host': str, 'data.serverStatus.mem.resident': NUMBER},
    'serverStatus': {
        'host': str, 'version': str, 'process': str, 'pid': Int64, 'uptime': float,
        'uptimeMillis': Int64, 'uptimeEstimate': float,
        **{path: NUMBER for path in (
            'uptime', 'uptimeEstimate', 'asserts.*', 'connections.*', 'dur.commits',
            'dur.journaledMB', 'dur.writeToDataFilesMB', 'dur.compression',
            'dur.commitsInWriteLock', 'dur.earlyCommits', 'globalLock.totalTime',
            'globalLock.lockTime', 'globalLock.currentQueue.*', 'globalLock.activeClients.*',
            'locks.*.timeLockedMicros.*', 'locks.*.timeAcquiringMicros.*', 'mem.resident',
            'mem.virtual', 'mem.mapped', 'mem.mappedWithJournal', 'network.*', 'opcounters.*',
            'opcountersRepl.*', 'recordStats.accessesNotInMemory',
            'logicalSessionRecordCache.activeSessionsCount',
            'backgroundFlushing.flushes', 'backgroundFlushing.total_ms',
            'backgroundFlushing.last_ms', 'metrics.document.*', 'metrics.operation.*',
            'metrics.queryExecutor.*', 'metrics.record.*', 'metrics.ttl.*',
            'metrics.cursor.open.*', 'metrics.cursor.timedOut')},
        'backgroundFlushing.last_finished': datetime.datetime, 'mem.supported': bool,
        'opcounters.*': INT32, 'writeBacksQueued': bool},
}
for _name in ('hello', 'isMaster'):
    OF_COMMAND[_name].update(dict.fromkeys(
        ('maxBsonObjectSize', 'maxMessageSizeBytes', 'maxWriteBatchSize', 'minWireVersion',
         'maxWireVersion', 'logicalSessionTimeoutMinutes', 'connectionId'), INT32))
OPTIONAL = {'helloOk', 'readOnly', 'connectionId'}  # need not be there


def values_at(document, path):
    """Every value that a path with stars leads to. Collection names with a dot are one step."""
    step, _, rest = path.partition('.')
    if step == 'DB':
        second, _, rest = rest.partition('.')
        step = DATABASE + '.' + second
    if isinstance(document, list):
        found = document if step == '*' else []
    elif isinstance(document, dict):
        found = list(document.values()) if step == '*' else \
            [document[step]] if step in document else []
    else:
        found = []
    return [value for one in found for value in (values_at(one, rest) if rest else [one])]


def has_type(value, wanted):
    if wanted is INT32:
        return type(value) is int
    if wanted is NUMBER:
        return type(value) in (int, Int64) or type(value) is float and value == int(value)
    return isinstance(value, wanted) and not (wanted is float and isinstance(value, bool))
