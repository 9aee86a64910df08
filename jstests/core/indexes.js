// Indexes: made, listed, used, kept in step, dropped.
// Wire spec 2.5 and 4.6.
// Group: core

const server = startServer();
const db1 = server.shell.getDB('test');

test('a collection starts with its _id index', () => {
    db1.getCollection('a').insertOne({});
    assertEq(db1.getCollection('a').getIndexes().map(index => [index.name, index.key]),
             [['_id_', {_id: 1}]]);
});

test('createIndexes counts before and after', () => {
    const reply = db1.runCommand({createIndexes: 'made',
                                  indexes: [{key: {x: 1}, name: 'x_1'}]});
    assertEq([reply.createdCollectionAutomatically, reply.numIndexesBefore,
              reply.numIndexesAfter], [true, 1, 2]);
    const again = db1.runCommand({createIndexes: 'made',
                                  indexes: [{key: {x: 1}, name: 'x_1'}]});
    assertEq([again.numIndexesBefore, again.note], [2, 'all indexes already exist']);
});

test('an index gives the same answer as a scan', () => {
    const t = db1.getCollection('same');
    const documents = [];
    for (let i = 0; i < 1000; i++) {
        documents.push({_id: i, a: i % 37, b: {c: 1000 - i}, tags: [i % 5, i % 7]});
    }
    t.insertMany(documents);
    const queries = [{a: 5}, {a: {$gt: 30}}, {a: {$in: [1, 2, 36]}}, {'b.c': {$lt: 20}},
                     {tags: 6}, {a: 3, tags: 2}, {a: {$gte: 10, $lt: 12}, 'b.c': {$gt: 500}}];
    const before = queries.map(query => t.find(query).sort({_id: 1}).toArray());
    t.createIndex({a: 1});
    t.createIndex({'b.c': -1});
    t.createIndex({tags: 1, a: 1});
    for (let i = 0; i < queries.length; i++) {
        assertEq(t.find(queries[i]).sort({_id: 1}).toArray(), before[i], show(queries[i]));
    }
    assertEq(t.find().sort({'b.c': 1}).hint({'b.c': -1}).limit(2).toArray()
        .map(document => document._id), [999, 998]);
});

test('sparse and multikey', () => {
    const t = db1.getCollection('sparse');
    t.createIndex({s: 1}, {sparse: true, unique: true});
    t.insertMany([{_id: 1}, {_id: 2}, {_id: 3, s: 1}]);
    assertEq(t.find({s: {$gt: 0}}).toArray(), [{_id: 3, s: 1}]);
    assertThrowsCode(11000, () => t.insertOne({_id: 4, s: 1}));
});

test('a unique index on duplicates is refused and leaves nothing', () => {
    const t = db1.getCollection('duplicates');
    t.insertMany([{k: 1}, {k: 1}]);
    assertThrowsCode(11000, () => t.createIndex({k: 1}, {unique: true}));
    assertEq(t.getIndexes().length, 1);
    t.insertOne({k: 1});
});

test('dropping', () => {
    const t = db1.getCollection('dropping');
    t.createIndex({x: 1});
    t.createIndex({y: 1});
    assertEq(t.dropIndex('x_1').nIndexesWas, 3);
    assertCommandFails(db1, {dropIndexes: 'dropping', index: 'x_1'}, 27);
    assertCommandFails(db1, {dropIndexes: 'dropping', index: '_id_'}, 72);
    assertCommandFails(db1, {dropIndexes: 'no such thing', index: '*'}, 26);
    db1.runCommand({dropIndexes: 'dropping', index: '*'});
    assertEq(t.getIndexes().length, 1);
});

test('a hint that names no index is refused', () => {
    assertCommandFails(db1, {find: 'a', filter: {}, hint: 'nothing_1'}, 2);
});

test('count goes by the hinted index, named or described', () => {
    const t = db1.getCollection('counted');
    t.insertMany([{i: 1}, {i: 2, x: 1}]);
    t.createIndex({x: 1}, {sparse: true});
    for (const hint of ['x_1', {x: 1}]) {
        assertEq(db1.runCommand({count: 'counted', query: {i: {$gt: 0}}, hint}).n, 1);
    }
});

// Beyond 2^53 two int64s that differ may both equal one double.
const low = Long('9007199254740992');
const high = Long('9007199254740993');
const both = Double(9007199254740992);

test('an index follows a number from equal to equal', () => {
    const t = db1.getCollection('equals');
    t.createIndex({x: 1});
    t.insertOne({_id: 1, x: low});
    for (const x of [both, high]) {
        t.updateOne({_id: 1}, {$set: {x: x}});
    }
    assertEq(t.find({x: high}).hint({x: 1}).toArray().length, 1);
    assertEq(t.find({x: low}).hint({x: 1}).toArray().length, 0);
    t.deleteOne({_id: 1});
    const result = t.validate({full: true});
    assertTrue(result.valid);
    assertEq(Object.values(result.keysPerIndex), [0, 0]);
});

test('scans end, whatever order such numbers have got into', () => {
    const numbers = [low, both, high];
    for (let order = 0; order < 81; order++) {
        const t = db1.getCollection('mixed' + order);
        t.createIndex({x: 1, y: 1});
        for (let i = 0, rest = order; i < 4; i++, rest = Math.floor(rest / 3)) {
            t.insertOne({_id: i, x: numbers[rest % 3], y: 3 - i});
        }
        for (const filter of [{x: {$in: [high, 1e300]}}, {x: {$in: [low, 1e300]}},
                              {x: {$gte: high}, y: {$in: [0, 2]}},
                              {x: {$gte: low}, y: {$in: [1, 3]}}]) {
            for (const direction of [1, -1]) {
                const ids = t.find(filter).sort({x: direction, y: direction}).hint({x: 1, y: 1})
                    .toArray().map(d => d._id);
                const matching = t.find(filter).hint({$natural: 1}).toArray().map(d => d._id);
                assertEq(ids.filter(id => !matching.includes(id)), [], order);
            }
        }
        t.drop();
    }
});

test('validate agrees', () => {
    for (const name of ['a', 'made', 'same', 'sparse', 'duplicates', 'dropping']) {
        const result = db1.getCollection(name).validate({full: true});
        assertTrue(result.valid, name);
    }
});

stopServer(server);
