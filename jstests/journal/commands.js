// Commands about the journal and flushes: fsync in its forms, parameters, journalLatencyTest, and
// serverStatus with and without a journal. Journal spec 5.2 to 5.6, 6.3.
// Group: journal

const small = ['--smallfiles', '--nssize', '1', '--nopreallocj'];
const isNumber = value => typeof value === 'number' || value instanceof Double ||
    value instanceof Int32 || value instanceof Long;
const status = server => server.shell.getDB('admin').runCommand({serverStatus: 1});

test('fsync flushes, and tells how many files', () => {
    const server = startServer({options: small});
    const admin = server.shell.getDB('admin');
    server.shell.getDB('test').getCollection('c').insertOne({_id: 1});
    const open = ['test', 'local'].length * 2;  // a namespace file and a data file each
    assertEq(admin.runCommand({fsync: 1}).numFiles, open);
    assertEq(admin.runCommand({fsync: 1, async: true}).numFiles, open);
    assertEq(replyTo(admin, {fsync: 1, async: true, lock: true}).ok, 0);
    assertEq(replyTo(server.shell.getDB('test'), {fsync: 1}).ok, 0);
    const flushes = status(server).backgroundFlushing;
    assertEq(Object.keys(flushes),
             ['flushes', 'total_ms', 'average_ms', 'last_ms', 'last_finished']);
    assertEq([flushes.flushes, flushes.last_finished.getTime()], [0, 0]);  // not of commands
    stopServer(server);
});

test('the background flush counts its runs', () => {
    const server = startServer({options: small.concat('--syncdelay', '0.01')});
    waitFor('two flushes are counted', () => status(server).backgroundFlushing.flushes >= 2);
    assertTrue(status(server).backgroundFlushing.last_finished.getTime() > 0);
    const admin = server.shell.getDB('admin');
    assertEq(admin.runCommand({getParameter: 1, syncdelay: 1}).syncdelay, 0.01);
    assertEq(admin.runCommand({setParameter: 1, syncdelay: 0}).ok, 1);
    stopServer(server);
});

test('memory is mapped twice with a journal', () => {
    const server = startServer({options: small});
    const {mem} = status(server);
    assertEq(mem.mappedWithJournal, 2 * mem.mapped);
    assertTrue(mem.mapped > 0);
    stopServer(server);
});

test('without a journal its parameters and counters are absent', () => {
    const server = startServer({options: ['--nojournal', '--smallfiles', '--nssize', '1']});
    const admin = server.shell.getDB('admin');
    const found = status(server);
    assertEq([found.dur, found.mem.mappedWithJournal], [undefined, undefined]);
    assertTrue(found.backgroundFlushing !== undefined);
    const get = replyTo(admin, {getParameter: 1, journalCommitInterval: 1});
    assertContains(get.errmsg, 'no option found to get');
    const set = replyTo(admin, {setParameter: 1, journalCommitInterval: 10});
    assertContains(set.errmsg, 'journaling is off');
    assertTrue(!fs.existsSync(path.join(server.dbpath, 'journal', 'j._0')));
    stopServer(server);
});

test('journalLatencyTest is there for those who ask for test commands', () => {
    const plain = startServer({options: small});
    assertCommandFails(plain.shell.getDB('admin'), {journalLatencyTest: 1}, 59);
    stopServer(plain);
    const server = startServer(
        {options: small.concat('--setParameter', 'enableTestCommands=1')});
    const reply = server.shell.getDB('admin').runCommand({journalLatencyTest: 1});
    assertEq(Object.keys(reply), ['timeMillis', 'timeMillisWithPrealloc', 'onSamePartition', 'ok']);
    for (const pass of [reply.timeMillis, reply.timeMillisWithPrealloc]) {
        assertEq(Object.keys(pass), ['8KB', '8KBWithPauses', '1MB']);
        assertTrue(Object.values(pass).every(isNumber), show(pass));
    }
    assertEq(reply.onSamePartition, true);
    assertTrue(!fs.existsSync(path.join(server.dbpath, 'journal', 'journalLatencyTest')));
    assertEq(replyTo(server.shell.getDB('test'), {journalLatencyTest: 1}).ok, 0);
    stopServer(server);
});
