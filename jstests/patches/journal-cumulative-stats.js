// journalCumulativeStats: dur.cumulativeStats counts from the start and never forgets.
// docs: patches/journal-cumulative-stats.patch
// Group: patches

const name = 'journalCumulativeStats';

test('the base does not know it', () => assertBaseRejects(name));

test('not shown by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    assertEq(dur(server).cumulativeStats, undefined);
    assertEq(stopServer(server), 0);
});

test('counts every commit, section, byte and sync', () => {
    const server = startServer({options: quick.concat(`--${name}`)});
    assertEq(parameter(server, name), true);
    insertDurably(server, 0, 1);
    const before = dur(server).cumulativeStats;
    insertDurably(server, 100, 4);  // small documents: one unit each
    const after = dur(server).cumulativeStats;
    const grown = field => Number(after[field]) - Number(before[field]);
    assertEq(grown('sections'), 4);
    assertEq(grown('syncCalls'), 4);
    assertEq(grown('journaledBytes'), 4 * 8192);
    assertBetween(4, grown('commits'), Infinity);
    assertEq(grown('acknowledgedWaiters'), 4);
    assertBetween(4 * 100, grown('uncompressedBytes'), 4 * 8192);
    assertBetween(1, grown('paddingBytes'), 4 * 8192 - 1);
    const stage = after.stages.writeToJournal;
    for (const field of ['count', 'totalMicros', 'p50Micros', 'p95Micros', 'p99Micros',
                         'maxMicros', 'histogram']) {
        assertTrue(stage[field] !== undefined, field);
    }
    assertBetween(Number(stage.p50Micros), Number(stage.p99Micros), Number(stage.maxMicros));
    assertEq(stopServer(server), 0);
});

test('may be shown and hidden while running; nothing is lost while hidden', () => {
    const server = startServer({options: quick});
    insertDurably(server, 0, 3);
    assertEq(setParameter(server, name, true).was, false);
    assertBetween(3, Number(dur(server).cumulativeStats.sections), Infinity);
    assertEq(setParameter(server, name, false).was, true);
    assertEq(dur(server).cumulativeStats, undefined);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.cumulativeStats', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

test('bad values are named', () => {
    assertRefused([`--${name}=maybe`], `option '--${name}' does not take any arguments`);
});

testRecoveryAcrossBuilds([`--${name}`]);
