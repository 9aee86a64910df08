"""Kills a server with the storage engine under test, again and again, while clients write. What was
acknowledged must be there afterwards, whole, every index must agree with the documents, and the
counts with a count. With --log the server keeps a log of writes: its entries, applied in turn to
nothing, must give the documents.

A kill leaves what the process gave to the system. rocksdb gives its log to it before the answer, so
writes count that were acknowledged without j: true too; wiredTiger with the next sync, and all its
writers ask for that. That syncs are made is for the unit tests of power cuts.
Usage: TESTS_ENGINE=rocksdb|wiredTiger build/venv/bin/python tests/engines/kills.py [--rounds N]
           [--writes N] [--seed N] [--log]"""

import itertools
import os
import random
import sys
import threading

import pymongo
from pymongo import errors

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

KEEPS_ONLY_SYNCED = os.environ.get(server.ENGINE) == 'wiredTiger'
WRITERS = 6
ACKNOWLEDGED_MAX = 400  # of a round, before the kill


class Writer(threading.Thread):
    """Inserts, updates and removes documents of its own until the server is gone. Where that need
    not be, only half of the writers ask for j: true."""

    def __init__(self, uri, number, first, seed, acknowledged):
        super().__init__(daemon=True)
        self.uri, self.number, self.next = uri, number, first
        self.random = random.Random(seed)
        self.acknowledged = acknowledged  # released for each
        self.documents = {}  # id: version that was acknowledged; None: removed
        self.unsure = None  # id whose last change was not answered

    def run(self):
        client = pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=5000, retryWrites=False)
        concern = pymongo.WriteConcern(j=KEEPS_ONLY_SYNCED or self.number % 2 == 0)
        docs = client.test.get_collection('c%d' % (self.number % 3), write_concern=concern)
        try:
            while True:
                self.change(docs)
                self.acknowledged.release()
        except errors.PyMongoError:
            return  # it was killed
        finally:
            client.close()

    def change(self, docs):
        live = [key for key, version in self.documents.items() if version is not None]
        kind = self.random.random()
        if kind < 0.6 or not live:
            key, self.next = self.next, self.next + 1
            self.unsure = key
            docs.insert_one(document(self.number, key, 0))
            self.documents[key] = 0
        elif kind < 0.85:
            key = self.random.choice(live)
            version = self.documents[key] + 1
            self.unsure = key
            docs.replace_one({'_id': '%d-%d' % (self.number, key)},
                             document(self.number, key, version))
            self.documents[key] = version
        else:
            key = self.random.choice(live)
            self.unsure = key
            docs.delete_one({'_id': '%d-%d' % (self.number, key)})
            self.documents[key] = None
        self.unsure = None


def document(writer, key, version):
    return {'_id': '%d-%d' % (writer, key), 'writer': writer, 'key': key, 'version': version,
            'tags': [version % 7, (key + version) % 11], 'pad': 'x' * (key % 900)}


class Campaign:
    def __init__(self, program, dbpath, seed, with_log):
        self.program, self.dbpath = program, dbpath
        self.with_log = with_log
        self.random = random.Random(seed)
        self.known = [{} for _ in range(WRITERS)]
        self.unsure = [None] * WRITERS
        self.acknowledged = 0

    def round(self):
        """Returns sentences on what is wrong."""
        options = ['--master', '--oplogSize', '512'] if self.with_log else []
        with server.Server(self.program, self.dbpath, options) as running:
            client = pymongo.MongoClient(running.uri)
            found = self.differences(client)
            if found:
                running.kill()
                return found
            for name in ('c0', 'c1', 'c2'):
                client.test[name].create_index('tags')
                client.test[name].create_index([('writer', 1), ('key', -1)], unique=True)
            client.close()
            acknowledged = threading.Semaphore(0)
            writers = [Writer(running.uri, number, len(self.known[number]),
                              self.random.random(), acknowledged) for number in range(WRITERS)]
            for writer, known in zip(writers, self.known):
                writer.documents = known
                writer.start()
            for _ in range(self.random.randrange(1, ACKNOWLEDGED_MAX)):
                acknowledged.acquire()
                self.acknowledged += 1
            running.kill()
            for number, writer in enumerate(writers):
                writer.join()
                self.unsure[number] = writer.unsure
        return []

    def differences(self, client):
        wrong = self.differences_of_log(client) if self.with_log else []
        there = [{} for _ in range(WRITERS)]
        for name in ('c0', 'c1', 'c2'):
            for each in client.test[name].find():
                if each != document(each['writer'], each['key'], each['version']):
                    wrong.append('%s is not whole' % each['_id'])
                there[each['writer']][each['key']] = each['version']
            counted, found = (client.test[name].estimated_document_count(),
                              sum(1 for _ in client.test[name].find({}, {'_id': 1})))
            if counted != found:
                wrong.append('%s: %d documents, %d counted' % (name, found, counted))
            if name in client.test.list_collection_names():
                report = client.test.command('validate', name, full=True)
                if not report['valid']:
                    wrong.append('%s: %s' % (name, report['errors']))
        for number, known in enumerate(self.known):
            unsure = self.unsure[number]
            for key in set(known) | set(there[number]):
                if key == unsure:
                    # As before the change that was not answered, or as after it.
                    version = there[number].get(key)
                    if key in known and known[key] is not None and version is not None and \
                            version not in (known[key], known[key] + 1):
                        wrong.append('%d-%d has version %s' % (number, key, version))
                    known[key] = version
                elif there[number].get(key) != known.get(key):
                    wrong.append('%d-%d: %s was acknowledged, %s is there'
                                 % (number, key, known.get(key), there[number].get(key)))
            self.unsure[number] = None
        return wrong

    @staticmethod
    def differences_of_log(client):
        """Applies the log to nothing. It has all entries: the ring has not come round."""
        wrong, documents, last = [], {}, None
        for entry in client.local['oplog.$main'].find().sort('$natural', 1):
            if last is not None and entry['ts'] <= last:
                wrong.append('the entry %s comes behind %s' % (entry['ts'], last))
            last = entry['ts']
            database, _, name = entry['ns'].partition('.')
            if database != 'test' or name not in ('c0', 'c1', 'c2'):
                continue
            there, o = documents.setdefault(name, {}), entry['o']
            key = entry.get('o2', o)['_id']
            if (key in there) != (entry['op'] != 'i'):
                wrong.append('%s: an entry %s, and it is %sthere'
                             % (key, entry['op'], '' if key in there else 'not '))
            if entry['op'] == 'd':
                there.pop(key, None)
            else:
                there[key] = o
        for name in ('c0', 'c1', 'c2'):
            found = {each['_id']: each for each in client.test[name].find()}
            for key in set(found) | set(documents.get(name, {})):
                if found.get(key) != documents.get(name, {}).get(key):
                    wrong.append('%s: the log has %s, %s is there'
                                 % (key, documents.get(name, {}).get(key), found.get(key)))
        return wrong


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--rounds', type=choice.count(), default=6)
    parser.add_argument('--writes', type=choice.count(), metavar='N',
                        help='in place of --rounds: until so many were acknowledged')
    parser.add_argument('--seed', type=choice.count(0), default=random.randrange(10 ** 6))
    parser.add_argument('--log', action='store_true', help='with a log of writes')
    arguments = parser.parse_args()
    engine = os.environ.get(server.ENGINE, 'mmapv1')
    stage = server.build('none', '', ['mongod'])
    tally = totals.Totals()
    with server.scratch() as folder:
        campaign = Campaign(os.path.join(stage, 'bin', 'mongod'), os.path.join(folder, 'db'),
                            arguments.seed, arguments.log)
        print('--seed %d, storage engine %s' % (arguments.seed, engine), flush=True)
        for number in itertools.count(1):
            is_last = (campaign.acknowledged >= arguments.writes if arguments.writes else
                       number > arguments.rounds)
            wrong = campaign.round()
            for sentence in wrong[:10]:
                print('     ' + sentence)
            tally.add('round %d, %d acknowledged by now' % (number, campaign.acknowledged),
                      int(not wrong), int(bool(wrong)))
            if wrong or is_last:
                break
    tally.close()


if __name__ == '__main__':
    main()
