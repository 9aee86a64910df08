"""Kills a server under load, again and again, and checks what recovery brings back.

Each round starts the server on what the last round left, sometimes killing it in the middle of the
recovery first, and checks: every write that was acknowledged with j: true is there; of the later
ones the first few survived, whole, and nothing after them; validate and dbpath_check find nothing.
Then four clients, two for each dialect of the protocol, write (load.py has what they do)
until the process is killed at a moment of the round's kind: after some writes, on the heels of an
acknowledgement, in the middle of a certain operation, while files are made, during a shutdown.
Usage: build/venv/bin/python tests/crash/run.py [--rounds 20] [--seed N] [--selection none]
       [--sanitize WHICH] [-- OPTION...]      options of the server
Prints the seed; the same seed chooses the same work and the same moments, not the same schedule.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymongo

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import load  # noqa: E402
import server  # noqa: E402
from load import Collection, Failure  # noqa: E402

WRITERS = 4
ANY_FILE, SHUTDOWN = 'a new file', 'shutdown'
# Kinds of moments; each round takes the next one of a shuffled list.
MOMENTS = ['writes', 'writes', 'ack', 'ack', ANY_FILE, SHUTDOWN, 'batch', 'multi', 'push', 'grow',
           'index', 'drop', 'drop_database']
SERVER_OPTIONS = ['--smallfiles', '--nssize', '2', '--journalCommitInterval', '3', '--syncdelay',
                  '1']


class Killer:
    """Decides when a round's kill is due. Writers call watch(); the driver waits in wait()."""

    def __init__(self, moment, chance, dbpath):
        self.moment, self.dbpath = moment, dbpath
        self.left = chance.randrange(1, 120)
        self.delay = chance.random() * {'writes': 0.05, 'ack': 0}.get(moment, 0.01)
        if moment not in ('writes', 'ack'):
            self.left = chance.randrange(1, 4)
        self.kill_now = None  # by the thread that sees the moment
        self.lock = threading.Lock()
        self.due = threading.Event()
        self.acknowledged = 0

    def watch(self, event):
        with self.lock:
            self.acknowledged += event == 'ack'
            wanted = 'ack' if self.moment in ('writes', ANY_FILE, SHUTDOWN) else self.moment
            if event == wanted:
                self.left -= 1
                if self.left == 0:
                    if self.moment == 'ack':
                        self.kill_now()
                    self.due.set()

    def wait(self, writers):
        """Returns when the kill is due, or when every writer has ended."""
        while not self.due.wait(0.005) and any(writer.is_alive() for writer in writers):
            pass
        if self.moment == ANY_FILE:
            before = self.files()
            while self.files() <= before and any(writer.is_alive() for writer in writers):
                pass  # the file may be there for a few microseconds only
        elif self.delay:
            time.sleep(self.delay)

    def files(self):
        found = set()
        for folder in ('', 'journal', '_tmp'):
            try:
                found.update(folder + '/' + name
                             for name in os.listdir(os.path.join(self.dbpath, folder)))
            except FileNotFoundError:
                pass
        return found


class Driver:
    def __init__(self, stage, folder, options, chance):
        self.program = os.path.join(stage, 'bin', 'mongod')
        self.checker = os.path.join(stage, 'bin', 'dbpath_check')
        self.folder, self.options, self.chance = folder, options, chance
        self.dbpath = os.path.join(folder, 'db')
        # Of each writer: what is certain, and the steps after it.
        self.states = [{} for _ in range(WRITERS)]
        self.tails = [[] for _ in range(WRITERS)]
        self.moments = []
        self.start_seconds = 0.0

    def start(self):
        begin = time.monotonic()
        running = server.Server(self.program, self.dbpath, self.options)
        self.start_seconds = time.monotonic() - begin
        return running

    def set_up(self):
        with self.start() as running, pymongo.MongoClient(running.uri) as client:
            client.crash.create_collection('c')
            client.crash.c.create_index('k')
        for state in self.states:
            state[load.SHARED] = Collection(indexes=load.SHARED_INDEXES)

    def kill_during_start(self):
        """Starts it a few times and kills it before it is ready, or just then."""
        kills = self.chance.choice((0, 0, 1, 2))
        for _ in range(kills):
            with open(self.dbpath + '.log', 'ab') as log:
                process = subprocess.Popen(
                    [self.program, '--port', str(self.chance.randrange(20000, 30000)), '--dbpath',
                     self.dbpath] + self.options, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=dict(os.environ, **server.SANITIZER_ENVIRONMENT))
            time.sleep(self.chance.random() * self.start_seconds)
            process.kill()
            if process.wait() not in (-signal.SIGKILL, server.EXIT_PORT_IN_USE):
                raise Failure('a start ended with %d by itself' % process.returncode)
        return kills

    def round(self):
        """Starts, checks, writes, kills. Returns a line about it."""
        if not self.moments:
            self.moments = self.chance.sample(MOMENTS, len(MOMENTS))
        killer = Killer(self.moments.pop(), self.chance, self.dbpath)
        starts = self.kill_during_start()
        with self.start() as running:
            survived = self.check(running)
            self.check_files(running)
            killer.kill_now = running.process.kill
            writers = [load.Writer(number, self.states[number], self.chance.random(),
                                         running.port, killer.watch) for number in range(WRITERS)]
            if killer.moment in (ANY_FILE, 'grow', 'drop', 'drop_database', 'index'):
                for writer in writers:  # let it happen soon
                    writer.ACTIONS = dict(writer.ACTIONS, grow=15, index=12, drop=9,
                                          drop_database=6)
            for writer in writers:
                writer.start()
            killer.wait(writers)
            self.end(running, killer)
        for writer in writers:
            writer.join()
            if writer.error:
                raise Failure('writer %d failed before the kill: %s'
                              % (writer.number, writer.error))
        self.states = [writer.state for writer in writers]
        self.tails = [writer.tail for writer in writers]
        return ('%d of %s steps had survived; killed by %s after %d durable writes%s'
                % (sum(survived[0]), survived[1], repr(killer.moment), killer.acknowledged,
                   ', %d starts killed before' % starts if starts else ''))

    def end(self, running, killer):
        if killer.moment == SHUTDOWN:
            running.process.terminate()
            try:
                running.process.wait(self.chance.random() * 0.3)
            except subprocess.TimeoutExpired:
                pass
        running.kill()
        wanted = (0, -signal.SIGKILL) if killer.moment == SHUTDOWN else (-signal.SIGKILL,)
        if running.process.returncode not in wanted:
            raise Failure('the server ended with %d before the kill:\n%s'
                          % (running.process.returncode, running.tail()))

    def check(self, running):
        """Compares what is there with what may be there, and settles what was under way."""
        with pymongo.MongoClient(running.uri) as client:
            found = read_all(client)
        survived = []
        for number in range(WRITERS):
            count, self.states[number] = load.settle(number, self.states[number],
                                                           self.tails[number], found.pop(number))
            survived.append(count)
        steps = sum(len(tail) for tail in self.tails)
        self.tails = [[] for _ in range(WRITERS)]
        return survived, steps

    def check_files(self, running):
        """Runs dbpath_check on a copy of the data files, as a backup would be taken."""
        copy = os.path.join(self.folder, 'copy')
        with pymongo.MongoClient(running.uri) as client:
            client.admin.command('fsync', lock=True)
            os.mkdir(copy)
            names = [name for name in os.listdir(self.dbpath) if name.startswith('crash')]
            subprocess.run(['cp', '--sparse=always'] + names + [copy], cwd=self.dbpath, check=True)
            client.admin.command('fsyncUnlock')
        self.run_checker(copy)
        shutil.rmtree(copy)

    def run_checker(self, dbpath):
        run = subprocess.run([self.checker, '--quiet', dbpath], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode != 0:
            raise Failure('dbpath_check ended with %d:\n%s' % (run.returncode, run.stdout))

    def finish(self):
        with self.start() as running:
            self.check(running)
        self.run_checker(self.dbpath)


def read_all(client):
    """What each writer's namespaces hold: {number: {namespace: Collection}}; validates all."""
    found = {number: {} for number in range(WRITERS)}
    for database in (name for name in client.list_database_names() if name.startswith('crash')):
        for info in list(client[database].list_collections()):
            if info['name'].startswith('system.'):
                continue
            ns = database + '.' + info['name']
            collection = read_collection(client[database], info)
            if ns == load.SHARED:
                for number in range(WRITERS):
                    found[number][ns] = Collection(
                        {key: document for key, document in collection.documents.items()
                         if key.startswith('%d-' % number)}, collection.indexes)
                continue
            owners = [number for number in range(WRITERS) if ns in load.namespaces(number)]
            if not owners:
                raise Failure('%s: nobody made this collection' % ns)
            found[owners[0]][ns] = collection
    return found


def read_collection(database, info):
    collection = database[info['name']]
    documents = list(collection.find())
    indexes = {index['name']: index['key'] for index in collection.list_indexes()}
    for name, key in indexes.items():
        if sum(1 for _ in collection.find({}).hint(list(key.items()))) != len(documents):
            raise Failure('%s: the index %s does not have every document'
                          % (collection.full_name, name))
    result = database.command('validate', info['name'], full=True)
    if not result['valid']:
        raise Failure('validate %s: %r' % (collection.full_name, result['errors']))
    if not info['options'].get('capped'):
        by_key = {document['_id']: document for document in documents}
        if len(by_key) != len(documents):
            raise Failure('%s: an _id is there twice' % collection.full_name)
        return Collection(by_key, indexes)
    newest = documents[-1]['_id'] if documents else 0
    kept = max(min(newest, load.RING_DOCUMENTS_MIN), len(documents))
    if documents != [load.ring_document(n) for n in range(newest - kept + 1, newest + 1)]:
        raise Failure('%s has gaps: %r' % (collection.full_name, [d['_id'] for d in documents]))
    return Collection({}, indexes, newest)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parser.add_argument('--selection', type=choice.selection, default='none')
    parser.add_argument('--sanitize', type=choice.sanitizer, default='')
    parser.add_argument('options', nargs='*', default=SERVER_OPTIONS)
    arguments = parser.parse_args()
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    stage = server.build(arguments.selection, arguments.sanitize, ['mongod', 'dbpath_check'])
    folder = tempfile.mkdtemp(prefix='crash-', dir=scratch)
    driver = Driver(stage, folder, arguments.options, random.Random(arguments.seed))
    passed = 0
    print('seed %d' % arguments.seed)
    try:
        driver.set_up()
        for number in range(1, arguments.rounds + 1):
            line = driver.round()
            passed += 1
            print('ok   round %d: %s' % (number, line), flush=True)
        driver.finish()
    except (Failure, server.ServerError) as failure:
        print('FAIL round %d: %s\n     data and log: %s'
              % (passed + 1, failure, os.path.relpath(folder, TOP)))
        print('%d passed, 1 failed' % passed)
        sys.exit(1)
    shutil.rmtree(folder)
    print('%d passed, 0 failed' % (passed + 1))


if __name__ == '__main__':
    main()
