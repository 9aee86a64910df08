"""Reads the log of block_log.c, and says what a disk may have after its power was cut.

A disk keeps what was written before the last flush that it completed. Of what came after, each
sector may be there or not, whatever came before or after it."""

import mmap
import os
import struct

WRITE, ZERO, FLUSH = 1, 2, 3
HEAD = struct.Struct('=QQQ')
ZEROS = bytes(1 << 20)


class Entry:
    """kind, where on the disk, how much; where its bytes begin in the log, and where it ends."""

    __slots__ = ('kind', 'offset', 'bytes', 'data', 'end')

    def __init__(self, kind, offset, count, data, end):
        self.kind, self.offset, self.bytes, self.data, self.end = kind, offset, count, data, end


class Log:
    def __init__(self, path):
        self.file = open(path, 'rb')
        self.map = mmap.mmap(self.file.fileno(), 0, prot=mmap.PROT_READ)
        self.entries = []
        at = 0
        while at + HEAD.size <= len(self.map):
            kind, offset, count = HEAD.unpack_from(self.map, at)
            data = at + HEAD.size
            at = data + (count if kind == WRITE else 0)
            self.entries.append(Entry(kind, offset, count, data, at))
        self.flushes = [number for number, entry in enumerate(self.entries) if entry.kind == FLUSH]

    def close(self):
        self.map.close()
        self.file.close()

    def apply(self, entry, to, count=None):
        """Writes an entry, or its first `count` bytes, to a file descriptor."""
        count = entry.bytes if count is None else count
        if entry.kind == WRITE:
            os.pwrite(to, self.map[entry.data:entry.data + count], entry.offset)
        elif entry.kind == ZERO:
            for done in range(0, count, len(ZEROS)):
                os.pwrite(to, ZEROS[:min(len(ZEROS), count - done)], entry.offset + done)


class State:
    """What a disk has after a cut.

    flush   number in Log.flushes: all until there is on the disk
    extra   [(entry, bytes)]: these beyond it, the last one perhaps not whole
    until   how far the log had come when the last of these was written: nothing later is there
    sure    what was acknowledged when the log was shorter than this, must be there"""

    def __init__(self, log, flush, kind, extra):
        self.flush, self.kind, self.extra = flush, kind, extra
        self.until = extra[-1][0].end if extra else log.entries[log.flushes[flush]].end
        later = log.flushes[flush + 1:flush + 2]
        self.sure = log.entries[later[0]].end if later else len(log.map) + 1

    def describe(self):
        return 'flush %d%s' % (self.flush, ' and %d writes (%s)' % (len(self.extra), self.kind)
                               if self.extra else '')


def unflushed(log, flush):
    """What was written to the disk between a flush and the next one."""
    stop = log.flushes[flush + 1] if flush + 1 < len(log.flushes) else len(log.entries)
    return log.entries[log.flushes[flush] + 1:stop]


def choose(log, flush, chance, sector):
    """A state after a flush, of a kind that the chance decides."""
    pending = unflushed(log, flush)
    kind = chance.choice(('flush', 'the first', 'some', 'some')) if pending else 'flush'
    if kind == 'flush':
        return State(log, flush, kind, [])
    if kind == 'the first':
        chosen = pending[:chance.randrange(1, len(pending) + 1)]
    else:
        share = chance.choice((0.1, 0.5, 0.9))
        chosen = [entry for entry in pending if chance.random() < share]
    extra = [(entry, entry.bytes) for entry in chosen]
    if extra and chance.random() < 0.5:  # one of them in part
        at = chance.randrange(len(extra))
        entry = extra[at][0]
        extra[at] = entry, chance.randrange(entry.bytes // sector + 1) * sector
    return State(log, flush, kind, extra)
