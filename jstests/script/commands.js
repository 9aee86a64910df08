// $where, mapReduce, group, eval, stored functions, $function and $accumulator.
// Scripting (docs/security.md).
// Group: script

const server = startServer({options: ['--scripting']});
const db1 = server.shell.getDB('test');
const t = db1.getCollection('t');

test('$where finds, counts, changes and removes', () => {
    t.insertMany([...Array(20).keys()].map(i => ({_id: i, a: i % 3, l: [i, i + 1]})));
    const ids = filter => t.find(filter).sort({_id: 1}).toArray().map(d => d._id);
    assertEq(ids({$where: 'this.a == 2 && this._id > 10'}), [11, 14, 17]);
    assertEq(ids({$where: 'this.returned == undefined && this._id < 2'}), [0, 1]);
    assertEq(ids({$where: new Code('this.a == x', {x: 2}), _id: {$lt: 6}}), [2, 5]);
    assertEq(ids({$or: [{$where: 'obj.l[0] == 3'}, {_id: 19}]}), [3, 19]);
    assertEq(t.countDocuments({_id: 99}), 0);
    assertEq(db1.runCommand({count: 't', query: {$where: 'this.a == 0'}}).n, 7);
    assertEq(db1.runCommand({distinct: 't', key: 'a', query: {$where: 'this._id < 2'}}).values,
             [0, 1]);
    assertEq(t.updateMany({$where: 'this._id == 4'}, {$set: {z: 1}}).modifiedCount, 1);
    assertEq(t.findOneAndUpdate({$where: 'this.z == 1'}, {$unset: {z: 1}})._id, 4);
    assertEq(t.deleteMany({$where: 'this._id >= 18'}).deletedCount, 2);
});

test('what a script does wrong is its error, and changes nothing', () => {
    for (const code of ['throw 1', 'return (', 'nosuch', 'db.t.count()', 'this.a.b.c']) {
        assertCommandFails(db1, {find: 't', filter: {$where: code}}, 16722);
    }
    assertCommandFails(db1, {find: 't', filter: {$where: 1}}, 2);
    assertCommandFails(db1, {find: 't', filter: {a: {$elemMatch: {$where: '1'}}}}, 2);
    assertCommandFails(db1, {aggregate: 't', cursor: {}, pipeline: [{$match: {$where: '1'}}]},
                       16395);
    assertEq(t.countDocuments(), 18);
});

test('mapReduce, inline and into collections', () => {
    const job = {mapReduce: 't', map: new Code('function () { emit(this.a, this._id) }'),
                 reduce: new Code('function (k, vs) { return Array.sum(vs) }')};
    const inline = db1.runCommand({...job, out: {inline: 1}});
    assertEq(inline.results, [{_id: 0, value: 45}, {_id: 1, value: 51}, {_id: 2, value: 57}]);
    assertEq(inline.counts, {input: 18, emit: 18, reduce: 3, output: 3});
    assertEq(db1.runCommand({...job, out: 'sums', query: {_id: {$lt: 3}}}).counts.output, 3);
    const sums = () => db1.getCollection('sums').find().sort({_id: 1}).toArray();
    assertEq(sums(), [{_id: 0, value: 0}, {_id: 1, value: 1}, {_id: 2, value: 2}]);
    db1.runCommand({...job, out: {reduce: 'sums'}, query: {_id: {$in: [3, 5]}}});
    assertEq(sums(), [{_id: 0, value: 3}, {_id: 1, value: 1}, {_id: 2, value: 7}]);
    db1.runCommand({...job, out: {merge: 'sums'}, query: {_id: 4},
                    finalize: new Code('function (k, v) { return {was: v} }')});
    assertEq(sums(), [{_id: 0, value: 3}, {_id: 1, value: {was: 4}}, {_id: 2, value: 7}]);
    db1.runCommand({...job, out: {replace: 'other', db: 'test2'}, sort: {_id: -1}, limit: 1});
    assertEq(server.shell.getDB('test2').getCollection('other').find().toArray(),
             [{_id: 2, value: 17}]);
    assertCommandFails(db1, {...job, out: {inline: 1}, reduce: new Code('throw 1')}, 16722);
    const emits = new Code('function (k, v) { emit(k, 5); return 1 }');
    for (const jsMode of [false, true]) {
        for (const part of [{reduce: emits}, {finalize: emits}])
            assertCommandFails(db1, {...job, ...part, jsMode, out: {inline: 1}}, 16722);
    }
});

test('group', () => {
    const reply = db1.runCommand({group: {
        ns: 't', key: {a: 1}, cond: {_id: {$lt: 6}}, initial: {n: 0, ids: []},
        $reduce: new Code('function (d, g) { g.n++; g.ids.push(d._id) }'),
        finalize: new Code('function (g) { g.twice = g.n * 2 }')}});
    assertEq(reply.retval.map(g => [g.a, g.ids, g.twice]),
             [[0, [0, 3], 4], [1, [1, 4], 4], [2, [2, 5], 4]]);
    assertEq([reply.count, reply.keys], [6, 3]);
});

test('eval reads and writes by db, also functions that it hands on', () => {
    const run = (code, ...args) => db1.runCommand({eval: new Code(code), args}).retval;
    assertEq(run('function (x, y) { return x + y }', 2, 3), 5);
    assertEq(run('db.e.insert({_id: 1, n: NumberLong(5)}); return db.e.findOne().n + 1'), 6);
    assertEq(run('return db.t.mapReduce(function () { emit(1, 1) }, ' +
                 'function (k, vs) { return vs.length }, {out: {inline: 1}}).results[0].value'),
             18);
    assertEq(run('return db.t.find({$where: function () { return this._id > 15 }}).count()'), 2);
    assertEq(run('return db.t.find().sort({_id: -1}).limit(2).map(function (d) {' +
                 ' return d._id })'), [17, 16]);
    assertEq(run('db.getSiblingDB("test3").made.insert({}); return db.getSiblingDB("test3")' +
                 '.dropDatabase().ok'), 1);
    assertEq(db1.runCommand({eval: new Code('return db.getName()'), nolock: true}).retval, 'test');
    assertCommandFails(db1, {eval: new Code('throw 1')}, 16722);
});

test('stored functions are there, and changes of them are seen', () => {
    const js = db1.getCollection('system.js');
    js.insertOne({_id: 'twice', value: new Code('function (x) { return 2 * x }')});
    assertEq(t.find({$where: 'twice(this._id) == 8'}).toArray()[0]._id, 4);
    js.updateOne({_id: 'twice'}, {$set: {value: new Code('function (x) { return 3 * x }')}});
    assertEq(db1.runCommand({eval: new Code('return twice(3)')}).retval, 9);
    js.deleteMany({});
    assertCommandFails(db1, {eval: new Code('return twice(3)')}, 16722);
});

test('$function and $accumulator', () => {
    const both = t.aggregate([
        {$match: {$expr: {$function: {body: 'function (x) { return x < 6 }', args: ['$_id'],
                                      lang: 'js'}}}},
        {$group: {_id: '$a', ids: {$accumulator: {
            init: 'function (first) { return [first] }', initArgs: ['x'],
            accumulate: 'function (s, id) { s.push(id); return s }', accumulateArgs: ['$_id'],
            merge: 'function (a, b) { return a.concat(b) }',
            finalize: 'function (s) { return s.join() }', lang: 'js'}}}},
        {$sort: {_id: 1}}]).toArray();
    assertEq(both, [{_id: 0, ids: 'x,0,3'}, {_id: 1, ids: 'x,1,4'}, {_id: 2, ids: 'x,2,5'}]);
});

stopServer(server);
