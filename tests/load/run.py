"""Many clients that each insert one large document at the same moment, then a kill.

What they write together is far more than one commit should carry. The server must live, every
document that was acknowledged with j: true must be there after a kill and a restart, byte for byte,
and the files must be sound. In the database "limited" the server has the usual limit of memory for
all operations together, and may refuse some.
Usage: build/venv/bin/python tests/load/run.py [--clients 64] [--megabytes 15] [--sanitize WHICH]
       [CASE...]      SELECTION:DATABASE, usually none:load none:local none:limited all:load
"""

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading

import bson

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import messages  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

LIMITED = 'limited'
MEMORY = ['--setParameter', 'allOperationsMemoryBytes=%d' % (4 << 30)]
CASES = ['none:load', 'none:local', 'none:' + LIMITED, 'all:load']
OP_MSG = 2013
ANSWER_SECONDS_MAX = 120  # generous: a server that does not answer by then hangs


class Failure(Exception):
    """The server died, refused, or lost something."""


class Client(messages.Connection):
    def __init__(self, port):
        super().__init__(port, ANSWER_SECONDS_MAX)

    def run(self, command, database, documents=None):
        """The reply to a command; `documents` is (name, encoded document) of a second section."""
        body = struct.pack('<IB', 0, 0) + bson.encode(dict(command, **{'$db': database}))
        if documents:
            name = documents[0].encode() + b'\0'
            body += b'\1' + struct.pack('<i', 4 + len(name) + len(documents[1])) + name
            self.socket.sendall(struct.pack('<iiii', 16 + len(body) + len(documents[1]), 1, 0,
                                            OP_MSG) + body)
            self.socket.sendall(documents[1])
        else:
            self.send(OP_MSG, body)
        reply = bson.decode(self.receive()[21:])
        if reply['ok'] != 1 or 'writeErrors' in reply or 'writeConcernError' in reply:
            raise Failure('%s: %r' % (next(iter(command)), reply))
        return reply


def document(number, megabytes):
    """{_id: number, x: bytes}, encoded; the bytes do not compress."""
    text = random.Random(number).randbytes(1 << 20) * megabytes
    return bson.encode({'_id': number, 'x': text})


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
                                args=(port, database, number, document(number, megabytes),
                                      together, acknowledged, failures))
               for number in range(clients)]
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


def what_went_wrong(running):
    with open(running.log_path, encoding='utf-8', errors='replace') as log:
        bad = ''.join(line for line in log if 'ERROR' in line or 'SEVERE' in line)
    return bad or running.tail()


def run_case(case, arguments, directory):
    selection, database = case.split(':')
    stage = server.build(selection, arguments.sanitize, ['mongod', 'dbpath_check'])
    dbpath = os.path.join(directory, 'db')
    options = ['--smallfiles', '--nssize', '1'] + (MEMORY if database != LIMITED else [])
    if selection == 'all':
        options += ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]
    program = os.path.join(stage, 'bin', 'mongod')
    running = server.Server(program, dbpath, options)
    try:
        with Client(running.port) as client:
            client.run({'create': 'c'}, database)
        acknowledged = insert_together(running.port, database, arguments.clients,
                                       arguments.megabytes)
        if running.process.poll() is not None:
            raise Failure('the server ended')
    except (Failure, OSError) as failure:
        raise Failure('%s\n%s' % (failure, what_went_wrong(running))) from failure
    finally:
        running.kill()
    with server.Server(program, dbpath, options) as running:
        check(running.port, database, acknowledged, arguments.megabytes)
    subprocess.run([os.path.join(stage, 'bin', 'dbpath_check'), '--quiet', dbpath], check=True,
                   stdout=subprocess.DEVNULL)
    return len(acknowledged)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--clients', type=int, default=64)
    parser.add_argument('--megabytes', type=int, default=15)
    parser.add_argument('--sanitize', default='')
    parser.add_argument('cases', nargs='*', default=CASES)
    arguments = parser.parse_args()
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    tally = totals.Totals()
    for case in arguments.cases:
        with tempfile.TemporaryDirectory(prefix='load-', dir=scratch) as directory:
            try:
                taken = run_case(case, arguments, directory)
            except (Failure, server.ServerError, subprocess.CalledProcessError) as failure:
                print('     %s' % failure)
                tally.add(case, 0, 1)
            else:
                tally.add('%s, %d of %d taken' % (case, taken, arguments.clients), 1, 0)
    tally.close()


if __name__ == '__main__':
    main()
