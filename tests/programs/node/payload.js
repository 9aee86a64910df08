// Payload, a content management system, with its adapter for MongoDB. Its own tests are not in its
// packages.
'use strict';

const assert = require('assert/strict');
const path = require('path');
const {main, uri} = require('../../clients/node/case.js');

const MODULES = path.resolve(__dirname, '../../../build/node-programs/node_modules');
const WRITER = {email: 'writer@example.com', password: 'secret'};

const collections = [
    {slug: 'users', auth: true, fields: []},
    {
        slug: 'posts',
        versions: {drafts: true},
        fields: [
            {name: 'title', type: 'text', unique: true, index: true},
            {name: 'words', type: 'number', index: true},
            {name: 'author', type: 'relationship', relationTo: 'users'},
            {name: 'tags', type: 'array', fields: [{name: 'tag', type: 'text'}]},
            {name: 'related', type: 'join', collection: 'comments', on: 'post'},
        ],
    },
    {
        slug: 'comments',
        fields: [
            {name: 'post', type: 'relationship', relationTo: 'posts'},
            {name: 'text', type: 'text'},
        ],
    },
];
const globals = [{slug: 'nav', fields: [{name: 'items', type: 'json'}]}];

let payload, writer, post;

main({
    async 'makes its indexes'() {
        const {buildConfig, getPayload} = await import(path.join(MODULES, 'payload/dist/index.js'));
        const {mongooseAdapter} =
            await import(path.join(MODULES, '@payloadcms/db-mongodb/dist/index.js'));
        const db = mongooseAdapter({url: uri + 'payload', ensureIndexes: true});
        payload = await getPayload({
            config: buildConfig({
                secret: 'a secret',
                telemetry: false,
                typescript: {autoGenerate: false},
                email: () => ({
                    name: 'none',
                    defaultFromAddress: 'none@example.com',
                    defaultFromName: 'none',
                    sendEmail: () => null,
                }),
                db,
                collections,
                globals,
            }),
        });
        const indexes = await payload.db.collections.posts.listIndexes();
        assert(indexes.some(index => index.unique && index.key.title === 1));
    },

    async 'has users that log in'() {
        writer = await payload.create({collection: 'users', data: WRITER});
        assert((await payload.login({collection: 'users', data: WRITER})).token);
        await assert.rejects(
            payload.login({collection: 'users', data: {...WRITER, password: 'wrong'}}));
    },

    async 'writes and finds'() {
        post = await payload.create({
            collection: 'posts',
            data: {title: 'One', words: 1, author: writer.id, tags: [{tag: 'a'}, {tag: 'b'}],
                   _status: 'published'},
        });
        await payload.create({collection: 'posts', data: {title: 'Two', words: 20}});
        await assert.rejects(payload.create({collection: 'posts', data: {title: 'One'}}),
                             {name: 'ValidationError'});
        const found = await payload.find({
            collection: 'posts',
            where: {and: [{words: {less_than: 10}}, {title: {like: 'one'}},
                          {'tags.tag': {in: ['b']}}]},
            sort: '-words',
        });
        assert.deepEqual(found.docs.map(one => [one.title, one.author.email]),
                         [['One', WRITER.email]]);
        const joined = await payload.find({
            collection: 'posts', where: {'author.email': {equals: WRITER.email}}});
        assert.equal(joined.totalDocs, 1);
        const page = await payload.find({collection: 'posts', limit: 1, page: 2, sort: 'title'});
        assert.deepEqual([page.docs[0].title, page.totalPages], ['Two', 2]);
    },

    async 'joins'() {
        await payload.create({collection: 'comments', data: {post: post.id, text: 'yes'}});
        const {related} = await payload.findByID({collection: 'posts', id: post.id});
        assert.deepEqual(related.docs.map(one => one.text), ['yes']);
    },

    async 'keeps versions'() {
        await payload.update({collection: 'posts', id: post.id, data: {words: 2}});
        const where = {parent: {equals: post.id}};
        const versions =
            await payload.findVersions({collection: 'posts', where, sort: 'createdAt'});
        assert.deepEqual(versions.docs.map(one => one.version.words), [1, 2]);
        await payload.restoreVersion({collection: 'posts', id: versions.docs[0].id});
        assert.equal((await payload.findByID({collection: 'posts', id: post.id})).words, 1);
        const drafts = await payload.find({collection: 'posts', draft: true});
        assert.equal(drafts.totalDocs, 2);
    },

    async 'has globals'() {
        await payload.updateGlobal({slug: 'nav', data: {items: [1, {a: null}]}});
        assert.deepEqual((await payload.findGlobal({slug: 'nav'})).items, [1, {a: null}]);
    },

    async 'counts and deletes'() {
        assert.equal((await payload.count({collection: 'posts'})).totalDocs, 2);
        const gone = await payload.delete({collection: 'posts', where: {words: {equals: 20}}});
        assert.equal(gone.docs.length, 1);
        assert.equal((await payload.count({collection: 'posts'})).totalDocs, 1);
        await payload.destroy();
    },
});
