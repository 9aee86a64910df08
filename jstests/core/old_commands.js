// Commands of the old server beside those that drivers send: names, distinct values, sizes, errors.
// Follows: docs/differences.md, "Protocol".
// Group: core
const server = startServer({options: ['--setParameter', 'enableTestCommands=1']});
const admin = server.shell.getDB('admin');
const test_db = server.shell.getDB('test');
const c = test_db.getCollection('c');
const codeOf = (db, command) => replyTo(db, command).code;

test('distinct has the same values by an index as without', () => {
    c.drop();
    c.insertMany([{_id: 1, a: 1}, {_id: 2, a: [2, 1]}, {_id: 3}, {_id: 4, a: []}, {_id: 5, a: 'x'},
                  {_id: 6, a: [[3]]}, {_id: 7, a: 1}]);
    const values = () => JSON.stringify(c.distinct('a').map((v) => JSON.stringify(v)).sort());
    const without = values();
    c.createIndex({a: 1, b: 1});
    assertEq(values(), without);
    assertEq(c.distinct('a').some((v) => v === null), false);
    c.insertOne({_id: 8, a: null});
    assertEq(c.distinct('a').some((v) => v === null), true);
});

test('dataSize measures a collection or a range of an index', () => {
    c.drop();
    for (let i = 0; i < 20; ++i)
        c.insertOne({_id: i, s: 'x'.repeat(100)});
    const whole = test_db.runCommand({dataSize: 'test.c'});
    assertEq(whole.numObjects, 20);
    const range = test_db.runCommand(
        {dataSize: 'test.c', keyPattern: {_id: 1}, min: {_id: 5}, max: {_id: 8}});
    assertEq(range.numObjects, 3);
    assertEq(range.size > 300 && range.size < whole.size, true);
    assertEq(codeOf(test_db, {dataSize: 'c'}), 17005);
    assertEq(codeOf(test_db, {dataSize: 'test.c', min: {_id: 5}}), 2);
});

test('parallelCollectionScan gives every document once', () => {
    const scan = test_db.runCommand({parallelCollectionScan: 'c', numCursors: 3});
    const ids = [];
    for (const {cursor} of scan.cursors) {
        const rest = test_db.runCommand({getMore: cursor.id, collection: 'c'});
        for (const d of [...cursor.firstBatch, ...rest.cursor.nextBatch]) ids.push(d._id);
    }
    assertEq(ids.sort((x, y) => x - y), [...Array(20).keys()]);
    assertEq(codeOf(test_db, {parallelCollectionScan: 'c', numCursors: 0}), 2);
    assertEq(codeOf(test_db, {parallelCollectionScan: 'nosuch', numCursors: 1}), 26);
});

test('a database exists in one case only', () => {
    assertEq(codeOf(server.shell.getDB('TEST'), {count: 'c'}), 13297);
    assertEq(codeOf(server.shell.getDB('Test'), {create: 'c'}), 13297);
});

test('collMod tells what it changed before it failed', () => {
    const reply = replyTo(test_db, {collMod: 'c', usePowerOf2Sizes: false, index: {}});
    assertEq(reply.code, 72);
    assertEq(reply.usePowerOf2Sizes_new, false);
});

test('a refused parameter keeps its value', () => {
    assertEq(codeOf(admin, {setParameter: 1, logLevel: 'x'}), 2);
    assertEq(admin.runCommand({getParameter: 1, logLevel: 1}).logLevel, 0);
    assertEq(codeOf(admin, {setParameter: 1, replApplyBatchSize: 5}), 2);
    assertEq(admin.runCommand({setParameter: 1, internalQueryCacheSize: 7}).was, 5000);
    assertEq(admin.runCommand({getParameter: 1, internalQueryCacheSize: 1}).internalQueryCacheSize,
             7);
});

test('notablescan refuses writes and counts that no index helps', () => {
    admin.runCommand({setParameter: 1, notablescan: true});
    assertEq(codeOf(test_db, {count: 'c', query: {s: 1}}), 2);
    assertEq(test_db.runCommand({count: 'c', query: {}}).n, 20);
    assertEq(replyTo(test_db, {update: 'c', updates: [{q: {s: 1}, u: {$set: {t: 1}}}]})
                 .writeErrors[0].code, 17243);
    assertEq(test_db.runCommand({find: 'c', filter: {}}).ok, 1);
    admin.runCommand({setParameter: 1, notablescan: false});
});

stopServer(server);
