// What a batch of writes reports: duplicate keys, ordered and unordered batches, bad shapes.
// Wire spec 3.3, 3.8 and 5.
// Group: core

const server = startServer();
const db1 = server.shell.getDB('test');
const t = db1.getCollection('write_errors');

test('a duplicate _id is error 11000 and names the index', () => {
    t.insertOne({_id: 1});
    const error = assertThrowsCode(11000, () => t.insertOne({_id: 1}));
    assertContains(error.message,
        'E11000 duplicate key error collection: test.write_errors index: _id_ dup key: { _id: ');
});

test('an ordered batch stops at the first error, an unordered one goes on', () => {
    const documents = [{_id: 10}, {_id: 1}, {_id: 11}];
    const ordered = db1.runCommand({insert: t.getName(), documents});
    assertEq([ordered.ok, ordered.n, ordered.writeErrors.length], [1, 1, 1]);
    assertEq([ordered.writeErrors[0].index, ordered.writeErrors[0].code], [1, 11000]);
    assertEq(t.countDocuments({_id: 11}), 0);
    const unordered = db1.runCommand({insert: t.getName(), documents, ordered: false});
    assertEq([unordered.ok, unordered.n], [1, 1]);
    assertEq(unordered.writeErrors.map(error => error.index), [0, 1]);
    assertEq(t.countDocuments({_id: 11}), 1);
});

test('a unique index keeps records and indexes in step', () => {
    const u = db1.getCollection('unique');
    u.createIndex({k: 1}, {unique: true});
    u.createIndex({other: 1});
    u.insertOne({_id: 1, k: 1, other: 1});
    assertThrowsCode(11000, () => u.insertOne({_id: 2, k: 1, other: 2}));
    assertThrowsCode(11000, () => {
        u.insertOne({_id: 3, k: 3});
        u.updateOne({_id: 3}, {$set: {k: 1}});
    });
    assertEq(u.find({other: 2}).hint({other: 1}).toArray(), []);
    assertEq(u.findOne({_id: 3}), {_id: 3, k: 3});
    assertTrue(db1.runCommand({validate: 'unique', full: true}).valid);
});

test('documents that cannot be stored', () => {
    const cases = [{_id: [1]}, {_id: /x/}];
    for (const document of cases) {
        const reply = db1.runCommand({insert: t.getName(), documents: [document]});
        assertEq([reply.ok, reply.n, reply.writeErrors[0].code], [1, 0, 53], show(document));
    }
});

test('batches of a wrong shape fail as a whole', () => {
    assertCommandFails(db1, {insert: t.getName(), documents: []}, 16);
    assertCommandFails(db1, {insert: t.getName(), documents: 1}, 14);
    assertCommandFails(db1, {insert: '', documents: [{}]}, 73);
});

test('what a newer server would do is refused, not ignored', () => {
    assertCommandFails(db1, {insert: t.getName(), documents: [{}], txnNumber: Long(1),
                             lsid: {id: UUID()}}, 20);
});

test('write concerns', () => {
    const insert = {insert: t.getName(), documents: [{}]};
    for (const writeConcern of [{}, {w: 0}, {w: 1}, {w: 'majority'}, {w: 1, j: true},
                                {w: 1, fsync: true}, {w: 1, wtimeout: 1}]) {
        const reply = db1.runCommand(Object.assign({}, insert, {writeConcern}));
        assertEq([reply.ok, reply.writeConcernError], [1, undefined], show(writeConcern));
    }
    for (const [writeConcern, code] of [[{w: 2}, 2], [{w: 'tag'}, 2], [{j: true, fsync: true}, 9],
                                        [{w: {}}, 9], [{j: 'yes'}, 14]]) {
        const before = t.countDocuments({});
        assertCommandFails(db1, Object.assign({}, insert, {writeConcern}), code);
        assertEq(t.countDocuments({}), before, show(writeConcern));
    }
});

test('getLastError tells of the write before it', () => {
    db1.runCommand({update: t.getName(), updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]});
    const after = db1.runCommand({getLastError: 1, j: true});
    assertEq([after.ok, after.err], [1, null]);
});

stopServer(server);
