"""Sets that elect their primary by a real etcd of three: kills, an etcd that is away, what is taken
back, priorities, and reads that no election overtakes."""

import contextlib
import glob
import os
import shutil
import signal
import sys
import threading
import time
import unittest

import bson
import pymongo
from pymongo import errors, read_concern

import server
import sets

sys.path.insert(0, os.path.join(server.TOP, 'tools'))

import cluster  # noqa: E402
from cluster import wait_until  # noqa: E402

MAJORITY = pymongo.WriteConcern(w='majority')
SETTINGS = {'electionTimeoutMillis': 2000, 'heartbeatIntervalMillis': 100}


class Elected(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(server.scratch())
        self.cluster = cluster.Cluster(folder, sets.Case.program,
                                       server.for_engine(sets.OPTIONS[:-4]), free_ports=True)
        self.addCleanup(self.kill_all)
        self.primary = self.cluster.up(SETTINGS)
        self.client = self.enterContext(pymongo.MongoClient(self.cluster.uri,
                                                            serverSelectionTimeoutMS=60000))
        self.documents = self.client.d.get_collection('c', write_concern=MAJORITY)

    def kill_all(self):
        for each in self.cluster.programs.values():
            each.send(signal.SIGCONT)
            each.kill()

    def others(self):
        return [each for each in self.cluster.members if each is not self.primary]

    def wait_until_equal(self):
        def is_equal():
            with contextlib.suppress(errors.PyMongoError):
                hashes = [member.run('hello') and self.hashes(member)
                          for member in self.cluster.members]
                return hashes[0] == hashes[1] == hashes[2]
            return False
        wait_until('all members have the same', is_equal)

    @staticmethod
    def hashes(member):
        with member.client(10) as client:
            return client.d.command('dbHash')['md5']

    def test_what_a_majority_has_outlives_kills(self):
        acknowledged, is_over = [], threading.Event()

        def write():
            number = 0
            while not is_over.is_set():
                with contextlib.suppress(errors.PyMongoError):
                    try:
                        self.documents.insert_one({'_id': number})
                    except errors.DuplicateKeyError:  # it is there, and maybe not at a majority
                        self.documents.update_one({'_id': 'note'}, {'$inc': {'n': 1}}, upsert=True)
                    acknowledged.append(number)
                    number += 1
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for turn in range(4):
                count = len(acknowledged)
                wait_until('writes', lambda count=count: len(acknowledged) > count + 50)
                self.cluster.wait_for_primary().kill()
                wait_until('another primary', lambda: self.cluster.primary() is not None)
                if turn == 1:  # while none can be elected the set goes on
                    for etcd in self.cluster.etcds:
                        etcd.kill()
                    count = len(acknowledged)
                    wait_until('writes without etcd',
                               lambda count=count: len(acknowledged) > count + 50)
                self.primary = self.cluster.up()
        finally:
            is_over.set()
            writer.join()
        self.wait_until_equal()
        there = {each['_id'] for each in self.documents.find()}
        self.assertEqual(set(acknowledged) - there, set())

    def test_what_only_one_had_is_taken_back(self):
        self.documents.insert_one({'_id': 'kept'})
        for other in self.others():
            other.kill()
        with self.primary.client(5) as alone:
            alone.d.c.insert_many([{'_id': number} for number in range(30)])
            alone.d.c.update_one({'_id': 'kept'}, {'$set': {'late': 1}})
            for level in ('majority', 'linearizable'):
                concern = read_concern.ReadConcern(level)
                with self.assertRaises(errors.ExecutionTimeout):
                    alone.d.get_collection('c', read_concern=concern).find_one(
                        {'_id': 'kept'}, max_time_ms=300)
        self.primary.kill()
        for other in self.others():
            other.start()
        self.cluster.wait_for_primary()
        self.documents.insert_one({'_id': 'new'})
        lost, self.primary = self.primary, self.cluster.up()
        self.wait_until_equal()
        self.assertEqual([each['_id'] for each in self.documents.find()], ['kept', 'new'])
        files = glob.glob(os.path.join(lost.place, 'rollback', 'd.c.*.bson'))
        taken = []
        for path in files:
            with open(path, 'rb') as file:
                taken += bson.decode_all(file.read())
        self.assertEqual({each['_id'] for each in taken} - {'kept'}, set(range(30)))
        self.assertIn({'_id': 'kept', 'late': 1}, taken)

    def test_reads_on_secondaries_show_what_a_majority_has(self):
        concern = read_concern.ReadConcern('majority')
        for number in range(50):
            self.documents.insert_one({'_id': number})
            for other in self.others():
                with other.client(30) as client, client.start_session() as session:
                    session.advance_operation_time(self.primary.run('hello')['operationTime'])
                    session.advance_cluster_time(self.primary.run('hello')['$clusterTime'])
                    found = client.d.get_collection('c', read_concern=concern).find_one(
                        {'_id': number}, session=session)
                    self.assertIsNotNone(found)

    def test_a_higher_priority_takes_over(self):
        heir = self.others()[0]

        def prefer():
            config = self.primary.run('replSetGetConfig')['config']
            config['version'] += 1
            config['members'][heir.number - 1]['priority'] = 5
            with contextlib.suppress(errors.OperationFailure):  # that one is not everywhere yet
                return self.primary.run('replSetReconfig', config, seconds=30)['ok']
            return False
        wait_until('the configuration is taken', prefer)
        wait_until('the heir leads', lambda: self.cluster.primary() is heir)
        # The other way by hand, for a while.
        with contextlib.suppress(errors.AutoReconnect):
            heir.run('replSetStepDown', 60, seconds=30)
        wait_until('another one leads', lambda: self.cluster.primary() not in (None, heir))

    def test_an_older_copy_of_the_primary_takes_nothing_back(self):
        self.documents.insert_one({'_id': 0})
        for member in self.cluster.members:
            member.kill(signal.SIGTERM)
            shutil.copytree(member.place, member.place + '.old')
        primary = self.cluster.up()
        self.documents.insert_many([{'_id': number} for number in range(1, 100)])
        for each in [*self.cluster.etcds, primary]:
            each.kill()
        shutil.rmtree(primary.place)
        os.rename(primary.place + '.old', primary.place)
        primary.start()  # the others follow it still: there is no coordinator
        others = [each for each in self.cluster.members if each is not primary]
        wait_until('it is asked', lambda: all(
            'is not the primary of term' in each.text_of_log() for each in others))
        self.cluster.up()
        self.wait_until_equal()
        self.assertEqual(self.documents.count_documents({}), 100)

    def test_a_refused_writer_finds_the_next_primary(self):
        before, told = self.primary, []

        def write(number):
            with before.client(30) as client:
                documents = client.get_database('d', write_concern=MAJORITY).c
                try:
                    while True:
                        begun = time.monotonic()
                        documents.insert_one({'w': number})
                except (errors.NotPrimaryError, errors.WriteConcernError) as error:
                    # 11602: it had begun, and is answered at once.
                    waited = 1 if '11602' in str(error) else time.monotonic() - begun
                told.append((client.admin.command('hello').get('primary'), waited))
        writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for writer in writers:
            writer.start()
        wait_until('writes', lambda: self.documents.estimated_document_count() > 100)
        with contextlib.suppress(errors.AutoReconnect):
            before.run('replSetStepDown', 60, seconds=30)
        for writer in writers:
            writer.join()
        host = self.cluster.wait_for_primary().host  # or a busy machine has taken its second
        self.assertEqual([each for each in told if each[0] != host and each[1] < 0.9], [])
        self.assertEqual(len(told), len(writers))

    def test_a_member_of_another_number_takes_part(self):
        moved = self.others()[0]

        def reconfigure(change):
            config = self.primary.run('replSetGetConfig')['config']
            config['version'] += 1
            change(config['members'])
            self.primary.run('replSetReconfig', config, seconds=30)
        reconfigure(lambda members: members.pop(moved.number - 1))
        reconfigure(lambda members: members.append({'_id': 9, 'host': moved.host}))
        wait_until('three votes', self.cluster.is_whole)
        self.documents.insert_one({'_id': 'kept'})
        for other in self.others():
            if other is not moved:
                other.kill()
                self.documents.insert_one({'_id': other.number})
                other.start()
        self.cluster.up()
        self.primary.kill()
        wait_until('another primary', lambda: self.cluster.primary() is not None)
        self.assertIsNotNone(self.documents.find_one('kept'))

    def test_nothing_is_handed_over_by_an_etcd_that_knows_nothing(self):
        for etcd in self.cluster.etcds:
            etcd.kill()
            shutil.rmtree(etcd.place)
            etcd.start()
        wait_until('an etcd', lambda: any(e.state() == 'leader' for e in self.cluster.etcds))
        with self.assertRaisesRegex(errors.OperationFailure, 'knows nothing of the set'):
            self.primary.run('replSetStepDown', 60, seconds=30)
        self.documents.insert_one({})
        config = self.primary.run('replSetGetConfig')['config']
        self.primary.run({'replSetReconfig': config, 'force': True}, seconds=30)
        self.cluster.wait_for_primary().run('replSetStepDown', 1, seconds=30)
        self.documents.insert_one({})

    def test_a_primary_stays_where_no_other_one_may_stand(self):
        for _ in range(2):
            before = self.primary
            with contextlib.suppress(errors.AutoReconnect):
                before.run('replSetStepDown', 60, seconds=30)
            wait_until('another one', lambda: self.cluster.primary() not in (None, before))
            self.primary = self.cluster.up()
        begun = self.primary.run('replSetGetStatus')['date']
        wait_until('heartbeats', lambda: all(
            each['lastHeartbeat'] > begun
            for each in self.primary.run('replSetGetStatus')['members'] if 'self' not in each))
        with self.assertRaisesRegex(errors.ExecutionTimeout, 'may stand'):
            self.primary.run({'replSetStepDown': 60, 'secondaryCatchUpPeriodSecs': 1}, seconds=30)
        self.documents.insert_one({})
        self.assertIs(self.cluster.primary(), self.primary)
