"""Where and how the server of the crash driver runs: options, file systems, limits.

A setting goes with a data directory and holds for all rounds on it. The kinds alternate, the seed
decides the rest."""

import contextlib
import os
import resource
import subprocess

OPTIONS = ['--smallfiles', '--nssize', '2', '--syncdelay', '1']
INTERVAL = ['--journalCommitInterval', '3']
NO_SPACE_CHECK = ['--journalOptions', '64']
MB = 1 << 20
ROOMY_MB = 640

# Errors that a client may get where something has run out.
DISK_FULL = r'the disk is full|No space left on device|[Cc]ould ?n.t allocate|[Nn]o space'
NO_DESCRIPTORS = r'Too many open files'
# How a server ends itself that cannot write its journal.
FATAL = r'Fatal assertion (13515|13514|15873) |exception in groupCommit causing immediate shutdown'


class Impossible(Exception):
    """This machine does not allow it; the text says what is missing."""


class Plain:
    """Files as they come: whether they are made in advance and a folder for each database are up to
    the seed."""

    name = 'plain'
    refusal = None  # what a client may be refused with, a regular expression
    may_end = False  # whether the server may end itself with FATAL
    mounted = ()
    actions = {}  # of the writers: other weights than load.Writer.ACTIONS
    spread = False  # whether they use all databases alike
    moments = ()  # of kills, beside those of the driver
    interruption = None  # what an operation may end with half-way, another one
    longer = 1  # so many times as much happens before a kill
    preloaded = ''  # a library that the server is started with

    def __init__(self, chance, options):
        self.chance, self.journal = chance, True
        self.layout = list(OPTIONS)
        self.of_journal = list(options) or list(INTERVAL)
        self.add(chance.random() < 0.3, '--directoryperdb')
        if chance.random() < 0.3:
            self.of_journal += ['--nopreallocj']

    def add(self, wanted, option):
        if wanted and option not in self.layout:
            self.layout.append(option)

    @property
    def options(self):
        return self.layout + (self.of_journal if self.journal else ['--nojournal'])

    def make(self, dbpath):
        """Before the first start, in an empty folder."""

    def before_start(self):
        """Before each start that must succeed."""

    def under_load(self, running):
        """When all clients are connected."""

    def close(self):
        """Leaves nothing mounted."""

    def describe(self):
        return '%s: %s' % (self.name, ' '.join(self.options))


class Preallocated(Plain):
    """Journal files made in advance: one that is there makes the server make the others."""

    name = 'preallocation'

    def make(self, dbpath):
        os.makedirs(os.path.join(dbpath, 'journal'))
        with open(os.path.join(dbpath, 'journal', 'prealloc.0'), 'wb') as file:
            file.write(bytes(8192))


class DirectoryPerDatabase(Plain):
    name = 'directoryperdb'

    def __init__(self, chance, options):
        super().__init__(chance, options)
        self.add(True, '--directoryperdb')


class Small(Plain):
    """A memory file system that is soon full. A kill does not touch what the kernel has, so that
    nothing else about it differs from a disk."""

    refusal = DISK_FULL
    may_end = True

    def __init__(self, chance, options):
        super().__init__(chance, options)
        if os.geteuid() != 0:
            raise Impossible('mounting a small file system needs root')
        self.of_journal += NO_SPACE_CHECK
        self.mounted = []

    def mount(self, path, megabytes):
        os.makedirs(path, exist_ok=True)
        run = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%dm,mode=0700' % megabytes,
                              'crash-test', path], stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise Impossible('no file system can be mounted here: ' + run.stderr.strip())
        self.mounted.append(path)

    def resize(self, path, free_mb):
        """Leaves about so much room."""
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            info = os.statvfs(path)
            used = (info.f_blocks - info.f_bfree) * info.f_frsize
            subprocess.run(['mount', '-o', 'remount,size=%d' % (used + int(free_mb * MB)), path],
                           check=True, stderr=subprocess.DEVNULL)

    def close(self):
        for path in reversed(self.mounted):
            subprocess.run(['umount', path], check=True)
        self.mounted = []


class FullData(Small):
    """The data files run out of room; the journal has a file system of its own."""

    name = 'full disk'

    def make(self, dbpath):
        self.data = dbpath
        self.mount(dbpath, ROOMY_MB)
        self.mount(os.path.join(dbpath, 'journal'), ROOMY_MB)

    def before_start(self):
        self.resize(self.data, ROOMY_MB)

    def under_load(self, running):
        self.resize(self.data, self.chance.random() * 100)


class FullJournal(Small):
    """The journal runs out of room: the server must end, and start again when there is room."""

    name = 'full journal'
    refusal = None

    def make(self, dbpath):
        self.log = os.path.join(dbpath, 'journal')
        self.mount(self.log, ROOMY_MB)

    def before_start(self):
        self.resize(self.log, ROOMY_MB)

    def under_load(self, running):
        self.resize(self.log, self.chance.random() * 2)


class FullBoth(FullData):
    """One small file system for all. After a kill a start must find its way on what is left."""

    name = 'full disk with the journal'

    def __init__(self, chance, options):
        super().__init__(chance, options)
        for word in NO_SPACE_CHECK:
            self.of_journal.remove(word)

    def make(self, dbpath):
        self.data = dbpath
        self.mount(dbpath, ROOMY_MB)

    def before_start(self):
        journal = os.path.join(self.data, 'journal')
        killed = os.path.isdir(journal) and any(name.startswith('j._')
                                                for name in os.listdir(journal))
        if not killed or self.chance.random() < 0.3:
            super().before_start()


class ClosingDatabases(Plain):
    """All data files are closed and opened again between writes into indexes of several databases,
    and databases dropped; where one of them was mapped another one is."""

    name = 'closing databases'
    actions = {'insert': 80, 'batch': 12, 'replace': 4, 'remove': 4, 'multi': 2, 'push': 2,
               'grow': 1, 'index': 8, 'drop': 1, 'drop_database': 2, 'close': 25}
    spread = True
    moments = ('close', 'close', 'close')
    interruption = (r'collection dropped between getMore calls or during the operation'
                    r'|cursor id \d+ not found')
    longer = 8
    preloaded = 'moving_maps.so'


class FewDescriptors(Plain):
    """New files, or new mappings of files, cannot be opened."""

    name = 'few descriptors'
    refusal = NO_DESCRIPTORS
    may_end = True

    def under_load(self, running):
        limit = len(os.listdir('/proc/%d/fd' % running.pid)) + self.chance.randrange(6)
        hard = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (limit, hard))


class Alternating(Plain):
    """With and without a journal. After a kill without one the files must be refused until they
    are repaired."""

    name = 'journal and none'

    def choose_mode(self):
        """Before a round that finds no journal to recover."""
        self.journal = self.chance.random() < 0.4


KINDS = [Plain, Preallocated, FullData, FewDescriptors, Alternating, DirectoryPerDatabase,
         FullJournal, FullBoth, ClosingDatabases]
