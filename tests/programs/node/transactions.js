// Libraries that keep what belongs together in a transaction, as their documentation has it, on a
// replica set of one: the driver, mongoose, TypeORM, MikroORM and Better Auth.
'use strict';

const assert = require('assert/strict');
const path = require('path');
const {pathToFileURL} = require('url');
const {load, main} = require('../../clients/node/case.js');

process.env.TESTS_ENGINE ||= 'wiredTiger';
const {endSet, scratch, startSet} = require('./members.js');

const MODULES = path.resolve(__dirname, '../../../build/node-programs/node_modules');
const {MongoClient} = load('node-programs', 'mongodb');
const mongoose = load('node-programs', 'mongoose-today');
const orm = load('node-programs', '@mikro-orm/mongodb');
const {DataSource, EntitySchema} = load('node-programs', 'typeorm');

let set, client, db;

/** How many the server has committed. */
async function committed() {
    const {transactions} = await set.members[0].admin.command({serverStatus: 1});
    assert.equal(transactions.currentOpen, 0);
    return transactions.totalCommitted;
}

/** Its work fails at its end. */
async function fails(transaction) {
    await assert.rejects(transaction(() => { throw new Error('of its work'); }), /of its work/);
}

/** Of a package that is only an ES module. */
const imported = file => import(pathToFileURL(path.join(MODULES, file)).href);

const AUTHOR = new orm.EntitySchema({name: 'Author', properties: {
    _id: {type: 'ObjectId', primary: true},
    name: {type: 'string', unique: true},
}});
const BOOK = new orm.EntitySchema({name: 'Book', properties: {
    _id: {type: 'ObjectId', primary: true},
    title: {type: 'string'},
    author: {kind: 'm:1', entity: 'Author'},
}});
const USER = new EntitySchema({name: 'User', columns: {
    _id: {type: 'objectId', objectId: true, primary: true, generated: true},
    name: {type: String},
}});

main({
    async 'the driver: withTransaction'() {
        set = await startSet(scratch('transactions'), 1);
        client = new MongoClient(set.uri);
        db = client.db('driver');
        const both = end => client.withSession(session => session.withTransaction(async () => {
            await db.collection('one').insertOne({}, {session});
            await db.collection('other').insertOne({}, {session});
            end();
        }));
        await both(() => {});
        await fails(both);
        assert.equal(await db.collection('one').countDocuments(), 1);
        assert.equal(await db.collection('other').countDocuments(), 1);
        assert.equal(await committed(), 1);
    },

    async 'the driver: two increments at once, each begun again where it has to be'() {
        const counter = db.collection('counter');
        await counter.insertOne({_id: 1, n: 0});
        const increment = () => client.withSession(session => session.withTransaction(async () => {
            const {n} = await counter.findOne({_id: 1}, {session});
            await counter.updateOne({_id: 1}, {$set: {n: n + 1}}, {session});
        }));
        await Promise.all(Array.from({length: 20}, increment));
        assert.equal((await counter.findOne({_id: 1})).n, 20);
    },

    async 'mongoose: connection.transaction, and documents that are as before when it fails'() {
        const connection = await mongoose.createConnection(set.uri, {dbName: 'mongoose'})
            .asPromise();
        const Author = connection.model('Author', new mongoose.Schema({
            name: String, tags: [String]}));
        const Book = connection.model('Book', new mongoose.Schema({
            author: {type: mongoose.ObjectId, ref: 'Author'}}));
        await Promise.all([Author.init(), Book.init()]);
        const author = new Author({name: 'one'});
        await connection.transaction(async session => {
            await author.save({session});
            await Book.create([{author: author._id}], {session});
            author.tags.push('new');
            await author.save({session});
        });
        assert.deepEqual([...(await Book.findOne().populate('author')).author.tags], ['new']);
        await fails(end => connection.transaction(async session => {
            author.name = 'other';
            await author.save({session});
            end();
        }));
        assert.equal((await Author.findOne()).name, 'one');
        assert(author.isModified('name'));
        assert.equal(await committed(), 22);
        await connection.close();
    },

    // With this database it begins none.
    async 'TypeORM: DataSource.transaction'() {
        const source = await new DataSource({type: 'mongodb', url: set.uri, database: 'typeorm',
                                             entities: [USER], synchronize: true}).initialize();
        await source.transaction(async manager => {
            await manager.save('User', {name: 'one'});
            await manager.save('User', {name: 'other'});
        });
        assert.equal(await source.getMongoRepository('User').count(), 2);
        await source.destroy();
    },

    async 'MikroORM: em.transactional, and implicit transactions'() {
        const found = await orm.MikroORM.init({clientUrl: set.uri, dbName: 'mikro',
                                               entities: [AUTHOR, BOOK],
                                               implicitTransactions: true});
        await found.schema.createSchema();
        const both = end => found.em.fork().transactional(async em => {
            em.create('Book', {title: 'first', author: em.create('Author', {name: 'one'})});
            await em.flush();
            end();
        });
        await both(() => {});
        await assert.rejects(both(() => {}), orm.UniqueConstraintViolationException);
        const em = found.em.fork();
        em.create('Author', {name: 'other'});
        em.create('Author', {name: 'one'});
        await assert.rejects(em.flush(), orm.UniqueConstraintViolationException);
        assert.equal(await found.em.fork().count('Author'), 1);
        assert.equal(await found.em.fork().count('Book'), 1);
        assert.equal(await committed(), 23);
        await found.close();
    },

    async 'Better Auth: a user and its account'() {
        const {betterAuth} = await imported('better-auth/dist/index.mjs');
        const {mongodbAdapter} = await imported(
            'better-auth/dist/adapters/mongodb-adapter/index.mjs');
        const auth = betterAuth({
            database: mongodbAdapter(client.db('auth'), {client}),
            emailAndPassword: {enabled: true}, baseURL: 'http://localhost',
            secret: Buffer.from(set.uri.repeat(2)).toString('base64'),
        });
        const before = await committed();
        const body = {email: 'one@example.com', password: 'a long password', name: 'One'};
        assert((await auth.api.signUpEmail({body})).user);
        await assert.rejects(auth.api.signUpEmail({body}));
        assert((await auth.api.signInEmail({body})).token);
        for (const name of ['user', 'account'])
            assert.equal(await client.db('auth').collection(name).countDocuments(), 1);
        assert(await committed() > before);
        await client.close();
        await endSet(set);
    },
});
