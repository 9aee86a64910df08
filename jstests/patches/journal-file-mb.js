// journalFileMB: how large a journal file is.
// docs: patches/journal-file-mb.patch
// Group: patches

const name = 'journalFileMB';
// Without --nopreallocj, and without --smallfiles, which has a size of its own.
const small = ['--nssize', '1', `--${name}`, '16'];
const journal = server => path.join(server.dbpath, 'journal');
const bytes = (server, file) => fs.statSync(path.join(journal(server), file)).size;

test('the base does not know it', () => assertBaseRejects(name, '16'));

test('0 by default and by name: the size of the base', () => {
    for (const options of [quick, quick.concat(`--${name}`, '0')]) {
        const server = startServer({options});
        assertEq(parameter(server, name), 0);
        assertEq(stopServer(server), 0);
    }
});

test('a file that is made in advance has that size', () => {
    const server = startServer({options: quick});
    assertEq(stopServer(server), 0);
    // One that is there already: the others are made without a speed test.
    fs.writeFileSync(path.join(journal(server), 'prealloc.0'), Buffer.alloc(8192));
    const again = startServer({options: small, folder: server.folder});
    assertEq(parameter(again, name), 16);
    for (const file of ['prealloc.1', 'prealloc.2']) {
        assertEq(bytes(again, file), 16 * 1024 * 1024, file);
    }
    assertCommandFails(again.shell.getDB('admin'), {setParameter: 1, [name]: 32}, 20);
    assertEq(stopServer(again), 0);
});

test('a file is left for the next one when it holds that much', () => {
    const server = startServer({options: quick.concat(`--${name}`, '1')});
    for (let i = 0; !fs.existsSync(path.join(journal(server), 'j._1')); i++) {
        insertDurably(server, 10 * i, 10);
        assertTrue(i < 50, 'far more than a megabyte was written');
    }
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.fileMB', 16);
    assertEq(parameter(server, name), 16);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['-1', '4097', '5000']) {
        assertRefused([`--${name}=${bad}`], 'between 0 and 4096');
    }
});

testRecoveryAcrossBuilds([`--${name}`, '16']);
