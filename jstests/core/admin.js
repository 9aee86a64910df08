// Administration: parameters, logs, currentOp, top, maintenance commands.
// Wire spec 2.2 to 2.4.
// Group: core

const server = startServer({options: ['--smallfiles', '--nssize', '1']});
const db1 = server.shell.getDB('test');
const admin = server.shell.getDB('admin');

test('parameters are read and set', () => {
    assertEq(admin.runCommand({getParameter: 1, logLevel: 1}).logLevel, 0);
    assertEq(admin.runCommand({setParameter: 1, logLevel: 2}).was, 0);
    assertEq(admin.runCommand({getParameter: 1, logLevel: 1}).logLevel, 2);
    admin.runCommand({setParameter: 1, logLevel: 0});
    assertEq(admin.runCommand({getParameter: 1, syncdelay: 1}).syncdelay, 60);
    assertContains(assertCommandFails(admin, {getParameter: 1, noSuchParameter: 1}, 72).errmsg,
                   'no option found to get');
    assertCommandFails(admin, {setParameter: 1, noSuchParameter: 1}, 72);
    const all = admin.runCommand({getParameter: '*'});
    for (const name of ['logLevel', 'quiet', 'notablescan', 'journalCommitInterval', 'syncdelay',
                        'ttlMonitorEnabled', 'enableTestCommands', 'logComponentVerbosity']) {
        assertTrue(all[name] !== undefined, name);
    }
    const {version} = admin.runCommand({buildInfo: 1});
    assertEq(all.featureCompatibilityVersion,
             {version: version.split('.').slice(0, 2).join('.')});
});

test('getLog has the lines of the log', () => {
    assertTrue(admin.runCommand({getLog: '*'}).names.includes('global'));
    const log = admin.runCommand({getLog: 'global'});
    assertTrue(log.log.some(line => line.includes('waiting for connections on port')));
    assertEq(log.totalLinesWritten >= log.log.length, true);
    assertTrue(Array.isArray(admin.runCommand({getLog: 'startupWarnings'}).log));
    assertEq(replyTo(admin, {getLog: 'nothing'}).ok, 0);
});

test('currentOp answers', () => {
    assertTrue(Array.isArray(admin.runCommand({currentOp: 1, $all: true}).inprog));
    assertTrue(Array.isArray(admin.aggregate([{$currentOp: {allUsers: true}}]).toArray()));
    assertEq(admin.runCommand({killOp: 1, op: 123456}).ok, 1);
});

test('top counts by collection', () => {
    db1.getCollection('topped').insertOne({});
    db1.getCollection('topped').find().toArray();
    const entry = admin.runCommand({top: 1}).totals['test.topped'];
    for (const field of ['total', 'readLock', 'writeLock', 'queries', 'getmore', 'insert',
                         'update', 'remove', 'commands']) {
        assertTrue(entry[field].time !== undefined && entry[field].count !== undefined, field);
    }
});

test('compact, reIndex and collMod keep the data', () => {
    const t = db1.getCollection('maintained');
    for (let i = 0; i < 500; i++) {
        t.insertOne({_id: i, a: i % 10, text: 'x'.repeat(500)});
    }
    t.createIndex({a: 1});
    t.deleteMany({a: {$lt: 5}});
    const before = t.find().sort({_id: 1}).toArray();
    assertEq(db1.runCommand({compact: 'maintained'}).ok, 1);
    assertEq(db1.runCommand({reIndex: 'maintained'}).nIndexes, 2);
    assertEq(db1.runCommand({collMod: 'maintained', usePowerOf2Sizes: false}).ok, 1);
    assertEq(t.find().sort({_id: 1}).toArray(), before);
    assertEq(t.find({a: 7}).hint({a: 1}).toArray().length, 50);
    assertTrue(t.validate({full: true}).valid);
});

test('convertToCapped keeps the newest', () => {
    const t = db1.getCollection('converted');
    for (let i = 0; i < 100; i++) {
        t.insertOne({_id: i, text: 'x'.repeat(400)});
    }
    assertEq(db1.runCommand({convertToCapped: 'converted', size: 16384}).ok, 1);
    assertTrue(t.isCapped());
    assertEq(t.find().sort({$natural: -1}).limit(1).toArray()[0]._id, 99);
});

test('dbHash is equal for equal data', () => {
    for (const name of ['hash_a', 'hash_b']) {
        const other = server.shell.getDB(name);
        for (let i = 0; i < 10; i++) {
            other.getCollection('c').insertOne({_id: i});
        }
    }
    const md5 = name => server.shell.getDB(name).runCommand({dbHash: 1}).collections.c;
    assertEq(md5('hash_a'), md5('hash_b'));
    server.shell.getDB('hash_b').getCollection('c').insertOne({_id: 10});
    assertTrue(md5('hash_a') !== md5('hash_b'));
});

test('hostInfo, listCommands, whatsmyuri, connectionStatus', () => {
    assertTrue(admin.runCommand({hostInfo: 1}).system.numCores >= 1);
    const commands = admin.runCommand({listCommands: 1}).commands;
    for (const name of ['insert', 'find', 'getLastError', 'serverStatus', 'validate', 'fsync']) {
        assertTrue(commands[name] !== undefined, name);
    }
    assertTrue(/^127\.0\.0\.1:\d+$/.test(admin.runCommand({whatsmyuri: 1}).you));
    assertEq(admin.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers, []);
});

test('what needs JavaScript in the server is refused', () => {
    db1.getCollection('no_js').insertOne({});
    assertCommandFails(db1, {eval: 'return 1'}, 115);
    assertCommandFails(db1, {group: {ns: 'no_js', key: {a: 1}, initial: {},
                                     $reduce: Code('function() {}')}}, 115);
});

stopServer(server);
