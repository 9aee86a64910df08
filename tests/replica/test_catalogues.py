"""Catalogues of members: after each step of making, changing and dropping collections and indexes,
and of a member that copies while names and options change."""

import random

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import errors

from set_member import OPTIONS, SECONDARY, wait_until
from sets import Case, Worker

DATABASES = ('ddl', 'other')
STEPS = 40
RAW = CodecOptions(document_class=RawBSONDocument)
SIMPLE = {'locale': 'simple'}
NO_CASE = {'locale': 'en', 'strength': 2}
# What a step may be refused with by what the steps before it have left: keys that are not unique,
# an index that is there with other options, no such name, a collection that has no such thing.
MAY_BE_REFUSED = {2, 20, 26, 27, 48, 67, 72, 85, 86, 121, 10003, 11000, 17152}

CREATIONS = [
    {},
    {'collation': NO_CASE},
    {'capped': True, 'size': 100000, 'max': 500},
    {'validator': {'n': {'$gte': 0}}, 'validationLevel': 'moderate'},
    {'collation': {'locale': 'de'}, 'capped': True, 'size': 1 << 16},
    {'collation': NO_CASE, 'validator': {'n': {'$exists': True}}, 'validationAction': 'warn'},
]
INDEXES = [
    {'key': {'t': 1}, 'name': 'simple', 'unique': True, 'collation': SIMPLE},
    {'key': {'t': 1}, 'name': 'inherited'},
    {'key': {'t': 1, 'n': -1}, 'name': 'german', 'collation': {'locale': 'de', 'strength': 1}},
    {'collation': SIMPLE, 'key': {'u': 1}, 'name': 'first', 'sparse': True},
    {'key': {'n': 1}, 'name': 'unique', 'unique': True},
    {'key': {'missing.part': 1.0}, 'name': 'sparse', 'sparse': True, 'background': True},
    {'key': {'n': 1, 't': 1}, 'name': 'partial', 'partialFilterExpression': {'n': {'$gt': 5}}},
    {'key': {'t': -1}, 'name': 'partial_simple', 'collation': SIMPLE,
     'partialFilterExpression': {'t': {'$gt': 'T'}}},
    {'key': {'d': 1}, 'name': 'ttl', 'expireAfterSeconds': 10 ** 8},
    {'key': {'l': 1}, 'name': 'hidden', 'hidden': True},
    {'key': {'t': 'hashed'}, 'name': 'hashed', 'collation': SIMPLE},
    {'key': {'n': 'hashed'}, 'name': 'hashed_plain'},
]
CHANGES = [
    {'validator': {'n': {'$lt': 10 ** 6}}},
    {'validator': {}, 'validationLevel': 'off'},
    {'index': {'name': 'inherited', 'hidden': True}},
    {'index': {'name': 'simple', 'hidden': True}},
    {'index': {'keyPattern': {'l': 1}, 'hidden': False}},
    {'index': {'name': 'ttl', 'expireAfterSeconds': 2 * 10 ** 8}},
    {'index': {'name': 'sparse', 'expireAfterSeconds': 3 * 10 ** 8}},
    {'usePowerOf2Sizes': False},
]


def catalogue(member):
    """What each document of the catalogue is, byte by byte, and what the indexes have."""
    found = {}
    for name in DATABASES:
        database = member.client.get_database(name, codec_options=RAW)
        for each in database['system.namespaces'].find():
            found[name, each['name']] = each.raw
        for each in database['system.indexes'].find():
            found[name, each['ns'], each['name']] = each.raw
        for each in member.client[name].list_collections():
            found[name, 'listed', each['name']] = bson.encode(each)
        plain = member.client[name]
        for collection in plain.list_collection_names(filter={'type': 'collection'}):
            stats = plain.command('collStats', collection)
            found[name, collection, 'stats'] = bson.encode(
                {field: stats.get(field) for field in ('count', 'capped', 'max', 'userFlags')})
            if not collection.startswith('system.'):
                report = plain.command('validate', collection)
                found[name, collection, 'keys'] = bson.encode(
                    {'valid': report['valid'], 'keys': dict(sorted(
                        (key.rsplit('$', 1)[-1], count)
                        for key, count in report['keysPerIndex'].items()))})
    return found


class Steps:
    """Draws steps; `one` returns the words for what was done, or None where it was refused."""

    def __init__(self, client, seed):
        self.client, self.random, self.made = client, random.Random(seed), 0
        # Each of these at least once, before what is drawn.
        self.fixed = [(self.create, 1), (self.index, 0), (self.index, 1), (self.index, 3),
                      (self.index, 10), (self.move_across, None), (self.create, 5),
                      (self.index, 0), (self.out, None), (self.to_capped, None)]

    def pick(self, database='ddl'):
        names = self.client[database].list_collection_names(
            filter={'type': 'collection', 'name': {'$not': {'$regex': '^system'}}})
        return self.random.choice(sorted(names)) if names else 'none'

    def new_name(self):
        self.made += 1
        return 'c%d' % self.made

    def one(self):
        step, number = self.fixed.pop(0) if self.fixed else (self.random.choice([
            self.create, self.create, self.index, self.index, self.index, self.index, self.change,
            self.change, self.drop, self.rename, self.replace, self.move_across, self.to_capped,
            self.clone_capped, self.drop_index, self.drop_indexes, self.reindex, self.out,
            self.apply, self.view, self.drop_other]), None)
        try:
            return '%s %s' % (step.__name__, step(number))
        except errors.OperationFailure as refusal:
            if refusal.code not in MAY_BE_REFUSED:
                raise
            return None

    def create(self, number):
        name = self.new_name()
        options = CREATIONS[self.random.randrange(len(CREATIONS)) if number is None else number]
        self.client.ddl.command('create', name, **options)
        # Texts that are equal without case, so that unique indexes of the two differ.
        self.client.ddl[name].insert_many(
            {'_id': n, 'n': n, 't': text, 'u': text, 'l': [n, text]}
            for n, text in enumerate(['x', 'X', 'Y', 'y', 'straße', 'strasse', 'T', 'u']))
        return name, options

    def index(self, number):
        name = self.pick() if number is None else 'c%d' % self.made
        spec = INDEXES[self.random.randrange(len(INDEXES)) if number is None else number]
        answer = self.client.ddl.command('createIndexes', name, indexes=[spec])
        if answer['numIndexesBefore'] == answer['numIndexesAfter']:
            raise errors.OperationFailure('it is there', 85)
        return name, spec

    def change(self, _):
        name, change = self.pick(), self.random.choice(CHANGES)
        self.client.ddl.command('collMod', name, **change)
        return name, change

    def drop(self, _):
        name = self.pick()
        self.client.ddl.command('drop', name)
        return name

    def rename(self, _):
        name, new = self.pick(), self.new_name()
        self.client.admin.command('renameCollection', 'ddl.' + name, to='ddl.' + new)
        return name, new

    def replace(self, _):
        name, other = self.pick(), self.pick()
        self.client.admin.command('renameCollection', 'ddl.' + name, to='ddl.' + other,
                                  dropTarget=True)
        return name, other

    def move_across(self, _):
        name, new = self.pick(), self.new_name()
        self.client.admin.command('renameCollection', 'ddl.' + name, to='other.' + new)
        return name, new

    def to_capped(self, _):
        name = self.pick()
        self.client.ddl.command('convertToCapped', name, size=1 << 17)
        return name

    def clone_capped(self, _):
        name, new = self.pick(), self.new_name()
        self.client.ddl.command('cloneCollectionAsCapped', name, toCollection=new, size=1 << 16)
        return name, new

    def drop_index(self, _):
        name = self.pick()
        names = [index for index in self.client.ddl[name].index_information() if index != '_id_']
        index = self.random.choice(names or ['none'])
        self.client.ddl.command('dropIndexes', name, index=index)
        return name, index

    def drop_indexes(self, _):
        name = self.pick()
        self.client.ddl.command('dropIndexes', name, index='*')
        return name

    def reindex(self, _):
        name = self.pick()
        self.client.ddl.command('reIndex', name)
        return name

    def out(self, _):
        name, to = self.pick(), self.random.choice([self.pick(), self.new_name()])
        self.client.ddl[name].aggregate([{'$match': {}}, {'$out': to}])
        return name, to

    def apply(self, _):
        new = self.new_name()
        collation = self.random.choice([{}, {'collation': NO_CASE}])
        self.client.admin.command('applyOps', [
            {'op': 'c', 'ns': 'ddl.$cmd', 'o': {'create': new, **collation}},
            {'op': 'i', 'ns': 'ddl.' + new, 'o': {'_id': 1, 't': 'x'}},
            {'op': 'i', 'ns': 'ddl.' + new, 'o': {'_id': 2, 't': 'X'}},
            {'op': 'i', 'ns': 'ddl.system.indexes',
             'o': {'ns': 'ddl.' + new, 'key': {'t': 1}, 'name': 'of_entry'}}])
        return new, collation

    def view(self, _):
        name, new = self.pick(), self.new_name()
        self.client.ddl.command('create', new, viewOn=name, pipeline=[{'$match': {'n': 1}}])
        return name, new

    def drop_other(self, _):
        self.client.drop_database('other')
        return 'other'


class Catalogues(Case):
    def assert_same(self, one, other, what):
        wait_until('%s has what %s has; %s' % (one.host, other.host, one.tail(5)),
                   lambda: one.position() == other.position())
        ours, theirs = catalogue(one), catalogue(other)
        for key in sorted(set(ours) | set(theirs)):
            self.assertEqual(*(bson.decode(each[key]) if key in each else None
                               for each in (ours, theirs)), (what, key))
            self.assertEqual(ours[key], theirs[key], (what, key))
        for database in DATABASES:
            self.assertEqual(one.hashes(database), other.hashes(database), what)
        return len(ours)

    def copy_to_another(self, primary):
        newcomer = self.start(1)[-1]
        primary.run('replSetReconfig', self.config(len(self.members)))
        return newcomer

    def test_members_have_the_same_after_each_step(self):
        primary, (secondary,) = self.begin(2)
        seed = random.randrange(1 << 30)
        steps, done = Steps(primary.client, seed), []
        while len(done) < STEPS:
            step = steps.one()
            if step is None:
                continue
            done.append(step)
            self.assert_same(secondary, primary, (seed, done))
        self.assertEqual(secondary.state(), SECONDARY)
        third = self.copy_to_another(primary)
        self.wait_for_state(third, SECONDARY)
        self.assertGreater(self.assert_same(third, primary, (seed, done)), 5)

    def test_a_copy_ends_while_names_and_options_change(self):
        primary, = self.start(1, ['200' if word == '32' else word for word in OPTIONS])
        primary.run('replSetInitiate', self.config(1))
        other = primary.client.other
        for number in range(20):
            other['large%d' % number].insert_many(
                {'_id': each, 'pad': 'x' * 1000} for each in range(1000))
            other['large%d' % number].create_index('pad')
        changer = Changer(primary)
        changer.start()
        wait_until('names change', lambda: changer.rounds > 2 or changer.failure)
        newcomer = self.copy_to_another(primary)
        rounds = changer.rounds
        self.wait_for_state(newcomer, SECONDARY)
        self.assertGreater(changer.rounds, rounds)
        changer.end()
        self.assert_same(newcomer, primary, 'after the copy')
        with open(newcomer.log_path, encoding='utf-8', errors='replace') as log:
            self.assertEqual(log.read().count('initial sync: copying all databases'), 1)


class Changer(Worker):
    """Changes options and names all the time: of a collection that is also written and converted,
    and of one that only gets other names."""

    def __init__(self, member):
        super().__init__()
        self.client, self.rounds = member.client, 0
        self.client.ddl.moving.insert_many({'_id': n, 'n': n, 't': 'x' * 50} for n in range(2000))
        self.client.ddl.moving.create_index('n', unique=True)

    def one(self):
        db, admin = self.client.ddl, self.client.admin
        db.hot.insert_many({'n': self.rounds, 'm': n} for n in range(20))
        db.hot.create_index('m')
        db.command('collMod', 'hot', index={'keyPattern': {'m': 1}, 'hidden': True})
        db.command('collMod', 'hot', validator={'n': {'$gte': 0, '$ne': -self.rounds}})
        admin.command('renameCollection', 'ddl.moving', to='ddl.moved')
        admin.command('renameCollection', 'ddl.hot', to='ddl.cold')
        db.command('convertToCapped', 'cold', size=1 << 14)  # all of it goes into the log
        db.moved.update_one({'_id': self.rounds % 2000}, {'$set': {'t': str(self.rounds)}})
        admin.command('renameCollection', 'ddl.cold', to='ddl.hot')
        admin.command('renameCollection', 'ddl.moved', to='ddl.moving')
        db.command('collMod', 'moving', index={
            'keyPattern': {'n': 1}, 'hidden': self.rounds % 2 == 0})
        self.rounds += 1
