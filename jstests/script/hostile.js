// Scripts that never end, want all memory, catch what ends them or change what others use: each
// ends by maxTimeMS or its own limits, in every place that runs one, and the next client finds the
// server, its memory and its JavaScript as before.
// Scripting (docs/security.md).
// Group: script

const server = startServer({options: ['--scripting', '--setParameter',
                                      'documentWorkTicks=1000000000']});
const db1 = server.shell.getDB('test');
const t = db1.getCollection('t');
t.insertMany([...Array(10).keys()].map(i => ({_id: i})));

const endless = 'for (;;) try { while (true) {} } catch (e) { continue } finally { continue }';
const loop = new Code(`function () { ${endless} }`);
const text = `function () { ${endless} }`;
const group = {ns: 't', key: {}, $reduce: new Code('function () {}'), initial: {}};
const map = {mapReduce: 't', map: new Code('emit(1, this._id)'),
             reduce: new Code('function (k, v) { return 1 }'), out: {inline: 1}};
const parts = {init: 'function () { return 0 }', accumulate: 'function (s) { return s }',
               accumulateArgs: [], merge: 'function (a, b) { return a }', lang: 'js'};
const pipeline = stage => ({aggregate: 't', cursor: {}, pipeline: [stage]});
const grouped = more =>
    pipeline({$group: {_id: null, x: {$accumulator: Object.assign({}, parts, more)}}});

const places = {
    count: {count: 't', query: {$where: loop}},
    distinct: {distinct: 't', key: '_id', query: {$where: loop}},
    findAndModify: {findAndModify: 't', query: {$where: loop}, remove: true},
    'update of each': {update: 't', updates: [{q: {$where: loop}, u: {$set: {a: 1}}, multi: true}]},
    'delete of each': {delete: 't', deletes: [{q: {$where: loop}, limit: 0}]},
    'finalize of mapReduce': Object.assign({}, map, {finalize: loop}),
    'mapReduce by values of JavaScript': Object.assign({}, map, {map: loop, jsMode: true}),
    'scope of mapReduce': Object.assign({}, map, {map: new Code('f()'), scope: {f: loop}}),
    '$keyf of group': {group: {ns: 't', $keyf: loop, $reduce: group.$reduce, initial: {}}},
    'finalize of group': {group: Object.assign({}, group, {finalize: loop})},
    '$function': pipeline({$match: {$expr: {$function: {body: text, args: [], lang: 'js'}}}}),
    'init of $accumulator': grouped({init: text}),
    'accumulate of $accumulator': grouped({accumulate: text}),
    'finalize of $accumulator': grouped({finalize: text}),
    'a stored function': {find: 't', filter: {$where: 'stored()'}},
    'a sort': {eval: new Code(`return [2, 1].sort(${text})`)},
    'a getter of the result': {eval: new Code(`return {get a() { ${endless} }}`)},
    'toString': {eval: new Code(`return '' + {toString: ${text}}`)},
    'an array without elements': {eval: new Code('return Array.prototype.map.call({length: 4e9}, ' +
                                                 'function (x) { return x })')},
    'an evaluated text': {eval: new Code(`return eval(${JSON.stringify(endless)})`)},
    'a sleep': {eval: new Code('function () { for (;;) try { sleep(1e9) } catch (e) {} }')},
    'long arrays': {eval: new Code('function () { var a = []; while (a.push(1) < 2e5); ' +
                                   'for (;;) a.reverse() }'), nolock: true},
    'a regular expression': {eval: new Code(
        'return /^(\\w+\\s?)*$/.test(new Array(60).join("aaaa ") + "!")')},
};

db1.getCollection('system.js').insertOne({_id: 'stored', value: loop});
for (const name of Object.keys(places)) {
    test(`maxTimeMS ends ${name}`, () => {
        const started = Date.now();
        const reply = replyTo(db1, {...places[name], maxTimeMS: 60});
        const code = reply.writeErrors ? reply.writeErrors[0].code : reply.code;
        assertEq(code, 50, show(reply));
        assertBetween(0, Date.now() - started, 10000);
        assertEq(t.countDocuments({a: {$exists: false}}), 10);
    });
}
db1.getCollection('system.js').deleteMany({});

// What a script can see of one that ran before.
const look = new Code(`
    var seen = [];
    for (var k in {}) seen.push(k);
    for (var k in []) seen.push(k);
    for (var k in function () {}) seen.push(k);
    seen.push(typeof leaked, typeof tojson, typeof Array.sum, [3, 1].sort().join(),
              Object.keys([1]).join(), '' + {}, tojson({a: [1]}), 'abc'.indexOf('c'),
              JSON.stringify({a: 1}), isNumber(1), Math.max(1, 2), typeof native);
    return seen`);
const fresh = db1.runCommand({eval: look}).retval;

const changes = [
    'leaked = 1; this.tojson = 5; delete this.Array',
    'Object.prototype.leaked = 1; Array.prototype.leaked = 1; Function.prototype.leaked = 1',
    'Array.prototype.push = Array.prototype.join = Array.prototype.sort = function () {}',
    'Array.sum = Object.keys = JSON.stringify = Math.max = String.prototype.indexOf = null',
    'Object.defineProperty(Object.prototype, "a", {set: function () { throw 1 }})',
    'Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(this)',
    'Object.prototype.toString = Object.prototype.valueOf = function () { throw 2 }',
    'for (var k in this) delete this[k]; this.__proto__ = null',
    'isNumber = tojson = print = function () { for (;;); }',
    'Object.getOwnPropertyNames(this).forEach(function (k) { delete this[k] })',
];

test('what a script changes is gone for the next one', () => {
    for (const change of changes) {
        replyTo(db1, {eval: new Code(change)});
        assertEq(db1.runCommand({eval: look}).retval, fresh, change);
        replyTo(db1, {find: 't', filter: {$where: `${change}; return true`}});
        const found = t.find({$where: 'typeof leaked == "undefined" && tojson([1]) == "[ 1 ]"'});
        assertEq(found.toArray().length, 10, change);
        replyTo(db1, {...map, map: new Code(`${change}; emit(1, 1)`)});
        assertEq(db1.runCommand(map).results, [{_id: 1, value: 1}], change);
    }
});

const hungry = [
    'var a = []; for (;;) try { a.push("" + Math.random()) } catch (e) {}',
    'var s = "x"; for (;;) try { s += s } catch (e) {}',
    'var o = {}; for (var i = 0; ; ++i) try { o["k" + i] = {} } catch (e) {}',
    'function f() { try { f() } finally { f() } } f()',
    'for (var a = []; ;) try { a = [a, new Array(100000).join("x")] } catch (e) {}',
    'var all = []; for (;;) try { all.push(function () { return all }) } catch (e) {}',
    'var a = []; for (var i = 0; i < 1e7; ++i) a.push(i); return a',
    'return new Array(3e7).join("xxxxxxxx")',
];

test('memory that a script took is free again', () => {
    const resident = () => Number(db1.serverStatus().mem.resident);
    const before = resident();
    for (let round = 0; round < 2; round++) {
        for (const code of hungry) {
            const reply = replyTo(db1, {eval: new Code(code), nolock: true, maxTimeMS: 1500});
            assertTrue(reply.ok === 0, code);
            assertEq(db1.runCommand({eval: look}).retval, fresh, code);
                assertTrue(resident() - before <= 300, code);
        }
    }
});

test('the server is as it was', () => {
    assertEq(t.countDocuments({}), 10);
    assertTrue(t.validate({full: true}).valid);
    const evals = {active: true, 'command.eval': {$exists: true}};
    assertEq(db1.getSiblingDB('admin').currentOp(evals).inprog.length, 0);
});

assertEq(stopServer(server), 0);
