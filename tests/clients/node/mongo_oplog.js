// mongo-oplog 2 (driver 2.2), which calls a program for each change that it reads in
// local.oplog.rs, beside a replica set of one member.
'use strict';

const assert = require('assert');
const {load, main, uri} = require('./case');

const MongoOplog = load('node-apps', 'mongo-oplog');
const {MongoClient} = load('node-clients', 'mongodb-2');

const host = new URL(uri).host;

main({
    'each change of a collection is an event': async () => {
        const db = await MongoClient.connect(`mongodb://${host}/shop`);
        const members = [{_id: 0, host}];
        await db.admin().command({replSetInitiate: {_id: 'rs0', members}});
        const reader = MongoOplog(`mongodb://${host}/local`, {ns: 'shop.c'});
        const seen = [];
        const all = new Promise((resolve, reject) => {
            reader.on('error', reject);
            reader.on('op', entry => {
                seen.push([entry.op, entry.o._id === undefined ? entry.o2._id : entry.o._id]);
                if (seen.length === 4) resolve();
            });
        });
        await reader.tail();
        const c = db.collection('c');
        await c.insertOne({_id: 1});
        await c.insertOne({_id: 2});
        await c.updateOne({_id: 1}, {$set: {a: 1}});
        await c.deleteOne({_id: 2});
        await all;
        assert.deepStrictEqual(seen, [['i', 1], ['i', 2], ['u', 1], ['d', 2]]);
        await reader.destroy();
        await db.close();
    },
});
