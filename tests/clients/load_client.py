"""The load client of perf/, in C: what it counts is what the server has.

Usage: load_client.py PROGRAM"""

import json
import subprocess
import sys
import unittest

import bson
import case
import pymongo

PROGRAM = sys.argv.pop(1)


def load(workload, *arguments):
    run = subprocess.run([PROGRAM, workload, '--uri', case.URI, '--warmup', '0', *arguments],
                         stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


class LoadClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(pymongo.MongoClient(case.URI))

    def test_inserts_are_counted(self):
        for arguments, per_operation in ((['--clients', '4'], 1), (['--batch', '100'], 100)):
            report = load('insert', '--seconds', '1', '--collection', 'from_c', *arguments)
            self.assertEqual(report['errors'], 0)
            self.assertEqual(report['documents'], report['operations'] * per_operation)
            # What each thread did before its clock was on is in the collection but not counted.
            self.assertGreaterEqual(self.client.perf.from_c.count_documents({}),
                                    report['documents'])
            self.assertEqual(len(bson.encode(self.client.perf.from_c.find_one())), 200)

    def test_the_mixes_of_ycsb(self):
        for mix, inserts, per_operation in (('a', False, 1), ('b', False, 1), ('c', False, 1),
                                            ('d', True, 1), ('e', True, 10), ('f', False, 1)):
            report = load('ycsb_' + mix, '--seconds', '0.5', '--documents', '1000', '--clients',
                          '2', '--no-journal', '--collection', 'ycsb')
            with self.subTest(mix):
                self.assertEqual(report['errors'], 0)
                self.assertGreater(report['operations'], 20)
                # A read of a document that is being inserted may find nothing.
                self.assertGreater(report['documents'], report['operations'] * per_operation * 0.9)
                count = self.client.perf.ycsb.count_documents({})
                self.assertEqual(count > 1000, inserts)
                self.assertEqual(count, self.client.perf.ycsb.find().sort('_id', -1)[0]['_id'] + 1)


if __name__ == '__main__':
    case.main(LoadClient)
