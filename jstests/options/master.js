// --master: a log of all writes in local.oplog.$main, for those that follow a server by its log.
// Wire spec 6.1.
// Group: options

const options = ['--smallfiles', '--nssize', '1', '--master', '--oplogSize', '8'];
const server = startServer({options});
const db1 = server.shell.getDB('test');

// mongosh itself refuses the name of the collection.
function entries(filter = {}, of = server) {
    const local = of.shell.getDB('local');
    return local.runCommand({find: 'oplog.$main', filter, batchSize: 10000}).cursor.firstBatch;
}

function newest(of = server) {
    const all = entries({}, of);
    return all[all.length - 1];
}

test('each write has an entry', () => {
    db1.getCollection('c').insertOne({_id: 1, a: 1});
    db1.getCollection('c').updateOne({_id: 1}, {$inc: {a: 1}, $push: {list: 'x'}});
    db1.getCollection('c').replaceOne({_id: 1}, {b: 5});
    db1.getCollection('c').createIndex({b: 1});
    db1.getCollection('c').deleteOne({_id: 1});
    db1.getCollection('c').drop();
    assertEq(entries().map(e => [e.op, e.ns, e.o2 || null, e.o]), [
        ['n', '', null, {}],
        ['c', 'test.$cmd', null, {create: 'c'}],
        ['i', 'test.c', null, {_id: 1, a: 1}],
        ['u', 'test.c', {_id: 1}, {$set: {a: 2, list: ['x']}}],
        ['u', 'test.c', {_id: 1}, {_id: 1, b: 5}],
        ['i', 'test.system.indexes', null, {v: 1, key: {b: 1}, name: 'b_1', ns: 'test.c'}],
        ['d', 'test.c', null, {_id: 1}],
        ['c', 'test.$cmd', null, {drop: 'c'}],
    ]);
    assertEq(newest().b, undefined);
    assertEq(entries({op: 'd'})[0].b, true);
});

test('a cursor that tails it gets what comes', () => {
    const local = server.shell.getDB('local');
    const opened = local.runCommand({
        find: 'oplog.$main', filter: {ts: {$gt: newest().ts}}, tailable: true, awaitData: true,
        oplogReplay: true,
    });
    const id = opened.cursor.id;
    assertEq(opened.cursor.firstBatch, []);
    db1.getCollection('t').insertOne({_id: 1});
    db1.getCollection('t').insertOne({_id: 2});
    const seen = [];
    waitFor('both entries', () => {
        const reply = local.runCommand({getMore: id, collection: 'oplog.$main', maxTimeMS: 100});
        for (const entry of reply.cursor.nextBatch) {
            seen.push([entry.op, entry.o._id || entry.o.create]);
        }
        return seen.length === 3;
    });
    assertEq(seen, [['c', 't'], ['i', 1], ['i', 2]]);
    local.runCommand({killCursors: 'oplog.$main', cursors: [id]});
});

test('only the server writes it', () => {
    const local = server.shell.getDB('local');
    for (const command of [
        {insert: 'oplog.$main', documents: [{_id: 1}]},
        {update: 'oplog.$main', updates: [{q: {op: 'n'}, u: {$set: {op: 'x'}}}]},
        {drop: 'oplog.$main'},
        {createIndexes: 'oplog.$main', indexes: [{key: {op: 1}, name: 'op'}]},
        {dropDatabase: 1},
    ]) {
        const reply = replyTo(local, command);
        const error = reply.writeErrors ? reply.writeErrors[0] : reply;
        assertEq(error.code, 20, EJSON.stringify(command));
    }
    const before = entries().length;
    local.getCollection('own').insertOne({_id: 1});
    assertEq(entries().length, before);
});

test('it goes on after a restart, and keeps its size', () => {
    const before = entries();
    stopServer(server);
    const again = startServer({options: options.concat(), dbpath: server.dbpath});
    assertEq(entries({}, again), before);
    again.shell.getDB('test').getCollection('c').insertOne({_id: 7});
    const last = newest(again);
    assertEq(last.o, {_id: 7});
    assertTrue(last.ts.greaterThan(before[before.length - 1].ts));
    stopServer(again);
    // Without the option it is a collection like any other.
    const plain = startServer({options: ['--smallfiles', '--nssize', '1'], dbpath: server.dbpath});
    plain.shell.getDB('test').getCollection('c').insertOne({_id: 8});
    assertEq(entries({'o._id': 8}, plain), []);
    assertEq(plain.shell.getDB('local').runCommand({drop: 'oplog.$main'}).ok, 1);
    stopServer(plain);
});

test('its size alone makes none', () => {
    const run = runServer(['--dbpath', newFolder('alone'), '--oplogSize', '8']);
    assertEq(run.exitCode, 2);
    assertContains(run.output, '--oplogSize needs --master or --replSet');
});
