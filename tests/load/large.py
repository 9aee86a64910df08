"""Many clients that each insert one large document at the same moment, then a kill.

What they write together is far more than one commit should carry. The server must live, every
document that was acknowledged with j: true must be there after a kill and a restart, byte for byte,
and the files must be consistent. In the database "limited" the server has the usual limit of memory
for all operations together, and may refuse some."""

import os
import random
import threading

import bson
from client import TOP, Client, Failure, Watched

LIMITED = 'limited'
MEMORY = ['--setParameter', 'memoryLimitMB=4096']


def document(number, megabytes):
    """{_id: number, x: bytes}, encoded: so many megabytes, exactly; the bytes do not compress."""
    around = len(bson.encode({'_id': number, 'x': b''}))
    text = random.Random(number).randbytes(1 << 20) * megabytes
    return bson.encode({'_id': number, 'x': text[around:]})


def insert(port, database, number, encoded, together, acknowledged, failures):
    try:
        with Client(port) as client:
            together.wait()
            client.run({'insert': 'c', 'writeConcern': {'w': 1, 'j': True}}, database,
                       ('documents', encoded))
        acknowledged.append(number)
    except (Failure, OSError, threading.BrokenBarrierError) as failure:
        failures.append('client %d: %s' % (number, failure))


def insert_together(port, database, clients, megabytes):
    acknowledged, failures = [], []
    together = threading.Barrier(clients)
    threads = [threading.Thread(target=insert,
                                args=(port, database, number, document(number, megabytes), together,
                                      acknowledged, failures)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures and database != LIMITED:
        raise Failure('; '.join(failures[:3]))
    if len(acknowledged) < clients // 4:
        raise Failure('only %d documents were taken' % len(acknowledged))
    return sorted(acknowledged)


def check(port, database, acknowledged, megabytes):
    with Client(port) as client:
        found = client.run({'count': 'c'}, database)['n']
        if found < len(acknowledged):
            raise Failure('%d documents were acknowledged, %d are there'
                          % (len(acknowledged), found))
        for number in acknowledged:
            reply = client.run({'find': 'c', 'filter': {'_id': number}}, database)
            batch = reply['cursor']['firstBatch']
            if not batch or bson.encode(batch[0]) != document(number, megabytes):
                raise Failure('document %d is not as it was acknowledged' % number)
        if not client.run({'validate': 'c', 'full': True}, database)['valid']:
            raise Failure('the collection is not valid')


def run(stage, directory, selection, database, clients, megabytes):
    options = ['--smallfiles', '--nssize', '1'] + (MEMORY if database != LIMITED else [])
    if selection == 'all':
        options += ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]
    with Watched(stage, directory, options) as watched:
        port = watched.start()
        try:
            with Client(port) as client:
                client.run({'create': 'c'}, database)
            acknowledged = insert_together(port, database, clients, megabytes)
        except (Failure, OSError) as failure:
            raise Failure('%s\n%s' % (failure, watched.errors())) from failure
        watched.kill()
        check(watched.start(), database, acknowledged, megabytes)
        watched.close()
    return '%d of %d taken' % (len(acknowledged), clients)
