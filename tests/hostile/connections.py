"""Connections that claim, stall, break off or wait: they cost little, and nobody else anything."""

import struct
import time

from hostile import (ANSWER_SECONDS_MAX, OP_DELETE, OP_GET_MORE, OP_INSERT, OP_KILL_CURSORS, OP_MSG,
                     OP_QUERY, OP_UPDATE, Case, Connection, Refused, Witness, memory_bytes,
                     thread_count)

CLAIMED_BYTES = 48000000
BODIES = [b'', struct.pack('<I', 0xffff), struct.pack('<IBi', 0, 0, -5),
          struct.pack('<IBi', 0, 0, 2 ** 31 - 1), struct.pack('<IBi', 0, 1, -1),
          struct.pack('<IBi', 0, 1, 2 ** 31 - 1) + b'a\0', struct.pack('<IBi', 0, 1, 6) + b'a\0',
          b'\0' * 30, b'\xff' * 40, struct.pack('<i', 0) + b'a.b\0' + struct.pack('<i', -1)]


class Framing(Case):
    def test_lying_lengths(self):
        with Witness(self.server) as witness:
            for opcode in (1, 1000, OP_UPDATE, OP_INSERT, 2003, OP_QUERY, OP_GET_MORE, OP_DELETE,
                           OP_KILL_CURSORS, 2010, 2011, 2012, OP_MSG, 0, -1):
                for body in BODIES:
                    with Connection(self.server.port) as client:
                        client.send(opcode, body)
                        try:
                            client.socket.shutdown(1)
                            client.receive()
                        except (OSError, ConnectionError, struct.error):
                            pass
            for length in (-1, 0, 15, 16, CLAIMED_BYTES, CLAIMED_BYTES + 1, 2 ** 31 - 1, -2 ** 31):
                with Connection(self.server.port) as client:
                    client.send(OP_MSG, b'', length)
        self.check_witness(witness)

    def test_claims_cost_nothing(self):
        before = memory_bytes(self.server.pid)
        claims = [Connection(self.server.port) for _ in range(300)]
        with Witness(self.server) as witness:
            for claim in claims:
                claim.send(OP_MSG, b'x' * 1000, CLAIMED_BYTES)
            limit = time.monotonic() + ANSWER_SECONDS_MAX
            while witness.asked < 20 and time.monotonic() < limit:
                time.sleep(0.01)
        self.check_witness(witness)
        self.assertLess(memory_bytes(self.server.pid) - before, 200 << 20)
        for claim in claims:
            claim.close()

    def test_half_open(self):
        waiting = []
        with Witness(self.server) as witness:
            for i in range(800):
                waiting.append(Connection(self.server.port))
                waiting[-1].socket.sendall(struct.pack('<iiii', 100, 1, 0, OP_MSG)[:i % 16])
        self.check_witness(witness)
        for each in waiting:
            each.close()


class Blocked(Case):
    def test_writers_while_the_server_is_locked(self):
        """They wait, cost few threads, and all get their answers."""
        idle = thread_count(self.server.pid)
        self.client.run({'fsync': 1, 'lock': True}, 'admin')
        writers = [Connection(self.server.port) for _ in range(400)]
        try:
            with Witness(self.server) as witness:
                for i, writer in enumerate(writers):
                    writer.start({'insert': 'blocked', 'documents': [{'_id': i}]})
                limit = time.monotonic() + ANSWER_SECONDS_MAX
                while witness.asked < 50 and time.monotonic() < limit:
                    time.sleep(0.01)
                self.assertLess(thread_count(self.server.pid) - idle, 100)
            self.check_witness(witness)
        finally:
            self.client.run({'fsyncUnlock': 1}, 'admin')
        for writer in writers:
            writer.finish()
            writer.close()
        self.assertEqual(self.client.run({'count': 'blocked'})['n'], len(writers))

    def test_clients_that_do_not_read(self):
        readers = [Connection(self.server.port) for _ in range(30)]
        with Witness(self.server) as witness:
            for reader in readers:
                for _ in range(3):
                    reader.start({'find': 'long'})
            limit = time.monotonic() + ANSWER_SECONDS_MAX
            while witness.asked < 20 and time.monotonic() < limit:
                time.sleep(0.01)
        self.check_witness(witness)
        for reader in readers:
            reader.close()
        with self.assertRaises(Refused):
            self.client.run({'getMore': 1, 'collection': 'long'})
