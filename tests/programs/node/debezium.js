// Debezium's MongoDB connector copies what a collection has, follows what changes, and goes on
// where it was after kills of the server and of itself. The log of the set says what has to come.
'use strict';

const assert = require('assert/strict');
const path = require('path');
const {load, main} = require('../../clients/node/case.js');
const {endSet, runBeside, scratch, startSet, waitFor} = require('./members.js');

const {MongoClient} = load('node-programs', 'mongodb');

const TOP = path.resolve(__dirname, '../../..');
const SNAPSHOT = 300, CHANGES = 1000;
const WORDS = {i: 'c', u: 'u', d: 'd'};

const folder = scratch('debezium');
let set, client, orders, engine;
const changes = [];

function startEngine() {
    engine = runBeside(
        ['java', '-cp', path.join(TOP, 'build/debezium/lib/*'),
         path.join(TOP, 'tests/programs/java/Capture.java'), folder],
        {MONGOD_URI: set.uri}, line => {
            const [word, op, id, after] = line.match(/^(\S+) ?(\S*) ?(\S*) ?(.*)$/).slice(1);
            if (word === 'change') changes.push({op, id: Number(id), after});
            else console.log(line);
        });
}

/** What the log says that was done to the collection, as Debezium's words. */
async function logged() {
    const entries = await client.db('local').collection('oplog.rs')
        .find({ns: 'shop.orders', op: {$in: ['i', 'u', 'd']}}).sort({$natural: 1}).toArray();
    return entries.map(({op, o, o2}) => WORDS[op] + (op === 'u' ? o2 : o)._id);
}

const named = list => list.map(({op, id}) => op + id);

/** Writes that the driver sends again when a kill meets them. */
async function write(from, to) {
    for (let _id = from; _id < to; _id++) {
        await orders.insertOne({_id, n: 0}, {writeConcern: {j: true}}).catch(error => {
            if (error.code !== 11000) throw error;
        });
        if (_id % 3 === 0) await orders.updateOne({_id}, {$inc: {n: 1}, $set: {a: {b: [_id]}}});
        if (_id % 7 === 0) await orders.deleteOne({_id});
    }
}

async function start() {
    set = await startSet(folder, 1);
    client = await MongoClient.connect(set.uri);
    orders = client.db('shop').collection('orders');
    await orders.insertMany(Array.from({length: SNAPSHOT}, (_, n) => ({_id: -1 - n, n})));
}

start().then(() => main({
    async 'copies what is there'() {
        startEngine();
        await waitFor('all are copied', () => changes.length >= SNAPSHOT);
        assert.deepEqual(new Set(named(changes)), new Set(
            Array.from({length: SNAPSHOT}, (_, n) => 'r' + (-1 - n))));
        assert.equal(changes.length, SNAPSHOT);
        assert.deepEqual(JSON.parse(changes.find(({id}) => id === -6).after), {_id: -6, n: 5});
    },

    async 'follows changes, over two kills of the server'() {
        const writing = write(0, CHANGES);
        for (const part of [0.3, 0.6]) {
            await waitFor('changes come', () => changes.length > SNAPSHOT + part * CHANGES);
            await set.members[0].kill();
            await set.members[0].start();
        }
        await writing;
        const expected = (await logged()).slice(SNAPSHOT);
        await waitFor('all came', () => changes.length >= SNAPSHOT + expected.length);
        assert.deepEqual(named(changes).slice(SNAPSHOT), expected);
        const last = changes.findLast(({op, id}) => op === 'u' && id === 3);
        assert.deepEqual(JSON.parse(last.after), {_id: 3, n: 1, a: {b: [3]}});
    },

    async 'goes on where it was after its end'() {
        engine.child.stdin.end();
        await engine.end;
        await write(CHANGES, CHANGES + 100);
        startEngine();
        const expected = (await logged()).slice(SNAPSHOT);
        await waitFor('all came', () => changes.length >= SNAPSHOT + expected.length);
        assert.deepEqual(named(changes).slice(SNAPSHOT), expected);
    },

    async 'goes on after its kill, from what it has noted'() {
        await write(CHANGES + 100, CHANGES + 150);
        engine.child.kill('SIGKILL');
        await engine.end;
        const seen = changes.length;
        await write(CHANGES + 150, CHANGES + 250);
        startEngine();
        const expected = await logged();
        await waitFor('the last came', () => named(changes).at(-1) === expected.at(-1));
        // It may say again what it had said and not yet noted; nothing is left out.
        const again = named(changes.slice(seen));
        assert.deepEqual(again, expected.slice(-again.length));
        assert(seen + again.length >= expected.length);
    },

    async ends() {
        engine.child.stdin.end();
        await engine.end;
        await client.close();
        await endSet(set);
    },
}));
