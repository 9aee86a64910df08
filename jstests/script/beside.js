// While a filter's script goes on, others read and write the collection. Where its lock is kept,
// the script has a limit.
// Scripting (docs/security.md).
// Group: script

const server = startServer({options: ['--scripting', '--setParameter',
                                      'documentWorkTicks=2000000000']});
const db1 = server.shell.getDB('test');
const t = db1.getCollection('t');
t.insertMany([...Array(10).keys()].map(i => ({_id: i, a: i, p: [i, i], x: 'y'})));
t.createIndex({a: 1});
t.createIndex({x: 1});
t.createIndex({p: '2d'});

const code = 'function () { if (this._id == 3) sleep(1e9); return true; }';
const $where = new Code(code);
const filter = {$where};
const $function = {body: new Code('function (id) { if (id == 3) sleep(1e9); return true; }'),
                   args: ['$_id'], lang: 'js'};
const map = new Code('function () { emit(this.a, 1); }');
const reduce = new Code('function (k, vs) { return vs.length; }');
const jobs = {
    find: {find: 't', filter},
    'find by an index': {find: 't', filter: {a: {$gte: 0}, $where}},
    'find by one of two indexes': {find: 't', filter: {a: {$gte: 0}, x: 'y', $where}},
    'find by two indexes': {find: 't', filter: {$or: [{a: {$gte: 2}, $where}, {x: 'z'}]}},
    'find with a sort': {find: 't', filter, sort: {z: 1}},
    'find $near': {find: 't', filter: {p: {$near: [0, 0]}, $where}},
    'find $function': {find: 't', filter: {$expr: {$function}}},
    count: {count: 't', query: filter},
    distinct: {distinct: 't', key: 'a', query: filter},
    aggregate: {aggregate: 't', pipeline: [{$match: {$expr: {$function}}}], cursor: {}},
    geoNear: {geoNear: 't', near: [0, 0], query: filter},
    mapReduce: {mapReduce: 't', map, reduce, query: filter, out: {inline: 1}},
    group: {group: {ns: 't', key: {a: 1}, cond: filter, $reduce: new Code('function () {}'),
                    initial: {}}},
    update: {update: 't', updates: [{q: filter, u: {$set: {u: 1}}, multi: true}]},
    'delete': {'delete': 't', deletes: [{q: {_id: {$gt: 2, $lt: 5}, $where}, limit: 0}]},
    findAndModify: {findAndModify: 't', query: {_id: {$gt: 2}, $where}, update: {$set: {u: 1}}},
    explain: {explain: {find: 't', filter}, verbosity: 'executionStats'},
    'eval nolock': {eval: new Code(`function () { return db.t.count({$where: ${code}}); }`),
                    nolock: true},
};

function running() {
    return db1.adminCommand({currentOp: 1}).inprog.filter(
        op => JSON.stringify(op).includes('sleep(1e9)'));
}

// Only the inner command of an eval ends at once.
function startJob(command) {
    const text = JSON.stringify(EJSON.serialize(command));
    const script = `db.getSiblingDB('test').runCommand(EJSON.deserialize(${text}))`;
    const runner = childProcess.spawn(process.argv[0], [
        process.argv[1], '--quiet', '--norc', `mongodb://127.0.0.1:${server.port}/`,
        '--eval', script], {stdio: 'ignore'});
    waitFor('it runs', () => running().length > 0 && running().some(op => op.numYields > 0));
    return runner;
}

let inserted = 100;
for (const name of Object.keys(jobs)) {
    test(`${name}: others read and write beside it`, () => {
        const runner = startJob(jobs[name]);
        t.insertOne({_id: ++inserted});
        t.updateOne({_id: 7}, {$set: {beside: name}});
        assertEq(t.findOne({_id: 7}).beside, name);
        const still = running();
        assertTrue(still.length > 0);
        for (const op of still) db1.adminCommand({killOp: 1, op: op.opid});
        waitFor('its client has the error', () => runner.exitCode !== null);
        waitFor('it has ended', () => running().length === 0);
        t.deleteOne({_id: inserted});
    });
}

test('what is removed beside it is not written', () => {
    const slow = new Code('function () { if (this._id == 3) sleep(300); return true; }');
    const runner = startJob(jobs.update);
    t.deleteOne({_id: 3});
    for (const op of running()) db1.adminCommand({killOp: 1, op: op.opid});
    waitFor('its client has the error', () => runner.exitCode !== null);
    assertEq(t.updateMany({$where: slow}, {$set: {w: 1}}).modifiedCount, 9);
    t.insertOne({_id: 3, a: 3, p: [3, 3], x: 'y'});
});

test('a slow script changes each document once', () => {
    const slow = new Code('function () { sleep(15); return this._id < 5; }');
    assertEq(t.updateMany({$where: slow}, {$inc: {n: 1}}).modifiedCount, 5);
    assertEq(t.find({n: 1}).toArray().length, 5);
    assertEq(t.updateMany({a: {$gte: 0}, $where: slow}, {$inc: {a: 100}}).modifiedCount, 5);
    assertEq(t.find({a: {$gte: 100}}).toArray().length, 5);
    assertEq(t.deleteMany({$where: slow}).deletedCount, 5);
});

test('$function of an update and of a projection has a limit', () => {
    db1.adminCommand({setParameter: 1, documentWorkTicks: 10000000});
    const endless = new Code('function () { for (;;); }');
    const z = {$function: {body: endless, args: [], lang: 'js'}};
    const reply = db1.runCommand({update: 't', updates: [{q: {_id: 7}, u: [{$set: {z}}]}]});
    assertEq(reply.writeErrors[0].code, 90001);
    assertTrue(/a twentieth/.test(reply.writeErrors[0].errmsg), reply.writeErrors[0].errmsg);
    assertCommandFails(db1, {find: 't', filter: {_id: 7}, projection: {z}}, 90001);
    assertEq(t.find({z: {$exists: true}}).toArray().length, 0);
});

stopServer(server);
