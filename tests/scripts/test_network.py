"""Tests the network of namespaces with delays: perf/delay_router.c and tests/lib/network.py. Needs
root and TUN; without them it is skipped and says what is missing."""

import os
import socket
import subprocess
import sys
import unittest

import network
import server

PORT = 7000
IN_FLIGHT = 100  # datagrams that any receive buffer has room for
WAIT_SECONDS = 10  # only ends what hangs

# Sends every datagram back to where it came from, and says so.
ECHO = '''
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', %d))
print('up', flush=True)
while True:
    data, sender = s.recvfrom(100)
    s.sendto(data, sender)
    print('sent', flush=True)
''' % PORT


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.router = os.path.join(server.build('none', '', ['delay_router']), 'bin', 'delay_router')
        why = network.missing(cls.router)
        if why:
            raise unittest.SkipTest(why)

    def network(self, nodes):
        return self.enterContext(network.Network(self.router, nodes))

    def echo_in(self, net, node):
        """A socket of node 0 that speaks with a program in another one, and what this one says."""
        program = subprocess.Popen(net.command(node, [sys.executable, '-c', ECHO]),
                                   stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        program.stdout.readline()
        net.enter(0)
        speaks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(speaks.close)
        speaks.settimeout(WAIT_SECONDS)
        speaks.connect((network.address(node), PORT))
        return speaks, program.stdout

    def test_a_line_takes_as_long_as_it_shall_in_each_direction(self):
        net = self.network(3)
        net.set(0, 1, 20)
        net.set(1, 0, 5)
        net.set_both(0, 2, 40)
        net.enter(0)
        # Lower bounds alone: a busy machine adds to them.
        self.assertGreaterEqual(min(net.round_trips_ms(1, 3)), 25)
        self.assertGreaterEqual(min(net.round_trips_ms(2, 2)), 80)

    def test_nothing_is_lost_and_nothing_overtakes(self):
        net = self.network(2)
        speaks, _ = self.echo_in(net, 1)
        expected = 0
        for delays in ((0, 0), (3, 0), (0, 2), (1, 1)):
            for _ in range(10):
                for number in range(IN_FLIGHT):
                    if number == IN_FLIGHT // 2:
                        # A shorter delay in the middle: what is under way comes first.
                        net.set(0, 1, delays[0] / 2)
                    elif number == 0:
                        net.set(0, 1, delays[0])
                        net.set(1, 0, delays[1])
                    speaks.send(b'%d' % (expected + number))
                for number in range(IN_FLIGHT):
                    self.assertEqual(int(speaks.recv(100)), expected + number)
                expected += IN_FLIGHT

    def test_a_cut_takes_all_of_one_direction(self):
        net = self.network(2)
        speaks, said = self.echo_in(net, 1)
        for cut in ((0, 1), (1, 0)):
            net.set(*cut, None)
            speaks.send(b'lost')
            if cut == (1, 0):
                said.readline()
            net.set(*cut, 0)
            # Were the first one not lost, it would come before the second.
            speaks.send(b'found')
            self.assertEqual(speaks.recv(100), b'found')
            said.readline()
