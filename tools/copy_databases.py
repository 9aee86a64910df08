#!/usr/bin/env python3
"""Copies every database of one server to another, through any versions of the two: collections with
their options, documents byte by byte, indexes. Then reads the copy and compares.

Usage: copy_databases.py [--database NAME]... FROM TO

FROM and TO are mongodb:// addresses. Nothing on FROM is changed; no client should write to it until
this is done. A collection that has documents on TO already is refused. What TO will not have (an
index of a kind that it does not know, a document that it finds too deep) is named, and so is a
collection that FROM cannot read to its end; the exit code is 1 then. `local`, `config`, users,
roles and profiles are left out. Needs pymongo 3.11 or newer.
"""

import argparse
import hashlib
import sys

import pymongo
from pymongo import errors

from into_server import LEFT_OUT, IntoServer, raw


class Content:
    """A checksum of documents that does not depend on their order, and how many there were."""

    def __init__(self):
        self.count, self.sum = 0, 0

    def add(self, raw):
        self.count += 1
        self.sum += int.from_bytes(hashlib.sha256(raw).digest(), 'big')

    def __eq__(self, other):
        return (self.count, self.sum) == (other.count, other.sum)


class Copy(IntoServer):
    def __init__(self, source, target):
        super().__init__(target, 'copied')
        self.source = source

    def database(self, name):
        for info in sorted(self.source[name].list_collections(), key=lambda info: info['name']):
            collection = info['name']
            if collection.startswith('system.'):
                continue
            try:
                self.collection(name, collection, info.get('options', {}))
            except errors.OperationFailure as error:  # as of a damaged file
                self.complain(name + '.' + collection, 'not all of it: %s' % error)

    def collection(self, database, name, options):
        if not self.make(database, name, options):
            return
        sent, arrived = Content(), Content()
        self.send(database, name, self.documents(database, name, sent))
        built = self.build(database, name, self.source[database][name].list_indexes())
        for document in raw(self.target, database, name).find():
            arrived.add(document.raw)
        where = database + '.' + name
        if arrived == sent:
            print('%s: %d documents, %d indexes, the same on both' % (where, sent.count, built))
        else:
            self.complain(where, '%d documents were sent, the target has %d, not all the same'
                          % (sent.count, arrived.count))

    def documents(self, database, name, sent):
        """All, in their natural order; `sent` gets each."""
        for document in raw(self.source, database, name).find().sort('$natural', 1):
            sent.add(document.raw)
            yield document


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--database', action='append', metavar='NAME')
    parser.add_argument('source', metavar='FROM')
    parser.add_argument('target', metavar='TO')
    arguments = parser.parse_args()
    try:
        with pymongo.MongoClient(arguments.source, serverSelectionTimeoutMS=5000) as source, \
                pymongo.MongoClient(arguments.target, serverSelectionTimeoutMS=5000) as target:
            copy = Copy(source, target)
            for name in arguments.database or sorted(source.list_database_names()):
                if name not in LEFT_OUT:
                    copy.database(name)
    except (errors.PyMongoError, ValueError) as error:
        sys.exit('copy_databases.py: %s' % error)
    copy.leave('copy_databases.py', 'or not as they are')


if __name__ == '__main__':
    main()
