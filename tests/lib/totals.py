"""Adds up what the pieces of a part of the test suite report, and prints its closing line."""

import sys
import threading
import unittest


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()  # of these

    def add(self, name, passed, failed, skipped=0):
        """Any thread."""
        with self.lock:
            self.passed, self.failed = self.passed + passed, self.failed + failed
            self.skipped += skipped
        print('%s %s: %d passed, %d failed%s'
              % ('FAIL' if failed else 'ok  ', name, passed, failed,
                 ', %d skipped' % skipped if skipped else ''), flush=True)

    def run(self, name, suite, verbosity=2):
        """Runs a suite of unittest and adds what came of it. A test fails once, whatever fails in
        it; a class whose setting up failed counts as one test."""
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=verbosity).run(suite)
        failed = len({test.id().split(' ')[0] for test, _ in result.failures + result.errors})
        skipped = len(result.skipped)
        for test, reason in result.skipped:
            print('%s: skipped, %s' % (test, reason))
        self.add(name, max(result.testsRun - failed - skipped, 0), failed, skipped)

    def close_skipped(self, reason):
        """Says why nothing can be tried here, and ends the process."""
        print('skipped: ' + reason)
        self.skipped += 1
        self.close()

    def close(self):
        """Prints the closing line and ends the process."""
        print('%d passed, %d failed' % (self.passed, self.failed)
              + (', %d skipped' % self.skipped if self.skipped else ''))
        sys.exit(1 if self.failed else 0)
