// A backup of a set's member and the log behind it: the data of any moment after the backup, and
// what is refused (--replayOplog, --replayTo, tools/backup.py).
// Group: replica

const kOptions = ['--smallfiles', '--nssize', '1'];

function entriesFile(server, since) {
    const file = path.join(newFolder('log'), 'oplog.bson');
    const uri = `mongodb://127.0.0.1:${server.port}/?directConnection=true`;
    const run = childProcess.spawnSync(process.env.JSTEST_PYTHON,
                                       ['tools/backup.py', 'log', uri, since, file],
                                       {encoding: 'utf8'});
    assertEq([run.status, run.stderr], [0, '']);
    return file;
}

// Brings a copy of the backup to a time; returns what the server said.
function replayed(backup, file, time) {
    const folder = newFolder('restored');
    fs.cpSync(backup, path.join(folder, 'db'), {recursive: true});
    const options = ['--dbpath', path.join(folder, 'db'), '--replayOplog', file];
    const until = time ? ['--replayTo', time] : [];
    const run = runServer(engineOptions(kOptions.concat(options, until)));
    return Object.assign(run, {folder});
}

function refused(backup, file, time, text) {
    const run = replayed(backup, file, time);
    assertEq(run.exitCode, 100, text);
    assertContains(run.output, text);
    return run;
}

const server = startServer({options: kOptions.concat(
    ['--replSet', 'rs0', '--oplogSize', '16', '--setParameter', 'writePeriodicNoops=false'])});
const test_ = server.shell.getDB('test');
const c = test_.getCollection('c');
const backup = path.join(newFolder('backup'), 'copy');
const states = [];  // {time, date, numbers, names}: what there was at that moment

function state(of) {
    const db = of.shell.getDB('test');
    return {
        numbers: db.getCollection('c').find().sort({_id: 1}).toArray().map(d => [d._id, d.n]),
        names: db.getCollectionNames().filter(name => !name.startsWith('system.')).sort(),
        hash: db.runCommand({dbHash: 1}).md5,
    };
}

function remember() {
    const ts = server.shell.getDB('local').getCollection('oplog.rs').find()
        .sort({$natural: -1}).limit(1).toArray()[0].ts;
    sleep(20);
    states.push(Object.assign(state(server), {
        time: `${ts.getHighBits() >>> 0}:${ts.getLowBits() >>> 0}`,
        date: new Date().toISOString()}));
    sleep(20);
}

test('a backup of a member, and writes of each kind behind it', () => {
    server.shell.getDB('admin').runCommand({replSetInitiate: {}});
    waitFor('it is the primary', () =>
        server.shell.getDB('admin').runCommand({isMaster: 1}).ismaster);
    c.insertMany([...Array(100).keys()].map(_id => ({_id, n: 0})));
    c.createIndex({n: 1});
    remember();
    assertEq(server.shell.getDB('admin').runCommand({createBackup: 1, backupDir: backup}).ok, 1);
    remember();
    const steps = [
        () => c.updateMany({_id: {$lt: 50}}, {$inc: {n: 1}, $push: {list: 7}}),
        () => c.deleteMany({_id: {$mod: [7, 0]}}),
        () => c.aggregate([{$match: {_id: {$gt: 40}}}, {$out: 'out'}]).toArray(),
        () => test_.createCollection('ring', {capped: true, size: 4096, max: 5}),
        () => test_.getCollection('ring').insertMany([...Array(9).keys()].map(_id => ({_id}))),
        () => test_.getCollection('out').createIndex({n: -1}, {unique: false}),
        () => test_.getCollection('out').renameCollection('renamed'),
        () => c.dropIndex('n_1'),
        () => test_.getCollection('renamed').drop(),
        () => c.insertMany([...Array(100).keys()].map(n => ({_id: 1000 + n, n}))),
        () => c.drop(),
    ];
    for (const step of steps) {
        step();
        remember();
    }
});

test('each moment behind the backup can be had again, by entry and by date', () => {
    const file = entriesFile(server, '1:1');
    for (const wanted of states.slice(1)) {
        for (const time of [wanted.time, wanted.date]) {
            if (time === states[states.length - 1].date) continue;  // no entry is behind it
            const run = replayed(backup, file, time);
            assertEq(run.exitCode, 0, run.output);
            const restored = startServer({folder: run.folder, options: kOptions});
            const found = state(restored);
            assertEq([found.numbers, found.names, found.hash],
                     [wanted.numbers, wanted.names, wanted.hash], time);
            for (const name of found.names) {
                assertTrue(restored.shell.getDB('test').getCollection(name)
                               .validate({full: true}).valid);
            }
            assertEq(restored.shell.getDB('local').getCollectionNames()
                         .filter(name => name.includes('oplog') || name.includes('replset')), []);
            stopServer(restored);
        }
    }
    const whole = replayed(backup, file);
    assertEq(whole.exitCode, 0, whole.output);
    assertContains(whole.output, `, ${states[states.length - 1].time}`);
});

test('what does not lead to that time is refused', () => {
    // ./lab restore asks so before it copies anything.
    const early = runServer(engineOptions(kOptions.concat(
        ['--dbpath', '/dev/null', '--replayOplog', '/dev/null', '--replayTo', 'soon'])));
    assertContains(early.output, '--replayTo: ');
    const all = entriesFile(server, '1:1');
    const [before, , after] = states, last = states[states.length - 1];
    refused(backup, all, before.date.replace(/^..../, '2001'), 'take an earlier one');
    const late = refused(backup, all, '4000000000:1', 'the log ends with ' + last.time);
    const start = runServer(engineOptions(kOptions.concat(
        ['--dbpath', path.join(late.folder, 'db'), '--port', '1'])));
    assertContains(start.output, 'is a copy that was not finished');
    refused(backup, entriesFile(server, last.time), last.time, 'does not reach back to the end');
    const cut = entriesFile(server, '1:1');
    fs.truncateSync(cut, fs.statSync(cut).size - 3);
    refused(backup, cut, last.time, 'the file ends within the entry');
    refused(backup, '/dev/null', last.time, 'the end of the copy is ');
    refused(backup, path.join(backup, 'missing'), last.time, 'cannot be read');
    const other = newFolder('none');
    fs.mkdirSync(path.join(other, 'db'));
    refused(path.join(other, 'db'), all, last.time, 'there is no local.oplog.rs');
    for (const [more, text] of [[['--replayTo', 'noon-ish'], '--replayTo: '],
                                [['--replSet', 'rs0'], "Can't specify --replayOplog together"],
                                [['--repair'], "Can't specify --replayOplog together"]]) {
        const run = runServer(engineOptions(
            ['--dbpath', backup, '--replayOplog', all].concat(more)));
        assertEq(run.exitCode, 2, text);
        assertContains(run.output, text);
    }
    assertEq(runServer(['--dbpath', backup, '--replayTo', after.time]).exitCode, 2);
    stopServer(server);
});
