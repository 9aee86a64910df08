"""The load client of perf/, in C: what it counts is what the server has.

Usage: load_client.py PROGRAM
"""

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
        cls.client = pymongo.MongoClient(case.URI)
        cls.addClassCleanup(cls.client.close)

    def test_inserts_are_counted(self):
        for arguments, per_operation in ((['--clients', '4'], 1), (['--batch', '100'], 100)):
            report = load('insert', '--seconds', '1', '--collection', 'from_c', *arguments)
            self.assertEqual(report['errors'], 0)
            self.assertEqual(report['documents'], report['operations'] * per_operation)
            # What each thread did before its clock was on is in the collection but not counted.
            self.assertGreaterEqual(self.client.perf.from_c.count_documents({}),
                                    report['documents'])
            self.assertEqual(len(bson.encode(self.client.perf.from_c.find_one())), 200)


if __name__ == '__main__':
    case.main(LoadClient)
