"""Clients that change the same documents of a server with the storage engine under test: what the
replies say adds up to what is there, also after a kill.

Usage: TESTS_ENGINE=rocksdb|wiredTiger build/venv/bin/python tests/engines/beside.py [--rounds N]"""

import os
import sys
import threading

import pymongo
from pymongo import errors

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

CLIENTS = 12


class Clients:
    def __init__(self, uri, rounds):
        self.uri, self.rounds = uri, rounds
        self.mutex = threading.Lock()
        self.inserted = self.refused = self.upserted = 0
        self.numbers, self.failures = [], []

    def run(self):
        threads = [threading.Thread(target=self.work, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self, number):
        client = pymongo.MongoClient(self.uri, retryWrites=False)
        try:
            self.change(client, number)
        except errors.PyMongoError as error:
            self.failures.append('client %d: %s' % (number, error))
        finally:
            client.close()

    def change(self, client, number):
        docs = client.test.get_collection('c', write_concern=pymongo.WriteConcern(j=number == 0))
        for each in range(self.rounds):
            docs.update_one({'_id': 'hot'}, {'$inc': {'n': 1}, '$push': {'by': number}})
            docs.update_many({'kind': 'many'}, {'$inc': {'n': 1}})
            given = docs.find_one_and_update({'_id': 'numbers'}, {'$inc': {'n': 1}},
                                             return_document=pymongo.ReturnDocument.AFTER)
            upsert = docs.update_one({'key': 'u%d' % each}, {'$inc': {'n': 1}}, upsert=True)
            try:
                docs.insert_one({'key': 'k%d' % each, 'n': 0})
                won = 1
            except errors.DuplicateKeyError:
                won = 0
            with self.mutex:
                self.inserted += won
                self.refused += 1 - won
                self.upserted += upsert.upserted_id is not None
                self.numbers.append(given['n'])


def differences(client, told):
    wrong = list(told.failures)
    docs, all_rounds = client.test.c, CLIENTS * told.rounds

    def expect(what, got, wanted):
        if got != wanted:
            wrong.append('%s: %s, not %s' % (what, got, wanted))
    hot = docs.find_one({'_id': 'hot'})
    expect('increments', hot['n'], all_rounds)
    expect('elements that were pushed', sorted(hot['by']),
           [number for number in range(CLIENTS) for _ in range(told.rounds)])
    for each in docs.find({'kind': 'many'}):
        expect('updates of many', each['n'], all_rounds)
    expect('numbers that were given', sorted(told.numbers), list(range(1, all_rounds + 1)))
    expect('inserts', (told.inserted, told.refused), (told.rounds, all_rounds - told.rounds))
    expect('upserts', told.upserted, told.rounds)
    expect('updates by upserts',
           {each['n'] for each in docs.find({'key': {'$regex': '^u'}})}, {CLIENTS})
    expect('documents', (docs.count_documents({}), docs.estimated_document_count()),
           (5 + 2 * told.rounds,) * 2)
    report = client.test.command('validate', 'c', full=True)
    if not report['valid']:
        wrong.append('validate: %s' % report['errors'])
    return wrong


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--rounds', type=choice.count(), default=40, help='of each client')
    arguments = parser.parse_args()
    program = os.path.join(server.build('none', '', ['mongod']), 'bin', 'mongod')
    tally = totals.Totals()
    with server.scratch() as folder:
        dbpath = os.path.join(folder, 'db')
        with server.Server(program, dbpath) as running:
            with pymongo.MongoClient(running.uri) as client:
                docs = client.test.c
                docs.create_index('key', unique=True, sparse=True)
                docs.create_index([('kind', 1), ('n', 1)])
                docs.insert_many([{'_id': 'hot', 'n': 0, 'by': []}, {'_id': 'numbers', 'n': 0}] +
                                 [{'kind': 'many', 'n': 0} for _ in range(3)])
                told = Clients(running.uri, arguments.rounds)
                told.run()
                wrong = differences(client, told)
                conflicts = client.test.command('serverStatus')[os.environ[server.ENGINE]][
                    'writeConflicts']
                print('  %d conflicts' % conflicts)
                client.admin.command('fsync')
            running.kill()
        tally.add('clients beside each other', *((0, 1) if wrong else (1, 0)))
        with server.Server(program, dbpath) as running, pymongo.MongoClient(running.uri) as client:
            after = differences(client, told)
        tally.add('the same after a kill', *((0, 1) if after else (1, 0)))
    for text in (wrong + after)[:20]:
        print('  ' + text)
    tally.close()


if __name__ == '__main__':
    main()
