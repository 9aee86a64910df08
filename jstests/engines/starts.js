// Starts of a server with another storage engine, which TESTS_ENGINE names: what is refused by
// name, what lies in the data directory, what is repaired, what serverStatus says.
// Group: engines

const {randomBytes} = require('crypto');

const engine = process.env.TESTS_ENGINE;
const library = `engine_${engine.toLowerCase()}.so`;
// Its options: the size of the cache, and words of the library.
const [cacheSize, words, cacheBytesMin] = {
    rocksdb: ['--rocksdbCacheSizeGB', '--rocksdbConfigString', 1 << 27],
    wiredTiger: ['--wiredTigerCacheSizeGB', '--wiredTigerEngineConfigString', 1 << 28],
}[engine];
const kBadOptions = 2, kUncaught = 100;
const own = ['--storageEngine', engine];

// What a start says that ends at once.
function refusal(code, dbpath, options, program) {
    const run = runMongod(['--dbpath', dbpath, '--port', '0', ...options], newFolder('run'),
                          program);
    assertEq(run.code, code, run.out + run.err);
    return run.out + run.err;
}

// The same of a start with this engine that gets as far as the data.
function refused(dbpath, ...options) {
    return refusal(kUncaught, dbpath, [...own, ...options]);
}

function repaired(dbpath, code = 0) {
    return refusal(code, dbpath, [...own, '--repair']);
}

function serve(dbpath, ...options) {
    return startServer({options: ['--nounixsocket', ...options], dbpath});
}

function dbOf(server) {
    return server.shell.getDB('test');
}

// Starts a server, calls body with its database, and stops it; with a signal, if one is given.
function served(dbpath, body, signal) {
    const server = serve(dbpath);
    body(dbOf(server));
    stopServer(server, signal);
}

function insert(db, ...ids) {
    const command = {insert: 'c', documents: ids.map(_id => ({_id})), writeConcern: {j: true}};
    assertEq(db.runCommand(command).n, ids.length);
}

// With so many bytes in each that no engine makes them fewer.
function insertNumbers(db, count, padBytes = 0, name = 'c') {
    const documents = Array.from({length: count}, (_, i) => ({
        _id: i, a: i, pad: randomBytes(padBytes)}));
    assertEq(db.runCommand({insert: name, documents}).n, count);
}

function assertCount(dbpath, count) {
    served(dbpath, db => assertEq(db.getCollection('c').countDocuments({}), count));
}

function assertValid(db) {
    assertEq(db.runCommand({validate: 'c', full: true}).valid, true);
}

// The largest file of the engine with such a name.
function largest(dbpath, pattern) {
    const folder = path.join(dbpath, engine);
    const sizeOf = name => fs.statSync(path.join(folder, name)).size;
    const names = fs.readdirSync(folder).filter(name => pattern.test(name));
    return path.join(folder, names.sort((one, other) => sizeOf(other) - sizeOf(one))[0]);
}

function damage(file, ...places) {
    const fd = fs.openSync(file, 'r+');
    for (const place of places) fs.writeSync(fd, 'damage', place);
    fs.closeSync(fd);
}

function testOf(name_of_engine, name, body) {
    if (engine === name_of_engine) test(name, body);
}

test('options of mmapv1 are refused', () => {
    const dbpath = newFolder('db');
    for (const option of [['--smallfiles'], ['--nssize', '8'], ['--noprealloc'], ['--nopreallocj'],
                          ['--directoryperdb'], ['--journalOptions', '1'], ['--durOptions', '1'],
                          ['--salvage', path.join(dbpath, 'out')]]) {
        assertContains(refusal(kBadOptions, dbpath, [...own, ...option]),
                       `${option[0]} is an option of storage engine mmapv1, and not of ${engine}`);
    }
    assertEq(fs.readdirSync(dbpath), []);
});

test('options of the engine are refused by mmapv1', () => {
    for (const option of [[cacheSize, '1'], [words, 'a=b']]) {
        assertContains(refusal(kBadOptions, newFolder('db'), option),
                       `is an option of storage engine ${engine}, and not of mmapv1`);
    }
});

test('the size of the cache has limits', () => {
    const dbpath = newFolder('db');
    for (const value of ['-1', '10001', 'x']) {
        assertContains(refusal(kBadOptions, dbpath, [...own, `${cacheSize}=${value}`]),
                       cacheSize.slice(2));
    }
    for (const value of ['0', '10000']) assertEq(stopServer(serve(dbpath, cacheSize, value)), 0);
});

test('a library that is missing or of another program is refused', () => {
    const folder = newFolder('bin'), dbpath = newFolder('db');
    const program = path.join(folder, 'mongod');
    fs.copyFileSync(harness.mongod, program);
    const text = refusal(kUncaught, dbpath, own, program);
    assertContains(text, `storage engine ${engine} is not installed`);
    assertContains(text, `there is no ${library} beside`);
    assertContains(refusal(kBadOptions, dbpath, ['--storageEngine', 'inMemory'], program),
                   'only mmapv1, rocksdb or wiredTiger');
    fs.writeFileSync(path.join(folder, library), 'nonsense');
    assertContains(refusal(kUncaught, dbpath, own, program), 'cannot be loaded');
});

test('words that the library does not know', () => {
    assertContains(refused(newFolder('db'), words, 'nonsense=1'), 'nonsense');
});

test('directories stay with their engine', () => {
    const dbpath = newFolder('db');
    served(dbpath, db => insert(db, 1));
    assertEq(fs.readdirSync(dbpath).sort(), ['mongod.lock', engine, 'storage.bson'].sort());
    assertContains(refusal(kUncaught, dbpath, ['--storageEngine', 'mmapv1']),
                   `written by storage engine '${engine}', not by mmapv1`);
    assertCount(dbpath, 1);
});

test('data files of mmapv1 are refused', () => {
    for (const perDb of [[], ['--directoryperdb']]) {
        const dbpath = newFolder('db');
        const server = serve(dbpath, '--storageEngine', 'mmapv1', ...perDb);
        insert(dbOf(server), 1);
        stopServer(server);
        const before = fs.readdirSync(dbpath).sort();
        assertContains(refused(dbpath), 'holds data files of storage engine mmapv1');
        assertEq(fs.readdirSync(dbpath).sort(), before);
    }
});

test('a directory of another program is refused', () => {
    const dbpath = newFolder('db');
    const inner = [Buffer.from('\x02engine\0'), Buffer.from([engine.length + 1, 0, 0, 0]),
                   Buffer.from(`${engine}\0\x03options\0\x05\0\0\0\0`)];
    const document = body => {
        const bytes = Buffer.concat([Buffer.alloc(4), ...body, Buffer.alloc(1)]);
        bytes.writeUInt32LE(bytes.length);
        return bytes;
    };
    fs.writeFileSync(path.join(dbpath, 'storage.bson'),
                     document([Buffer.from('\x03storage\0'), document(inner)]));
    assertContains(refused(dbpath), 'another program');
});

test('a directory that is not mounted is named', () => {
    const dbpath = newFolder('db'), folder = path.join(dbpath, engine);
    served(dbpath, () => {});
    fs.renameSync(folder, path.join(newFolder('elsewhere'), engine));
    for (const point of [false, true]) {
        if (point) fs.mkdirSync(folder);
        for (const repair of [[], ['--repair']]) {
            assertContains(refused(dbpath, ...repair), 'is it to be mounted?');
        }
    }
    assertEq(fs.readdirSync(folder), []);
});

test('a second server is refused', () => {
    const dbpath = newFolder('db');
    served(dbpath, () => assertContains(refused(dbpath), 'Unable to lock file'));
});

test('what the server says of its engine', () => {
    const server = serve(newFolder('db'), cacheSize, '0.125'), db = dbOf(server);
    const admin = server.shell.getDB('admin');
    const documents = Array.from({length: 1000}, (_, i) => ({_id: i, pad: 'x'.repeat(1000)}));
    db.runCommand({insert: 'c', documents});
    db.getCollection('c').createIndex({pad: 1});
    admin.runCommand({fsync: 1});
    const status = admin.runCommand({serverStatus: 1});
    assertEq([status.storageEngine.name, Number(status[engine].cacheCapacityBytes)],
             [engine, cacheBytesMin]);
    assertTrue(status[engine].fileBytes > 0 && status.dur.syncs > 0);
    const stats = db.runCommand({collStats: 'c'});
    assertEq([stats.count, stats.numExtents], [1000, 0]);
    assertTrue(stats.size > 1000000 && stats.storageSize < stats.size / 2);
    assertTrue(stats.totalIndexSize > 0);
    assertValid(db);
    assertEq(replyTo(admin, {journalLatencyTest: 1}).ok, 0);
    stopServer(server);
});

test('old clients find the catalogue', () => {
    served(newFolder('db'), db => {
        // mongosh itself refuses names of the system's.
        const names = (collection, filter = {}) => db.runCommand({find: collection, filter})
            .cursor.firstBatch.map(each => each.name).sort();
        insert(db, 1);
        db.getCollection('c').createIndex({a: 1});
        assertEq(names('system.namespaces'),
                 ['test.c', 'test.c.$_id_', 'test.c.$a_1', 'test.system.indexes']);
        assertEq(names('system.indexes', {ns: 'test.c'}), ['_id_', 'a_1']);
        db.getCollection('c').drop();
        assertEq(names('system.namespaces'), ['test.system.indexes']);
    });
});

test('without a journal a checkpoint survives', () => {
    const dbpath = newFolder('db'), server = serve(dbpath, '--nojournal');
    dbOf(server).runCommand({insert: 'c', documents: [{_id: 1}]});
    server.shell.getDB('admin').runCommand({fsync: 1});
    stopServer(server, 'SIGKILL');
    assertCount(dbpath, 1);
});

test('--repair keeps what a kill has left in the log', () => {
    const dbpath = newFolder('db');
    served(dbpath, db => {
        insert(db, 1);
        db.getSiblingDB('admin').runCommand({fsync: 1});
        insert(db, 2);
    }, 'SIGKILL');
    repaired(dbpath);
    served(dbpath, db => insert(db, 3), 'SIGKILL');
    assertCount(dbpath, 3);
});

test('--repair of what is whole changes nothing', () => {
    const dbpath = newFolder('db');
    served(dbpath, db => {
        insertNumbers(db, 100);
        db.getCollection('c').createIndex({a: 1});
    });
    repaired(dbpath);
    served(dbpath, db => {
        assertEq(db.getCollection('c').countDocuments({a: {$gte: 0}}), 100);
        assertValid(db);
    });
});

// ---- it has a file for each collection and index ----

testOf('wiredTiger', 'files that are missing are named', () => {
    const dbpath = newFolder('db'), aside = path.join(newFolder('aside'), 'file');
    served(dbpath, db => {
        insertNumbers(db, 100);
        db.getCollection('c').createIndex({a: 1});
    });
    const folder = path.join(dbpath, engine);
    let text = '';
    for (const name of fs.readdirSync(folder).filter(each => /^t\d+\.wt$/.test(each)).sort()) {
        fs.renameSync(path.join(folder, name), aside);
        text += refused(dbpath);
        fs.renameSync(aside, path.join(folder, name));
    }
    for (const what of ['the catalogue of all collections', 'the counts of documents',
                        'the documents of test.c', 'index a_1 of test.c']) {
        assertContains(text, `${what}, `);
    }
    fs.unlinkSync(path.join(folder, 't0.wt'));
    assertContains(repaired(dbpath, kUncaught), 'bring back a backup');
});

testOf('wiredTiger', '--repair makes a lost index anew', () => {
    const dbpath = newFolder('db'), folder = path.join(dbpath, engine);
    let made = [];
    served(dbpath, db => {
        insertNumbers(db, 100);
        const before = fs.readdirSync(folder);
        db.getCollection('c').createIndex({a: 1});
        made = fs.readdirSync(folder).filter(name => name.endsWith('.wt') &&
                                                     !before.includes(name));
    });
    assertEq(made.length, 1);
    fs.unlinkSync(path.join(folder, made[0]));
    assertContains(repaired(dbpath), 'index a_1 of test.c, is missing: it is made anew');
    served(dbpath, db => {
        assertEq(db.getCollection('c').find({a: {$gte: 0}}).hint('a_1').toArray().length, 100);
        assertValid(db);
    });
});

testOf('wiredTiger', 'damaged files are named and repaired', () => {
    const dbpath = newFolder('db');
    served(dbpath, db => {
        db.getCollection('c').createIndex({a: 1});
        insertNumbers(db, 3000, 1000);
    });
    const file = largest(dbpath, /^t\d+\.wt$/);
    damage(file, 0, Math.floor(fs.statSync(file).size / 2));
    const text = refused(dbpath);
    assertContains(text, 'the documents of test.c, cannot be opened');
    assertContains(text, '--repair keeps what can be read of it');
    repaired(dbpath);
    served(dbpath, db => {
        const left = db.getCollection('c').find().toArray().length;
        assertBetween(2501, left, 2999);
        assertEq(db.getCollection('c').find({a: {$gte: 0}}).hint('a_1').toArray().length, left);
        assertValid(db);
    });
    damage(path.join(dbpath, engine, 't0.wt'), 0);
    for (const repair of [[], ['--repair']]) {
        assertContains(refused(dbpath, ...repair),
                       'the catalogue, cannot be opened; bring back a backup');
    }
});

// ---- its checksums let the rest be read ----

testOf('rocksdb', 'what can be read beside damage is copied', () => {
    const dbpath = newFolder('db');
    served(dbpath, db => {
        for (const name of ['a', 'b', 'c']) insertNumbers(db, 2000, 400, name);
    });
    const file = largest(dbpath, /\.sst$/);
    damage(file, Math.floor(fs.statSync(file).size / 2));
    const text = repaired(dbpath, kUncaught);
    assertContains(text, 'Corruption');
    assertContains(text, 'could not be repaired and were left as they are');
    const server = serve(dbpath), target = serve(newFolder('new'));
    const uri = each => `mongodb://127.0.0.1:${each.port}/?directConnection=true`;
    const copy = childProcess.spawnSync(
        path.join('build', 'venv', 'bin', 'python'),
        [path.join('tools', 'copy_databases.py'), uri(server), uri(target)], {encoding: 'utf8'});
    const said = copy.stdout + copy.stderr;
    assertEq(copy.status, 1, said);
    assertTrue(/NOT COPIED {2}test\.[abc]: not all of it: .*Corruption/.test(said), said);
    assertContains(said, '1 things were not copied');
    assertEq(said.split('2000 documents, 1 indexes, the same on both').length, 3, said);
    stopServer(target);
    stopServer(server, 'SIGKILL');  // it cannot end well
});

test('a directory of the version that counted entries', () => {
    // tests/fixtures/README.md says what is in it.
    const dbpath = newFolder('db');
    childProcess.execFileSync('tar', [
        '-xJf', path.join('tests', 'fixtures', `counts-entries-${engine}.tar.xz`),
        '--strip-components=1', '-C', dbpath]);
    for (const count of [180, 179]) {
        const server = serve(dbpath), shop = server.shell.getDB('shop');
        const orders = shop.getCollection('orders');
        const validate = () => assertEq(
            shop.runCommand({validate: 'orders', full: true}).valid, true);
        assertEq(orders.estimatedDocumentCount(), count);
        assertEq(orders.countDocuments({}), count);
        assertEq(orders.countDocuments({tags: 'new'}), count - 100);
        validate();
        orders.insertMany(Array.from({length: 9}, (_, i) => ({_id: 1000 + i, n: -i, tags: [i]})));
        assertThrowsCode(11000, () => {
            orders.insertOne({_id: 2000, n: 3 * 199});
        });
        assertEq(orders.deleteOne({tags: 'new'}).deletedCount, 1);
        validate();
        orders.deleteMany({_id: {$gte: 1000}});
        orders.dropIndex('tags_1');
        orders.createIndex({tags: 1});
        stopServer(server);
    }
});

test('what is copied while the server is locked is whole', () => {
    const dbpath = newFolder('db'), copied = path.join(newFolder('copy'), 'db');
    served(dbpath, db => {
        const admin = db.getSiblingDB('admin');
        insert(db, 1);
        admin.runCommand({fsync: 1, lock: true});
        fs.cpSync(dbpath, copied, {recursive: true});
        admin.runCommand({fsyncUnlock: 1});
        insert(db, 2);
    });
    assertTrue(fs.readdirSync(path.join(copied, engine)).length > 0);
    fs.truncateSync(path.join(copied, 'mongod.lock'));
    assertCount(copied, 1);
});
