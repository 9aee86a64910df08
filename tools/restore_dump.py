#!/usr/bin/env python3
"""Restores a dump into a server: what `mongod --salvage` or mongodump has written, a folder for
each database with NAME.bson and NAME.metadata.json for each collection, or both with .gz behind.

Usage: restore_dump.py [--database NAME]... FOLDER [TO]

TO is a mongodb:// address, this machine's port 27017 without one. Collections get their options,
documents byte by byte, indexes by their definitions as they are; then documents and catalogue are
compared with the dump. A collection that has documents already is refused. A file that ends within
a document is restored up to there; that, and what the server will not have as it is, is named, the
rest is restored, and the exit code is 1 then. Without metadata, as in dumps up to 2.0, options and
indexes are those of system.namespaces.bson and system.indexes.bson. `local`, `config` and system
collections but system.js are left out, and so is oplog.bson; views that a salvage finds in
system.views are made, and so are the roles of admin.system.roles. Needs pymongo 3.11 or newer."""

import argparse
import functools
import gzip
import os
import sys
import urllib.parse
import zlib

import bson
import pymongo
from bson.raw_bson import RawBSONDocument
from pymongo import errors

import definitions
import shell_json
from into_server import LEFT_OUT, REFUSALS, IntoServer, is_of_the_server

SMALLEST_DOCUMENT = 5
ENDINGS = ('.bson', '.bson.gz')
METADATA = '.metadata.json'


def opened(path):
    return gzip.open(path) if path.endswith('.gz') else open(path, 'rb')


def documents_in(path, complain):
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


def after_dot(name):
    """The collection of a namespace; the database may be called otherwise now."""
    return name.partition('.')[2] if isinstance(name, str) else ''


class Restore(IntoServer):
    def __init__(self, target):
        super().__init__(target, 'restored', 'as in the dump')

    def database(self, folder, name):
        files = sorted(os.listdir(folder))
        old = OldCatalogue(folder, files, name, self.complain)
        for file in files:
            packed = '.gz' if file.endswith('.gz') else ''
            stem = file.removesuffix('.bson' + packed)
            collection = urllib.parse.unquote(stem)
            if stem != file and not is_of_the_server(collection):
                self.collection(os.path.join(folder, stem), packed, name, collection, old)
            elif stem != file and collection == 'system.views':
                self.views(os.path.join(folder, file), name)
            elif stem != file and (name, collection) == ('admin', 'system.roles'):
                self.roles(os.path.join(folder, file))
            stem = file.removesuffix(METADATA + packed)
            if stem != file and stem + '.bson' + packed not in files:
                self.without_documents(os.path.join(folder, stem), packed, name)
        old.name_others(files)
        self.close()

    def metadata_of(self, path, packed, where):
        """What the file beside the documents says; None where there is none, or none to read."""
        path += METADATA + packed
        if not os.path.exists(path):
            return None
        try:
            with opened(path) as file:
                metadata = shell_json.loads(file.read().decode('utf-8-sig'))
            if not isinstance(metadata, dict) \
                    or not isinstance(metadata.get('options') or {}, dict) \
                    or not isinstance(metadata.get('indexes') or [], list):
                raise ValueError('it is no document with options and indexes')
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.complain(where, 'what %s says: %s' % (os.path.basename(path), error), 'metadata')
            return None
        return metadata

    def views(self, path, database):
        """A salvaged database has them as documents (docs/operating.md)."""
        where = database + '.system.views'
        for raw in documents_in(path, lambda text: self.complain(where, text)):
            try:
                view = bson.decode(raw)
                name = view['_id'].split('.', 1)[1]
                options = {'viewOn': view['viewOn'], 'pipeline': view['pipeline']}
            except (bson.errors.BSONError, KeyError, IndexError, AttributeError) as error:
                self.complain(where, 'a view: %s' % error)
                continue
            if 'collation' in view:
                options['collation'] = view['collation']
            self.take(database, name, options, (), ())

    def roles(self, path):
        where = 'admin.system.roles'  # which may have each other
        found = list(map(bson.decode, documents_in(path, functools.partial(self.complain, where))))
        for command in ('createRole', 'updateRole'):
            for role in list(found):
                try:
                    self.target[role['db']].command({
                        command: role['role'], 'privileges': role['privileges'],
                        'roles': role['roles'] if command == 'updateRole' else []})
                except (KeyError, TypeError, *REFUSALS) as error:
                    found.remove(role)
                    self.complain(where, 'a role: %s' % definitions.short(error))

    def without_documents(self, path, packed, database):
        """What mongodump writes of a view; of a collection, its documents are missing."""
        stem = os.path.basename(path)
        where = database + '.' + urllib.parse.unquote(stem)
        metadata = self.metadata_of(path, packed, where) or {}
        options = metadata.get('options') or {}
        name = metadata.get('collectionName', urllib.parse.unquote(stem))
        if 'viewOn' in options:
            self.take(database, name, options, (), ())
        else:
            self.complain(where, 'there is no %s.bson%s' % (stem, packed))

    def collection(self, path, packed, database, name, old):
        metadata = self.metadata_of(path, packed, database + '.' + name)
        # Where the name of the file is cut short.
        called = (metadata or {}).get('collectionName', name)
        where = database + '.' + called
        if metadata is None:
            options, indexes = old.options(name), old.indexes(name)
        else:
            options, indexes = metadata.get('options') or {}, metadata.get('indexes')
            if indexes is None:
                indexes = old.indexes(name)
        documents = documents_in(path + '.bson' + packed, lambda text: self.complain(where, text))
        if 'viewOn' in options and next(documents, None) is not None:
            self.complain(where, 'a view has no documents of its own: those of the dump')
        self.take(database, called, options, map(RawBSONDocument, documents), indexes)


class OldCatalogue:
    """What a dump has of the catalogue as documents: up to 2.0 all that it has of it."""

    def __init__(self, folder, files, database, complain):
        self.complain, self.database = complain, database
        self.by_collection = {'system.namespaces': {}, 'system.indexes': {}}
        for kind, field in (('system.namespaces', 'name'), ('system.indexes', 'ns')):
            where = '%s.%s' % (database, kind)
            for file in files:
                if file not in (kind + '.bson', kind + '.bson.gz'):
                    continue
                for data in documents_in(os.path.join(folder, file),
                                         functools.partial(complain, where)):
                    try:
                        document = RawBSONDocument(data)
                        collection = after_dot(document.get(field))
                    except bson.errors.BSONError as error:
                        complain(where, 'a document: %s' % error)
                        continue
                    if not collection:
                        complain(where, 'a document says of no collection what it has')
                        continue
                    self.by_collection[kind].setdefault(collection, []).append(document)

    def options(self, name):
        for document in self.by_collection['system.namespaces'].get(name, []):
            options = document.get('options')
            return dict(options.items()) if hasattr(options, 'items') else {}
        return {}

    def indexes(self, name):
        return self.by_collection['system.indexes'].get(name, [])

    def name_others(self, files):
        """Collections whose indexes are there, and nothing else."""
        stems = {urllib.parse.unquote(file.removesuffix('.gz').removesuffix('.bson'))
                 .removesuffix(METADATA) for file in files}
        for name in sorted(set(self.by_collection['system.indexes']) - stems):
            if not is_of_the_server(name):
                self.complain('%s.%s' % (self.database, name),
                              'there is no %s.bson' % urllib.parse.quote(name, safe=''))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--database', action='append', metavar='NAME')
    parser.add_argument('folder', metavar='FOLDER')
    parser.add_argument('target', metavar='TO', nargs='?', default='mongodb://127.0.0.1:27017')
    arguments = parser.parse_args()
    try:
        names = sorted(name for name in os.listdir(arguments.folder)
                       if os.path.isdir(os.path.join(arguments.folder, name))
                       and any(file.endswith(ENDINGS)
                               for file in os.listdir(os.path.join(arguments.folder, name))))
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
    except (bson.errors.BSONError, errors.PyMongoError, ValueError, OSError) as error:
        sys.exit('restore_dump.py: %s' % error)
    restore.leave('restore_dump.py', 'or not wholly')


if __name__ == '__main__':
    main()
