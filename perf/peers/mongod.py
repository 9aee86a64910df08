"""Our server with the whole series and conf/durable.yaml; and any other of its protocol."""

import contextlib
import os
import urllib.parse

import any_server
import late
import measuring

import server

from peers.peer import WARMUP_SECONDS, Peer

pymongo = late.Module('pymongo')

DOCUMENT_BYTES_MIN, FRAME_BYTES = 50, 30  # of what the load client sends; its frame


def socket_uri(folder, port):
    """The address of a mongod's Unix socket for the driver."""
    path = os.path.join(folder, 'mongodb-%d.sock' % port)
    return 'mongodb://%s/?directConnection=true' % urllib.parse.quote(path, safe='')


class Mongod(Peer):
    name = 'mongod-dur, durable.yaml'
    settings = 'j: true'
    selection, options, common = 'all', measuring.PROFILE, measuring.COMMON
    words = []  # of the load client

    def __init__(self, folder):
        program_path = measuring.program_of(self.selection)
        super().__init__(os.path.join(folder, type(self).__name__.lower()),
                         {program_path: os.path.exists(program_path) and program_path})
        self.tools = measuring.Bench(measuring.programs(), folder, 0, WARMUP_SECONDS)
        self.uri = self.port = None

    @contextlib.contextmanager
    def serve(self):
        with self.folders(), server.Server(
                *self.programs, self.data, self.common + self.options
                + ['--unixSocketPrefix', self.sockets]) as mongod:
            self.port, self.pid = mongod.port, mongod.pid
            self.uri = socket_uri(self.sockets, self.port)
            yield

    def insert(self, clients, seconds):
        self.tools.seconds = seconds
        size = max(DOCUMENT_BYTES_MIN, self.text_bytes + FRAME_BYTES)
        rate = self.tools.load(self.uri, clients, ['insert', '--bytes', str(size),
                                                   *self.words])['per_second']
        return {'per_second': rate, 'inserts': self.count()}  # the collection was made for this run

    def count(self):
        with pymongo.MongoClient(self.uri) as client:
            return client.perf.command('count', 'load')['n']


class BaseDefault(Mongod):
    """The base, with a commit every 100 ms."""

    name = 'base, default'
    selection, options = 'none', []


class BaseShort(BaseDefault):
    name = 'base, 2 ms'
    options = measuring.SHORT


class AnyMongod(Mongod):
    """A server that runs already; its own settings, j: true. Its data in database `perf` goes. One
    that is too old for today's drivers is asked as old ones did."""

    settings = 'j: true, its own settings'

    def __init__(self, folder, uri):
        super().__init__(folder)
        self.programs, self.uri, self.name = {}, uri, any_server.shown(uri)
        self.running = None  # while it is served

    @contextlib.contextmanager
    def serve(self):
        self.running = any_server.Running(self.uri)
        self.tools.old_wire = self.running.old_wire
        yield

    def count(self):
        return any_server.run_command(self.running, 'perf', {'count': 'load'})['n']
