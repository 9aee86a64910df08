// dataFileWrites: the data files get what was committed when they are flushed.
// docs: patches/data-file-writes.patch
// Group: patches

const name = 'dataFileWrites';
const atFlush = server => dur(server).dataFileWrites;
const onlyOnDemand = ['--syncdelay', '0'];
const inTheDataFile = (server, text) =>
    fs.readFileSync(path.join(server.dbpath, 'test.0')).includes(text);

test('the base does not know it', () => assertBaseRejects(name, 'flush'));

test('after each commit by default and by name', () => {
    for (const options of [quick, quick.concat(`--${name}`, 'commit')]) {
        const server = startServer({options: options.concat(onlyOnDemand)});
        assertEq(parameter(server, name), 'commit');
        insertDurably(server, 0, 2);
        durable(server).insertOne({_id: 'x', text: 'after its commit'}, {writeConcern: {j: true}});
        waitFor('the data file has it', () => inTheDataFile(server, 'after its commit'));
        assertEq(atFlush(server), undefined);
        assertEq(stopServer(server), 0);
    }
});

test('flush: private copies until a flush', () => {
    const server = startServer({options: quick.concat(`--${name}`, 'flush', onlyOnDemand)});
    assertEq(parameter(server, name), 'flush');
    insertDurably(server, 0, 20);
    durable(server).insertOne({_id: 'x', text: 'with the flush'}, {writeConcern: {j: true}});
    assertTrue(!inTheDataFile(server, 'with the flush'));
    assertBetween(4096, Number(atFlush(server).privateBytes), Infinity);
    const before = Number(atFlush(server).storedBytes);
    assertEq(server.shell.getDB('admin').runCommand({fsync: 1}).ok, 1);
    assertTrue(inTheDataFile(server, 'with the flush'));
    assertBetween(before + 4096, Number(atFlush(server).storedBytes), Infinity);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 'commit'}, 20);
    assertEq(stopServer(server), 0);
});

test('flush: the periodic one stores, and gives the private copies back', () => {
    const server = startServer({options: quick.concat(`--${name}`, 'flush', '--syncdelay', '1')});
    insertDurably(server, 0, 20);
    waitFor('a flush', () => Number(atFlush(server).privateBytes) === 0);
    assertEq(durable(server).countDocuments({}), 20);
    insertDurably(server, 20, 20);
    assertTrue(durable(server).validate({full: true}).valid);
    assertEq(stopServer(server), 0);
});

test('flush: what lets go of files stores first', () => {
    const server = startServer({options: quick.concat(`--${name}`, 'flush', onlyOnDemand)});
    insertDurably(server, 0, 20);
    const admin = server.shell.getDB('admin');
    assertEq(server.shell.getDB('other').runCommand({insert: 'c', documents: [{a: 1}]}).ok, 1);
    assertEq(server.shell.getDB('other').runCommand({dropDatabase: 1}).ok, 1);
    assertEq(admin.runCommand({fsync: 1, lock: true}).ok, 1);
    assertEq(Number(atFlush(server).privateBytes), 0);
    assertEq(admin.runCommand({fsyncUnlock: 1}).ok, 1);
    insertDurably(server, 20, 20);
    assertEq(durable(server).countDocuments({}), 40);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.dataFileWrites', 'flush');
    assertEq(parameter(server, name), 'flush');
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['', 'Flush', 'never', '1']) assertRefused([`--${name}=${bad}`], name);
});

testRecoveryAcrossBuilds([`--${name}`, 'flush']);
