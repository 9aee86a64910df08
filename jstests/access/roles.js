// What users of each role may do, see and list; cursors and sessions of others; passwords leave no
// trace in the log, the profile and the files.
// Group: access

const kUnauthorized = 13;
const first = path.join(newFolder('first'), 'user');
fs.writeFileSync(first, 'root\nroot-pw\n', {mode: 0o600});
const server = startServer({options: ['--smallfiles', '--nssize', '1', '--auth',
                                      '--firstUserFile', first]});
const clients = [];

function login(user, password = 'pw', database = 'test') {
    const client = new Mongo(`mongodb://${user}:${password}@127.0.0.1:${server.port}/` +
                             `?authSource=${database}&directConnection=true`);
    clients.push(client);
    return client;
}

const rootUser = login('root', 'root-pw', 'admin');
const test_db = rootUser.getDB('test');
test_db.getCollection('c').insertMany(Array.from({length: 300}, (_, i) => ({_id: i})));

// Makes a user; a client that is logged in as that one.
function make(user, roles, database = 'test') {
    rootUser.getDB(database).runCommand({createUser: user, pwd: 'pw', roles});
    return login(user, 'pw', database);
}

function refuse(db, commands) {
    for (const command of commands) assertCommandFails(db, command, kUnauthorized);
}

function take(db, commands) {
    for (const command of commands) assertEq(db.runCommand(command).ok, 1, show(command));
}

function aggregate(collection, ...pipeline) {
    return {aggregate: collection, pipeline, cursor: {}};
}

test('reading and writing', () => {
    const reader = make('reader', ['read']), writer = make('writer', ['readWrite']);
    const reads = reader.getDB('test'), writes = writer.getDB('test');
    assertEq(reads.getCollection('c').countDocuments({}), 300);
    assertEq(reads.getCollection('c').aggregate([{$match: {_id: {$lt: 5}}}]).toArray().length, 5);
    refuse(reads, [
        {insert: 'c', documents: [{}]}, {delete: 'c', deletes: [{q: {}, limit: 0}]},
        {update: 'c', updates: [{q: {}, u: {$set: {a: 1}}}]},
        {findAndModify: 'c', query: {}, remove: true},
        {createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a'}]}, {drop: 'c'}]);
    for (const stage of [{$out: 'd'}, {$merge: 'd'}, {$merge: {into: 'd'}}]) {
        refuse(reads, [aggregate('c', stage)]);
        take(writes, [aggregate('c', stage)]);
    }
    const elsewhere = {db: 'other', coll: 'd'};
    refuse(writes, [aggregate('c', {$out: elsewhere}), aggregate('c', {$merge: {into: elsewhere}}),
                    {dropDatabase: 1}]);
    test_db.getCollection('d').drop();
    take(writes, [{insert: 'd', documents: [{_id: 1}]},
                  {createIndexes: 'd', indexes: [{key: {a: 1}, name: 'a'}]}]);
    writes.getCollection('d').renameCollection('e');
    take(writes, [{drop: 'e'}]);
    refuse(reader.getDB('other'), [{find: 'c'}]);
    refuse(writer.getDB('other'), [{insert: 'c', documents: [{}]}]);
    refuse(writer.getDB('admin'), [{serverStatus: 1}]);
});

test('what is listed is what may be seen', () => {
    rootUser.getDB('hidden').getCollection('c').insertOne({});
    const reader = make('lister', ['read']);
    const listed = client => client.getDB('admin').runCommand({listDatabases: 1}).databases
        .map(each => each.name);
    assertEq(listed(reader), ['test']);
    assertTrue(listed(rootUser).includes('hidden'));
    assertTrue(reader.getDB('test').getCollectionNames().includes('c'));
    refuse(reader.getDB('hidden'), [{listCollections: 1}]);
    const own = reader.getDB('hidden').runCommand(
        {listCollections: 1, nameOnly: true, authorizedCollections: true});
    assertEq(own.cursor.firstBatch, []);
});

test('the server itself', () => {
    const operator = make('operator', ['clusterAdmin'], 'admin');
    take(operator.getDB('admin'), ['serverStatus', 'currentOp', 'top', 'getCmdLineOpts',
                                   'hostInfo', 'fsync'].map(name => ({[name]: 1})));
    refuse(operator.getDB('test'), [{find: 'c'}]);
    refuse(operator.getDB('admin'), [{usersInfo: 1}]);
    refuse(make('onlooker', ['readAnyDatabase'], 'admin').getDB('admin'), [
        {serverStatus: 1}, {currentOp: 1}, {fsync: 1}, {shutdown: 1}, {logRotate: 1},
        {setParameter: 1, logLevel: 0}, {getParameter: '*'},
        {aggregate: 1, pipeline: [{$currentOp: {}}], cursor: {}}]);
});

test('cursors of others', () => {
    const one = make('one', ['read']).getDB('test'), two = make('two', ['read']).getDB('test');
    const cursor = one.runCommand({find: 'c', batchSize: 2}).cursor;
    refuse(two, [{getMore: cursor.id, collection: 'c'},
                 {killCursors: 'c', cursors: [cursor.id]}]);
    const rest = one.runCommand({getMore: cursor.id, collection: 'c'}).cursor;
    assertEq([rest.nextBatch.length, Number(rest.id)], [298, 0]);
});

test('users of all databases are dumped by who may', () => {
    make('dumped', ['read']);
    for (const role of ['backup', 'userAdminAnyDatabase', 'root']) {
        const admin = make(`dumper-${role}`, [role], 'admin').getDB('admin');
        assertEq(admin.getCollection('system.users').findOne({_id: 'test.dumped'}).user, 'dumped');
    }
    for (const role of ['readAnyDatabase', 'readWriteAnyDatabase', 'dbAdminAnyDatabase',
                        'clusterAdmin']) {
        refuse(make(`no-dumper-${role}`, [role], 'admin').getDB('admin'),
               [{find: 'system.users'}, {collStats: 'system.users'}]);
    }
});

test('passwords leave no trace', () => {
    const secret = 'never-to-be-seen';
    const admin = rootUser.getDB('admin'), trace = rootUser.getDB('trace');
    take(admin, [{profile: 2, slowms: 0},
                 {setParameter: 1, logLevel: 2, traceExceptions: true}]);
    take(trace, [{profile: 2}, {createUser: 'quiet', pwd: secret, roles: ['read']},
                 {updateUser: 'quiet', pwd: `${secret}2`}]);
    const quiet = login('quiet', `${secret}2`, 'trace').getDB('trace');
    quiet.getCollection('c').findOne();
    const made = {createUser: 'x', pwd: secret, roles: []};
    refuse(quiet, [made, {explain: made}, {find: 'system.users', filter: {x: secret}}]);
    for (const command of [
        {explain: made}, {explain: {updateUser: 'quiet', pwd: secret}}, {explain: {explain: made}},
        {explain: {creatUser: 'x', pwd: secret}}, {creatUser: 'x', pwd: secret}, {explain: [made]},
        {explain: {saslStart: 1, payload: secret}},
        {grantRolesToUser: 'absent', roles: ['read'], pwd: secret},
        {dropUser: 'absent', pwd: secret},
    ]) {
        assertEq(replyTo(trace, command).ok, 0, show(command));
    }
    assertEq(replyTo(admin, {copydb: 1, fromdb: 'a', todb: 'b', key: secret}).ok, 0);
    const writes = [  // no user may write to the users of admin
        {insert: 'system.users', documents: [{_id: 'x', credentials: secret}]},
        {update: 'system.users', updates: [{q: {_id: 'x'}, u: {$set: {credentials: secret}}}]},
        {update: 'system.users', updates: [{q: {_id: 'x'}, u: {credentials: secret}}]},
        {find: 'system.users', filter: {_id: 'x', credentials: secret}},
        {delete: 'system.users', deletes: [{q: {_id: 'x', credentials: secret}, limit: 1}]}];
    for (const [db, commands] of [[admin, writes], [rootUser.getDB('other'), writes], [trace, [
        {explain: {find: 'system.users', filter: {x: secret}}},
        {explain: {update: 'system.users', updates: [{q: {}, u: {credentials: secret}}]}},
        {find: 'system.users\0', filter: {x: secret}},
        {dataSize: 'trace.system.users', keyPattern: {x: 1}, min: {x: secret}, max: {x: secret}},
        {hello: 1, speculativeAuthenticate: {saslStart: 1, mechanism: 'PLAIN', payload: secret,
                                             db: 'x'}},
    ]]]) {
        for (const command of commands) replyTo(db, command);  // done or refused
    }
    take(trace, [{profile: 0}]);
    take(admin, [{setParameter: 1, logLevel: 0, traceExceptions: false},
                 {profile: 0, slowms: 100}]);
    const profile = trace.getCollection('system.profile').find().toArray();
    assertEq([...new Set(profile.map(entry => entry.user))].sort(), ['quiet@trace', 'root@admin']);
    assertTrue(profile.some(entry => show(entry.allUsers) ===
                                     show([{user: 'quiet', db: 'trace'}])));
    assertTrue(profile.some(entry => (entry.command || {}).createUser === 'quiet'));
    const ofAdmin = admin.getCollection('system.profile').find().toArray();
    const log = admin.runCommand({getLog: 'global'});
    for (const text of [show(profile), show(ofAdmin), show(log), serverLog(server)]) {
        assertTrue(!text.includes(secret) && !text.includes('storedKey'));
    }
    assertTrue(!fs.readFileSync(path.join(server.dbpath, 'trace.0')).includes(secret));
});

for (const client of clients) client.close();
stopServer(server);
