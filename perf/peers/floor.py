"""Our server behind the client that costs least, and below it what no server can do without."""

import contextlib
import os

import measuring

from peers.mongod import Mongod, socket_uri
from peers.peer import running


class RawMongod(Mongod):
    name = Mongod.name + ', raw client'
    words = ['--raw']


class Floor(RawMongod):
    """perf/floor_server.c."""

    name, settings = 'floor, raw client', 'receives, writes with O_DSYNC, answers'

    def __init__(self, folder):
        super().__init__(folder)
        self.programs = {}

    @contextlib.contextmanager
    def serve(self):
        with self.folders():
            path = os.path.join(self.sockets, 'mongodb-0.sock')
            with running([os.path.join(measuring.programs(), 'floor_server'), path,
                          os.path.join(self.data, 'written')], ['test', '-S', path],
                         self.data + '.log') as server:
                self.pid, self.uri = server.pid, socket_uri(self.sockets, 0)
                yield
