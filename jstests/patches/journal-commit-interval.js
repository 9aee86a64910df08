// journalCommitInterval below 2: commits follow demand.
// docs: patches/journal-commit-interval.patch; journal spec 7.6
// Group: patches

const name = 'journalCommitInterval';

test('the base refuses values below 2', () => {
    for (const bad of ['0', '1']) {
        const run = runServer([`--${name}`, bad], undefined, harness.base);
        assertEq(run.exitCode, 2);
        assertContains(run.output, `--${name} out of allowed range`);
    }
});

test('unset and 2 are what they were', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), 0);
    insertDurably(server, 0, 2);
    assertEq(stopServer(server), 0);
    const two = startServer({options: quick.concat(`--${name}`, '2')});
    assertEq(parameter(two, name), 2);
    insertDurably(two, 0, 2);
    assertEq(stopServer(two), 0);
});

test('serverStatus tells 0 from not set, where getParameter shows 0 for both', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), 0);
    assertEq(dur(server).journalCommitIntervalMs, undefined);
    assertEq(setParameter(server, name, 0).ok, 1);
    assertEq(parameter(server, name), 0);
    assertEq(dur(server).journalCommitIntervalMs, 0);
    assertEq(setParameter(server, name, 0.25).ok, 1);
    assertEq(dur(server).journalCommitIntervalMs, 0.25);
    assertEq(stopServer(server), 0);
});

test('0: durable writes are acknowledged, and one without a waiter is committed', () => {
    const server = startServer({options: quick.concat(`--${name}`, '0')});
    insertDurably(server, 0, 50);
    assertEq(durable(server).countDocuments({}), 50);
    // w:1 alone is committed too: the journal file grows without a waiter.
    const file = path.join(server.dbpath, 'journal', 'j._0');
    const before = fs.statSync(file).size;
    durable(server).insertOne({_id: 'alone'});
    waitFor('the write without a waiter is in the journal', () =>
        fs.statSync(file).size > before);
    assertEq(stopServer(server), 0);
});

test('0: an idle server makes no commits, and metrics do not outlive their 3 seconds', () => {
    const server = startServer({options: quick.concat(`--${name}`, '0')});
    insertDurably(server, 0, 20);
    waitFor('the commits show', () => dur(server).commits >= 20);
    waitFor('they are gone', () => dur(server).commits === 0);
    assertEq(stopServer(server), 0);
});

test('0: what it does is counted', () => {
    const server = startServer({options: quick.concat(`--${name}`, '0')});
    insertDurably(server, 0, 10);
    durable(server).insertOne({_id: 'alone'});
    // A waiter's write may also be in a commit whose delay has passed just then.
    waitFor('each has its commit, and the one without a waiter a delayed one', () => {
        const {forWaiters, delayed} = dur(server).commitInterval;
        return forWaiters >= 1 && delayed >= 1 && forWaiters + delayed >= 11;
    });
    assertEq(Object.keys(dur(server).commitInterval), ['forWaiters', 'delayed', 'parked']);
    waitFor('it is parked', () => dur(server).commitInterval.parked > 0);
    assertEq(setParameter(server, name, 2).ok, 1);
    assertEq(dur(server).commitInterval, undefined);
    assertEq(stopServer(server), 0);
});

test('fractions, at start and at run time', () => {
    const server = startServer({options: quick.concat(`--${name}`, '0.5')});
    assertEq(parameter(server, name), 0.5);
    for (const value of [0, 1.25, 2, 1, 100, 0]) {
        assertEq(setParameter(server, name, value).ok, 1);
        assertEq(parameter(server, name), value);
        insertDurably(server, 1000 * value, 3);
        durable(server).deleteMany({}, {writeConcern: {w: 1, j: true}});
    }
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.commitIntervalMs', 1.5);
    assertEq(parameter(server, name), 1.5);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['-1', '300.1', 'x', '1ms']) {
        assertRefused([`--${name}=${bad}`], name);
    }
    assertRefused([`--${name}=-0.5`], `--${name} must be a number of ms from 0 to 300`);
    const server = startServer({options: quick});
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: 499.5}, 2);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: -1}, 2);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--${name}`, '0']);
