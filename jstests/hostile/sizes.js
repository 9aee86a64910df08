// Sizes that no disk has, and numbers at the edge of what there is: refused, and nothing is lost.
// Group: hostile

const server = startServer({options: ['--smallfiles', '--nssize', '1', '--setParameter',
                                      'enableTestCommands=1']});
const db1 = server.shell.getDB('sizes');
const kLongMax = '9223372036854775807';

test('sizes that no disk has are refused before anything is allocated', () => {
    db1.getCollection('plain').insertOne({_id: 1});
    const files = () => fs.readdirSync(server.dbpath).filter(name => name.includes('.'))
        .map(name => [name, fs.statSync(path.join(server.dbpath, name)).size]);
    const before = files();
    for (const size of [NumberLong('1000000000000000000'), NumberLong('1000000000000000'),
                        NumberLong('4611686018427387904'), NumberLong(kLongMax), 1e18, 9e18,
                        1e300, Infinity]) {
        const extents = typeof size === 'number' ? 1e9 : Array(20000).fill(size);
        for (const command of [
            {create: 'huge', capped: true, size}, {create: 'huge', capped: true, size, max: 1},
            typeof size === 'number' ? {create: 'huge', $nExtents: extents, size}
                : {create: 'huge', capped: true, $nExtents: extents, size: 1},
            {convertToCapped: 'plain', size},
            {cloneCollectionAsCapped: 'plain', toCollection: 'huge', size},
        ]) {
            assertEq(replyTo(db1, command).ok, 0, `${Object.keys(command)} ${size}`);
        }
    }
    for (const size of [-1, NumberLong('-1000000000000000000'), -1e300, NaN]) {
        replyTo(db1, {convertToCapped: 'plain', size});  // done or refused
    }
    assertEq(db1.runCommand({count: 'plain'}).n, 1);
    assertEq(files(), before);
});

test('limits at the edge', () => {
    // The smallest number has no positive one: nothing is lost, or it is refused.
    db1.getCollection('two').insertMany([{_id: 1}, {_id: 2}]);
    for (const text of ['-9223372036854775808', '-9223372036854775807', kLongMax, '-2147483648',
                        '2147483647']) {
        const limit = NumberLong(text);
        for (const more of [{}, {sort: {s: 1}}, {skip: NumberLong(kLongMax), sort: {s: 1}}]) {
            const reply = replyTo(db1, Object.assign({find: 'two', limit}, more));
            if (!reply.ok && text.startsWith('-')) continue;
            assertEq(reply.cursor.firstBatch.length, more.skip ? 0 : 2, text);
        }
    }
});

stopServer(server);
