// journalOneCallWrite: an append to a preallocated journal file is one system call.
// docs: patches/journal-one-call-write.patch
// Group: patches

const name = 'journalOneCallWrite';
const preallocated = ['--smallfiles', '--nssize', '1', '--journalPreallocate', 'always'];
const figures = server => {
    const {oneCallWrites, otherWrites} = metrics(server, name);
    return {one: Number(oneCallWrites), other: Number(otherWrites)};
};

test('the base does not know it', () => assertBaseRejects(name));

test('off by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    assertEq(metrics(server, name), undefined);
    assertEq(stopServer(server), 0);
});

test('commits into preallocated files are one call each, where the system can', () => {
    const server = startServer({options: preallocated.concat(`--${name}`)});
    assertEq(parameter(server, name), true);
    const before = figures(server);
    insertDurably(server, 0, 10);
    const after = figures(server);
    const writes = after.one + after.other - before.one - before.other;
    assertTrue(writes >= 10, `${writes} writes`);
    // A file system without direct I/O, or a system without the call, is seen by the other counter.
    assertTrue(after.one === before.one || after.other === before.other, 'one way for all');
    assertEq(durable(server).countDocuments({}), 10);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: false}, 20);
    assertEq(stopServer(server), 0);
});

test('a growing file is written as ever', () => {
    const server = startServer({options: quick.concat(`--${name}`)});
    const before = figures(server);
    insertDurably(server, 0, 10);
    const after = figures(server);
    assertEq(after.one, before.one);
    assertTrue(after.other - before.other >= 10);
    assertEq(stopServer(server), 0);
});

test('files that fill up are followed by the next one', () => {
    const server = startServer({options: ['--nssize', '1', '--journalPreallocate', 'always',
                                          '--journalFileMB', '16', `--${name}`]});
    const text = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 40; i++) {
        durable(server).insertOne({_id: i, text}, {writeConcern: {w: 1, j: true}});
    }
    stopServer(server, 'SIGKILL');
    const again = startServer({options: preallocated.concat(`--${name}`), folder: server.folder});
    assertEq(durable(again).countDocuments({}), 40);
    assertTrue(durable(again).validate({full: true}).valid);
    assertEq(stopServer(again), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.oneCallWrite', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--${name}`, '--journalPreallocate', 'always']);
