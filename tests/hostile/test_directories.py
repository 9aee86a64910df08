"""Data directories of unknown origin whose files are pipes: no tool waits for what they never get.
What else may lie there is in jstests/hostile/."""

import os
import subprocess
import unittest

import hostile
import server


class Directories(unittest.TestCase):
    def test_tools_that_meet_pipes(self):
        folder = self.enterContext(server.scratch())
        dbpath = os.path.join(folder, 'db')
        os.makedirs(os.path.join(dbpath, 'journal'))
        mongod = hostile.Case.server.program
        for number, name in enumerate(['journal/j._0', 'x.0', 'x.ns', 'mongod.lock']):
            os.mkfifo(os.path.join(dbpath, name))
            for tool in (['journal_dump', dbpath],
                         ['journal_dump', os.path.join(dbpath, 'journal', 'j._0')],
                         ['dbpath_check', dbpath],
                         ['mongod', '--dbpath', dbpath, '--salvage',
                          os.path.join(folder, 'dump-%d' % number)]):
                with self.subTest(name=name, tool=tool[0]):
                    tool[0] = os.path.join(os.path.dirname(mongod), tool[0])
                    done = subprocess.run(tool, capture_output=True, text=True, check=False,
                                          timeout=hostile.ANSWER_SECONDS_MAX)
                    self.assertNotEqual(0, done.returncode)
                    self.assertNotEqual('', done.stdout + done.stderr)
            os.remove(os.path.join(dbpath, name))
