// Places, texts and scripts as Mongoose 9 and Payload use them; their own tests for these are not
// in their packages.
'use strict';

const assert = require('assert/strict');
const path = require('path');
const {load, main, uri} = require('../../clients/node/case.js');

const MODULES = path.resolve(__dirname, '../../../build/node-programs/node_modules');
const mongoose = load('node-programs', 'mongoose-today');
const {Schema} = mongoose;

const point = (x, y) => ({type: 'Point', coordinates: [x, y]});
const square = (x, y, size) => ({type: 'Polygon', coordinates: [[
    [x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]]});
const numbers = found => found.map(d => d.n);
const sorted = found => numbers(found).sort((a, b) => a - b);

const place = new Schema({
    n: Number,
    pair: {type: [Number], index: '2d'},
    at: {type: {type: String, enum: ['Point']}, coordinates: [Number]},
    area: {type: Object, index: '2dsphere'},
    name: {type: String, text: true},
    about: String,
});
place.index({at: '2dsphere', n: 1});

let Place, payload;

main({
    async 'mongoose makes the indexes that a schema names, and knows them'() {
        await mongoose.connect(uri, {dbName: 'families'});
        await mongoose.connection.dropDatabase();
        Place = mongoose.model('Place', place);
        await Place.init();
        const keys = (await Place.listIndexes()).map(index => Object.values(index.key).join());
        assert.deepEqual(keys.sort(), ['1', '2d', '2dsphere', '2dsphere,1', 'text,1']);
        assert.deepEqual(await Place.diffIndexes(), {toDrop: [], toCreate: []});
        await Place.insertMany(Array.from({length: 20}, (_, n) => ({
            n, pair: [n, n], at: point(n, n), area: square(n, n, 0.5),
            name: n % 2 ? `quick foxes ${n}` : `lazy dog ${n}`, about: 'a place'})));
    },

    async 'mongoose: what is near'() {
        const near = (more = {}) => Place.find().where('at').near(
            {center: point(5.1, 5.1), spherical: true, ...more});
        assert.deepEqual(numbers(await near().limit(3)), [5, 6, 4]);
        assert.deepEqual(numbers(await near({maxDistance: 200000})), [5, 6, 4]);
        assert.deepEqual(numbers(await near({maxDistance: 200000, minDistance: 50000})), [6, 4]);
        assert.deepEqual(numbers(await near().skip(1).limit(2).sort('-n')), [18, 17]);
        assert.deepEqual(numbers(await Place.find({pair: {$near: [5, 5], $maxDistance: 1.5}})),
                         [5, 4, 6]);
        assert.deepEqual(numbers(await Place.where('pair').near({center: [5, 5], maxDistance: 1})),
                         [5]);
        assert.equal((await Place.findOne({at: {$nearSphere: {$geometry: point(7, 7)}}})).n, 7);
        assert.equal((await Place.findOneAndUpdate(
            {at: {$near: {$geometry: point(8, 8)}}}, {about: 'near'})).n, 8);
        await assert.rejects(Place.countDocuments({at: {$near: {$geometry: point(5, 5)}}}),
                             {name: 'MongoServerError'});
    },

    async 'mongoose: what is within and what meets'() {
        const within = Place.find().where('at').within();
        assert.deepEqual(sorted(await within.geometry(square(2.5, 2.5, 3))), [3, 4, 5]);
        const of = shape => Place.find({pair: {$geoWithin: shape}}).then(sorted);
        assert.deepEqual(await of({$box: [[2.5, 2.5], [5.5, 5.5]]}), [3, 4, 5]);
        assert.deepEqual(await of({$center: [[4, 4], 1.5]}), [3, 4, 5]);
        assert.deepEqual(await of({$polygon: [[2, 2], [2, 6], [6, 6], [6, 2]]}), [2, 3, 4, 5, 6]);
        assert.deepEqual(sorted(await Place.find().where('at').within(
            {center: [4, 4], radius: 0.03, unique: true, spherical: true})), [3, 4, 5]);
        assert.deepEqual(sorted(await Place.find().where('area').intersects().geometry(
            {type: 'LineString', coordinates: [[3, 3.1], [5, 5.1]]})), [3, 4]);
        assert.equal(await Place.countDocuments(
            {at: {$geoWithin: {$centerSphere: [[4, 4], 0.03]}}}), 3);
    },

    async 'mongoose: $geoNear'() {
        const found = await Place.aggregate().near(
            {near: point(5, 5), distanceField: 'far', includeLocs: 'loc', key: 'at',
             maxDistance: 200000, query: {n: {$ne: 5}}}).project({n: 1, far: 1, loc: 1});
        assert.deepEqual(numbers(found), [6, 4]);
        assert(found[0].far > 100000 && found[0].far < found[1].far);
        assert.deepEqual(found[0].loc, point(6, 6));
    },

    async 'mongoose: a shape that is none is refused'() {
        await assert.rejects(Place.create({n: 99, area: {type: 'Polygon', coordinates: [[1, 2]]}}),
                             {name: 'MongoServerError', code: 16755});
        await assert.rejects(Place.find({at: {$near: {$geometry: {type: 'Point',
                                                                  coordinates: [999, 1]}}}}));
    },

    async 'mongoose: texts by score'() {
        const score = {score: {$meta: 'textScore'}};
        const found = await Place.find({$text: {$search: 'fox 7'}}, score).sort(score).lean();
        assert.equal(found.length, 10);
        assert.equal(found[0].n, 7);
        assert(found[0].score > found[1].score);
        assert.deepEqual(sorted(await Place.find({$text: {$search: '"lazy dog" -8 -10'}})),
                         [0, 2, 4, 6, 12, 14, 16, 18]);
        assert.equal(await Place.countDocuments({$text: {$search: 'DOGS'}}), 10);
        assert.equal(await Place.countDocuments(
            {$text: {$search: 'DOG', $caseSensitive: true}}), 0);
        const [one] = await Place.aggregate([{$match: {$text: {$search: 'fox'}}},
                                             {$group: {_id: null, n: {$sum: 1}}}]);
        assert.equal(one.n, 10);
        assert.equal((await Place.updateMany({$text: {$search: 'fox'}}, {about: 'seen'}))
            .modifiedCount, 10);
    },

    async 'mongoose: $where, $function and mapReduce'() {
        assert.deepEqual(sorted(await Place.find().$where('this.n > 17')), [18, 19]);
        assert.deepEqual(sorted(await Place.find().$where(function() { return this.n < 2; })),
                         [0, 1]);
        assert.deepEqual(sorted(await Place.find({$expr: {$function: {
            body: 'function(n) { return n % 9 == 0 }', args: ['$n'], lang: 'js'}}})), [0, 9, 18]);
        const {results} = await mongoose.connection.db.command({
            mapReduce: 'places', map: 'function() { emit(this.n % 2, this.n) }',
            reduce: 'function(key, values) { return Array.sum(values) }', out: {inline: 1}});
        assert.deepEqual(results, [{_id: 0, value: 90}, {_id: 1, value: 100}]);
        await mongoose.disconnect();
    },

    async 'payload: a field of points'() {
        const {buildConfig, getPayload} = await import(path.join(MODULES, 'payload/dist/index.js'));
        const {mongooseAdapter} =
            await import(path.join(MODULES, '@payloadcms/db-mongodb/dist/index.js'));
        payload = await getPayload({config: buildConfig({
            secret: 'a secret',
            telemetry: false,
            typescript: {autoGenerate: false},
            email: () => ({name: 'none', defaultFromAddress: 'none@example.com',
                           defaultFromName: 'none', sendEmail: () => null}),
            db: mongooseAdapter({url: uri + 'payload-families', ensureIndexes: true}),
            collections: [{slug: 'shops', fields: [
                {name: 'n', type: 'number'}, {name: 'at', type: 'point'}]}],
        })});
        await payload.delete({collection: 'shops', where: {}});
        for (let n = 0; n < 10; n++)
            await payload.create({collection: 'shops', data: {n, at: [n, n]}});
        const found = async (at, more = {}) => numbers((await payload.find(
            {collection: 'shops', where: {at}, ...more})).docs);
        assert.deepEqual(await found({near: '5.1,5.1,200000,0'}), [5, 6, 4]);
        assert.deepEqual(await found({near: [5.1, 5.1, 200000, 50000]}), [6, 4]);
        assert.deepEqual(await found({near: '5.1,5.1,200000,0'}, {limit: 2, page: 2}), [4]);
        assert.deepEqual((await found({within: square(2.5, 2.5, 3)})).sort(), [3, 4, 5]);
        assert.deepEqual(await found({intersects: square(2.5, 2.5, 1)}), [3]);
    },
});
