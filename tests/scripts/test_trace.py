"""Tests perf/trace/: known answers from a real trace and real threads, and strace's hard lines."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

import insert_chain
import journal_writes
import off_cpu

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Waits until it is traced, then behaves like the journal of a server for 23 commits.
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


# Two inserts of one client: the first commit in a thread of its own, the second in the
# connection's, with calls that other threads interrupt.
CHAIN = '''
5 100.000000 recvmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 120 <0.000010>
7 100.001000 write(4</db/journal/j._0>, ""..., 8192 <unfinished ...>
5 100.001050 epoll_wait(6<anon_inode:[eventpoll]> <unfinished ...>
7 100.001100 <... write resumed>) = 8192 <0.000100>
7 100.001200 fdatasync(4</db/journal/j._0>) = 0 <0.000300>
7 100.001600 sendmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 60 <0.000050>
5 100.001700 recvmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 120 <0.000010>
5 100.001800 write(4</db/journal/j._0>, ""..., 8192) = 8192 <0.000050>
5 100.001900 fdatasync(4</db/journal/j._0>) = 0 <0.000300>
5 100.002300 sendmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 60 <0.000050>
5 100.002400 recvmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 90 <0.000010>
5 100.002450 sendmsg(9<TCP:[127.0.0.1:27017->127.0.0.1:5]>, ""..., 0) = 60 <0.000050>
'''


class InsertChain(unittest.TestCase):
    def test_follows_each_durable_insert_and_nothing_else(self):
        chains = insert_chain.chains_of(insert_chain.calls_of(CHAIN.splitlines()))
        self.assertEqual([[round(us) for us in chain] for chain in chains],
                         [[990, 500, 150], [90, 400, 150]])
        self.assertIn('2 inserts in 3.0 s', insert_chain.table(chains, 3))


class OffCpu(unittest.TestCase):
    def sample(self, code, waits=False):
        """States of the threads of a Python process that says when it is ready, and then `waits`
        for something or does not."""
        child = subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            while waits and self.scheduler_state(child.pid) != 'S':
                time.sleep(0.01)
            states, threads = off_cpu.sample(child.pid, 0.2, 200)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual(sum(len(ids) for ids in threads.values()), 1)
        return set(next(iter(states.values())))

    @staticmethod
    def scheduler_state(pid):
        """By proc(5): S where it sleeps."""
        with open('/proc/%d/stat' % pid, encoding='utf-8') as file:
            return file.read().rpartition(')')[2].split()[0]

    def test_a_blocked_thread_shows_its_call(self):
        code = 'import os; print(flush=True); os.read(0, 1)'
        self.assertIn('read', self.sample(code, waits=True))
