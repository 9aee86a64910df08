"""Two servers and the scripts of tools/, which take what one has to the other."""

import os
import subprocess
import sys
import unittest

import late
import server

pymongo = late.Module('pymongo')


class TwoServers(unittest.TestCase):
    """`source` and `target` are clients of the servers; the target is empty at each start."""

    @classmethod
    def start(cls, dbpath):
        program = os.path.join(server.build('none', '', ['mongod']), 'bin', 'mongod')
        running = cls.enterClassContext(server.Server(program, dbpath, ['--smallfiles']))
        return running, cls.enterClassContext(pymongo.MongoClient(running.uri))

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(server.scratch())
        cls.from_server, cls.source = cls.start(os.path.join(folder, 'from'))
        cls.to_server, cls.target = cls.start(os.path.join(folder, 'to'))

    def setUp(self):
        self.folder = self.enterContext(server.scratch())
        self.addCleanup(self.target.drop_database, 'shop')

    def run_tool(self, name, *words):
        done = subprocess.run([sys.executable, os.path.join(server.TOP, 'tools', name), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertNotIn('Traceback', done.stdout)
        return done.returncode, done.stdout

    def ended(self, code, parts, name, *words):
        """What a tool says that ends with this code and says each of these parts."""
        done, said = self.run_tool(name, *words)
        self.assertEqual(done, code, said)
        for part in parts:
            self.assertIn(part, said)
        return said

    def copied(self, code, *parts, words=()):
        return self.ended(code, parts, 'copy_databases.py', *words, self.from_server.uri,
                          self.to_server.uri)

    def restored(self, code, folder, *parts):
        return self.ended(code, parts, 'restore_dump.py', folder, self.to_server.uri)
