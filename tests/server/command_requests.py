"""A request for every command that the server has, and what comes of it."""

import os

from bson import json_util

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
# command: a request that succeeds. `admin` commands run there, the others on the test's database.
# The collections c (documents with _id, a) and ring (capped) exist anew for each.
with open(os.path.join(os.path.dirname(__file__), 'requests.json'), encoding='utf-8') as _file:
    REQUESTS = json_util.loads(_file.read())
SESSION = REQUESTS['endSessions']['endSessions'][0]['id']
# What cannot succeed on this server, or not with the request above: the code it must fail with.
FAIL = {**dict.fromkeys(OF_SETS, 76), **dict.fromkeys(ON_ROLES, 31), 'dropUser': 11,
        'abortTransaction': 20, 'commitTransaction': 20, 'rotateCertificates': 20,
        'forceerror': 10038, 'fsyncUnlock': 20, 'geoNear': 2, 'geoSearch': 2, 'getMore': 43,
        'grantRolesToUser': 11, 'revokeRolesFromUser': 11, 'createBackup': 2, 'saslContinue': 17,
        'saslStart': 14, 'updateUser': 11, 'getDefaultRWConcern': 51300, 'eval': 115, 'group': 115,
        'mapReduce': 115, 'text': 2}
