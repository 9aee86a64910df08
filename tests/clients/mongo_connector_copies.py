"""mongo-connector 3.1.1, which copies a replica set into other systems by its log, beside a set of
one member: what was there before it came, and what is written while it runs.

The server was started with --replSet rs0; this client initiates it. The other system is the one in
memory that the package brings for its own tests."""

import collections
import collections.abc
import os
import time
import unittest

import case
import pymongo

# Where Pythons had it when the package was written.
collections.MutableSet = collections.abc.MutableSet

from mongo_connector.connector import Connector  # noqa: E402
from mongo_connector.doc_managers.doc_manager_simulator import DocManager  # noqa: E402

WAIT_SECONDS_MAX = 60  # only ends a test that would hang


class Copies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = '127.0.0.1:%d' % case.PORT
        cls.client = cls.enterClassContext(pymongo.MongoClient(cls.host))
        config = {'_id': 'rs0', 'members': [{'_id': 0, 'host': cls.host}]}
        cls.client.admin.command('replSetInitiate', config)

    def wait_for(self, documents, copy):
        limit = time.monotonic() + WAIT_SECONDS_MAX
        found = None
        while time.monotonic() < limit:
            found = sorted((document['_id'], document.get('a')) for document in copy._search())
            if found == documents:
                return
            time.sleep(0.05)
        self.fail('%r is not %r' % (found, documents))

    def test_what_is_there_and_what_comes(self):
        c = self.client.shop.c
        c.insert_many([{'_id': number, 'a': number} for number in range(4)])
        copy = DocManager()
        connector = Connector(
            mongo_address='mongodb://%s/?replicaSet=rs0' % self.host,
            oplog_checkpoint=os.path.join(os.environ['MONGOD_SCRATCH'], 'checkpoint'),
            doc_managers=[copy], ns_set=['shop.c'])
        connector.start()
        try:
            self.wait_for([(0, 0), (1, 1), (2, 2), (3, 3)], copy)
            c.insert_one({'_id': 9, 'a': 9})
            c.update_one({'_id': 1}, {'$inc': {'a': 10}})
            c.delete_one({'_id': 0})
            self.wait_for([(1, 11), (2, 2), (3, 3), (9, 9)], copy)
        finally:
            connector.join()


if __name__ == '__main__':
    case.main(Copies)
