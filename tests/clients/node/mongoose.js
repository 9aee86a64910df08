// Mongoose, an object mapper for Node.js, as its guide shows it. Its own tests are not in the
// package.
'use strict';

const assert = require('assert/strict');
const {load, main, uri} = require('./case.js');

const mongoose = load('node-apps', 'mongoose');
const {Schema} = mongoose;

const person = new Schema({
    name: {
        type: String,
        required: true,
        index: {unique: true, collation: {locale: 'en', strength: 2}},
    },
    email: {type: String, index: {unique: true, sparse: true}},
    age: {type: Number, min: 0},
    tags: [String],
    bits: Number,
    address: {city: String},
    stories: [{type: Schema.Types.ObjectId, ref: 'Story'}],
}, {timestamps: true, optimisticConcurrency: true});
person.index({age: 1, 'address.city': -1});
person.index({age: 1}, {name: 'adults', partialFilterExpression: {age: {$gte: 18}}});
person.virtual('fans', {ref: 'Story', localField: '_id', foreignField: 'fans'});
person.methods.older = function() { return this.constructor.find({age: {$gt: this.age}}); };

const story = new Schema({
    title: String,
    author: {type: Schema.Types.ObjectId, ref: 'Person'},
    fans: [{type: Schema.Types.ObjectId, ref: 'Person'}],
    seen: {type: Date, expires: 3600},
    pages: [{number: Number, words: Number}],
});

const event = new Schema({at: Date}, {discriminatorKey: 'kind'});

let Person, Story, Event, Click;

main({
    async 'connects and makes indexes'() {
        await mongoose.connect(uri, {dbName: 'goose'});
        Person = mongoose.model('Person', person);
        Story = mongoose.model('Story', story);
        Event = mongoose.model('Event', event);
        Click = Event.discriminator('Click', new Schema({url: String}));
        await Promise.all([Person.init(), Story.init(), Event.init()]);
        const indexes = await Person.listIndexes();
        assert.deepEqual(indexes.map(index => index.name).sort(),
                         ['_id_', 'adults', 'age_1_address.city_-1', 'email_1', 'name_1']);
        assert.deepEqual(await Person.diffIndexes(), {toDrop: [], toCreate: []});
        assert.deepEqual(await Person.syncIndexes(), []);
    },

    async 'creates, and validates'() {
        const [ada, ben, cy] = await Person.create([
            {name: 'Ada', age: 36, tags: ['a', 'b'], bits: 6, address: {city: 'London'}},
            {name: 'Ben', age: 20, tags: ['b'], bits: 1, address: {city: 'Bonn'}},
            {name: 'Cy', age: 9, bits: 0}], {ordered: true});
        assert(ada.createdAt instanceof Date);
        await assert.rejects(Person.create({age: -1}), {name: 'ValidationError'});
        await assert.rejects(Person.create({name: 'ADA'}), {code: 11000});
        const tale = await Story.create({title: 'One', author: ada, fans: [ben, cy],
                                         pages: [{number: 1, words: 10}, {number: 2, words: 20}]});
        ada.stories.push(tale);
        await ada.save();
    },

    async queries() {
        assert.equal(await Person.countDocuments({age: {$gt: 10}}), 2);
        assert.equal((await Person.findOne({name: 'ada'}).collation({locale: 'en', strength: 2}))
            .name, 'Ada');
        assert.deepEqual((await Person.find().sort('-age').select('name -_id').limit(2).lean()),
                         [{name: 'Ada'}, {name: 'Ben'}]);
        assert.deepEqual(await Person.distinct('tags'), ['a', 'b']);
        assert.equal(await Person.exists({name: 'Zed'}), null);
        assert.equal((await Person.find({bits: {$bitsAllSet: 2}})).length, 1);
        assert.equal((await Person.find({$expr: {$gt: ['$age', 30]}})).length, 1);
        const ben = await Person.findOne({name: 'Ben'});
        assert.deepEqual((await ben.older()).map(one => one.name), ['Ada']);
        const names = [];
        for await (const one of Person.find().sort({name: 1}).cursor()) names.push(one.name);
        assert.deepEqual(names, ['Ada', 'Ben', 'Cy']);
        assert((await Person.find({age: 20}).explain()).queryPlanner);
    },

    async populates() {
        const tale = await Story.findOne().populate('author', 'name').populate('fans');
        assert.equal(tale.author.name, 'Ada');
        assert.deepEqual(tale.fans.map(fan => fan.name), ['Ben', 'Cy']);
        const ada = await Person.findOne({name: 'Ada'})
            .populate({path: 'stories', populate: {path: 'fans', match: {age: {$lt: 10}}}});
        assert.deepEqual(ada.stories[0].fans.map(fan => fan.name), ['Cy']);
        const ben = await Person.findOne({name: 'Ben'}).populate('fans');
        assert.deepEqual(ben.fans.map(one => one.title), ['One']);
    },

    async updates() {
        const ben = await Person.findOneAndUpdate({name: 'Ben'}, {$inc: {age: 1}},
                                                  {returnDocument: 'after'});
        assert.equal(ben.age, 21);
        const first = await Person.findOne({name: 'Cy'});
        const second = await Person.findOne({name: 'Cy'});
        first.age = 10;
        await first.save();
        second.age = 11;
        await assert.rejects(second.save(), {name: 'VersionError'});
        await Story.updateOne({}, {$set: {'pages.$[page].words': 30}},
                              {arrayFilters: [{'page.number': 2}]});
        assert.equal((await Story.findOne()).pages[1].words, 30);
        const piped = await Person.updateMany({}, [{$set: {age: {$add: ['$age', 1]}}}],
                                              {updatePipeline: true});
        assert.equal(piped.modifiedCount, 3);
        const upserted = await Person.updateOne({name: 'Di'}, {age: 50}, {upsert: true});
        assert.equal(upserted.upsertedCount, 1);
        const written = await Person.bulkWrite([
            {insertOne: {document: {name: 'Ed'}}},
            {updateOne: {filter: {name: 'Ed'}, update: {$set: {age: 5}}}},
            {deleteOne: {filter: {name: 'Ed'}}}]);
        assert.deepEqual([written.insertedCount, written.modifiedCount, written.deletedCount],
                         [1, 1, 1]);
        assert.equal((await Person.deleteMany({name: 'Di'})).deletedCount, 1);
    },

    async aggregates() {
        const joined = await Story.aggregate()
            .lookup({from: 'people', localField: 'author', foreignField: '_id', as: 'by'})
            .unwind('$pages').group({_id: '$title', words: {$sum: '$pages.words'},
                                     by: {$first: {$first: '$by.name'}}});
        assert.deepEqual(joined, [{_id: 'One', words: 40, by: 'Ada'}]);
        const facets = await Person.aggregate([{$facet: {n: [{$count: 'n'}],
                                                         old: [{$match: {age: {$gt: 30}}}]}}]);
        assert.deepEqual([facets[0].n, facets[0].old.length], [[{n: 3}], 1]);
    },

    async discriminators() {
        await Event.create({at: new Date(1)});
        await Click.create({at: new Date(2), url: '/'});
        assert.equal(await Event.countDocuments(), 2);
        assert.deepEqual((await Click.find()).map(one => one.url), ['/']);
        assert.equal((await Event.findOne({kind: 'Click'})) instanceof Click, true);
    },

    async 'what there is not is refused'() {
        await assert.rejects(mongoose.connection.transaction(
            session => Person.create([{name: 'X'}], {session})));
        const Text = mongoose.model('Text', new Schema({t: {type: String, text: true}}));
        await Text.init();
        await assert.rejects(Person.find({$text: {$search: 'x'}}), /text/);
    },

    async ends() {
        await mongoose.connection.dropDatabase();
        await mongoose.disconnect();
    },
});
