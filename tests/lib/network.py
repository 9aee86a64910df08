"""A network of machines that are namespaces of this one, with lines as slow as they shall be, by
perf/delay_router.c: for tests and measurements.

Node 0 has the address 10.77.0.1, node 1 10.77.0.2, and so on; each has its own 127.0.0.1 and its
own ports, and all have the files of this machine."""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import time

CLONE_NEWNET = 0x40000000
READY_SECONDS_MAX = 10  # only ends what hangs
ECHO, ECHO_ANSWER = 8, 0  # types of ICMP messages


class NetworkError(Exception):
    """The text says what is missing on this machine, or what the router has said."""


def address(node):
    return '10.77.0.%d' % (node + 1)


def missing(router):
    """Why there can be no such network here, in a sentence; empty where there can."""
    if shutil.which('nsenter') is None:
        return 'nsenter of util-linux is not here'
    try:
        with Network(router, 1):
            return ''
    except NetworkError as error:
        return str(error)


class Network:
    """The network of some nodes, whose lines have no delay at first. Use as a context manager: at
    the end its router goes, and no packet is carried any more."""

    def __init__(self, router, nodes):
        self._router = subprocess.Popen([router, str(nodes)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        words = self._router.stdout.readline().split()
        if words[:1] != ['ready']:
            said = self._router.communicate()[1].strip()
            raise NetworkError('%s (that needs root, namespaces and TUN)'
                               % (said or 'delay_router has ended'))
        self._namespaces = ['/proc/%d/fd/%s' % (self._router.pid, each) for each in words[1:]]
        self._home = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()
        self._router.stdin.close()
        try:
            self._router.wait(READY_SECONDS_MAX)
        finally:
            self._router.kill()
            self._router.wait()
            self._router.stdout.close()
            self._router.stderr.close()

    def tell(self, line):
        """A line of its input."""
        self._router.stdin.write(line + '\n')
        self._router.stdin.flush()
        if self._router.stdout.readline() != 'ok\n':
            raise NetworkError(self._router.stderr.read().strip())

    def set(self, from_node, to_node, milliseconds):
        """The delay of that direction for what is sent from now on; None cuts it."""
        self.tell('%d %d %s' % (from_node, to_node, 'cut' if milliseconds is None else
                                '%d' % round(milliseconds * 1000)))

    def set_both(self, one, other, milliseconds):
        """The delay of each direction, half the round trip."""
        self.set(one, other, milliseconds)
        self.set(other, one, milliseconds)

    def command(self, node, words):
        """The command that runs these words in a node; it is one process with them."""
        return ['nsenter', '--net=' + self._namespaces[node], '--', *words]

    def enter(self, node):
        """From now on this thread, and what it starts, is in a node."""
        if self._home is None:
            self._home = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        with open(self._namespaces[node], encoding='ascii') as namespace:
            _set_namespace(namespace.fileno())

    def round_trips_ms(self, node, count):
        """Of a line by itself, from the node that this thread has entered: echoes that the other
        node's kernel answers, one after the other."""
        found = []
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as echoes:
            echoes.settimeout(READY_SECONDS_MAX)
            for number in range(count):
                started = time.perf_counter()
                echoes.sendto(_echo(number), (address(node), 0))
                while True:
                    kind, answered = _kind_and_number(echoes.recv(1000))
                    if (kind, answered) == (ECHO_ANSWER, number):
                        break
                found.append(1e3 * (time.perf_counter() - started))
        return found

    def leave(self):
        """The thread that has entered a node is where it was before."""
        if self._home is not None:
            _set_namespace(self._home)
            os.close(self._home)
            self._home = None


def _echo(number):
    words = [ECHO << 8, 0, 0, number]  # the second one is the checksum
    total = sum(words)
    words[1] = ~(total + (total >> 16)) & 0xffff
    return struct.pack('>4H', *words)


def _kind_and_number(packet):
    """Of an ICMP message behind its IP header."""
    begin = 4 * (packet[0] & 15)
    kind, _, _, _, number = struct.unpack('>BBHHH', packet[begin:begin + 8])
    return kind, number


def _set_namespace(descriptor):
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise NetworkError('setns: ' + os.strerror(ctypes.get_errno()))
