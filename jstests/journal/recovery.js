// What a start makes of the journal of a killed server: recovery, its diagnostic options, and the
// refusals with their exit codes. Journal spec 4.1 to 4.5, 4.7.
// Group: journal

const small = ['--smallfiles', '--nssize', '1', '--nopreallocj', '--syncdelay', '0'];
const kHeader = 8192;
const t = server => server.shell.getDB('test').getCollection('c');
const journal = server => path.join(server.dbpath, 'journal');
const journalFile = (server, number) => path.join(journal(server), `j._${number}`);
const lockFile = server => readFile(path.join(server.dbpath, 'mongod.lock'));

// A server that was killed with five acknowledged documents in its journal and maybe nowhere else.
function killedServer() {
    const server = startServer({options: small});
    for (let i = 0; i < 5; i++) {
        t(server).insertOne({_id: i}, {writeConcern: {w: 1, j: true}});
    }
    stopServer(server, 'SIGKILL');
    return server;
}

function start(server, ...more) {
    return runServer(['--dbpath', server.dbpath, '--port', `${server.port}`].concat(small, more));
}

function overwrite(file, offset, bytes) {
    const handle = fs.openSync(file, 'r+');
    fs.writeSync(handle, Buffer.from(bytes), 0, bytes.length, offset);
    fs.closeSync(handle);
}

function assertRecovers(server) {
    const again = startServer({options: small, folder: server.folder});
    assertContains(serverLog(again), 'recover begin');
    assertContains(serverLog(again), 'recover done');
    assertEq(t(again).find().toArray().map(doc => doc._id), [0, 1, 2, 3, 4]);
    assertTrue(t(again).validate({full: true}).valid);
    stopServer(again);
}

test('scan only: dumps the journal and changes nothing', () => {
    const server = killedServer();
    for (const bits of ['2', '7']) {
        const before = fs.readFileSync(journalFile(server, 0));
        const run = start(server, '--journalOptions', bits);
        assertEq(run.exitCode, 100, run.output);
        assertContains(run.output, '13545');
        const dumped = ['BEGIN section', 'BASICWRITE', 'OP FileCreatedOp test.ns 1MB',
                        'END section'];
        for (const part of dumped) {
            assertEq(run.output.includes(part), bits === '7', part);
        }
        assertTrue(before.equals(fs.readFileSync(journalFile(server, 0))));
        assertTrue(lockFile(server) !== '');
    }
    assertRecovers(server);
});

test('recover only: ends with 0 and leaves data without a journal', () => {
    const server = killedServer();
    const run = start(server, '--journalOptions', '4');
    assertEq(run.exitCode, 0, run.output);
    assertContains(run.output, 'recover done');
    assertEq(fs.readdirSync(journal(server)), []);
    assertEq(lockFile(server), '');
    const again = startServer({options: small, folder: server.folder});
    assertContains(serverLog(again), 'no journal files present, no recovery needed');
    assertEq(t(again).countDocuments({}), 5);
    stopServer(again);
});

for (const bits of ['8', '16', '32', '64']) {
    test(`--journalOptions ${bits} runs as usual`, () => {
        const server = startServer({options: small.concat('--journalOptions', bits)});
        for (let i = 0; i < 5; i++) {
            t(server).insertOne({_id: i}, {writeConcern: {w: 1, j: true}});
        }
        assertEq(t(server).countDocuments({}), 5);
        assertEq(stopServer(server), 0);
    });
}

const damages = {
    'two files with one number: 13531': [
        server => fs.copyFileSync(journalFile(server, 0), path.join(journal(server), 'j._00')),
        'two journal files have the number 0'],
    'a missing number: 13532': [
        server => fs.copyFileSync(journalFile(server, 0), journalFile(server, 2)),
        'j._1 is missing'],
    'an abrupt end before the last file: 13535': [
        server => {
            fs.copyFileSync(journalFile(server, 0), journalFile(server, 1));
            fs.truncateSync(journalFile(server, 0), kHeader + 100);
        },
        "yet it isn't the last journal file"],
    'another version: 13536': [
        server => overwrite(journalFile(server, 0), 2, [0x47, 0x41]),
        'journal file version number mismatch got:4147 expected:4149'],
    'a bad header before data: 13537': [
        server => overwrite(journalFile(server, 0), 0, [0]), 'has no valid header'],
    'damage before an intact section: 13594': [
        server => overwrite(journalFile(server, 0), kHeader + 40, [1, 2, 3, 4]),
        'sections written later are intact'],
};
for (const [name, [damage, text]] of Object.entries(damages)) {
    test(`recovery refuses ${name}`, () => {
        const server = killedServer();
        const lock = lockFile(server);
        damage(server);
        const before = fs.readdirSync(journal(server)).sort();
        const run = start(server);
        assertEq(run.exitCode, 100, run.output);
        assertContains(run.output, name.slice(-5));
        assertContains(run.output, text);
        assertEq(fs.readdirSync(journal(server)).sort(), before);
        assertTrue(lockFile(server) !== '', `the lock file was ${lock}`);
        assertEq(start(server).exitCode, 100);  // and again
    });
}

test('a torn last section is the end of the journal', () => {
    const server = killedServer();
    const file = journalFile(server, 0);
    // The head of a section with this file's id, and nothing that fits it.
    const id = fs.readFileSync(file).subarray(156, 164);
    const end = fs.statSync(file).size;
    fs.appendFileSync(file, Buffer.alloc(8192));
    overwrite(file, end, [0, 1, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, ...id]);
    const run = start(server, '--journalOptions', '4');
    assertEq(run.exitCode, 0, run.output);
    assertContains(run.output, `journal section at offset ${end} of ${file} is not complete`);
    const again = startServer({options: small, folder: server.folder});
    assertEq(t(again).countDocuments({}), 5);
    stopServer(again);
});

test('--repair wants the journal replayed first, and an empty journal is explained', () => {
    const server = killedServer();
    const repair = start(server, '--repair');
    assertEq(repair.exitCode, 100, repair.output);
    assertContains(repair.output, '12596');
    const away = path.join(server.folder, 'away');
    fs.renameSync(journal(server), away);
    const empty = start(server);
    assertEq(empty.exitCode, 100, empty.output);
    assertContains(empty.output, '12596');
    assertTrue(lockFile(server) !== '');
    fs.rmSync(journal(server), {recursive: true, force: true});
    fs.renameSync(away, journal(server));
    assertRecovers(server);
});
