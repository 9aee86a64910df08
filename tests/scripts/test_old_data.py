"""./lab check, salvage, restore and copy: what their words become."""

import os
from unittest import mock

from bare import Bare
from lab import base


class OldData(Bare):
    def setUp(self):
        super().setUp()
        self.python = os.path.join(self.folder, 'python')
        self.mongod = os.path.join(self.folder, 'mongod')
        self.plain, self.folders = (os.path.join(self.folder, name) for name in 'pf')
        os.makedirs(self.plain)
        os.makedirs(os.path.join(self.folders, 'shop'))
        for path in (os.path.join(self.plain, 'shop.ns'),
                     os.path.join(self.folders, 'shop', 'shop.ns')):
            with open(path, 'w', encoding='ascii'):
                pass
        for patch in (mock.patch('lab.needs.compiler'), mock.patch('lab.needs.begin'),
                      mock.patch('lab.install.drivers'), mock.patch('lab.selections.build'),
                      mock.patch('lab.selections.program', lambda _, name: '/bin of/' + name),
                      mock.patch.object(base, 'DRIVER_PYTHON', self.python)):
            patch.start()
            self.addCleanup(patch.stop)

    def became(self, *words):
        code, said = self.lab(*words)
        self.assertEqual(code, 0, said)
        return said.split('became ')[1].strip()

    def test_check_and_salvage(self):
        self.assertEqual(self.became('check', self.plain, '--quiet'),
                         '/bin of/dbpath_check %s --quiet' % self.plain)
        self.assertEqual(self.became('salvage', self.plain, 'out'),
                         '/bin of/mongod --dbpath %s --salvage out' % self.plain)

    def test_a_folder_for_each_database_is_noticed(self):
        self.assertEqual(self.became('check', self.folders),
                         '/bin of/dbpath_check %s --directoryperdb' % self.folders)
        for words in ((), ('--directoryperdb',)):
            self.assertEqual(self.became('salvage', self.folders, 'out', *words),
                             '/bin of/mongod --dbpath %s --salvage out --directoryperdb'
                             % self.folders)

    def test_what_is_missing_is_said(self):
        for words, code, text in ((('salvage', '/nowhere', 'out'), 1, 'no directory'),
                                  (('check', '/nowhere'), 1, 'no directory'),
                                  (('salvage', self.plain), 2, 'a new one for what can be read'),
                                  (('check',), 2, './lab check DIR'),
                                  (('restore',), 2, './lab restore'),
                                  (('restore', '/nowhere'), 1, "no folder '/nowhere'"),
                                  (('restore', self.plain, 'b'), 1, "'b' is no address"),
                                  (('restore', '--nosuch', self.plain), 1, '--database'),
                                  (('copy', 'a', 'mongodb://b'), 1, "no directory 'a'"),
                                  (('copy', 'mongodb://a', 'b'), 1, "'b' is no address"),
                                  (('copy',), 2, './lab copy'),
                                  (('copy', self.plain), 2, 'required: TO'),
                                  (('copy', '/nowhere', 'mongodb://b'), 1, 'no directory'),
                                  (('copy', self.folder, 'mongodb://b'), 1, 'no database'),
                                  (('copy', 'mongodb://a', self.plain), 1, 'a directory; '),
                                  (('copy', '--nosuch', 'a', 'b'), 1, '--database')):
            got, said = self.lab(*words)
            self.assertEqual((got, text in said), (code, True), said)

    def test_files_of_another_engine_are_refused_by_its_name(self):
        with open(os.path.join(self.plain, 'storage.bson'), 'wb') as file:
            file.write(b'\x33\0\0\0\x03storage\0\x26\0\0\0\x02engine\0\x08\0\0\0rocksdb\0'
                       b'\x03options\0\5\0\0\0\0\0\0')
        for words in (('check', self.plain), ('salvage', self.plain, 'out'),
                      ('copy', self.plain, 'mongodb://b')):
            code, said = self.lab(*words)
            self.assertEqual(code, 1, said)
            self.assertIn('--storageEngine rocksdb', said)

    def test_restore_and_copy_of_servers(self):
        self.assertRegex(self.became('restore', self.plain), '^%s .*restore_dump.py %s$'
                         % (self.python, self.plain))
        self.assertRegex(self.became('copy', 'mongodb://a', 'mongodb://b'),
                         '^%s .*copy_databases.py mongodb://a mongodb://b$' % self.python)

    def copy(self, mongod, *words):
        with mock.patch('lab.selections.program', return_value=self.mongod):
            self.script(self.mongod, mongod)
            return self.lab('copy', *words)

    def test_a_directory_is_served_while_it_is_copied(self):
        notes = '#!/bin/sh\necho "${0##*/} $*" >> "$NOTES"\nexit %d\n'
        self.script(self.python, notes % 3)
        code, said = self.copy(notes % 0, '--database', 'shop', self.folders, 'mongodb://b')
        self.assertEqual(code, 3, said)
        started, copied, ended = self.noted().splitlines()
        self.assertRegex(started, '^mongod --dbpath %s --port [0-9]+ .*--fork .*--directoryperdb$'
                         % self.folders)
        # Documents that have expired are there to be copied.
        self.assertIn('--setParameter ttlMonitorEnabled=false', started)
        port = started.split()[4]
        self.assertRegex(copied, '^python .*copy_databases.py --database shop '
                         'mongodb://127.0.0.1:%s mongodb://b$' % port)
        self.assertEqual(ended, 'mongod --dbpath %s --shutdown' % self.folders)

    def test_a_directory_that_no_server_takes(self):
        code, said = self.copy('#!/bin/sh\nwhile [ "$1" != --logpath ]; do shift; done\n'
                               'echo "[x] ERROR: it is damaged" > "$2"\nexit 100\n',
                               self.plain, 'mongodb://b')
        self.assertEqual(code, 1)
        self.assertIn('no server starts on %s:\n[x] ERROR: it is damaged' % self.plain, said)
