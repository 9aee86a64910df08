// Logs, pid files and the modes of files: what a server leaves beside its data, what it does not
// follow or overwrite, and damaged databases beside whole ones.
// Group: options

const modeOf = file => fs.lstatSync(file).mode & 0o777;
const lineOf = server => `${server.process.pid}\n`;

function put(file, text) {
    fs.writeFileSync(file, text);
    return file;
}

test('files with documents are the owner\'s alone', () => {
    const server = startServer({options: ['--nopreallocj', '--smallfiles']});
    for (const name of ['local.ns', 'local.0', 'journal/j._0']) {
        assertEq(modeOf(path.join(server.dbpath, name)), 0o600, name);
    }
    stopServer(server);
});

test('a log that is a link to a file is refused', () => {
    const folder = newFolder('links'), dbpath = newFolder('db');
    const at = name => path.join(folder, name);
    put(at('other'), 'theirs');
    for (const [name, target] of [['file', 'other'], ['nothing', 'missing']]) {
        fs.symlinkSync(at(target), at(name));
        const run = runMongod(['--dbpath', dbpath, '--logpath', at(name), '--logappend',
                               '--repair']);
        assertEq(run.code, 1);
        assertContains(run.err, 'it is a link to another file');
    }
    assertEq([readFile(at('other')), fs.existsSync(at('missing'))], ['theirs', false]);
    fs.symlinkSync('/dev/null', at('null'));
    assertEq(runMongod(['--dbpath', dbpath, '--logpath', at('null'), '--repair']).code, 0);
});

test('a second start leaves the pid file', () => {
    const pidFile = path.join(newFolder('pid'), 'pid'), other = newFolder('db');
    const server = startServer({options: ['--smallfiles', '--pidfilepath', pidFile]});
    assertEq([readFile(pidFile), modeOf(pidFile) & 0o022], [lineOf(server), 0]);
    const start = (dbpath, file) => runMongod([
        '--dbpath', dbpath, '--smallfiles', '--nounixsocket', '--port', `${server.port}`,
        '--pidfilepath', file]);
    assertEq(start(server.dbpath, pidFile).code, 100);
    assertEq(readFile(pidFile), lineOf(server));
    const run = start(other, pidFile);
    assertEq(run.code, 100);
    assertContains(run.out, 'is that of another server');
    assertEq(readFile(pidFile), lineOf(server));
    assertEq(start(other, `${pidFile}-2`).code, 48);
    assertTrue(!fs.existsSync(`${pidFile}-2`));
    stopServer(server);
    assertTrue(!fs.existsSync(pidFile));
});

test('a pid file that a crash has left is taken over', () => {
    const pidFile = put(path.join(newFolder('pid'), 'pid'), '123456789012\n');
    const server = startServer({options: ['--smallfiles', '--pidfilepath', pidFile]});
    assertEq(readFile(pidFile), lineOf(server));
    fs.unlinkSync(pidFile);
    put(pidFile, 'theirs');  // another process puts its own there: it stays
    stopServer(server);
    assertEq(readFile(pidFile), 'theirs');
});

test('a pid file that is a link or something else is refused', () => {
    const folder = newFolder('pid'), dbpath = newFolder('db');
    const at = name => path.join(folder, name);
    const refused = (name, why) => {
        const run = runMongod(['--dbpath', dbpath, '--pidfilepath', at(name)]);
        assertEq(run.code, 1);
        assertContains(run.out + run.err, why);
    };
    put(at('other'), 'theirs');
    put(at('number'), '7'.repeat(100));
    for (const name of ['other', 'number']) refused(name, 'something else than a process id');
    fs.symlinkSync(at('other'), at('symbolic'));
    refused('symbolic', 'pid file');
    fs.linkSync(at('number'), at('hard'));
    refused('hard', 'it is a hard link, and has another name');
    assertEq([readFile(at('other')), readFile(at('number'))], ['theirs', '7'.repeat(100)]);
});

test('log and pid file take no place of the databases', () => {
    // Not by any name of the dbpath, nor of what an unclean end has left there.
    const dbpath = newFolder('db'), link = path.join(newFolder('links'), 'link');
    fs.symlinkSync(dbpath, link);
    fs.mkdirSync(path.join(dbpath, 'test'));
    const names = ['mongod.lock', 'storage.bson', 'test.0', 'test.ns'];
    for (const name of [...names, 'test/test.0']) {
        put(path.join(dbpath, name), '4711\n');
        for (const option of ['--logpath', '--pidfilepath']) {
            for (const folder of [dbpath, link]) {
                const run = runMongod(['--dbpath', dbpath, option, path.join(folder, name)]);
                assertEq(run.code, 2, name);
                assertContains(run.out + run.err, 'give it another name');
            }
        }
        assertEq(readFile(path.join(dbpath, name)), '4711\n');
    }
    for (const name of ['journal/log', '_tmp/log']) {
        assertEq(runMongod(['--dbpath', dbpath, '--logpath', path.join(dbpath, name)]).code, 2);
    }
    assertEq(fs.readdirSync(dbpath).sort(), [...names, 'test'].sort());
});

test('damaged databases are listed with the others', () => {
    const names = ['cut', 'entries', 'gone', 'header', 'names', 'whole'];
    let server = startServer({options: ['--smallfiles']});
    for (const name of names) {
        server.shell.getDB(name).getCollection('c').insertOne({_id: 1});
        server.shell.getDB(name).getCollection('c').createIndex({a: 1});
    }
    stopServer(server);
    const at = name => path.join(server.dbpath, name);
    const overwrite = (name, places) => {
        const file = fs.openSync(at(name), 'r+');
        for (const place of places) fs.writeSync(file, Buffer.alloc(64, 0xee), 0, 64, place);
        fs.closeSync(file);
    };
    const steps = (from, to, by) => Array.from({length: Math.ceil((to - from) / by)},
                                               (_, i) => from + i * by);
    // Where the hash table has entries, 628 bytes each.
    const table = fs.readFileSync(at('entries.ns'));
    const used = steps(0, table.length - 628, 628).filter(place => table.readUInt32LE(place));
    fs.truncateSync(at('cut.ns'), 4096);
    overwrite('entries.ns', used.map(place => place + 132));
    fs.truncateSync(at('gone.0'), 0);
    overwrite('header.0', [0]);
    overwrite('names.0', steps(8192, 65536, 64));

    server = startServer({options: ['--smallfiles'], folder: server.folder});
    const admin = server.shell.getDB('admin');
    const reply = admin.runCommand({listDatabases: 1});
    const listed = reply.databases.map(each => each.name).sort();
    assertEq(listed, [...names, 'admin', 'local'].sort());
    let sum = 0;
    const damaged = [];
    for (const each of reply.databases) {
        if (each.name === 'admin') continue;
        sum += Number(each.sizeOnDisk);
        if (each.name === 'local') continue;
        const files = fs.readdirSync(server.dbpath)
            .filter(file => file.startsWith(`${each.name}.`));
        assertEq(Number(each.sizeOnDisk),
                 files.reduce((bytes, file) => bytes + fs.statSync(at(file)).size, 0), each.name);
        const collections = replyTo(server.shell.getDB(each.name), {listCollections: 1});
        if (collections.ok) continue;
        damaged.push(each.name);
        assertEq(each.empty, false, each.name);
    }
    assertEq(Number(reply.totalSize), sum);
    assertEq(admin.runCommand({listDatabases: 1, nameOnly: true}).databases,
             listed.map(name => ({name})));
    for (const name of ['cut', 'header']) assertTrue(damaged.includes(name), name);
    assertTrue(!damaged.includes('whole'));
    assertEq(server.shell.getDB('whole').getCollection('c').findOne(), {_id: 1});
    for (const name of damaged) {
        assertTrue(new RegExp(`ERROR: .*database ${name}`).test(serverLog(server)), name);
    }
    stopServer(server);
});
