#!/usr/bin/env python3
"""Copies every database of one server to another, through any versions of the two: collections with
their options, documents byte by byte, indexes by their definitions as they are. Then reads the copy
and compares documents and catalogues.

Usage: copy_databases.py [--database NAME]... FROM TO

FROM and TO are mongodb:// addresses. Nothing on FROM is changed; no client should write to it until
this is done. A collection that has documents on TO already is refused. What TO will not have as it
is (an option of an index that it does not know, an index of a kind that it does not have, a
document that it finds too deep) is named, and so is a collection that FROM cannot read to its end;
the rest is copied, and the exit code is 1 then. `local`, `config`, users, roles and profiles are
left out. Needs pymongo 3.11 or newer."""

import argparse
import sys

import pymongo
from pymongo import errors

from into_server import (LEFT_OUT, IntoServer, listed_collections, listed_indexes, raw)


class Copy(IntoServer):
    def __init__(self, source, target):
        super().__init__(target, 'copied', 'the same on both')
        self.source = source

    def databases(self, wanted):
        there = self.source.list_database_names()
        for name in wanted or sorted(set(there) - set(LEFT_OUT)):
            if name in LEFT_OUT:
                self.complain(name, 'it is of the server itself')
            elif name not in there:
                self.complain(name, 'there is no such database')
            else:
                self.database(name)
                self.close()

    def database(self, name):
        try:
            listed = listed_collections(self.source, name)
        except errors.OperationFailure as error:  # as of a damaged file
            self.complain(name, error)
            return
        counts = {}
        # What a view shows is there before it.
        for collection, options in sorted(
                listed.items(), key=lambda each: ('viewOn' in each[1], each[0])):
            try:
                if 'viewOn' in options:
                    self.take(name, collection, options, (), ())
                    continue
                counts[collection] = self.count(name, collection)
                self.take(name, collection, options, self.documents(name, collection),
                          listed_indexes(self.source, name, collection))
            except errors.OperationFailure as error:
                self.complain(name + '.' + collection, 'not all of it: %s' % error)
        self.look_again(name, listed, counts)

    def count(self, database, name):
        return self.source[database].command({'count': name})['n']

    def documents(self, database, name):
        """All, in their natural order; those before the first that cannot be read."""
        try:
            yield from raw(self.source, database, name).find().sort('$natural', 1)
        except errors.OperationFailure as error:
            self.complain(database + '.' + name, 'not all of it: %s' % error)

    def look_again(self, name, before, counts):
        """Names what has changed on the source since it was read."""
        now = listed_collections(self.source, name)
        for collection in sorted({*before, *now}):
            where = name + '.' + collection
            if collection not in now:
                self.complain(where, 'the source does not have it any more')
            elif collection not in before:
                self.complain(where, 'it came while the others were copied')
            elif collection in counts and self.count(name, collection) != counts[collection]:
                self.complain(where, 'the source had %d documents and has %d: something writes to '
                              'it' % (counts[collection], self.count(name, collection)))


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
            copy.databases(arguments.database)
    except (errors.PyMongoError, ValueError) as error:
        sys.exit('copy_databases.py: %s' % error)
    copy.leave('copy_databases.py', 'or not as they are')


if __name__ == '__main__':
    main()
