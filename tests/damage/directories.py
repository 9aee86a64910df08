"""Data directories to be damaged, and the ways in which they are."""

import os
import shutil
import subprocess

import bson
import pymongo
import server

TOP = server.TOP
OPTIONS = ['--smallfiles', '--nssize', '1', '--nounixsocket', '--nopreallocj', '--noauth']
PAGE = 4096
JOURNALED = 120  # documents, each in a section of its own

# What may stand in a length, a link or a count.
NUMBERS = [0, 1, 4, 16, 8192, 0xffffffff, 0xfffffffe, 0x7fffffff, 0x80000000, 0x41424344]


def copy(source, target):
    """A copy with the holes of the original."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(['cp', '-r', '--sparse=always', source, target], check=True)


def unpack(name, target):
    os.makedirs(target)
    subprocess.run(['tar', '-xJf', os.path.join(TOP, 'tests', 'fixtures', name), '-C', target],
                   check=True)


def fill(client, name):
    """A database with what there is: records that moved, a tree of two levels, free records and
    extents, rings that have and have not come round, more indexes than fit an entry, a renamed
    collection, one of 3 MB documents, odd names."""
    db = client[name]
    db.gone.insert_many([{'_id': i, 's': 'g' * 300} for i in range(400)])
    db.c.insert_many([{'_id': i, 'a': [i % 7, i % 11], 's': 'x' * (20 + i % 180), 'n': i}
                      for i in range(900)])
    db.c.create_index([('s', 1), ('n', -1)])
    db.c.create_index('a', sparse=True)
    db.c.create_index('n', unique=True)
    db.c.update_many({'n': {'$mod': [5, 0]}}, {'$set': {'s': 'y' * 500}})
    db.c.delete_many({'n': {'$mod': [3, 0]}})
    for i in range(14):
        db.many.create_index('f%d' % i)
    db.many.insert_many([{'_id': i, 'f%d' % (i % 14): i} for i in range(100)])
    db.create_collection('ring', capped=True, size=16384)
    db.ring.insert_many([{'_id': i, 's': 'r' * (i % 90)} for i in range(600)])
    db.create_collection('young', capped=True, size=100000, max=500)
    db.young.insert_many([{'_id': i} for i in range(50)])
    db.before.insert_many([{'_id': i, 'was': 'renamed'} for i in range(200)])
    db.before.rename('after')
    db.after.insert_many([{'_id': i, 's': 'a' * 200} for i in range(200, 400)])
    db.large.insert_many([{'_id': i, 'b': bson.Binary(bytes([i]) * 3000000)} for i in range(2)])
    db['odd/na me%'].insert_one({'_id': 1})
    db.create_collection('empty')
    db.drop_collection('gone')


def contents(client, leave_out=('local', 'admin')):
    """{namespace: (documents by their order, indexes by name, options)} of all there is."""
    found = {}
    for name in client.list_database_names():
        if name in leave_out:
            continue
        for each in client[name].list_collections():
            if each['name'].startswith('system.'):
                continue
            collection = client[name][each['name']]
            documents = [bson.encode(d) for d in collection.find().hint([('$natural', 1)])]
            indexes = {spec['name']: dict(spec) for spec in collection.list_indexes()}
            found['%s.%s' % (name, each['name'])] = (documents, indexes, each['options'])
    return found


class Directory:
    """One without damage, with what is in it."""

    def __init__(self, name, path, options=(), expected=None):
        self.name, self.path, self.options, self.expected = name, path, list(options), expected

    def files(self):
        found = []
        for folder, _, names in os.walk(self.path):
            for each in names:
                if each.rpartition('.')[2].isdigit() or each.endswith('.ns'):
                    found.append(os.path.relpath(os.path.join(folder, each), self.path))
        return sorted(name for name in found if not name.startswith('journal'))


def own(program, folder, per_db):
    path = os.path.join(folder, 'own-per-db' if per_db else 'own')
    options = ['--directoryperdb'] if per_db else []
    with server.Server(program, path, OPTIONS + options) as running, \
            pymongo.MongoClient(running.uri) as client:
        fill(client, 'one')
        fill(client, 'two')
        expected = contents(client)
    return Directory(os.path.basename(path), path, options, expected)


def fixture(program, folder):
    path = os.path.join(folder, 'of-26')
    unpack('mmapv1-2.6-clean.tar.xz', path)
    looked = os.path.join(folder, 'of-26-looked-at')
    copy(path, looked)
    with server.Server(program, looked, OPTIONS) as running, \
            pymongo.MongoClient(running.uri) as client:
        expected = contents(client)
    shutil.rmtree(looked)
    return Directory('of-26', path, [], expected)


def journaled(program, folder):
    """Data files of a clean end, and a journal with all that came later: a power cut."""
    before, path = os.path.join(folder, 'before'), os.path.join(folder, 'journaled')
    with server.Server(program, before, OPTIONS) as running, \
            pymongo.MongoClient(running.uri) as client:
        client.j.c.create_index('n')
    copy(before, path)
    running = server.Server(program, before, OPTIONS + ['--syncdelay', '0'])
    with pymongo.MongoClient(running.uri, w=1, journal=True) as client:
        for i in range(JOURNALED):
            client.j.c.insert_one({'_id': i, 'n': i % 10, 's': 'j' * (i * 37 % 900)})
        running.kill()
    shutil.rmtree(os.path.join(path, 'journal'), ignore_errors=True)
    shutil.copytree(os.path.join(before, 'journal'), os.path.join(path, 'journal'))
    shutil.copy(os.path.join(before, 'mongod.lock'), path)
    return Directory('journaled', path)


def powercut(folder):
    path = os.path.join(folder, 'of-26-power-cut')
    unpack('mmapv1-2.6-powercut.tar.xz', path)
    return Directory('of-26-power-cut', path)


# Damage -------------------------------------------------------------------------------------------

def used_pages(path):
    """Offsets of pages that are not all zeros."""
    found = []
    with open(path, 'rb') as file:
        at = 0
        while page := file.read(PAGE):
            if page.count(0) != len(page):
                found.append(at)
            at += PAGE
    return found


def damage(path, name, chance, pages):
    """Damages one file of a directory; returns in words how. `pages`: those that are used."""
    whole = os.path.join(path, name)
    kind = chance.choice(['bit', 'bit', 'number', 'number', 'number', 'zeros', 'noise', 'sector',
                          'cut', 'cut to a page', 'grown', 'missing'])
    size = os.path.getsize(whole)
    if kind == 'missing':
        os.remove(whole)
        return '%s is missing' % name
    if kind.startswith('cut'):
        length = chance.randrange(size) if chance.random() < 0.5 or not pages else \
            min(size - 1, chance.choice(pages) + chance.randrange(PAGE))
        if kind == 'cut to a page':
            length = length // PAGE * PAGE
        os.truncate(whole, length)
        return '%s is cut to %d bytes' % (name, length)
    if kind == 'grown':
        os.truncate(whole, size + chance.choice([1, 512, PAGE, 1 << 20]))
        return '%s is grown to %d bytes' % (name, os.path.getsize(whole))
    at = chance.choice(pages or [0])
    with open(whole, 'r+b') as file:
        file.seek(at)
        page = bytearray(file.read(PAGE))
        changes = []
        for _ in range(chance.choice([1, 1, 2, 4])):
            if kind == 'bit':
                place = chance.choice([n for n, byte in enumerate(page) if byte] or [0])
                page[place] ^= 1 << chance.randrange(8)
            elif kind == 'number':
                place = chance.randrange(0, max(len(page) - 4, 1), 4)
                page[place:place + 4] = chance.choice(
                    NUMBERS + [chance.randrange(size), at, at + place]).to_bytes(4, 'little')
            elif kind == 'sector':
                place = chance.randrange(0, len(page), 512)
                page[place:place + 512] = bytes(512)
            else:
                place = 0
                page = bytearray(len(page)) if kind == 'zeros' else bytearray(
                    chance.randbytes(len(page)))
            changes.append('%#x' % (at + place))
        file.seek(at)
        file.write(page)
    return '%s: %s at %s' % (name, kind, ', '.join(changes))
