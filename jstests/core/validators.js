// Validators by the shell's helpers, as the catalogue shows them, and over a restart.
// Wire spec 2.5 and 5, mmapv1 spec 7.1.
// Group: core

const options = ['--smallfiles', '--nssize', '1'];
let server = startServer({options});
const refused = 121;
const schema = {
    bsonType: 'object', title: 'A student', required: ['name', 'year'],
    properties: {
        name: {bsonType: 'string', description: 'has to be a text'},
        year: {bsonType: 'int', minimum: 2017, maximum: 3017},
        address: {bsonType: 'object', required: ['city'], properties: {city: {bsonType: 'string'}}},
    },
};

function testDB() {
    return server.shell.getDB('test');
}

function students() {
    return testDB().getCollection('students');
}

function caught(body) {
    try {
        body();
    } catch (error) {
        return error;
    }
    throw new Error('nothing was refused');
}

test('a schema is kept with its collection, and lets in what fits', () => {
    testDB().createCollection('students', {validator: {$jsonSchema: schema}});
    assertEq(testDB().getCollectionInfos({name: 'students'})[0].options,
             {validator: {$jsonSchema: schema}});
    students().insertOne({_id: 1, name: 'Ann', year: 2020, address: {city: 'Ulm'}});
    students().insertMany([{_id: 2, name: 'Bob', year: 2021}, {_id: 3, name: 'Cy', year: 2022}]);
    assertEq(students().countDocuments({$jsonSchema: schema}), 3);
});

test('a refusal names the rules that are not kept', () => {
    const error = caught(() => students().insertOne({_id: 4, name: 5, address: {}}));
    assertEq(error.code, refused);
    assertEq(error.errInfo.failingDocumentId, 4);
    const details = error.errInfo.details;
    assertEq([details.operatorName, details.title], ['$jsonSchema', 'A student']);
    const rules = details.schemaRulesNotSatisfied;
    assertEq(rules.map(rule => rule.operatorName), ['properties', 'required']);
    assertEq(rules[0].propertiesNotSatisfied.map(each => [each.propertyName, each.description]),
             [['name', 'has to be a text'], ['address', undefined]]);
    assertEq(rules[1].missingProperties, ['year']);
});

test('updates, replacements and upserts are held against it', () => {
    for (const body of [
        () => students().updateOne({_id: 1}, {$set: {year: 1999}}),
        () => students().updateMany({}, {$unset: {name: ''}}),
        () => students().replaceOne({_id: 1}, {name: 'Ann'}),
        () => students().updateOne({_id: 9}, {$set: {name: 'Di'}}, {upsert: true}),
        () => students().findOneAndUpdate({_id: 1}, {$set: {'address.city': 7}}),
        () => students().findOneAndReplace({_id: 1}, {}),
        () => students().bulkWrite([{insertOne: {document: {}}}]),
    ])
        assertThrowsCode(refused, body);
    assertEq(students().find().sort({_id: 1}).toArray().map(each => each.year), [2020, 2021, 2022]);
    students().updateOne({_id: 1}, {$set: {year: 2030}});
    students().insertOne({_id: 5}, {bypassDocumentValidation: true});
    assertEq(students().countDocuments(), 4);
});

test('it is asked after a restart, and goes on request', () => {
    stopServer(server);
    server = startServer({options, folder: server.folder});
    assertThrowsCode(refused, () => students().insertOne({_id: 6}));
    testDB().runCommand({collMod: 'students', validationLevel: 'moderate'});
    students().updateOne({_id: 5}, {$set: {odd: true}});
    assertThrowsCode(refused, () => students().updateOne({_id: 1}, {$set: {year: 1}}));
    testDB().runCommand({collMod: 'students', validator: {}, validationLevel: 'off'});
    students().insertOne({_id: 6});
    assertEq(testDB().getCollectionInfos({name: 'students'})[0].options,
             {validator: {}, validationLevel: 'off'});
    assertEq(students().validate({full: true}).valid, true);
});

stopServer(server);
