// MikroORM, an object mapper for Node.js, as an application uses it: its units of work open
// sessions where a server announces them.
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('./case.js');

const {EntitySchema, MikroORM} = load('node-apps', '@mikro-orm/mongodb');

const key = {
    _id: {type: 'ObjectId', primary: true},
    id: {type: 'string', serializedPrimaryKey: true},
};
const Author = new EntitySchema({
    name: 'Author',
    properties: {
        ...key,
        name: {type: 'string', unique: true},
        books: {kind: '1:m', entity: 'Book', mappedBy: 'author', orphanRemoval: true},
    },
});
const Book = new EntitySchema({
    name: 'Book',
    properties: {
        ...key,
        title: {type: 'string', index: true},
        pages: {type: 'number', default: 0},
        author: {kind: 'm:1', entity: 'Author'},
    },
});

let orm;
const settings = {entities: [Author, Book], clientUrl: uri, dbName: 'mikro', debug: false,
                  logger: () => {}, driverOptions: {monitorCommands: true}};

main({
    async starts() {
        orm = await MikroORM.init(settings);
        await orm.schema.dropSchema();
        await orm.schema.createSchema();
        await orm.schema.ensureIndexes();
        const indexes = await orm.em.getConnection().getCollection('author').indexes();
        assert(indexes.some(index => index.unique));
    },

    async 'writes and reads'() {
        const em = orm.em.fork();
        const author = em.create('Author', {name: 'Ada'});
        for (let n = 0; n < 120; n++) em.create('Book', {title: 't' + n, pages: n, author});
        await em.flush();
        const read = orm.em.fork();
        const found = await read.findOneOrFail('Author', {name: 'Ada'}, {populate: ['books']});
        assert.equal(found.books.length, 120);
        const thick = await read.find('Book', {pages: {$gte: 100}}, {orderBy: {pages: -1}});
        assert.deepEqual(thick.map(book => book.pages).slice(0, 2), [119, 118]);
        assert.equal(await read.count('Book', {pages: {$lt: 10}}), 10);
    },

    // Its driver for MongoDB has no joins: it sends the condition on the author as a document,
    // which no reference equals on any server. By the reference the books come.
    async 'a condition on a relation is one on the reference'() {
        const read = orm.em.fork();
        const author = await read.findOneOrFail('Author', {name: 'Ada'});
        const sent = [];
        read.getConnection().getClient().on('commandStarted', event => sent.push(event.command));
        assert.equal((await read.find('Book', {author: author._id})).length, 120);
        assert.deepEqual(await read.find('Book', {author: {name: 'Ada'}}), []);
        assert.deepEqual(sent.filter(command => command.find === 'book').map(
            command => String(command.filter.author.name || command.filter.author)),
                         [String(author._id), 'Ada']);
    },

    async 'changes and removes'() {
        const em = orm.em.fork();
        const book = await em.findOneOrFail('Book', {title: 't5'});
        book.pages = 500;
        em.remove(await em.findOneOrFail('Book', {title: 't6'}));
        await em.flush();
        const read = orm.em.fork();
        assert.equal((await read.findOneOrFail('Book', {title: 't5'})).pages, 500);
        assert.equal(await read.findOne('Book', {title: 't6'}), null);
        assert.equal(await read.nativeUpdate('Book', {pages: {$lt: 5}}, {pages: -1}), 5);
        assert.equal(await read.nativeDelete('Book', {pages: -1}), 5);
        assert.equal(await read.count('Book'), 114);
    },

    async 'a unique field'() {
        const em = orm.em.fork();
        em.create('Author', {name: 'Ada'});
        await assert.rejects(em.flush(), {name: 'UniqueConstraintViolationException'});
    },

    async 'a transaction is refused'() {
        await assert.rejects(orm.em.fork().transactional(async em => {
            em.create('Author', {name: 'never'});
        }), /Transaction numbers are only allowed/);
        assert.equal(await orm.em.fork().count('Author', {name: 'never'}), 0);
    },

    async ends() {
        await orm.close(true);
    },
});
