// journalPreallocate: whether journal files are made in advance is no longer left to a speed test.
// docs: patches/journal-preallocate.patch
// Group: patches

const name = 'journalPreallocate';
// Without --nopreallocj, which decides for auto.
const small = ['--smallfiles', '--nssize', '1'];
const fileBytes = 128 * 1024 * 1024;
const journal = server => path.join(server.dbpath, 'journal');
const prealloc = server =>
    fs.readdirSync(journal(server)).filter(file => file.startsWith('prealloc.')).sort();

test('the base does not know it', () => assertBaseRejects(name, 'always'));

test('auto by default and by name: --nopreallocj is obeyed', () => {
    for (const options of [quick, quick.concat(`--${name}`, 'auto')]) {
        const server = startServer({options});
        assertEq(parameter(server, name), 'auto');
        insertDurably(server, 0, 2);
        assertEq(prealloc(server), []);
        assertEq(stopServer(server), 0);
    }
});

test('always makes three full files and uses the first, without a speed test', () => {
    const server = startServer({options: small.concat(`--${name}`, 'always')});
    assertEq(parameter(server, name), 'always');
    assertTrue(!serverLog(server).includes('preallocateIsFaster'));
    insertDurably(server, 0, 2);
    assertEq(prealloc(server), ['prealloc.1', 'prealloc.2']);
    for (const file of ['j._0', 'prealloc.1', 'prealloc.2']) {
        assertEq(fs.statSync(path.join(journal(server), file)).size, fileBytes, file);
    }
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 'never'}, 20);
    assertEq(stopServer(server), 0);
});

test('always repairs a file that is too short', () => {
    const server = startServer({options: quick});
    assertEq(stopServer(server), 0);
    fs.writeFileSync(path.join(journal(server), 'prealloc.1'), Buffer.alloc(4096));
    const again = startServer({options: small.concat(`--${name}`, 'always'),
                               folder: server.folder});
    assertContains(serverLog(again), 'too short');
    assertEq(fs.statSync(path.join(journal(again), 'prealloc.1')).size, fileBytes);
    assertEq(stopServer(again), 0);
});

test('always fills holes, and goes on without a slot that is a directory', () => {
    const server = startServer({options: quick});
    assertEq(stopServer(server), 0);
    const hole = path.join(journal(server), 'prealloc.2');
    fs.closeSync(fs.openSync(hole, 'w'));
    fs.truncateSync(hole, fileBytes);
    fs.mkdirSync(path.join(journal(server), 'prealloc.0'));
    const again = startServer({options: small.concat(`--${name}`, 'always'),
                               folder: server.folder});
    insertDurably(again, 0, 2);
    assertContains(serverLog(again), 'prealloc.0 failed');
    assertContains(serverLog(again), 'prealloc.2 is too short or has holes');
    assertTrue(fs.statSync(hole).blocks * 512 >= fileBytes);
    assertEq(fs.statSync(path.join(journal(again), 'j._0')).size, fileBytes);
    assertEq(stopServer(again), 0);
});

test('never uses none, and leaves those of an earlier run alone', () => {
    const server = startServer({options: quick});
    assertEq(stopServer(server), 0);
    fs.writeFileSync(path.join(journal(server), 'prealloc.0'), Buffer.alloc(8192));
    const again = startServer({options: small.concat(`--${name}`, 'never'),
                               folder: server.folder});
    insertDurably(again, 0, 2);
    assertEq(prealloc(again), ['prealloc.0']);
    assertEq(stopServer(again), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.preallocate', 'never');
    assertEq(parameter(server, name), 'never');
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['yes', 'Always', '1']) {
        assertRefused([`--${name}`, bad],
                      `${name} must be auto, always or never, not "${bad}"`);
    }
});

testRecoveryAcrossBuilds([`--${name}`, 'always']);
