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
    assertEq(backup(server, path.join(folder, 'db')), {ok: 1});
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
