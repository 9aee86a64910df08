#!/usr/bin/env python3
"""Restores a dump into a server: what `mongod --salvage` or mongodump has written, a folder for
each database with NAME.bson and NAME.metadata.json for each collection, or both with .gz behind.

Usage: restore_dump.py [--database NAME]... FOLDER [TO]

TO is a mongodb:// address, this machine's port 27017 without one. Collections get their options,
documents byte by byte, indexes. A collection that has documents already is refused. A file that
ends within a document is restored up to there; that, and what the server will not have, is named,
and the exit code is 1 then. `local`, `config` and system collections are left out, but for views,
that a salvage finds in system.views. Needs pymongo 3.11 or newer.
"""

import argparse
import gzip
import os
import sys
import urllib.parse
import zlib

import bson
import pymongo
from bson import json_util
from bson.raw_bson import RawBSONDocument
from pymongo import errors

from into_server import LEFT_OUT, IntoServer

SMALLEST_DOCUMENT = 5
ENDINGS = ('.bson', '.bson.gz')
METADATA = '.metadata.json'


def opened(path):
    return gzip.open(path) if path.endswith('.gz') else open(path, 'rb')


def metadata_of(path, packed):
    """Options and indexes of the collection whose files begin with `path`; {} without."""
    path += METADATA + packed
    if not os.path.exists(path):
        return {}
    with opened(path) as file:
        return json_util.loads(file.read().decode())


def databases_in(folder):
    """The names of its folders that have a dump of a collection."""
    return sorted(name for name in os.listdir(folder)
                  if os.path.isdir(os.path.join(folder, name)) and any(
                      file.endswith(ENDINGS) for file in os.listdir(os.path.join(folder, name))))


def documents_in(path, complain):
    """The documents of a .bson file, as bytes."""
    with opened(path) as file:
        try:
            while length := file.read(4):
                size = int.from_bytes(length, 'little')
                rest = file.read(size - 4) if size >= SMALLEST_DOCUMENT else b''
                if len(length) + len(rest) != size or not rest.endswith(b'\0'):
                    complain('the file ends within a document, or is damaged there, before byte %d'
                             % file.tell())
                    return
                yield length + rest
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            complain('the file is damaged before byte %d: %s' % (file.tell(), error))


class Restore(IntoServer):
    def __init__(self, target):
        super().__init__(target, 'restored')

    def database(self, folder, name):
        files = sorted(os.listdir(folder))
        for file in files:
            packed = '.gz' if file.endswith('.gz') else ''
            stem = file.removesuffix('.bson' + packed)
            collection = urllib.parse.unquote(stem)
            if stem != file and not collection.startswith('system.'):
                self.collection(os.path.join(folder, stem), packed, name, collection)
            elif stem != file and collection == 'system.views':
                self.views(os.path.join(folder, file), name)
            stem = file.removesuffix(METADATA + packed)
            if stem != file and stem + '.bson' + packed not in files:
                self.without_documents(os.path.join(folder, stem), packed, name)

    def views(self, path, database):
        """A salvaged database has them as documents (docs/old-data.md)."""
        where = database + '.system.views'
        for raw in documents_in(path, lambda text: self.complain(where, text)):
            try:
                view = bson.decode(raw)
                name = view['_id'].split('.', 1)[1]
                options = {'viewOn': view['viewOn'], 'pipeline': view['pipeline']}
            except (bson.errors.BSONError, KeyError, IndexError, AttributeError) as error:
                self.complain(where, 'a view: %s' % error)
                continue
            self.view(database, name, options)

    def without_documents(self, path, packed, database):
        """What mongodump writes of a view; of a collection, its documents are missing."""
        stem = os.path.basename(path)
        options = metadata_of(path, packed).get('options', {})
        name = urllib.parse.unquote(stem)
        if 'viewOn' in options:
            self.view(database, name, options)
        else:
            self.complain(database + '.' + name, 'there is no %s.bson%s' % (stem, packed))

    def view(self, database, name, options):
        known = len(self.complaints)
        self.make(database, name, options)
        if len(self.complaints) == known:
            print('%s.%s: a view of %s' % (database, name, options['viewOn']))

    def collection(self, path, packed, database, name):
        where = database + '.' + name
        metadata = metadata_of(path, packed)
        if not self.make(database, name, metadata.get('options', {})):
            return
        documents = documents_in(path + '.bson' + packed, lambda text: self.complain(where, text))
        sent = self.send(database, name, map(RawBSONDocument, documents))
        built = self.build(database, name, metadata.get('indexes', []))
        print('%s: %d documents, %d indexes' % (where, sent, built))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--database', action='append', metavar='NAME')
    parser.add_argument('folder', metavar='FOLDER')
    parser.add_argument('target', metavar='TO', nargs='?', default='mongodb://127.0.0.1:27017')
    arguments = parser.parse_args()
    try:
        names = databases_in(arguments.folder)
        wanted = arguments.database or [name for name in names if name not in LEFT_OUT]
        missing = sorted(set(wanted) - set(names))
        if missing or not wanted:
            sys.exit('restore_dump.py: there is no dump of a database %sin %s: a folder with '
                     'NAME.bson for each collection'
                     % (missing[0] + ' ' if missing else '', arguments.folder))
        with pymongo.MongoClient(arguments.target, serverSelectionTimeoutMS=5000) as client:
            restore = Restore(client)
            for name in wanted:
                restore.database(os.path.join(arguments.folder, name), name)
    except (errors.PyMongoError, ValueError, OSError) as error:
        sys.exit('restore_dump.py: %s' % error)
    restore.leave('restore_dump.py', 'or not wholly')


if __name__ == '__main__':
    main()
