// dataFileWritesMB: how much memory may wait for the next flush of the data files.
// docs: patches/data-file-writes-mb.patch
// Group: patches

const name = 'dataFileWritesMB';
const atFlush = quick.concat('--syncdelay', '0', '--dataFileWrites', 'flush');
const text = 'x'.repeat(100000);
const flushes = server => Number(dur(server).dataFileWrites.flushesForMemory);

test('the base does not know it', () => assertBaseRejects(name, '64'));

// 1024, or less where there is little memory.
let usual;

test('by default what memory allows, shown where data files are written at the flush', () => {
    const server = startServer({options: quick});
    usual = parameter(server, name);
    assertTrue(usual >= 16 && usual <= 1024, `${usual} MB`);
    assertEq(dur(server).dataFileWritesMB, undefined);
    assertEq(stopServer(server), 0);
    const other = startServer({options: atFlush});
    assertEq(Number(dur(other).dataFileWritesMB.limitBytes), usual * 1024 * 1024);
    assertEq(stopServer(other), 0);
});

test('a flush begins early when three quarters of it wait', () => {
    const server = startServer({options: atFlush.concat(`--${name}`, '16')});
    const many = durable(server);
    let inserted = 0;
    waitFor('a flush', () => {
        many.insertMany(Array.from({length: 20}, () => ({_id: inserted++, text})));
        return flushes(server) > 0;
    });
    assertTrue(inserted * text.length > 12e6, `${inserted} documents`);
    assertEq(many.countDocuments({}), inserted);
    assertEq(stopServer(server), 0);
});

test('may be switched while running', () => {
    const server = startServer({options: atFlush});
    assertEq(setParameter(server, name, 2048).was, usual);
    assertEq(Number(dur(server).dataFileWritesMB.limitBytes), 2048 * 1024 * 1024);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.dataFileWritesMB', 64);
    assertEq(parameter(server, name), 64);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['0', '15', '65537', 'much']) assertRefused([`--${name}=${bad}`], name);
});

testRecoveryAcrossBuilds([`--${name}`, '16', '--dataFileWrites', 'flush']);
