"""A request for every command that the server has, and what comes of it."""

import bson
from bson.int64 import Int64
from bson.objectid import ObjectId

NEVER = {'shutdown'}  # ends the server; jstests/options/signals.js has it

# Of members of a replica set; this server is none.
OF_SETS = ['replSetAbortPrimaryCatchUp', 'replSetElect', 'replSetFreeze', 'replSetFresh',
           'replSetGetConfig', 'replSetGetRBID', 'replSetGetStatus', 'replSetHeartbeat',
           'replSetInitiate', 'replSetMaintenance', 'replSetReconfig', 'replSetRequestVotes',
           'replSetResizeOplog', 'replSetStepDown', 'replSetStepUp', 'replSetSyncFrom',
           'replSetTest', 'replSetUpdatePosition']

# name: the code by the old messages of a command that only OP_MSG brings.
OF_TODAY = {'bulkWrite': 59, 'getDefaultRWConcern': 59}

# They need one that is there.
ON_ROLES = ['dropRole', 'grantPrivilegesToRole', 'grantRolesToRole', 'revokePrivilegesFromRole',
            'revokeRolesFromRole', 'updateRole']
READ_C = [{'resource': {'db': 'test', 'collection': 'c'}, 'actions': ['find']}]

SESSION = bson.Binary(b'0123456789abcdef', 4)

# command: a request that succeeds. `admin` commands run there, the others on the test's database.
# The collections c (documents with _id, a) and ring (capped) exist anew for each.
REQUESTS = {
    '_commandFields': {'_commandFields': 1},
    '_hashBSONElement': {'_hashBSONElement': 'x'},
    '_indexKeys': {'_indexKeys': 'c', 'hint': '_id_'},
    '_isSelf': None, 'applyOps': {'applyOps': [{'op': 'n', 'ns': ''}]},
    'authSchemaUpgrade': None, 'getShardMap': None, 'getDefaultRWConcern': None,
    'getShardVersion': {'getShardVersion': 'test.c'},
    'aggregate': {'aggregate': 'c', 'pipeline': [], 'cursor': {'batchSize': 1}},
    'availableQueryOptions': None, 'buildInfo': None,
    'bulkWrite': {'bulkWrite': 1, 'nsInfo': [{'ns': 'test.c'}],
                  'ops': [{'insert': 0, 'document': {'_id': 60}},
                          {'delete': 0, 'filter': {'_id': 60}}]},
    'captrunc': {'captrunc': 'ring', 'n': 1},
    'cloneCollectionAsCapped': {'cloneCollectionAsCapped': 'c', 'toCollection': 'clone',
                                'size': 10000},
    'closeAllDatabases': None, 'dbHash': None, 'dbStats': None, 'diagLogging': None,
    'collMod': {'collMod': 'c', 'usePowerOf2Sizes': True},
    'collStats': {'collStats': 'c'},
    'compact': {'compact': 'c'},
    'connPoolStats': None, 'connPoolSync': None, 'connectionStatus': None,
    'convertToCapped': {'convertToCapped': 'c', 'size': 10000},
    'createBackup': {'createBackup': 1, 'backupDir': 'relative'},
    'count': {'count': 'c'},
    'create': {'create': 'made'},
    'createRole': {'createRole': 'made', 'privileges': [], 'roles': ['read']},
    'createUser': {'createUser': 'made', 'pwd': 'pw', 'roles': ['read']},
    'createIndexes': {'createIndexes': 'c', 'indexes': [{'key': {'a': 1}, 'name': 'a_1'}]},
    'currentOp': None, 'cursorInfo': None,
    'dataSize': {'dataSize': 'DB.c'},
    'delete': {'delete': 'c', 'deletes': [{'q': {}, 'limit': 1}]},
    'distinct': {'distinct': 'c', 'key': 'a'},
    'driverOIDTest': {'driverOIDTest': ObjectId()},
    'drop': {'drop': 'c'},
    'dropAllRolesFromDatabase': None, 'dropAllUsersFromDatabase': None, 'dropDatabase': None,
    'dropRole': {'dropRole': 'absent'},
    'dropUser': {'dropUser': 'absent'},
    'dropIndexes': {'dropIndexes': 'c', 'index': '*'},
    'emptycapped': {'emptycapped': 'ring'},
    'endSessions': {'endSessions': [{'id': SESSION}]},
    'explain': {'explain': {'find': 'c', 'filter': {'a': 1}}},
    'features': None, 'eval': {'eval': '1'}, 'group': {'group': {'ns': 'c'}},
    'text': {'text': 'c', 'search': 'x'},
    'filemd5': {'filemd5': 1, 'root': 'fs'},
    'find': {'find': 'c', 'batchSize': 1},
    'findAndModify': {'findAndModify': 'c', 'query': {'_id': 1}, 'update': {'$inc': {'a': 1}}},
    'forceerror': None,
    'fsync': None, 'fsyncUnlock': None, 'getCmdLineOpts': None, 'getLastError': None,
    'geoNear': {'geoNear': 'c', 'near': [1, 2]},
    'geoSearch': {'geoSearch': 'c', 'near': [1, 2], 'maxDistance': 1, 'search': {}},
    'getDiagnosticData': None, 'getLog': {'getLog': 'global'},
    'getMore': {'getMore': Int64(0), 'collection': 'c'},
    'getParameter': {'getParameter': '*'},
    'getPrevError': None, 'getnonce': None,
    'godinsert': {'godinsert': 'c', 'obj': {'_id': 99}},
    'grantPrivilegesToRole': {'grantPrivilegesToRole': 'absent', 'privileges': READ_C},
    'grantRolesToRole': {'grantRolesToRole': 'absent', 'roles': ['read']},
    'grantRolesToUser': {'grantRolesToUser': 'absent', 'roles': ['read']},
    'handshake': None, 'hello': None, 'hostInfo': None,
    'insert': {'insert': 'c', 'documents': [{'_id': 50}]},
    'invalidateUserCache': None, 'isMaster': None, 'journalLatencyTest': None,
    'killAllSessions': {'killAllSessions': []},
    'killAllSessionsByPattern': {'killAllSessionsByPattern': []},
    'killCursors': {'killCursors': 'c', 'cursors': [Int64(1)]},
    'killOp': {'killOp': 1, 'op': 1},
    'killSessions': {'killSessions': [{'id': SESSION}]},
    'listCollections': None, 'listCommands': None, 'listDatabases': None,
    'listIndexes': {'listIndexes': 'c'},
    'logRotate': None, 'logout': None, 'ping': None, 'mapReduce': {'mapReduce': 'c'},
    'parallelCollectionScan': {'parallelCollectionScan': 'c', 'numCursors': 1},
    'planCacheClear': {'planCacheClear': 'c'},
    'planCacheListFilters': {'planCacheListFilters': 'c'},
    'planCacheListPlans': {'planCacheListPlans': 'c', 'query': {'a': 1}},
    'planCacheListQueryShapes': {'planCacheListQueryShapes': 'c'},
    'profile': {'profile': -1},
    'reIndex': {'reIndex': 'c'},
    'refreshSessions': {'refreshSessions': [{'id': SESSION}]},
    'renameCollection': {'renameCollection': 'DB.c', 'to': 'DB.renamed'},
    'repairDatabase': None,
    **dict.fromkeys(OF_SETS),
    'resetError': None, 'rolesInfo': None, 'serverStatus': None, 'shardingState': None,
    'revokePrivilegesFromRole': {'revokePrivilegesFromRole': 'absent', 'privileges': READ_C},
    'revokeRolesFromRole': {'revokeRolesFromRole': 'absent', 'roles': ['read']},
    'revokeRolesFromUser': {'revokeRolesFromUser': 'absent', 'roles': ['read']},
    'saslContinue': {'saslContinue': 1, 'conversationId': 1},
    'saslStart': {'saslStart': 1, 'mechanism': 'SCRAM-SHA-1'},
    'setParameter': {'setParameter': 1, 'logLevel': 0},
    'sleep': {'sleep': 1, 'millis': 1},
    'startSession': None, 'top': None,
    'touch': {'touch': 'c', 'data': True},
    'update': {'update': 'c', 'updates': [{'q': {}, 'u': {'$set': {'a': 5}}}]},
    'updateRole': {'updateRole': 'absent', 'roles': ['read']},
    'updateUser': {'updateUser': 'absent', 'pwd': 'pw'},
    'usersInfo': None, 'validate': {'validate': 'c'}, 'whatsmyuri': None,
}
# What cannot succeed on this server, or not with the request above: the code it must fail with.
FAIL = {**dict.fromkeys(OF_SETS, 76), **dict.fromkeys(ON_ROLES, 31), 'dropUser': 11,
        'forceerror': 10038, 'fsyncUnlock': 20, 'geoNear': 2, 'geoSearch': 2, 'getMore': 43,
        'grantRolesToUser': 11,
        'revokeRolesFromUser': 11, 'createBackup': 2, 'saslContinue': 17, 'saslStart': 14,
        'updateUser': 11, 'getDefaultRWConcern': 51300, 'eval': 115, 'group': 115, 'mapReduce': 115,
        'text': 2}
