"""Causal sessions: a client reads at a secondary what it has written on the primary."""

import os
import threading

import bson
import pymongo
from pymongo import ReadPreference, errors

from set_member import OPTIONS, SECONDARY, wait_until
from sets import Case, code_of

READS = 1000


class Causal(Case):
    def driver(self, **more):
        client = pymongo.MongoClient([each.host for each in self.members], replicaSet='rs0', **more)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def write_and_read(client, numbers):
        """Those of the numbers that a session did not find at a secondary."""
        missed = []
        with client.start_session(causal_consistency=True) as session:
            c = client.test.causal
            at_secondary = c.with_options(read_preference=ReadPreference.SECONDARY)
            for number in numbers:
                c.insert_one({'_id': number}, session=session)
                if at_secondary.find_one({'_id': number}, session=session) is None:
                    missed.append(number)
        return missed

    def test_no_own_write_is_missed(self):
        primary, (secondary,) = self.begin(2)
        client = self.driver()
        reader = threading.Thread(
            target=lambda: missed.extend(self.write_and_read(client, range(READS))), daemon=True)
        missed = []
        reader.start()
        # Stopped twice for a second in between.
        for stop in (READS // 10, READS // 2):
            wait_until('writes go on', lambda: primary.client.test.causal.count_documents(
                {}) > stop)  # pylint: disable=cell-var-from-loop
            secondary.halt()
            threading.Event().wait(1)
            secondary.go_on()
        reader.join()
        self.assertEqual(missed, [])
        self.assertEqual(primary.client.test.causal.count_documents({}), READS)

    def test_over_hand_overs(self):
        first, (second,) = self.begin(2)
        client = self.driver()
        missed, done = [], []
        with client.start_session(causal_consistency=True) as session:
            c = client.test.causal
            secondary = c.with_options(read_preference=ReadPreference.SECONDARY)
            is_over = threading.Event()

            def write():
                number = 0
                while not is_over.is_set():
                    try:
                        c.insert_one({'_id': number}, session=session)
                        if secondary.find_one({'_id': number}, session=session) is None:
                            missed.append(number)
                        done.append(number)
                    except errors.PyMongoError as error:
                        done.append(error)
                    number += 1

            writer = threading.Thread(target=write, daemon=True)
            writer.start()
            old, new = first, second
            for _ in range(4):
                count = len(done)
                wait_until('reads go on', lambda: len(done) > count + 20)  # pylint: disable=W0640
                self.hand_over(old, new)
                self.wait_for_state(old, SECONDARY)
                old, new = new, old
            count = len(done)
            wait_until('reads go on', lambda: len(done) > count + 20)
            is_over.set()
            writer.join()
        self.assertEqual(missed, [])

    def test_a_stopped_log_is_waited_for_as_long_as_the_client_says(self):
        primary, (secondary,) = self.begin(2)
        later = bson.Timestamp(primary.run('ping')['operationTime'].time + 100, 1)
        request = {'count': 'first', '$readPreference': {'mode': 'secondary'},
                   'readConcern': {'afterClusterTime': later},
                   '$clusterTime': {'clusterTime': later}}
        self.assertEqual(secondary.send('test', dict(request, maxTimeMS=50))['code'], 50)

        def threads():
            return len(os.listdir('/proc/%d/task' % secondary.pid))

        before = threads()
        results = []
        waits = [threading.Thread(target=lambda: results.append(secondary.send('test', request)),
                                  daemon=True) for _ in range(50)]
        for each in waits:
            each.start()

        def waiting():
            return [each['opid'] for each in secondary.run('currentOp')['inprog']
                    if each['query'].get('count') == 'first']

        wait_until('all wait', lambda: len(waiting()) == len(waits))
        self.assertLess(threads(), before + len(waits) // 2)
        for each in waiting():
            secondary.run('killOp', op=each)
        for each in waits:
            each.join()
        self.assertEqual([each['code'] for each in results], [11601] * len(waits))

    def test_an_idle_primary_goes_on(self):
        options = [each.replace('writePeriodicNoops=false', 'periodicNoopIntervalSecs=1')
                   for each in OPTIONS]
        primary, (secondary,) = self.begin(2, options)
        before = primary.run('ping')['operationTime']
        wait_until('both go on', lambda: min(
            each.run('ping')['operationTime'] for each in (primary, secondary)) > before)
        with self.assertRaises(errors.OperationFailure) as raised:
            primary.client.test.command('find', 'c', readConcern={
                'afterClusterTime': bson.Timestamp(before.time + 1000, 1)})
        self.assertEqual(code_of(raised.exception), 72)
