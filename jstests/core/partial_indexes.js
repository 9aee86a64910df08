// Partial and hidden indexes over a restart, and as the catalogue shows them.
// Wire spec 4.6, mmapv1 spec 6.10.
// Group: core

const options = ['--smallfiles', '--nssize', '1'];
let server = startServer({options});
const filter = {done: {$exists: true}, rank: {$gt: 5}};

function restart() {
    stopServer(server);
    server = startServer({options, folder: server.folder});
}

function collection() {
    return server.shell.getDB('test').getCollection('c');
}

function keys(name) {
    return collection().find({}).hint(name).toArray().map(d => d._id).sort((a, b) => a - b);
}

function listed(name) {
    return collection().getIndexes().find(index => index.name === name);
}

test('an index holds what its filter matches', () => {
    for (let i = 0; i < 20; i++) {
        collection().insertOne(i % 2 === 0 ? {_id: i, rank: i} : {_id: i, rank: i, done: 1});
    }
    collection().createIndex({rank: 1}, {name: 'partial', partialFilterExpression: filter});
    collection().createIndex({done: 1}, {name: 'hidden', hidden: true});
    assertEq(keys('partial'), [7, 9, 11, 13, 15, 17, 19]);
});

test('it is the same after a start', () => {
    restart();
    assertEq(keys('partial'), [7, 9, 11, 13, 15, 17, 19]);
    collection().updateOne({_id: 6}, {$set: {done: 1}});
    collection().updateOne({_id: 7}, {$set: {rank: 1}});
    collection().deleteOne({_id: 9});
    assertEq(keys('partial'), [6, 11, 13, 15, 17, 19]);
    assertEq(listed('partial').partialFilterExpression, filter);
    assertEq(listed('partial').key, {rank: 1});
    assertEq(listed('hidden').hidden, true);
    assertThrowsCode(2, () => keys('hidden'));
    assertTrue(collection().validate({full: true}).valid);
});

test('the catalogue shows what was asked for', () => {
    const stored = server.shell.getDB('test').getCollection('system.indexes')
        .find({name: 'partial'}).toArray();
    assertEq(stored.map(index => index.key), [{rank: 1}]);
    assertEq(stored[0].partialFilterExpression, filter);
});

test('a hidden index comes into use', () => {
    collection().unhideIndex('hidden');
    assertEq(listed('hidden').hidden, undefined);
    assertEq(keys('hidden').length, 19);
    restart();
    assertEq(keys('hidden').length, 19);
    collection().hideIndex('hidden');
    assertThrowsCode(2, () => keys('hidden'));
});

stopServer(server);
