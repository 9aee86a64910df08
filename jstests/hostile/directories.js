// Data directories of unknown origin: nothing outside of them is written or deleted.
// Group: hostile

const {createHash} = require('crypto');

const kOptions = ['--smallfiles', '--nssize', '1', '--nounixsocket', '--nopreallocj'];
const kUnit = 8192, kFileId = 0x1122334455667788n;
const kNsFile = 0x7fffffff;

// ---- a journal as the pages of docs/spec have it ----

function bytes(...parts) {
    return Buffer.concat(parts.map(part => Buffer.isBuffer(part) ? part : Buffer.from(part)));
}

function uint32(...values) {
    const buffer = Buffer.alloc(4 * values.length);
    values.forEach((value, i) => buffer.writeUInt32LE(value, 4 * i));
    return buffer;
}

function uint64(...values) {
    const buffer = Buffer.alloc(8 * values.length);
    values.forEach((value, i) => buffer.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 8 * i));
    return buffer;
}

function checksum(data) {
    const total = piece => {
        let sum = 0n;
        for (let i = 0; i + 8 <= piece.length; i += 8) {
            sum += piece.readBigUInt64LE(i) ^ BigInt(i / 8);
        }
        return sum;
    };
    const half = Math.floor(data.length / 16) * 8;
    let rest = 0n;
    for (const byte of data.subarray(2 * half)) rest = rest << 8n | BigInt(byte << 24 >> 24);
    return uint64(BigInt.asUintN(64, total(data.subarray(0, half))) ^ BigInt(data.length),
                  BigInt.asUintN(64, total(data.subarray(half, 2 * half))) ^
                      BigInt.asUintN(64, rest));
}

// One literal: what every decoder takes.
function snappy(data) {
    const length = [];
    let rest = data.length;
    for (; rest >= 128; rest >>= 7) length.push(rest & 127 | 128);
    return bytes(length, [rest, 61 << 2, (data.length - 1) & 255, (data.length - 1) >> 8], data);
}

function section(operations, sequence) {
    const payload = snappy(operations);
    const body = bytes(uint32(payload.length + 52), uint64(sequence, kFileId), payload);
    const whole = bytes(body, uint32(0xffffffff), checksum(body), Buffer.alloc(8), '\n\n\n\n');
    return bytes(whole, Buffer.alloc((kUnit - whole.length % kUnit) % kUnit));
}

function journalFile(sections) {
    const head = bytes('j\n', [0x49, 0x41], '\n', Buffer.alloc(20), '\n', Buffer.alloc(128),
                       '\n\n');
    return bytes(head, Buffer.alloc(156 - head.length), uint64(kFileId), Buffer.alloc(8026),
                 '\n\n', ...sections.map((each, i) => section(each, i + 1)));
}

function writeOp(prefix, number = 0) {
    return bytes(uint32(0xfffffffe), prefix, [0], uint32(4, 0, number), 'evil');
}

function createdOp(file) {
    return bytes(uint32(0xfffffffd), uint64(0, 0, 4096), file, [0]);
}

function droppedOp(name) {
    return bytes(uint32(0xfffffffc), uint64(0, 0), name, [0, 0]);
}

// ---- folders ----

// {name: what it is and holds} of all below a folder but of `without`; links are not followed.
function tree(folder, without, found = {}) {
    for (const entry of fs.readdirSync(folder, {withFileTypes: true})) {
        const file = path.join(folder, entry.name);
        if (file === without) continue;
        if (entry.isSymbolicLink()) {
            found[file] = `link to ${fs.readlinkSync(file)}`;
        } else if (entry.isDirectory()) {
            found[file] = 'folder';
            tree(file, without, found);
        } else {
            found[file] = createHash('md5').update(fs.readFileSync(file)).digest('hex');
        }
    }
    return found;
}

function put(file, data = 'theirs'.repeat(1000)) {
    fs.mkdirSync(path.dirname(file), {recursive: true});
    fs.writeFileSync(file, data);
}

// A data directory, with files of others around it.
function make() {
    const folder = newFolder('directories');
    const place = {folder, dbpath: path.join(folder, 'deep', 'db'),
                   outside: path.join(folder, 'outside')};
    place.at = (...names) => path.join(place.dbpath, ...names);
    place.beside = () => tree(folder, place.dbpath);
    fs.mkdirSync(place.at('journal'), {recursive: true});
    for (const name of ['x.0', 'x.ns', 'file', 'folder/file', 'folder/x.0', 'folder/x.ns',
                        'folder/folder.0', 'folder/folder.ns', 'folder/_tmp/1']) {
        put(path.join(place.outside, name));
    }
    put(path.join(folder, 'deep', 'x.0'));
    put(path.join(folder, 'x.ns'));
    return place;
}

// Threads have an eighth of the usual stack, so that the deepest documents prove to be far from its
// end; frames of a build with a sanitizer are several times as large.
const kSmallStack = path.join(harness.scratch, 'small-stack');
fs.writeFileSync(kSmallStack, `#!/bin/sh\nulimit -S -s 1024\nexec ${harness.mongod} "$@"\n`,
                 {mode: 0o755});

function serve(place, ...more) {
    const program = /-[at]san\b/.test(harness.mongod) ? harness.mongod : kSmallStack;
    return startServer({options: [...kOptions, ...more], dbpath: place.dbpath, program});
}

// What a start says that is refused.
function refused(place, ...more) {
    const run = runMongod(['--dbpath', place.dbpath, '--port', '20001', ...kOptions, ...more]);
    assertEq(run.code, 100, run.out);
    return run.out + run.err;
}

// Calls body with a server on the place, unless its start is refused.
function serveOrRefuse(place, more, body) {
    let server;
    try {
        server = serve(place, ...more);
    } catch (error) {
        assertContains(error.message, 'ended with 100');
        return;
    }
    if (body) body(server);
    assertEq(stopServer(server), 0);
}

// ---- what the journal names ----

test('journals that name other places', () => {
    const place = make();
    put(place.at('mongod.lock'), '');
    put(place.at('test.0'), Buffer.alloc(1 << 20));
    const absolute = path.join(place.outside, 'x'), good = writeOp('test');
    for (const [name, operation] of [
        ['../x', writeOp('../x')], ['../../x', writeOp('../../x', kNsFile)],
        ['../../outside/x', writeOp('../../outside/x')], [absolute.slice(0, 60), writeOp(absolute)],
        ['test/../../x', writeOp('test/../../x')], ['../x.0', createdOp('../x.0')],
        ['../../outside/new.0', createdOp('../../outside/new.0')],
        [absolute.slice(0, 60), createdOp(`${absolute}.0`)],
        ['journal/j._0', createdOp('journal/j._0')], ['mongod.lock', createdOp('mongod.lock')],
        ['../x', droppedOp('../x')], ['../../x', droppedOp('../../x')],
        ['../../outside/folder', droppedOp('../../outside/folder')],
        ['y'.repeat(100), writeOp('y'.repeat(100))], ['', writeOp('z'.repeat(2000))],
        ['y'.repeat(100), createdOp('y'.repeat(2000))],
    ]) {
        put(place.at('journal', 'j._0'), journalFile([good, good, operation, good]));
        const before = tree(place.folder);
        for (const more of [[], ['--directoryperdb']]) {
            const text = refused(place, ...more);
            for (const part of [place.at('journal', 'j._0'), `offset ${3 * kUnit}`, name]) {
                assertContains(text, part);
            }
            assertEq(tree(place.folder), before, name);
        }
    }
});

test('a journal that names a link', () => {
    const place = make();
    fs.symlinkSync(path.join(place.outside, 'x.0'), place.at('x.0'));
    fs.symlinkSync(path.join(place.outside, 'folder'), place.at('folder'));
    for (const operation of [writeOp('x'), writeOp('folder/folder'), createdOp('folder/folder.0'),
                             droppedOp('folder')]) {
        put(place.at('journal', 'j._0'), journalFile([operation]));
        const before = place.beside();
        for (const more of [[], ['--directoryperdb']]) {
            serveOrRefuse(place, more);  // dropping what is not there is no harm
            assertEq(place.beside(), before);
        }
    }
});

test('a journal without an end', () => {
    // Sparse: it takes no disk, and reading it to its end would take hours.
    const place = make();
    put(place.at('journal', 'j._0'), '');
    fs.truncateSync(place.at('journal', 'j._0'), 2 ** 42);
    assertContains(refused(place), 'no server makes a journal file so large');
});

// ---- what the directory holds ----

// Everything that makes, grows, renames and deletes files; done or refused.
function useAll(server) {
    const documents = Array.from({length: 100}, (_, i) => ({_id: i}));
    for (const name of ['test', 'folder', 'x']) {
        for (const command of [
            {insert: 'c', documents}, {createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a'}]},
            {convertToCapped: 'c', size: 100000}, {repairDatabase: 1}, {dropDatabase: 1},
        ]) {
            replyTo(server.shell.getDB(name), command);
        }
    }
}

function checkLinks(links, more = [], link = fs.symlinkSync) {
    for (const [name, target] of Object.entries(links)) {
        const place = make();
        fs.rmSync(place.at(name), {recursive: true, force: true});
        fs.mkdirSync(path.dirname(place.at(name)), {recursive: true});
        link(path.join(place.outside, target), place.at(name));
        const before = place.beside();
        serveOrRefuse(place, more, useAll);
        assertEq(place.beside(), before, name);
        fs.rmSync(place.folder, {recursive: true});
    }
}

const kFiles = {'test.0': 'x.0', 'test.1': 'x.0', 'test.ns': 'x.ns', 'x.ns': 'x.ns',
                'mongod.lock': 'file', 'storage.bson': 'file', 'journal/j._0': 'file',
                'journal/lsn': 'file', 'journal/prealloc.0': 'file',
                'journal/tempLatencyTest': 'file', '_tmp/1': 'file'};

test('links to other places', () => {
    checkLinks(Object.assign({_tmp: 'folder', journal: 'folder', folder: 'folder',
                              'journal/prealloc.1': 'nothing'}, kFiles));
});

test('links to other places, in folders of databases', () => {
    checkLinks({folder: 'folder', test: 'folder', 'folder/_tmp': 'folder',
                'folder/folder.ns': 'folder/folder.ns', 'test/test.0': 'x.0',
                'test/_tmp': 'folder', _tmp: 'folder'}, ['--directoryperdb']);
});

test('links where files are made ahead', () => {
    kOptions.splice(kOptions.indexOf('--nopreallocj'), 1);
    checkLinks({'journal/prealloc.0': 'file', 'journal/tempLatencyTest': 'file',
                'journal/prealloc.0.temp': 'file'});
    kOptions.push('--nopreallocj');
});

test('hard links to other places', () => {
    checkLinks(Object.assign({'x.0': 'x.0', 'journal/prealloc.1': 'file'}, kFiles), [],
               fs.linkSync);
    checkLinks({'folder/folder.ns': 'folder/folder.ns', 'test/test.0': 'x.0',
                'test/test.ns': 'x.ns'}, ['--directoryperdb'], fs.linkSync);
});

test('a journal on another device is refused, and followed when that is asked for', () => {
    const place = make(), target = path.join(place.folder, 'fast');
    fs.mkdirSync(target);
    fs.rmdirSync(place.at('journal'));
    fs.symlinkSync(target, place.at('journal'));
    assertContains(refused(place), 'followJournalLink');
    assertEq(fs.readdirSync(target), []);
    const follow = ['--setParameter', 'followJournalLink=1'];
    let server = serve(place, ...follow);
    server.shell.getDB('d').runCommand({insert: 'c', documents: [{_id: 1}],
                                        writeConcern: {j: true}});
    stopServer(server, 'SIGKILL');
    assertTrue(fs.readdirSync(target).includes('j._0'));
    server = serve(place, ...follow);
    assertEq(server.shell.getDB('d').runCommand({count: 'c'}).n, 1);
    stopServer(server);
    assertTrue(!fs.readdirSync(target).includes('j._0'));
});

// Calls change(file's bytes), which may change them.
function rewrite(file, change) {
    const data = fs.readFileSync(file);
    change(data);
    fs.writeFileSync(file, data);
}

test('a key of a thousand parts', () => {
    // No server takes such an index, but one that lies there is served; arrays in each other lead
    // all the way down.
    const place = make();
    const taken = ['a', ...Array.from({length: 199}, (_, i) => `${1e8 + i}`)].join('.');
    const crafted = `a${'.0'.repeat((taken.length - 1) / 2)}`.padEnd(taken.length, '0');
    let server = serve(place);
    server.shell.getDB('d').runCommand({createIndexes: 'c', indexes: [
        {key: {[taken]: 1}, name: 'a'}]});
    stopServer(server);
    rewrite(place.at('d.0'), data => {
        const where = data.indexOf(taken);
        assertEq([where > 0, data.indexOf(taken, where + 1)], [true, -1]);
        data.write(crafted, where);
    });
    server = serve(place);
    const c = server.shell.getDB('d').getCollection('c');
    for (const depth of [900, 990, 1000]) {
        let nested = [];
        for (let i = 0; i < depth; i++) nested = [nested];
        c.insertOne({_id: depth, a: nested});
    }
    assertEq(server.shell.getDB('d').runCommand({validate: 'c', full: true}).valid, true);
    assertEq(server.shell.getDB('d').runCommand({count: 'c'}).n, 3);
    stopServer(server);
});

test('a temporary collection that is listed twice', () => {
    // A start takes it away, and comes to it again.
    const place = make();
    let server = serve(place);
    for (const name of ['one', 'two']) {
        server.shell.getDB('d').runCommand({create: name, temp: true});
    }
    stopServer(server);
    rewrite(place.at('d.0'), data => {
        assertTrue(data.includes('d.two\0'));
        for (let at = -1; (at = data.indexOf('d.two\0', at + 1)) !== -1;) data.write('d.one', at);
    });
    server = serve(place);
    server.shell.getDB('d').runCommand({insert: 'one', documents: [{_id: 1}]});
    assertEq(server.shell.getDB('d').runCommand({count: 'one'}).n, 1);
    stopServer(server);
});

test('large definitions of indexes', () => {
    // A client that may make them must not make the database unusable after the next start.
    const place = make(), pad = 'x'.repeat(15 << 20);
    let server = serve(place), reply = {ok: 1};
    server.shell.getDB('d').runCommand({insert: 'whole', documents: [{_id: 1}]});
    for (let i = 0; i < 20 && reply.ok; i++) {
        reply = replyTo(server.shell.getDB('d'), {createIndexes: 'c', indexes: [
            {key: {[`a${i}`]: 1}, name: `a${i}`, pad}]});
    }
    assertEq(reply.ok, 0);
    stopServer(server);
    server = serve(place);
    assertEq(server.shell.getDB('d').runCommand({count: 'whole'}).n, 1);
    stopServer(server);
});

test('names that are none are neither opened nor served nor deleted', () => {
    const place = make();
    for (const name of ['a b.ns', 'a.b.ns', '..ns', `${'y'.repeat(64)}.ns`, 'a\\b.ns', 'a\n.ns']) {
        put(place.at(name));
    }
    const before = tree(place.dbpath);
    const server = serve(place);
    for (const {name} of server.shell.getDB('admin').runCommand({listDatabases: 1}).databases) {
        assertTrue(['local', 'admin', 'a\n'].includes(name), name);
    }
    stopServer(server);
    const after = tree(place.dbpath);
    for (const file of Object.keys(before)) {
        if (file.endsWith('.ns')) assertEq(after[file], before[file], file);
    }
});

test('databases that are called as the server\'s own folders', () => {
    const place = make();
    let server = serve(place, '--directoryperdb');
    for (const name of ['journal', '_tmp', 'Journal']) {
        const db = server.shell.getDB(name);
        const reply = replyTo(db, {insert: 'c', documents: [{_id: 1}]});
        assertTrue(!reply.ok || reply.writeErrors, name);
        assertEq(db.runCommand({dropDatabase: 1}).ok, 1);
    }
    server.shell.getDB('d').runCommand({insert: 'c', documents: [{_id: 1}],
                                        writeConcern: {j: true}});
    stopServer(server);
    server = serve(place, '--directoryperdb');
    assertEq(server.shell.getDB('d').runCommand({count: 'c'}).n, 1);
    stopServer(server);
});
