// Users: what commands answer, how they are stored, kept over restarts; the way in before the first
// one, and the first one from a file.
// Group: access

const kUnauthorized = 13, kLoginFailed = 18;
const folder = newFolder('users');

// A server on the directory of this name; those that log in to it: login().
function start(name, ...options) {
    const dbpath = path.join(folder, name);
    const server = startServer({options: ['--smallfiles', '--nssize', '1', ...options], dbpath});
    return Object.assign(server, {clients: []});
}

function login(server, user, password = 'x', database = 'admin', mechanism = '') {
    const who = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    const client = new Mongo(`mongodb://${who}@127.0.0.1:${server.port}/?authSource=${database}` +
                             `&directConnection=true` +
                             (mechanism && `&authMechanism=${mechanism}`));
    server.clients.push(client);
    return client;
}

function assertLoginFails(...words) {
    assertThrowsCode(kLoginFailed, () => {
        login(...words);
    });
}

function end(server, signal) {
    for (const client of server.clients) client.close();
    stopServer(server, signal);
}

function asRoot(user, password = 'x') {
    return {createUser: user, pwd: password, roles: ['root']};
}

function assertInserts(client) {
    assertEq(client.getDB('test').runCommand({insert: 'c', documents: [{}]}).ok, 1);
}

function firstUserFile(text) {
    const file = path.join(newFolder('first'), 'user');
    fs.writeFileSync(file, text, {mode: 0o600});
    return file;
}

{
    const server = start('commands', '--auth', '--firstUserFile', firstUserFile('root\nx\n'));
    const rootUser = login(server, 'root');
    const admin = rootUser.getDB('admin'), test_db = rootUser.getDB('test');
    test_db.getCollection('c').insertOne({});

    test('as they are stored', () => {
        test_db.runCommand({createUser: 'stored', pwd: 'pw', customData: {team: 'a'},
                            roles: ['read', {role: 'readWrite', db: 'other'}]});
        const stored = admin.getCollection('system.users').findOne({_id: 'test.stored'});
        assertEq(Object.keys(stored), ['_id', 'user', 'db', 'credentials', 'roles', 'customData']);
        assertEq(stored.roles, [{role: 'read', db: 'test'}, {role: 'readWrite', db: 'other'}]);
        for (const [mechanism, iterations, letters] of [['SCRAM-SHA-1', 10000, 28],
                                                        ['SCRAM-SHA-256', 15000, 44]]) {
            const {iterationCount, storedKey, serverKey} = stored.credentials[mechanism];
            assertEq([iterationCount, storedKey.length, serverKey.length],
                     [iterations, letters, letters]);
        }
        assertEq(admin.getCollection('system.version').findOne(),
                 {_id: 'authSchema', currentVersion: 3});
        assertEq(admin.runCommand({getParameter: 1, authSchemaVersion: 1}).authSchemaVersion, 3);
        const indexes = admin.getCollection('system.users').getIndexes();
        assertTrue(indexes.some(index => index.name === 'user_1_db_1'));
    });

    test('what commands answer', () => {
        const create = (user, more) => Object.assign({createUser: user}, more);
        test_db.runCommand(create('answers', {pwd: 'pw', roles: ['read']}));
        for (const [code, command] of [
            [51003, create('answers', {pwd: 'pw', roles: []})],
            [31, create('new', {pwd: 'pw', roles: ['nothing']})],
            [31, {grantRolesToUser: 'answers', roles: ['root']}],
            [11, {dropUser: 'absent'}], [11, {updateUser: 'absent', pwd: 'x'}],
            [11, {grantRolesToUser: 'absent', roles: ['read']}],
            [2, create('new', {roles: []})], [2, create('new', {pwd: 'pw'})],
            [40415, create('new', {pwd: 'pw', roles: [], colour: 'red'})],
            [2, {updateUser: 'answers'}],
        ]) {
            assertCommandFails(test_db, command, code);
        }
        test_db.runCommand(create('no-roles', {pwd: 'pw', roles: []}));
        const powerless = login(server, 'no-roles', 'pw', 'test').getDB('test');
        for (const command of ['grantRolesToUser', 'revokeRolesFromUser']) {
            for (const name of ['answers', 'absent']) {  // the answer does not say which one is
                assertCommandFails(powerless, {[command]: name, roles: []}, 2);
            }
        }
        const rolesOf = reply => reply.users[0].roles.map(each => each.role).sort();
        test_db.runCommand({grantRolesToUser: 'answers', roles: ['readWrite', 'read']});
        assertEq(rolesOf(test_db.runCommand({usersInfo: 'answers'})), ['read', 'readWrite']);
        test_db.runCommand({revokeRolesFromUser: 'answers', roles: ['readWrite']});
        const shown = test_db.runCommand({usersInfo: {user: 'answers', db: 'test'},
                                          showPrivileges: true}).users[0];
        assertEq([shown.roles, shown.credentials], [[{role: 'read', db: 'test'}], undefined]);
        assertTrue(shown.inheritedPrivileges.length > 0);
        assertTrue(admin.runCommand({usersInfo: {forAllDBs: true}}).users
            .some(each => each.user === 'answers'));
        assertEq(test_db.runCommand({rolesInfo: 1, showBuiltinRoles: true}).roles
            .map(each => each.role), ['dbAdmin', 'dbOwner', 'read', 'readWrite', 'userAdmin']);
        const role = test_db.runCommand({rolesInfo: 'read', showPrivileges: true}).roles[0];
        assertTrue(role.privileges.length > 0);
        assertEq(test_db.runCommand({dropUser: 'answers'}).ok, 1);
        assertEq(test_db.runCommand({usersInfo: 'answers'}).users, []);
    });

    test('both mechanisms, the negotiated one, and one alone', () => {
        const find = {find: 'c'}, both = ['SCRAM-SHA-1', 'SCRAM-SHA-256'];
        test_db.runCommand({createUser: 'both', pwd: 'pw', roles: ['read']});
        for (const mechanism of [...both, '']) {
            const db = login(server, 'both', 'pw', 'test', mechanism).getDB('test');
            assertEq(db.runCommand(find).ok, 1);
        }
        for (const [one, other] of [both, [...both].reverse()]) {
            test_db.runCommand({createUser: one, pwd: 'pw', roles: ['read'], mechanisms: [one]});
            assertEq(login(server, one, 'pw', 'test').getDB('test').runCommand(find).ok, 1);
            assertLoginFails(server, one, 'pw', 'test', other);
        }
    });

    test('names and passwords of all kinds', () => {
        for (const [name, pwd] of [['a,b=c', 'x,y=z'], ['ä.ö', 'pässwörd'],
                                   ['x'.repeat(500), 'y'.repeat(2000)], ['$n', ' a b '],
                                   ['名前', '\u2168\u00a0\u00aa']]) {
            test_db.runCommand({createUser: name, pwd, roles: ['read']});
            const db = login(server, name, pwd, 'test').getDB('test');
            assertEq(db.runCommand({find: 'c'}).ok, 1, name);
        }
        for (const [code, pwd] of [[2, ''], [2, 'a\0b'], [2, '\u0007'], [14, 5]]) {
            assertCommandFails(test_db, {createUser: 'absent', pwd, roles: []}, code);
        }
    });

    test('a changed password', () => {
        test_db.runCommand({createUser: 'changer', pwd: 'pw', roles: ['read']});
        const inside = login(server, 'changer', 'pw', 'test').getDB('test');
        const find = {find: 'c'};
        inside.runCommand(find);
        test_db.runCommand({updateUser: 'changer', pwd: 'other'});
        assertEq(inside.runCommand(find).ok, 1);  // who is in stays in
        assertLoginFails(server, 'changer', 'pw', 'test');
        assertEq(login(server, 'changer', 'other', 'test').getDB('test').runCommand(find).ok, 1);
    });

    test('names that read alike', () => {
        // A user b.c of one database is no user c of a database b.
        const alike = rootUser.getDB('alike');
        alike.runCommand({createUser: 'b.c', pwd: 'pw', roles: ['read'], customData: {n: 1}});
        const user = {user: 'c', db: 'alike.b'};
        for (const command of [
            {usersInfo: user}, {dropUser: user}, {updateUser: user, customData: {}},
            {grantRolesToUser: user, roles: ['readWrite']}, {killAllSessions: [user]},
        ]) {
            assertCommandFails(admin, command, 2);
        }
        assertEq(alike.runCommand({usersInfo: 'b.c'}).users[0].customData, {n: 1});
    });

    end(server);
}

test('the way in before the first user', () => {
    let server = start('way-in', '--auth');
    const unknown = server.shell.getDB('admin'), test_db = server.shell.getDB('test');
    for (const [db, command] of [
        [test_db, {find: 'c'}], [test_db, {insert: 'c', documents: [{}]}],
        [unknown, {usersInfo: 1}], [unknown, {shutdown: 1}],
        [test_db, {createUser: 'a', pwd: 'x', roles: []}],
    ]) {
        assertCommandFails(db, command, kUnauthorized);
    }
    assertEq(unknown.runCommand(asRoot('first')).ok, 1);
    assertCommandFails(unknown, asRoot('second'), kUnauthorized);
    const first = login(server, 'first');
    assertInserts(first);
    first.getDB('admin').runCommand({dropUser: 'first'});
    assertCommandFails(unknown, asRoot('third'), kUnauthorized);  // though that one is gone
    end(server);
    server = start('way-in', '--auth');  // but at the next start, without users
    assertEq(server.shell.getDB('admin').runCommand(asRoot('next')).ok, 1);
    end(server);
});

test('the way in can be closed', () => {
    const server = start('closed', '--auth', '--setParameter', 'enableLocalhostAuthBypass=false');
    assertCommandFails(server.shell.getDB('admin'), asRoot('a'), kUnauthorized);
    end(server);
});

test('users outlive the server, and kills', () => {
    let server = start('kept');
    server.shell.getDB('admin').runCommand(asRoot('early'));
    end(server);
    for (const command of [{createUser: 'late', pwd: 'y', roles: ['read']}, {dropUser: 'late'}]) {
        server = start('kept', '--auth');
        if (command.dropUser) login(server, 'late', 'y', 'test');
        const reply = login(server, 'early').getDB('test').runCommand(command);
        assertEq(reply.ok, 1);
        end(server, 'SIGKILL');  // what is acknowledged has been synced
    }
    server = start('kept', '--auth');
    assertLoginFails(server, 'late', 'y', 'test');
    end(server);
});

test('without access control no login is needed, and a wrong one is none', () => {
    const server = start('open');
    server.shell.getDB('admin').runCommand({createUser: 'a', pwd: 'x', roles: ['read']});
    assertInserts(server.shell);
    assertInserts(login(server, 'a'));
    assertLoginFails(server, 'a', 'y');
    end(server);
});

test('the first user from a file, which is read once', () => {
    const file = firstUserFile('filed\npass word\n');
    for (const there of [true, false]) {
        if (!there) fs.unlinkSync(file);
        const server = start('filed', '--auth', '--firstUserFile', file);
        assertInserts(login(server, 'filed', 'pass word'));
        assertCommandFails(server.shell.getDB('admin'), asRoot('a'), kUnauthorized);
        end(server);
    }
});

test('a file without a user, and options that contradict each other, end the start', () => {
    const dbpath = newFolder('none');
    const start_ = words => runMongod(['--dbpath', dbpath, '--smallfiles', '--port', '20001',
                                       ...words]);
    const missing = path.join(folder, 'missing');
    for (const [file, why] of [
        [missing, ''], [firstUserFile(''), ''], [firstUserFile('name only\n'), ''],
        [firstUserFile('\npassword only\n'), ''], [folder, `${folder}: it is a directory`],
        ['/dev/zero', '/dev/zero: it is longer than'],
    ]) {
        const run = start_(['--auth', '--firstUserFile', file]);
        assertTrue(run.code > 0, file);
        assertContains(run.out + run.err, `--firstUserFile ${why}`.trim());
    }
    for (const words of [['--auth', '--noauth'], ['--firstUserFile', 'x']]) {
        assertTrue(start_(words).code > 0, `${words}`);
    }
});

test('users of an old server, who cannot log in', () => {
    let server = start('old');
    server.shell.getDB('admin').getCollection('system.users').insertOne({
        _id: 'admin.old', user: 'old', db: 'admin', credentials: {'MONGODB-CR': '0'.repeat(32)},
        roles: [{role: 'root', db: 'admin'}]});
    end(server);
    server = start('old', '--auth');
    assertContains(serverLog(server), 'no client can log in');
    assertCommandFails(server.shell.getDB('admin'), asRoot('a'), kUnauthorized);
    assertLoginFails(server, 'old');
    end(server);
    server = start('old');
    server.shell.getDB('admin').runCommand({updateUser: 'old', pwd: 'new'});
    end(server);
    server = start('old', '--auth');
    assertInserts(login(server, 'old', 'new'));
    end(server);
});
