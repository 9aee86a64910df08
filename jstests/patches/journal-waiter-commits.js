// journalWaiterCommits: who waits alone for a commit makes it at once.
// docs: patches/journal-waiter-commits.patch; journal spec 7.6
// Group: patches

const name = 'journalWaiterCommits';
const made = server => Number(dur(server).waiterCommits.made);

test('the base does not know it', () => assertBaseRejects(name));

test('off by default: the journal thread makes every commit', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 2);
    assertEq(dur(server).waiterCommits, undefined);
    assertEq(stopServer(server), 0);
});

test('a lone client makes its commits itself, at any interval', () => {
    for (const interval of [[], ['--journalCommitInterval', '300']]) {
        const server = startServer({options: quick.concat(`--${name}`, interval)});
        assertEq(parameter(server, name), true);
        insertDurably(server, 0, 50);
        // The journal thread may have been at it when one came; it cannot have been each time.
        assertBetween(1, made(server), 51);
        assertEq(durable(server).countDocuments({}), 50);
        assertEq(stopServer(server), 0);
    }
});

test('what is large is left to the journal thread', () => {
    const server = startServer({options: quick.concat(`--${name}`)});
    insertDurably(server, 0, 1);
    const left = Number(dur(server).waiterCommits.left);
    durable(server).insertOne({_id: 'large', text: 'x'.repeat(1 << 20)},
                              {writeConcern: {w: 1, j: true}});
    assertBetween(left + 1, Number(dur(server).waiterCommits.left), Infinity);
    assertEq(stopServer(server), 0);
});

test('a waiter that was served by its own commit is counted as one', () => {
    if (!appliedPatches().includes('journal-cumulative-stats')) {
        return;
    }
    const server = startServer({options: quick.concat(`--${name}`, '--journalCumulativeStats')});
    const before = Number(dur(server).cumulativeStats.acknowledgedWaiters);
    insertDurably(server, 0, 20);
    assertEq(Number(dur(server).cumulativeStats.acknowledgedWaiters) - before, 20);
    assertEq(stopServer(server), 0);
});

test('may be switched while running', () => {
    const server = startServer({options: quick});
    assertEq(setParameter(server, name, true).was, false);
    insertDurably(server, 0, 20);
    assertBetween(1, made(server), 20);
    assertEq(setParameter(server, name, false).was, true);
    assertEq(dur(server).waiterCommits, undefined);
    insertDurably(server, 20, 2);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.waiterCommits', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    assertRefused([`--${name}=maybe`], `option '--${name}' does not take any arguments`);
});

testRecoveryAcrossBuilds([`--${name}`]);
