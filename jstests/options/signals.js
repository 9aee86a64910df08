// Signals, log files, the pid file, --fork and --shutdown. Wire spec 6.2 and 6.3.
// Group: options

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}([+-]\d{4}|Z) \[\w+\] /;

const kReady = 'waiting for connections on port';
const lockOf = dbpath => readFile(path.join(dbpath, 'mongod.lock'));
const journalOf = server => fs.readdirSync(path.join(server.dbpath, 'journal'))
    .filter(name => name.startsWith('j._'));

// What a clean end logs, in this order.
const kSteps = [
    'will terminate after current cmd ends', 'dbexit: ',
    'shutdown: going to close listening sockets...', 'shutdown: going to close sockets...',
    'shutdown: waiting for fs preallocator...', 'shutdown: lock for final commit...',
    'shutdown: final commit...', 'shutdown: closing all files...', 'closeAllFiles() finished',
    'journalCleanup...', 'removeJournalFiles', 'shutdown: removing fs lock...',
    'dbexit: really exiting now'];

for (const [signal, text] of [['SIGTERM', 'got signal 15 (Terminated), '],
                              ['SIGINT', 'got signal 2 (Interrupt), '],
                              ['SIGHUP', 'got signal 1 (Hangup), ']]) {
    test(`${signal} shuts down cleanly`, () => {
        const server = startServer({options: ['--smallfiles']});
        server.shell.getDB('test').getCollection('a').insertOne({_id: 1});
        assertEq(lockOf(server.dbpath), `${server.process.pid}\n`);
        assertEq(stopServer(server, signal), 0);
        assertEq(lockOf(server.dbpath), '');
        assertEq(journalOf(server), []);
        const log = serverLog(server);
        let at = 0;
        for (const step of [text + kSteps[0], ...kSteps.slice(1)]) {
            at = log.indexOf(step, at);
            assertTrue(at !== -1, `${step} is missing or too early in\n${log}`);
        }
    });
}

// A server that writes its log itself: `logPath`.
function startLogging(folder, more = [], file = path.join(folder, 'mongod.log')) {
    const data = path.join(folder, 'db');
    fs.mkdirSync(data, {recursive: true});
    const port = 30000 + Math.floor(Math.random() * 2000);
    const server = launch(folder, ['--dbpath', data, '--port', `${port}`, '--logpath', file,
                                   '--smallfiles', '--nssize', '1', ...more], port);
    waitFor('the server is ready', () => readFile(file).includes(kReady) || hasExited(server));
    server.shell = new Mongo(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    return Object.assign(server, {logPath: file});
}

function rotatedIn(folder) {
    return fs.readdirSync(folder).filter(name => /^mongod\.log\.\d{4}-/.test(name));
}

test('other signals change nothing', () => {
    const folder = newFolder('log');
    const server = startLogging(folder);
    for (const signal of ['SIGPIPE', 'SIGUSR2', 'SIGWINCH', 'SIGUSR2']) server.process.kill(signal);
    server.process.kill('SIGUSR1');
    waitFor('the log is rotated', () => rotatedIn(folder).length === 1);
    assertEq(stopServer(server), 0);
});

test('a crash writes a trace, leaves the lock file, and is recovered', () => {
    let server = startServer({options: ['--smallfiles']});
    for (const [signal, name] of [['SIGSEGV', '11 (Segmentation fault)'],
                                  ['SIGABRT', '6 (Aborted)']]) {
        assertEq(stopServer(server, signal), 14);
        assertContains(serverLog(server), `SEVERE: Got signal: ${name}.\nBacktrace:\n`);
        assertEq(lockOf(server.dbpath), `${server.process.pid}\n`);
        server = startServer({options: ['--smallfiles'], folder: server.folder});
        assertContains(serverLog(server), 'recover begin');
    }
    stopServer(server);
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

test('the log says who writes it, and rotates on command and on SIGUSR1', () => {
    const folder = newFolder('log');
    const server = startLogging(folder);
    const file = server.logPath;
    for (const part of [`MongoDB starting : pid=${server.process.pid} port=${server.port} ` +
                        `dbpath=${server.dbpath} 64-bit host=`, 'db version v2.6.12',
                        'git version: ', 'build info: ', 'allocator: ', 'options: { net: {']) {
        assertContains(readFile(file), part);
    }
    assertEq(server.shell.getDB('admin').runCommand({logRotate: 1}).ok, 1);
    assertEq(rotatedIn(folder).length, 1);
    const before = readFile(path.join(folder, rotatedIn(folder)[0]));
    assertContains(before, kReady);
    assertContains(before, 'MongoDB starting');
    assertTrue(!readFile(file).includes(kReady));
    // The new file begins with who writes it.
    assertContains(readFile(file), `pid=${server.process.pid} port=${server.port} 64-bit host=`);
    assertContains(readFile(file), 'db version v');
    server.process.kill('SIGUSR1');
    waitFor('the log is rotated again', () => rotatedIn(folder).length === 2);
    assertEq(stopServer(server), 0);
    assertContains(readFile(file), 'really exiting now');
    assertTrue(!readFile(file).includes('MongoDB starting'));

    const appended = startLogging(folder, ['--logappend']);
    assertContains(readFile(file), '***** SERVER RESTARTED *****');
    assertContains(readFile(file), 'dbexit');
    assertEq(stopServer(appended), 0);
});

test('a log that cannot be rotated goes on', () => {
    const folder = newFolder('log');
    const logs = path.join(folder, 'logs'), away = path.join(folder, 'away', 'mongod.log');
    fs.mkdirSync(logs);
    const server = startLogging(folder, [], path.join(logs, 'mongod.log'));
    fs.renameSync(logs, path.dirname(away));
    server.process.kill('SIGUSR1');
    waitFor('it complains', () => readFile(away).includes('cannot open the log file'));
    assertEq(stopServer(server), 0);
    assertContains(readFile(away), 'really exiting now');
});

test('--fork, --pidfilepath and --shutdown', () => {
    const folder = newFolder('fork');
    const data = path.join(folder, 'db'), pidFile = path.join(folder, 'pid');
    fs.mkdirSync(data);
    const port = 30000 + Math.floor(Math.random() * 2000);
    const parent = runMongod(['--fork', '--logpath', 'log', '--pidfilepath', 'pid', '--dbpath',
                              'db', '--port', `${port}`, '--smallfiles', '--nounixsocket'], folder);
    assertEq(parent.code, 0, parent.err);
    assertContains(parent.out,
                   'about to fork child process, waiting until server is ready for connections.\n');
    assertTrue(parent.out.endsWith('\nchild process started successfully, parent exiting\n'));
    const pid = Number(readFile(pidFile));
    assertContains(parent.out, `\nforked process: ${pid}\n`);
    assertEq(lockOf(data), `${pid}\n`);
    assertEq(fs.readlinkSync(`/proc/${pid}/cwd`), '/');
    assertEq(fs.readlinkSync(`/proc/${pid}/fd/1`), path.join(folder, 'log'));
    const shell = new Mongo(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    assertEq(shell.getDB('admin').runCommand({ping: 1}).ok, 1);
    shell.close();
    const ended = runMongod(['--shutdown', '--dbpath', data]);
    assertEq([ended.code, ended.out], [0, `killing process with pid: ${pid}\n`]);
    assertEq([lockOf(data), fs.existsSync(pidFile)], ['', false]);
    assertContains(readFile(path.join(folder, 'log')), `${kReady} ${port}`);
    const again = runMongod(['--shutdown', '--dbpath', data]);
    assertEq(again.code, 1);
    assertContains(again.err, "There doesn't seem to be a server running with dbpath");
});

test('--fork says why the other one did not start', () => {
    const folder = newFolder('fork');
    fs.mkdirSync(path.join(folder, 'db'));
    const fork = (...words) => runMongod(['--fork', '--logpath', ...words], folder);
    const log = () => readFile(path.join(folder, 'log'));
    let run = fork('log', '--dbpath', 'nosuch');
    assertEq(run.code, 100);
    assertContains(run.out, 'ERROR: child process failed, exited with error number 100');
    assertContains(log(), 'does not exist');
    run = fork('nosuch/log', '--dbpath', 'db');
    assertEq([run.code, run.out.includes('forked process')], [1, false]);
    assertContains(run.err, `cannot open the log file ${folder}/nosuch/log`);
    run = fork('log', '--dbpath', 'db', '--pidfilepath', 'nosuch/pid');
    assertEq(run.code, 1);
    assertContains(run.out, 'ERROR: child process failed, exited with error number 1');
    assertContains(log(), `cannot write the pid file ${folder}/nosuch/pid`);
});

test('--fork takes a relative folder for its socket', () => {
    const folder = newFolder('fork'), sockets = path.join(folder, 'sockets');
    for (const name of ['db', 'sockets']) fs.mkdirSync(path.join(folder, name));
    const port = 30000 + Math.floor(Math.random() * 2000);
    const run = runMongod(['--fork', '--logpath', 'log', '--dbpath', 'db', '--port', `${port}`,
                           '--smallfiles', '--unixSocketPrefix', 'sockets'], folder);
    assertEq(run.code, 0, run.out);
    assertEq(fs.readdirSync(sockets), [`mongodb-${port}.sock`]);
    assertEq(runMongod(['--shutdown', '--dbpath', 'db'], folder).code, 0);
    assertEq(fs.readdirSync(sockets), []);
});

test('--shutdown leaves other processes alone', () => {
    // A crash leaves a process id behind that may belong to another process by now.
    const dbpath = newFolder('left');
    const lock = path.join(dbpath, 'mongod.lock');
    fs.writeFileSync(lock, `${process.pid}\n`);
    const left = runMongod(['--shutdown', '--dbpath', dbpath]);
    assertEq(left.code, 1);
    assertContains(left.err, "There doesn't seem to be a server");
    // As from another container, whose processes have numbers of their own.
    const server = startServer({options: ['--smallfiles']});
    fs.writeFileSync(path.join(server.dbpath, 'mongod.lock'), `${process.pid}\n`);
    const run = runMongod(['--shutdown', '--dbpath', server.dbpath]);
    assertEq([run.code, run.out], [1, '']);
    assertContains(run.err, `the server with dbpath ${server.dbpath} runs in another container: ` +
                   `process ${process.pid} is another program here; stop it there`);
    stopServer(server);
});

test('--shutdown follows no link', () => {
    // In a directory of another user: that user's file, or a pipe that would wait.
    const server = startServer({options: ['--smallfiles']});
    const lock = path.join(server.dbpath, 'mongod.lock');
    for (const make of [fs.symlinkSync, fs.linkSync,
                        (_, name) => childProcess.execFileSync('mkfifo', [name])]) {
        const name = path.join(newFolder('other'), 'mongod.lock');
        make(lock, name);
        const run = runMongod(['--shutdown', '--dbpath', path.dirname(name)]);
        assertEq([run.code, run.out], [1, '']);
        assertContains(run.err, name);
    }
    assertTrue(!hasExited(server));
    stopServer(server);
});
