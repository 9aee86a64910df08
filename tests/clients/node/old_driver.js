// Node.js drivers of the years of the old server: 3.7, and 2.2, which puts the find and getMore
// commands into OP_QUERY.
// Usage: node old_driver.js PACKAGE    a name from setup/node-clients/package.json
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('./case.js');

const {MongoClient, ObjectID, GridStore, Long} = load('node-clients', process.argv[2]);

let connection;
let db;

const fails = (code, promise) => assert.rejects(promise, error => {
    assert.equal(error.code, code, error.stack);
    return true;
});

main({
    async connects() {
        connection = await MongoClient.connect(
            uri.replace('/?directConnection=true', '/old_node'));
        db = connection.db ? connection.db('old_node') : connection;
        if (!db.collection) db = connection;
        assert.equal((await db.command({ping: 1})).ok, 1);
    },

    async crud() {
        const c = db.collection('crud');
        const inserted = await c.insertOne({a: 1});
        assert(inserted.insertedId instanceof ObjectID);
        assert.equal((await c.insertMany([{_id: 1}, {_id: 2}])).insertedCount, 2);
        assert.equal((await c.updateMany({}, {$set: {x: Long.fromNumber(5)}})).modifiedCount, 3);
        const upsert = await c.updateOne({_id: 9}, {$inc: {n: 1}}, {upsert: true});
        assert.equal(upsert.upsertedCount, 1);
        assert.equal((await c.findOneAndUpdate({_id: 1}, {$set: {x: 6}})).value.x, 5);
        assert.equal((await c.findOneAndDelete({_id: 1})).value.x, 6);
        assert.equal(await c.count({x: 5}), 2);
        assert.deepEqual(await c.distinct('x'), [5]);
        assert.equal((await c.deleteMany({})).deletedCount, 3);
        await c.insertOne({_id: 1});
        await fails(11000, c.insertOne({_id: 1}));
    },

    async cursors() {
        const c = db.collection('cursors');
        await c.insertMany(Array.from({length: 1000}, (_, n) => ({_id: n, m: n % 7})));
        const page = await c.find({}).sort({_id: -1}).skip(10).limit(3).toArray();
        assert.deepEqual(page.map(d => d._id), [989, 988, 987]);
        assert.equal((await c.find({m: 3}).batchSize(2).toArray()).length, 143);
        const groups = await c.aggregate([{$group: {_id: '$m', n: {$sum: 1}}},
                                          {$sort: {_id: 1}}]).toArray();
        assert.equal(groups.length, 7);
        const cursor = c.find({}).batchSize(5);
        await cursor.next();
        await cursor.close();
        let streamed = 0;
        await new Promise((resolve, reject) => c.find({}).batchSize(100)
            .on('data', () => streamed++).on('end', resolve).on('error', reject));
        assert.equal(streamed, 1000);
    },

    async 'indexes and collections'() {
        const c = await db.createCollection('capped', {capped: true, size: 10000});
        assert.equal(await c.isCapped(), true);
        const d = db.collection('indexes');
        assert.equal(await d.createIndex({a: 1}, {unique: true}), 'a_1');
        assert.deepEqual(Object.keys(await d.indexInformation()), ['_id_', 'a_1']);
        await d.dropIndex('a_1');
        await fails(27, d.dropIndex('a_1'));
        const names = (await db.listCollections().toArray()).map(each => each.name);
        assert(names.includes('capped') && names.includes('indexes'));
        await d.rename('moved');
        await db.dropCollection('moved');
    },

    async 'bulk writes in both orders'() {
        const c = db.collection('bulk');
        const result = await c.bulkWrite([
            {insertOne: {document: {_id: 1}}},
            {updateOne: {filter: {_id: 1}, update: {$inc: {n: 1}}}},
            {deleteOne: {filter: {_id: 1}}}]);
        assert.deepEqual([result.insertedCount, result.modifiedCount, result.deletedCount],
                         [1, 1, 1]);
        const bulk = c.initializeUnorderedBulkOp();
        bulk.insert({_id: 2});
        bulk.insert({_id: 2});
        bulk.insert({_id: 3});
        await fails(11000, bulk.execute());
        assert.equal(await c.count({}), 2);
    },

    async 'write concerns'() {
        const c = db.collection('concerns');
        for (const concern of [{w: 0}, {w: 1, j: true}, {w: 'majority'}])
            await c.insertOne({}, concern);
        await assert.rejects(c.insertOne({}, {w: 3}));
    },

    async 'GridFS by GridStore'() {
        const content = Buffer.alloc(600000, 'abc');
        const id = new ObjectID();
        const writer = await new GridStore(db, id, 'f', 'w').open();
        await writer.write(content);
        const file = await writer.close();  // asks filemd5
        assert.equal(file.md5, require('crypto').createHash('md5').update(content).digest('hex'));
        assert(content.equals(await GridStore.read(db, id)));
        const reader = await new GridStore(db, id, 'r').open();
        await reader.seek(300000);
        assert(content.subarray(300000, 300100).equals(await reader.read(100)));
        await GridStore.unlink(db, id);
    },

    async closes() {
        await connection.close();
    },
});
