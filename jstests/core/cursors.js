// Cursors: batches, getMore, kill, tailable, hints, ends of life. Wire spec 3.1 and 3.2.
// Group: core

const server = startServer({options: ['--smallfiles', '--nssize', '1']});
const db1 = server.shell.getDB('test');
const t = db1.getCollection('cursors');
const documents = [];
for (let i = 0; i < 500; i++) {
    documents.push({_id: i, text: 'x'.repeat(50)});
}
t.insertMany(documents);

const find = fields => db1.runCommand(Object.assign({find: 'cursors'}, fields)).cursor;
const getMore = (id, fields) =>
    db1.runCommand(Object.assign({getMore: id, collection: 'cursors'}, fields)).cursor;

test('batches have the asked size and the last one closes the cursor', () => {
    const first = find({batchSize: 200, sort: {_id: 1}});
    assertEq(first.firstBatch.length, 200);
    const second = getMore(first.id, {batchSize: 200});
    assertEq([second.nextBatch.length, second.nextBatch[0]._id, second.ns],
             [200, 200, 'test.cursors']);
    const third = getMore(first.id, {batchSize: 200});
    assertEq([third.nextBatch.length, third.id.isZero()], [100, true]);
    assertCommandFails(db1, {getMore: first.id, collection: 'cursors'}, 43);
});

test('limit and singleBatch close the cursor', () => {
    const limited = find({limit: 10});
    assertEq([limited.firstBatch.length, limited.id.isZero()], [10, true]);
    const single = find({batchSize: 10, singleBatch: true});
    assertEq([single.firstBatch.length, single.id.isZero()], [10, true]);
    const spread = find({batchSize: 6, limit: 10});
    const rest = getMore(spread.id, {batchSize: 6});
    assertEq([rest.nextBatch.length, rest.id.isZero()], [4, true]);
});

test('a batch stays below 16 MB', () => {
    const large = db1.getCollection('large');
    for (let i = 0; i < 5; i++) {
        large.insertOne({_id: i, text: 'x'.repeat(5 * 1024 * 1024)});
    }
    const reply = db1.runCommand({find: 'large', sort: {_id: 1}, batchSize: 5});
    assertTrue(reply.cursor.firstBatch.length < 5);
    assertEq(large.find().toArray().length, 5);
});

test('open cursors are counted and can be killed', () => {
    const open = () => db1.runCommand({serverStatus: 1}).cursors.totalOpen;
    const before = open();
    const ids = [find({batchSize: 1}).id, find({batchSize: 1}).id];
    assertEq(open() - before, 2);
    const reply = db1.runCommand({killCursors: 'cursors', cursors: ids.concat(Long(12345))});
    assertEq([reply.cursorsKilled.length, reply.cursorsNotFound.length], [2, 1]);
    assertEq(open(), before);
});

test('a dropped collection ends its cursors', () => {
    const dropped = db1.getCollection('dropped');
    dropped.insertMany(documents);
    const cursor = db1.runCommand({find: 'dropped', batchSize: 10}).cursor;
    dropped.drop();
    assertEq(replyTo(db1, {getMore: cursor.id, collection: 'dropped'}).ok, 0);
});

test('documents that are deleted or moved under a cursor do no harm', () => {
    const moving = db1.getCollection('moving');
    moving.insertMany(documents);
    const seen = {};
    const cursor = moving.find().batchSize(10);
    while (cursor.hasNext()) {
        const id = cursor.next()._id;
        seen[id] = true;
        if (id % 10 === 0) {
            moving.deleteOne({_id: id + 1});
            moving.updateOne({_id: id + 2}, {$set: {text: 'y'.repeat(2000)}});
        }
    }
    for (let i = 0; i < 500; i++) {
        assertTrue(seen[i] || i % 10 === 1, `${i} was not seen`);
    }
    assertTrue(moving.validate({full: true}).valid);
});

test('a document that moves between two batches of an index is found once', () => {
    const moving = db1.getCollection('moving_by_index');
    const few = documents.slice(0, 100);
    for (const [key, sort] of [[{a: 1}, {a: 1}], [{a: 1}, {a: -1}], [{a: 1, b: 1}, {b: 1}]]) {
        moving.drop();
        moving.insertMany(few.map((each, i) => Object.assign({a: i, b: i}, each)));
        moving.createIndex(key);
        let count = 0;
        const query = key.b ? {a: {$in: few.map(each => each._id)}} : {a: {$gte: 0}};
        const cursor = moving.find(query).sort(sort).batchSize(7);
        while (cursor.hasNext()) {
            moving.updateOne({_id: cursor.next()._id}, {$set: {text: 'y'.repeat(2000)}});
            count++;
        }
        assertEq(count, few.length);
    }
});

test('a tailable cursor goes on after new documents', () => {
    db1.createCollection('tail', {capped: true, size: 65536});
    const tail = db1.getCollection('tail');
    tail.insertOne({_id: 1});
    const first = db1.runCommand({find: 'tail', tailable: true}).cursor;
    assertEq([first.firstBatch.length, first.id.isZero()], [1, false]);
    assertEq(db1.runCommand({getMore: first.id, collection: 'tail'}).cursor.nextBatch, []);
    tail.insertOne({_id: 2});
    assertEq(db1.runCommand({getMore: first.id, collection: 'tail'}).cursor.nextBatch, [{_id: 2}]);
    assertCommandFails(db1, {find: 'cursors', tailable: true}, 2);
});

// All drivers' maxAwaitTimeMS.
test('maxTimeMS of getMore is how long awaitData waits', () => {
    db1.createCollection('awaited', {capped: true, size: 65536});
    const awaited = db1.getCollection('awaited');
    awaited.insertOne({_id: 1});
    const {id} = db1.runCommand({find: 'awaited', tailable: true, awaitData: true}).cursor;
    const more = fields =>
        db1.runCommand(Object.assign({getMore: id, collection: 'awaited'}, fields)).cursor;
    for (const maxTimeMS of [1, 150, 150]) {
        const start = Date.now();
        const cursor = more({maxTimeMS});
        const took = Date.now() - start;
        assertEq([cursor.nextBatch.length, `${cursor.id}`], [0, `${id}`]);
        assertTrue(took >= maxTimeMS - 1 && took < 900, `${took} ms`);
    }
    const start = Date.now();
    assertEq(more({maxTimeMS: 0}).nextBatch, []);  // says nothing
    assertTrue(Date.now() - start > 900);
    awaited.insertOne({_id: 2});
    assertEq(more({maxTimeMS: 60000}).nextBatch, [{_id: 2}]);
    assertCommandFails(db1, {getMore: id, collection: 'awaited', maxTimeMS: -1}, 2);
    assertCommandFails(db1, {getMore: id, collection: 'awaited', maxTimeMS: '1'}, 14);
    assertEq(`${more({maxTimeMS: 1}).id}`, `${id}`);
});

test('maxTimeMS of getMore is refused for a cursor that does not wait', () => {
    for (const options of [{}, {tailable: true}]) {
        const name = options.tailable ? 'awaited' : 'cursors';
        const {id} = db1.runCommand(Object.assign({find: name, batchSize: 1}, options)).cursor;
        assertCommandFails(db1, {getMore: id, collection: name, maxTimeMS: 100}, 2);
        const more = db1.runCommand({getMore: id, collection: name, maxTimeMS: 0}).cursor;
        assertTrue(more.nextBatch.length > 0);
    }
});

test('cursorTimeoutMillis ends idle cursors, but not one that is waited for', () => {
    const admin = server.shell.getDB('admin');
    const parameter = () => admin.runCommand({getParameter: 1, cursorTimeoutMillis: 1});
    assertEq(parameter().cursorTimeoutMillis, 600000);
    const idle = find({batchSize: 1}).id;
    const kept = find({batchSize: 1, noCursorTimeout: true}).id;
    const {id} = db1.runCommand({find: 'awaited', tailable: true, awaitData: true}).cursor;
    getMore(id, {collection: 'awaited', maxTimeMS: 1});
    const set = admin.runCommand({setParameter: 1, cursorTimeoutMillis: 1000});
    assertEq([set.was, set.ok], [600000, 1]);
    for (const bad of [0, -1, 2147483648, 'x']) {
        assertEq(replyTo(admin, {setParameter: 1, cursorTimeoutMillis: bad}).ok, 0);
    }
    const waited = getMore(id, {collection: 'awaited', maxTimeMS: 6000});
    assertEq(`${waited.id}`, `${id}`);
    assertCommandFails(db1, {getMore: idle, collection: 'cursors'}, 43);
    assertTrue(getMore(kept, {}).nextBatch.length > 0);
    const timedOut = () => db1.runCommand({serverStatus: 1}).cursors.timedOut;
    const before = timedOut();
    waitFor('an idle cursor has timed out', () => timedOut() > before);
    assertCommandFails(db1, {getMore: id, collection: 'awaited', maxTimeMS: 1}, 43);
    admin.runCommand({setParameter: 1, cursorTimeoutMillis: 600000});
});

stopServer(server);
