"""mongod --salvage: what it writes, restored as mongorestore does, is what was there."""

import contextlib
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import bson
import directories
import pymongo
import server
from bson import json_util

SECONDS_MAX = 120  # only ends what hangs
WHOLE, DAMAGED, REFUSED, BAD_OPTIONS = 0, 1, 100, 2


def run(program, dbpath, out, options=()):
    """(exit code, what it printed, what it complained of)"""
    done = subprocess.run([program, '--dbpath', dbpath, '--salvage', out] + list(options),
                          capture_output=True, timeout=SECONDS_MAX,
                          env=dict(os.environ, **server.SANITIZER_ENVIRONMENT))
    return (done.returncode, done.stdout.decode(errors='replace'),
            done.stderr.decode(errors='replace'))


def read(out):
    """{namespace: (documents as bytes, metadata)} of a dump; fails on what is no dump."""
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(out), '*', '*.bson'))):
        folder, name = os.path.split(path[:-len('.bson')])
        with open(path, 'rb') as file:
            documents = [each.raw for each in bson.decode_file_iter(
                file, bson.CodecOptions(document_class=bson.raw_bson.RawBSONDocument))]
        with open(path[:-len('.bson')] + '.metadata.json', encoding='utf-8') as file:
            metadata = json_util.loads(file.read())
        found['%s.%s' % (os.path.basename(folder), urllib.parse.unquote(name))] = (documents,
                                                                                   metadata)
    return found


def restore(client, dump):
    for ns, (documents, metadata) in dump.items():
        name, _, collection = ns.partition('.')
        if name == 'local':
            continue
        client[name].command('create', collection, **metadata['options'])
        for start in range(0, len(documents), 500):
            client[name][collection].insert_many(
                [bson.raw_bson.RawBSONDocument(each) for each in documents[start:start + 500]])
        others = [dict(index, ns=ns) for index in metadata['indexes'] if index['name'] != '_id_']
        if others:
            client[name].command('createIndexes', collection, indexes=others)


def stamps(path):
    return {each: (os.stat(each).st_size, os.stat(each).st_mtime_ns)
            for folder, folders, files in os.walk(path)
            for each in [folder] + [os.path.join(folder, name) for name in files]}


class Salvage(unittest.TestCase):
    program = None
    whole = []  # directories

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix='salvage-'))
        self.out = os.path.join(self.folder, 'out')

    def salvage(self, dbpath, *options):
        before = stamps(dbpath)
        answer = run(self.program, dbpath, self.out, options)
        self.assertEqual(stamps(dbpath), before, 'the dbpath was changed')
        return answer

    def refusal(self, dbpath, code, *options):
        got, text, complaint = self.salvage(dbpath, *options)
        self.assertEqual(got, code, text + complaint)
        return complaint

    def compare(self, got, expected):
        self.assertEqual(sorted(got), sorted(expected))
        for ns, (documents, indexes, options) in expected.items():
            with self.subTest(ns):
                # Free space is used again first, so the order may be another.
                self.assertEqual(sorted(got[ns][0]), sorted(documents))
                self.assertEqual(got[ns][1], indexes)
                self.assertEqual(got[ns][2], options)

    def test_it_is_restored_without_foreign_tools(self):
        directory = self.whole[0]
        self.salvage(directory.path, *directory.options)
        command = [sys.executable, os.path.join(server.TOP, 'tools', 'restore_dump.py')]
        with server.Server(self.program, os.path.join(self.folder, 'new'),
                           directories.OPTIONS) as running, \
                pymongo.MongoClient(running.uri) as client:
            for code, said in ((0, 'one.c: '), (1, 'NOT RESTORED  one.c: it has documents')):
                done = subprocess.run([*command, self.out, running.uri], timeout=SECONDS_MAX,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertIn(said, done.stdout)
            restored = directories.contents(client)
        for ns, (documents, indexes, _) in directory.expected.items():
            with self.subTest(ns):
                self.assertEqual(sorted(restored[ns][0]), sorted(documents))
                self.assertEqual(sorted(restored[ns][1]), sorted(indexes))

    def restored(self, dump):
        with server.Server(self.program, os.path.join(self.folder, 'new'),
                           directories.OPTIONS) as running, \
                pymongo.MongoClient(running.uri) as client:
            restore(client, dump)
            return directories.contents(client)

    def test_what_is_restored_is_what_was_there(self):
        for directory in self.whole:
            with self.subTest(directory.name):
                code, text, _ = self.salvage(directory.path, *directory.options)
                self.assertEqual(code, WHOLE, text)
                self.assertIn('nothing is damaged', text)
                dump = read(self.out)
                for ns, (documents, _, _) in directory.expected.items():
                    self.assertEqual(dump[ns][0], documents, ns)
                self.compare(self.restored(dump), directory.expected)
                subprocess.run(['rm', '-r', self.out, os.path.join(self.folder, 'new')], check=True)

    def test_a_lost_namespace_file_costs_nothing_but_options(self):
        directory = self.whole[0]
        damaged = os.path.join(self.folder, 'db')
        directories.copy(directory.path, damaged)
        os.remove(os.path.join(damaged, 'one.ns'))
        code, text, _ = self.salvage(damaged, *directory.options)
        self.assertEqual(code, DAMAGED)
        self.assertIn('one.ns at 0x0: the namespace file is missing', text)
        dump = read(self.out)
        for ns, (documents, indexes, _) in directory.expected.items():
            if ns == 'one.after':
                continue  # the extents of a renamed collection keep its first name
            self.assertEqual(sorted(dump.get(ns, ([],))[0]), sorted(documents), ns)
            if ns in dump:
                self.assertEqual(sorted(index['name'] for index in dump[ns][1]['indexes']),
                                 sorted(indexes), ns)
        self.restored(dump)

    def test_damaged_pages_cost_only_what_lies_in_them(self):
        directory = self.whole[0]
        damaged = os.path.join(self.folder, 'db')
        directories.copy(directory.path, damaged)
        with open(os.path.join(damaged, 'one.0'), 'r+b') as file:
            at = file.read().index(b'x' * 120)  # in a document of one.c, or in its index
            file.seek(at // 4096 * 4096)
            file.write(bytes(4096))
        code, text, _ = self.salvage(damaged, *directory.options)
        self.assertEqual(code, DAMAGED)
        self.assertRegex(text, r'one\.0 at 0x[0-9a-f]+: ')
        dump = read(self.out)
        for ns, (documents, _, _) in directory.expected.items():
            lost = set(documents) - set(dump[ns][0])
            self.assertLessEqual(len(lost), 4096 // 50 if ns == 'one.c' else 0, ns)
            self.assertLessEqual(set(dump[ns][0]), set(documents), ns)
        self.assertEqual(sorted(self.restored(dump)), sorted(directory.expected))

    def test_other_directories_are_refused_for_the_output(self):
        path = self.whole[0].path
        options = self.whole[0].options
        os.makedirs(self.out)
        pathlib.Path(os.path.join(self.out, 'theirs')).write_text('theirs', 'utf-8')
        self.assertIn('is not empty', self.refusal(path, REFUSED, *options))
        self.out = os.path.join(self.out, 'theirs')
        self.assertIn('no directory', self.refusal(path, REFUSED, *options))
        for inside in ('', 'out', 'journal/../out'):
            self.out = os.path.join(path, inside)
            self.assertIn('lies in the dbpath', self.refusal(path, BAD_OPTIONS, *options))
        self.out = os.path.join(self.folder, 'nowhere', 'out')
        self.assertIn('nowhere/out', self.refusal(path, REFUSED, *options))

    def test_a_directory_in_use_is_refused(self):
        with server.Server(self.program, os.path.join(self.folder, 'db'),
                           directories.OPTIONS) as running:
            code, _, complaint = run(self.program, running.dbpath, self.out)
        self.assertEqual(code, REFUSED)
        self.assertIn('a server runs on', complaint)
        self.assertFalse(os.path.exists(self.out))

    def test_what_is_no_data_directory_is_refused(self):
        self.assertIn('does not exist', run(self.program, self.folder + '/no', self.out)[2])
        os.makedirs(os.path.join(self.folder, 'bare'))
        self.assertIn('no data file', self.refusal(os.path.join(self.folder, 'bare'), REFUSED))
        self.assertIn('--directoryperdb', self.refusal(self.whole[1].path, REFUSED))
        for other in ('--repair', '--upgrade', '--shutdown'):
            self.assertIn('--salvage together with',
                          self.refusal(self.whole[0].path, BAD_OPTIONS, other))

    def test_an_error_about_a_damaged_file_names_the_command(self):
        def cut(name, length):
            os.truncate(os.path.join(path, name), length)

        def overwrite(name, at):
            with open(os.path.join(path, name), 'r+b') as file:
                file.seek(at)
                file.write(b'\x55' * 64)

        path = os.path.join(self.folder, 'a directory')
        for fixture, damage in (('mmapv1-2.6-clean', lambda: cut('shop.0', 3 << 20)),
                                ('mmapv1-2.6-clean', lambda: cut('shop.0', 0)),
                                ('mmapv1-2.6-clean', lambda: cut('shop.ns', 12345)),
                                ('mmapv1-2.6-clean', lambda: overwrite('shop.0', 0)),
                                ('mmapv1-2.6-powercut', lambda: overwrite('journal/j._0', 0)),
                                ('mmapv1-2.6-powercut', lambda: overwrite('journal/j._0', 8192))):
            directories.unpack(fixture + '.tar.xz', path)
            damage()
            with contextlib.suppress(server.ServerError), \
                    server.Server(self.program, path, directories.OPTIONS) as running, \
                    pymongo.MongoClient(running.uri) as client, \
                    self.assertRaisesRegex(pymongo.errors.OperationFailure, '--salvage'):
                client.shop.orders.find_one()
            log = pathlib.Path(path + '.log').read_text('utf-8')
            named = re.findall(r'; with the server stopped, (mongod .*) writes what can be read',
                               log)
            self.assertTrue(named, log)
            command = shlex.split(named[-1].replace('NEW_DIRECTORY', shlex.quote(self.out)))
            done = subprocess.run([self.program, *command[1:]], timeout=SECONDS_MAX,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertIn(done.returncode, (WHOLE, DAMAGED), done.stdout)
            self.assertTrue(read(self.out))
            shutil.rmtree(path)
            shutil.rmtree(self.out)
            os.remove(path + '.log')

    def test_a_journal_is_left_alone_and_spoken_of(self):
        path = os.path.join(self.folder, 'db')
        directories.unpack('mmapv1-2.6-powercut.tar.xz', path)
        code, text, _ = self.salvage(path)
        self.assertIn(code, (WHOLE, DAMAGED))
        self.assertIn('They are not replayed here', text)
        self.assertTrue(os.path.exists(os.path.join(path, 'journal', 'j._0')))

    def test_metadata_is_plain_extended_json(self):
        directory = self.whole[0]
        self.salvage(directory.path, *directory.options)
        with open(os.path.join(self.out, 'one', 'ring.metadata.json'), encoding='utf-8') as file:
            metadata = json.load(file)
        self.assertEqual(metadata['options']['capped'], True)
        self.assertEqual(metadata['collectionName'], 'ring')
        self.assertEqual([index['name'] for index in metadata['indexes']], ['_id_'])
        self.assertTrue(os.path.exists(os.path.join(self.out, 'one', 'odd%2Fna me%25.bson')))
