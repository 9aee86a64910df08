// Signals, log files, the pid file, --fork and --shutdown. Wire spec 6.2 and 6.3.
// Group: options

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}([+-]\d{4}|Z) \[\w+\] /;

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    test(`${signal} shuts down cleanly`, () => {
        const server = startServer();
        server.shell.getDB('test').getCollection('a').insertOne({_id: 1});
        assertEq(stopServer(server, signal), 0);
        assertEq(readFile(path.join(server.dbpath, 'mongod.lock')), '');
        assertContains(serverLog(server), 'will terminate after current cmd ends');
    });
}

test('SIGABRT ends abruptly with 14 and leaves the lock file', () => {
    const server = startServer();
    assertEq(stopServer(server, 'SIGABRT'), 14);
    assertEq(readFile(path.join(server.dbpath, 'mongod.lock')), `${server.process.pid}\n`);
});

test('the shutdown command ends the server with 0', () => {
    const server = startServer();
    try {
        server.shell.getDB('admin').runCommand({shutdown: 1});
    } catch (error) {
        // the server closes the connection instead of answering
    }
    server.shell.close();
    waitFor('the server ends', () => hasExited(server));
    assertEq(server.process.exitCode, 0);
});

test('log lines have the old form', () => {
    const server = startServer();
    stopServer(server);
    const lines = serverLog(server).split('\n').filter(line => line.length > 0);
    assertTrue(lines.length > 5);
    for (const line of lines) {
        assertTrue(stamp.test(line) || line.startsWith(' ') || line.startsWith('\t'), line);
    }
});

test('the log rotates on command and on SIGUSR1', () => {
    const folder = newFolder('log');
    const file = path.join(folder, 'mongod.log');
    const rotated = () => fs.readdirSync(folder).filter(name => /^mongod\.log\.\d{4}-/.test(name));
    const ready = 'waiting for connections on port';
    const data = path.join(folder, 'db');
    fs.mkdirSync(data);
    const port = 30000 + Math.floor(Math.random() * 2000);
    const server = launch(folder, ['--dbpath', data, '--port', `${port}`, '--logpath', file], port);
    waitFor('the server is ready', () => readFile(file).includes(ready));
    const shell = new Mongo(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    assertEq(shell.getDB('admin').runCommand({logRotate: 1}).ok, 1);
    assertEq(rotated().length, 1);
    assertContains(readFile(path.join(folder, rotated()[0])), ready);
    assertTrue(!readFile(file).includes(ready));
    // The new file begins with who writes it.
    const details = readFile(file);
    assertContains(details, `pid=${server.process.pid} port=${port} 64-bit host=`);
    assertContains(details, 'db version v');
    server.process.kill('SIGUSR1');
    waitFor('the log is rotated again', () => rotated().length === 2);
    server.shell = shell;
    assertEq(stopServer(server), 0);

    const appended = launch(folder, ['--dbpath', data, '--port', `${port}`, '--logpath', file,
                                     '--logappend'], port);
    waitFor('the server is ready again', () => readFile(file).includes(ready));
    assertContains(readFile(file), '***** SERVER RESTARTED *****');
    assertContains(readFile(file), 'dbexit');
    assertEq(stopServer(appended), 0);
});

test('--fork, --pidfilepath and --shutdown', () => {
    const folder = newFolder('fork');
    const data = path.join(folder, 'db');
    fs.mkdirSync(data);
    const port = 30000 + Math.floor(Math.random() * 2000);
    const pidFile = path.join(folder, 'pid');
    const parent = runServer(['--dbpath', data, '--port', `${port}`, '--fork', '--logpath',
                              path.join(folder, 'log'), '--pidfilepath', pidFile]);
    assertEq(parent.exitCode, 0, parent.output);
    assertContains(parent.output, 'child process started successfully, parent exiting');
    const pid = Number(readFile(pidFile));
    assertEq(readFile(path.join(data, 'mongod.lock')), `${pid}\n`);
    const shell = new Mongo(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    assertEq(shell.getDB('admin').runCommand({ping: 1}).ok, 1);
    shell.close();
    assertEq(runServer(['--shutdown', '--dbpath', data]).exitCode, 0);
    assertEq(readFile(path.join(data, 'mongod.lock')), '');
    assertEq(runServer(['--shutdown', '--dbpath', data]).exitCode, 1);
});
