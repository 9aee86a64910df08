// Members that elect their primary by an etcd: the next one is there by itself when the primary
// dies, is stopped or steps down, and has all that was acknowledged by a majority.

const kTimeout = 1500;
const kPrimary = 1, kSecondary = 2;

function startEtcd(folder, ports) {
    const client = `http://127.0.0.1:${ports[0]}`, peer = `http://127.0.0.1:${ports[1]}`;
    const etcd = launch(folder, ['--data-dir', path.join(folder, 'etcd'),
                                 '--listen-client-urls', client,
                                 '--advertise-client-urls', client,
                                 '--listen-peer-urls', peer,
                                 '--initial-advertise-peer-urls', peer,
                                 '--initial-cluster', `default=${peer}`], ports[0], 'etcd');
    waitFor('etcd serves its clients', () =>
        hasExited(etcd) || readFile(etcd.logFile).includes('ready to serve client requests'));
    if (hasExited(etcd)) fail(readFile(etcd.logFile));
    return etcd;
}

// Below those that the system gives to connections.
function freePorts() {
    const first = 30000 + Math.floor(Math.random() * 1300);
    return [first, first + 1400];
}

// Starts one on ports that no process has; puts these into `ports`.
function startNewEtcd(folder, ports) {
    for (;;) {
        ports.splice(0, 2, ...freePorts());
        try {
            return startEtcd(folder, ports);
        } catch (error) {
            if (!String(error).includes('address already in use')) throw error;
        }
    }
}

function startMember(url, again) {
    return startServer(Object.assign({
        options: ['--smallfiles', '--nssize', '1', '--noprealloc', '--nopreallocj',
                  '--oplogSize', '32', '--replSet', 'rs0', '--coordinator', url,
                  '--setParameter', 'writePeriodicNoops=false']}, again || {}));
}

function hostOf(member) {
    return `127.0.0.1:${member.port}`;
}

function statusOf(member) {
    return replyTo(member.shell.getDB('admin'), {replSetGetStatus: 1});
}

function waitForState(member, ...states) {
    waitFor(`the state of ${hostOf(member)} is one of ${states}:\n` +
            serverLog(member).split('\n').slice(-8).join('\n'),
            () => states.includes(statusOf(member).myState));
}

// Returns the primary among these that is no other than `but`.
function primaryOf(members, but) {
    let found = null;
    waitFor('there is a primary', () => {
        for (const member of members) {
            if (member !== but && statusOf(member).myState === kPrimary) found = member;
        }
        return found !== null;
    });
    return found;
}

function waitForFollowers(members) {
    waitFor('all follow', () => members.filter(member =>
        [kPrimary, kSecondary].includes(statusOf(member).myState)).length === members.length);
}

function clientOf(members) {
    return new Mongo(`mongodb://${members.map(hostOf).join(',')}/?replicaSet=rs0` +
                     '&serverSelectionTimeoutMS=30000&heartbeatFrequencyMS=500');
}

function configOf(members) {
    return {_id: 'rs0',
            settings: {electionTimeoutMillis: kTimeout},
            members: members.map((member, id) => ({_id: id, host: hostOf(member)}))};
}

// Writes numbered documents until `end` of them are acknowledged, and returns these.
function writeUntil(client, from, end, at) {
    const acknowledged = [];
    const numbers = client.getDB('test').numbers;
    for (let number = from; acknowledged.length < end; number++) {
        if (at && acknowledged.length === at.count) {
            at.then();
            at.count = -1;
        }
        try {
            numbers.insertOne({_id: number}, {writeConcern: {w: 'majority', wtimeout: 20000}});
            acknowledged.push(number);
        } catch (error) {
            // What has not been acknowledged may be there or not.
        }
    }
    return acknowledged;
}

function assertHasAll(client, numbers) {
    const found = new Set(client.getDB('test').numbers.find().toArray().map(doc => doc._id));
    assertEq(numbers.filter(number => !found.has(number)), [], 'lost');
}

if (childProcess.spawnSync('etcd', ['--version']).error) {
    skip('elections', 'etcd is not installed');
} else {
    const etcdFolder = newFolder('etcd');
    const ports = [];
    let etcd = startNewEtcd(etcdFolder, ports);
    const url = `http://127.0.0.1:${ports[0]}`;
    const members = [1, 2, 3].map(() => startMember(url));
    let client;

    test('a set begins with default priorities', () => {
        const admin = members[0].shell.getDB('admin');
        assertCommandFails(members[1].shell.getDB('admin'), {
            replSetInitiate: {_id: 'rs0', members: [{_id: 0, host: hostOf(members[1]),
                                                     arbiterOnly: true}]}}, 93);
        admin.runCommand({replSetInitiate: configOf(members)});
        waitForState(members[0], kPrimary);
        for (const member of members.slice(1)) waitForState(member, kSecondary);
        waitFor('all have a vote', () => statusOf(members[0]).votingMembersCount === 3);
        const status = statusOf(members[0]);
        assertEq(status.coordinator.reachable, true);
        assertEq(status.coordinator.endpoints, url);
        assertCommandFails(admin, {replSetInitiate: configOf(members)}, 23);
    });

    test('the next primary has all when the primary is killed', () => {
        client = clientOf(members);
        const old = primaryOf(members);
        const term = statusOf(old).term;
        const numbers = writeUntil(client, 0, 60, {count: 30, then: () => {
            stopServer(old, 'SIGKILL');
        }});
        const next = primaryOf(members.filter(member => member !== old));
        assertTrue(statusOf(next).term > term);
        assertHasAll(client, numbers);
        Object.assign(old, startMember(url, {folder: old.folder, port: old.port}));
        waitForState(old, kSecondary);
        assertEq(statusOf(next).myState, kPrimary);
        assertHasAll(client, numbers);
    });

    test('what a primary wrote alone is in files when it follows the next one', () => {
        waitForFollowers(members);
        const old = primaryOf(members);
        const others = members.filter(member => member !== old);
        for (const other of others) other.process.kill('SIGKILL');
        for (const other of others) waitFor('it ends', () => hasExited(other));
        const written = replyTo(old.shell.getDB('test'), {
            insert: 'numbers', documents: [{_id: 'alone'}], writeConcern: {w: 1, j: true}});
        stopServer(old, 'SIGKILL');
        for (const other of others) {
            Object.assign(other, startMember(url, {folder: other.folder, port: other.port}));
        }
        assertEq(written.n, 1);
        const next = primaryOf(others);
        const numbers = writeUntil(client, 500, 20);
        Object.assign(old, startMember(url, {folder: old.folder, port: old.port}));
        const folder = path.join(old.dbpath, 'rollback');
        waitFor('there are files', () => fs.existsSync(folder) &&
            fs.readdirSync(folder).some(name => /^test\.numbers\..*\.bson$/.test(name)));
        waitForState(old, kSecondary);
        assertHasAll(client, numbers);
        assertEq(client.getDB('test').numbers.countDocuments({_id: 'alone'}), 0);
        waitFor('both have the same', () => {
            const hashes = [old, next].map(member => replyTo(
                member.shell.getDB('test'), {dbHash: 1, $readPreference: {mode: 'nearest'}}));
            return hashes[0].md5 !== undefined && hashes[0].md5 === hashes[1].md5;
        });
    });

    test('a primary that was stopped acknowledges nothing when it goes on', () => {
        waitForFollowers(members);
        const old = primaryOf(members);
        old.process.kill('SIGSTOP');
        const next = primaryOf(members.filter(member => member !== old));
        old.process.kill('SIGCONT');
        const reply = replyTo(old.shell.getDB('test'), {
            insert: 'numbers', documents: [{_id: 'late'}], writeConcern: {w: 1}});
        assertTrue(reply.ok !== 1 || reply.writeConcernError, show(reply));
        waitForState(old, kSecondary);
        assertEq(statusOf(next).myState, kPrimary);
    });

    test('a healthy set goes on without its coordinator, and does not step down', () => {
        waitForFollowers(members);
        const primary = primaryOf(members);
        const term = statusOf(primary).term;
        stopServer(etcd, 'SIGKILL');
        const admin = primary.shell.getDB('admin');
        assertCommandFails(admin, {replSetStepDown: 10}, 6);
        const numbers = writeUntil(client, 1000, 50);
        assertEq(statusOf(primary).myState, kPrimary);
        assertEq(statusOf(primary).coordinator.reachable, false);
        assertEq(statusOf(primary).term, term);
        assertHasAll(client, numbers);
        etcd = startEtcd(etcdFolder, ports);
    });

    test('a step-down makes another one the primary', () => {
        const old = primaryOf(members);
        assertEq(replyTo(old.shell.getDB('admin'), {replSetStepDown: 30}).ok, 1);
        const next = primaryOf(members, old);
        waitForState(old, kSecondary);
        const numbers = writeUntil(client, 2000, 20);
        assertHasAll(client, numbers);
        const other = members.find(member => member !== old && member !== next);
        assertEq(replyTo(other.shell.getDB('admin'), {replSetFreeze: 5}).ok, 1);
        assertCommandFails(next.shell.getDB('admin'), {replSetFreeze: 5}, 95);
    });
}
