// What a start changes in the data: local.startup_log, temporary collections, --repair.
// Mmapv1 spec 1.1 rule 5, 7.1; wire spec 2.4, 6.1.
// Group: core

const small = ['--smallfiles', '--nssize', '1'];
const test1 = server => server.shell.getDB('test');
const starts = server => server.shell.getDB('local').getCollection('startup_log');

test('every start is in local.startup_log', () => {
    const server = startServer({options: small});
    const first = starts(server).findOne();
    assertEq(Object.keys(first), ['_id', 'hostname', 'startTime', 'startTimeLocal', 'cmdLine',
                                  'pid', 'buildinfo']);
    assertEq(first.pid, Long.fromNumber(server.process.pid));
    assertEq(first._id.startsWith(`${first.hostname}-`), true);
    const startedMs = Number(first._id.slice(first.hostname.length + 1));
    assertEq(first.startTime.getTime(), startedMs - startedMs % 1000);
    assertTrue(/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\.\d{3}$/.test(
        first.startTimeLocal), first.startTimeLocal);
    const admin = server.shell.getDB('admin');
    assertEq(first.cmdLine, admin.runCommand({getCmdLineOpts: 1}).parsed);
    const info = admin.runCommand({buildInfo: 1});
    delete info.ok;
    assertEq(first.buildinfo, info);
    assertEq(server.shell.getDB('local').getCollection('system.namespaces').find().toArray(), [
        {name: 'local.startup_log', options: {capped: true, size: 10485760}},
        {name: 'local.system.indexes'},
        {name: 'local.startup_log.$_id_'}]);
    stopServer(server);
    const again = startServer({options: small, folder: server.folder});
    assertEq(starts(again).countDocuments({}), 2);
    stopServer(again);
});

test('temporary collections do not outlive the server', () => {
    const server = startServer({options: small});
    const db = test1(server);
    for (const name of ['gone', 'kept', 'plain']) {
        assertEq(db.runCommand(Object.assign({create: name},
                                             name === 'plain' ? {} : {temp: true})).ok, 1);
        db.getCollection(name).insertOne({_id: 1});
    }
    db.getCollection('gone').createIndex({a: 1});
    assertEq(server.shell.getDB('admin').runCommand(
        {renameCollection: 'test.kept', to: 'test.renamed'}).ok, 1);
    stopServer(server);
    const again = startServer({options: small, folder: server.folder});
    assertEq(test1(again).getCollectionNames().sort(), ['plain', 'renamed']);
    assertContains(serverLog(again), 'dropping temporary collection test.gone');
    stopServer(again);
});

// Overwrites the length of the document whose text begins with `marker`.
function breakDocument(file, marker) {
    const bytes = fs.readFileSync(file);
    const text = bytes.indexOf(marker);
    // The length, _id as an int32, and the head of the string come before.
    const start = text - (4 + 1 + 4 + 4 + 1 + 5 + 4);
    assertTrue(text > 0 && bytes.indexOf(marker, text + 1) < 0, `${marker} is there once`);
    assertBetween(30, bytes.readInt32LE(start), 2000);
    const handle = fs.openSync(file, 'r+');
    fs.writeSync(handle, Buffer.from([0xff, 0xff, 0xff, 0x7f]), 0, 4, start);
    fs.closeSync(handle);
}

test('--repair leaves out what cannot be read and keeps the rest', () => {
    const server = startServer({options: small});
    const db = test1(server);
    assertEq(db.runCommand({create: 'ring', capped: true, size: 100000}).ok, 1);
    for (const name of ['plain', 'ring']) {
        const docs = [];
        for (let i = 0; i < 300; i++) {
            docs.push({_id: i, text: `${name}-${i}-${'x'.repeat(i)}`, n: i});
        }
        db.getCollection(name).insertMany(docs);
    }
    db.getCollection('plain').createIndex({n: 1}, {unique: true});
    const kept = db.getCollection('ring').find().toArray().map(doc => doc._id);
    stopServer(server);
    const file = path.join(server.dbpath, 'test.0');
    breakDocument(file, 'plain-77-');
    breakDocument(file, 'ring-290-');

    const broken = startServer({options: small, folder: server.folder});
    assertThrowsCode(10334, () => test1(broken).getCollection('plain').find().toArray());
    stopServer(broken);

    const repair = runServer(['--repair', '--dbpath', server.dbpath].concat(small));
    assertEq(repair.exitCode, 0, repair.output);
    assertContains(repair.output, 'repair of test.plain: 299 documents, 1 places skipped');
    assertContains(repair.output, 'repair of test.ring: skipping: ');

    const repaired = startServer({options: small, folder: server.folder});
    const plain = test1(repaired).getCollection('plain');
    assertEq(plain.countDocuments({}), 299);
    assertEq(plain.findOne({_id: 77}), null);
    assertEq(plain.find({_id: 78}, {_id: 1}).toArray(), [{_id: 78}]);
    assertEq(plain.getIndexes().map(index => [index.name, index.unique]),
             [['_id_', undefined], ['n_1', true]]);
    const ring = test1(repaired).getCollection('ring');
    assertEq(ring.find().toArray().map(doc => doc._id), kept.filter(id => id !== 290));
    assertEq(ring.isCapped(), true);
    for (const name of ['plain', 'ring', 'system.indexes', 'system.namespaces']) {
        assertTrue(test1(repaired).getCollection(name).validate({full: true}).valid, name);
    }
    assertEq(test1(repaired).getCollectionNames().sort(), ['plain', 'ring']);
    assertEq(test1(repaired).runCommand({repairDatabase: 1}).ok, 1);
    assertEq(ring.find().toArray().map(doc => doc._id), kept.filter(id => id !== 290));
    stopServer(repaired);
});

test('--repair of a database that cannot be opened says so and goes on with the others', () => {
    const server = startServer({options: small});
    server.shell.getDB('good').getCollection('c').insertOne({_id: 1});
    test1(server).getCollection('c').insertOne({_id: 1});
    stopServer(server);
    fs.truncateSync(path.join(server.dbpath, 'test.0'), 16000000);
    const repair = runServer(['--repair', '--dbpath', server.dbpath].concat(small));
    assertEq(repair.exitCode, 100, repair.output);
    assertContains(repair.output, 'test.0 has 16000000 bytes');
    assertContains(repair.output, 'repair of good.c: 1 documents, 0 places skipped');
});
