// --replSet: the only member of a replica set, as drivers, the shell's rs.* and readers of
// local.oplog.rs see it. Wire spec 6.1, 7.
// Group: options

const options = ['--smallfiles', '--nssize', '1', '--replSet', 'rs0', '--oplogSize', '8'];
const server = startServer({options});
const host = `127.0.0.1:${server.port}`;

function entries(filter = {}, of = server) {
    return of.shell.getDB('local').getCollection('oplog.rs').find(filter).toArray();
}

function code(db, command) {
    const reply = replyTo(db, command);
    return reply.ok ? 0 : reply.code;
}

test('before it is initiated it takes no writes and says why', () => {
    const admin = server.shell.getDB('admin');
    const hello = admin.runCommand({isMaster: 1});
    assertEq([hello.ismaster, hello.secondary, hello.isreplicaset], [false, false, true]);
    assertEq(code(server.shell.getDB('test'), {insert: 'c', documents: [{_id: 1}]}), 10107);
    assertEq(code(server.shell.getDB('test'), {find: 'c'}), 13436);
    assertEq(code(admin, {replSetGetStatus: 1}), 94);
    assertEq(code(admin, {replSetGetConfig: 1}), 94);
    assertEq(server.shell.getDB('local').getCollection('startup_log').countDocuments({}), 1);
});

test('what it cannot be initiated with', () => {
    const admin = server.shell.getDB('admin');
    const members = [{_id: 0, host}, {_id: 1, host: '127.0.0.1:1'}];
    const many = assertCommandFails(admin, {replSetInitiate: {_id: 'rs0', members}}, 93);
    assertContains(many.errmsg, 'have a priority above 0');
    assertContains(many.errmsg, '--coordinator');
    assertCommandFails(admin, {replSetInitiate: {_id: 'rs1', members: [{_id: 0, host}]}}, 93);
    const other = [{_id: 0, host: '127.0.0.1:1'}];
    assertCommandFails(admin, {replSetInitiate: {_id: 'rs0', members: other}}, 74);
    assertEq(server.shell.getDB('local').getCollection('system.replset').countDocuments({}), 0);
});

test('rs.initiate makes it the primary', () => {
    db = server.shell.getDB('test');
    const reply = rs.initiate();
    assertEq([reply.ok, reply.me], [1, host]);
    const hello = rs.isMaster();
    assertEq([hello.ismaster, hello.secondary, hello.setName, hello.setVersion, hello.hosts,
              hello.primary, hello.me],
             [true, false, 'rs0', 1, [host], host, host]);
    assertEq(`${hello.electionId}`.includes('7fffffff0000000000000001'), true);
    assertEq(hello.logicalSessionTimeoutMinutes, 30);
    const status = rs.status();
    assertEq([status.set, status.myState, status.members.length, status.members[0].stateStr],
             ['rs0', 1, 1, 'PRIMARY']);
    assertEq(rs.conf().members[0].host, host);
    db.getCollection('c').insertOne({_id: 1});
    assertEq(entries().map(e => [e.op, e.ns, e.o, Number(e.t), e.v]), [
        ['n', '', {msg: 'initiating set'}, 1, 2],
        ['c', 'test.$cmd', {create: 'c'}, 1, 2],
        ['i', 'test.c', {_id: 1}, 1, 2],
    ]);
    const info = db.getReplicationInfo();
    assertBetween(8, info.configuredLogSizeMB, 9);
    assertEq(rs.printReplicationInfo() !== undefined, true);
});

test('a driver that asks for the set finds it, and w: 2 fails at once', () => {
    const set = new Mongo(`mongodb://${host}/?replicaSet=rs0&retryWrites=false`);
    const coll = set.getDB('test').getCollection('d');
    coll.insertOne({_id: 1}, {writeConcern: {w: 'majority', wtimeout: 60000}});
    assertEq(coll.find({_id: 1}).toArray(), [{_id: 1}]);
    const failed = assertThrowsCode(100, () => coll.insertOne({_id: 2}, {writeConcern: {w: 2}}));
    assertContains(failed.message, 'Not enough data-bearing nodes');
    assertEq(coll.countDocuments({_id: 2}), 1);
    // By its defaults too: writes are numbered, and answered from the log when they come again.
    const usual = new Mongo(`mongodb://${host}/?replicaSet=rs0`);
    assertEq(usual.getDB('test').getCollection('d').insertOne({_id: 3}).insertedId, 3);
    set.close();
    usual.close();
});

test('rs.reconfig, and what one member cannot do', () => {
    const admin = server.shell.getDB('admin');
    db = server.shell.getDB('test');
    const config = rs.conf();
    config.members[0].tags = {dc: 'east'};
    config.settings.getLastErrorModes = {there: {dc: 1}};
    assertEq(rs.reconfig(config).ok, 1);
    assertEq(rs.conf().version, 2);
    assertEq(rs.isMaster().tags, {dc: 'east'});
    const coll = db.getCollection('d');
    coll.insertOne({}, {writeConcern: {w: 'there'}});
    assertThrowsCode(79, () => coll.insertOne({}, {writeConcern: {w: 'nowhere'}}));
    assertEq(entries({op: 'n'}).pop().o, {msg: 'Reconfig set', version: 2});
    assertCommandFails(admin, {replSetReconfig: config}, 103);
    assertCommandFails(admin, {replSetStepDown: 60}, 50);
    assertCommandFails(admin, {replSetFreeze: 60}, 95);
    config.members.push({_id: 1, host: '127.0.0.1:1'});
    config.version = 9;
    assertCommandFails(admin, {replSetReconfig: config}, 93);
    assertEq(admin.runCommand({serverStatus: 1}).repl.setName, 'rs0');
});

test('only the server writes the log', () => {
    const local = server.shell.getDB('local');
    for (const command of [
        {insert: 'oplog.rs', documents: [{_id: 1}]},
        {update: 'oplog.rs', updates: [{q: {op: 'n'}, u: {$set: {op: 'x'}}}]},
        {drop: 'oplog.rs'},
        {renameCollection: 'local.oplog.rs', to: 'local.other'},
    ]) {
        const on = command.renameCollection ? server.shell.getDB('admin') : local;
        const reply = replyTo(on, command);
        const error = reply.writeErrors ? reply.writeErrors[0] : reply;
        assertEq(error.code, 20, EJSON.stringify(command));
    }
});

test('a restart begins a term', () => {
    const before = entries();
    stopServer(server);
    const again = startServer({options, dbpath: server.dbpath, port: server.port});
    db = again.shell.getDB('test');
    const last = entries({}, again).pop();
    assertEq([last.op, last.o, Number(last.t)], ['n', {msg: 'new primary'}, 2]);
    assertTrue(last.ts.greaterThan(before[before.length - 1].ts));
    assertEq(`${rs.isMaster().electionId}`.includes('7fffffff0000000000000002'), true);
    assertEq(rs.conf().version, 2);
    stopServer(again);
    const plain = startServer({options: ['--smallfiles', '--nssize', '1'], dbpath: server.dbpath});
    assertContains(serverLog(plain), 'started without --replSet, yet local.system.replset');
    assertEq(plain.shell.getDB('test').getCollection('c').countDocuments({}), 1);
    stopServer(plain);
});

test('a server that is called otherwise now is no member until it is reconfigured', () => {
    const moved = startServer({options, dbpath: server.dbpath});
    const admin = moved.shell.getDB('admin');
    assertEq(admin.runCommand({isMaster: 1}).ismaster, false);
    assertCommandFails(admin, {replSetGetStatus: 1}, 93);
    assertEq(code(moved.shell.getDB('test'), {insert: 'c', documents: [{_id: 9}]}), 10107);
    assertContains(serverLog(moved), 'rs.reconfig(configuration, {force: true})');
    const config = moved.shell.getDB('local').getCollection('system.replset').findOne();
    config.members[0].host = `127.0.0.1:${moved.port}`;
    assertEq(admin.runCommand({replSetReconfig: config, force: true}).ok, 1);
    assertEq(admin.runCommand({isMaster: 1}).ismaster, true);
    moved.shell.getDB('test').getCollection('c').insertOne({_id: 9});
    stopServer(moved);
});

test('the UUID of a collection of a set lasts as long as it', () => {
    const dbpath = newFolder('uuids');
    const first = startServer({options, dbpath});
    const of = (shell, name) => String(
        shell.getDB('test').getCollectionInfos({name})[0].info.uuid);
    db = first.shell.getDB('test');
    rs.initiate();
    db.getCollection('made').insertOne({});
    const uuid = of(first.shell, 'made');
    const rename = {renameCollection: 'test.made', to: 'test.renamed'};
    assertEq(first.shell.getDB('admin').runCommand(rename).ok, 1);
    assertEq(of(first.shell, 'renamed'), uuid);
    db.getCollection('made').insertOne({});
    assertTrue(of(first.shell, 'made') !== uuid);
    stopServer(first);
    const again = startServer({options, dbpath, port: first.port});
    assertEq(of(again.shell, 'renamed'), uuid);
    stopServer(again);
});

test('options that contradict each other', () => {
    for (const [words, text] of [
        [['--replSet', 'rs0', '--master'], "Can't use --master together with --replSet"],
        [['--replSet', ''], '--replSet names no set'],
        [['--replSet', 'rs0/a,b'], 'hosts behind the name are not supported'],
    ]) {
        const run = runServer(['--dbpath', newFolder('options'), ...words]);
        assertEq(run.exitCode, 2);
        assertContains(run.output, text);
    }
});
