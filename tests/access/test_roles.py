"""Every command for each role: which roles are authorized, and which are not.

Only whether the answer is code 13 counts, so a command that fails for want of an argument will do.
A new command needs a line here, and a decision.
"""

import access
from access import UNAUTHORIZED

import command_requests

# Of the database `test`, and of admin; `elsewhere` reads another database, `none` has no role.
OF_DATABASES = ['read', 'readWrite', 'dbAdmin', 'userAdmin', 'dbOwner']
OF_ADMIN = ['readAnyDatabase', 'readWriteAnyDatabase', 'dbAdminAnyDatabase',
            'userAdminAnyDatabase', 'clusterMonitor', 'hostManager', 'clusterManager',
            'clusterAdmin', 'backup', 'restore', 'root']
ALL = set(OF_DATABASES + OF_ADMIN + ['none', 'elsewhere'])

READ = {'read', 'readWrite', 'dbOwner', 'readAnyDatabase', 'readWriteAnyDatabase', 'backup', 'root'}
CHANGE = {'readWrite', 'dbOwner', 'readWriteAnyDatabase', 'root'}
WRITE = CHANGE | {'restore'}
ADMINISTER = {'dbAdmin', 'dbOwner', 'dbAdminAnyDatabase', 'root'}
SHAPE = WRITE | ADMINISTER
USERS = {'userAdmin', 'dbOwner', 'userAdminAnyDatabase', 'root'}
MONITOR = {'clusterMonitor', 'clusterAdmin', 'root'}
HOST = {'hostManager', 'clusterAdmin', 'root'}
CLUSTER = MONITOR | {'clusterManager'}

# On the database `test`, or on admin where they run there only. What is not listed is for every
# client that has logged in, whatever its roles.
ALLOWED = {
    **dict.fromkeys(['aggregate', 'count', 'dataSize', 'distinct', 'explain', 'filemd5', 'find',
                     'geoNear', 'geoSearch', 'group', 'mapReduce', 'parallelCollectionScan',
                     'text'], READ),
    **dict.fromkeys(['bulkWrite', 'delete', 'insert', 'update'], WRITE),
    **dict.fromkeys(['cloneCollectionAsCapped', 'findAndModify'], CHANGE),
    **dict.fromkeys(['convertToCapped', 'create', 'createIndexes', 'drop', 'dropIndexes'], SHAPE),
    **dict.fromkeys(['compact', 'planCacheClear', 'profile', 'reIndex', 'validate'], ADMINISTER),
    **dict.fromkeys(['createRole', 'createUser', 'dropAllRolesFromDatabase', 'dropRole', 'dropUser',
                     'grantPrivilegesToRole', 'grantRolesToRole', 'grantRolesToUser',
                     'revokePrivilegesFromRole', 'revokeRolesFromRole', 'revokeRolesFromUser',
                     'rolesInfo', 'updateUser', 'usersInfo'], USERS),
    'updateRole': {'userAdminAnyDatabase', 'root'},
    **dict.fromkeys(['connPoolStats', 'currentOp', 'cursorInfo', 'getCmdLineOpts', 'getLog',
                     'hostInfo', 'top'], MONITOR),
    **dict.fromkeys(['closeAllDatabases', 'connPoolSync', 'createBackup', 'diagLogging', 'fsync',
                     'killAllSessions', 'killAllSessionsByPattern', 'killOp', 'logRotate',
                     'setParameter', 'touch'], HOST),
    **dict.fromkeys(['getShardMap', 'replSetGetConfig', 'replSetGetStatus', 'shardingState'],
                    CLUSTER),
    **dict.fromkeys(['replSetAbortPrimaryCatchUp', 'replSetFreeze', 'replSetInitiate',
                     'replSetMaintenance', 'replSetReconfig', 'replSetResizeOplog',
                     'replSetStepDown', 'replSetStepUp', 'replSetSyncFrom'],
                    {'clusterManager', 'clusterAdmin', 'root'}),
    **dict.fromkeys(['planCacheListFilters', 'planCacheListPlans', 'planCacheListQueryShapes',
                     'dbHash'], READ | ADMINISTER),
    **dict.fromkeys(['collStats', 'dbStats'], READ | ADMINISTER | MONITOR),
    **dict.fromkeys(['listCollections', 'listIndexes'],
                    READ | ADMINISTER | MONITOR | {'restore'}),
    **dict.fromkeys(['authSchemaUpgrade', 'invalidateUserCache'], HOST | {'userAdminAnyDatabase'}),
    'collMod': ADMINISTER | {'restore'},
    # Members alone; eval, roles that people make.
    **dict.fromkeys(['eval', 'replSetHeartbeat', 'replSetRequestVotes',
                     'replSetUpdatePosition'], set()),
    'dropDatabase': ADMINISTER | {'clusterAdmin'},
    'getParameter': MONITOR | {'backup', 'restore'},
    'renameCollection': {'readWriteAnyDatabase', 'dbAdminAnyDatabase', 'root'},
    'repairDatabase': ADMINISTER | HOST,
    **dict.fromkeys(['getDiagnosticData', 'serverStatus'], MONITOR | {'backup'}),
}
# Without a login too.
OPEN = {'authenticate', 'buildInfo', 'connectionStatus', 'getLastError', 'getPrevError',
        'getnonce', 'handshake', 'hello', 'isMaster', 'ping', 'resetError', 'whatsmyuri'}
# They end a login or the server, or take the users away; the other tests have them.
ELSEWHERE = {'dropAllUsersFromDatabase', 'fsyncUnlock', 'logout', 'saslContinue', 'saslStart',
             'shutdown'}


class Matrix(access.Case):
    def test_each_command_for_each_role(self):
        who = {'no login': self.connect()}
        for role in sorted(ALL):
            database = {'elsewhere': 'other'}.get(role, 'test' if role not in OF_ADMIN else 'admin')
            roles = {'none': [], 'elsewhere': ['read']}.get(role, [role])
            self.root[database].command('createUser', 'has ' + role, pwd='pw', roles=roles)
            who[role] = self.connect()
            self.assertEqual(who[role].log_in('has ' + role, 'pw', database)['ok'], 1)
        commands = self.root.admin.command('listCommands')['commands']
        self.assertEqual(set(ALLOWED) - set(commands), set(), 'there is no such command')
        for name in sorted(set(commands) - ELSEWHERE):
            database = 'admin' if commands[name]['adminOnly'] else 'test'
            request = dict(command_requests.REQUESTS.get(name) or {name: 1})
            for key, value in request.items():
                if isinstance(value, str):
                    request[key] = value.replace('DB.', database + '.')
            let_in = set()
            for role, client in who.items():
                self.root.test.c.update_one({'_id': 1}, {'$set': {'a': 1}}, upsert=True)
                if client.run(request, database).get('code') != UNAUTHORIZED:
                    let_in.add(role)
            expected = ALLOWED.get(name, ALL)
            self.assertEqual(let_in, set(who) if name in OPEN else expected, name)
