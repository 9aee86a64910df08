// Endless scripts end by maxTimeMS and killOp, hold up no other client, and leave the server as it
// was.
// Scripting (docs/security.md).
// Group: script

const server = startServer({options: ['--scripting', '--setParameter',
                                      'documentWorkTicks=100000000']});
const db1 = server.shell.getDB('test');
const t = db1.getCollection('t');
t.insertMany([...Array(10).keys()].map(i => ({_id: i})));

const endless = 'for (;;) try { while (true) {} } catch (e) {}';
const loop = new Code(`function () { ${endless} }`);
const jobs = {
    find: {find: 't', filter: {$where: loop}},
    map: {mapReduce: 't', map: loop, reduce: loop, out: {inline: 1}},
    reduce: {mapReduce: 't', map: new Code('emit(1, 1)'), reduce: loop, out: {inline: 1}},
    group: {group: {ns: 't', key: {}, $reduce: loop, initial: {}}},
    eval: {eval: loop, nolock: true},
    'eval with its lock': {eval: loop},
    regex: {eval: new Code('return /(a|aa)+$/.test(new Array(80).join("a") + "b")'), nolock: true},
};

for (const name of Object.keys(jobs)) {
    test(`maxTimeMS ends ${name}`, () => {
        assertCommandFails(db1, {...jobs[name], maxTimeMS: 50}, 50);
    });
}

test('killOp ends a script that others write and read beside', () => {
    const code = JSON.stringify(`function () { ${endless} }`);
    const script = `db.getSiblingDB('test').runCommand({eval: new Code(${code}), nolock: true})`;
    const runner = childProcess.spawn(process.argv[0], [
        process.argv[1], '--quiet', '--norc', `mongodb://127.0.0.1:${server.port}/`,
        '--eval', script], {stdio: 'ignore'});
    let found;
    waitFor('the eval runs', () => {
        found = db1.getSiblingDB('admin').currentOp({'query.eval': {$exists: true}}).inprog;
        return found.length === 1;
    });
    t.insertOne({_id: 'beside'});
    assertEq(t.find({$where: 'this._id == "beside"'}).toArray().length, 1);
    db1.adminCommand({killOp: 1, op: found[0].opid});
    waitFor('its client has the error', () => runner.exitCode !== null);
    assertTrue(runner.exitCode !== 0);
});

test('the limit of memory ends a script, and no more', () => {
    assertCommandFails(db1, {eval: new Code(
        'function () { var a = []; while (true) a.push("" + Math.random()) }'),
                             nolock: true}, 16722);
    assertEq(db1.runCommand({eval: new Code('return 1')}).retval, 1);
});

stopServer(server);
