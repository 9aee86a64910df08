// Text indexes and $text: definitions, words, scores, plans, writes, version 3, the old command.
// Semantics of 2.6 as recorded in tests/oracle/text.jsonl.xz; docs/differences.md.
// Group: text

const server = startServer();
const db1 = server.shell.getDB('test');
const admin = server.shell.getDB('admin');

function fresh(documents, keys = {a: 'text'}, options = {}) {
    const t = db1.getCollection('words');
    t.drop();
    if (documents.length > 0) {
        t.insertMany(documents);
    }
    t.createIndex(keys, options);
    return t;
}

function ids(cursor) {
    return cursor.toArray().map(document => document._id).sort((a, b) => a - b);
}

const kFoxes = [
    {_id: 1, a: 'The quick brown fox jumps over the lazy dog', p: 1},
    {_id: 2, a: 'Jumping foxes and lazy dogs', p: 1},
    {_id: 3, a: 'fox', p: 2},
    {_id: 4, a: 'nothing of the kind', p: 2},
    {_id: 5, b: 'fox', p: 2},
];
const kScore = {$meta: 'textScore'};

test('a definition is stored as 2.6 stored it', () => {
    const t = fresh([], {p: 1, b: 'text', a: 'text'},
                    {weights: {a: 3}, name: 'n', textIndexVersion: 2});
    assertEq(t.getIndexes()[1].key, {p: 1, _fts: 'text', _ftsx: 1});
    assertEq(t.getIndexes()[1].weights, {a: 3, b: 1});
    assertEq([t.getIndexes()[1].default_language, t.getIndexes()[1].textIndexVersion],
             ['english', 2]);
    assertCommandFails(db1, {createIndexes: 'words', indexes: [{key: {c: 'text'}, name: 'c'}]}, 85);
    assertCommandFails(db1, {createIndexes: 'other', indexes: [
        {key: {c: 'text'}, name: 'c', default_language: 'klingon'}]}, 17264);
});

test('words, phrases, negations and scores', () => {
    const t = fresh(kFoxes);
    const found = search => ids(t.find({$text: {$search: search}}));
    assertEq(found('foxes'), [1, 2, 3]);
    assertEq(found('fox -dogs'), [3]);
    assertEq(found('"quick brown"'), [1]);
    assertEq(found('the'), []);
    const ranked = t.find({$text: {$search: 'fox'}}, {_id: 1, s: kScore}).sort({s: kScore});
    assertEq(ranked.toArray(),
             [{_id: 3, s: 1.1}, {_id: 2, s: 0.625}, {_id: 1, s: 0.5833333333333334}]);
    assertEq(ids(t.find({$text: {$search: 'fox'}, p: 1})), [1, 2]);
    assertEq(ids(t.find({$or: [{$text: {$search: 'fox'}}, {_id: 4}]})), [1, 2, 3, 4]);
    assertEq(t.countDocuments({$text: {$search: 'fox'}}), 3);
    assertEq(t.distinct('p', {$text: {$search: 'fox'}}), [1, 2]);
});

test('a search needs an index, and its plain fields', () => {
    const t = fresh(kFoxes, {p: 1, a: 'text'});
    assertEq(ids(t.find({p: 1, $text: {$search: 'fox'}})), [1, 2]);
    assertCommandFails(db1, {find: 'words', filter: {$text: {$search: 'fox'}}}, 27);
    assertCommandFails(db1, {find: 'none', filter: {$text: {$search: 5}}}, 14);
    assertCommandFails(db1, {find: 'words', filter: {$nor: [{$text: {$search: 'x'}}]}}, 2);
    assertCommandFails(db1, {find: 'words', filter: {p: 1, $text: {$search: 'x'}},
                             hint: {_id: 1}}, 2);
    const {winningPlan} = t.find({p: 1, $text: {$search: 'fox'}}).explain().queryPlanner;
    assertEq(winningPlan.stage, 'TEXT_MATCH');
});

test('writes keep the index up', () => {
    const t = fresh(kFoxes);
    const found = search => ids(t.find({$text: {$search: search}}));
    t.updateOne({_id: 3}, {$set: {a: 'a badger'}});
    t.deleteOne({_id: 1});
    t.insertOne({_id: 9, a: ['foxes', 'badgers']});
    assertEq([found('fox'), found('badger')], [[2, 9], [3, 9]]);
    assertEq(t.updateMany({$text: {$search: 'badger'}}, {$set: {seen: true}}).modifiedCount, 2);
    t.updateOne({_id: 9}, {$set: {language: 'none'}});
    assertEq(found('foxes'), [2]);
    assertEq(t.findOneAndDelete({$text: {$search: 'badger'}})._id, 3);
    assertThrowsCode(17262, () => t.insertOne({_id: 10, language: 'klingon', a: 'x'}));
    assertTrue(t.validate({full: true}).valid);
    assertEq(t.deleteMany({$text: {$search: 'fox'}}).deletedCount, 1);
});

test('pipelines carry the score', () => {
    const t = fresh(kFoxes);
    const first = {$match: {$text: {$search: 'fox'}}};
    assertEq(t.aggregate([first, {$sort: {s: kScore}}, {$project: {s: kScore}}]).toArray(),
             [{_id: 3, s: 1.1}, {_id: 2, s: 0.625}, {_id: 1, s: 0.5833333333333334}]);
    assertEq(t.aggregate([first, {$group: {_id: null, most: {$max: kScore}}}]).toArray(),
             [{_id: null, most: 1.1}]);
    assertEq(t.aggregate([first, {$sort: {s: kScore}}, {$limit: 1}]).toArray(), [kFoxes[2]]);
    const whole = {$addFields: {r: '$$ROOT', s: kScore}};
    assertEq(t.aggregate([first, {$match: {_id: 3}}, whole]).toArray(),
             [{_id: 3, a: 'fox', p: 2, r: {_id: 3, a: 'fox', p: 2}, s: 1.1}]);
    assertEq(t.aggregate([first, {$group: {_id: {$max: kScore}, r: {$last: '$$ROOT'}}},
                          {$sort: {_id: -1}}, {$limit: 1}]).toArray(), [{_id: 1.1, r: kFoxes[2]}]);
    const replaced = [first, {$replaceRoot: {newRoot: {of: '$$ROOT'}}}, {$match: {'of._id': 3}}];
    assertEq(t.aggregate([...replaced, {$addFields: {s: kScore}}]).toArray(),
             [{of: kFoxes[2], s: 1.1}]);
    const late = [{$limit: 5}, first];
    assertCommandFails(db1, {aggregate: 'words', pipeline: late, cursor: {}}, 17313);
    for (const before of [[], [first]]) {
        const facet = [...before, {$facet: {a: [first]}}];
        assertCommandFails(db1, {aggregate: 'words', pipeline: facet, cursor: {}}, 17313);
    }
    assertCommandFails(db1, {aggregate: 'words', pipeline: [{$sort: {s: kScore}}], cursor: {}},
                       40218);
});

test('pipelines inside of stages may begin with a search', () => {
    fresh(kFoxes);
    const one = db1.getCollection('one');
    one.drop();
    one.insertOne({_id: 'one', p: 1});
    const search = [{$match: {$text: {$search: 'fox'}}}, {$sort: {_id: 1}},
                    {$project: {s: kScore}}];
    const found = db1.words.aggregate(search).toArray();
    assertEq(found.map(d => d._id), [1, 2, 3]);
    const lookup = {$lookup: {from: 'words', as: 'x', pipeline: search}};
    assertEq(one.aggregate([lookup]).toArray()[0].x, found);
    assertEq(one.aggregate([{$facet: {f: [lookup]}}]).toArray()[0].f[0].x, found);
    const joined = {$lookup: {...lookup.$lookup, localField: 'p', foreignField: 'p'}};
    assertEq(one.aggregate([joined]).toArray()[0].x, found.slice(0, 2));
    const union = coll => ({$unionWith: {coll, pipeline: search}});
    assertEq(one.aggregate([{$project: {_id: 1}}, union('words')]).toArray(),
             [{_id: 'one'}, ...found]);
    db1.same.drop();
    db1.some.drop();
    db1.createCollection('same', {viewOn: 'words', pipeline: []});
    db1.createCollection('some', {viewOn: 'words', pipeline: [{$match: {p: 1}}]});
    assertEq(one.aggregate([{$match: {p: 9}}, union('same')]).toArray(), found);
    const refused = (code, stage) => assertThrowsCode(code, () => one.aggregate([stage]).toArray());
    refused(17313, union('some'));
    refused(17313, {$unionWith: {coll: 'words', pipeline: [{$limit: 1}, ...search.slice(0, 1)]}});
    refused(17313, {$unionWith: {coll: 'words', pipeline: [{$facet: {a: search.slice(0, 1)}}]}});
    refused(17313, {$graphLookup: {from: 'words', startWith: '$p', connectFromField: 'p',
                                   connectToField: 'p', as: 'x',
                                   restrictSearchWithMatch: {$text: {$search: 'fox'}}}});
    refused(40218, {$project: {s: kScore}});
});

test('version 3 looks at letters', () => {
    const t = fresh([{_id: 1, a: 'Un CAFÉ «noir»'}, {_id: 2, a: 'cafe'}], {a: 'text'},
                    {textIndexVersion: 3});
    const found = (search, options) => ids(t.find({$text: {$search: search, ...options}}));
    assertEq(found('café'), [1, 2]);
    assertEq(found('noir'), [1]);
    assertEq(found('café', {$diacriticSensitive: true}), [1]);
    assertEq(found('cafe', {$caseSensitive: true}), [2]);
});

test('the command of 2.4', () => {
    fresh(kFoxes);
    const reply = db1.runCommand({text: 'words', search: 'fox', limit: 1, project: {p: 1}});
    assertEq(reply.results, [{score: 1.1, obj: {_id: 3, p: 2}}]);
    assertEq([reply.stats.nscanned, reply.stats.n], [3, 1]);
});

test('copies and rebuilt indexes hold the same', () => {
    const t = fresh(kFoxes);
    assertEq(admin.runCommand({renameCollection: 'test.words', to: 'test.moved',
                               dropTarget: true}).ok, 1);
    const moved = db1.getCollection('moved');
    assertEq(ids(moved.find({$text: {$search: 'fox'}})), [1, 2, 3]);
    assertEq(db1.runCommand({reIndex: 'moved'}).ok, 1);
    assertEq(ids(moved.find({$text: {$search: 'fox'}})), [1, 2, 3]);
    assertTrue(moved.validate({full: true}).valid);
    assertTrue(t.find().toArray().length === 0);
});
