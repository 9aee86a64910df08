// Views by the shell's helpers: made, listed, read, refused to writers, and over a restart.
// Wire spec 2.5 and 4.7.
// Group: core

const options = ['--smallfiles', '--nssize', '1'];
let server = startServer({options});
const notOnView = 166;

function testDB() {
    return server.shell.getDB('test');
}

function view() {
    return testDB().getCollection('grown');
}

test('a view is listed, with the collection that keeps it', () => {
    for (let i = 0; i < 300; i++) {
        const person = {_id: i, age: i % 60, home: i % 3, name: 'n' + i};
        testDB().getCollection('people').insertOne(person);
    }
    testDB().getCollection('homes').insertMany([{_id: 0, at: 'Ulm'}, {_id: 1, at: 'Bonn'}]);
    const pipeline = [{$match: {age: {$gte: 18}}}, {$project: {name: 0}}];
    testDB().createView('grown', 'people', pipeline);
    assertEq(testDB().getCollectionInfos({name: 'grown'})[0], {
        name: 'grown', type: 'view', options: {viewOn: 'people', pipeline},
        info: {readOnly: true},
    });
    assertEq(testDB().getCollectionNames().sort(), ['grown', 'homes', 'people', 'system.views']);
    assertEq([testDB().stats().views, testDB().stats().collections >= 3], [1, true]);
});

test('it is read by every helper that reads, batch after batch', () => {
    assertEq(view().countDocuments(), 210);
    assertEq(view().estimatedDocumentCount(), 210);
    assertEq(view().find({age: 17}).toArray(), []);
    assertEq(view().find({age: {$lt: 20}}).sort({_id: -1}).limit(2).toArray(),
             [{_id: 259, age: 19, home: 1}, {_id: 258, age: 18, home: 0}]);
    assertEq(view().find().batchSize(7).toArray().length, 210);
    assertEq(view().find().sort({_id: 1}).skip(205).batchSize(2).toArray().map(each => each._id),
             [295, 296, 297, 298, 299]);
    assertEq(view().distinct('home').sort(), [0, 1, 2]);
    assertEq(view().distinct('name'), []);
    const groups = [{$group: {_id: '$home', n: {$sum: 1}}}, {$sort: {_id: 1}}];
    assertEq(view().aggregate(groups).toArray(),
             [{_id: 0, n: 70}, {_id: 1, n: 70}, {_id: 2, n: 70}]);
});

test('views stand on views, join others and are joined', () => {
    testDB().createView('housed', 'grown', [
        {$lookup: {from: 'homes', localField: 'home', foreignField: '_id', as: 'home'}},
        {$unwind: '$home'}, {$project: {at: '$home.at'}}]);
    assertEq(testDB().getCollection('housed').find({_id: {$in: [18, 19, 20]}}).toArray(),
             [{_id: 18, at: 'Ulm'}, {_id: 19, at: 'Bonn'}]);
    assertEq(testDB().getCollection('homes').aggregate([
        {$lookup: {from: 'housed', localField: 'at', foreignField: 'at', as: 'all'}},
        {$project: {n: {$size: '$all'}}}, {$sort: {_id: 1}}]).toArray(),
             [{_id: 0, n: 70}, {_id: 1, n: 70}]);
});

test('nothing is written through it', () => {
    for (const body of [
        () => view().insertOne({}),
        () => view().updateOne({}, {$set: {a: 1}}, {upsert: true}),
        () => view().deleteMany({}),
        () => view().findOneAndDelete({}),
        () => view().createIndex({age: 1}),
        () => view().getIndexes(),
        () => testDB().getCollection('people').aggregate([{$out: 'grown'}]).toArray(),
    ])
        assertThrowsCode(notOnView, body);
    assertEq(testDB().getCollection('people').countDocuments(), 300);
});

test('it is there after a restart, can be changed, and dropped', () => {
    stopServer(server);
    server = startServer({options, folder: server.folder});
    assertEq(view().countDocuments({age: 20}), 5);
    testDB().runCommand({collMod: 'grown', viewOn: 'people', pipeline: [{$match: {age: 20}}]});
    assertEq(view().find().toArray().length, 5);
    assertEq(view().drop(), true);
    assertEq(testDB().getCollectionNames().sort(), ['homes', 'housed', 'people', 'system.views']);
    assertEq(testDB().getCollection('housed').find().toArray(), []);
});

stopServer(server);
