// Documents are inserted and returned unchanged: every type, order of fields, generated _id.
// Wire spec 3.1 and 3.3.
// Group: core

const server = startServer();
const t = server.shell.getDB('test').getCollection('insert_find');

test('every type is returned as it was inserted', () => {
    const document = {
        _id: 1,
        double: Double(1.5),
        string: 'sch\u00f6n \u0000 end',
        object: {z: 1, a: {b: []}},
        array: [1, 'two', null, {three: 3}],
        binary: BinData(0, 'AQID'),
        uuid: UUID('00112233-4455-6677-8899-aabbccddeeff'),
        id: ObjectId('0123456789abcdef01234567'),
        yes: true,
        date: ISODate('2014-03-23T15:04:05.123Z'),
        early: new Date(-1),
        nothing: null,
        regex: /^a.*b$/i,
        code: Code('function() { return 1; }'),
        int32: Int32(-7),
        timestamp: Timestamp({t: 5, i: 6}),
        int64: Long('9007199254740993'),
        low: MinKey(),
        high: MaxKey(),
    };
    t.insertOne(document);
    assertEq(t.findOne({_id: 1}, {}, {promoteValues: false}), document);
});

test('the server puts _id first and makes one when it is missing', () => {
    assertEq(t.getDB().runCommand({insert: t.getName(), documents: [{b: 1, _id: 'last'}]}).n, 1);
    assertEq(Object.keys(t.findOne({_id: 'last'})), ['_id', 'b']);
    t.getDB().runCommand({insert: t.getName(), documents: [{marker: 'no id'}]});
    assertTrue(t.findOne({marker: 'no id'})._id instanceof ObjectId);
});

test('many documents are returned in batches', () => {
    const many = server.shell.getDB('test').getCollection('many');
    const documents = [];
    for (let i = 0; i < 2500; i++) {
        documents.push({_id: i, text: 'x'.repeat(i % 300)});
    }
    assertEq(many.insertMany(documents).insertedIds[2499], 2499);
    assertEq(many.countDocuments({}), 2500);
    assertEq(many.find().sort({_id: 1}).batchSize(7).toArray(), documents);
    assertEq(many.find({_id: {$gte: 2490}}).sort({_id: -1}).skip(2).limit(3).toArray()
        .map(document => document._id), [2497, 2496, 2495]);
});

test('the first batch of a find holds 101 documents', () => {
    const reply = server.shell.getDB('test').runCommand({find: 'many'});
    assertEq(reply.cursor.firstBatch.length, 101);
    assertEq(reply.cursor.ns, 'test.many');
    assertTrue(!reply.cursor.id.isZero());
    const killed = server.shell.getDB('test')
        .runCommand({killCursors: 'many', cursors: [reply.cursor.id]});
    assertEq(killed.cursorsKilled, [reply.cursor.id]);
    assertCommandFails(server.shell.getDB('test'),
                       {getMore: reply.cursor.id, collection: 'many'}, 43);
});

test('batchSize 0 opens a cursor without documents', () => {
    const reply = server.shell.getDB('test').runCommand({find: 'many', batchSize: 0});
    assertEq(reply.cursor.firstBatch, []);
    const more = server.shell.getDB('test')
        .runCommand({getMore: reply.cursor.id, collection: 'many', batchSize: 3000});
    assertEq(more.cursor.nextBatch.length, 2500);
});

test('a missing collection or database is empty', () => {
    assertEq(server.shell.getDB('nowhere').getCollection('nothing').find().toArray(), []);
    assertEq(server.shell.getDB('nowhere').getCollection('nothing').countDocuments({}), 0);
});

test('a large document fits, a larger one does not', () => {
    const large = server.shell.getDB('test').getCollection('large');
    large.insertOne({_id: 1, text: 'x'.repeat(16 * 1024 * 1024 - 100)});
    assertEq(large.findOne({_id: 1}).text.length, 16 * 1024 * 1024 - 100);
});

stopServer(server);
