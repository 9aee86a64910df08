// Indexes of places and words, kept up through random writes, drops and builds: each has the keys
// that it has when it is built at the end, on the primary and on a secondary.
// Group: core

const options = ['--smallfiles', '--nssize', '1', '--noprealloc', '--nopreallocj',
                 '--setParameter', 'enableTestCommands=1', '--replSet', 'rs0', '--oplogSize', '32'];
const members = [1, 2].map(() => startServer({options}));
const hostOf = member => `127.0.0.1:${member.port}`;
const status = member => replyTo(member.shell.getDB('admin'), {replSetGetStatus: 1});
const kSteps = 300, kDocuments = 40;
const kRefused = [2, 9, 14, 28, 13026, 13027, 13068, 16675, 16754, 16755, 16775, 16776, 16804,
                  16837, 17261, 17262];

// A generator of our own, so that a seed says what is done.
let seed = Date.now() % 1000000;
function below(n) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor(seed / 65536) % n;
}
function pick(list) {
    return list[below(list.length)];
}

const pair = () => [below(41) / 4 - 5, below(41) / 4 - 5];
const ring = () => {
    const [x, y] = pair(), size = 1 + below(3);
    return [[x, y], [x + size, y], [x + size, y + size], [x, y]];
};
const flat = () => pick([pair, pair, pair, () => [pair(), pair()], () => ({x: 1, y: 2}),
                         () => null])();
const sphere = () => pick([
    pair, () => ({type: 'Point', coordinates: pair()}),
    () => ({type: 'Point', coordinates: pair()}),
    () => ({type: 'LineString', coordinates: [pair(), pair()]}),
    () => ({type: 'Polygon', coordinates: [ring()]})])();
const many = () => pick([sphere, () => null, () => ({
    type: 'GeometryCollection', geometries: [{type: 'Point', coordinates: pair()},
                                             {type: 'MultiPoint', coordinates: [pair(), pair()]}]
})])();
const word = () => pick(['fox', 'foxes', 'Jumping', 'the', 'dogs', 'été', 'x'.repeat(70)]);
const words = () => pick([() => `${word()} ${word()}`, word, () => [word(), word()],
                          () => ({w: word(), language: pick(['french', 'none'])}), () => 5])();

const kinds = {
    flat: [{p: '2d', k: 1}, {bits: 20, min: -20, max: 20}, flat],
    globe1: [{p: '2dsphere'}, {'2dsphereIndexVersion': 1}, sphere],
    globe2: [{k: 1, p: '2dsphere'}, {'2dsphereIndexVersion': 2}, many],
    globe3: [{p: '2dsphere', k: -1}, {'2dsphereIndexVersion': 3, finestIndexedLevel: 18}, many],
    some: [{p: '2dsphere'}, {partialFilterExpression: {k: {$gt: 1}}}, many],
    hay: [{p: 'geoHaystack', k: 1}, {bucketSize: 2}, pair],
    words1: [{p: 'text'}, {textIndexVersion: 1}, words],
    words2: [{p: 'text', k: 1}, {weights: {p: 3}, default_language: 'french',
                                      textIndexVersion: 2}, words],
    words3: [{k: 1, p: 'text'}, {textIndexVersion: 3}, words],
    wild: [{'$**': 'text'}, {textIndexVersion: 2}, words],
};

function collectionOf(name, member = members[0]) {
    return member.shell.getDB('kept').getCollection(name);
}

// One write by each operator that can change what the index is about.
function step(t, make) {
    const filter = {_id: below(kDocuments)};
    const at = pick(['p', 'p', 'p', 'p.0', 'p.1', 'p.coordinates.0', 'p.w', 'd.p']);
    const change = pick([
        {$set: {p: make()}}, {$set: {p: make()}}, {$set: {[at]: make()}}, {$unset: {p: 1}},
        {$set: {k: below(4)}}, {$inc: {[at]: 0.5}}, {$mul: {[at]: 2}}, {$min: {[at]: 0}},
        {$max: {[at]: 1}}, {$bit: {k: {xor: 3}}}, {$push: {p: make()}}, {$addToSet: {p: make()}},
        {$pop: {p: pick([1, -1])}}, {$pull: {p: make()}}, {$pullAll: {p: [make()]}},
        {$rename: {p: 'h'}}, {$rename: {h: 'p'}}, {$currentDate: {p: true}},
        {$set: {language: pick(['none', 'french', 'klingon'])}}, {$unset: {language: 1}},
        {$push: {p: {$each: [make(), make()], $slice: -2}}}, {$set: {pad: 'p'.repeat(below(900))}}
    ]);
    const one = pick([
        () => t.updateOne(filter, change, {upsert: true}),
        () => t.updateOne(filter, change),
        () => t.updateMany({k: below(4)}, change),
        () => t.updateOne(filter, [{$set: {p: pick(['$h', '$$REMOVE', {$literal: make()}])}}]),
        () => t.replaceOne(filter, {p: make(), k: below(4)}, {upsert: true}),
        () => t.findOneAndUpdate({k: below(4)}, change),
        () => t.deleteOne(filter),
        () => t.insertMany([{p: make(), k: 1}, {_id: below(kDocuments), p: make()}],
                           {ordered: false}),
    ]);
    try {
        one();
    } catch (error) {
        const codes = [error.code].concat((error.writeErrors || []).map(each => each.code));
        if (!codes.some(code => kRefused.includes(code) || code === 11000)) throw error;
    }
}

function keysOf(name, hint, member = members[0]) {
    const of = member.shell.getDB('kept');
    return of.runCommand({_indexKeys: name, hint}).keys;
}

test('the set begins', () => {
    members[0].shell.getDB('admin').runCommand({replSetInitiate: {_id: 'rs0', members: [
        {_id: 0, host: hostOf(members[0])}, {_id: 1, host: hostOf(members[1]), priority: 0}]}});
    waitFor('there are a primary and a secondary',
            () => status(members[0]).myState === 1 && status(members[1]).myState === 2);
});

let all = 0;  // of keys; few documents may be left for one kind
for (const name of Object.keys(kinds)) {
    const [key, more, make] = kinds[name];
    const first = seed;
    test(`${name} is kept up`, () => {
        const t = collectionOf(name);
        t.createIndex(key, Object.assign({name: 'n'}, more));
        for (let i = 0; i < kSteps; i++) {
            if (i === kSteps / 2) {
                t.dropIndex('n');
                t.deleteMany({_id: {$gt: 30}});
                for (let id = 0; id < 5; id++) t.updateOne({_id: id}, {$set: {p: make()}});
                t.createIndex(key, Object.assign({name: 'n'}, more));
            }
            step(t, make);
        }
        const built = collectionOf(`${name}_built`);
        t.aggregate([{$out: built.getName()}]);  // the shell would move a field '1' to the front
        built.createIndex(key, Object.assign({name: 'n'}, more));
        const keys = keysOf(name, 'n');
        all += keys.length;
        assertEq(keys, keysOf(`${name}_built`, 'n'), `seed ${first}`);
        assertTrue(t.validate({full: true}).valid, `seed ${first}`);
    });
}

test('a secondary has the same keys', () => {
    assertTrue(all > 100, 'there are no keys to compare');
    collectionOf('last').insertOne({_id: 1}, {writeConcern: {w: 2, wtimeout: 60000}});
    members[1].shell.setReadPref('secondaryPreferred');
    for (const name of Object.keys(kinds)) {
        assertEq(keysOf(name, 'n', members[1]), keysOf(name, 'n'), name);
        assertTrue(collectionOf(name, members[1]).validate({full: true}).valid, name);
    }
});

for (const member of members) stopServer(member);
