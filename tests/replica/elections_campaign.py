#!/usr/bin/env python3
"""Sets that elect their primary, in a network of namespaces, while everything fails.

Usage: elections_campaign.py [--minutes 60] [--seed N]   (as root)
       elections_campaign.py --calm [...]

Sets of mmapv1, of wiredTiger, of rocksdb and of all three, in turn. Four writers insert and
increment with w: "majority"; a reader reads what they have done at "linearizable". A fault at a
time, for up to three seconds: members and etcds killed, stopped, cut off, one way too; clients cut
off; all etcds gone; etcd rebuilt from nothing; step-downs, with a kill or a cut too; a voter
removed and added; a full disk; a clock that jumps. After each round all is healed, and compared:
nothing acknowledged is lost or done twice, no read was stale, and the members have the same.

--calm: 64 clients write to a set of the default election timeout, while members are stopped for a
second, and etcds are stopped, killed, without a quorum, or write a second late. No write fails, and
there is no election.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pymongo
from pymongo import errors, read_concern

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('tests/lib', 'tools')]

import cluster  # noqa: E402
import server  # noqa: E402
import sets  # noqa: E402

SETTINGS = {'electionTimeoutMillis': 1000, 'heartbeatIntervalMillis': 100}
OF_DATA_FILES = ['--smallfiles', '--nssize', '1', '--noprealloc', '--nopreallocj']
ENGINES = [('mmapv1', 'mmapv1', 'mmapv1'), ('wiredTiger',) * 3, ('rocksdb',) * 3,
           ('mmapv1', 'wiredTiger', 'rocksdb')]
FAULTS_A_ROUND = 12
DISK_MB = 700
CLIENTS = cluster.SUBNET + '1'
FAILED = (errors.PyMongoError, cluster.ClusterError)


class Worker(sets.Worker):
    passing = ()  # one() says what may fail

    def __init__(self, uri, number):
        super().__init__()
        self.number = number
        self.client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=5000, socketTimeoutMS=10000)


class Writer(Worker):
    """What it was acknowledged: `inserted` documents, and `increments` of its counter, of which
    `unknown` more may have been done."""

    def __init__(self, uri, number):
        super().__init__(uri, number)
        self.inserted = self.increments = self.unknown = 0
        concern = pymongo.WriteConcern('majority')
        self.documents = self.client.d.get_collection('documents', write_concern=concern)
        self.counters = self.client.d.get_collection('counters', write_concern=concern)

    def insert(self, number):
        with contextlib.suppress(errors.DuplicateKeyError):
            self.documents.insert_one({'_id': number})
            return
        # It is there, and may not be at a majority yet.
        self.documents.update_one({'_id': 'note'}, {'$inc': {'n': 1}}, upsert=True)

    def one(self):
        try:
            self.insert(self.number * 10 ** 9 + self.inserted)
        except errors.PyMongoError:
            return
        self.inserted += 1
        try:
            self.counters.update_one({'_id': self.number}, {'$inc': {'n': 1}}, upsert=True)
            self.increments += 1
        except errors.PyMongoError:
            self.unknown += 1


class Reader(Worker):
    """Counts reads that did not see what had been acknowledged before they began."""

    def __init__(self, uri, writers):
        super().__init__(uri, 0)
        self.writers, self.reads, self.stale = writers, 0, 0
        self.counters = self.client.d.get_collection(
            'counters', read_concern=read_concern.ReadConcern('linearizable'))

    def one(self):
        writer = random.choice(self.writers)
        before = writer.increments
        with contextlib.suppress(errors.PyMongoError):
            found = self.counters.find_one({'_id': writer.number}, max_time_ms=3000)
            self.reads += 1
            self.stale += (found['n'] if found else 0) < before
        self.is_over.wait(0.02)


class Faults:
    def __init__(self, found, chance):
        self.found, self.chance = found, chance
        self.clock = os.path.join(os.path.dirname(found.program), 'clock_offset.so')
        self.kinds = [getattr(self, name) for name in dir(self) if name.startswith('fault_')]

    def pause(self):
        time.sleep(self.chance.uniform(0.1, 3))

    def any(self, programs):
        return self.chance.choice(programs)

    def primary(self):
        return self.found.primary() or self.any(self.found.members)

    def stop_for_a_while(self, program):
        program.send(signal.SIGSTOP)
        self.pause()
        program.send(signal.SIGCONT)

    def fault_primary_killed(self):
        self.primary().kill()

    def fault_member_killed(self):
        self.any(self.found.members).kill()

    def fault_primary_killed_with_an_etcd(self):
        self.any(self.found.etcds).kill()
        self.primary().kill()

    def fault_primary_stopped(self):
        self.stop_for_a_while(self.primary())

    def fault_member_stopped(self):
        self.stop_for_a_while(self.any(self.found.members))

    def fault_primary_cut_off(self):
        name = self.primary().name
        self.found.cut(name)
        self.pause()
        self.found.join(name)

    def one_way(self, source, address):
        """What that machine sends there gets lost."""
        place = ['-n', cluster.BRIDGE + source.name[1:], 'neigh']
        cluster.network(*place, 'replace', address, 'lladdr', '02:00:00:00:00:99', 'dev', 'eth0',
                        'nud', 'permanent')
        self.pause()
        cluster.network(*place, 'del', address, 'dev', 'eth0')

    def fault_one_way_cut(self):
        one, other = self.chance.sample(self.found.members, 2)
        self.one_way(one, other.address)

    def fault_clients_cut_off(self):
        self.one_way(self.primary(), CLIENTS)

    def fault_etcd_killed(self):
        self.any(self.found.etcds).kill()

    def fault_etcd_stopped(self):
        self.stop_for_a_while(self.any(self.found.etcds))

    def fault_all_etcds_gone(self):
        for etcd in self.found.etcds:
            etcd.kill()
        self.pause()
        if self.chance.random() < 0.5:
            self.primary().kill()

    def fault_etcd_rebuilt(self):
        for etcd in self.found.etcds:
            etcd.kill()
            shutil.rmtree(etcd.place)
        for etcd in self.found.etcds:
            etcd.start()
        cluster.wait_until('an etcd', lambda: any(e.state() == 'leader' for e in self.found.etcds))
        cluster.wait_until('the set is known again', self.tell_etcd)

    def tell_etcd(self):
        member = self.any(self.found.members)
        with contextlib.suppress(*FAILED):
            config = member.run('replSetGetConfig', seconds=5)['config']
            member.run({'replSetReconfig': config, 'force': True}, seconds=15)
        return self.found.primary() is not None

    def fault_step_down(self):
        with contextlib.suppress(*FAILED):
            self.primary().run('replSetStepDown', 30, seconds=15)

    def during_a_step_down(self, fail):
        thread = threading.Thread(target=self.fault_step_down)
        thread.start()
        time.sleep(self.chance.uniform(0, 0.1))
        fail()
        thread.join()

    def fault_step_down_with_a_kill(self):
        self.during_a_step_down(self.fault_member_killed)

    def fault_step_down_with_a_cut(self):
        self.during_a_step_down(self.fault_primary_cut_off)

    def fault_voter_removed_and_added(self):
        with contextlib.suppress(*FAILED):
            primary = self.primary()
            config = primary.run('replSetGetConfig')['config']
            left = self.any([each for each in config['members'] if each['host'] != primary.host])
            config['version'] += 1
            config['members'].remove(left)
            primary.run('replSetReconfig', config, seconds=10)
            self.pause()
        self.add_all()

    def add_all(self):
        def has_all():
            with contextlib.suppress(*FAILED):
                primary = self.found.primary()
                config = primary.run('replSetGetConfig')['config'] if primary else {'members': []}
                there = {each['host'] for each in config['members']}
                away = [each for each in self.found.members if each.host not in there]
                if primary and away:
                    config['version'] += 1
                    config['members'].append({'_id': away[0].number, 'host': away[0].host})
                    primary.run('replSetReconfig', config, seconds=10)
                return bool(primary) and not away
            return False
        cluster.wait_until('a set of three', has_all)

    def fault_disk_full(self):
        path = os.path.join(self.found.members[2].place, 'filler')
        with contextlib.suppress(OSError), open(path, 'wb') as file:
            while True:
                file.write(bytes(1 << 20))
        self.pause()
        os.remove(path)

    def fault_clock_jumps(self):
        member = self.any(self.found.members)
        member.kill()
        member.environment = {'LD_PRELOAD': self.clock,
                              'CLOCK_OFFSET_SECONDS': str(self.chance.randrange(-500, 500))}

    def one(self):
        kind = self.any(self.kinds)
        print('   ' + kind.__name__.removeprefix('fault_').replace('_', ' '), flush=True)
        kind()
        self.pause()


def hashes(found):
    digests = []
    for member in found.members:
        with member.client(30) as client:
            digests.append(client.d.command('dbHash')['md5'])
    return digests


def is_equal(found):
    with contextlib.suppress(*FAILED):
        return len(set(hashes(found))) == 1
    return False


def verify(found, writers, reader):
    with pymongo.MongoClient(found.uri) as client:
        there = {each['_id'] for each in client.d.documents.find({}, {'_id': 1})}
        counters = {each['_id']: each['n'] for each in client.d.counters.find()}
    failures = []
    for writer in writers:
        lost = [n for n in range(writer.inserted) if writer.number * 10 ** 9 + n not in there]
        if lost:
            failures.append('writer %d: %d inserts are lost, e.g. %d'
                            % (writer.number, len(lost), lost[0]))
        value = counters.get(writer.number, 0)
        if not writer.increments <= value <= writer.increments + writer.unknown:
            failures.append('writer %d: %d increments acknowledged, %d unknown, %d there'
                            % (writer.number, writer.increments, writer.unknown, value))
    if reader.stale:
        failures.append('%d of %d linearizable reads were stale' % (reader.stale, reader.reads))
    return failures


def campaign(program, engines, chance, until, faults_a_round=FAULTS_A_ROUND):
    """(elections, acknowledged, reads, failures) of one set, until that time."""
    own = {name: (OF_DATA_FILES if engine == 'mmapv1' else ['--storageEngine', engine])
           for name, engine in zip(cluster.MEMBERS, engines)}
    with server.scratch() as folder:
        found = cluster.Cluster(folder, program, ['--oplogSize', '64'], has_network=True,
                                own_options=own)
        disk = found.members[2].place
        os.makedirs(disk)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%dm' % DISK_MB, 'tmpfs', disk],
                       check=True)
        try:
            found.up(SETTINGS)
            faults = Faults(found, chance)
            writers = [Writer(found.uri, number) for number in range(1, 5)]
            reader = Reader(found.uri, writers)
            for worker in [*writers, reader]:
                worker.start()
            is_over = False
            while not is_over:
                for _ in range(faults_a_round):
                    faults.one()
                    found.up()
                faults.add_all()
                is_over = time.monotonic() >= until
            for worker in [*writers, reader]:
                worker.end()
            cluster.wait_until('the members have the same', lambda: is_equal(found))
            failures = verify(found, writers, reader)
            acknowledged = sum(each.inserted + each.increments for each in writers)
            elections = sum(len(each.terms()) for each in found.members)
            return elections, acknowledged, reader.reads, failures
        except cluster.ClusterError:
            for member in found.members:
                print(member.name, member.text_of_log()[-2000:], sep='\n')
                with contextlib.suppress(*FAILED):
                    print(member.run('replSetGetStatus'))
            raise
        finally:
            found.down()
            subprocess.run(['umount', disk], check=True)


def make_slow(etcds):
    """Returns what ends it."""
    calls = 'fsync,fdatasync'
    tracers = [subprocess.Popen(['strace', '-f', '-qq', '-o', os.devnull, '-p', str(etcd.pid), '-e',
                                 'inject=%s:delay_exit=1000000' % calls, '-e', 'trace=' + calls])
               for etcd in etcds]

    def end():
        for tracer in tracers:
            tracer.terminate()
            tracer.wait()
    return end


def disturb(found, chance):
    """(what is disturbed, what ends it)."""
    def stopped(programs):
        for each in programs:
            each.send(signal.SIGSTOP)
        return lambda: [each.send(signal.SIGCONT) for each in programs]

    def killed(programs):
        for each in programs:
            each.kill()
        return found.up
    some = chance.sample(found.etcds, chance.choice((1, 2, 3)))
    return chance.choice((
        ('a member stopped', lambda: stopped([chance.choice(found.members)])),
        ('etcds stopped', lambda: stopped(some)), ('etcds killed', lambda: killed(some)),
        ('etcds slow', lambda: make_slow(some))))


def updates(member):
    return member.run('serverStatus', seconds=30)['opcounters']['update']


def calm(program, chance, minutes):
    """(disturbances, updates, failures)"""
    disturbances, failures = 0, []
    with server.scratch() as folder:
        found = cluster.Cluster(folder, program, ['--oplogSize', '64', *OF_DATA_FILES],
                                free_ports=True)
        try:
            primary = found.up()
            terms = [each.terms() for each in found.members]
            clients = subprocess.Popen(
                [os.path.join(os.path.dirname(program), 'load_client'), 'ycsb_a', '--clients', '64',
                 '--no-journal', '--port', str(primary.port), '--seconds', str(minutes * 60)],
                stdout=subprocess.PIPE, text=True)
            while clients.poll() is None:
                what, begin = disturb(found, chance)
                end = begin()
                time.sleep(1)
                if what.startswith('etcds'):
                    before = updates(primary)
                    cluster.wait_until('writes beside ' + what,
                                       lambda before=before: updates(primary) > before)
                end()
                disturbances += 1
            said = json.loads(clients.stdout.readline() or '{"errors": 1, "operations": 0}')
            if said['errors'] or [each.terms() for each in found.members] != terms:
                failures.append('%s, and terms %s' % (said, [m.terms() for m in found.members]))
            return disturbances, said['operations'], failures
        finally:
            found.down()


def run_calm(program, chance, minutes):
    disturbances, operations, failures = calm(program, chance, minutes)
    print('%d disturbances, %d reads and updates' % (disturbances, operations), *failures,
          '%d passed, %d failed' % (not failures, bool(failures)), sep='\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=60)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--calm', action='store_true')
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        return print('only root can make networks\n0 passed, 0 failed, 1 skipped')
    program = os.path.join(server.build('none', '', ['mongod', 'clock_offset.so', 'load_client']),
                           'bin', 'mongod')
    chance, failed = random.Random(arguments.seed), 0
    print('seed %d' % arguments.seed, flush=True)
    if arguments.calm:
        return run_calm(program, chance, arguments.minutes)
    for number, engines in enumerate(ENGINES, 1):
        until = time.monotonic() + arguments.minutes * 60 / len(ENGINES)
        elections, acknowledged, reads, failures = campaign(program, engines, chance, until)
        failed += bool(failures) or not all((elections, acknowledged, reads))
        print('%s %s: %d elections, %d acknowledged, %d linearizable reads'
              % ('FAIL' if failures else 'ok  ', '+'.join(dict.fromkeys(engines)), elections,
                 acknowledged, reads), *failures, sep='\n   ', flush=True)
        print('%d of %d sets' % (number, len(ENGINES)))
    print('%d passed, %d failed' % (len(ENGINES) - failed, failed))


if __name__ == '__main__':
    main()
