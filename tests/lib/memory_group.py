"""A control group with a limit of memory, pages of files included, for servers.

It lies below the one that this process is in. Needs a kernel and rights that allow that: as a rule
root, outside of a container."""

import itertools
import os
import pathlib

import server

NUMBERS = itertools.count()


class NoGroup(Exception):
    """None can be made here; the text says why."""


class Group:
    """Ends with close(), after its servers."""

    def __init__(self, limit_bytes):
        self.path = None
        parent, files = place()
        path = os.path.join(parent, 'mongod-dur-%d-%d' % (os.getpid(), next(NUMBERS)))
        try:
            os.mkdir(path)
            self.path = path
            self.limit_file, self.peak_file = (os.path.join(path, name) for name in files)
            self.write(self.limit_file, limit_bytes)
        except OSError as error:
            self.close()
            raise NoGroup('no control group can be made: %s' % error) from error

    @staticmethod
    def write(path, value):
        pathlib.Path(path).write_text('%d' % value, 'utf-8')

    def server(self, kind=server.Server):
        """A class of servers (server.py), of that kind, that run in the group from their first
        instruction on."""
        class Limited(kind):
            process_options = {**kind.process_options, 'preexec_fn': self.enter}
        return Limited

    def enter(self):
        self.write(os.path.join(self.path, 'cgroup.procs'), 0)

    def peak(self):
        """Bytes, or None where this kernel does not say."""
        try:
            return int(pathlib.Path(self.peak_file).read_text('utf-8'))
        except FileNotFoundError:
            return None

    def close(self):
        if self.path:
            os.rmdir(self.path)
            self.path = None


def place():
    """The folder of this process's group that limits memory, and the names of limit and peak."""
    with open('/proc/self/cgroup', encoding='ascii') as file:
        lines = [line.strip().split(':', 2) for line in file]
    for _, controllers, path in lines:
        if 'memory' in controllers.split(','):
            return '/sys/fs/cgroup/memory' + path, ('memory.limit_in_bytes',
                                                    'memory.max_usage_in_bytes')
    for number, _, path in lines:
        folder = '/sys/fs/cgroup' + path
        controls = os.path.join(folder, 'cgroup.subtree_control')
        if number == '0' and os.path.exists(controls):
            with open(controls, encoding='ascii') as file:
                if 'memory' in file.read().split():
                    return folder, ('memory.max', 'memory.peak')
    raise NoGroup('no control group here limits memory')
