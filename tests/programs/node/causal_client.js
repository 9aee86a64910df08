// The client of causal.js by the Node.js driver. CAUSAL_CONSISTENCY=0 is without the promise.
'use strict';

const {load, uri} = require('../../clients/node/case.js');

const {MongoClient} = load('node-programs', 'mongodb');

const WRITES = Number(process.env.CAUSAL_WRITES);

/** The insert and the read of a session may meet the hand-over; the driver sends each twice. */
async function again(operation) {
    for (;;) {
        try {
            return await operation();
        } catch (error) {
            if (error.code === 11000) return null;  // it was there before the connection broke
            console.log('again ' + error.message);
        }
    }
}

async function watch(collection) {
    let events = 0;
    let stream = collection.watch([{$match: {operationType: 'insert'}}]);
    await stream.tryNext();
    return async () => {
        while (events < WRITES) {
            const event = await stream.next();
            console.log('event ' + event.documentKey._id);
            events++;
            if (events % 100 === 0) {
                await stream.close();
                stream = collection.watch([{$match: {operationType: 'insert'}}],
                                          {resumeAfter: event._id});
            }
        }
        await stream.close();
    };
}

async function run() {
    const client = await MongoClient.connect(uri);
    const db = client.db('test');
    const written = db.collection('causal');
    const read = db.collection('causal', {readPreference: 'secondary'});
    const seen = (await watch(written))();
    const session = client.startSession(
        {causalConsistency: process.env.CAUSAL_CONSISTENCY !== '0'});
    for (let _id = 0; _id < WRITES; _id++) {
        await again(() => written.insertOne({_id}, {session}));
        if (await again(() => read.findOne({_id}, {session})) === null) {
            console.log('missed ' + _id);
        }
    }
    await session.endSession();
    await seen;
    await client.close();
}

run();
