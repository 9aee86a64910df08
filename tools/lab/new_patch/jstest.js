// $option: say in a line what it changes.
// docs: patches/$slug.patch
// Group: patches

const name = '$option';

test('the base does not know it', () => assertBaseRejects(name));

test('off by default', () => {
    const server = startServer({options: quick});
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 20);
    assertEq(stopServer(server), 0);
});

test('on: nothing durable changes', () => {
    const server = startServer({options: quick.concat(`--$${name}`)});
    assertEq(parameter(server, name), true);
    insertDurably(server, 0, 20);
    assertEq(durable(server).countDocuments({}), 20);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('$yaml', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds([`--$${name}`]);
