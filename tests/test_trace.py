"""Tests perf/trace/journal_writes.py: a known answer from a real trace, and strace's hard lines."""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, 'perf', 'trace'))

import journal_writes  # noqa: E402

# Waits until somebody traces it, then behaves like the journal of a server for 23 commits.
CHILD = '''
import os, sys, time
def traced():
    with open('/proc/self/status') as status:
        return any(line.startswith('TracerPid:') and int(line.split()[1]) for line in status)
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
while not traced():
    time.sleep(0.01)
for number in range(23):
    os.lseek(fd, 0, os.SEEK_CUR)
    os.write(fd, b'x' * 8192 * (1 + number % 2))
    os.fdatasync(fd)
'''

UNFINISHED = '''
7 100.000001 lseek(5</db/journal/j._0>, 0, SEEK_CUR) = 8192 <0.000010>
7 100.000100 write(5</db/journal/j._0>, ""..., 8192 <unfinished ...>
8 100.000150 write(9</tmp/log>, ""..., 80) = 80 <0.000020>
7 100.000300 <... write resumed>) = 8192 <0.000200>
7 100.000400 fdatasync(5</db/journal/j._0> <unfinished ...>
8 100.000450 fdatasync(6</db/other>) = 0 <0.001000>
7 100.000900 <... fdatasync resumed>) = 0 <0.000500>
7 100.002000 write(5</db/journal/j._0>, ""..., 16384) = 16384 <0.000100>
'''


class JournalWrites(unittest.TestCase):
    def test_counts_23_commits_of_23(self):
        scratch = os.path.join(TOP, 'build', 'scratch')
        os.makedirs(scratch, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            os.mkdir(os.path.join(folder, 'journal'))
            child = subprocess.Popen(
                [sys.executable, '-c', CHILD, os.path.join(folder, 'journal', 'j._0')])
            commits, _ = journal_writes.trace(child.pid, 60)
            self.assertEqual(child.wait(), 0)
        self.assertEqual(len(commits), 23)
        for name in ('seeks', 'writes', 'syncs'):
            self.assertEqual([commit[name] for commit in commits], [1] * 23)
        self.assertEqual(sum(commit['bytes'] for commit in commits), 12 * 8192 + 11 * 16384)

    def test_joins_interrupted_lines_and_skips_other_files(self):
        commits = journal_writes.commits_of(
            sorted(journal_writes.parse(UNFINISHED.splitlines())))
        self.assertEqual([commit['bytes'] for commit in commits], [8192, 16384])
        self.assertEqual([commit['syncs'] for commit in commits], [1, 0])
        self.assertAlmostEqual(commits[0]['sync_us'], 500)
        self.assertAlmostEqual(commits[1]['gap_ms'], 1.9)


if __name__ == '__main__':
    unittest.main()
