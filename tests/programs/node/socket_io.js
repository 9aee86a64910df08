// Two servers of socket.io that exchange what they have to say through a replica set of one, by the
// adapter's change stream: on a capped collection and on one with a TTL index, and over a kill.
'use strict';

const assert = require('assert/strict');
const {once} = require('events');
const http = require('http');
const {load, main} = require('../../clients/node/case.js');
const {endSet, scratch, startSet, waitFor} = require('./members.js');

const {MongoClient} = load('node-programs', 'mongodb');
const {Server} = load('node-programs', 'socket.io');
const {io: connect} = load('node-programs', 'socket.io-client');
const {createAdapter} = load('node-programs', '@socket.io/mongo-adapter');
const {Emitter} = load('node-programs', '@socket.io/mongo-emitter');

const MESSAGES = 1000;
let set, client, last;

/** Makes the collection as the adapter's documentation does, in each of its two ways. */
const WAYS = {
    async capped(db) {
        await db.createCollection('capped', {capped: true, size: 1e6});
        return {collection: db.collection('capped'), addCreatedAtField: false};
    },

    async 'with a TTL index'(db) {
        const collection = db.collection('ttl');
        await collection.createIndex({createdAt: 1}, {expireAfterSeconds: 3600});
        return {collection, addCreatedAtField: true};
    },
};

/** Two servers, each with a client. */
class Pair {
    async open({collection, addCreatedAtField}) {
        this.servers = [];
        this.clients = [];
        this.ids = [];
        for (const number of [0, 1]) {
            const web = http.createServer().listen(0, '127.0.0.1');
            const server = new Server(web, {
                adapter: createAdapter(collection, {
                    addCreatedAtField, heartbeatInterval: 200, requestsTimeout: 60000}),
                connectionStateRecovery: {maxDisconnectionDuration: 60000},
            });
            await once(web, 'listening');
            this.servers.push(server);
            const socket = connect(`http://127.0.0.1:${web.address().port}`,
                                   {transports: ['websocket'], reconnectionDelay: 10});
            await once(socket, 'connect');
            this.clients.push(socket);
            this.ids.push(socket.id);
            this.web = web;
        }
        for (const server of this.servers) {
            await waitFor('both servers know each other',
                          async () => await server.of('/').adapter.serverCount() === 2);
        }
    }

    async close() {
        this.clients.forEach(each => each.close());
        for (const server of this.servers) await server.close();
    }
}

/** What each of the sockets got of an event, in order. */
function received(sockets, name) {
    return sockets.map(socket => {
        const got = [];
        socket.on(name, value => got.push(value));
        return got;
    });
}

const numbers = Array.from({length: MESSAGES}, (_, number) => number);

const exchange = (way, make) => ({
    async [`${way}: each message comes once`]() {
        const pair = await make();
        const got = received(pair.clients, 'number');
        for (const number of numbers) {
            pair.servers[0].emit('number', number);
            await new Promise(setImmediate);
        }
        await waitFor('all came', () => got[0].length >= MESSAGES && got[1].length >= MESSAGES);
        // The adapter writes by many connections at once, so the order is not that of its calls.
        for (const each of got) assert.deepEqual(each.sort((a, b) => a - b), numbers);
        await pair.close();
    },

    async [`${way}: rooms, and bytes`]() {
        const pair = await make();
        const got = received(pair.clients, 'bytes');
        pair.servers[0].in(pair.ids[1]).socketsJoin('room');
        await waitFor('it is in the room',
                      () => pair.servers[1].of('/').adapter.rooms.has('room'));
        pair.servers[0].to('room').emit('bytes', Buffer.from([1, 2]));
        await waitFor('it came', () => got[1].length > 0);
        assert.deepEqual(got, [[], [Buffer.from([1, 2])]]);
        pair.servers[0].in('room').socketsLeave('room');
        await waitFor('it has left', () => !pair.servers[1].of('/').adapter.rooms.has('room'));
        await pair.close();
    },

    async [`${way}: all sockets are found, and answer`]() {
        const pair = await make();
        for (const server of pair.servers) {
            const found = await server.fetchSockets();
            assert.deepEqual(found.map(each => each.id).sort(), [...pair.ids].sort());
        }
        pair.clients.forEach((each, number) => each.on('asked', reply => reply(number)));
        const answers = await pair.servers[0].timeout(60000).emitWithAck('asked');
        assert.deepEqual(answers.sort(), [0, 1]);
        pair.servers[1].on('between', (word, reply) => reply(word + '!'));
        assert.deepEqual(await pair.servers[0].serverSideEmitWithAck('between', 'hello'),
                         ['hello!']);
        await pair.close();
    },

    async [`${way}: an emitter reaches both, and ends them`]() {
        const pair = await make();
        const got = received(pair.clients, 'news');
        const emitter = new Emitter(pair.collection, '/', {
            addCreatedAtField: pair.addCreatedAtField});
        emitter.emit('news', 1);
        await waitFor('it came', () => got.every(each => each.length > 0));
        assert.deepEqual(got, [[1], [1]]);
        const gone = pair.clients.map(each => once(each, 'disconnect'));
        emitter.disconnectSockets(true);
        for (const each of gone) await each;
        await pair.close();
    },

    async [`${way}: a client that was away gets what it missed, at the other server`]() {
        const pair = await make();
        const got = received(pair.clients, 'kept');
        pair.servers[0].emit('kept', 0);
        await waitFor('the first came', () => got.every(each => each.length === 1));
        const sessions = () => pair.collection.countDocuments({type: 13});
        const before = await sessions();
        pair.clients[0].io.uri = `http://127.0.0.1:${pair.web.address().port}`;
        pair.clients[0].io.reconnection(false);
        pair.clients[0].io.engine.close();
        await waitFor('the session is kept', async () => await sessions() > before);
        for (const number of [1, 2, 3]) pair.servers[0].emit('kept', number);
        // What the other server has not heard yet it would tell once more.
        await waitFor('the other client has all', () => got[1].length === 4);
        pair.clients[0].connect();
        await waitFor('the rest came', () => got[0].length >= 4);
        assert.equal(pair.clients[0].recovered, true);
        assert.deepEqual(got[0].sort(), [0, 1, 2, 3]);
        await pair.close();
    },

    async [`${way}: what is said while the set starts again comes after a kill`]() {
        const pair = await make();
        const got = received(pair.clients, 'after');
        pair.servers[0].emit('after', 'before');
        await waitFor('it came', () => got.every(each => each.length === 1));
        await set.members[0].kill();
        await set.members[0].start();
        await set.members[0].waitUntilPrimary();
        pair.servers[1].emit('after', 'then');
        await waitFor('it came', () => got.every(each => each.length === 2));
        assert.deepEqual(got, [['before', 'then'], ['before', 'then']]);
        await pair.close();
    },
});

const cases = {};
for (const [way, prepare] of Object.entries(WAYS)) {
    let prepared;
    Object.assign(cases, exchange(way, async () => {
        prepared = prepared || await prepare(client.db('socket_io'));
        if (last !== undefined) await last.close();  // a check that failed has left it open
        last = Object.assign(new Pair(), prepared);
        await last.open(prepared);
        return last;
    }));
}

async function start() {
    set = await startSet(scratch('socket-io'), 1);
    client = await MongoClient.connect(set.uri);
}

start().then(() => main({
    ...cases,

    async ends() {
        await client.close();
        await endSet(set);
    },
}));
