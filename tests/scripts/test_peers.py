"""Tests perf/peers/: libraries that are driven, and no password is shown."""

import argparse
import shutil
import tempfile
import unittest

from peers import embedded, odbc, syncs


class ODBC(unittest.TestCase):
    def test_no_password_is_shown(self):
        for string in ('UID=sa;PWD=secret', 'uid=sa;pwd = secret ;x=1', 'Password={sec;ret};UID=a',
                       'UID=a;PWD={sec}}ret;}', 'AccessToken=secret'):
            shown = odbc.masked(string)
            self.assertRegex(shown, r'(?i)(pwd|password|token)=\*\*\*')
            self.assertNotIn('sec', shown)
            self.assertNotIn('ret', shown)
            self.assertNotIn('sec', odbc.ODBC('unused', 'x', string).settings)
        with self.assertRaisesRegex(argparse.ArgumentTypeError, r'PWD=\*\*\*'):
            odbc.parse('Driver;PWD=secret')


class Programs(unittest.TestCase):
    def driven(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            peer = kind(folder)
            if peer.missing() or not shutil.which('strace'):
                self.skipTest('needs strace, a compiler and ' + peer.package)
            with peer.serve():
                run = peer.insert(2, 0.2)
                self.assertGreater(run['inserts'], 0)
                self.assertGreater(run['cpu_seconds'], 0)
                self.assertGreater(syncs.per_insert(peer, 0.2), 0.9)

    def test_a_library_is_driven_and_its_syncs_are_counted(self):
        self.driven(embedded.SQLite)

    def test_wiredtiger_syncs_each_insert(self):
        self.driven(embedded.WiredTiger)
