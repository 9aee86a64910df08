// Acknowledged durable writes survive a kill, and the lock file and the journal directory say so.
// Journal spec 1.7, 2.1, 4; wire spec 6.2.
// Group: journal

const t = server => server.shell.getDB('test').getCollection('durable');
const journalFiles = server => fs.readdirSync(path.join(server.dbpath, 'journal'));
const lockFile = server => readFile(path.join(server.dbpath, 'mongod.lock'));
const small = ['--smallfiles', '--nssize', '1', '--nopreallocj'];

test('j:true writes are there after SIGKILL', () => {
    const server = startServer({options: small});
    t(server).createIndex({n: 1});
    for (let i = 0; i < 20; i++) {
        t(server).insertOne({_id: i, n: 2 * i}, {writeConcern: {w: 1, j: true}});
    }
    t(server).updateOne({_id: 3}, {$set: {text: 'x'.repeat(5000)}},
                        {writeConcern: {w: 1, j: true}});
    t(server).deleteOne({_id: 4}, {writeConcern: {w: 1, j: true}});
    assertEq(lockFile(server), `${server.process.pid}\n`);
    stopServer(server, 'SIGKILL');
    assertTrue(journalFiles(server).includes('j._0'));
    assertEq(lockFile(server), `${server.process.pid}\n`);

    const again = startServer({options: small, folder: server.folder});
    assertContains(serverLog(again), 'recover begin');
    assertContains(serverLog(again), 'recover done');
    assertEq(t(again).countDocuments({}), 19);
    assertEq(t(again).findOne({_id: 3}).text.length, 5000);
    assertEq(t(again).find({n: {$gte: 30}}).hint({n: 1}).toArray().length, 5);
    assertTrue(t(again).validate({full: true}).valid);
    stopServer(again);
});

test('a clean shutdown empties the journal and the lock file', () => {
    const server = startServer({options: small});
    t(server).insertOne({_id: 1});
    assertEq(stopServer(server), 0);
    assertEq(lockFile(server), '');
    assertEq(journalFiles(server), []);
    const again = startServer({options: small, folder: server.folder});
    assertContains(serverLog(again), 'recover : no journal files present, no recovery needed');
    assertEq(t(again).findOne(), {_id: 1});
    stopServer(again);
});

test('without a journal an unclean shutdown is refused until a repair', () => {
    const options = small.concat('--nojournal');
    const server = startServer({options});
    t(server).insertOne({_id: 1});
    server.shell.getDB('admin').runCommand({fsync: 1});
    assertEq(server.shell.getDB('admin').runCommand({serverStatus: 1}).dur, undefined);
    assertCommandFails(server.shell.getDB('test'),
                       {insert: 'durable', documents: [{}], writeConcern: {j: true}}, 2);
    stopServer(server, 'SIGKILL');
    const refused = runServer(['--dbpath', server.dbpath, '--port', `${server.port}`]
        .concat(options));
    assertEq(refused.exitCode, 100);
    assertContains(refused.output, 'Unclean shutdown detected');
    const repair = runServer(['--repair', '--dbpath', server.dbpath]
        .concat(small.filter(option => option !== '--nopreallocj')));
    assertEq(repair.exitCode, 0, repair.output);
    assertEq(lockFile(server), '');
    const again = startServer({options, folder: server.folder});
    assertEq(t(again).findOne(), {_id: 1});
    assertTrue(t(again).validate({full: true}).valid);
    stopServer(again);
});

test('journal files without journaling are refused', () => {
    const server = startServer({options: small});
    t(server).insertOne({_id: 1}, {writeConcern: {w: 1, j: true}});
    stopServer(server, 'SIGKILL');
    const refused = runServer(['--dbpath', server.dbpath, '--port', `${server.port}`,
                               '--nojournal']);
    assertEq(refused.exitCode, 100);
    assertTrue(journalFiles(server).includes('j._0'));
    const again = startServer({options: small, folder: server.folder});
    assertEq(t(again).findOne(), {_id: 1});
    stopServer(again);
});

test('one data directory has one server', () => {
    const server = startServer({options: small});
    const second = runServer(['--dbpath', server.dbpath, '--port', `${server.port + 1}`]
        .concat(small));
    assertEq(second.exitCode, 100);
    t(server).insertOne({_id: 1});
    assertEq(stopServer(server), 0);
});

test('fsync with lock stops writes until the unlock', () => {
    const server = startServer({options: small});
    const admin = server.shell.getDB('admin');
    t(server).insertOne({_id: 1}, {writeConcern: {w: 1, j: true}});
    assertContains(admin.runCommand({fsync: 1, lock: true}).info, 'locked');
    assertEq(journalFiles(server).filter(name => name.startsWith('j._')), []);
    assertEq(t(server).findOne(), {_id: 1});
    assertTrue(admin.runCommand({currentOp: 1}).fsyncLock);
    assertEq(admin.runCommand({fsyncUnlock: 1}).ok, 1);
    t(server).insertOne({_id: 2}, {writeConcern: {w: 1, j: true}});
    assertEq(replyTo(admin, {fsyncUnlock: 1}).ok, 0);
    assertEq(stopServer(server), 0);
});
