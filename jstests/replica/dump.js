// A dump while others write, with the log of the time that it took: what mongodump --oplog reads
// and mongorestore --oplogReplay sends, command by command; these programs are in no registry.
// Group: replica

const kOptions = ['--smallfiles', '--nssize', '1'];
const kPauseAt = 1000;  // documents of a collection

// Changes of each kind, without end; run in a shell of its own.
const kWriter = `
    const load = db.getSiblingDB('load'), below = n => Math.floor(Math.random() * n);
    for (let next = 3000;; ++next) {
        load.numbered.insertOne({_id: next, pad: 'x'.repeat(below(300))});
        const key = below(400), kind = below(100);
        if (kind < 50) {
            load.changed.updateOne({_id: key}, {$inc: {n: 1}, $push: {list: kind}}, {upsert: true});
        } else if (kind < 70) {
            load.changed.replaceOne({_id: key}, {grown: 'y'.repeat(below(3000))});
        } else if (kind < 90) {
            load.changed.deleteOne({_id: key});
        } else if (kind < 97) {
            load.changed.updateMany({n: {$gt: 1}}, {$unset: {list: 1}});
        } else if (kind < 98) {
            load.brief.drop();
        } else {
            load.brief.createIndex({b: 1});
            load.brief.insertOne({b: key});
        }
    }`;

test('a dump with the log of its time is the state at its end', () => {
    const server = startServer({
        options: kOptions.concat(['--replSet', 'rs0', '--oplogSize', '32'])});
    server.shell.getDB('admin').runCommand({replSetInitiate: {}});
    waitFor('it is the primary', () =>
        server.shell.getDB('admin').runCommand({isMaster: 1}).ismaster);
    const load = server.shell.getDB('load');
    const log = server.shell.getDB('local').getCollection('oplog.rs');
    load.getCollection('numbered').insertMany(
        [...Array(3000).keys()].map(_id => ({_id, pad: 'x'.repeat(300)})));
    const writer = childProcess.spawn(process.argv[0], [
        process.argv[1], '--quiet', '--norc', '--port', `${server.port}`, '--eval', kWriter]);
    const newest = () => log.find().sort({$natural: -1}).limit(1).toArray()[0].ts;
    const waitForWrites = () => {
        const before = log.estimatedDocumentCount();
        waitFor('it is written to', () => log.estimatedDocumentCount() > before + 60);
    };

    waitForWrites();
    const begin = newest(), documents = {}, indexes = {};
    for (const name of load.getCollectionNames().filter(name => !name.startsWith('system.'))) {
        documents[name] = [];
        const cursor = load.getCollection(name).find().batchSize(50);
        while (cursor.hasNext()) {
            documents[name].push(cursor.next());
            if (documents[name].length === kPauseAt) waitForWrites();
        }
        indexes[name] = load.getCollection(name).getIndexes();
    }
    waitForWrites();
    writer.kill('SIGKILL');
    waitFor('the writer has ended', () => !server.shell.getDB('admin').runCommand({currentOp: 1})
        .inprog.some(each => (each.ns || '').startsWith('load.')));
    const entries = log.find({ts: {$gte: begin, $lte: newest()}}).toArray();
    assertTrue(entries.length > 100);

    const restored = startServer({options: kOptions}), to = restored.shell.getDB('load');
    for (const name in documents) {
        for (let at = 0; at < documents[name].length; at += 1000) {
            to.runCommand({insert: name, documents: documents[name].slice(at, at + 1000),
                           ordered: false});
        }
        const specs = indexes[name].filter(spec => spec.name !== '_id_');
        if (specs.length) assertEq(to.runCommand({createIndexes: name, indexes: specs}).ok, 1);
    }
    for (const entry of entries) {
        if (entry.op === 'n') continue;
        assertEq(restored.shell.getDB('admin').runCommand({applyOps: [entry]}).ok, 1);
    }
    assertEq(to.runCommand({dbHash: 1}).collections, load.runCommand({dbHash: 1}).collections);
    for (const name of load.getCollectionNames().filter(name => !name.startsWith('system.'))) {
        assertEq(to.getCollection(name).getIndexes().map(spec => spec.name).sort(),
                 load.getCollection(name).getIndexes().map(spec => spec.name).sort());
    }
    stopServer(restored);
    stopServer(server);
});
