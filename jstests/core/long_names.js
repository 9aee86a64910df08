// Names and index keys beyond those of mmapv1: the engine decides, and in a set all members do.
// Group: core

const engine = process.env.TESTS_ENGINE;
const options = ['--smallfiles', '--nssize', '1'];
const ofASet = ['--replSet', 'rs0', '--oplogSize', '16'];
const name = 'n'.repeat(250), text = 'x'.repeat(100000);

function long(db) {
    return db.getCollection(name);
}

function codeOf(action) {
    try {
        action();
        return 0;
    } catch (error) {
        return error.code;
    }
}

if (!engine) {
    test('mmapv1 refuses them', () => {
        const db = startServer({options}).shell.getDB('test');
        assertEq(codeOf(() => long(db).insertOne({_id: 1})), 73);
        db.getCollection('c').createIndex({a: 1});
        assertEq(codeOf(() => db.getCollection('c').insertOne({a: text})), 17280);
        assertEq(codeOf(() => db.getCollection('c').createIndex({b: 1}, {name})), 67);
    });
} else {
    test('they outlast a kill', () => {
        let server = startServer({options});
        let db = server.shell.getDB('test');
        long(db).createIndex({a: 1, b: -1}, {name, unique: true});
        for (let i = 0; i < 300; i++) long(db).insertOne({_id: i, a: text + i % 150, b: i});
        assertEq(codeOf(() => long(db).insertOne({a: text + '7', b: 7})), 11000);
        long(db).updateOne({_id: 7}, {$set: {a: text + 'y'}});
        long(db).deleteMany({_id: {$gte: 290}});
        db.adminCommand({fsync: 1});
        long(db).insertOne({_id: 300, a: text + 'z', b: 0}, {writeConcern: {j: true}});
        stopServer(server, 'SIGKILL');
        server = startServer({options, folder: server.folder});
        db = server.shell.getDB('test');
        assertEq(long(db).find({a: {$gt: text + 'x'}}).toArray().map(d => d._id), [7, 300]);
        assertEq(long(db).find({a: text + '42'}).hint(name).toArray().length, 2);
        assertEq(long(db).countDocuments({a: {$gte: 'x'}}), 291);
        assertEq(db.runCommand({validate: name, full: true}).valid, true);
        stopServer(server);
    });

    test('a primary refuses them while a member may not keep them', () => {
        const start = more => startServer({options: [...options, ...ofASet, ...more]});
        const first = start([]), second = start([]), old = start(['--storageEngine', 'mmapv1']);
        const db = first.shell.getDB('test'), admin = first.shell.getDB('admin');
        const host = server => `127.0.0.1:${server.port}`;
        const member = (_id, server) =>
            ({_id, host: host(server), priority: _id === 0 ? 1 : 0, votes: _id === 0 ? 1 : 0});
        let version = 1;
        const reconfigure = servers => {
            const members = servers.map(([_id, server]) => member(_id, server));
            const settings = {heartbeatIntervalMillis: 200};
            const config = {_id: 'rs0', version: ++version, members, settings};
            assertEq(admin.runCommand({replSetReconfig: config}).ok, 1);
        };
        const isSecondary = server => server.shell.getDB('admin').hello().secondary;
        assertEq(admin.runCommand({replSetInitiate:
            {_id: 'rs0', version: 1, members: [member(0, first)]}}).ok, 1);
        long(db).insertOne({_id: 1});
        db.getCollection('c').createIndex({a: 1});
        db.getCollection('c').insertOne({_id: 1, a: text});

        reconfigure([[0, first], [1, second]]);
        waitFor('the second one follows', () => isSecondary(second));
        waitFor('and has said that it keeps them', () =>
            codeOf(() => db.getCollection('c').insertOne({a: text + 'y'})) === 0);
        const copy = second.shell.getDB('test');
        copy.getMongo().setReadPref('secondaryPreferred');
        waitFor('it has all', () => copy.getCollection('c').countDocuments({a: /^x/}) === 2);
        assertEq(long(copy).countDocuments({}), 1);

        // What is there cannot be kept by the third one, and that is said.
        reconfigure([[0, first], [1, second], [2, old]]);
        assertEq(codeOf(() => db.getCollection('c').insertOne({_id: 5, a: text})), 17280);
        assertEq(codeOf(() => db.createCollection('m'.repeat(200))), 73);
        assertEq(codeOf(() => long(db).insertOne({_id: 2})), 0);
        const said = () => admin.runCommand({replSetGetStatus: 1}).members[2];
        waitFor('the third one says what it cannot keep', () =>
            /too long|too large/.test(said().infoMessage || said().lastHeartbeatMessage));
        assertContains(serverLog(first), 'long names and index keys are refused');
        assertContains(serverLog(old), 'cannot follow');

        // Without them it follows.
        long(db).drop();
        db.getCollection('c').deleteMany({a: {$gt: 'x'}});
        waitFor('the third one follows', () => isSecondary(old));
        reconfigure([[0, first], [1, second]]);
        waitFor('they are taken again', () =>
            codeOf(() => db.getCollection('c').insertOne({a: text + 'y'})) === 0);
        for (const server of [first, second, old]) stopServer(server);
    });
}
