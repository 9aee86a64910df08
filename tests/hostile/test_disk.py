"""Sorts and groups larger than memory: with allowDiskUse they use files, which no other user can
read and which go with whatever asked for them."""

import os
import stat
import tempfile
import threading
import time

import server
from hostile import ANSWER_SECONDS_MAX, Case, Connection, Refused
from test_sizes import aggregate

ROWS, ROW_BYTES = 1500, 100000  # more than one operation may hold
SORT = {'$sort': {'k': 1}}
GROUP = {'$group': {'_id': '$_id', 'k': {'$first': '$k'}, 's': {'$first': '$s'}}}


class Spilled(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with Connection(cls.server.port) as client:
            for begin in range(0, ROWS, 100):
                client.run({'insert': 'big', 'documents': [
                    {'_id': i, 'k': i * 7919 % 100, 's': 'x' * ROW_BYTES}
                    for i in range(begin, begin + 100)]})

    @classmethod
    def tearDownClass(cls):
        with Connection(cls.server.port) as client:
            client.run({'drop': 'big'})

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.server.dbpath, '_tmp')

    def files(self):
        """Names and modes of what lies in _tmp."""
        found = {}
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else []:
            try:
                found[name] = stat.S_IMODE(os.lstat(os.path.join(self.folder, name)).st_mode)
            except FileNotFoundError:
                pass
        return found

    def bytes_of_files(self):
        return sum(os.path.getsize(os.path.join(self.folder, name)) for name in self.files())

    def wait_for(self, condition, what):
        limit = time.monotonic() + ANSWER_SECONDS_MAX
        while not condition():
            self.assertLess(time.monotonic(), limit, what)
            time.sleep(0.005)

    def all_ids(self, command, client=None):
        client = client or self.client
        cursor = client.run(command)['cursor']
        ids = [row['_id'] for row in cursor['firstBatch']]
        while cursor['id']:
            cursor = client.run({'getMore': cursor['id'], 'collection': 'big'})['cursor']
            ids += [row['_id'] for row in cursor['nextBatch']]
        return ids

    def test_results_are_complete_and_in_order(self):
        by_k = sorted(range(ROWS), key=lambda i: i * 7919 % 100)
        for command in (aggregate('big', SORT, {'$project': {'k': 1}}, allowDiskUse=True),
                        aggregate('big', GROUP, SORT, {'$project': {'k': 1}}, allowDiskUse=True),
                        {'find': 'big', 'sort': {'k': 1, '_id': 1}, 'allowDiskUse': True,
                         'projection': {'k': 1}}):
            self.assertEqual(self.all_ids(command), by_k)
            self.assertEqual(self.files(), {})
        self.assertEqual(self.all_ids(aggregate('big', GROUP, allowDiskUse=True)),
                         list(range(ROWS)))

    def test_without_it_the_limit_stands(self):
        self.refused(292, aggregate('big', SORT, allowDiskUse=False))
        self.refused(292, aggregate('big', GROUP, allowDiskUse=False))
        self.refused(292, {'find': 'big', 'sort': {'k': 1}, 'allowDiskUse': False})
        self.assertEqual(self.files(), {})

    def test_files_belong_to_a_cursor(self):
        for end in ('read', 'kill'):
            with Connection(self.server.port) as client:
                cursor = client.run(aggregate('big', SORT, allowDiskUse=True))['cursor']
                files = self.files()
                self.assertTrue(files)
                self.assertEqual(set(files.values()), {0o600})
                if end == 'read':
                    while cursor['id']:
                        cursor = client.run({'getMore': cursor['id'],
                                             'collection': 'big'})['cursor']
                else:
                    self.client.run({'killCursors': 'big', 'cursors': [cursor['id']]})
            self.assertEqual(self.files(), {}, end)

    def test_an_error_takes_them_away(self):
        with self.assertRaises(Refused):
            self.all_ids(aggregate('big', {'$sort': {'k': -1}}, {'$project': {
                'x': {'$divide': [1, '$k']}, 's': 1}}, allowDiskUse=True))
        self.assertEqual(self.files(), {})

    def test_a_kill_takes_them_away(self):
        errors = []

        def sort():
            with Connection(self.server.port) as client:
                try:
                    client.run(aggregate('big', SORT, GROUP, {'$sort': {'s': 1, 'k': -1}}, GROUP,
                                         SORT, comment='to be killed', allowDiskUse=True))
                except Refused as error:
                    errors.append(error.code)

        thread = threading.Thread(target=sort)
        thread.start()
        self.wait_for(self.files, 'a file')
        for operation in self.client.run({'currentOp': 1}, 'admin')['inprog']:
            if operation.get('query', {}).get('comment') == 'to be killed':
                self.client.run({'killOp': 1, 'op': operation['opid']}, 'admin')
        thread.join()
        self.assertEqual(errors, [11601])
        self.assertEqual(self.files(), {})

    def test_the_disk_has_a_limit(self):
        self.set_parameter('memoryLimitMB', 128)
        larger = {'$project': {'k': 1, 's': {'$concat': ['$s'] * 15}}}
        for stage in (SORT, GROUP):
            error = self.refused(14031, aggregate('big', larger, stage, allowDiskUse=True))
            self.assertIn('memoryLimitMB', error.text)
            self.assertEqual(self.files(), {})

    def test_what_idle_cursors_keep_there(self):
        """Who leaves cursors behind, each with its sorted files, leaves half to the others."""
        sort = aggregate('big', SORT, allowDiskUse=True)
        with Connection(self.server.port) as hoarder:
            cursors = [hoarder.run(sort)['cursor']['id']]
            of_one = self.bytes_of_files()
            self.set_parameter('memoryLimitMB', 128)
            share = (128 << 20) * 16 // 2
            cursors += [hoarder.run(sort)['cursor']['id'] for _ in range(7)]
            self.assertLessEqual(self.bytes_of_files(), share)
            self.assertEqual(hoarder.count_readable(cursors, 'big'), share // of_one)
            hoarder.run({'killCursors': 'big', 'cursors': cursors})
        self.assertEqual(self.files(), {})

    def test_a_start_takes_away_what_a_crash_left(self):
        with tempfile.TemporaryDirectory(dir=os.path.dirname(self.server.dbpath)) as directory:
            dbpath = os.path.join(directory, 'db')
            with server.Server(self.server.program, dbpath, self.server.options) as first:
                with Connection(first.port) as client:
                    for begin in range(0, ROWS, 100):
                        client.run({'insert': 'big', 'documents': [
                            {'_id': i, 's': 'x' * ROW_BYTES} for i in range(begin, begin + 100)]})
                    client.run(aggregate('big', {'$sort': {'s': 1}}, allowDiskUse=True))
                first.kill()
            self.assertTrue(self.sort_files(dbpath))
            with server.Server(self.server.program, dbpath, self.server.options) as second:
                self.assertEqual(self.sort_files(dbpath), [])
                with Connection(second.port) as client:
                    client.run(aggregate('big', {'$sort': {'s': 1}}, allowDiskUse=True))
                    self.assertTrue(self.sort_files(dbpath))
                second.stop()
                self.assertEqual(self.sort_files(dbpath), [])

    @staticmethod
    def sort_files(dbpath):
        folder = os.path.join(dbpath, '_tmp')
        return [name for name in (os.listdir(folder) if os.path.isdir(folder) else [])
                if name.startswith('extsort.')]
