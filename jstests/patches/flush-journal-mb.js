// flushJournalMB: the data files are flushed when so much journal was written.
// docs: patches/flush-journal-mb.patch
// Group: patches

const name = 'flushJournalMB';
const onlyOnDemand = quick.concat('--syncdelay', '0');
const flushes = server => Number(server.shell.getDB('admin').serverStatus()
                                     .backgroundFlushing.flushes);

test('the base does not know it', () => assertBaseRejects(name, '64'));

test('0, the default: only syncdelay begins a flush', () => {
    const server = startServer({options: onlyOnDemand});
    assertEq(parameter(server, name), 0);
    insertDurably(server, 0, 200);
    assertEq(dur(server).flushJournalMB, undefined);
    assertEq(flushes(server), 0);
    assertEq(stopServer(server), 0);
});

test('after each such stretch of the journal, in both ways to write data files', () => {
    for (const writes of ['commit', 'flush']) {
        const server = startServer({
            options: onlyOnDemand.concat(`--${name}`, '1', '--dataFileWrites', writes),
        });
        assertEq(parameter(server, name), 1);
        let inserted = 0;
        for (const wanted of [1, 2]) {
            waitFor('a flush', () => {
                insertDurably(server, inserted, 50);
                inserted += 50;
                return flushes(server) >= wanted;
            });
            assertBetween(wanted, Number(dur(server).flushJournalMB.flushes), inserted / 100);
        }
        assertEq(durable(server).countDocuments({}), inserted);
        assertEq(stopServer(server), 0);
    }
});

test('may be switched while running', () => {
    const server = startServer({options: onlyOnDemand});
    assertEq(setParameter(server, name, 1).was, 0);
    let inserted = 0;
    waitFor('a flush', () => {
        insertDurably(server, inserted, 50);
        inserted += 50;
        return flushes(server) > 0;
    });
    assertEq(setParameter(server, name, 0).was, 1);
    assertEq(dur(server).flushJournalMB, undefined);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.flushJournalMB', 64);
    assertEq(parameter(server, name), 64);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    for (const bad of ['-1', '65537', 'much']) assertRefused([`--${name}=${bad}`], name);
});

testRecoveryAcrossBuilds([`--${name}`, '1']);
