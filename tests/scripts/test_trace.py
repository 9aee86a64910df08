"""Tests perf/trace/: known answers from a real trace and real threads, and strace's hard lines."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import commit_profile
import commit_stages
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


class Refusals(unittest.TestCase):
    """Where something is missing a tool says so, with its name, and ends with 3."""

    def refusal(self, tool, target, **environment):
        run = subprocess.run([sys.executable, os.path.join(TOP, 'perf', 'trace', tool), target],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False, env=dict(os.environ, **environment))
        self.assertEqual(run.returncode, insert_chain.EXIT_MISSING_FACILITY, run.stdout)
        self.assertEqual(run.stdout.split(': ')[0], tool)
        return run.stdout

    def test_no_such_process(self):
        for tool in ('commit_profile.py', 'insert_chain.py', 'journal_writes.py', 'off_cpu.py'):
            said = self.refusal(tool, str(2 ** 30))
            if tool != 'commit_profile.py' or shutil.which('perf'):  # which is optional
                self.assertIn(str(2 ** 30), said)


class CommitProfile(unittest.TestCase):
    def test_reads_a_report(self):
        report = '''# Samples: 3K of event 'cpu-clock'
     9.10%           273  [kernel.kallsyms]  [k] finish_task_switch.isra.0      -      -
     4.20%           126  /x/bin/mongod      [.] journal::checksum(unsigned char const*, int)
'''
        self.assertEqual(list(commit_profile.rows_of(report)),
                         [(9.1, 273, '[kernel]', 'finish_task_switch.isra.0'),
                          (4.2, 126, 'mongod', 'journal::checksum(unsigned char const*, int)')])


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


class CommitStages(unittest.TestCase):
    def test_totals_are_subtracted_and_blocks_taken_as_they_are(self):
        def total(factor):
            return {'cumulativeStats': {'commits': 10 * factor, 'journaledBytes': 8192 * factor,
                              'stages': {name: {'totalMicros': 500 * factor}
                                         for name in commit_stages.STAGES}}}
        stages, commits, journal_bytes, seconds = commit_stages.summarize(total(1), total(3), 2)
        self.assertEqual((set(stages.values()), commits, journal_bytes, seconds),
                         ({1000}, 20, 16384, 2))
        block = {'commits': 84, 'journaledMB': 1, 'journaledBytes': 688128,
                 'timeMs': dict({name: 3 for name in commit_stages.STAGES}, dt=3007)}
        stages, commits, journal_bytes, seconds = commit_stages.summarize(block, block, 2)
        self.assertEqual((set(stages.values()), commits, journal_bytes, seconds),
                         ({3000}, 84, 688128, 3.007))
