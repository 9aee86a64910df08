// The index set-up of LibreChat, by the package that has its schemas: each model's indexes are made
// and are then, as Mongoose compares them, those that it asked for.
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('../../clients/node/case.js');

const mongoose = load('node-programs', 'mongoose');
const {createModels} = load('node-programs', '@librechat/data-schemas');

const models = createModels(mongoose);
const checks = {
    async connects() {
        await mongoose.connect(uri, {dbName: 'librechat', autoIndex: false});
        assert(Object.keys(models).length > 40);
    },
};
for (const [name, model] of Object.entries(models)) {
    checks['indexes of ' + name] = async () => {
        await model.createIndexes();
        assert.deepEqual(await model.diffIndexes(), {toDrop: [], toCreate: []});
        assert((await model.listIndexes()).length > 1);
        await model.syncIndexes();
    };
}
checks['a user is unique'] = async () => {
    const user = {email: 'ada@example.com', username: 'ada', provider: 'local'};
    await models.User.create(user);
    await assert.rejects(models.User.create(user), {code: 11000});
};

main(checks);
