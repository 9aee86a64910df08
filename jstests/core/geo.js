// Indexes of places: 2d, 2dsphere and geoHaystack, what is within, what is near, and how a start,
// a repair and a compact leave them.
// Wire spec 4.2, 4.6.
// Group: core

const options = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1'];
let server = startServer({options});

function places() {
    return server.shell.getDB('places');
}

function ids(cursor) {
    return cursor.toArray().map(d => d._id);
}

function point(x, y) {
    return {type: 'Point', coordinates: [x, y]};
}

function square(x, y, size) {
    return {
        type: 'Polygon',
        coordinates: [[[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]]
    };
}

function near(x, y, more = {}) {
    return {$near: {$geometry: point(x, y), ...more}};
}

test('a 2d index finds what is within, with it and without', () => {
    for (let i = 0; i < 100; i++) {
        places().flat.insertOne({_id: i, at: [i % 10, Math.floor(i / 10)], kind: i % 3});
        places().plain.insertOne({_id: i, at: [i % 10, Math.floor(i / 10)], kind: i % 3});
    }
    places().flat.createIndex({at: '2d', kind: 1}, {bits: 20, min: -1, max: 20});
    const shapes = [
        {$box: [[1, 1], [3, 4]]}, {$center: [[5, 5], 2.5]}, {$centerSphere: [[5, 5], 0.05]},
        {$polygon: [[0, 0], [6, 0], [3, 8]]}, {$geometry: square(2.5, 2.5, 4)}
    ];
    for (const shape of shapes) {
        const filter = {at: {$geoWithin: shape}, kind: {$lt: 2}};
        const found = ids(places().flat.find(filter)).sort();
        assertTrue(found.length > 3, shape);
        assertEq(found, ids(places().plain.find(filter)).sort(), JSON.stringify(shape));
        assertEq(places().flat.countDocuments(filter), found.length);
    }
});

test('a place at the radius is within, with an index on the sphere and without', () => {
    const half = {at: {$geoWithin: {$centerSphere: [[0, 0], Math.PI / 2]}}};
    places().half.insertMany([[0, 90], [90, 0], [-90, 0], [90, 45], [91, 0]].map(at => ({at})));
    assertEq(places().half.find(half).itcount(), 4);
    places().half.createIndex({at: '2dsphere'});
    assertEq(places().half.find(half).itcount(), 4);
});

test('a 2d index of any bounds finds what is within', () => {
    const box = {at: {$geoWithin: {$box: [[-1, -1], [4, 4]]}}};
    for (const [min, max] of [[-1e15, 1e15], [-1e308, 1e308], [-Infinity, Infinity]]) {
        places().wide.drop();
        places().wide.createIndex({at: '2d'}, {min, max});
        places().wide.insertMany([0, 3, 9].map((at, _id) => ({_id, at: [at, at]})));
        assertEq(ids(places().wide.find(box)).sort(), [0, 1], max);
        assertEq(ids(places().wide.find({at: {$near: [4, 4]}})), [1, 0, 2], max);
    }
});

test('what is near comes in order', () => {
    assertEq(ids(places().flat.find({at: {$near: [0.1, 0.2]}}).limit(3)), [0, 10, 1]);
    assertEq(ids(places().flat.find({at: {$near: [5, 5], $maxDistance: 1}})).sort(),
             [45, 54, 55, 56, 65]);
    assertThrowsCode(2, () => places().plain.find({at: {$near: [5, 5]}}).toArray());
    assertThrowsCode(2, () => places().flat.find({$or: [{at: {$near: [5, 5]}}]}).toArray());
});

test('an index keeps out what is no place', () => {
    assertThrowsCode(13027, () => places().flat.insertOne({at: [100, 0]}));
    assertThrowsCode(13068, () => places().flat.insertOne({at: [1]}));
    places().flat.insertOne({_id: 'none', at: null});
    assertThrowsCode(16803, () => places().bad.createIndex({at: '2d'}, {bits: 40}));
    assertThrowsCode(16801, () => places().bad.createIndex({kind: 1, at: '2d'}));
    assertThrowsCode(67, () => places().bad.createIndex({at: '2d', g: '2dsphere'}));
});

test('a 2dsphere index finds shapes, with it and without', () => {
    for (const name of ['globe', 'globe1', 'bare']) {
        for (let i = 0; i < 60; i++) {
            const x = -30 + i;
            const y = -40 + (i * 7) % 80;
            const at = i % 3 ? point(x, y) : square(x, y, 3);
            places()[name].insertOne({_id: i, kind: i % 2, at});
        }
    }
    places().globe.createIndex({kind: 1, at: '2dsphere'});
    places().globe.createIndex({at: '2dsphere'});
    places().globe1.createIndex({at: '2dsphere'}, {'2dsphereIndexVersion': 1});
    const filters = [
        {at: {$geoIntersects: {$geometry: square(-10, -10, 20)}}},
        {at: {$geoWithin: {$geometry: square(-20, -30, 35)}}},
        {at: {$geoWithin: {$centerSphere: [[0, 0], 0.3]}}, kind: 1},
        {at: {$geoIntersects: {$geometry: {type: 'LineString', coordinates: [[-40, 0], [40, 10]]}}}}
    ];
    for (const filter of filters) {
        const found = ids(places().bare.find(filter)).sort();
        assertTrue(found.length > 0, JSON.stringify(filter));
        assertEq(ids(places().globe.find(filter)).sort(), found, JSON.stringify(filter));
        assertEq(ids(places().globe1.find(filter)).sort(), found, JSON.stringify(filter));
    }
    assertThrowsCode(16755, () => places().globe.insertOne({at: point(200, 0)}));
    assertThrowsCode(16754, () => places().globe.insertOne({at: 5}));
    assertThrowsCode(17394, () => places().bad.createIndex({at: '2dsphere'},
                                                       {'2dsphereIndexVersion': 9}));
});

test('distances are metres of GeoJSON and radians of pairs', () => {
    const degree = 111318;  // in metres
    places().globe.insertOne({_id: 'here', at: point(1, 10)});
    assertEq(ids(places().globe.find({at: near(1, 9, {$maxDistance: degree + 20})})), ['here']);
    assertEq(ids(places().globe.find({at: near(1, 9, {$maxDistance: degree - 20})})), []);
    assertEq(ids(places().globe.find({at: {$nearSphere: [1, 9], $maxDistance: 0.0175}})), ['here']);
    places().globe.deleteOne({_id: 'here'});
    const stages = [{$geoNear: {near: point(1, 9), distanceField: 'd.far', spherical: true,
                                includeLocs: 'd.at', key: 'at', query: {kind: 1}}},
                    {$limit: 2}, {$project: {d: 1}}];
    const found = places().globe1.aggregate(stages).toArray();
    assertEq(found.length, 2);
    assertTrue(found[0].d.far <= found[1].d.far);
    assertTrue(found[0].d.at !== undefined);
    assertThrowsCode(16602, () => places().globe1.aggregate([{$match: {}}, ...stages]).toArray());
    const reply =
        places().runCommand({geoNear: 'globe1', near: point(1, 9), spherical: true, num: 2});
    assertEq(reply.ok, 1);
    assertEq(reply.results.length, 2);
    assertEq(reply.results[1].dis, reply.stats.maxDistance);
});

test('a pipeline that does not begin at a collection finds nothing near', () => {
    const nearest = {$geoNear: {near: point(1, 9), distanceField: 'd', key: 'at'}};
    const from = (name, more) => ({$lookup: {from: name, as: 'x', pipeline: [nearest, {$limit: 2}],
                                             ...more}});
    const one = places().getCollection('one');
    one.insertOne({_id: 1});
    places().createCollection('same', {viewOn: 'globe1', pipeline: []});
    places().createCollection('some', {viewOn: 'globe1', pipeline: [{$match: {kind: 1}}]});
    places().createCollection('nearest', {viewOn: 'globe1', pipeline: [nearest]});
    const found = places().globe1.aggregate([nearest, {$limit: 2}]).toArray();
    for (const name of ['globe1', 'same', 'nearest']) {
        const stages = name == 'nearest' ? [{$limit: 2}] : [nearest, {$limit: 2}];
        assertEq(places().getCollection(name).aggregate(stages).toArray(), found, name);
        const lookup = from(name, {pipeline: stages});
        assertEq(one.aggregate([lookup]).toArray()[0].x, found, name);
        assertEq(one.aggregate([{$facet: {f: [lookup]}}]).toArray()[0].f[0].x, found, name);
    }
    const refused = (code, stage) => assertThrowsCode(code, () => one.aggregate([stage]).toArray());
    assertThrowsCode(40600, () => places().globe1.aggregate([{$facet: {a: [nearest]}}]).toArray());
    refused(40600, {$facet: {a: [{$limit: 1}, nearest]}});
    refused(16602, from('some'));
    refused(16602, {$unionWith: {coll: 'some', pipeline: [nearest]}});
    refused(40600, from('globe1', {pipeline: [{$facet: {a: [nearest]}}]}));
    assertThrowsCode(16602, () => places().some.aggregate([nearest]).toArray());
});

test('writes keep the keys, and find by them', () => {
    places().globe.updateOne({_id: 1}, {$set: {at: point(100, 50)}});
    assertEq(ids(places().globe.find({at: near(100, 50)}).limit(1)), [1]);
    const updated = places().globe.updateMany(
        {at: {$geoWithin: {$geometry: square(99, 49, 2)}}}, {$set: {moved: true}});
    assertEq(updated.modifiedCount, 1);
    assertEq(places().globe.deleteMany({at: {$geoWithin: {$centerSphere: [[100, 50], 0.001]}}})
                 .deletedCount, 1);
    const nearest = ids(places().globe.find({at: near(-29, -33)}).limit(1))[0];
    assertEq(places().globe.findOneAndUpdate({at: near(-29, -33)}, {$set: {mark: 1}})._id, nearest);
});

test('few keys lead to the nearest of many', () => {
    for (const kind of ['2d', '2dsphere']) {
        const dense = places()['dense' + kind];
        dense.insertMany(Array.from({length: 20000}, (_, i) => (
            {_id: i, at: [10 + i % 141 / 282, 50 + Math.floor(i / 141) / 284]})));
        dense.createIndex({at: kind});
        const filter = {at: kind === '2d' ? {$near: [10.2, 50.2]} : near(10.2, 50.2)};
        const fromAfar = {at: kind === '2d' ? {$near: [-60, 10]} : near(-60, 10)};
        for (const each of [filter, fromAfar]) {
            const stats = dense.find(each).limit(10).explain('executionStats').executionStats;
            assertEq(stats.executionStages.inputStage.stage, 'GEO_NEAR_' + kind.toUpperCase());
            assertEq(stats.nReturned, 10);
            assertTrue(stats.totalKeysExamined < 10000, kind + ' ' + stats.totalKeysExamined);
        }
        const far = d => Math.hypot(d.at[0] - 10.2, d.at[1] - 50.2);
        const nearest = dense.find().toArray().sort((a, b) => far(a) - far(b));
        if (kind === '2d') assertEq(ids(dense.find(filter)), nearest.map(d => d._id));
    }
});

test('what no index answers is no $near', () => {
    places().listed.insertOne({_id: 1, at: [[1, 1], [2, 2]]});
    const pull = {$pull: {at: {$near: [1, 1]}}};
    assertThrowsCode(2, () => places().listed.updateOne({_id: 1}, pull));
    const validator = {at: {$near: [1, 1]}};
    assertThrowsCode(2, () => places().createCollection('held', {validator}));
    assertEq(places().listed.findOne().at.length, 2);
});

test('a haystack has buckets', () => {
    for (let i = 0; i < 20; i++) {
        places().hay.insertOne({_id: i, at: [i, i], kind: i % 2 ? 'odd' : 'even'});
    }
    places().hay.createIndex({at: 'geoHaystack', kind: 1}, {bucketSize: 2});
    const reply = places().runCommand(
        {geoSearch: 'hay', near: [10, 10], maxDistance: 3, search: {kind: 'even'}});
    assertEq(reply.results.map(d => d._id), [8, 10, 12]);
    assertThrowsCode(16777, () => places().bad.createIndex({at: 'geoHaystack', kind: 1}));
});

function keysOf(name, hint) {
    return places().runCommand({_indexKeys: name, hint}).keys;
}

test('a start, a compact and a repair leave the keys', () => {
    const indexes = [['flat', 'at_2d_kind_1'], ['globe', 'kind_1_at_2dsphere'],
                     ['globe1', 'at_2dsphere'], ['hay', 'at_geoHaystack_kind_1']];
    const all = () => indexes.map(([name, hint]) => keysOf(name, hint));
    const before = all();
    assertTrue(before.every(keys => keys.length >= 20));
    stopServer(server);
    server = startServer({options, folder: server.folder});
    assertEq(all(), before);
    for (const [name] of indexes) {
        assertTrue(places()[name].validate({full: true}).valid, name);
        assertEq(places().runCommand({compact: name}).ok, 1);
        assertEq(places().runCommand({reIndex: name}).ok, 1);
    }
    assertEq(all(), before);
    assertEq(places().runCommand({repairDatabase: 1}).ok, 1);
    assertEq(all(), before);
});

stopServer(server);
