"""Kills a server under load, again and again, and checks what recovery brings back.

Each round starts the server on the data that the last round left, checks it, writes from several
connections with j:true, and kills the process at a moment chosen at random. After the restart
every acknowledged write must be there, nothing may be half applied, and validate must find nothing.
Usage: build/venv/bin/python tests/crash.py [--rounds 12] [--seed N] [--selection none]
       [-- OPTION...]      options of the server
Prints the seed; the same seed chooses the same work and the same moments, not the same schedule.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pymongo
from pymongo import errors, write_concern

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests')]

import server  # noqa: E402
import staging  # noqa: E402

WRITERS = 4
DURABLE = write_concern.WriteConcern(w=1, j=True)


class Writer(threading.Thread):
    """Inserts, grows and removes documents of its own until the server is gone.

    `certain` holds what was acknowledged; `open` the one write that was under way at the kill,
    which may or may not have happened: its document before and after.
    """

    def __init__(self, number, certain, seed, uri):
        super().__init__()
        self.number, self.certain, self.uri = number, certain, uri
        self.random = random.Random(seed)
        self.open = None
        self.error = None
        self.acknowledged = 0

    def run(self):
        with pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=1000,
                                 retryWrites=False) as client:
            collection = client.crash.get_collection('c', write_concern=DURABLE)
            try:
                while True:
                    self.step(collection)
            except errors.ConnectionFailure:
                pass  # the kill
            except errors.PyMongoError as error:
                self.error = error

    def step(self, collection):
        """One acknowledged change. A document's text repeats its version, so a mix shows."""
        ids = list(self.certain)
        action = self.random.random()
        if action < 0.5 or not ids:
            key = '%d-%d' % (self.number, len(ids) + self.random.randrange(10 ** 9))
            self.change(key, self.make(key, 1), collection.insert_one)
        elif action < 0.85:
            key = self.random.choice(ids)
            document = self.make(key, self.certain[key]['version'] + 1)
            self.change(key, document,
                        lambda after: collection.replace_one({'_id': key}, after))
        else:
            key = self.random.choice(ids)
            self.change(key, None, lambda after: collection.delete_one({'_id': key}))

    def make(self, key, version):
        text = ('%d,' % version) * self.random.choice((1, 10, 200, 2000))
        return {'_id': key, 'version': version, 'text': text, 'k': self.random.randrange(1000)}

    def change(self, key, after, write):
        self.open = key, self.certain.get(key), after
        write(after)
        self.open = None
        self.acknowledged += 1
        if after is None:
            del self.certain[key]
        else:
            self.certain[key] = after


class Failure(Exception):
    """What was found differs from what was acknowledged."""


def check(running, certain, undecided):
    """Compares the collection with what is certain, and settles what was under way."""
    with pymongo.MongoClient(running.uri) as client:
        collection = client.crash.c
        found = {document['_id']: document for document in collection.find()}
        for key, before, after in undecided:
            if found.get(key) not in (before, after):
                raise Failure('%s is neither the old nor the new version: %.200r'
                              % (key, found.get(key)))
            if found.get(key) is None:
                certain.pop(key, None)
            else:
                certain[key] = found[key]
        lost = [key for key in certain if key not in found]
        extra = [key for key in found if key not in certain]
        changed = [key for key in certain if key in found and found[key] != certain[key]]
        if lost or extra or changed:
            raise Failure('lost %r, not removed %r, changed %r'
                          % (lost[:5], extra[:5], changed[:5]))
        for hint in ([('_id', 1)], [('k', 1)]):
            if sum(1 for _ in collection.find({}).hint(hint)) != len(found):
                raise Failure('the index %r does not have every document' % hint)
        result = client.crash.command('validate', 'c', full=True)
        if not result['valid']:
            raise Failure('validate: %r' % result['errors'])


def play_round(program, folder, options, chance, certain, undecided):
    """Starts, checks what is there, writes, kills. Returns how many writes were acknowledged."""
    with server.Server(program, os.path.join(folder, 'db'), options) as running:
        with pymongo.MongoClient(running.uri) as client:
            client.crash.get_collection('c', write_concern=DURABLE).create_index('k')
        check(running, certain, undecided)
        shares = [{} for _ in range(WRITERS)]
        for key, document in certain.items():
            shares[int(key.split('-')[0])][key] = document
        writers = [Writer(number, shares[number], chance.random(), running.uri)
                   for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        wanted = chance.randrange(1, 120)
        while (sum(writer.acknowledged for writer in writers) < wanted
               and any(writer.is_alive() for writer in writers)):
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        running.kill()
    for writer in writers:
        writer.join()
        if writer.error:
            raise Failure('a write failed before the kill: %s' % writer.error)
    certain.clear()
    for writer in writers:
        certain.update(writer.certain)
    undecided[:] = [writer.open for writer in writers if writer.open]
    return sum(writer.acknowledged for writer in writers)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=12)
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parser.add_argument('--selection', default='none')
    parser.add_argument('options', nargs='*',
                        default=['--smallfiles', '--journalCommitInterval', '3',
                                 '--syncdelay', '1'])
    arguments = parser.parse_args()
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    subprocess.run(['scons', '-Q', 'patches=' + arguments.selection, 'mongod'], cwd=TOP, check=True)
    program = os.path.join(TOP, 'build', staging.select(TOP, arguments.selection).name,
                           'bin', 'mongod')
    folder = tempfile.mkdtemp(prefix='crash-', dir=scratch)
    chance = random.Random(arguments.seed)
    certain, undecided, passed = {}, [], 0
    print('seed %d' % arguments.seed)
    try:
        for number in range(1, arguments.rounds + 1):
            writes = play_round(program, folder, arguments.options, chance, certain, undecided)
            passed += 1
            print('ok   round %d: killed after %d durable writes, %d under way'
                  % (number, writes, len(undecided)), flush=True)
        with server.Server(program, os.path.join(folder, 'db'), arguments.options) as running:
            check(running, certain, undecided)
    except (Failure, server.ServerError) as failure:
        print('FAIL round %d: %s\n     data and log: %s'
              % (passed + 1, failure, os.path.relpath(folder, TOP)))
        print('%d passed, 1 failed' % passed)
        sys.exit(1)
    shutil.rmtree(folder)
    print('%d passed, 0 failed' % (passed + 1))


if __name__ == '__main__':
    main()
