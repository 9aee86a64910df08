// Updates and deletes through the write commands: counts, operators, upserts, findAndModify.
// Wire spec 3.4 to 3.6 and 4.3.
// Group: core

const server = startServer();
const db1 = server.shell.getDB('test');

function fresh(documents) {
    const collection = db1.getCollection('update_delete');
    collection.drop();
    if (documents.length > 0) {
        collection.insertMany(documents);
    }
    return collection;
}

test('matched and modified are counted apart', () => {
    const t = fresh([{_id: 1, a: 1}, {_id: 2, a: 1}, {_id: 3, a: 2}]);
    const result = t.updateMany({a: {$lte: 2}}, {$set: {a: 2}});
    assertEq([result.matchedCount, result.modifiedCount], [3, 2]);
    assertEq(t.find().sort({_id: 1}).toArray(), [{_id: 1, a: 2}, {_id: 2, a: 2}, {_id: 3, a: 2}]);
});

test('operators', () => {
    const t = fresh([{_id: 1, n: 1, list: [1, 2, 3], gone: 1, old: 'x'}]);
    t.updateOne({_id: 1}, {
        $inc: {n: 4}, $push: {list: 4}, $unset: {gone: 1}, $setOnInsert: {never: 1}});
    t.updateOne({_id: 1}, {$rename: {old: 'new'}});
    t.updateOne({_id: 1}, {$min: {low: 3}});
    t.updateOne({_id: 1}, {$max: {n: 3, high: 3}});
    assertEq(t.findOne(), {_id: 1, n: 5, list: [1, 2, 3, 4], new: 'x', low: 3, high: 3});
    t.updateOne({_id: 1}, {$pull: {list: {$gt: 2}}, $mul: {n: 3}});
    t.updateOne({_id: 1}, {$addToSet: {list: {$each: [2, 9]}}});
    t.updateOne({_id: 1, list: 9}, {$set: {'list.$': 10}});
    t.updateOne({_id: 1}, {$pop: {list: -1}});
    assertEq(t.findOne().list, [2, 10]);
    assertEq(t.findOne().n, 15);
});

test('a document that grows is found at its new place', () => {
    const t = fresh([]);
    for (let i = 0; i < 200; i++) {
        t.insertOne({_id: i, a: i});
    }
    t.createIndex({a: 1});
    for (let round = 1; round <= 3; round++) {
        const result = t.updateMany({}, {$set: {text: 'x'.repeat(200 * round)}});
        assertEq([result.matchedCount, result.modifiedCount], [200, 200]);
    }
    assertEq(t.countDocuments({}), 200);
    assertEq(t.find({a: {$gte: 100}}).hint({a: 1}).toArray().length, 100);
    assertEq(t.findOne({a: 137}).text.length, 600);
});

test('upserts', () => {
    const t = fresh([]);
    const first = t.updateOne({_id: 'k', kind: 1}, {$inc: {n: 1}}, {upsert: true});
    assertEq([first.insertedId, first.upsertedCount, first.matchedCount], ['k', 1, 0]);
    t.updateOne({_id: 'k'}, {$inc: {n: 1}}, {upsert: true});
    assertEq(t.findOne(), {_id: 'k', kind: 1, n: 2});
    t.replaceOne({_id: 'r'}, {b: 1}, {upsert: true});
    assertEq(t.findOne({_id: 'r'}), {_id: 'r', b: 1});
});

test('replacement keeps _id and drops the rest', () => {
    const t = fresh([{_id: 1, a: 1, b: 2}]);
    t.replaceOne({_id: 1}, {c: 3});
    assertEq(t.findOne(), {_id: 1, c: 3});
});

test('wrong updates are refused with their codes', () => {
    const t = fresh([{_id: 1, a: 'text', list: [1]}]);
    assertThrowsCode(9, () => t.updateOne({}, {$nonsense: {a: 1}}));
    assertThrowsCode(66, () => t.updateOne({_id: 1}, {$set: {_id: 2}}));
    assertThrowsCode(14, () => t.updateOne({_id: 1}, {$inc: {a: 1}}));
    assertThrowsCode(2, () => t.updateOne({_id: 1}, {$push: {a: 1}}));
    assertThrowsCode(40, () => t.updateOne({_id: 1}, {$set: {b: 1}, $inc: {b: 1}}));
    assertThrowsCode(28, () => t.updateOne({_id: 1}, {$set: {'a.b': 1}}));
    assertEq(t.findOne(), {_id: 1, a: 'text', list: [1]});
});

test('deletes', () => {
    const t = fresh([{_id: 1, a: 1}, {_id: 2, a: 1}, {_id: 3, a: 2}]);
    assertEq(t.deleteOne({a: 1}).deletedCount, 1);
    assertEq(t.deleteMany({a: 1}).deletedCount, 1);
    assertEq(t.deleteMany({a: 1}).deletedCount, 0);
    assertEq(t.find().toArray(), [{_id: 3, a: 2}]);
    assertEq(t.deleteMany({}).deletedCount, 1);
});

test('findAndModify', () => {
    const t = fresh([{_id: 1, n: 1}, {_id: 2, n: 5}]);
    assertEq(t.findOneAndUpdate({}, {$inc: {n: 1}}, {sort: {n: -1}}), {_id: 2, n: 5});
    assertEq(t.findOneAndUpdate({_id: 2}, {$inc: {n: 1}}, {returnDocument: 'after'}),
             {_id: 2, n: 7});
    assertEq(t.findOneAndDelete({_id: 1}), {_id: 1, n: 1});
    assertEq(t.findOneAndUpdate({_id: 9}, {$set: {a: 1}}), null);
    assertEq(t.findOneAndReplace({_id: 9}, {b: 1}, {upsert: true, returnDocument: 'after'}),
             {_id: 9, b: 1});
});

test('an update by a sort, and bulkWrite', () => {
    const t = fresh([{_id: 1, n: 1}, {_id: 2, n: 5}]);
    const update = {q: {}, u: {$set: {hit: true}}, sort: {n: -1}};
    assertEq(db1.runCommand({update: t.getName(), updates: [update]}).n, 1);
    assertEq(t.find({hit: true}).toArray(), [{_id: 2, n: 5, hit: true}]);
    const reply = server.shell.getDB('admin').runCommand({
        bulkWrite: 1, nsInfo: [{ns: t.getFullName()}], ops: [
            {insert: 0, document: {_id: 3}},
            {update: 0, filter: {n: {$gt: 0}}, updateMods: {$inc: {n: 1}}, multi: true},
            {delete: 0, filter: {_id: 3}},
        ]});
    assertEq([reply.nInserted, reply.nModified, reply.nDeleted, reply.nErrors], [1, 2, 1, 0]);
    assertEq(reply.cursor.firstBatch[1], {ok: 1, idx: 1, n: 2, nModified: 2});
    assertEq(t.find().sort({_id: 1}).toArray(), [{_id: 1, n: 2}, {_id: 2, n: 6, hit: true}]);
});

stopServer(server);
