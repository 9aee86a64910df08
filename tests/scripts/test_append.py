"""Tests perf/append.py: how calls on files are counted in a trace, and what is read from the
kernel's counters."""

import unittest


import append
from peers import syncs

TRACE = '''\
71 openat(AT_FDCWD</tmp>, "/db/meta", O_RDWR|O_SYNC, 0600) = 4</db/meta>
71 openat(AT_FDCWD</tmp>, "/db/log", O_RDWR|O_DSYNC, 0600) = 3</db/log>
71 pwrite64(3</db/log>, ""..., 4096, 0) = 4096
71 pwrite64(4</db/meta>, ""..., 56, 0 <unfinished ...>
72 write(5<socket:[99]>, ""..., 10) = 10
72 pwrite64(6</db/data>, ""..., 100, 0) = 100
71 <... pwrite64 resumed>) = 56
72 fdatasync(6</db/data> <unfinished ...>
71 fsync(7</db/dir>) = 0
72 <... fdatasync resumed>) = 0
72 pwritev2(6</db/data>, [{iov_base=""..., iov_len=8192}], 1, 0, RWF_DSYNC) = 8192
72 write(9<pipe:[7]>, "", 1) = 1
71 openat(AT_FDCWD</tmp>, "/db/log", O_RDWR) = 3</db/log>
71 pwrite64(3</db/log>, ""..., 10, 0) = 10
'''

STATS = '''\
   8       0 vdx 5 0 40 3 1000 0 160 9 0 12 12 0 0 0 0 77 6
   8       1 old 5 0 40 3 20 0 160 9 0 12 12
'''


class Calls(unittest.TestCase):
    def test_syncs_that_write_the_times_are_distinguished_from_those_that_need_not(self):
        found = syncs.tally(TRACE.splitlines())
        self.assertEqual(found, {
            'writes': 5, 'bytes': 4096 + 56 + 100 + 8192 + 10, 'fsyncs': 2, 'datasyncs': 3,
            'files': {'/db/log': [2, 4106], '/db/meta': [1, 56], '/db/data': [2, 8292]}})


class Counters(unittest.TestCase):
    def test_flushes_of_a_device(self):
        self.assertEqual(append.flushes('vdx', STATS.splitlines()), 77)
        self.assertIsNone(append.flushes('old', STATS.splitlines()))
        self.assertIsNone(append.flushes('nosuch', STATS.splitlines()))
