// The command line and the configuration file: what is accepted, what is refused, exit codes.
// Wire spec 6.1 and 6.2; journal spec 5.8.
// Group: options

const folder = newFolder('options');
const config = (name, text) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, text);
    return file;
};

test('--help, --version and dbpath end with 0', () => {
    const help = runMongod(['--help']);
    assertEq([help.code, help.err], [0, '']);
    for (const part of ['--dbpath DIR', '--journalCommitInterval MS', '--syncdelay', '--smallfiles',
                        'Network:', 'Journal:']) {
        assertContains(help.out, part);
    }
    const version = runMongod(['--version']);
    assertEq([version.code, version.err], [0, '']);
    assertTrue(version.out.startsWith('db version v2.6.12\n'), version.out);
    assertContains(version.out, '\npatches: ');
    const dbpath = runMongod(['dbpath']);
    assertEq([dbpath.code, dbpath.out], [0, '/data/db\n']);
});

test('the base lists no option of a patch', () => {
    if (appliedPatches().length === 0) {
        assertTrue(!runServer(['--help']).output.includes('journalSyncMethod'));
    }
});

test('options that are wrong are named', () => {
    for (const [options, code, text] of [
        [['--noSuchOption'], 2, 'Error parsing command line: unknown option noSuchOption\n' +
                                "try 'mongod --help' for more information\n"],
        [['--port', '65536'], 2, 'bad --port number'],
        [['--journalCommitInterval', '301'], 2, '--journalCommitInterval'],
        [['--setParameter', 'nosuch=1'], 2, 'nosuch'],
        [['--setParameter', 'announcedMaxWireVersion=30'], 2, 'announcedMaxWireVersion'],
        [['--fork'], 2, '--fork has to be used with --logpath or --syslog'],
        [['--config', path.join(folder, 'nosuch')], 2, path.join(folder, 'nosuch')],
        [['--syslog', '--syslogFacility', 'nosuch'], 2, "named 'nosuch'"],
        [['--config', '/'], 2, 'Error reading config file: /\nit is a directory\n'],
        [['--config', '/dev/zero'], 2, 'it is longer than 1048576 bytes'],
        [['--config', '/nowhere'], 2,
         'Error reading config file: /nowhere\nNo such file or directory\n'],
        [['frobnicate'], 1, 'Invalid command: frobnicate'],
    ]) {
        const run = runMongod(options);
        assertEq([run.code, run.out], [code, ''], `${options}`);
        assertContains(run.err, text);
    }
});

test('a data directory that is missing or in use is exit code 100', () => {
    const missing = path.join(folder, 'missing');
    const run = runMongod(['--dbpath', missing, '--port', '20001']);
    assertEq(run.code, 100);
    assertContains(run.out, `dbpath (${missing}) does not exist.`);
    const server = startServer({options: ['--smallfiles']});
    const other = runMongod(['--dbpath', server.dbpath, '--port', '20001']);
    assertEq(other.code, 100);
    assertContains(other.out, 'Is a mongod instance already running?');
    const lock = path.join(server.dbpath, 'mongod.lock');
    assertEq(readFile(lock), `${server.process.pid}\n`);
    stopServer(server);
});

test('--nojournal does not start over what a kill has left', () => {
    const start = more => startServer(Object.assign({options: ['--smallfiles']}, more));
    const without = server => {
        const run = runMongod(['--dbpath', server.dbpath, '--nojournal', '--port', '20001']);
        assertEq(run.code, 100);
        return run.out;
    };
    let server = start();
    stopServer(server, 'SIGKILL');
    assertContains(without(server),
                   "can't start without --journal enabled when journal/ files are present");
    // Also where the journal has no files.
    server = start({folder: server.folder});
    server.shell.getDB('kept').getCollection('c').insertOne({_id: 1});
    server.shell.getDB('dropped').getCollection('c').insertOne({});
    server.shell.getDB('dropped').dropDatabase();
    assertEq(fs.readdirSync(path.join(server.dbpath, 'journal'))
        .filter(name => name.startsWith('j._')), []);
    stopServer(server, 'SIGKILL');
    assertContains(without(server), 'old lock file');
    server = start({folder: server.folder});
    assertEq(server.shell.getDB('kept').getCollection('c').countDocuments({}), 1);
    const names = server.shell.getDB('admin').runCommand({listDatabases: 1}).databases;
    assertTrue(!names.some(each => each.name === 'dropped'));
    stopServer(server);
});

test('the program is hardened', () => {
    const readelf = option => childProcess.execFileSync('readelf', ['-W', option, harness.mongod],
                                                        {encoding: 'utf8', maxBuffer: 1 << 28});
    const headers = readelf('--program-headers'), dynamic = readelf('--dynamic');
    const symbols = readelf('--dyn-syms');
    for (const [text, pattern] of [
        [readelf('--file-header'), /Type: +DYN/], [dynamic, /FLAGS.*BIND_NOW/],
        [dynamic, /FLAGS_1.*NOW.*PIE/], [headers, /GNU_RELRO/],
        [headers, /GNU_STACK .* RW +0x/], [symbols, /__stack_chk_fail@/],
        [symbols, /__mem\w+_chk@/], [symbols, /__glibcxx_assert_fail/],
    ]) {
        assertTrue(pattern.test(text), `${pattern}`);
    }
    assertTrue(!/LOAD .* RWE /.test(headers));
});

test('a directory with and one without directoryperdb are distinguished', () => {
    for (const perDb of [false, true]) {
        const server = startServer({options: perDb ? ['--directoryperdb'] : []});
        server.shell.getDB('shop').getCollection('orders').insertOne({_id: 1});
        stopServer(server);
        const file = config('layout.yaml', `storage:\n  directoryPerDB: ${!perDb}\n`);
        const wrong = perDb ? [] : ['--directoryperdb'];
        for (const options of [wrong, wrong.concat('--repair'), ['--config', file]]) {
            const run = runServer(['--dbpath', server.dbpath, '--port', '20001'].concat(options));
            assertEq(run.exitCode, 100, run.output);
            assertContains(run.output, perDb ? 'was made with --directoryperdb'
                : 'was made without --directoryperdb');
            assertContains(run.output, perDb ? 'shop/shop.ns' : 'shop.ns');
        }
    }
});

test('a port in use is exit code 48', () => {
    const server = startServer();
    const other = newFolder('other');
    const run = runMongod(['--dbpath', other, '--port', `${server.port}`, '--nojournal',
                           '--nounixsocket']);
    assertEq(run.code, 48);
    assertContains(run.out, `Address already in use for socket: 127.0.0.1:${server.port}`);
    assertEq(readFile(path.join(other, 'mongod.lock')), '');
    assertEq(stopServer(server), 0);
});

test('YAML configuration', () => {
    const file = config('good.yaml', 'storage:\n  journal:\n    commitIntervalMs: 7\n' +
        '  smallFiles: true\n  nsSize: 1\nsetParameter:\n  logLevel: 1\n');
    const server = startServer({options: ['--config', file]});
    const admin = server.shell.getDB('admin');
    assertEq(admin.runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 7);
    const parsed = admin.runCommand({getCmdLineOpts: 1}).parsed;
    assertEq(parsed.storage.journal.commitIntervalMs, 7);
    assertEq(parsed.storage.dbPath, server.dbpath);
    stopServer(server);
    const nsFile = startServer({options: ['-f', file]});
    nsFile.shell.getDB('test').getCollection('a').insertOne({});
    assertEq(fs.statSync(path.join(nsFile.dbpath, 'test.ns')).size, 1024 * 1024);
    stopServer(nsFile);
});

test('INI configuration', () => {
    const file = config('good.ini', '# old style\nsmallfiles = true\nnssize = 1\n' +
        'journalCommitInterval = 9\n');
    const server = startServer({options: ['--config', file]});
    assertEq(server.shell.getDB('admin').runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 9);
    stopServer(server);
});

test('the command line wins over the file', () => {
    const file = config('interval.yaml', 'storage:\n  journal:\n    commitIntervalMs: 7\n');
    const server = startServer({options: ['--config', file, '--journalCommitInterval', '12']});
    assertEq(server.shell.getDB('admin').runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 12);
    stopServer(server);
});

test('what a file says wrongly is named', () => {
    for (const [name, text, part] of [
        ['unknown.yaml', 'storage:\n  noSuchThing: 1\n', 'storage.noSuchThing'],
        ['type.yaml', 'storage:\n  smallFiles: 12x\n', 'smallFiles'],
    ]) {
        const run = runServer(['--dbpath', folder, '--config', config(name, text)]);
        assertEq(run.exitCode, 2, run.output);
        assertContains(run.output, part);
    }
});

test('the log tells how the server was started', () => {
    const server = startServer({options: ['--smallfiles']});
    const log = serverLog(server);
    for (const part of [`pid=${server.process.pid} port=${server.port} dbpath=${server.dbpath}`,
                        'db version v', 'options: {', 'journal dir=',
                        `waiting for connections on port ${server.port}`]) {
        assertContains(log, part);
    }
    stopServer(server);
    assertContains(serverLog(server), 'dbexit');
});
