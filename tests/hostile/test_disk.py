"""A sort that uses files and is killed; what else becomes of such files is in jstests/hostile/."""

import os

from hostile import Case, Connection
from test_sizes import aggregate

ROWS, ROW_BYTES = 1500, 100000  # more than one operation may hold
SORT = {'$sort': {'k': 1}}
GROUP = {'$group': {'_id': '$_id', 'k': {'$first': '$k'}, 's': {'$first': '$s'}}}


class Spilled(Case):
    def files(self):
        folder = os.path.join(self.server.dbpath, '_tmp')
        return os.listdir(folder) if os.path.isdir(folder) else []

    def test_a_kill_takes_its_files_away(self):
        for begin in range(0, ROWS, 100):
            self.client.run({'insert': 'big', 'documents': [
                {'_id': i, 'k': i * 7919 % 100, 's': 'x' * ROW_BYTES}
                for i in range(begin, begin + 100)]})
        with Connection(self.server.port) as client:
            client.start(aggregate('big', SORT, GROUP, {'$sort': {'s': 1, 'k': -1}}, GROUP, SORT,
                                   comment='to be killed', allowDiskUse=True))
            self.wait_until(self.files, 'a file')
            operation = self.find_operation('to be killed', 'comment')
            self.client.run({'killOp': 1, 'op': operation}, 'admin')
            self.refused(11601, client.finish)
        self.assertEqual(self.files(), [])
        self.client.run({'drop': 'big'})
