"""Engines that are libraries, each driven by a small C program of ours with threads as clients. No
socket and no protocol lies between client and engine, so their figures are a bound, not a rival."""

import contextlib
import json
import os
import subprocess

from peers.peer import WARMUP_SECONDS, Peer, program, run

HERE = os.path.dirname(os.path.abspath(__file__))


def compile_load(compiler, source, program_path, library):
    """SOURCE.c over embedded_load.c."""
    run([compiler, '-O2', '-pthread', '-I', os.path.dirname(HERE), '-o', program_path,
         os.path.join(HERE, source + '.c'), os.path.join(HERE, 'embedded_load.c'),
         os.path.join(os.path.dirname(HERE), 'histogram.c'), '-l' + library])


class Embedded(Peer):
    in_process = True
    library = header = None

    def __init__(self, folder):
        super().__init__(os.path.join(folder, self.source), {
            'cc': program('cc'), self.header: has_header(self.header)})
        self.program = os.path.join(folder, self.source)
        self.prefix = []  # of the command, for a trace

    @property
    def source(self):
        return type(self).__name__.lower() + '_load'

    @contextlib.contextmanager
    def serve(self):
        self.data += '-data'
        with self.folders():
            compile_load(self.programs['cc'], self.source, self.program, self.library)
            yield

    def insert(self, clients, seconds):
        out = subprocess.run(
            self.prefix + [self.program, self.data, str(clients), str(seconds),
                           str(WARMUP_SECONDS)], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(out)


def has_header(name):
    path = os.path.join('/usr/include', name)
    return path if os.path.exists(path) else None


class SQLite(Embedded):
    name = 'SQLite, in process'
    settings = 'journal_mode=WAL, synchronous=FULL'
    package = 'libsqlite3-dev'
    library, header = 'sqlite3', 'sqlite3.h'


class LMDB(Embedded):
    name = 'LMDB, in process'
    settings = 'a transaction an insert, synced, as by default'
    package = 'liblmdb-dev'
    library, header = 'lmdb', 'lmdb.h'


class WiredTiger(Embedded):
    name = 'WiredTiger, in process'
    settings = 'log enabled, transaction_sync=(enabled=true,method=fsync)'
    package = 'libwiredtiger-dev'
    library, header = 'wiredtiger', 'wiredtiger.h'


class RocksDB(Embedded):
    name = 'RocksDB, in process'
    settings = 'sync=1'
    package = 'librocksdb-dev'
    library, header = 'rocksdb', 'rocksdb/c.h'
