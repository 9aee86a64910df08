// Index builds whose keys do not fit into memory sort them in files beside the data.
// Mmapv1 spec 1.4.
// Group: core

const fs = require('fs');
const path = require('path');

// 80 documents with 1000 keys of 900 bytes each: more than the 64 MB that are sorted in memory.
function fill(server) {
    const collection = server.shell.getDB('test').getCollection('large');
    const filler = 'x'.repeat(890);
    for (let i = 0; i < 80; ++i) {
        const texts = [];
        for (let k = 0; k < 1000; ++k)
            texts.push(`${String((k * 7919 + i) % 100000).padStart(6, '0')}${filler}`);
        collection.insertOne({_id: i, texts});
    }
    return collection;
}

test('runs lie in _tmp below the dbpath and go with the build', () => {
    const server = startServer({options: ['--smallfiles', '--nojournal']});
    const scratch = path.join(server.dbpath, '_tmp');
    const collection = fill(server);
    collection.createIndex({texts: 1});
    const line = /external sort: (\d+) runs in (.*)/.exec(serverLog(server));
    assertTrue(line !== null, 'the log tells of the sort');
    assertTrue(Number(line[1]) > 1, line[0]);
    assertEq(line[2], scratch);
    assertEq(fs.readdirSync(scratch).filter(name => name.startsWith('extsort')), []);
    assertEq(collection.find({texts: `000000${'x'.repeat(890)}`}, {_id: 1}).toArray(), [{_id: 0}]);
    const report = server.shell.getDB('test').runCommand({validate: 'large', full: true});
    assertEq(report.valid, true);
    assertEq(report.keysPerIndex.texts_1, 80000);

    // With the folder's name taken there is nowhere else to go.
    collection.dropIndex('texts_1');
    fs.rmSync(scratch, {recursive: true});
    fs.writeFileSync(scratch, 'not a folder');
    const reply = replyTo(server.shell.getDB('test'), {
        createIndexes: 'large', indexes: [{key: {texts: 1}, name: 'texts_1'}]});
    assertEq([reply.ok, reply.code], [0, 14031]);
    assertContains(reply.errmsg, scratch);
    assertEq(collection.getIndexes().length, 1);
    fs.rmSync(scratch);
    collection.createIndex({texts: 1});
    assertEq(collection.getIndexes().length, 2);
    stopServer(server);
});

test('what a crash left there goes with the next start', () => {
    const server = startServer({options: ['--smallfiles']});
    const scratch = path.join(server.dbpath, '_tmp');
    stopServer(server, 'SIGKILL');
    fs.mkdirSync(scratch, {recursive: true});
    fs.writeFileSync(path.join(scratch, 'extsort.01234567.1'), 'left');
    const again = startServer({options: ['--smallfiles'], folder: server.folder});
    assertEq(fs.existsSync(path.join(scratch, 'extsort.01234567.1')), false);
    stopServer(again);
});
