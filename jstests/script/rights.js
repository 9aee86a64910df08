// A script does what its client may do, and no more.
// Scripting (docs/security.md).
// Group: script

const server = startServer({options: ['--scripting', '--auth']});
const root = server.shell.getDB('admin');
root.createUser({user: 'root', pwd: 'r', roles: ['root']});
root.auth('root', 'r');
root.getSiblingDB('test').getCollection('t').insertMany([{_id: 1, a: 1}, {_id: 2, a: 1}]);
root.getSiblingDB('secret').getCollection('s').insertOne({_id: 'kept'});
for (const role of ['read', 'readWrite']) {
    root.createUser({user: role, pwd: 'p', roles: [{role, db: 'test'}]});
}

function as(user, pwd = 'p') {
    const db1 = new Mongo(`mongodb://127.0.0.1:${server.port}/?directConnection=true`)
        .getDB('admin');
    db1.auth(user, pwd);
    return db1.getSiblingDB('test');
}

const job = {mapReduce: 't', map: new Code('function () { emit(this.a, 1) }'),
             reduce: new Code('function (k, vs) { return Array.sum(vs) }')};

test('a reader runs $where, mapReduce inline and group, and writes nothing', () => {
    const reader = as('read');
    assertEq(reader.getCollection('t').find({$where: 'this._id == 2'}).toArray().length, 1);
    assertEq(reader.runCommand({...job, out: {inline: 1}}).results, [{_id: 1, value: 2}]);
    assertEq(reader.runCommand({group: {ns: 't', key: {a: 1}, initial: {n: 0},
                                        $reduce: new Code('function (d, g) { g.n++ }')}}).keys, 1);
    for (const out of ['o', {merge: 'o'}, {reduce: 'o'}, {replace: 'o', db: 'secret'}]) {
        assertCommandFails(reader, {...job, out}, 13);
    }
    assertCommandFails(reader, {eval: new Code('return 1')}, 13);
    assertCommandFails(reader.getSiblingDB('secret'), {...job, mapReduce: 's',
                                                       out: {inline: 1}}, 13);
    assertCommandFails(reader.getSiblingDB('secret'),
                       {group: {ns: 's', key: {}, initial: {}, $reduce: new Code('1')}}, 13);
});

test('a writer writes where it may', () => {
    const writer = as('readWrite');
    assertEq(writer.runCommand({...job, out: 'o'}).counts.output, 1);
    assertCommandFails(writer, {...job, out: {replace: 'o', db: 'secret'}}, 13);
    assertCommandFails(writer, {eval: new Code('return 1')}, 13);
});

test('eval is for a client that may do everything', () => {
    assertCommandFails(as('root', 'r'), {eval: new Code('return 1')}, 13);
    root.createRole({role: 'all', roles: [], privileges: [
        {resource: {anyResource: true}, actions: ['anyAction']}]});
    root.createUser({user: 'all', pwd: 'p', roles: ['all']});
    assertEq(as('all').runCommand({eval: new Code(
        'return db.getSiblingDB("secret").s.findOne()._id')}).retval, 'kept');
});

stopServer(server);
