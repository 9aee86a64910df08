"""What the clients in Python share: where the server is, and a closing line for the runner."""

import os
import sys
import unittest

URI = os.environ['MONGOD_URI']
PORT = int(os.environ['MONGOD_PORT'])


class Refusals(unittest.TestCase):
    def fails(self, code, call, *arguments, **options):
        from pymongo import errors  # not every client has it
        with self.assertRaises(errors.OperationFailure) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception.details)
        return caught.exception


def main(*cases):
    """Runs unittest classes and ends the program with the closing line that run.py reads."""
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               for case in cases)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    bad = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print('%d passed, %d failed, %d skipped'
          % (max(result.testsRun - bad - skipped, 0), bad, skipped))
    sys.exit(1 if bad else 0)
