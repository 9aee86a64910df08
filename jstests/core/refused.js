// Fields and options of later servers: what would change a result or the data is refused by every
// command that could carry it, what has no effect is taken. The stable API, the level of the log.
// Group: core

const server = startServer({options: ['--smallfiles', '--nssize', '1']});
const admin = server.shell.getDB('admin');
const db1 = server.shell.getDB('refused');
const kRefusals = [2, 9, 14, 20, 67, 72, 115, 123, 197];

// The collections c (documents with _id, a) and ring (capped), as every request finds them.
function fill() {
    for (const name of db1.getCollectionNames()) db1.getCollection(name).drop();
    db1.getCollection('c').insertMany([0, 1, 2, 3, 4].map(i => ({_id: i, a: i % 3})));
    db1.createCollection('ring', {capped: true, size: 10000});
}

function everything() {
    return db1.getCollection('c').find().toArray();
}

// Refused as a whole, or as the only item of a write command; never done.
function assertRefused(request) {
    fill();
    const before = everything();
    const reply = replyTo(db1, request);
    const error = reply.ok ? (reply.writeErrors || [])[0] : reply;
    assertTrue(error && kRefusals.includes(error.code), `${show(request)}: ${show(reply)}`);
    assertEq(everything(), before, show(request));
}

function assertTaken(request) {
    const reply = replyTo(db1, request);
    assertEq([reply.ok, reply.writeErrors], [1, undefined], show(request));
}

test('collations that a command cannot follow', () => {
    const german = {locale: 'de'}, simple = {locale: 'simple'};
    const set = {q: {}, u: {$set: {a: 9}}};
    for (const request of [
        {update: 'c', updates: [{q: {}, u: {a: 9}}], collation: german},
        {delete: 'c', deletes: [{q: {}, limit: 0}], collation: german},
    ]) {
        assertRefused(request);
        assertRefused({explain: request});
    }
    assertRefused({insert: 'c', documents: [{}], collation: german});
    assertRefused({createIndexes: 'c', indexes: [{key: {a: 'hashed'}, name: 'a',
                                                  collation: german}]});
    fill();
    for (const request of [
        {find: 'c', collation: simple}, {count: 'c', collation: simple},
        {find: 'c', filter: {$expr: true}, collation: german},
        {aggregate: 'c', pipeline: [], cursor: {}, collation: german},
        {update: 'c', updates: [Object.assign({collation: simple}, set)]},
        {create: 'made', collation: simple},
    ]) {
        assertTaken(request);
    }
});

test('filters of arrays beside the updates, not in them', () => {
    const request = {update: 'c', updates: [{q: {}, u: {$set: {a: 9}}}], arrayFilters: [{x: 1}]};
    assertRefused(request);
    assertRefused({explain: request});
});

test('other kinds of collections', () => {
    for (const request of [
        {create: 'made', timeseries: {timeField: 't'}},
        {create: 'made', clusteredIndex: {key: {_id: 1}, unique: true}},
        {create: 'made', changeStreamPreAndPostImages: {enabled: true}},
        {create: 'made', viewOn: 'c', capped: true, size: 5000},
        {collMod: 'c', viewOn: 'd', pipeline: []},
    ]) {
        assertRefused(request);
        assertEq(db1.getCollectionNames().sort(), ['c', 'ring'], show(request));
    }
});

test('fields and options without an effect', () => {
    const index = options => ({createIndexes: 'c', indexes: [
        Object.assign({key: {a: 1}, name: 'i'}, options)]});
    for (const request of [
        index({clustered: true}), index({storageEngine: {x: 1}}), index({prepareUnique: true}),
        index({wildcardProjection: {a: 1}}), index({columnstoreProjection: {a: 1}}),
        index({key: {a: 1, b: 1}, expireAfterSeconds: 5}), index({expireAfterSeconds: 'x'}),
        index({key: {_id: 1}, expireAfterSeconds: 5}), index({expireAfterSeconds: -1}),
        index({key: {a: 'hashed'}, expireAfterSeconds: 5}),
        Object.assign(index({}), {commitQuorum: 'majority'}),
        {create: 'made', validationAction: 'shrug'}, {create: 'made', recordPreImages: true},
        {create: 'made', indexOptionDefaults: {storageEngine: {}}},
        {compact: 'c', dryRun: true}, {compact: 'c', freeSpaceTargetMB: 1},
        {validate: 'c', repair: true}, {validate: 'c', metadata: true},
        {collMod: 'c', index: {name: '_id_', hidden: true}},
        {collMod: 'c', index: {name: '_id_', prepareUnique: true}},
        {find: 'c', readConcern: {afterClusterTime: Timestamp({t: 1, i: 1})}},
        {insert: 'c', documents: [{}], encryptionInformation: {type: 1}},
    ]) {
        assertRefused(request);
        assertEq(db1.getCollection('c').getIndexes().length, 1, show(request));
    }
    fill();
    assertTaken(index({hidden: false, storageEngine: {}}));
    assertTaken(index({expireAfterSeconds: 0, name: 't', key: {t: 1}}));
});

test('the stable API', () => {
    fill();
    const strict = {apiVersion: '1', apiStrict: true};
    const with_ = (request, more) => Object.assign({}, request, strict, more);
    const find = {find: 'c', filter: {_id: 1}};
    const aggregate = stage => ({aggregate: 'c', pipeline: [stage], cursor: {}});
    for (const request of [
        find, {insert: 'c', documents: [{}]}, {count: 'c'}, {ping: 1}, {explain: {find: 'c'}},
        aggregate({$match: {}}), aggregate({$collStats: {count: {}}}), {create: 'made'},
        {listIndexes: 'c'}, Object.assign({}, find, {tailable: null}),
    ]) {
        assertTaken(with_(request));
    }
    for (const request of [
        {distinct: 'c', key: 'a'}, {validate: 'c'}, {buildInfo: 1},
        {explain: {distinct: 'c', key: 'a'}}, {find: 'c', showRecordId: true},
        {create: 'capped', capped: true, size: 4096},
        {createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1', sparse: true}]},
        aggregate({$indexStats: {}}), aggregate({$planCacheStats: {}}),
        aggregate({$collStats: {latencyStats: {}}}),
    ]) {
        assertEq(assertCommandFails(db1, with_(request), 323).codeName, 'APIStrictError');
        assertTaken(with_(request, {apiStrict: false}));
    }
    assertCommandFails(db1, {ping: 1, apiStrict: true}, 4886600);
});

test('the level of the log by components', () => {
    const name = 'logComponentVerbosity';
    for (const [level, was] of [[2, 0], [0, 2]]) {
        const reply = admin.runCommand({setParameter: 1, [name]: {verbosity: level}});
        assertEq(reply.was, {verbosity: was});
        const shown = admin.runCommand({getParameter: 1, [name]: 1, logLevel: 1});
        assertEq([shown[name], shown.logLevel], [{verbosity: level}, level]);
    }
    for (const bad of [1, {}, {verbosity: 'x'}, {verbosity: -1}, {query: {verbosity: 1}},
                       {verbosity: 1, query: {verbosity: 2}}]) {
        assertCommandFails(admin, {setParameter: 1, [name]: bad}, 2);
    }
    assertEq(admin.runCommand({getParameter: 1, logLevel: 1}).logLevel, 0);
});

stopServer(server);
