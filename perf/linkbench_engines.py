"""The engines of the article of 2015 under one server, for linkbench.py: mmapv1 of the base and of
the series, wiredTiger and rocksdb of this build, with the article's settings of each.

A contender stands still (SIGSTOP) while another one has its turn, so that what it does in the
background, checkpoints and merges, falls into its own turns. A turn of requests ends with a full
flush: what was changed in it is on the disk, and counted, before the next one begins."""

import contextlib
import json
import os
import signal
import subprocess

import any_server
import compare
import experiment
import late
import machine
import measuring
import memory_group
import server

MONGODB_CLIENT = 'linkbench_mongodb'


class Contender:
    """`serve()` is a block in which the database runs; in it `words` are what its client needs
    and `pid`, where it is ours to know, is the process whose time counts."""

    def __init__(self, name, settings, client, serve):
        self.name, self.settings, self.client, self.serve = name, settings, client, serve
        self.words, self.pid = [], None

    def run(self, phase, arguments):
        program = os.path.join(experiment.PROGRAMS, self.client)
        return json.loads(subprocess.run(
            [program, *self.words, '--nodes', str(arguments.nodes), '--clients',
             str(arguments.clients), '--seconds', str(arguments.seconds), '--interval',
             str(arguments.interval)] + ['--lazy'] * arguments.lazy
            + ['--old-wire'] * (arguments.old_wire and self.client == MONGODB_CLIENT)
            + ['--transactions'] * (arguments.transactions and self.client == MONGODB_CLIENT)
            + [phase],
            capture_output=True, text=True, check=True).stdout)

    def load(self, arguments):
        return self.run('load', arguments)

    def request(self, arguments):
        """The requests with the server's processor time for one."""
        before = compare.cpu_seconds(self.pid) if self.pid else 0
        run = self.run('request', arguments)
        if self.pid:
            run['server_cpu_us'] = ((compare.cpu_seconds(self.pid) - before) * 1e6
                                    / max(1, run['requests_in_all']))
        return run

    def check(self, arguments):
        return self.run('check', arguments)


def of_peer(peer, settings, client, words_of):
    """A contender that is one of the peers of ./lab bench peers."""
    @contextlib.contextmanager
    def serve():
        with peer.serve():
            contender.pid, contender.words = peer.pid, words_of(peer)
            yield
    contender = Contender(peer.name, settings, client, serve)
    return contender


def of_named_database(named, folder):
    @contextlib.contextmanager
    def serve():
        with named.start(os.path.join(folder, named.name)) as running:
            contender.pid, contender.words = running.pid, ['--address', running.uri]
            yield
    contender = Contender(named.name, ' '.join([named.shown_program()] + named.options),
                          MONGODB_CLIENT, serve)
    return contender


pymongo = late.Module('pymongo')

MEGABYTE = 1 << 20
MEMORY_MB_MIN = 512  # wiredTiger's cache is never below 256 MB, and the process has more
OPLOG_MB = 2000  # the article's
DATABASE = 'linkbench'

# Engine: (option of its cache, header that building it needs, what Debian calls that).
LIBRARIES = {
    'wiredTiger': ('--wiredTigerCacheSizeGB', '/usr/include/wiredtiger.h', 'libwiredtiger-dev'),
    'rocksdb': ('--rocksdbCacheSizeGB', '/usr/include/rocksdb/db.h', 'librocksdb-dev'),
}
ROCKSDB_CONFIG = ';'.join((
    'write_buffer_size=16777216', 'max_write_buffer_number=4', 'max_background_compactions=6',
    'max_background_flushes=3', 'target_file_size_base=16777216',
    'max_bytes_for_level_base=134217728', 'max_bytes_for_level_multiplier=8',
    'level0_file_num_compaction_trigger=4', 'level0_slowdown_writes_trigger=12',
    'level0_stop_writes_trigger=20', 'level_compaction_dynamic_level_bytes=false'))
# Of all but the series, which has its own profile.
COMMON = ['--syncdelay', '60', '--journalCommitInterval', '100']
BASE, SERIES = 'mmapv1, base', 'mmapv1, series'
NAMES = (BASE, SERIES, *LIBRARIES)


def memory_bytes(memory_mb):
    """0: those of the machine."""
    return memory_mb * MEGABYTE or os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')


def cache_bytes(memory_mb):
    """Half of the memory, as the article's servers had."""
    return memory_bytes(memory_mb) // 2


def options_of(name, memory_mb, oplog_mb):
    """Of the server."""
    oplog = ['--master', '--oplogSize', str(oplog_mb)] if oplog_mb else []
    if name == BASE:
        return measuring.COMMON + COMMON + oplog
    if name == SERIES:
        return measuring.COMMON + measuring.PROFILE + oplog
    cache = '%g' % (cache_bytes(memory_mb) / (1 << 30))
    return (['--storageEngine', name, LIBRARIES[name][0], cache]
            + (['--rocksdbConfigString', ROCKSDB_CONFIG] if name == 'rocksdb' else [])
            + COMMON + oplog)


# ---- what is built ----

def missing(name):
    """What keeps an engine from being built, in words; nothing when it can be."""
    if name not in LIBRARIES or os.path.exists(LIBRARIES[name][1]):
        return ''
    return '%s not found; apt install %s' % (os.path.basename(LIBRARIES[name][1]),
                                             LIBRARIES[name][2])


def packages():
    return {LIBRARIES[name][2] for name in LIBRARIES if missing(name)}


def build(names, selection='none'):
    """The shared objects of these engines, beside the mongod of a selection of patches. Ends the
    program when that fails."""
    wanted = [name for name in LIBRARIES if name in names]
    if wanted:
        measuring.build(', '.join(wanted), 'patches=' + selection,
                        'engines=' + ','.join(['mmapv1', *wanted]),
                        *('engine_%s.so' % name.lower() for name in wanted))


# ---- what is counted ----

LOG_NAMES = ('WiredTigerLog', 'WiredTigerPreplog', 'WiredTigerTmplog')


def is_log(path):
    """Of a file below a data directory, whether it is a part of the log of mmapv1, wiredTiger,
    rocksdb or TokuMX."""
    folder, name = os.path.split(path)
    return (os.path.basename(folder) == 'journal' or name.startswith(LOG_NAMES)
            or name.endswith('.log') or '.tokulog' in name)


def disk_bytes(dbpath):
    """What its files take of the disk: {'data_bytes', 'log_bytes'}."""
    found = {'data_bytes': 0, 'log_bytes': 0}
    for folder, _, names in os.walk(dbpath):
        for name in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):  # a merge has just removed it
                found['log_bytes' if is_log(os.path.relpath(path, dbpath)) else 'data_bytes'] += (
                    os.stat(path).st_blocks * machine.SECTOR_BYTES)
    return found


def device_counts(device):
    """Of the device so far; nothing where it is not known."""
    lines = machine.lines_of('/proc/diskstats')
    read, written = machine.device_reads(lines, device), machine.device_counters(lines, device)
    return {'device_reads': read[0], 'device_read_bytes': read[1],
            'device_written_bytes': written[1]} if read and written else {}


class EngineContender(Contender):
    """`start` is a block in which a server runs. Where that is not ours (`local` is false) it is
    neither stopped nor flushed, and nothing of its device is known."""

    def __init__(self, name, settings, start, device, local=True):
        super().__init__(name, settings, MONGODB_CLIENT, self.serving)
        self.start, self.device, self.local = start, device, local
        self.running = None  # while it is served

    @contextlib.contextmanager
    def serving(self):
        with self.start() as self.running:
            self.pid, self.words = self.running.pid, ['--address', self.running.uri]
            compare.signal_all(signal.SIGSTOP, self.pids())
            try:
                yield
            finally:
                compare.signal_all(signal.SIGCONT, self.pids())

    def pids(self):
        return [self.pid] * self.local

    def turn(self):
        return compare.turn_of(self.pids())

    def ask(self, database, command):
        try:
            return measuring.command(self.running, database, command)
        except pymongo.errors.PyMongoError as error:
            raise server.ServerError('%s: %s' % (self.name, error)) from None

    def flush(self):
        if self.local:
            self.ask('admin', {'fsync': 1})

    def sizes(self):
        """After a flush. `stored_bytes`: what the engine itself counts for the graph."""
        found = self.ask(DATABASE, {'dbStats': 1})
        sizes = {'stored_bytes': int(found['storageSize']) + int(found['indexSize'])}
        if self.local:
            sizes.update(disk_bytes(self.running.dbpath),
                         memory_bytes=server.memory_bytes(self.pid))
        return sizes

    def counts(self):
        return device_counts(self.device) if self.local else {}

    def load(self, arguments):
        with self.turn():
            run = super().load(arguments)
            self.flush()
            run.update(self.sizes())
        return run

    def request(self, arguments):
        """With what the device did for a request, the flush included."""
        with self.turn():
            before = self.counts()
            run = super().request(arguments)
            self.flush()
            after = self.counts()
            run.update({name: (after[name] - value) / max(1, run['requests_in_all'])
                        for name, value in before.items()})
            run.update(self.sizes())
        return run

    def check(self, arguments):
        with self.turn():
            return super().check(arguments)


# ---- the contenders ----

class Memory:
    """What each server may use: a control group for each where one can be made. `why_not` says why
    there is none. Ends with close(), after the servers."""

    def __init__(self, megabytes):
        self.megabytes, self.groups, self.why_not = megabytes, [], ''

    def limited(self, kind=server.Server):
        """A class of servers like `kind`."""
        if not self.megabytes or self.why_not:
            return kind
        try:
            self.groups.append(memory_group.Group(self.megabytes * MEGABYTE))
        except memory_group.NoGroup as reason:
            self.why_not = str(reason)
            return kind
        return self.groups[-1].server(kind)

    def close(self):
        for group in self.groups:
            group.close()


def settings(arguments, memory):
    """For the result, when all are served."""
    limit = 0 if memory.why_not else arguments.memory
    return {'memory_mb': arguments.memory, 'no_group': memory.why_not,
            'memory_bytes': memory_bytes(limit), 'cache_bytes': cache_bytes(arguments.memory),
            'oplog_mb': arguments.oplog}


def shown(options):
    return ' '.join(word.replace(measuring.TOP + os.sep, '') for word in options)


def of_build(name, folder, arguments, memory, device):
    """An engine of this build."""
    options = options_of(name, arguments.memory, arguments.oplog)
    program = measuring.program_of('all' if name == SERIES else 'none')

    def start():
        return memory.limited()(program, os.path.join(folder, name.replace(', ', '-')),
                                ['--bind_ip', '127.0.0.1', '--nounixsocket'] + options)
    return EngineContender(name, shown(options), start, device)


def of_named(named, folder, memory, device):
    def start():
        return named.start(os.path.join(folder, named.name),
                           kind=memory.limited(any_server.AnyServer))
    return EngineContender(named.name, shown([named.shown_program(), *named.options]), start,
                           device)


def of_uri(uri):
    return EngineContender(any_server.shown(uri), 'its own settings',
                           lambda: contextlib.nullcontext(any_server.Running(uri)), '', False)


def contenders(folder, arguments, memory, device):
    """Those that can run here, built; the others are named."""
    joined = [named.name for named in arguments.servers]
    if arguments.uri:
        joined.append(any_server.shown(arguments.uri))
    measuring.check_only(arguments.only, [*NAMES, *joined])
    names = []
    for name in NAMES:
        if arguments.only and not any(word.lower() in name.lower() for word in arguments.only):
            continue
        if missing(name):
            measuring.say('left out: %s (%s)' % (name, missing(name)))
        else:
            names.append(name)
    build(names)
    return ([of_build(name, folder, arguments, memory, device) for name in names]
            + [of_uri(uri) for uri in [arguments.uri] if uri]
            + [of_named(named, folder, memory, device) for named in arguments.servers])
