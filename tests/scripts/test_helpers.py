"""Tests what tests stand on: the judgement of the crash driver, what runs the fuzz targets, and the
network of namespaces with delays, which needs root and TUN: without them it is skipped."""

import importlib.util
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import block_log
import corpora
import kept
import load
import network
import server
from reading import Collection, Failure, SHARED

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = 'crash.own0'


class Owner:
    number, refusal = 0, None

    def __init__(self, state, tail, pending=()):
        self.state, self.tail, self.pending = state, tail, list(pending)


def documents(*keys, version=1):
    return {key: {'_id': key, 'version': version} for key in keys}


def state(*keys, version=1):
    return {OWN: Collection(documents(*keys, version=version))}


def puts(*keys, version=1):
    return [load.put(OWN, document) for document in documents(*keys, version=version).values()]


class Settle(unittest.TestCase):
    def test_the_first_steps_may_have_survived(self):
        for count in range(3):
            found = state('a', *'bc'[:count])
            survived, there = load.settle(Owner(state('a'), puts('b', 'c')), found)
            self.assertEqual((survived, there), (count, found))

    def test_what_is_wrong_is_found(self):
        tail = puts('b', 'c')
        for found in (state(), state('b'), state('a', 'c'), state('a', 'b', 'c', 'd'), {},
                      state('a', version=2),
                      {OWN: Collection(documents('a'), indexes=('_id_', 'k_1'))},
                      {OWN: Collection(documents('a'), newest=1)},
                      {**state('a'), SHARED: Collection()}):
            with self.assertRaises(Failure):
                load.settle(Owner(state('a'), tail), found)

    def test_a_refused_operation_leaves_each_document_as_before_or_as_after(self):
        pending = [load.put_all(OWN, documents('a', 'b', version=2).values())]
        owner = Owner(state('a', 'b'), pending, pending)
        half = {OWN: Collection({**documents('a', version=2), **documents('b')})}
        with self.assertRaises(Failure):
            load.settle(owner, half)
        owner.refusal = 'No space'
        self.assertEqual(load.settle(owner, half)[1], half)
        for found in (state('a'), state('a', 'b', version=3), state('a', 'b', 'c'), {}):
            with self.assertRaises(Failure):
                load.settle(owner, found)


class BlockLog(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.folder, 'log')

    def write(self, *records):
        """Records: (offset, bytes to write), or None for a flush, or (offset, count) for zeros."""
        with open(self.path, 'wb') as file:
            for record in records:
                if record is None:
                    file.write(struct.pack('=QQQ', block_log.FLUSH, 0, 0))
                elif isinstance(record[1], bytes):
                    file.write(struct.pack('=QQQ', block_log.WRITE, record[0], len(record[1])))
                    file.write(record[1])
                else:
                    file.write(struct.pack('=QQQ', block_log.ZERO, *record))
        log = block_log.Log(self.path)
        self.addCleanup(log.close)
        return log

    def test_entries_are_read_and_applied(self):
        log = self.write((0, b'a' * 1024), None, (512, 512), (0, b'b' * 512), None)
        self.assertEqual(log.flushes, [1, 4])
        self.assertEqual(log.entries[-1].end, os.path.getsize(self.path))
        with open(os.path.join(self.folder, 'disk'), 'w+b') as file:
            for entry in log.entries[:3]:
                log.apply(entry, file.fileno())
            log.apply(log.entries[3], file.fileno(), 4)
            file.seek(0)
            self.assertEqual(file.read(), b'bbbb' + b'a' * 508 + bytes(512))

    def test_what_was_flushed_is_sure_and_what_came_later_is_not_there(self):
        log = self.write((0, b'a' * 512), None, (512, b'b' * 512), (1024, b'c' * 512), None)
        ends = [entry.end for entry in log.entries]
        state_at = block_log.State(log, 0, 'flush', [])
        self.assertEqual((state_at.until, state_at.sure), (ends[1], ends[4]))
        state_at = block_log.State(log, 0, 'some', [(log.entries[2], 512)])
        self.assertEqual((state_at.until, state_at.sure), (ends[2], ends[4]))
        state_at = block_log.State(log, 1, 'flush', [])
        self.assertEqual(state_at.until, ends[4])
        self.assertGreater(state_at.sure, ends[4])

    def test_states_of_every_kind_are_chosen(self):
        log = self.write((0, b'a' * 512), None, *[(n * 8192, b'b' * 8192) for n in range(6)], None)
        states = [block_log.choose(log, 0, random.Random(seed), 512) for seed in range(300)]
        pending = log.entries[2:8]
        for one in states:
            chosen = [entry for entry, _ in one.extra]
            self.assertEqual(chosen, [entry for entry in pending if entry in chosen])
            self.assertLessEqual(sum(count < entry.bytes for entry, count in one.extra), 1)
            self.assertTrue(all(count % 512 == 0 for _, count in one.extra))
        sets = {tuple(pending.index(entry) for entry, _ in one.extra) for one in states}
        self.assertGreater(len(sets), 30)
        self.assertIn((), sets)
        self.assertIn(tuple(range(6)), sets)
        self.assertTrue(any(count < entry.bytes for one in states for entry, count in one.extra))


FUZZ = os.path.join(TOP, 'tests', 'fuzz')


# By its path: other folders have a run.py, too.
_spec = importlib.util.spec_from_file_location('fuzz_run', os.path.join(FUZZ, 'run.py'))
fuzz_run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz_run)


def targets_of_the_build():
    """Names and sources that the SConscript declares."""
    found = {}

    def fuzz_target(name, needs, also=()):
        assert needs
        found[name] = [name + '.cpp', *also]

    with open(os.path.join(FUZZ, 'SConscript'), encoding='utf-8') as script:
        exec(script.read(), {'Import': lambda _: None, 'fuzz_target': fuzz_target})
    return found


class Corpora(unittest.TestCase):
    def test_each_target_has_its_source_and_its_inputs(self):
        targets = targets_of_the_build()
        self.assertEqual(sorted(targets), sorted(corpora.TARGETS))
        for name, sources in targets.items():
            for source in sources:
                self.assertTrue(os.path.exists(os.path.join(FUZZ, source)), source)
            with self.subTest(name):
                self.assertTrue(any(data for data in corpora.TARGETS[name]()))


class Kept(unittest.TestCase):
    def test_each_archive_belongs_to_a_target_and_has_its_figures(self):
        figures = kept.read_figures()
        archives = {name.split('.')[0] for name in os.listdir(kept.KEPT)
                    if name.endswith('.tar.xz')}
        self.assertEqual(archives, set(figures))
        self.assertLessEqual(archives, set(corpora.TARGETS))
        for target, (_, _, inputs, _, _) in figures.items():
            with tempfile.TemporaryDirectory() as folder:
                self.assertEqual(kept.unpack(target, folder), inputs, target)


PORT = 7000
IN_FLIGHT = 100  # datagrams that any receive buffer has room for
WAIT_SECONDS = 10  # only ends what hangs

# Sends every datagram back to where it came from, and says so.
ECHO = '''
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', %d))
print('up', flush=True)
while True:
    data, sender = s.recvfrom(100)
    s.sendto(data, sender)
    print('sent', flush=True)
''' % PORT


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.router = os.path.join(server.build('none', '', ['delay_router']), 'bin', 'delay_router')
        why = network.missing(cls.router)
        if why:
            raise unittest.SkipTest(why)

    def network(self, nodes):
        return self.enterContext(network.Network(self.router, nodes))

    def echo_in(self, net, node):
        """A socket of node 0 that speaks with a program in another one, and what this one says."""
        program = subprocess.Popen(net.command(node, [sys.executable, '-c', ECHO]),
                                   stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        program.stdout.readline()
        net.enter(0)
        speaks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(speaks.close)
        speaks.settimeout(WAIT_SECONDS)
        speaks.connect((network.address(node), PORT))
        return speaks, program.stdout

    def test_a_line_takes_as_long_as_it_shall_in_each_direction(self):
        net = self.network(3)
        net.set(0, 1, 20)
        net.set(1, 0, 5)
        net.set_both(0, 2, 40)
        net.enter(0)
        # Lower bounds alone: a busy machine adds to them.
        self.assertGreaterEqual(min(net.round_trips_ms(1, 3)), 25)
        self.assertGreaterEqual(min(net.round_trips_ms(2, 2)), 80)

    def test_nothing_is_lost_and_nothing_overtakes(self):
        net = self.network(2)
        speaks, _ = self.echo_in(net, 1)
        expected = 0
        for delays in ((0, 0), (3, 0), (0, 2), (1, 1)):
            for _ in range(10):
                for number in range(IN_FLIGHT):
                    if number == IN_FLIGHT // 2:
                        # A shorter delay in the middle: what is under way comes first.
                        net.set(0, 1, delays[0] / 2)
                    elif number == 0:
                        net.set(0, 1, delays[0])
                        net.set(1, 0, delays[1])
                    speaks.send(b'%d' % (expected + number))
                for number in range(IN_FLIGHT):
                    self.assertEqual(int(speaks.recv(100)), expected + number)
                expected += IN_FLIGHT

    def test_a_cut_takes_all_of_one_direction(self):
        net = self.network(2)
        speaks, said = self.echo_in(net, 1)
        for cut in ((0, 1), (1, 0)):
            net.set(*cut, None)
            speaks.send(b'lost')
            if cut == (1, 0):
                said.readline()
            net.set(*cut, 0)
            # Were the first one not lost, it would come before the second.
            speaks.send(b'found')
            self.assertEqual(speaks.recv(100), b'found')
            said.readline()
