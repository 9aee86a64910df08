// journalInsertEntries: what is put into an index is journaled as an entry.
// docs: patches/journal-insert-entries.patch; journal spec 7.9
// Group: patches

const name = 'journalInsertEntries';
const on = {options: quick.concat(`--${name}`)};
const off = {options: quick};
const base = {options: quick, program: harness.base};
const entries = server => metrics(server, name);

const insertIndexed = (server, first, count) => {
    const rows = durable(server);
    const step = 500;
    for (let i = first; i < first + count; i += step) {
        const documents = [];
        for (let n = i; n < i + step; ++n) {
            // Multiplied by an odd number modulo 2^20: in no order, and each once.
            documents.push({_id: n, a: n * 514229 % 1048576, b: n * 317811 % 1048576,
                            text: `x${n}`});
        }
        rows.insertMany(documents, {writeConcern: {w: 1, j: i % 5000 === 0}});
    }
};
const valid = server => {
    const result = durable(server).validate({full: true});
    assertEq(result.errors, []);
    return result.valid;
};

test('the base does not know it', () => assertBaseRejects(name));

test('off by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    insertIndexed(server, 0, 500);
    assertEq(entries(server), undefined);
    assertEq(stopServer(server), 0);
});

test('a killed server has all documents and all entries of its indexes', () => {
    const server = startServer(on);
    assertEq(parameter(server, name), true);
    durable(server).createIndex({a: 1});
    durable(server).createIndex({b: -1, a: 1});
    durable(server).createIndex({text: 1});
    insertIndexed(server, 0, 20000);
    durable(server).deleteMany({a: {$lt: 100000}}, {writeConcern: {w: 1, j: true}});
    insertIndexed(server, 20000, 5000);
    durable(server).insertOne({_id: 'last'}, {writeConcern: {w: 1, j: true}});
    assertBetween(1, Number(entries(server).entries), Infinity);
    assertBetween(1, Number(entries(server).firstTouches), Infinity);
    const documents = durable(server).countDocuments({});
    stopServer(server, 'SIGKILL');
    const again = startServer({...on, folder: server.folder});
    assertEq(durable(again).countDocuments({}), documents);
    assertTrue(valid(again));
    for (const hint of [{a: 1}, {b: -1, a: 1}, {text: 1}]) {
        assertEq(durable(again).find({}).hint(hint).toArray().length, documents);
    }
    assertEq(stopServer(again), 0);
});

test('the base refuses its journal, and says so', () => {
    const server = startServer(on);
    insertDurably(server, 0, 10);
    const file = path.join(server.dbpath, 'journal', 'j._0');
    assertEq(fs.readFileSync(file).readUInt16LE(2), 0x414b);
    stopServer(server, 'SIGKILL');
    const refused = runServer(
        ['--port', `${server.port}`, '--dbpath', server.dbpath].concat(quick), undefined,
        harness.base);
    assertEq(refused.exitCode, 100);
    assertContains(refused.output, '13536');
    const again = startServer({...on, folder: server.folder});
    assertEq(durable(again).countDocuments({}), 10);
    assertTrue(valid(again));
    assertEq(stopServer(again), 0);
});

test('files tell what they hold, whatever is configured', () => {
    assertRecovers(on, on);
    assertRecovers(on, off);
    assertRecovers(off, on);
    assertRecovers(base, on);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.insertEntries', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});
