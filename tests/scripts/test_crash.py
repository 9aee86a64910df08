"""The judgement of the crash driver: what it finds wrong, and what a disk may have after a cut."""

import os
import random
import struct
import tempfile
import unittest

import block_log
import load
from reading import SHARED, Collection, Failure

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
