// The npm package and the Python wheel of packaging/, made of the programs of this build and used
// as their READMEs say; and mongodb-memory-server, which takes the program of the npm package.
//
// Usage: packages.js PROGRAMS
'use strict';

const assert = require('assert');
const {execFile, execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');
const {promisify} = require('util');
const {load, main} = require('./case');

const run = promisify(execFile);
const TOP = path.resolve(__dirname, '../../..');
const PYTHON = path.join(TOP, 'build/venv/bin/python');
const {MongoClient} = load('node-clients', 'mongodb');
const scratch = process.env.MONGOD_SCRATCH;

/** Makes a package; returns its path. */
const archive = kind => {
    const words = [kind, process.argv[2], '1.2.3+none', scratch];
    execFileSync(path.join(TOP, 'packaging/archives'), words, {stdio: 'ignore'});
    const ending = kind === 'npm' ? '.tgz' : '.whl';
    return path.join(scratch, fs.readdirSync(scratch).find(name => name.endsWith(ending)));
};

const unpacked = () => {
    const folder = path.join(scratch, 'npm');
    fs.mkdirSync(folder);
    execFileSync('tar', ['-xzf', archive('npm'), '-C', folder]);
    return require(path.join(folder, 'package'));
};
const mongodDur = unpacked();

/** What `use` makes of a client of the address, which it closes. */
const withClient = async (uri, use) => {
    const client = await MongoClient.connect(uri);
    try {
        return await use(client.db('t').collection('c'), client);
    } finally {
        await client.close();
    }
};

/** How many processes have a directory of ours; each test leaves none. */
const servers = () => fs.readdirSync('/proc').filter(pid => {
    try {
        const read = name => fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
        return /^\d+$/.test(pid) && read('comm') === 'mongod\n' &&
            read('environ').includes(scratch);
    } catch {
        return false;
    }
}).length;

const PYTEST = `
import pymongo

def test_one(mongod_uri):
    pymongo.MongoClient(mongod_uri).t.c.insert_one({'_id': 1})

def test_set(mongod_set_uri):
    client = pymongo.MongoClient(mongod_set_uri)
    with client.t.c.watch() as stream:
        client.t.c.insert_one({'_id': 1})
        assert stream.next()['documentKey'] == {'_id': 1}
`;

main({
    'a server that is gone when it is stopped': async () => {
        const {uri, stop} = await mongodDur.temporary();
        assert.strictEqual(servers(), 1);
        await withClient(uri, async c => {
            await c.insertOne({_id: 1});
            assert.strictEqual(await c.countDocuments(), 1);
        });
        await stop();
        assert.strictEqual(servers(), 0);
    },
    'a set of one, and its stream': async () => {
        const {uri, stop} = await mongodDur.temporary({set: 'rs0', options: ['--quiet']});
        await withClient(uri, async c => {
            const stream = c.watch();
            await stream.tryNext();
            await c.insertOne({_id: 1});
            assert.strictEqual((await stream.next()).documentKey._id, 1);
            await stream.close();
        });
        await stop();
    },
    'a test has its server until its end': async () => {
        const ends = [];
        const t = {after: end => ends.push(end)};
        const uri = await mongodDur.server(t);
        const client = await MongoClient.connect(uri);
        t.after(() => client.close());
        for (let i = 0; i < ends.length; i++) await ends[i]();
        assert.strictEqual(servers(), 0);
    },
    'an option that there is not': () => assert.rejects(
        mongodDur.temporary({options: ['--nosuch']}), /it ended with 1/),
    'a process that is killed takes its server along': async () => {
        const script =
            'require(process.argv[1]).temporary().then(() => process.kill(process.pid, 9))';
        await assert.rejects(run(process.execPath,
            ['-e', script, path.join(scratch, 'npm/package')]));
        for (let left = 600; servers() > 0 && left > 0; left--)
            await new Promise(resolve => setTimeout(resolve, 100));
        assert.strictEqual(servers(), 0);
    },
    'mongodb-memory-server starts a server and a set': async () => {
        const {MongoMemoryServer, MongoMemoryReplSet} =
            load('node-clients', 'mongodb-memory-server-core');
        const binary = {systemBinary: mongodDur.program};
        for (const started of [
            () => MongoMemoryServer.create({binary, instance: {storageEngine: 'mmapv1'}}),
            () => MongoMemoryReplSet.create({binary, replSet: {storageEngine: 'mmapv1'}}),
        ]) {
            const memory = await started();
            await withClient(memory.getUri(), c => c.insertOne({_id: 1}));
            await memory.stop();
        }
        assert.strictEqual(servers(), 0);
    },
    'fixtures of pytest': async () => {
        const folder = path.join(scratch, 'wheel');
        await run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check',
            '--no-deps', '--no-index', '--target', folder, archive('wheel')]);
        const file = path.join(scratch, 'test_fixtures.py');
        fs.writeFileSync(file, PYTEST);
        const env = {...process.env, PYTHONPATH: folder};
        const {stdout} = await run(PYTHON, ['-m', 'pytest', '-q', '-c', '/dev/null', file], {env});
        assert.match(stdout, /2 passed/);
        const said = await run(PYTHON, ['-m', 'mongod_dur', '--version'], {env});
        assert.match(said.stdout, /^db version v2\.6/);
        assert.strictEqual(servers(), 0);
    },
});
