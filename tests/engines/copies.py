"""Copies databases from mmapv1 to each of the storage engines, from one to the next, and back to
mmapv1, by tools/copy_databases.py as ./lab copy does it, and compares the hashes of all.

Usage: TESTS_ENGINE=wiredTiger,rocksdb build/venv/bin/python tests/engines/copies.py \\
           wiredTiger rocksdb
"""

import contextlib
import datetime
import os
import subprocess
import sys

import bson
import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import server  # noqa: E402
import totals  # noqa: E402


def fill(client):
    values = [None, True, -1, 2 ** 53 + 1, 2.0 ** 53, 2 ** 63 - 1, 2.0 ** 63, float('inf'),
              float('-inf'), bson.Decimal128('1.10'), 'text', 'ä', b'bytes', bson.ObjectId(),
              datetime.datetime(2026, 1, 1), bson.Timestamp(1, 2), bson.Regex('a', 'i'),
              bson.Code('f'), {'b': {'c': 1}}, [1, [2, {'d': 3}]], [], bson.MinKey(), bson.MaxKey()]
    shop = client.shop
    shop.things.insert_many({'_id': number, 'a': value, 'n': number, 'text': 'x' * number}
                            for number, value in enumerate(values * 40))
    shop.things.create_index('a')
    shop.things.create_index([('n', -1), ('a', 1)], unique=True)
    shop.things.create_index('text', sparse=True)
    shop.create_collection('ring', capped=True, size=8192, max=50)
    shop.ring.insert_many({'_id': number} for number in range(200))
    shop.create_collection('empty')
    client.other.people.insert_many({'name': 'p%d' % number, 'age': number % 90}
                                    for number in range(2000))
    client.other.people.create_index('age')


def hashes(client):
    return {name: {ns: digest for ns, digest in client[name].command('dbHash')
                   ['collections'].items() if not ns.startswith('system.')}
            for name in ('shop', 'other')}


def indexes(client):
    """Of each collection, without what is the engine's own business."""
    return {(name, ns): {index: [spec[field] for field in ('key', 'unique', 'sparse')
                                 if field in spec]
                         for index, spec in client[name][ns].index_information().items()}
            for name in ('shop', 'other') for ns in client[name].list_collection_names()}


def main():
    engines = ['mmapv1'] + sys.argv[1:] + ['mmapv1']
    stage = server.build('none', '', ['mongod'])
    tally = totals.Totals()
    with server.scratch() as folder, contextlib.ExitStack() as stack:
        servers, clients = [], []
        for number, each in enumerate(engines):
            running = stack.enter_context(server.Server(
                os.path.join(stage, 'bin', 'mongod'), os.path.join(folder, 'db%d' % number),
                ['--storageEngine', each]))
            servers.append(running)
            clients.append(stack.enter_context(pymongo.MongoClient(running.uri)))
        fill(clients[0])
        for source, target in zip(servers, servers[1:]):
            run = subprocess.run([sys.executable, os.path.join(TOP, 'tools/copy_databases.py'),
                                  source.uri, target.uri], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            print(run.stdout, end='')
            tally.add('copied', int(run.returncode == 0), int(run.returncode != 0))
        for what, read in (('hashes', hashes), ('indexes', indexes)):
            first = read(clients[0])
            for number, client in enumerate(clients[1:], 1):
                same = read(client) == first
                tally.add('%s of %d, %s' % (what, number, engines[number]), int(same),
                          int(not same))
    tally.close()


if __name__ == '__main__':
    main()
