"""Servers in control groups with little memory, without an option about memory: they live, refuse
at most, and keep what they acknowledged.

A profile is a selection of patches with options; a load, one kind of work that wants memory. After
each load comes a kill; all that was acknowledged with j: true has to be there. What a server
refuses is said with the result: in a small group it may refuse, but it may not die."""

import os
import random
import re
import subprocess
import threading

import bson
from client import MB, TOP, Client, Failure, Skipped, Watched, documents_of

import memory_group
import server
from set_member import wait_until

ACKNOWLEDGED = {'w': 1, 'j': True}
DATABASE = 'load'
SECONDS_TO_END = 10  # of a server that cut connections: whether it is ending

OF_COMMITS = ['--journalCommitInterval', '0', '--journalCommitDelay', '--journalWaiterCommits']

# name: (selection of patches, options). Of conf/durable.yaml the other engines have what is about
# commits.
PROFILES = {
    'base': ('none', []),
    'durable': ('all', ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]),
    'wiredTiger': ('none', ['--storageEngine', 'wiredTiger']),
    'rocksdb': ('none', ['--storageEngine', 'rocksdb']),
    'wiredTiger-durable': ('all', ['--storageEngine', 'wiredTiger'] + OF_COMMITS),
    'rocksdb-durable': ('all', ['--storageEngine', 'rocksdb'] + OF_COMMITS),
}
REFUSED = re.compile(r'memory|too large|cache is too small|commit carries|can carry|'
                     r'cursor id \d+ not found')
CODE = re.compile(r"'code': (\d+)")


class Load:
    """What several clients do at the same time. `told` collects what was refused."""

    def __init__(self, port, megabytes):
        self.port, self.megabytes = port, megabytes
        self.kept = {}  # collection: documents acknowledged with j: true, at least
        self.told, self.failures = [], []
        self.mutex = threading.Lock()

    def together(self, clients, work):
        def one(number):
            try:
                with Client(self.port) as client:
                    work(client, number)
            except (Failure, OSError) as failure:
                self.failures.append('client %d: %s' % (number, failure))
        threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failures:
            raise Failure('; '.join(self.failures[:3]))

    def attempt(self, client, command, documents=None, kept=None):
        """Runs a command that may be refused for want of memory; `kept` is (collection, count)."""
        try:
            reply = client.run(command, DATABASE, documents)
        except Failure as failure:
            if not REFUSED.search(str(failure)):
                raise
            with self.mutex:
                self.told.append(str(failure))
            return None
        if kept:
            with self.mutex:
                self.kept[kept[0]] = self.kept.get(kept[0], 0) + kept[1]
        return reply

    def insert(self, client, name, documents, concern=None, before=0):
        """Returns how many were taken. With j: true these are kept, and `before` that many."""
        command = {'insert': name}
        if concern:
            command['writeConcern'] = concern
        reply = self.attempt(client, command,
                             ('documents', b''.join(bson.encode(each) for each in documents)),
                             (name, before + len(documents)) if concern else None)
        return reply['n'] if reply else 0


def inserts(document_bytes, clients, share):
    """Messages as large as the server takes, of documents of one size, a share of the group's
    memory in all; then a small one with j: true."""
    def run(load):
        with Client(load.port) as client:
            hello = client.run({'hello': 1}, DATABASE)
        text = 'x' * document_bytes
        batch = max(1, min(hello['maxWriteBatchSize'],
                           (hello['maxMessageSizeBytes'] - 1000) // (document_bytes + 100)))
        name = 'inserts%d' % document_bytes
        whole = int(load.megabytes * MB * share / document_bytes / clients)

        def work(client, number):
            taken = 0
            for first in range(0, whole, batch):
                taken += load.insert(client, name, [
                    {'_id': '%d %d' % (number, n), 'text': text}
                    for n in range(first, min(first + batch, whole))])
            # What this client wrote before is in the journal, too.
            load.insert(client, name, [{'_id': number}], ACKNOWLEDGED, taken)
        load.together(clients, work)
    return run


def iibench(load):
    rows, batch = 60_000, 500
    with Client(load.port) as client:
        client.run({'createIndexes': 'purchases', 'indexes': [
            {'key': {field: 1, 'at': 1}, 'name': field}
            for field in ('price', 'customer', 'register')]}, DATABASE)

    def work(client, number):
        chance = random.Random(number)
        for first in range(0, rows // 4, batch):
            load.insert(client, 'purchases', [
                {'price': chance.random(), 'customer': chance.randrange(100_000),
                 'register': chance.randrange(1000), 'at': first + n} for n in range(batch)],
                ACKNOWLEDGED)
    load.together(4, work)


def sorts(load):
    """Forty clients that group and sort what is larger than all of them may hold."""
    with Client(load.port) as client:
        for first in range(0, 4000, 100):
            load.insert(client, 'sorted', [{'n': n * 7919 % 4000, 'text': 'y' * 4000}
                                           for n in range(first, first + 100)], ACKNOWLEDGED)

    def work(client, number):
        for pipeline in ([{'$group': {'_id': '$n', 'all': {'$push': '$text'}}},
                          {'$sort': {'all': 1}}, {'$limit': 1}],
                         [{'$sort': {'text': 1, 'n': -1}}, {'$skip': 3999}]):
            load.attempt(client, {'aggregate': 'sorted', 'pipeline': pipeline, 'cursor': {},
                                  'allowDiskUse': number % 2 == 0})
    load.together(40, work)


def read_all(load, client, command):
    """Reads a cursor to its end, or until that is refused; returns how many documents came."""
    reply, documents = load.attempt(client, command), 0
    while reply:
        cursor = reply['cursor']
        documents += len(cursor.get('firstBatch', ())) + len(cursor.get('nextBatch', ()))
        if not cursor['id']:
            break
        reply = load.attempt(client, {'getMore': bson.Int64(cursor['id']),
                                      'collection': cursor['ns'].split('.', 1)[1]})
    return documents


def reads(load):
    """Many clients at once that want replies as large as there are, of few and of many documents;
    then one client alone, which gets them."""
    text = random.Random(1).randbytes(15_000_000)
    with Client(load.port) as client:
        while not load.insert(client, 'whole', [{'_id': 0, 'text': text}], ACKNOWLEDGED):
            text = text[:len(text) // 2]  # some engines take no larger one
        for n in range(1, 4):
            load.insert(client, 'whole', [{'_id': n, 'text': text[n:]}], ACKNOWLEDGED)
        for first in range(0, 2000, 200):
            load.insert(client, 'parts', [{'_id': n, 'text': b'z' * 15_000}
                                          for n in range(first, first + 200)], ACKNOWLEDGED)

    def wanted(number):
        return [{'find': 'whole', 'filter': {}},
                {'find': 'whole', 'filter': {}, 'sort': {'text': 1}},
                {'find': 'parts', 'filter': {}, 'batchSize': 1 + number % 2},
                {'aggregate': 'whole', 'pipeline': [{'$addFields': {'n': number}}], 'cursor': {}},
                {'aggregate': 'parts', 'pipeline': [{'$group': {
                    '_id': {'$mod': ['$_id', 4]}, 'all': {'$push': '$text'}}}], 'cursor': {}}]

    def work(client, number):
        for command in wanted(number) * (32 // clients):
            read_all(load, client, command)
    for clients in (8, 32):
        load.together(clients, work)

    # The last replies to the others are memory until the server's threads see that they are sent.
    with Client(load.port) as client:
        wait_until('a client alone does not get its documents',
                   lambda: read_all(load, client, wanted(0)[0]) == 4)


def mixed(load):
    """Writes and reads of large documents, groups and sorts, at the same time."""
    with Client(load.port) as client:
        for first in range(0, 20_000, 1000):
            load.insert(client, 'rows', [{'_id': n, 'n': n * 7919 % 20_000, 'text': 'z' * 1000}
                                         for n in range(first, first + 1000)], ACKNOWLEDGED)

    def work(client, number):
        chance = random.Random(number)
        all_texts = {'$group': {'_id': None, 'all': {'$addToSet': '$text'},
                                'keys': {'$push': '$_id'}}}
        for turn in range(30):
            kind = (number + turn) % 6
            if kind == 0:
                load.insert(client, 'written', [{'_id': '%d %d' % (number, turn),
                                                 'text': chance.randbytes(15_000_000)}],
                            ACKNOWLEDGED)
            elif kind == 1:
                read_all(load, client, {'find': 'written', 'filter': {}, 'limit': 3})
            elif kind == 2:
                read_all(load, client, {'find': 'rows', 'filter': {}, 'sort': {'n': 1},
                                        'batchSize': 1000})
            elif kind == 3:
                read_all(load, client, {'aggregate': 'rows', 'cursor': {}, 'allowDiskUse': True,
                                        'pipeline': [{'$sort': {'text': 1, 'n': 1}}, all_texts]})
            elif kind == 4:
                read_all(load, client, {'aggregate': 'rows', 'cursor': {}, 'pipeline': [
                    {'$group': {'_id': {'$mod': ['$n', 7]}, 'all': {'$push': '$text'}}}]})
            else:
                load.attempt(client, {'update': 'rows', 'updates': [
                    {'q': {'n': {'$lt': 5000}}, 'u': {'$inc': {'n': 1}}, 'multi': True}]})
    load.together(12, work)


LOADS = {
    'small': inserts(1000, 4, 1.5),
    'medium': inserts(100_000, 2, 2.5),
    'large': inserts(15_000_000, 8, 1),
    'iibench': iibench,
    'sorts': sorts,
    'reads': reads,
    'mixed': mixed,
}


def check(port, kept):
    with Client(port) as client:
        for name, documents in kept.items():
            found = sum(1 for _ in documents_of(client, DATABASE,
                                                {'find': name, 'projection': {'_id': 1}}))
            if found < documents:
                raise Failure('%s: %d documents were acknowledged, %d are there'
                              % (name, documents, found))


def check_log(path, megabytes):
    with open(path, encoding='utf-8') as log:
        found = re.search(r'memory: the control group may have (\d+) MB, .*memoryLimitMB is (\d+)',
                          log.read())
    if not found or int(found.group(1)) != megabytes or int(found.group(2)) > megabytes / 2:
        raise Failure('the log does not say what memory there is')


def row(megabytes, profile, name, load, own):
    codes = sorted({code for told in load.told for code in CODE.findall(told)}, key=int)
    return '| %d MB | %s | %s | alive, %d MB of its own | %s | %d acknowledged, 0 lost |' % (
        megabytes, profile, name, own / MB,
        'refused %d by %s' % (len(load.told), ', '.join(codes)) if load.told else '-',
        sum(load.kept.values()))


def run_profile(stage, directory, profile, megabytes, loads, say=print):
    """Runs loads one after the other in one group; returns what was refused, by load."""
    try:
        group = memory_group.Group(megabytes * MB)
    except memory_group.NoGroup as reason:
        raise Skipped(reason) from reason
    refused, kept = {}, {}
    try:
        options = PROFILES[profile][1] + ['--syncdelay', '5']
        kind = group.server()
        kind.ready_seconds_max = server.STOPPED_SECONDS_MAX  # a recovery reads all of the journal
        with Watched(stage, directory, options, kind) as watched:
            port = watched.start()
            check_log(watched.running.log_path, megabytes)
            for name in loads:
                load = Load(port, megabytes)
                try:
                    LOADS[name](load)
                except Failure as failure:
                    try:
                        code = watched.running.process.wait(SECONDS_TO_END)
                    except subprocess.TimeoutExpired:
                        raise failure from None
                    raise Failure('%s: the server ended with %d (%s)\n%s' % (
                        name, code, failure, watched.errors())) from failure
                refused[name] = len(load.told)
                if sum(load.kept.values()) == 0:
                    raise Failure('%s: nothing was acknowledged' % name)
                kept.update(load.kept)
                own = watched.memory()
                watched.kill()
                port = watched.start()
                check(port, kept)
                say(row(megabytes, profile, name, load, own), flush=True)
            if PROFILES[profile][1][:1] == ['--storageEngine']:
                watched.running.stop()
            else:
                watched.close()
    finally:
        group.close()
    return refused


SIZES = [128, 256, 300, 512, 1024]
# What a change tries: where servers used to be killed.
USUAL = [('durable', 300, ['medium', 'iibench']), ('base', 128, ['reads', 'mixed']),
         ('wiredTiger', 128, ['reads'])]


def build(profile, sanitize):
    selection, options = PROFILES[profile]
    targets = ['mongod', 'dbpath_check']
    engine = options[1] if options[:1] == ['--storageEngine'] else None
    if engine:
        os.environ[server.ENGINE] = engine
        targets.append('engine_%s.so' % engine.lower())
    try:
        return server.build(selection, sanitize, targets)
    finally:
        os.environ.pop(server.ENGINE, None)


def run(directory, sanitize, whole):
    cases = [(profile, megabytes, list(LOADS)) for profile in PROFILES
             for megabytes in SIZES] if whole else USUAL
    refused = 0
    for number, (profile, megabytes, loads) in enumerate(cases):
        folder = os.path.join(directory, str(number))
        os.mkdir(folder)
        counts = run_profile(build(profile, sanitize), folder, profile, megabytes, loads)
        refused += sum(counts.values())
    return '%d groups, %d requests refused' % (len(cases), refused)
