// journalOpenGateBytes: writers go on while a commit is written, up to that much for the next one.
// docs: patches/journal-open-gate-bytes.patch; journal spec 1.4, 7.6
// Group: patches

const name = 'journalOpenGateBytes';
const openGate = server => dur(server).openGateBytes;

test('the base does not know it', () => assertBaseRejects(name, '1048576'));

test('closed by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), 0);
    insertDurably(server, 0, 2);
    assertEq(openGate(server), undefined);
    assertEq(stopServer(server), 0);
});

// Writers without j:true that end while commits run, until the metric moves.
function writeUntil(server, what, moved) {
    const before = Number(openGate(server)[what]);
    let n = 0;
    waitFor(`${what} grows`, () => {
        const bulk = [];
        for (let i = 0; i < 200; i++) {
            bulk.push({insertOne: {document: {_id: `${what}${n++}`, text: 'x'.repeat(500)}}});
        }
        durable(server).bulkWrite(bulk, {ordered: false});
        return Number(openGate(server)[what]) > before;
    });
    return n;
}

test('writers pass beside a running commit', () => {
    const server = startServer({
        options: quick.concat(`--${name}`, '52428800', '--journalCommitInterval', '2'),
    });
    assertEq(parameter(server, name), 52428800);
    insertDurably(server, 0, 1);
    const n = writeUntil(server, 'passed');
    assertEq(durable(server).countDocuments({}), n + 1);
    assertTrue(durable(server).validate({full: true}).valid);
    assertEq(stopServer(server), 0);
});

test('beyond the bound they wait for the disk', () => {
    const server = startServer({
        options: quick.concat(`--${name}`, '1', '--journalCommitInterval', '2'),
    });
    insertDurably(server, 0, 1);
    writeUntil(server, 'stopped');
    assertEq(stopServer(server), 0);
});

test('may be opened and closed while running', () => {
    const server = startServer({options: quick});
    assertEq(setParameter(server, name, 1048576).was, 0);
    assertEq(parameter(server, name), 1048576);
    insertDurably(server, 0, 3);
    assertTrue(openGate(server) !== undefined);
    assertEq(setParameter(server, name, 0).was, 1048576);
    assertEq(openGate(server), undefined);
    insertDurably(server, 3, 2);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.openGateBytes', 65536);
    assertEq(parameter(server, name), 65536);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['-1', '52428801', '1MB', '0.5']) {
        assertRefused([`--${name}=${bad}`], name);
    }
    const server = startServer({options: quick});
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 52428801}, 2);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: -1}, 2);
    assertEq(parameter(server, name), 0);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--${name}`, '1048576']);
