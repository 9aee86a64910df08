// journalCommitDelay: a commit by demand waits for the clients that shared the last one.
// docs: patches/journal-commit-delay.patch; journal spec 7.6
// Group: patches

const name = 'journalCommitDelay';
const demand = quick.concat('--journalCommitInterval', '0');

test('the base does not know it', () => assertBaseRejects(name));

test('off by default: no commit waits', () => {
    const server = startServer({options: demand});
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 5);
    assertEq(metrics(server, name), undefined);
    assertEq(stopServer(server), 0);
});

test('a lone client has no group to wait for', () => {
    const server = startServer({options: demand.concat(`--${name}`)});
    assertEq(parameter(server, name), true);
    insertDurably(server, 0, 20);
    assertEq(Number(metrics(server, name).delays), 0);
    assertEq(durable(server).countDocuments({}), 20);
    assertEq(stopServer(server), 0);
});

test('may be switched while running', () => {
    const server = startServer({options: demand});
    assertEq(setParameter(server, name, true).was, false);
    assertTrue(metrics(server, name) !== undefined);
    insertDurably(server, 0, 5);
    assertEq(setParameter(server, name, false).was, true);
    assertEq(metrics(server, name), undefined);
    assertEq(stopServer(server), 0);
});

test('a fixed interval does not heed it', () => {
    const server = startServer({options: quick.concat('--journalCommitInterval', '2',
                                                      `--${name}`)});
    insertDurably(server, 0, 5);
    assertEq(Number(metrics(server, name).delays), 0);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.commitDelay', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    assertRefused([`--${name}=maybe`], `option '--${name}' does not take any arguments`);
});

testRecoveryAcrossBuilds(['--journalCommitInterval', '0', `--${name}`]);
