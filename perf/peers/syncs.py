"""How often a peer makes a lone client's inserts durable: its syncs, counted by strace while a
known number of rows is inserted. It is the proof that a peer's settings are what they say."""

import contextlib
import os
import re
import subprocess
import tempfile

CALLS = 'fsync,fdatasync,msync,sync_file_range,write,pwrite64,writev,pwritev,pwritev2,openat'
SYNC = re.compile(r'\b(fsync|fdatasync)\(|\bmsync\([^)]*MS_SYNC|\bpwritev2\(.*RWF_(D?)SYNC')
WRITE = re.compile(r'\b(?:write|pwrite64|writev|pwritev)\((\d+<[^>]*>)')
OPENED = re.compile(r'\bopenat\((.*) = (\d+<[^>]*>)')
O_DSYNC = 0o10000  # of /proc; O_SYNC contains it


def tree(pid):
    """A process and all below it, as far as they are still there."""
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as file:
            below = [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid] + [each for child in below for each in tree(child)]


def opened_for_sync(pid):
    """What a process, if it is still there, has open so that each write is synced, as strace shows
    it: '4</tmp/file>'."""
    found, numbers = set(), []
    with contextlib.suppress(FileNotFoundError):
        numbers = os.listdir('/proc/%d/fdinfo' % pid)
    for number in numbers:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open('/proc/%d/fdinfo/%s' % (pid, number), encoding='ascii') as file:
            flags = int(re.search(r'^flags:\s*(\d+)', file.read(), re.M)[1], 8)
            if flags & O_DSYNC:
                found.add('%s<%s>' % (number, os.readlink('/proc/%d/fd/%s' % (pid, number))))
    return found


def count(lines, opened_for_sync=()):
    """Syncs in a trace: calls, and writes to what is opened for synced writes."""
    synced, found = set(opened_for_sync), 0
    for line in lines:
        if 'resumed>' in line:
            continue
        opened, write = OPENED.search(line), WRITE.search(line)
        if opened:
            (synced.add if 'SYNC' in opened[1] else synced.discard)(opened[2])
        elif SYNC.search(line) or write and write[1] in synced:
            found += 1
    return found


class Trace:
    """strace on a tree of processes, from construction to stop()."""

    def __init__(self, pid):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, 'trace')
        pids = tree(pid)
        self.opened_for_sync = set().union(*map(opened_for_sync, pids))
        self.strace = subprocess.Popen(
            ['strace', '-f', '-y', '-s', '0', '-e', 'trace=' + CALLS, '-o', self.log]
            + [word for each in pids for word in ('-p', str(each))],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in pids:
            said = self.strace.stderr.readline()
            # Helpers of a server may have ended since they were listed; it goes on with the others.
            if 'attached' not in said and 'No such process' not in said:
                raise RuntimeError('strace cannot attach to process %d: %s'
                                   % (pid, said.strip() or 'it ended'))

    def stop(self):
        self.strace.terminate()
        self.strace.communicate()
        with open(self.log, encoding='utf-8', errors='replace') as file:
            found = count(file, self.opened_for_sync)
        self.folder.cleanup()
        return found


def per_insert(peer, seconds):
    """Syncs for each insert of a lone client; what an engine does besides makes it no whole
    number."""
    if peer.pid:
        trace = Trace(peer.pid)
        inserts = peer.insert(1, seconds)['inserts']
        return trace.stop() / max(1, inserts)
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, 'trace')
        peer.prefix = ['strace', '-f', '-y', '-s', '0', '-e', 'trace=' + CALLS, '-o', log]
        try:
            inserts = peer.insert(1, seconds)['inserts']
        finally:
            peer.prefix = []
        with open(log, encoding='utf-8', errors='replace') as file:
            return count(file) / max(1, inserts)
