// journalPadBytes: sections in units of 4096 bytes; a build without the patch refuses such files.
// docs: patches/journal-pad-bytes.patch; journal spec 7.3
// Group: patches

const name = 'journalPadBytes';
const fine = {options: quick.concat(`--${name}`, '4096')};
const classic = {options: quick.concat(`--${name}`, '8192')};
const base = {options: quick, program: harness.base};
const journalFile = server => path.join(server.dbpath, 'journal', 'j._0');
const version = server => fs.readFileSync(journalFile(server)).readUInt16LE(2);

// Every file below a folder, with its content.
function snapshot(folder) {
    const files = {};
    for (const entry of fs.readdirSync(folder, {recursive: true})) {
        const file = path.join(folder, entry);
        if (fs.statSync(file).isFile()) {
            files[entry] = fs.readFileSync(file).toString('base64');
        }
    }
    return files;
}

// Bytes of the journal file for so many commits of one small document each.
function bytesOfCommits(server, count) {
    insertDurably(server, 0, 1);
    const before = fs.statSync(journalFile(server)).size;
    for (let i = 1; i <= count; i++) {
        durable(server).insertOne({_id: 100 + i}, {writeConcern: {w: 1, j: true}});
    }
    return fs.statSync(journalFile(server)).size - before;
}

test('the base does not know it', () => assertBaseRejects(name, '4096'));

test('8192 by default and by name, in files of the classic version', () => {
    for (const options of [quick, classic.options]) {
        const server = startServer({options});
        assertEq(parameter(server, name), 8192);
        assertEq(bytesOfCommits(server, 10), 10 * 8192);
        assertEq(version(server), 0x4149);
        assertEq(metrics(server, name), undefined);
        assertEq(stopServer(server), 0);
    }
});

test('4096 halves what a small commit writes, under another version', () => {
    const server = startServer(fine);
    assertEq(parameter(server, name), 4096);
    assertEq(bytesOfCommits(server, 10), 10 * 4096);
    assertEq(version(server), 0x414a);
    assertEq(Number(metrics(server, name).unitBytes), 4096);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 8192}, 20);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.padBytes', 4096);
    assertEq(parameter(server, name), 4096);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['512', '2048', '16384']) {
        assertRefused([`--${name}`, bad], `${name} must be 4096 or 8192, not "${bad}"`);
    }
});

test('the base refuses a 4096 byte journal and changes nothing', () => {
    const server = startServer(fine);
    insertDurably(server, 0, 10);
    stopServer(server, 'SIGKILL');
    const before = snapshot(server.dbpath);
    const options = ['--port', `${server.port}`, '--dbpath', server.dbpath].concat(quick);
    const refused = runServer(options, undefined, harness.base);
    assertEq(refused.exitCode, 100);
    assertContains(refused.output, '13536');
    const after = snapshot(server.dbpath);
    assertEq(Object.keys(after).sort(), Object.keys(before).sort());
    for (const file of Object.keys(before)) {
        // A start that fails leaves the lock file empty; journal spec 4.1.
        if (file !== 'mongod.lock') {
            assertTrue(after[file] === before[file], `${file} is as it was`);
        }
    }
    const again = startServer({...fine, folder: server.folder});
    assertEq(durable(again).countDocuments({}), 10);
    assertTrue(durable(again).validate({full: true}).valid);
    assertEq(stopServer(again), 0);
});

test('after a clean shutdown the base goes on', () => {
    const server = startServer(fine);
    insertDurably(server, 0, 10);
    assertEq(stopServer(server), 0);
    const next = startServer({...base, folder: server.folder});
    assertEq(durable(next).countDocuments({}), 10);
    assertEq(stopServer(next), 0);
});

test('files tell their unit, whatever is configured', () => {
    assertRecovers(fine, fine);
    assertRecovers(fine, classic);
    assertRecovers(base, fine);
    assertRecovers(classic, base);
});
