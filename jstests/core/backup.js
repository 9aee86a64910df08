// createBackup: what the copy has, and what the server is asked that it refuses.
// Group: core

const documents = server => server.shell.getDB('test').getCollection('c');
const backup = (server, backupDir) =>
    replyTo(server.shell.getDB('admin'), {createBackup: 1, backupDir});

test('a copy starts with all that was acknowledged before', () => {
    const server = startServer();
    const c = documents(server);
    c.createIndex({n: 1});
    c.insertMany([...Array(500).keys()].map(n => ({_id: n, n: -n, text: 'x'.repeat(1000)})));
    c.insertOne({_id: 'large', text: 'x'.repeat(5000000)});
    const folder = newFolder('copy');
    const reply = backup(server, path.join(folder, 'db'));
    assertEq(Object.keys(reply), ['blockedMillis', 'ok']);
    assertBetween(0, Number(reply.blockedMillis), 60000);
    c.insertOne({_id: 'later'}, {writeConcern: {w: 1, j: true}});  // it is not locked any more
    assertEq(fs.readdirSync(folder), ['db']);
    assertTrue(!fs.existsSync(path.join(folder, 'db', 'mongod.lock')));

    const copy = startServer({folder});
    assertEq(documents(copy).countDocuments({}), 501);
    assertEq(documents(copy).find({n: {$lt: -490}}).hint('n_1').toArray().length, 9);
    assertEq(documents(copy).findOne({_id: 'large'}).text.length, 5000000);
    assertTrue(documents(copy).validate({full: true}).valid);
    documents(copy).insertOne({_id: 'copy'}, {writeConcern: {w: 1, j: true}});
    stopServer(copy);
    assertEq(c.countDocuments({}), 502);
    stopServer(server);
});

test('it overwrites nothing and says what is wrong', () => {
    const server = startServer();
    const folder = newFolder('copy');
    const there = path.join(folder, 'there');
    fs.mkdirSync(there);
    const missing = path.join(folder, 'missing');
    const cases = [
        [there, `${there} is there already`],
        ['copy', 'must be an absolute path'],
        [`${folder}/../copy`, 'must be a plain path'],
        [path.join(server.dbpath, 'copy'), 'lies in the data directory'],
        [path.join(missing, 'copy'), `there is no directory ${missing}`],
    ];
    for (const [directory, text] of cases) {
        const reply = backup(server, directory);
        assertEq(reply.code, 2, directory);
        assertContains(reply.errmsg, text);
    }
    assertCommandFails(server.shell.getDB('admin'), {createBackup: 1}, 40414);
    assertEq(fs.readdirSync(there), []);
    assertEq(fs.readdirSync(folder), ['there']);
    stopServer(server);
});

test('a copy that was killed is not taken for a whole one', () => {
    const server = startServer();
    const c = documents(server);
    c.insertMany([...Array(20).keys()].map(n => ({_id: n, text: 'x'.repeat(1000000)})));
    const folder = newFolder('copy'), target = path.join(folder, 'db');
    const program = `db.adminCommand({createBackup: 1, backupDir: ${JSON.stringify(target)}})`;
    const client = childProcess.spawn(process.argv[0], [
        process.argv[1], '--quiet', '--norc', '--port', `${server.port}`, '--eval', program]);
    waitFor('it has begun', () => fs.existsSync(`${target}.unfinished`));
    stopServer(server, 'SIGKILL');
    client.kill('SIGKILL');
    if (fs.existsSync(target)) return;  // it was quicker
    assertTrue(fs.existsSync(path.join(`${target}.unfinished`, 'unfinished-copy')));
    const run = runServer(engineOptions(['--dbpath', `${target}.unfinished`, '--port', '1']));
    assertEq(run.exitCode, 100);
    assertContains(run.output, 'is a copy that was not finished');
    const again = startServer({folder: server.folder});
    assertEq(backup(again, target).code, 2);
    fs.rmSync(`${target}.unfinished`, {recursive: true});
    assertEq(backup(again, target).ok, 1);
    stopServer(again);
});

const ended = process.env.TESTS_ENGINE === 'rocksdb' ?
    name => skip(name, 'its files are linked, which takes no time') : test;
ended('a copy that is ended leaves nothing, and its name is free', () => {
    const server = startServer(), admin = server.shell.getDB('admin');
    documents(server).insertMany(
        [...Array(60).keys()].map(n => ({_id: n, text: 'x'.repeat(1000000)})));
    const folder = newFolder('copy');
    const late = replyTo(admin, {
        createBackup: 1, backupDir: path.join(folder, 'late'), maxTimeMS: 1});
    assertEq(late.code, 50);
    assertEq(fs.readdirSync(folder), []);

    let code = 0;
    for (let turn = 0; code !== 11601 && turn < 20; ++turn) {  // or it was quicker
        fs.rmSync(path.join(folder, 'db'), {recursive: true, force: true});
        const command = JSON.stringify({createBackup: 1, backupDir: path.join(folder, 'db')});
        const program = `let code = 0;
            try { db.adminCommand(${command}) } catch (error) { code = error.code }
            print('code ' + code)`;
        const output = path.join(server.folder, `output${turn}`), file = fs.openSync(output, 'w');
        childProcess.spawn(process.argv[0], [process.argv[1], '--quiet', '--norc', '--port',
            `${server.port}`, '--eval', program], {stdio: ['ignore', file, file]});
        fs.closeSync(file);
        waitFor('it is ended, or done', () => {
            for (const {opid, msg} of admin.runCommand({currentOp: 1}).inprog) {
                if (msg && msg.startsWith('createBackup')) admin.runCommand({killOp: 1, op: opid});
            }
            code = Number((/code (\d+)\n/.exec(readFile(output)) || [])[1]);
            return !isNaN(code);
        });
    }
    assertEq(code, 11601);
    assertEq(fs.readdirSync(folder), []);
    assertEq(backup(server, path.join(folder, 'db')).ok, 1);
    stopServer(server);
});

const ofMmapv1 = compresses() ? name => skip(name, 'an option of mmapv1') : test;
ofMmapv1('a copy of a directory with a folder for each database', () => {
    const options = ['--directoryperdb'];
    const server = startServer({options});
    const folder = newFolder('copy');
    for (const name of ['one', 'two']) {
        server.shell.getDB(name).getCollection('c').insertOne({_id: name});
    }
    assertEq(backup(server, path.join(folder, 'db')).ok, 1);
    stopServer(server);
    const copy = startServer({folder, options});
    for (const name of ['one', 'two']) {
        assertEq(copy.shell.getDB(name).getCollection('c').find().toArray(), [{_id: name}]);
        assertTrue(copy.shell.getDB(name).getCollection('c').validate({full: true}).valid);
    }
    stopServer(copy);
});
