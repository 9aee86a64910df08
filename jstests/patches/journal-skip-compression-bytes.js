// journalSkipCompressionBytes: small sections are stored, which every build reads.
// docs: patches/journal-skip-compression-bytes.patch
// Group: patches

const name = 'journalSkipCompressionBytes';
const stored = server => (metrics(server, name) || {storedSections: 0}).storedSections;

test('the base does not know it', () => assertBaseRejects(name, '4096'));

test('off by default: every section is compressed', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), 0);
    insertDurably(server, 0, 5);
    assertEq(metrics(server, name), undefined);
    assertEq(stopServer(server), 0);
});

test('4096: small commits are stored, large ones are not', () => {
    const server = startServer({options: quick.concat(`--${name}`, '4096')});
    assertEq(parameter(server, name), 4096);
    insertDurably(server, 0, 1);  // creates the collection, which is no small commit
    const before = stored(server);
    insertDurably(server, 1, 5);
    const small = stored(server);
    assertEq(small - before, 5);
    assertBetween(5 * 100, metrics(server, name).storedBytes, small * 4096);
    setParameter(server, name, 100);
    insertDurably(server, 10, 3);
    assertEq(stored(server), small, 'nothing fits 100 bytes');
    setParameter(server, name, 1048576);
    insertDurably(server, 20, 1);  // 20 KB
    assertBetween(20000, metrics(server, name).storedBytes, Infinity);
    assertEq(setParameter(server, name, 0).was, 1048576);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.skipCompressionBytes', 4096);
    assertEq(parameter(server, name), 4096);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['8k', '1.5', '']) {
        assertEq(runServer([`--${name}=${bad}`]).exitCode, 2, bad);
    }
    assertRefused([`--${name}`, '1048577'], `${name} must be a whole number from 0 to 1048576`);
    const server = startServer({options: quick});
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: -1}, 2);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 'x'}, 2);
    assertEq(parameter(server, name), 0);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--${name}`, '4096']);
