"""A network that is cut, one way or both ways, and a secondary that stops: what two are said
to have, both have; and all goes on afterwards."""

import random
import socket
import threading

from pymongo import errors

from test_concerns import AcknowledgedWriter, numbers_of, with_concern
from set_member import SECONDARY, wait_until
from sets import Case

IN, OUT = 'in', 'out'  # to the server, from it
CHUNK = 65536


class Wire:
    """In front of a server, by another address of this machine with the same port: passes bytes on,
    or holds them back as a network that is cut does, which no end notices."""

    def __init__(self, port):
        self.target = ('127.0.0.1', port)
        self.open = {IN: threading.Event(), OUT: threading.Event()}
        self.repair()
        self.listener = socket.create_server(('127.0.0.2', port))
        self.host = '127.0.0.2:%d' % port
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *ways):
        for way in ways:
            self.open[way].clear()

    def repair(self):
        for event in self.open.values():
            event.set()

    def end(self):
        self.repair()
        # Wakes the thread that accepts.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            server = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pass, args=(server, client, OUT), daemon=True).start()
        self._pass(client, server, IN)

    def _pass(self, source, target, way):
        try:
            while data := source.recv(CHUNK):
                self.open[way].wait()
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended


class Cuts(Case):
    def setUp(self):
        super().setUp()
        self.wire = None

    def config(self, version, primary=0, count=None):
        """Others reach the first member by the wire only."""
        if self.wire is None:
            self.wire = Wire(self.members[0].port)
            self.addCleanup(self.wire.end)
        config = super().config(version, primary, count)
        config['members'][0]['host'] = self.wire.host
        return config

    def test_no_write_counts_that_did_not_arrive(self):
        primary, (secondary,) = self.begin(2)
        for ways in ((IN,), (OUT,), (IN, OUT)):
            with_concern(primary, w=2, j=True).insert_one({'before': ways})
            self.wire.cut(*ways)
            # What the secondary has asked for before may still arrive; that it has it, may not.
            for concern in ({'w': 2}, {'w': 'majority'}):
                with self.assertRaises(errors.WTimeoutError):
                    with_concern(primary, wtimeout=100, **concern).insert_one({'during': ways})
            self.wire.repair()
            with_concern(primary, w=2, j=True).insert_one({'after': ways})
            self.wait_until_equal(secondary, primary)
        self.assertEqual(primary.client.test.first.count_documents({}), 1 + 3 * 4)

    def test_a_secondary_that_stops_is_waited_for(self):
        primary, (secondary,) = self.begin(2)
        secondary.halt()
        try:
            for _ in range(20):
                with self.assertRaises(errors.WTimeoutError):
                    with_concern(primary, w=2, wtimeout=20).insert_one({})
            with_concern(primary, w=1, j=True).insert_one({})
        finally:
            secondary.go_on()
        with_concern(primary, w=2, j=True).insert_one({})
        self.wait_until_equal(secondary, primary)

    def test_what_two_have_they_have_while_the_network_comes_and_goes(self):
        primary, (secondary,) = self.begin(2)
        writers = [AcknowledgedWriter(primary, number) for number in range(3)]
        for writer in writers:
            writer.start()
        rng = random.Random(primary.port)
        for step in range(12):
            self.wire.cut(*rng.choice(((IN,), (OUT,), (IN, OUT))))
            acknowledged = {number for writer in writers for number in list(writer.acknowledged)}
            self.assertEqual(set(), acknowledged - numbers_of(secondary))
            if step % 4 == 3:
                secondary.kill()
                secondary.start_again()
            self.wire.repair()
            self.wait_for_state(secondary, SECONDARY)
            wait_until('writes are acknowledged again', lambda: sum(
                len(writer.acknowledged) for writer in writers)
                > len(acknowledged) + 10)  # pylint: disable=cell-var-from-loop
        for writer in writers:
            writer.end()
        self.wait_until_equal(secondary, primary)
