"""What recorded conversations are made of: commands, and the fields of their answers with types."""

import datetime
import unittest

import case
import pymongo
from bson import Int64
from pymongo import errors

INT, LONG, DOUBLE, BOOL, TEXT, DATE = int, Int64, float, bool, str, datetime.datetime


class Conversation(unittest.TestCase):
    def setUp(self):
        self.client = self.enterContext(pymongo.MongoClient(case.URI))
        self.db = self.client[self.id().rsplit('.', 1)[-1][5:]]

    def has(self, document, **types):
        """The fields are there and have these types, dots in names written as __."""
        for path, kind in types.items():
            value = document
            for name in path.split('__'):
                self.assertIn(name, value, path)
                value = value[name]
            self.assertIs(type(value), kind, '%s: %r' % (path, value))

    def ok(self, db, command, **more):
        reply = self.client[db].command(command, **more)
        self.has(reply, ok=DOUBLE)
        return reply

    def code_of(self, db, command, **more):
        with self.assertRaises(errors.OperationFailure) as caught:
            self.client[db].command(command, **more)
        self.assertIsInstance(caught.exception.details['codeName'], str)
        return caught.exception.code

    def cursor_of(self, reply, ns, batch='firstBatch'):
        self.has(reply, cursor__id=LONG, cursor__ns=TEXT, **{'cursor__' + batch: list})
        self.assertEqual(reply['cursor']['ns'], ns)
        return reply['cursor']
