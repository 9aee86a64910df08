// JavaScript in the server is off unless it is asked for, and the refusals say how.
// Scripting (docs/security.md).
// Group: script

const plain = startServer({options: ['--noscripting']});
const db1 = plain.shell.getDB('test');
db1.getCollection('t').insertOne({_id: 1});

function codeOf(body) {
    try {
        body();
    } catch (error) {
        assertContains(error.message, '--scripting');
        return error.code;
    }
    return 0;
}

const none = new Code('function () {}');

test('each way to run a script is refused', () => {
    assertEq(codeOf(() => db1.getCollection('t').find({$where: '1'}).toArray()), 2);
    assertEq(codeOf(() => db1.getCollection('t').countDocuments(
        {$expr: {$function: {body: 'function () {}', args: [], lang: 'js'}}})), 115);
    for (const command of [
        {mapReduce: 't', map: none, reduce: none, out: {inline: 1}},
        {group: {ns: 't', key: {}, $reduce: none, initial: {}}},
        {eval: none},
        {aggregate: 't', cursor: {}, pipeline: [{$group: {_id: 1, x: {$accumulator: {}}}}]},
        {delete: 't', deletes: [{q: {$where: '1'}, limit: 0}]},
    ]) {
        const reply = replyTo(db1, command);
        const error = reply.writeErrors ? reply.writeErrors[0] : reply;
        assertEq(error.code, command.delete ? 2 : 115, Object.keys(command)[0]);
        assertContains(error.errmsg, '--scripting');
    }
    assertEq(db1.getCollection('t').countDocuments(), 1);
    assertEq(db1.adminCommand({buildInfo: 1}).javascriptEngine, 'none');
});

test('both options together are refused', () => {
    const both = runServer(['--scripting', '--noscripting', '--dbpath', plain.dbpath]);
    assertTrue(both.exitCode !== 0);
    assertContains(both.output, '--noscripting');
});

stopServer(plain);
