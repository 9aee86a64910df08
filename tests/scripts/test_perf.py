"""Tests perf/: a change and how its table gets into a patch's header, the articles' figures,
claims, peers and members of sets; each experiment runs for a moment and prints its table, and what
it refuses has a sentence. Results that the repository keeps go through the same modules in
test_results.py."""

import argparse
import functools
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import ab_table
import articles
import claims
import experiment
import insert_chain
import journal_writes
import measuring
import network
import off_cpu
import overview
import replicas
import server
import single_inserts
import staging
import write_concern
from peers import embedded, floor, odbc, syncs

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLUG = 'journal-pad-bytes'


def read(*path):
    return pathlib.Path(os.path.join(TOP, *path)).read_text('utf-8')


class Change(unittest.TestCase):
    def test_it_is_the_median_with_its_range_and_without_a_mark(self):
        self.assertEqual(ab_table.shown_change([3.0, 1.0, 2.0, 2.0, 4.0, 9.0]), '+2% (+1..+9)')


class Header(unittest.TestCase):
    def test_a_new_table_replaces_the_old_one_and_nothing_else(self):
        patch = read('patches', SLUG + '.patch')
        fields = staging.header_fields(os.path.join(TOP, 'patches', SLUG + '.patch'))
        old = ab_table.table(json.loads(read(fields['Result'])))
        new = ab_table.with_table(patch, old, 'THE TABLE', 'new.json', '2027-02-01T08:09:10+00:00')
        kept = re.compile(r'^(Result|Date|Last-update): .*\n', re.M)
        self.assertEqual(kept.sub('', new), kept.sub('', patch.replace(old, 'THE TABLE')))
        for line in ('Result: new.json', 'Date: Mon, 1 Feb 2027 08:09:10 +0000',
                     'Last-update: 2027-02-01'):
            self.assertIn('\n%s\n' % line, new)
        with self.assertRaises(ValueError):
            ab_table.with_table(patch, 'no such table', 'x', 'x', '2027-02-01T08:09:10+00:00')


def page():
    return ''.join(pathlib.Path(path).read_text('utf-8') for path in articles.PAGES)


class Figures(unittest.TestCase):
    def test_the_page_has_its_tables_as_they_are(self):
        self.assertEqual(page(), articles.filled(page(), articles.made),
                         'run build/venv/bin/python perf/articles.py')
        shown = re.findall(r'<!-- table: ([a-z-]+) -->', page())
        self.assertEqual(len(shown), len(set(shown)))
        self.assertLessEqual({'requests', 'sizes', 'durable-inserts', 'write-concerns'}, set(shown))

    def test_figures_are_shown_as_they_were_published(self):
        for figure in ('34.10', '312.0', '1,329', '5.230'):
            self.assertIn('| %s |' % figure, ''.join(map(articles.table, articles.tables())))
        self.assertEqual(articles.figure('write-concerns', 'least', 'j=1, disk'), 34.1)
        self.assertIsNone(articles.figure('durable-inserts', 'MS SQL Server, 1 thread', 'SSD'))


class Verdicts(unittest.TestCase):

    def test_bounds_belong_to_what_carries_over(self):
        claim = claims.Claim('x', 'y', '29', {'run': None}, '.1f', claims.near(30, 0.1))
        self.assertEqual(claim.shown_wanted(), '27.0 to 33.0')
        for ours, verdict in ((26.9, claims.NOT_REPRODUCED), (27, claims.REPRODUCED),
                              (33, claims.REPRODUCED), (33.1, claims.NOT_REPRODUCED)):
            self.assertEqual(claim.verdict(ours, {})[0], verdict)


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

    def test_the_floor_syncs_each_insert(self):
        server.build('none', '', ['floor_server', 'load_client'])
        with tempfile.TemporaryDirectory() as folder:
            peer = floor.Floor(folder)
            with peer.serve():
                self.assertGreater(peer.insert(2, 0.2)['inserts'], 0)
                if shutil.which('strace'):
                    self.assertGreater(syncs.per_insert(peer, 0.2), 0.9)

    def test_wiredtiger_syncs_each_insert(self):
        self.driven(embedded.WiredTiger)


class Slice(unittest.TestCase):
    def test_a_set_in_two_places_is_measured(self):
        server.build('none', '', ['mongod', 'insert_latency', 'delay_router', 'sync_floor'])
        router = os.path.join(experiment.PROGRAMS, 'delay_router')
        why = network.missing(router)
        if why:
            self.skipTest(why)
        arguments = argparse.Namespace(inserts=3, rounds=1, clients=[1, 2],
                                       concerns=replicas.CONCERNS)
        with tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build', 'scratch')) as folder, \
                mock.patch.object(replicas, 'SERVERS', [('base', 'none', measuring.SHORT)]), \
                mock.patch.object(replicas, 'FAR_MS', 4), \
                network.Network(router, len(replicas.PLACES)) as net:
            replicas.connect_places(net)
            net.enter(0)
            trial = experiment.Experiment(folder, arguments)
            trial.result.update(rows=[], round_trips_ms=[replicas.NEAR_MS, 4], inserts=3,
                                document_bytes=200, rounds=1)
            result = trial.run(functools.partial(replicas.measure, arguments=arguments, net=net))
        self.assertNotIn('stopped', result)
        self.assertEqual(len(result['rows']), 3 * (len(replicas.ALONE_CONCERNS)
                                                   + len(replicas.CONCERNS)))
        # What another member has to have takes the way there and back.
        least_ms = {'w:2': replicas.NEAR_MS, 'w:3': 4}
        for row in result['rows']:
            self.assertGreaterEqual(row['runs'][0]['least_us'],
                                    1e3 * least_ms.get(row['concern'], 0))
            self.assertEqual(row['runs'][0]['inserts'], 3 * row['clients'])
            self.assertGreaterEqual(row['runs'][0]['lines_before']['2']['least_ms'], 4)
        self.assertIn('on the set', replicas.table(result))


def run(script, *words):
    """The exit code and what a script says to these words."""
    done = subprocess.run([sys.executable, os.path.join(TOP, 'perf', script), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server.build('none', '', ['mongod', 'linkbench_mongodb', 'load_client', 'sync_floor'])

    def check(self, script, *words):
        code, said = run(script, '--rounds', '1', *words)
        self.assertEqual(code, 0, said)
        path = os.path.join(TOP, re.search(r'^The figures are in (\S+)$', said, re.M)[1])
        for made in glob.glob(path.removesuffix('.json') + '*'):
            self.addCleanup(os.remove, made)
        result, = overview.named([path])
        self.assertIn(result.table, said)
        self.assertTrue(result.findings)
        self.assertTrue(any(row.source for row in claims.rows(
            [(result.kind.name, 'this', result.result)])) or result.kind.name == 'peers')

    def test_append(self):
        self.check('append.py', '--seconds', '0.1', '--clients', '1', '--only', 'base')

    @unittest.skipIf(embedded.SQLite('unused').missing(), 'SQLite or a compiler is not installed')
    def test_peers(self):
        self.check('compare.py', '--seconds', '0.1', '--clients', '1', '--only', 'sqlite')

    def test_linkbench(self):
        self.check('linkbench.py', '--nodes', '200', '--clients', '2', '--seconds', '0.3',
                   '--interval', '0.1', '--lazy', '--only', 'base')


class Refused(unittest.TestCase):
    def test_bad_values_get_a_sentence(self):
        for words, sentence in (
                (['run.py', '--clients', '1,,8'], "'' is no number"),
                (['run.py', '--device-delay', '2000'], 'give 1000 ms at most'),
                (['write_concern.py', '--long', 'x'], "'x' is no number of inserts"),
                (['write_concern.py', '--clients', '2'], '--clients: it is for --replicas'),
                (['write_concern.py', '--journal-folder', TOP], 'lies on the same device'),
                (['sweep.py', '--what', 'nix'], "there is no sweep 'nix'; there are interval"),
                (['growth.py', '--memory', '1'], "'1' is no number of MB"),
                (['append.py', '--seconds', '-1'], 'no time; give seconds above 0'),
                (['linkbench.py', '--memory', '1000'], '--memory: it is for --engines'),
                (['linkbench.py', '--server', 'x=/nosuch'], "no file '/nosuch'")):
            with self.subTest(words):
                code, said = run(*words)
                self.assertEqual(code, 2, said)
                self.assertIn(sentence, ' '.join(said.split()))


class SingleInserts(unittest.TestCase):
    def test_both_clients_time_each_insert(self):
        server.build('none', '', ['mongod', 'insert_latency'])
        program = measuring.program_of('none')
        client = os.path.join(experiment.PROGRAMS, 'insert_latency')
        with tempfile.TemporaryDirectory() as folder, server.Server(
                program, os.path.join(folder, 'db'), measuring.COMMON + measuring.SHORT) as running:
            for name in write_concern.CLIENTS:
                for concern in write_concern.CONCERNS:
                    made = single_inserts.run(running, name, concern, 23)
                    self.assertEqual((made['inserts'], len(made['latencies_us'])), (23, 23))
                    self.assertEqual((made['client'], made['concern']), (name, concern))
            out = subprocess.run([client, '--uri', running.uri, '--seconds-max', '0.05', '100000'],
                                 stdout=subprocess.PIPE, check=True).stdout
            self.assertLess(json.loads(out)['inserts'], 100000)


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
        return pathlib.Path('/proc/%d/stat' % pid).read_text('utf-8').rpartition(')')[2].split()[0]

    def test_a_blocked_thread_shows_its_call(self):
        code = 'import os; print(flush=True); os.read(0, 1)'
        self.assertIn('read', self.sample(code, waits=True))
