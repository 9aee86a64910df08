// Databases and collections: made, listed, renamed, dropped; statistics; unknown commands.
// Wire spec 2.2 to 2.5.
// Group: core

const server = startServer();
const db1 = server.shell.getDB('test');
const admin = server.shell.getDB('admin');

test('create, list, drop', () => {
    db1.createCollection('made');
    assertCommandFails(db1, {create: 'made'}, 48);
    const listed = db1.getCollectionInfos({name: 'made'});
    assertEq([listed.length, listed[0].name, listed[0].type], [1, 'made', 'collection']);
    assertTrue(db1.getCollection('made').drop());
    assertEq(db1.runCommand({drop: 'made'}), {ok: 1});
    assertEq(db1.getCollectionInfos({name: 'made'}), []);
});

test('capped collections keep the newest in order of insertion', () => {
    db1.createCollection('capped', {capped: true, size: 8192, max: 10});
    const t = db1.getCollection('capped');
    for (let i = 0; i < 25; i++) {
        t.insertOne({_id: i});
    }
    assertEq(t.find().toArray().map(document => document._id),
             [15, 16, 17, 18, 19, 20, 21, 22, 23, 24]);
    assertEq(t.find().sort({$natural: -1}).limit(1).toArray(), [{_id: 24}]);
    assertTrue(t.isCapped());
    assertTrue(t.validate({full: true}).valid);
});

test('rename', () => {
    db1.getCollection('from').insertOne({_id: 1});
    db1.getCollection('target').insertOne({_id: 2});
    assertCommandFails(admin, {renameCollection: 'test.from', to: 'test.target'}, 48);
    assertEq(admin.runCommand({renameCollection: 'test.from', to: 'test.target',
                               dropTarget: true}).ok, 1);
    assertEq(db1.getCollection('target').find().toArray(), [{_id: 1}]);
    assertCommandFails(admin, {renameCollection: 'test.from', to: 'test.other'}, 26);
});

test('listDatabases and dropDatabase', () => {
    server.shell.getDB('passing').getCollection('c').insertOne({});
    const names = () => admin.runCommand({listDatabases: 1}).databases.map(entry => entry.name);
    assertTrue(names().includes('passing'));
    assertEq(server.shell.getDB('passing').dropDatabase().dropped, 'passing');
    assertTrue(!names().includes('passing'));
    assertEq(server.shell.getDB('passing').dropDatabase().ok, 1);
});

test('statistics count', () => {
    const t = db1.getCollection('statistics');
    t.insertMany([{a: 'x'.repeat(100)}, {a: 'x'.repeat(200)}]);
    const stats = db1.runCommand({collStats: 'statistics'});
    assertEq([stats.ns, stats.count, stats.nindexes], ['test.statistics', 2, 1]);
    assertBetween(300, stats.size, compresses() ? 1e6 : stats.storageSize);
    assertBetween(1, stats.storageSize, 1e9);
    assertEq(t.stats().count, 2);
    const whole = db1.runCommand({dbStats: 1});
    assertEq(whole.db, 'test');
    assertBetween(2, whole.objects, 1e6);
    assertBetween(compresses() ? 1 : whole.dataSize, whole.storageSize, whole.fileSize);
});

test('unknown and misplaced commands', () => {
    assertContains(assertCommandFails(db1, {noSuchThing: 1}, 59).errmsg, 'no such cmd');
    assertCommandFails(db1, {listDatabases: 1}, 13);
    assertCommandFails(db1, {isdbgrid: 1}, 59);
});

test('hello announces the limits that clients expect', () => {
    const hello = admin.runCommand({hello: 1});
    assertEq([hello.isWritablePrimary, hello.maxBsonObjectSize, hello.maxMessageSizeBytes,
              hello.minWireVersion, hello.maxWireVersion],
             [true, 16777216, 48000000, 0, 9]);
    assertEq(hello.logicalSessionTimeoutMinutes, 30);
});

test('buildInfo and serverStatus', () => {
    const build = admin.runCommand({buildInfo: 1});
    assertEq([build.bits, build.maxBsonObjectSize], [64, 16777216]);
    assertTrue(/^\d+\.\d+\.\d+/.test(build.version));
    const status = admin.runCommand({serverStatus: 1});
    assertEq([status.process, Number(status.pid)], ['mongod', server.process.pid]);
    for (const section of ['asserts', 'backgroundFlushing', 'connections', 'cursors', 'dur',
                           'globalLock', 'locks', 'mem', 'metrics', 'network', 'opcounters']) {
        assertTrue(status[section] !== undefined, section);
    }
    assertEq(admin.runCommand({serverStatus: 1, dur: 0}).dur, undefined);
});

test('opcounters count', () => {
    const count = () => admin.runCommand({serverStatus: 1}).opcounters.insert;
    const before = count();
    db1.getCollection('counted').insertMany([{}, {}, {}]);
    assertEq(count() - before, 3);
});

const uuidOf = (shell, name) => String(
    shell.getDB('test').getCollectionInfos({name})[0].info.uuid);

test('the UUID of a collection follows from its name outside of a set', () => {
    db1.getCollection('lasting').insertOne({});
    const first = uuidOf(server.shell, 'lasting');
    db1.getCollection('other').insertOne({});
    assertTrue(uuidOf(server.shell, 'other') !== first);
    const listed = db1.getCollection('system.namespaces').findOne({name: 'test.lasting'});
    assertEq(listed, {name: 'test.lasting'});
    stopServer(server);
    const again = startServer({dbpath: server.dbpath});
    assertEq(uuidOf(again.shell, 'lasting'), first);
    stopServer(again);
});
