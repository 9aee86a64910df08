"""What a peer's inserts ask of the file system: its calls, counted by strace while a known number
of rows is inserted. How often a lone client's inserts are synced is the proof that a peer's
settings are what they say."""

import contextlib
import os
import re
import subprocess
import tempfile

# Not of regular files.
OTHER = re.compile(r'<(socket|pipe|anon_inode|/dev/|/proc/|UNIX|TCP)')
RESULT = re.compile(r' = (\d+)$')
PATH = re.compile(r'^\d+<(.*)>$')
WRITE_CALL = re.compile(r'\b(?:write|pwrite64|writev|pwritev|pwritev2)\((\d+<[^>]*>)')
UNFINISHED = re.compile(r'^(\d+) .*\((\d+<[^>]*>).* <unfinished \.\.\.>$')
RESUMED = re.compile(r'^(\d+) <\.\.\. (\w+) resumed>')

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
            if int(re.search(r'^flags:\s*(\d+)', file.read(), re.M)[1], 8) & O_DSYNC:
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


def tally(lines, opened_for_sync=()):
    """Calls on regular files in a trace: {'writes', 'bytes', 'fsyncs', 'datasyncs', 'files'}.

    fsyncs     that write the times of the file too: fsync, O_SYNC
    datasyncs  that need not: fdatasync, O_DSYNC, RWF_DSYNC
    files      {path: [writes, bytes]}"""
    found = {'writes': 0, 'bytes': 0, 'fsyncs': 0, 'datasyncs': 0, 'files': {}}
    synced, begun = {file: 'datasyncs' for file in opened_for_sync}, {}
    for line in lines:
        line = line.rstrip()
        resumed, unfinished = RESUMED.match(line), UNFINISHED.match(line)
        if unfinished:
            begun[unfinished[1]] = unfinished[2]
        opened, write = OPENED.search(line), WRITE_CALL.search(line)
        if opened:
            kind = ('fsyncs' if re.search(r'O_SYNC', opened[1]) else
                    'datasyncs' if 'O_DSYNC' in opened[1] else None)
            synced[opened[2]] = kind
        elif resumed:
            file = begun.pop(resumed[1], None)
            if 'write' in resumed[2] and file and not OTHER.search(file):
                add_bytes(found, file, line)
        elif write and not OTHER.search(write[1]):
            found['writes'] += 1
            found['files'].setdefault(PATH.match(write[1])[1], [0, 0])[0] += 1
            kind = ('datasyncs' if 'RWF_DSYNC' in line else 'fsyncs' if 'RWF_SYNC' in line else
                    synced.get(write[1]))
            if kind:
                found[kind] += 1
            if not unfinished:
                add_bytes(found, write[1], line)
        elif re.search(r'\bfdatasync\(', line):
            found['datasyncs'] += 1
        elif SYNC.search(line):
            found['fsyncs'] += 1
    return found


def add_bytes(found, file, line):
    result = RESULT.search(line)
    if result:
        found['bytes'] += int(result[1])
        found['files'].setdefault(PATH.match(file)[1], [0, 0])[1] += int(result[1])


class Trace:
    """strace on processes and all below them, from construction to stop()."""

    def __init__(self, *roots):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, 'trace')
        pids = [pid for root in roots for pid in tree(root)]
        self.opened_for_sync = set().union(*map(opened_for_sync, pids))
        self.strace = subprocess.Popen(
            ['strace', '-f', '-y', '-s', '0', '-e', 'trace=' + CALLS, '-o', self.log]
            + [word for each in pids for word in ('-p', str(each))],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for pid in pids:
            said = self.strace.stderr.readline()
            # Helpers of a server may have ended since they were listed; it goes on with the others.
            if 'attached' not in said and 'No such process' not in said:
                raise RuntimeError('strace cannot attach to process %d: %s'
                                   % (pid, said.strip() or 'it ended'))

    def stop(self, read=count):
        """What read() makes of the lines."""
        self.strace.terminate()
        self.strace.communicate()
        with open(self.log, encoding='utf-8', errors='replace') as file:
            found = read(file, self.opened_for_sync)
        self.folder.cleanup()
        return found


def per_insert(peer, seconds):
    """Syncs for each insert of a lone client; what an engine does besides makes it no whole
    number."""
    if peer.pids():
        trace = Trace(*peer.pids())
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
