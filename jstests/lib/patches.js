// What the tests of single patches share. They have two programs: the one under test, which has the
// patch (harness.mongod), and the base, which has none (harness.base).

// No preallocation: it would only make every start slower.
const quick = ['--smallfiles', '--nssize', '1', '--nopreallocj'];

const durable = server => server.shell.getDB('test').getCollection('durable');
const parameter = (server, name) =>
    server.shell.getDB('admin').runCommand({getParameter: 1, [name]: 1})[name];
const setParameter = (server, name, value) =>
    server.shell.getDB('admin').runCommand({setParameter: 1, [name]: value});
const dur = server => server.shell.getDB('admin').runCommand({serverStatus: 1}).dur;
// Of an option journalX, in dur.x.
const metrics = (server, option) => dur(server)[option[7].toLowerCase() + option.slice(8)];

// Inserts with j:true documents first..first + count - 1, some small, some large.
function insertDurably(server, first, count) {
    for (let i = first; i < first + count; i++) {
        durable(server).insertOne({_id: i, text: 'x'.repeat(i % 7 === 6 ? 20000 : 100)},
                                  {writeConcern: {w: 1, j: true}});
    }
}

// The option is unknown to the base, and --help does not list it there.
function assertBaseRejects(option, ...value) {
    const run = runServer([`--${option}`].concat(value), undefined, harness.base);
    assertEq(run.exitCode, 2);
    assertContains(run.output, `unknown option ${option}: it comes with the patch `);
    assertTrue(!runServer(['--help'], undefined, harness.base).output.includes(`--${option} `));
    assertContains(runServer(['--help']).output, `--${option} `);
}

// The server ends with exit code 2 and says this.
function assertRefused(options, text) {
    const run = runServer(options);
    assertEq(run.exitCode, 2, options.join(' '));
    assertContains(run.output, text);
}

// The option in a YAML file; `name` like 'storage.journal.padBytes'.
function startFromYaml(name, value) {
    const words = name.split('.');
    const lines = words.map((word, i) => `${'  '.repeat(i)}${word}:`);
    const folder = newFolder('yaml');
    const file = path.join(folder, 'mongod.yaml');
    fs.writeFileSync(file, `${lines.join('\n')} ${value}\n`);
    return startServer({options: quick.concat('--config', file), folder});
}

// Writes with one program and kills it; the other one must recover everything that was
// acknowledged, and after its clean shutdown the first must find it all again.
function assertRecovers(writer, reader) {
    const first = startServer(writer);
    insertDurably(first, 0, 25);
    stopServer(first, 'SIGKILL');
    const second = startServer({...reader, folder: first.folder});
    assertContains(serverLog(second), 'recover done');
    assertEq(durable(second).countDocuments({}), 25);
    assertTrue(durable(second).validate({full: true}).valid);
    insertDurably(second, 25, 5);
    assertEq(stopServer(second), 0);
    const third = startServer({...writer, folder: first.folder});
    assertEq(durable(third).countDocuments({}), 30);
    assertTrue(durable(third).validate({full: true}).valid);
    assertEq(stopServer(third), 0);
}

// Both directions, with the same data directory format on either side.
function testRecoveryAcrossBuilds(option) {
    const patched = {options: quick.concat(option)};
    const base = {options: quick, program: harness.base};
    test(`${option.join(' ')}: the base recovers what this build wrote`,
         () => assertRecovers(patched, base));
    test(`${option.join(' ')}: this build recovers what the base wrote`,
         () => assertRecovers(base, patched));
    test(`${option.join(' ')}: this build recovers what it wrote`,
         () => assertRecovers(patched, patched));
}
