// The profiler: levels, what system.profile holds of each kind of operation, slow lines in the log.
// Wire spec 2.4, 6.3.
// Group: core

const server = startServer({options: ['--smallfiles', '--nssize', '1']});
const admin = server.shell.getDB('admin');

// A database of its own with the profiler at `level`.
function profiled(name, level) {
    const db = server.shell.getDB(name);
    db.getCollection('c').insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}, {_id: 3, a: 2}]);
    assertEq(db.runCommand({profile: level}).was, 0);
    return db;
}

function entries(db, filter) {
    return db.getCollection('system.profile').find(filter).sort({$natural: 1}).toArray();
}

function one(db, filter) {
    const found = entries(db, filter);
    assertEq(found.length, 1, show(filter));
    return found[0];
}

function assertCommonFields(entry) {
    for (const field of ['keyUpdates', 'numYield', 'millis']) {
        assertTrue(typeof entry[field] === 'number', field);
    }
    for (const part of ['timeLockedMicros', 'timeAcquiringMicros']) {
        assertTrue(entry.lockStats[part].r !== undefined && entry.lockStats[part].w !== undefined);
    }
    assertTrue(entry.ts instanceof Date);
    assertEq(entry.client, '127.0.0.1');
    assertEq(entry.allUsers, []);
    assertEq(entry.user, '');
}

test('levels are per database, slowms is for all', () => {
    const db = profiled('levels', 2);
    assertEq(db.runCommand({profile: -1}), {was: 2, slowms: 100, ok: 1});
    assertEq(server.shell.getDB('other').runCommand({profile: -1}).was, 0);
    assertEq(db.runCommand({profile: 1, slowms: 200}), {was: 2, slowms: 100, ok: 1});
    assertEq(server.shell.getDB('other').runCommand({profile: -1}).slowms, 200);
    assertEq(db.runCommand({profile: 0, slowms: 100}).was, 1);
    for (const level of [3, -2]) {
        assertCommandFails(db, {profile: level}, 2);
    }
    assertCommandFails(db, {profile: 'all'}, 14);
    const info = db.runCommand({listCollections: 1, filter: {name: 'system.profile'}});
    assertEq(info.cursor.firstBatch[0].options.capped, true);
    assertEq(info.cursor.firstBatch[0].options.size, 1048576);
    assertEq(db.getCollection('system.profile').getIndexes(), []);
});

test('a query', () => {
    const db = profiled('queries', 2);
    db.getCollection('c').find({a: 2}).skip(1).toArray();
    const entry = one(db, {op: 'query', ns: 'queries.c'});
    assertEq([entry.command.find, entry.command.filter, entry.query], ['c', {a: 2}, undefined]);
    assertEq([entry.ntoreturn, entry.ntoskip, entry.nscanned, entry.nscannedObjects,
              entry.nreturned], [0, 1, 3, 3, 1]);
    assertTrue(entry.responseLength > 0);
    assertEq(entry.execStats, {summary: 'COLLSCAN'});
    assertTrue(entry.lockStats.timeLockedMicros.r >= 0);
    assertCommonFields(entry);
});

test('a cursor and its batches', () => {
    const db = profiled('cursors', 2);
    db.getCollection('c').find().batchSize(2).toArray();
    const query = one(db, {op: 'query', ns: 'cursors.c'});
    const more = one(db, {op: 'getmore', ns: 'cursors.c'});
    assertTrue(query.cursorid !== undefined);
    assertEq(more.cursorid, query.cursorid);
    assertEq([query.nreturned, query.nscanned, more.nreturned, more.nscanned], [2, 2, 1, 1]);
    assertEq([more.ntoreturn, more.command.collection], [2, 'c']);
    assertCommonFields(more);
});

test('an insert', () => {
    const db = profiled('inserts', 2);
    db.getCollection('c').insertMany([{_id: 4}, {_id: 5}]);
    const entry = one(db, {op: 'insert'});
    assertEq([entry.ns, entry.command.insert, entry.command.ordered, entry.ninserted],
             ['inserts.c', 'c', true, 2]);
    assertEq(entries(db, {op: 'command', 'command.insert': 'c'}).length, 0);
    assertCommonFields(entry);
});

test('an update', () => {
    const db = profiled('updates', 2);
    db.getCollection('c').updateMany({a: 2}, {$set: {b: 1}});
    db.getCollection('c').updateOne({_id: 9}, {$set: {b: 1}}, {upsert: true});
    const [many, upsert] = entries(db, {op: 'update'});
    assertEq([many.command.q, many.command.u, many.command.multi],
             [{a: 2}, {$set: {b: 1}}, true]);
    assertEq([many.query, many.updateobj], [undefined, undefined]);
    assertEq([many.nscanned, many.nMatched, many.nModified], [3, 2, 2]);
    assertEq([upsert.upsert, upsert.nMatched], [true, 0]);
    assertCommonFields(many);
});

test('a remove', () => {
    const db = profiled('removes', 2);
    db.getCollection('c').deleteMany({a: 2});
    const entry = one(db, {op: 'remove', ns: 'removes.c'});
    assertEq([entry.command, entry.ndeleted, entry.nscanned], [{q: {a: 2}, limit: 0}, 2, 3]);
    assertCommonFields(entry);
});

test('commands', () => {
    const db = profiled('commands', 2);
    db.runCommand({count: 'c', query: {a: 2}});
    db.runCommand({findAndModify: 'c', query: {_id: 1}, update: {$inc: {a: 1}}});
    db.getCollection('c').aggregate([{$match: {a: 2}}]).toArray();
    db.runCommand({ping: 1});
    const count = one(db, {op: 'command', 'command.count': 'c'});
    assertEq([count.ns, count.nscanned, count.command.query], ['commands.c', 3, {a: 2}]);
    assertEq(one(db, {'command.findAndModify': 'c'}).nModified, 1);
    assertEq(one(db, {'command.aggregate': 'c'}).nscannedObjects, 3);
    assertEq(entries(db, {'command.ping': 1}).length, 0);
    assertCommonFields(count);
});

test('failures tell their error', () => {
    const db = profiled('failures', 2);
    assertThrowsCode(11000, () => db.getCollection('c').insertOne({_id: 1}));
    assertThrowsCode(2, () => db.getCollection('c').find({a: {$near: 1}}).toArray());
    assertEq(one(db, {op: 'insert'}).exceptionCode, 11000);
    assertContains(one(db, {op: 'insert'}).exception, 'E11000');
    assertEq(one(db, {op: 'query', exceptionCode: 2}).ns, 'failures.c');
});

test('level 1 keeps slow operations only', () => {
    const db = profiled('slow', 1);
    db.getCollection('c').find().toArray();
    assertEq(entries(db, {ns: 'slow.c'}), []);
    db.runCommand({profile: 1, slowms: 0});
    db.getCollection('c').find().toArray();
    db.runCommand({profile: 0, slowms: 100});
    assertEq(entries(db, {ns: 'slow.c'}).map(e => e.op), ['query']);
});

test('large requests are not kept whole', () => {
    const db = profiled('large', 2);
    db.getCollection('c').insertOne({_id: 4, text: 'x'.repeat(200000)});
    db.getCollection('c').find({text: 'x'.repeat(200000)}).toArray();
    db.runCommand({profile: 0});
    assertEq(one(db, {op: 'insert'}).command.insert, 'c');
    assertContains(one(db, {op: 'query'}).command.$msg, 'too many');
});

test('system.profile is read as any collection, not written by clients, dropped when off', () => {
    const db = profiled('dropping', 2);
    assertCommandFails(db, {drop: 'system.profile'}, 20);
    const profile = db.getCollection('system.profile');
    const count = profile.countDocuments({mine: 1});
    assertThrowsCode(73, () => profile.insertOne({mine: 1}));
    assertThrowsCode(73, () => profile.insertMany([{mine: 1}], {ordered: false}));
    assertThrowsCode(73, () => profile.createIndex({ts: 1}));
    assertThrowsCode(2, () => db.getCollection('system.indexes').insertOne(
        {ns: 'dropping.system.profile', key: {ts: 1}, name: 'ts'}));
    assertThrowsCode(10156, () => profile.updateOne({mine: 1}, {$set: {mine: 1}}, {upsert: true}));
    assertThrowsCode(10156, () => profile.findOneAndUpdate(
        {mine: 1}, {$set: {mine: 1}}, {upsert: true}));
    assertThrowsCode(17385, () => db.getCollection('c').aggregate([{$out: 'system.profile'}]));
    assertEq(count, 0);
    assertEq(profile.countDocuments({mine: 1}), 0);
    assertThrowsCode(10156, () => profile.updateMany({}, {$set: {a: 1}}));
    assertThrowsCode(12050, () => profile.deleteMany({}));
    db.runCommand({profile: 0});
    assertEq(db.runCommand({drop: 'system.profile'}).ok, 1);
    db.createCollection('system.profile', {capped: true, size: 2097152});
    assertEq(db.runCommand({profile: 2}).ok, 1);
    db.getCollection('c').findOne();
    assertTrue(entries(db, {ns: 'dropping.c'}).length > 0);
    assertTrue(db.getCollection('system.profile').stats().storageSize >= 2097152);
});

test('a system.profile that is not capped is refused', () => {
    const db = server.shell.getDB('uncapped');
    db.createCollection('system.profile');
    assertCommandFails(db, {profile: 2}, 20);
    assertEq(db.runCommand({profile: -1}).was, 0);
});

test('a dropped database forgets its level', () => {
    const db = profiled('forgotten', 2);
    db.dropDatabase();
    db.getCollection('c').insertOne({});
    assertEq(db.runCommand({profile: -1}).was, 0);
    assertEq(entries(db, {}), []);
});

// One pattern, written on several lines.
function joined(...parts) {
    return new RegExp(parts.map(part => part.source).join(''));
}

test('slow operations of every kind are logged', () => {
    const db = profiled('logged', 0);
    db.runCommand({profile: 0, slowms: 0});
    const c = db.getCollection('c');
    c.find({a: 2}).batchSize(1).toArray();
    c.insertOne({_id: 7, a: 1});
    c.updateOne({_id: 7}, {$set: {a: 5}});
    c.deleteOne({_id: 7});
    db.runCommand({count: 'c', query: {a: 2}});
    assertThrowsCode(11000, () => c.insertOne({_id: 1}));
    db.runCommand({profile: 0, slowms: 100});
    const log = admin.runCommand({getLog: 'global'}).log.join('\n');
    for (const pattern of [
        joined(/\[conn\d+\] query logged\.c command: \{ find: "c", .*planSummary: COLLSCAN /,
               /cursorid:\d+ ntoreturn:1 ntoskip:0 nscanned:2 nscannedObjects:2 keyUpdates:0 /,
               /numYields:0 locks\(micros\) r:\d+ nreturned:1 reslen:\d+ \d+ms/),
        /getmore logged\.c .*cursorid:\d+ ntoreturn:1 nscanned:1 .*nreturned:1 reslen:\d+ \d+ms/,
        joined(/insert logged\.c command: \{ insert: "c", .* \} ninserted:1 keyUpdates:0 /,
               /numYields:0 locks\(micros\).* \d+ms/),
        joined(/update logged\.c command: \{ q: \{ _id: 7 \}, u: \{ \$set: \{ a: 5 \} \}.* \} /,
               /planSummary: IDHACK nscanned:1 nscannedObjects:1 idhack:1 nMatched:1 nModified:1 /,
               /.*keyUpdates:0 numYields:0 locks\(micros\).* \d+ms/),
        joined(/remove logged\.c command: \{ q: \{ _id: 7 \}, limit: 1.* \} planSummary: IDHACK /,
               /nscanned:1 /,
               /nscannedObjects:1 idhack:1 ndeleted:1 keyUpdates:0/),
        joined(/command logged\.c command: count \{ count: "c", query: \{ a: 2 \}.* /,
               /planSummary: COLLSCAN .*nscanned:3 /),
        /command logged\.\$cmd command: update \{ update: "c"/,
        /insert logged\.c command: \{ insert: "c", .*exception: E11000 .* code:11000 numYields:0/,
    ]) {
        assertTrue(pattern.test(log), `${pattern} in\n${log.slice(-4000)}`);
    }
});

test('show profile and the shell helpers', () => {
    const db = profiled('helpers', 0);
    db.setProfilingLevel(2);
    assertEq(db.getProfilingStatus().was, 2);
    db.setProfilingLevel(0);
});

stopServer(server);

test('--profile and --slowms set the levels of all databases', () => {
    const profiling = startServer({options: ['--smallfiles', '--nssize', '1', '--profile', '2',
                                             '--slowms', '50']});
    const db = profiling.shell.getDB('started');
    db.getCollection('c').insertOne({_id: 1});
    assertEq(db.runCommand({profile: -1}), {was: 2, slowms: 50, ok: 1});
    assertEq(entries(db, {op: 'insert'}).length, 1);
    stopServer(profiling);
});
