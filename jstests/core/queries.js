// Queries, counts, distinct and aggregation as an application uses them; the oracle replay has the
// thousands of details. Wire spec 3.7, 4.2, 4.4, 4.7.
// Group: core

const server = startServer();
const db1 = server.shell.getDB('test');
const t = db1.getCollection('queries');
t.insertMany([
    {_id: 1, kind: 'fruit', name: 'apple', price: 3, tags: ['red', 'green'], at: {x: 1, y: 2}},
    {_id: 2, kind: 'fruit', name: 'cherry', price: 8, tags: ['red'], at: {x: 2, y: 1}},
    {_id: 3, kind: 'root', name: 'carrot', price: 2, tags: [], at: null},
    {_id: 4, kind: 'root', name: 'beet', tags: ['red'], at: {x: 5}},
]);

function ids(filter) {
    return t.find(filter).sort({_id: 1}).toArray().map(document => document._id);
}

test('operators', () => {
    for (const [filter, expected] of [
        [{kind: 'root'}, [3, 4]], [{price: {$gte: 3}}, [1, 2]], [{price: {$ne: 3}}, [2, 3, 4]],
        [{price: {$exists: false}}, [4]], [{price: null}, [4]], [{tags: 'red'}, [1, 2, 4]],
        [{tags: {$all: ['red', 'green']}}, [1]], [{tags: {$size: 0}}, [3]],
        [{tags: {$nin: ['green']}}, [2, 3, 4]], [{name: /^c/}, [2, 3]],
        [{name: {$regex: 'EE', $options: 'i'}}, [4]], [{'at.x': {$gt: 1}}, [2, 4]],
        [{at: {x: 2, y: 1}}, [2]], [{at: null}, [3]], [{price: {$mod: [2, 0]}}, [2, 3]],
        [{$or: [{price: 8}, {name: 'beet'}]}, [2, 4]],
        [{$nor: [{price: 8}, {name: 'beet'}]}, [1, 3]],
        [{$and: [{kind: 'fruit'}, {price: {$not: {$lt: 5}}}]}, [2]],
        [{tags: {$elemMatch: {$gt: 'g', $lt: 'h'}}}, [1]],
    ]) {
        assertEq(ids(filter), expected, show(filter));
    }
});

test('operators of newer servers and of JavaScript are refused', () => {
    for (const filter of [{a: {$nonsense: 1}}, {$where: 'true'}, {a: {$expr: true}},
                          {$or: []}, {a: {$in: 1}}]) {
        assertCommandFails(db1, {find: 'queries', filter}, 2);
    }
});

test('projections', () => {
    assertEq(t.findOne({_id: 1}, {name: 1, _id: 0}), {name: 'apple'});
    assertEq(t.findOne({_id: 1}, {tags: 0, at: 0}),
             {_id: 1, kind: 'fruit', name: 'apple', price: 3});
    assertEq(t.findOne({_id: 1}, {'at.x': 1}), {_id: 1, at: {x: 1}});
    assertEq(t.findOne({_id: 1}, {tags: {$slice: 1}, name: 1}),
             {_id: 1, name: 'apple', tags: ['red']});
    assertEq(t.findOne({_id: 1, tags: 'green'}, {'tags.$': 1}), {_id: 1, tags: ['green']});
});

test('types by name and by list', () => {
    for (const type of ['string', ['string'], ['string', 'double'], ['bool', 2]]) {
        assertEq(ids({name: {$type: type}}), [1, 2, 3, 4], show(type));
    }
    assertEq(ids({price: {$type: 'number'}}), [1, 2, 3]);
    assertEq(ids({tags: {$type: 'array'}}), [1, 2, 3, 4]);
    assertEq(ids({at: {$type: ['null', 'array']}}), [3]);
    for (const [type, code] of [['String', 2], [[], 9], [['x'], 2], [[true], 14], [[99], 2]]) {
        assertCommandFails(db1, {find: 'queries', filter: {name: {$type: type}}}, code);
    }
});

test('decimals', () => {
    const d = db1.getCollection('decimals');
    d.insertMany([{_id: 1, v: NumberDecimal('1.50')}, {_id: 2, v: 1.5}, {_id: 3, v: 2}]);
    assertEq(d.findOne({_id: 1}), {_id: 1, v: NumberDecimal('1.50')});
    for (const index of [{_id: 1}, {v: 1}]) {
        d.createIndex(index);
        const equal = d.find({v: NumberDecimal('1.5')}).sort({_id: 1}).toArray();
        assertEq(equal.map(x => x._id), [1, 2]);
        assertEq(d.find({v: {$gt: NumberDecimal('1.5')}}).toArray().map(x => x._id), [3]);
    }
    d.updateOne({_id: 1}, {$inc: {v: 1}});
    assertEq(d.findOne({_id: 1}).v, NumberDecimal('2.50'));
});

test('sorts follow the order of types', () => {
    const mixed = db1.getCollection('mixed');
    const values = [MinKey(), null, 1, 'a', {a: 1}, BinData(0, ''),
                    ObjectId('000000000000000000000000'), false, new Date(0), /x/, MaxKey()];
    for (let i = values.length - 1; i >= 0; i--) {
        mixed.insertOne({_id: i, v: values[i]});
    }
    const sorted = () => mixed.find().sort({v: 1}).toArray().map(document => document._id);
    const expected = values.map((value, index) => index);
    assertEq(sorted(), expected);
    mixed.createIndex({v: 1});
    assertEq(sorted(), expected);
});

test('count and distinct', () => {
    assertEq(db1.runCommand({count: 'queries', query: {kind: 'root'}}).n, 2);
    assertEq(db1.runCommand({count: 'queries', skip: 1, limit: 2}).n, 2);
    assertEq(t.distinct('tags').sort(), ['green', 'red']);
    assertEq(t.distinct('kind', {price: {$gt: 2}}), ['fruit']);
    assertEq(t.estimatedDocumentCount(), 4);
});

test('aggregation', () => {
    assertEq(t.aggregate([
        {$match: {price: {$exists: true}}},
        {$group: {_id: '$kind', total: {$sum: '$price'}, best: {$max: '$price'},
                  names: {$push: '$name'}}},
        {$sort: {_id: 1}},
    ]).toArray(), [
        {_id: 'fruit', total: 11, best: 8, names: ['apple', 'cherry']},
        {_id: 'root', total: 2, best: 2, names: ['carrot']},
    ]);
    assertEq(t.aggregate([{$unwind: '$tags'}, {$group: {_id: '$tags', n: {$sum: 1}}},
                          {$sort: {n: -1}}, {$limit: 1}]).toArray(), [{_id: 'red', n: 3}]);
    assertEq(t.aggregate([{$project: {_id: 0, twice: {$multiply: ['$price', 2]}}},
                          {$sort: {twice: -1}}, {$limit: 1}]).toArray(), [{twice: 16}]);
    assertCommandFails(db1, {aggregate: 'queries', pipeline: [{$nonsense: 1}], cursor: {}}, 40324);
});

test('explain names the index', () => {
    t.createIndex({price: 1});
    const plan = JSON.stringify(t.find({price: {$gt: 2}}).explain('executionStats'));
    assertContains(plan, 'IXSCAN');
    assertContains(JSON.stringify(t.find({name: 'beet'}).explain()), 'COLLSCAN');
});

stopServer(server);
