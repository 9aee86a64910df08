// What every jstest starts with: tests, assertions, and servers that the test starts itself.
// The runner (jstests/run.py) loads this file before each test file and reads the lines that
// start with "@@". mongosh awaits its own calls, also through these functions, as long as no
// constructor or getter is involved; hence the plain functions.

const childProcess = require('child_process');
const fs = require('fs');
const path = require('path');

const harness = {
    mongod: process.env.JSTEST_MONGOD,
    base: process.env.JSTEST_BASE_MONGOD,
    scratch: process.env.JSTEST_SCRATCH,
    paranoid: process.env.JSTEST_PARANOID === '1',
    running: [],
    failures: 0,
    started: 0,
};

// Nothing outlives its test file, whichever way it ends.
process.on('exit', () => {
    for (const server of harness.running) {
        if (server.process.exitCode === null) {
            server.process.kill('SIGKILL');
        }
    }
});

function report(outcome, name, started, message) {
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    print(`@@ ${JSON.stringify({outcome, name, seconds, message: message || ''})}`);
}

// Runs one test; a failure is reported and the file goes on with its next test.
function test(name, body) {
    const started = Date.now();
    try {
        body();
        report('pass', name, started);
    } catch (error) {
        harness.failures++;
        report('fail', name, started, `${(error && error.message) || error}`);
    }
}

function skip(name, reason) {
    report('skip', name, Date.now(), reason);
}

// ---- assertions ----

function show(value) {
    return EJSON.stringify(value, {relaxed: false});
}

function fail(text, message) {
    throw new Error(message ? `${message}: ${text}` : text);
}

function assertTrue(value, message) {
    if (!value) {
        fail(`${show(value)} should be true`, message);
    }
}

// Compares with types and field order.
function assertEq(actual, expected, message) {
    if (show(actual) !== show(expected)) {
        fail(`got ${show(actual)}, expected ${show(expected)}`, message);
    }
}

function assertBetween(low, value, high, message) {
    if (!(low <= value && value <= high)) {
        fail(`${show(value)} is not in ${show(low)}..${show(high)}`, message);
    }
}

function assertContains(text, part, message) {
    if (!`${text}`.includes(part)) {
        fail(`'${part}' not found in:\n${text}`, message);
    }
}

// Runs a command and returns its reply, also when that is an error.
function replyTo(db, command) {
    let reply;
    try {
        reply = db.runCommand(command);  // mongosh awaits an assignment, but not a return
    } catch (error) {
        reply = error.errorResponse || {ok: 0, code: error.code, errmsg: error.message};
    }
    return reply;
}

// Runs a command that must fail with this code; returns the error document.
function assertCommandFails(db, command, code) {
    const reply = replyTo(db, command);
    if (reply.ok !== 0 || reply.code !== code) {
        fail(`${show(command)} gave ${show(reply)}, expected an error with code ${code}`);
    }
    return reply;
}

// Calls body, which must throw an error with this code; returns the error.
function assertThrowsCode(code, body) {
    let thrown;
    try {
        body();
    } catch (error) {
        thrown = error;
    }
    if (!thrown) {
        fail(`nothing was thrown, expected code ${code}`);
    }
    if (thrown.code !== code) {
        fail(`code ${thrown.code} (${thrown.message}), expected ${code}`);
    }
    return thrown;
}

// Waits for a condition; the limit only ends a test that would hang.
function waitFor(what, condition) {
    const limit = Date.now() + 60000;
    while (!condition()) {
        if (Date.now() > limit) {
            fail(`gave up waiting until ${what}`);
        }
        sleep(10);
    }
}

// ---- servers ----

function newFolder(name) {
    return fs.mkdtempSync(path.join(harness.scratch, `${name}-`));
}

function readFile(file) {
    return fs.existsSync(file) ? fs.readFileSync(file, 'latin1') : '';
}

function launch(folder, options, port, program = harness.mongod) {
    const logFile = path.join(folder, `server-${harness.started++}.log`);
    const log = fs.openSync(logFile, 'a');
    const child = childProcess.spawn(program, options, {stdio: ['ignore', log, log], cwd: folder});
    fs.closeSync(log);
    const dbpath = path.join(folder, 'db');
    const server = {process: child, port, folder, logFile, dbpath, earlier: ''};
    harness.running.push(server);
    return server;
}

function hasExited(server) {
    return server.process.exitCode !== null || server.process.signalCode !== null;
}

// In core/ every server that the test says nothing else about also compares both views of its data
// files before each commit: a byte that changed without a declared intent ends it, and the test.
function checkOptions(options) {
    const own = options.some(option => /journal|dur|config/.test(option));
    return harness.paranoid && !own ? ['--journalOptions', '8'] : [];
}

// Whether documents may take less on the disk than they are long: only mmapv1 keeps them as they
// are.
function compresses() {
    return Boolean(process.env.TESTS_ENGINE);
}

// Of the storage engine under test: what only mmapv1 knows is for that.
function engineOptions(options) {
    const engine = process.env.TESTS_ENGINE;
    if (!engine || options.includes('--storageEngine')) return options;
    const values = {'--smallfiles': 0, '--noprealloc': 0, '--nopreallocj': 0, '--nssize': 1,
                    '--journalOptions': 1};
    const kept = [];
    for (let i = 0; i < options.length; i++) {
        if (options[i] in values) i += values[options[i]];
        else kept.push(options[i]);
    }
    return kept.concat('--storageEngine', engine);
}

// Starts a mongod and waits until it accepts connections.
//   options     command line beside --port and --dbpath
//   folder      a folder of an earlier server, to start on its data again
//   dbpath      data directory, when it is not the one in the folder
//   program     another mongod than the one under test, e.g. harness.base
//   port        where it has to be a certain one
function startServer({options = [], folder = newFolder('server'), dbpath, program,
                      port: wanted} = {}) {
    const data = dbpath || path.join(folder, 'db');
    fs.mkdirSync(data, {recursive: true});
    let earlier = '';
    for (let tries = 0; tries < 20; tries++) {
        const port = wanted || 20000 + Math.floor(Math.random() * 10000);
        const all = ['--port', `${port}`, '--dbpath', data]
            .concat(engineOptions(checkOptions(options).concat(options)));
        const server = launch(folder, all, port, program);
        Object.assign(server, {dbpath: data, earlier});
        const ready = `waiting for connections on port ${port}`;
        waitFor(`'${ready}' is in ${server.logFile}`, () =>
            hasExited(server) || readFile(server.logFile).includes(ready));
        if (!hasExited(server)) {
            server.shell = new Mongo(`mongodb://127.0.0.1:${port}/?directConnection=true`);
            return server;
        }
        if (server.process.exitCode !== 48) {
            fail(`mongod ${all.join(' ')} ended with ${server.process.exitCode} ` +
                 `${server.process.signalCode}:\n${readFile(server.logFile)}`);
        }
        earlier += readFile(server.logFile);
    }
    return fail('no free port in 20 tries');
}

// Runs a mongod that is expected to end by itself; returns {exitCode, output}.
function runServer(options, folder = newFolder('run'), program = harness.mongod) {
    const server = launch(folder, options, 0, program);
    waitFor(`mongod ${options.join(' ')} ends`, () => hasExited(server));
    return {exitCode: server.process.exitCode, output: readFile(server.logFile)};
}

// The same, with what it says where: {code, out, err}. Relative paths are those of the folder.
function runMongod(options, folder = harness.scratch, program = harness.mongod) {
    const run = childProcess.spawnSync(program, options, {
        cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60000});
    return {code: run.status, out: run.stdout, err: run.stderr};
}

// Sends a signal and waits for the end; returns the exit code (null when the signal killed it).
function stopServer(server, signal = 'SIGTERM') {
    if (server.shell) {
        server.shell.close();
    }
    server.process.kill(signal);
    waitFor(`the server ends after ${signal}`, () => hasExited(server));
    return server.process.exitCode;
}

// Of this start: of a try on a port that was taken too, since it may have prepared the files.
function serverLog(server) {
    return server.earlier + readFile(server.logFile);
}

// The patches that the program under test was built with.
function appliedPatches() {
    return JSON.parse(process.env.JSTEST_PATCHES);
}
