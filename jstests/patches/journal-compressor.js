// journalCompressor: none stores every section, which every build reads.
// docs: patches/journal-compressor.patch
// Group: patches

const name = 'journalCompressor';

test('the base does not know it', () => assertBaseRejects(name, 'none'));

test('snappy by default and by name', () => {
    for (const options of [quick, quick.concat(`--${name}`, 'snappy')]) {
        const server = startServer({options});
        assertEq(parameter(server, name), 'snappy');
        insertDurably(server, 0, 5);
        assertEq(metrics(server, name), undefined);
        assertEq(stopServer(server), 0);
    }
});

test('none: every section is stored, and it can change while running', () => {
    const server = startServer({options: quick.concat(`--${name}`, 'none')});
    assertEq(parameter(server, name), 'none');
    insertDurably(server, 0, 8);  // the seventh is large
    const counts = metrics(server, name);
    assertBetween(8, counts.uncompressedSections, 1000);
    assertBetween(20000 + 7 * 100, counts.uncompressedBytes, Infinity);
    assertEq(setParameter(server, name, 'snappy').was, 'none');
    const before = metrics(server, name);
    insertDurably(server, 10, 3);
    assertEq(metrics(server, name), before);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.compressor', 'none');
    assertEq(parameter(server, name), 'none');
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['zlib', 'None', '0']) {
        assertRefused([`--${name}`, bad], `${name} must be snappy or none, not "${bad}"`);
    }
    const server = startServer({options: quick});
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 'zlib'}, 2);
    assertEq(parameter(server, name), 'snappy');
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--${name}`, 'none']);
