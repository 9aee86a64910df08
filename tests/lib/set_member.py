"""A server that is a member of a replica set, for tests of several of these."""

import os
import signal
import time

import server

NOT_YET_INITIALIZED = 94
WAIT_SECONDS_MAX = 60  # only ends a wait that hangs
PRIMARY, SECONDARY, RECOVERING, STARTUP2, DOWN = 1, 2, 3, 5, 8
OPTIONS = ['--smallfiles', '--nssize', '1', '--noprealloc', '--nopreallocj', '--oplogSize', '32',
           '--replSet', 'rs0',
           # An idle set stays as it is.
           '--setParameter', 'writePeriodicNoops=false']
SETTINGS = {'heartbeatIntervalMillis': 100}  # of a configuration


def wait_until(what, condition):
    """Returns what the condition is then."""
    limit = time.monotonic() + WAIT_SECONDS_MAX
    while not (found := condition()):
        if time.monotonic() > limit:
            raise AssertionError('waited in vain: ' + what)
        time.sleep(0.01)
    return found


def become_primary(port):
    """Makes the server the primary of a set of one, also where it was that on another port."""
    import pymongo  # most members are asked by hand
    with pymongo.MongoClient('127.0.0.1', port, directConnection=True) as client:
        config = {'_id': 'rs0', 'version': int(time.time()),
                  'members': [{'_id': 0, 'host': '127.0.0.1:%d' % port}]}
        try:
            client.admin.command({'replSetReconfig': config, 'force': True})
        except pymongo.errors.OperationFailure as error:
            if error.code != NOT_YET_INITIALIZED:
                raise
            client.admin.command('replSetInitiate', {**config, 'version': 1})
        wait_until('a primary', lambda: client.admin.command('hello')['isWritablePrimary'])


class SetMember(server.Server):
    """One that can be started again, with its port."""

    @property
    def host(self):
        return '127.0.0.1:%d' % self.port

    def halt(self):
        """Returns once none of its threads runs any more."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def start_again(self):
        if not self._start():
            raise server.ServerError('another process has taken port %d' % self.port)
