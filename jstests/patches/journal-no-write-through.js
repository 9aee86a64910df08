// journalNoWriteThrough: known everywhere, but only Windows has what it leaves out.
// docs: patches/journal-no-write-through.patch
// Group: patches

const name = 'journalNoWriteThrough';
const refusal = `${name} has no effect on this system: only on Windows`;

test('the base does not know it', () => assertBaseRejects(name));

test('help says for which system it is', () => {
    const help = runServer(['--help']).output.replace(/\s+/g, ' ');
    assertContains(help, `--${name}`);
    assertContains(help, 'Windows only');
});

test('refused here on the command line, with the reason',
     () => assertRefused([`--${name}`], refusal));

test('refused here in YAML and as a parameter at the start', () => {
    const file = path.join(newFolder('yaml'), 'mongod.yaml');
    fs.writeFileSync(file, 'storage:\n  journal:\n    noWriteThrough: true\n');
    assertRefused(['--config', file], refusal);
    const run = runServer(['--setParameter', `${name}=true`]);
    assertEq(run.exitCode, 2);
    assertContains(run.output, name);
});

test('false is the default, and may be said', () => {
    const server = startFromYaml('storage.journal.noWriteThrough', 'false');
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 2);
    assertEq(metrics(server, name), undefined);
    assertCommandFails(server.shell.getDB('admin'), {setParameter: 1, [name]: true}, 20);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds(['--journalCommitInterval', '2']);
