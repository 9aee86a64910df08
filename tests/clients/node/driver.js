// The Node.js driver of today (7 and 6), with its defaults: what a program does with a server.
// Usage: node driver.js PACKAGE    a name from setup/node-clients/package.json
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('./case.js');

const {GridFSBucket, MongoClient, ObjectId, Long, Binary} = load('node-clients', process.argv[2]);

const client = new MongoClient(uri);
const db = client.db('node');

async function fails(code, promise) {
    await assert.rejects(promise, error => {
        assert.equal(error.code, code, error.stack);
        return true;
    });
}

main({
    async connects() {
        await client.connect();
        assert.equal((await db.command({ping: 1})).ok, 1);
        assert.equal((await db.admin().serverInfo()).versionArray.length, 4);
    },

    async crud() {
        const c = db.collection('crud');
        const {insertedId} = await c.insertOne({a: 1});
        assert(insertedId instanceof ObjectId);
        assert.deepEqual(await c.findOne(insertedId), {_id: insertedId, a: 1});
        const many = await c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
        assert.equal(many.insertedCount, 3);
        const update = await c.updateMany({_id: {$type: 16}}, {$set: {x: 1}});
        assert.deepEqual([update.matchedCount, update.modifiedCount], [3, 3]);
        assert.equal((await c.updateOne({_id: 9}, {$inc: {n: 1}}, {upsert: true})).upsertedId, 9);
        assert.equal((await c.replaceOne({_id: 1}, {y: 2})).modifiedCount, 1);
        assert.deepEqual(await c.findOneAndUpdate({_id: 1}, {$inc: {y: 1}},
                                                  {returnDocument: 'after'}), {_id: 1, y: 3});
        assert.deepEqual(await c.findOneAndDelete({_id: 1}), {_id: 1, y: 3});
        assert.equal(await c.findOneAndDelete({_id: 1}), null);
        assert.equal(await c.countDocuments({x: 1}), 2);
        assert.equal(await c.estimatedDocumentCount(), 4);
        assert.deepEqual(await c.distinct('x'), [1]);
        assert.equal((await c.deleteMany({})).deletedCount, 4);
    },

    async types() {
        const c = db.collection('types');
        const document = {
            _id: 1, long: Long.fromString('9007199254740993'), double: 0.5, date: new Date(5),
            binary: new Binary(Buffer.from([1, 2]), 0), regex: /a/i, nothing: null, list: [1, [2]],
        };
        await c.insertOne(document);
        const found = await c.findOne({}, {promoteLongs: false, promoteValues: true});
        assert.equal(found.long.toString(), '9007199254740993');
        assert.deepEqual(found.date, document.date);
        assert.deepEqual(found.list, [1, [2]]);
    },

    async cursors() {
        const c = db.collection('cursors');
        await c.insertMany(Array.from({length: 1000}, (_, n) => ({_id: n, m: n % 7})));
        const page = await c.find().sort({_id: -1}).skip(10).limit(3).toArray();
        assert.deepEqual(page.map(d => d._id), [989, 988, 987]);
        let count = 0;
        for await (const document of c.find({m: 3}).batchSize(2)) count += document.m === 3;
        assert.equal(count, 143);
        const cursor = c.find().batchSize(5);
        await cursor.next();
        await cursor.close();
        assert.equal((await db.admin().serverStatus()).cursors.totalOpen, 0);
        const groups = await c.aggregate([
            {$match: {_id: {$lt: 70}}}, {$group: {_id: '$m', n: {$sum: 1}}}, {$sort: {_id: 1}},
        ]).toArray();
        assert.deepEqual(groups, Array.from({length: 7}, (_, n) => ({_id: n, n: 10})));
        const plan = await c.find({_id: 3}).explain();
        assert.equal(plan.executionStats.nReturned, 1);
        const raw = await c.find({}, {projection: {m: 1, _id: 0}}).toArray();
        assert.deepEqual(raw[8], {m: 1});
    },

    async tailable() {
        const c = await db.createCollection('tail', {capped: true, size: 100000});
        await c.insertOne({_id: 1});
        const cursor = c.find({}, {tailable: true, awaitData: true, maxAwaitTimeMS: 20000});
        assert.equal((await cursor.next())._id, 1);
        const next = cursor.next();
        await c.insertOne({_id: 2});
        assert.equal((await next)._id, 2);
        await cursor.close();
    },

    async 'bulk writes'() {
        const c = db.collection('bulk');
        const result = await c.bulkWrite([
            {insertOne: {document: {_id: 1}}},
            {updateOne: {filter: {_id: 1}, update: {$set: {a: 1}}}},
            {replaceOne: {filter: {_id: 2}, replacement: {b: 1}, upsert: true}},
            {deleteOne: {filter: {_id: 1}}},
        ]);
        assert.deepEqual([result.insertedCount, result.modifiedCount, result.upsertedIds,
                          result.deletedCount], [1, 1, {2: 2}, 1]);
        await assert.rejects(c.insertMany([{_id: 3}, {_id: 2}, {_id: 4}], {ordered: false}),
                             error => {
                                 assert.equal(error.code, 11000);
                                 assert.equal(error.result.insertedCount, 2);
                                 return true;
                             });
        const large = Array.from({length: 5000}, (_, n) => ({_id: 100 + n, t: 'x'.repeat(2000)}));
        assert.equal((await c.insertMany(large)).insertedCount, 5000);
    },

    async indexes() {
        const c = db.collection('indexes');
        assert.equal(await c.createIndex({a: 1}, {unique: true}), 'a_1');
        await c.createIndexes([{key: {b: 'hashed'}}, {key: {t: 1}, expireAfterSeconds: 60}]);
        assert.deepEqual((await c.indexes()).map(index => index.name),
                         ['_id_', 'a_1', 'b_hashed', 't_1']);
        await c.insertOne({a: 1});
        await fails(11000, c.insertOne({a: 1}));
        await fails(86, c.createIndex({a: 1}, {unique: false, name: 'a_1'}));
        await fails(27, c.dropIndex('nosuch'));
        await c.dropIndex('a_1');
        await c.dropIndexes();
        assert.equal((await c.indexes()).length, 1);
    },

    async 'write concerns'() {
        const c = db.collection('concerns');
        for (const writeConcern of [{w: 0}, {w: 1, j: true}, {w: 'majority'}])
            await c.insertOne({}, {writeConcern});
        await assert.rejects(c.insertOne({}, {writeConcern: {w: 2}}));
    },

    async 'collections and databases'() {
        await db.createCollection('made');
        await fails(48, db.createCollection('made', {capped: true, size: 4096}));
        await db.collection('made').rename('renamed');
        const names = (await db.listCollections({name: 'renamed'}).toArray()).map(c => c.name);
        assert.deepEqual(names, ['renamed']);
        assert.equal(await db.dropCollection('renamed'), true);
        assert.equal((await db.stats()).db, 'node');
        await client.db('node_short').collection('c').insertOne({});
        assert.equal(await client.db('node_short').dropDatabase(), true);
        const {databases} = await db.admin().listDatabases();
        assert(databases.some(d => d.name === 'node'));
        assert(!databases.some(d => d.name === 'node_short'));
    },

    async gridfs() {
        const bucket = new GridFSBucket(db);
        const content = Buffer.alloc(600000, 'abc');
        const upload = bucket.openUploadStream('f', {metadata: {k: 1}});
        await new Promise((resolve, reject) =>
            upload.on('finish', resolve).on('error', reject).end(content));
        const read = async options => {
            const parts = [];
            const stream = bucket.openDownloadStream(upload.id, options);
            for await (const part of stream) parts.push(part);
            return Buffer.concat(parts);
        };
        assert(content.equals(await read()));
        assert(content.subarray(261000, 262000).equals(await read({start: 261000, end: 262000})));
        await bucket.delete(upload.id);
        assert.equal(await db.collection('fs.chunks').countDocuments(), 0);
    },

    async sessions() {
        const c = db.collection('sessions');
        const listed = async () => (await client.db('admin').aggregate(
            [{$listLocalSessions: {}}]).toArray()).map(one => one._id.id.toString('hex'));
        let id;
        await client.withSession(async session => {
            await c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}], {session});
            id = session.id.id.toString('hex');
            assert((await listed()).includes(id));
            const cursor = c.find({}, {session}).batchSize(1);
            assert.equal((await cursor.toArray()).length, 3);
        });
        const other = new MongoClient(uri);
        const session = other.startSession();
        const cursor = other.db('node').collection('sessions').find({}, {session}).batchSize(1);
        await cursor.next();
        const its = session.id.id.toString('hex');
        assert((await listed()).includes(its));
        await other.close();  // ends what it has started; some drivers do not wait for the answer
        const open = async () => (await db.admin().serverStatus()).cursors.totalOpen;
        const limit = Date.now() + 10000;
        while ((await listed()).includes(its) || await open() > 0) {
            assert(Date.now() < limit, 'the session or its cursor was not ended');
        }
        assert((await listed()).includes(id));
    },

    async 'updates by a pipeline'() {
        const c = db.collection('pipelines');
        await c.insertOne({_id: 1, n: 2});
        await c.updateOne({_id: 1}, [{$set: {a: {$add: ['$n', 1]}}}, {$project: {a: 1}}]);
        assert.deepEqual(await c.findOne({}), {_id: 1, a: 3});
    },

    async 'change streams, which only a set has'() {
        const c = db.collection('streams');
        const ofSet = uri.includes('replicaSet');
        for (const target of [c, db, client]) {
            const stream = target.watch([], {fullDocument: 'updateLookup'});
            if (!ofSet) {
                await assert.rejects(stream.next(), /changeStream/);
                continue;
            }
            assert.equal(await stream.tryNext(), null);
            await c.insertOne({_id: 1, n: 1});
            const first = await stream.next();
            await c.updateOne({_id: 1}, {$inc: {n: 1}});
            await c.deleteOne({_id: 1});
            assert.deepEqual([first.operationType, first.fullDocument], ['insert', {_id: 1, n: 1}]);
            await stream.close();
            const again = target.watch([], {resumeAfter: first._id});
            const second = await again.next();
            assert.deepEqual(second.updateDescription.updatedFields, {n: 2});
            assert.deepEqual((await again.next()).documentKey, {_id: 1});
            await again.close();
        }
    },

    async 'causal sessions'() {
        const c = db.collection('causal');
        await client.withSession({causalConsistency: true}, async session => {
            for (let i = 0; i < 20; ++i) {
                await c.insertOne({_id: i}, {session});
                assert.equal(await c.countDocuments({}, {session}), i + 1);
            }
            assert.equal(session.operationTime !== undefined, uri.includes('replicaSet'));
        });
    },

    async 'what a server of old has not'() {
        await assert.rejects(client.withSession(session => session.withTransaction(
            () => db.collection('t').insertOne({}, {session}))),
        /Transaction numbers|retryable writes|has no transactions/);
        const german = {collation: {locale: 'de'}};
        await assert.rejects(db.collection('crud').createIndex({a: 'hashed'}, german));
        assert.equal(await db.collection('t').countDocuments(), 0);
    },

    async closes() {
        await client.close();
    },
});
