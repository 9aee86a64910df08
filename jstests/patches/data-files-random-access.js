// dataFilesRandomAccess: pages of data files are read without those around them.
// docs: patches/data-files-random-access.patch
// Group: patches

const name = 'dataFilesRandomAccess';
const text = 'x'.repeat(1000);

// Flags of the mappings of data files, as Linux shows them.
function flagsOfDataFiles(server) {
    const flags = [];
    let isDataFile = false;
    const {pid} = server.shell.getDB('admin').runCommand({serverStatus: 1});
    for (const line of fs.readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
        if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isDataFile = /\/test\.(ns|0)$/.test(line);
        if (isDataFile && line.startsWith('VmFlags:')) flags.push(line.split(/\s+/));
    }
    return flags;
}

test('the base does not know it', () => assertBaseRejects(name));

test('off by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 20);
    const flags = flagsOfDataFiles(server);
    assertTrue(flags.length >= 4, `${flags.length} mappings`);
    assertTrue(flags.every(each => !each.includes('rr')), 'no mapping is hinted');
    assertEq(stopServer(server), 0);
});

test('on: both views of each file have the hint, after many commits and remaps too', () => {
    const server = startServer({options: quick.concat(`--${name}`, '--journalCommitInterval', '2',
                                                      '--syncdelay', '1')});
    assertEq(parameter(server, name), true);
    insertDurably(server, 0, 100);
    const flags = flagsOfDataFiles(server);
    assertTrue(flags.length >= 4, `${flags.length} mappings`);
    assertTrue(flags.every(each => each.includes('rr')), 'every mapping is hinted');
    assertEq(durable(server).countDocuments({}), 100);
    assertEq(stopServer(server), 0);
});

test('what walks through a collection finds all of it', () => {
    const server = startServer({options: quick.concat(`--${name}`)});
    const many = durable(server);
    for (let i = 0; i < 5; i++)
        many.insertMany(Array.from({length: 1000}, (_, n) => ({_id: 1000 * i + n, n, text})));
    many.createIndex({n: 1});
    const database = server.shell.getDB('test');
    assertEq(many.find().toArray().length, 5000);
    assertEq(many.find().sort({$natural: -1}).toArray().length, 5000);
    assertEq(many.find({_id: {$gte: 0}}).hint({_id: 1}).toArray().length, 5000);
    assertEq(many.find({n: {$gte: 0}}).hint({n: 1}).toArray().length, 5000);
    assertEq(many.find({n: 7}).toArray().length, 5);
    const collection = many.getName();
    assertEq(database.runCommand({touch: collection, data: true, index: true}).ok, 1);
    assertEq(database.runCommand({compact: collection}).ok, 1);
    const report = database.runCommand({validate: collection, full: true});
    assertTrue(report.valid, JSON.stringify(report.errors));
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.dataFilesRandomAccess', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => assertRefused([`--${name}=perhaps`], name));

testRecoveryAcrossBuilds([`--${name}`]);
