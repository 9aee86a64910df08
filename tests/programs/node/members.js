// A replica set of servers that a program starts by itself, to halt, kill and hand over while
// others read and write. MONGOD names the server, TESTS_ENGINE its storage engine.
'use strict';

const {spawn} = require('child_process');
const {once} = require('events');
const fs = require('fs');
const net = require('net');
const path = require('path');
const {load} = require('../../clients/node/case.js');

const {MongoClient} = load('node-programs', 'mongodb');

const WAIT_MILLISECONDS_MAX = 60000;  // only ends a wait that hangs
const OPTIONS = ['--replSet', 'rs0', '--oplogSize', '64', '--setParameter',
                 'announcedVersion=8.0.0'];
const OF_ENGINE = process.env.TESTS_ENGINE ? ['--storageEngine', process.env.TESTS_ENGINE]
                                           : ['--smallfiles', '--noprealloc'];

const started = [];
process.on('exit', () => started.forEach(member => member.process.kill('SIGKILL')));

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

async function waitFor(what, condition) {
    const limit = Date.now() + WAIT_MILLISECONDS_MAX;
    while (!await condition()) {
        if (Date.now() > limit) throw new Error('waited in vain until ' + what);
        await pause(10);
    }
}

async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const {port} = server.address();
    await new Promise(resolve => server.close(resolve));
    return port;
}

class Member {
    constructor(folder, port) {
        this.folder = folder;
        this.host = '127.0.0.1:' + port;
        this.port = port;
        this.client = new MongoClient(`mongodb://${this.host}/?directConnection=true`);
        this.admin = this.client.db('admin');
        started.push(this);
    }

    /** Returns once it answers. */
    async start() {
        fs.mkdirSync(this.folder, {recursive: true});
        const log = fs.openSync(path.join(this.folder, '..', this.port + '.log'), 'a');
        this.process = spawn(process.env.MONGOD, ['--port', `${this.port}`, '--dbpath', this.folder,
                                                  ...OF_ENGINE, ...OPTIONS],
                             {stdio: ['ignore', log, log]});
        fs.closeSync(log);
        await waitFor('a server answers', () => this.admin.command({ping: 1}).then(
            () => true, () => {
                if (this.process.exitCode !== null) throw new Error('a server ended');
                return false;
            }));
    }

    async kill() {
        this.process.kill('SIGKILL');
        await once(this.process, 'exit');
    }

    /** Stops it for so long, all its threads. */
    async halt(milliseconds) {
        this.process.kill('SIGSTOP');
        await pause(milliseconds);
        this.process.kill('SIGCONT');
    }

    async isPrimary() {
        return (await this.admin.command({hello: 1})).isWritablePrimary === true;
    }

    async waitUntilPrimary() {
        await waitFor(this.host + ' is the primary', () => this.isPrimary());
    }
}

/** A set of so many members, the first of them its primary, and its URI. */
exports.startSet = async (folder, count) => {
    const members = [];
    for (let number = 0; number < count; number++) {
        members.push(new Member(path.join(folder, `${number}`), await freePort()));
        await members[number].start();
    }
    await members[0].admin.command({replSetInitiate: {
        _id: 'rs0', settings: {heartbeatIntervalMillis: 100},
        members: members.map(({host}, _id) => ({_id, host, priority: _id === 0 ? 1 : 0})),
    }});
    await members[0].waitUntilPrimary();
    for (const member of members.slice(1)) {
        await waitFor(member.host + ' is a secondary',
                      async () => (await member.admin.command({hello: 1})).secondary);
    }
    return {members, uri: `mongodb://${members.map(each => each.host)}/?replicaSet=rs0`};
};

/** Kills them all, once they are not needed. */
exports.endSet = async ({members}) => {
    for (const member of members) {
        await member.client.close();
        await member.kill();
    }
};

/** Another program; its lines go to `online`. Returns the process, and a promise of its end. */
exports.runBeside = (command, environment, online = () => {}) => {
    const child = spawn(command[0], command.slice(1), {
        stdio: ['pipe', 'pipe', 'inherit'], env: {...process.env, ...environment}});
    require('readline').createInterface({input: child.stdout}).on('line', online);
    const end = once(child, 'close').then(([code]) => code);
    process.on('exit', () => child.kill('SIGKILL'));
    return {child, end};
};

exports.scratch = name => {
    const folder = path.resolve(__dirname, '../../../build/scratch');
    fs.mkdirSync(folder, {recursive: true});
    const made = fs.mkdtempSync(path.join(folder, name + '-'));
    process.on('exit', code => code === 0 && fs.rmSync(made, {recursive: true}));
    return made;
};

Object.assign(exports, {waitFor});
