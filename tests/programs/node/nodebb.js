// The index set-up of NodeBB, which is not in the registry, and what its documentation says that it
// keeps in them: hashes, sets and sorted sets in one collection, by _key.
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('../../clients/node/case.js');

const {MongoClient} = load('node-programs', 'mongodb');

let client, objects;

main({
    async 'makes its indexes'() {
        client = await MongoClient.connect(uri);
        objects = client.db('nodebb').collection('objects');
        await objects.createIndex({_key: 1, score: -1}, {background: true});
        await objects.createIndex({_key: 1, value: -1},
                                  {background: true, unique: true, sparse: true});
        await objects.createIndex({expireAt: 1}, {expireAfterSeconds: 0, background: true});
        const names = (await objects.indexes()).map(index => index.name);
        assert.deepEqual(names, ['_id_', '_key_1_score_-1', '_key_1_value_-1', 'expireAt_1']);
    },

    async hashes() {
        await objects.updateOne({_key: 'user:1'}, {$set: {name: 'ada', posts: 1}}, {upsert: true});
        const hash = await objects.findOneAndUpdate(
            {_key: 'user:1'}, {$inc: {posts: 2}}, {returnDocument: 'after', upsert: true});
        assert.equal(hash.posts, 3);
    },

    async 'sorted sets'() {
        const bulk = objects.initializeUnorderedBulkOp();
        for (let n = 0; n < 50; n++) {
            bulk.find({_key: 'topics', value: 'topic' + n}).upsert().updateOne({$set: {score: n}});
        }
        assert.equal((await bulk.execute()).upsertedCount, 50);
        const top = await objects.find({_key: 'topics'}, {projection: {_id: 0, value: 1}})
            .sort({score: -1}).skip(1).limit(2).toArray();
        assert.deepEqual(top, [{value: 'topic48'}, {value: 'topic47'}]);
        const plan = await objects.find({_key: 'topics'}).sort({score: -1}).explain();
        assert.equal(plan.queryPlanner.winningPlan.inputStage.indexName, '_key_1_score_-1');
        await assert.rejects(objects.insertOne({_key: 'topics', value: 'topic1'}), {code: 11000});
        assert.equal(await objects.countDocuments({_key: 'topics', score: {$gte: 40}}), 10);
    },

    async 'intersections of sets'() {
        await objects.insertMany([{_key: 'read', value: 'topic1', score: 5},
                                  {_key: 'read', value: 'topic2', score: 6}]);
        const both = await objects.aggregate([
            {$match: {_key: {$in: ['topics', 'read']}}},
            {$group: {_id: '$value', score: {$sum: '$score'}, n: {$sum: 1}}},
            {$match: {n: 2}}, {$sort: {score: -1}},
            {$project: {_id: 0, value: '$_id', score: 1}}]).toArray();
        assert.deepEqual(both, [{score: 8, value: 'topic2'}, {score: 6, value: 'topic1'}]);
    },

    async ends() {
        await client.close();
    },
});
