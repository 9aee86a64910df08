// Sorts and groups larger than memory use files with allowDiskUse, which no other user can read and
// which go with whatever asked for them; one that is killed: tests/hostile/test_scarcity.py.
// Group: hostile

const options = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1'];
const server = startServer({options});
const admin = server.shell.getDB('admin');
const kRows = 1500, kRowBytes = 100000;  // more than one operation may hold
const sort = {$sort: {k: 1}};
const group = {$group: {_id: '$_id', k: {$first: '$k'}, s: {$first: '$s'}}};

function fill(of) {
    for (let begin = 0; begin < kRows; begin += 100) {
        const documents = Array.from({length: 100}, (_, i) => ({
            _id: begin + i, k: (begin + i) * 7919 % 100, s: 'x'.repeat(kRowBytes)}));
        of.shell.getDB('test').runCommand({insert: 'big', documents});
    }
}

function aggregate(allowDiskUse, ...pipeline) {
    return {aggregate: 'big', pipeline, cursor: {}, allowDiskUse};
}

// What lies in _tmp.
function filesOf(of) {
    const folder = path.join(of.dbpath, '_tmp');
    return fs.existsSync(folder)
        ? fs.readdirSync(folder).map(name => path.join(folder, name)) : [];
}

function bytesOfFiles() {
    return filesOf(server).reduce((sum, file) => sum + fs.lstatSync(file).size, 0);
}

function run(command, of = server) {
    return of.shell.getDB('test').runCommand(command);
}

function allIds(command) {
    let cursor = run(command).cursor;
    const ids = cursor.firstBatch.map(row => row._id);
    while (Number(cursor.id)) {
        cursor = run({getMore: cursor.id, collection: 'big'}).cursor;
        ids.push(...cursor.nextBatch.map(row => row._id));
    }
    return ids;
}

// Calls body while there is so little memory.
function withMemory(megabytes, body) {
    const {was} = admin.runCommand({setParameter: 1, memoryLimitMB: megabytes});
    try {
        body();
    } finally {
        admin.runCommand({setParameter: 1, memoryLimitMB: was});
    }
}

fill(server);

test('results are complete and in order', () => {
    const ids = [...Array(kRows).keys()];
    const byK = [...ids].sort((i, j) => i * 7919 % 100 - j * 7919 % 100 || i - j);
    for (const command of [
        aggregate(true, sort, {$project: {k: 1}}), aggregate(true, group, sort, {$project: {k: 1}}),
        {find: 'big', sort: {k: 1, _id: 1}, allowDiskUse: true, projection: {k: 1}},
    ]) {
        assertEq(allIds(command), byK);
        assertEq(filesOf(server), []);
    }
    assertEq(allIds(aggregate(true, group)), ids);
});

test('without it the limit stands', () => {
    for (const command of [aggregate(false, sort), aggregate(false, group),
                           {find: 'big', sort: {k: 1}, allowDiskUse: false}]) {
        assertCommandFails(server.shell.getDB('test'), command, 292);
    }
    assertEq(filesOf(server), []);
});

test('files belong to a cursor', () => {
    for (const read of [true, false]) {
        let cursor = run(aggregate(true, sort)).cursor;
        const modes = filesOf(server).map(file => fs.lstatSync(file).mode & 0o777);
        assertEq([...new Set(modes)], [0o600]);
        while (read && Number(cursor.id)) {
            cursor = run({getMore: cursor.id, collection: 'big'}).cursor;
        }
        if (!read) run({killCursors: 'big', cursors: [cursor.id]});
        assertEq(filesOf(server), [], `${read}`);
    }
});

test('an error takes them away', () => {
    const divided = aggregate(true, {$sort: {k: -1}},
                              {$project: {x: {$divide: [1, '$k']}, s: 1}});
    let ids = null;
    try {
        ids = allIds(divided);
    } catch (error) {
        assertTrue(error.code > 0, error.message);
    }
    assertEq([ids, filesOf(server)], [null, []]);
});

test('the disk has a limit', () => {
    withMemory(128, () => {
        const larger = {$project: {k: 1, s: {$concat: Array(15).fill('$s')}}};
        for (const stage of [sort, group]) {
            const error = assertCommandFails(server.shell.getDB('test'),
                                             aggregate(true, larger, stage), 14031);
            assertContains(error.errmsg, 'memoryLimitMB');
            assertEq(filesOf(server), []);
        }
    });
});

test('idle cursors leave half of it to others', () => {
    const cursors = [run(aggregate(true, sort)).cursor.id];
    const ofOne = bytesOfFiles();
    withMemory(128, () => {
        const share = (128 << 20) * 16 / 2;
        for (let i = 0; i < 7; i++) cursors.push(run(aggregate(true, sort)).cursor.id);
        assertTrue(bytesOfFiles() <= share);
        let readable = 0;
        for (const id of cursors) {
            const reply = replyTo(server.shell.getDB('test'), {getMore: id, collection: 'big'});
            readable += reply.ok;
            if (!reply.ok) assertEq(reply.code, 43);
        }
        assertEq(readable, Math.floor(share / ofOne));
        run({killCursors: 'big', cursors});
    });
    assertEq(filesOf(server), []);
});

stopServer(server);

test('a start takes away what a crash left', () => {
    let own = startServer({options});
    const sorted = () => filesOf(own).filter(file => path.basename(file).startsWith('extsort.'));
    const byText = aggregate(true, {$sort: {s: 1}});
    fill(own);
    run(byText, own);
    stopServer(own, 'SIGKILL');
    assertTrue(sorted().length > 0);
    own = startServer({options, folder: own.folder});
    assertEq(sorted(), []);
    run(byText, own);
    assertTrue(sorted().length > 0);
    stopServer(own);
    assertEq(sorted(), []);
});
