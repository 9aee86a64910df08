// The command line and the configuration file: what is accepted, what is refused, exit codes.
// Wire spec 6.1 and 6.2; journal spec 5.8.
// Group: options

const folder = newFolder('options');
const config = (name, text) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, text);
    return file;
};

test('--help and --version end with 0', () => {
    const help = runServer(['--help']);
    assertEq(help.exitCode, 0);
    for (const option of ['--dbpath', '--journalCommitInterval', '--syncdelay', '--smallfiles']) {
        assertContains(help.output, option);
    }
    const version = runServer(['--version']);
    assertEq(version.exitCode, 0);
    assertTrue(/v\d+\.\d+\.\d+/.test(version.output), version.output);
});

test('the base lists no option of a patch', () => {
    if (appliedPatches().length === 0) {
        assertTrue(!runServer(['--help']).output.includes('journalSyncMethod'));
    }
});

test('an unknown option is named', () => {
    const run = runServer(['--noSuchOption']);
    assertEq(run.exitCode, 2);
    assertContains(run.output, 'Error parsing command line');
    assertContains(run.output, 'noSuchOption');
    assertContains(run.output, "try 'mongod --help' for more information");
});

test('a missing data directory is exit code 100', () => {
    const run = runServer(['--dbpath', path.join(folder, 'missing'), '--port', '20001']);
    assertEq(run.exitCode, 100);
    assertContains(run.output, path.join(folder, 'missing'));
    assertContains(run.output, 'does not exist');
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
    const other = path.join(folder, 'other');
    fs.mkdirSync(other);
    assertEq(runServer(['--dbpath', other, '--port', `${server.port}`]).exitCode, 48);
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
