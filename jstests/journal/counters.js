// The dur section of serverStatus counts commits and their bytes, and the commit interval rules
// how many there are. Journal spec 1.7, 5.1, 5.3.
// Group: journal

const fields = ['commits', 'journaledMB', 'writeToDataFilesMB', 'compression',
                'commitsInWriteLock', 'earlyCommits', 'timeMs'];
const times = ['dt', 'prepLogBuffer', 'writeToJournal', 'writeToDataFiles', 'remapPrivateView'];
const dur = server => server.shell.getDB('admin').runCommand({serverStatus: 1}).dur;
const t = server => server.shell.getDB('test').getCollection('counted');

// A block that was filled after the call began: the second one to be published from now on.
function nextBlocks(server) {
    let seen = 0;
    let last = show(dur(server));
    waitFor('two blocks of counters are published', () => {
        const now = show(dur(server));
        if (now !== last) {
            last = now;
            seen++;
        }
        return seen === 2;
    });
    return dur(server);
}

const server = startServer({options: ['--smallfiles', '--nssize', '1', '--nopreallocj']});
const admin = server.shell.getDB('admin');

test('the section has its fields in their order', () => {
    const section = dur(server);
    assertEq(Object.keys(section).filter(name => fields.includes(name)), fields);
    assertEq(Object.keys(section.timeMs).filter(name => times.includes(name)), times);
    assertEq(section.journalCommitIntervalMs, undefined);
});

test('blocks cover three seconds', () => {
    assertBetween(3000, nextBlocks(server).timeMs.dt, 30000);
});

test('a smaller interval means more commits, also at run time', () => {
    assertEq(admin.runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 0);
    const idle = nextBlocks(server).commits / dur(server).timeMs.dt;
    assertEq(admin.runCommand({setParameter: 1, journalCommitInterval: 10}).ok, 1);
    assertEq(serverLog(server).split('setParameter journalCommitInterval=10').length, 2);
    assertEq(admin.runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 10);
    const busy = nextBlocks(server);
    assertEq(busy.journalCommitIntervalMs, 10);
    assertTrue(busy.commits / busy.timeMs.dt > 2 * idle,
               `${busy.commits} commits against ${idle} per ms before`);
});

test('the interval has limits', () => {
    const low = appliedPatches().includes('journal-commit-interval') ? [] : [0, 1];
    for (const value of low.concat([-5, 500])) {
        assertEq(replyTo(admin, {setParameter: 1, journalCommitInterval: value}).ok, 0);
    }
    assertEq(admin.runCommand({getParameter: 1, journalCommitInterval: 1})
        .journalCommitInterval, 10);
});

test('the journal grows by whole units of 8192 bytes', () => {
    const file = path.join(server.dbpath, 'journal', 'j._0');
    const before = fs.statSync(file).size;
    for (let i = 0; i < 5; i++) {
        t(server).insertOne({_id: i}, {writeConcern: {w: 1, j: true}});
    }
    const grown = fs.statSync(file).size - before;
    assertEq([before % 8192, grown % 8192], [0, 0]);
    assertBetween(5 * 8192, grown, 20 * 8192);
});

stopServer(server);
