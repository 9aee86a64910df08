"""Data directories of unknown origin: nothing outside of them is written or deleted."""

import os
import shutil
import struct
import subprocess
import tempfile
import unittest

import hostile
import server

REFUSED = 100
NS_FILE = 0x7fffffff
FILE_ID = 0x1122334455667788
OP_CONTEXT, OP_CREATED, OP_DROPPED = 0xfffffffe, 0xfffffffd, 0xfffffffc
UNIT = 8192


# A journal as the pages of docs/spec have it. --------------------------------------------------


def checksum(data):
    mask = (1 << 64) - 1

    def total(piece):
        words = struct.unpack('<%dQ' % (len(piece) // 8), piece)
        return sum(word ^ i for i, word in enumerate(words)) & mask

    half = len(data) // 16 * 8
    first, second = total(data[:half]), total(data[half:2 * half])
    rest = 0
    for byte in data[2 * half:]:
        rest = (rest << 8 | (byte if byte < 128 else byte - 256)) & mask
    return struct.pack('<QQ', first ^ len(data), second ^ rest)


def snappy(data):
    """One literal: what every decoder takes."""
    length, rest = b'', len(data)
    while rest >= 128:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    return length + bytes([rest, 61 << 2]) + struct.pack('<H', len(data) - 1) + data


def section(operations, sequence):
    payload = snappy(operations)
    body = struct.pack('<IQQ', len(payload) + 52, sequence, FILE_ID) + payload
    whole = body + struct.pack('<I', 0xffffffff) + checksum(body) + bytes(8) + b'\n' * 4
    return whole + bytes(-len(whole) % UNIT)


def journal_file(sections):
    header = b'j\n' + struct.pack('<H', 0x4149) + b'\n' + bytes(20) + b'\n' + bytes(128) + b'\n\n'
    header += bytes(156 - len(header)) + struct.pack('<Q', FILE_ID) + bytes(8026) + b'\n\n'
    return header + b''.join(section(each, i + 1) for i, each in enumerate(sections))


def write_op(prefix, number=0, data=b'evil'):
    return (struct.pack('<I', OP_CONTEXT) + prefix + b'\0'
            + struct.pack('<III', len(data), 0, number) + data)


def created_op(path, length=4096):
    return struct.pack('<IQQQ', OP_CREATED, 0, 0, length) + path + b'\0'


def dropped_op(name):
    return struct.pack('<IQQ', OP_DROPPED, 0, 0) + name + b'\0\0'


# --------------------------------------------------------------------------------------------------


def tree(folder):
    """{name: what it is and holds} of all below a folder; links are not followed."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(at, name)
            if os.path.islink(path):
                found[path] = 'link to ' + os.readlink(path)
            elif os.path.isdir(path):
                found[path] = 'folder'
            else:
                with open(path, 'rb') as file:
                    found[path] = (os.stat(path).st_size, file.read())
    return found


def put(path, data=b'theirs' * 1000):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data)


class Directories(unittest.TestCase):
    OPTIONS = ['--smallfiles', '--nssize', '1', '--nounixsocket', '--nopreallocj']

    def setUp(self):
        scratch = os.path.join(hostile.TOP, 'build', 'scratch')
        self.folder = tempfile.mkdtemp(prefix='directories-', dir=scratch)
        self.addCleanup(shutil.rmtree, self.folder)
        self.dbpath = os.path.join(self.folder, 'deep', 'db')
        self.outside = os.path.join(self.folder, 'outside')
        os.makedirs(os.path.join(self.dbpath, 'journal'))
        for name in ('x.0', 'x.ns', 'file', 'folder/file', 'folder/x.0', 'folder/x.ns',
                     'folder/folder.0', 'folder/folder.ns', 'folder/_tmp/1'):
            put(os.path.join(self.outside, name))
        put(os.path.join(self.folder, 'deep', 'x.0'))
        put(os.path.join(self.folder, 'x.ns'))

    def path(self, *names):
        return os.path.join(self.dbpath, *names)

    def beside(self):
        """All but the dbpath and its log."""
        return {path: what for path, what in tree(self.folder).items()
                if not path.startswith(self.dbpath)}

    def run_server(self, *options):
        return server.Server(hostile.Case.server.program, self.dbpath,
                             self.OPTIONS + list(options))

    def refused(self, *options):
        """What a start says that is refused."""
        with self.assertRaises(server.ServerError) as caught:
            self.run_server(*options).stop()
        self.assertIn('ended with %d' % REFUSED, str(caught.exception))
        return str(caught.exception)

    # --- what the journal names ---

    def test_journals_that_name_other_places(self):
        put(self.path('mongod.lock'), b'')
        put(self.path('test.0'), bytes(1 << 20))
        absolute = os.path.join(self.outside, 'x').encode()
        good = write_op(b'test')
        for name, operation in [
                (b'../x', write_op(b'../x')), (b'../../x', write_op(b'../../x', NS_FILE)),
                (b'../../outside/x', write_op(b'../../outside/x')),
                (absolute[:60], write_op(absolute)),
                (b'test/../../x', write_op(b'test/../../x')),
                (b'../x.0', created_op(b'../x.0')),
                (b'../../outside/new.0', created_op(b'../../outside/new.0')),
                (absolute[:60], created_op(absolute + b'.0')),
                (b'journal/j._0', created_op(b'journal/j._0')),
                (b'mongod.lock', created_op(b'mongod.lock')),
                (b'../x', dropped_op(b'../x')), (b'../../x', dropped_op(b'../../x')),
                (b'../../outside/folder', dropped_op(b'../../outside/folder')),
                (b'y' * 100, write_op(b'y' * 100)), (b'', write_op(b'z' * 2000)),
                (b'y' * 100, created_op(b'y' * 2000))]:
            with self.subTest(operation[:60]):
                put(self.path('journal', 'j._0'), journal_file([good, good, operation, good]))
                before = tree(self.folder)
                for options in ([], ['--directoryperdb']):
                    text = self.refused(*options)
                    self.assertIn(self.path('journal', 'j._0'), text)
                    self.assertIn('offset %d' % (3 * UNIT), text)
                    self.assertIn(name.decode(), text)
                    after = tree(self.folder)
                    after.pop(self.dbpath + '.log')
                    before.pop(self.dbpath + '.log', None)
                    self.assertEqual(after, before)

    def test_a_journal_that_names_a_link(self):
        os.symlink(os.path.join(self.outside, 'x.0'), self.path('x.0'))
        os.symlink(os.path.join(self.outside, 'folder'), self.path('folder'))
        for operation in (write_op(b'x'), write_op(b'folder/folder'),
                          created_op(b'folder/folder.0'), dropped_op(b'folder')):
            put(self.path('journal', 'j._0'), journal_file([operation]))
            before = self.beside()
            for options in ([], ['--directoryperdb']):
                try:
                    self.run_server(*options).stop()  # dropping what is not there is no harm
                except server.ServerError as error:
                    self.assertIn('ended with %d' % REFUSED, str(error))
                self.assertEqual(self.beside(), before)

    def test_a_journal_without_an_end(self):
        """Sparse: it takes no disk, and reading it to its end would take hours."""
        with open(self.path('journal', 'j._0'), 'wb') as file:
            file.truncate(1 << 42)
        self.assertIn('no server makes a journal file so large', self.refused())

    # --- what the directory holds ---

    def use(self, running):
        """Everything that makes, grows, renames and deletes files."""
        with hostile.Connection(running.port) as client:
            for database in ('test', 'folder', 'x'):
                try:
                    client.run({'insert': 'c', 'documents': [{'_id': i} for i in range(100)]},
                               database)
                    client.run({'createIndexes': 'c',
                                'indexes': [{'key': {'a': 1}, 'name': 'a'}]}, database)
                    client.run({'convertToCapped': 'c', 'size': 100000}, database)
                except hostile.Refused:
                    pass
                for command in ({'repairDatabase': 1}, {'dropDatabase': 1}):
                    try:
                        client.run(command, database)
                    except hostile.Refused:
                        pass

    def check_links(self, links, options=(), link=os.symlink):
        for name, target in links.items():
            with self.subTest(name):
                path = self.path(name)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                link(os.path.join(self.outside, target), path)
                before = self.beside()
                try:
                    with self.run_server(*options) as running:
                        self.use(running)
                except server.ServerError as error:
                    self.assertIn('ended with %d' % REFUSED, str(error))
                self.assertEqual(self.beside(), before)
                shutil.rmtree(self.dbpath)
                os.makedirs(self.path('journal'))

    def test_links_to_other_places(self):
        self.check_links({
            '_tmp': 'folder', 'test.0': 'x.0', 'test.1': 'x.0', 'test.ns': 'x.ns', 'x.ns': 'x.ns',
            'mongod.lock': 'file', 'storage.bson': 'file', 'journal': 'folder',
            'journal/j._0': 'file', 'journal/lsn': 'file', 'journal/prealloc.0': 'file',
            'journal/prealloc.1': 'nothing', 'journal/tempLatencyTest': 'file',
            'folder': 'folder', '_tmp/1': 'file'})

    def test_links_to_other_places_in_folders(self):
        self.check_links({
            'folder': 'folder', 'test': 'folder', 'folder/_tmp': 'folder',
            'folder/folder.ns': 'folder/folder.ns', 'test/test.0': 'x.0', 'test/_tmp': 'folder',
            '_tmp': 'folder'}, ['--directoryperdb'])

    def test_links_where_files_are_made_ahead(self):
        self.OPTIONS = [option for option in self.OPTIONS if option != '--nopreallocj']
        self.check_links({'journal/prealloc.0': 'file', 'journal/tempLatencyTest': 'file',
                          'journal/prealloc.0.temp': 'file'})

    def test_hard_links_to_other_places(self):
        self.check_links({
            'test.0': 'x.0', 'test.1': 'x.0', 'test.ns': 'x.ns', 'x.ns': 'x.ns', 'x.0': 'x.0',
            'mongod.lock': 'file', 'storage.bson': 'file', 'journal/j._0': 'file',
            'journal/lsn': 'file', 'journal/prealloc.0': 'file', 'journal/prealloc.1': 'file',
            'journal/tempLatencyTest': 'file', '_tmp/1': 'file'}, link=os.link)

    def test_hard_links_to_other_places_in_folders(self):
        self.check_links({'folder/folder.ns': 'folder/folder.ns', 'test/test.0': 'x.0',
                          'test/test.ns': 'x.ns'}, ['--directoryperdb'], os.link)

    def test_a_journal_on_another_device(self):
        """The link of an old operator: refused by a sentence, followed when that is asked for."""
        target = os.path.join(self.folder, 'fast')
        os.makedirs(target)
        os.rmdir(self.path('journal'))
        os.symlink(target, self.path('journal'))
        self.assertIn('followJournalLink', self.refused())
        self.assertEqual(os.listdir(target), [])
        running = self.run_server('--setParameter', 'followJournalLink=1')
        with hostile.Connection(running.port) as client:
            client.run({'insert': 'c', 'documents': [{'_id': 1}], 'writeConcern': {'j': True}})
        running.kill()
        self.assertIn('j._0', os.listdir(target))
        with self.run_server('--setParameter', 'followJournalLink=1') as running, \
                hostile.Connection(running.port) as client:
            self.assertEqual(client.run({'count': 'c'})['n'], 1)
        self.assertNotIn('j._0', os.listdir(target))

    def test_a_key_of_a_thousand_parts(self):
        """No server takes such an index, but one that lies there is served; arrays in each other
        lead all the way down."""
        taken = '.'.join(['a'] + ['%d' % (10 ** 8 + i) for i in range(199)])
        crafted = '.'.join(['a'] + ['0'] * ((len(taken) - 1) // 2))
        crafted += '0' * (len(taken) - len(crafted))
        with self.run_server() as running, hostile.Connection(running.port) as client:
            client.run({'createIndexes': 'c', 'indexes': [{'key': {taken: 1}, 'name': 'a'}]})
        with open(self.path('hostile.0'), 'r+b') as file:
            data = file.read()
            self.assertEqual(data.count(taken.encode()), 1)
            file.seek(data.index(taken.encode()))
            file.write(crafted.encode())
        with self.run_server() as running, hostile.Connection(running.port) as client:
            for depth in (900, 990, 1000):
                nested = hostile.nested(depth, '0', kind=4)
                document = hostile.document(
                    hostile.element(16, '_id', struct.pack('<i', depth)),
                    hostile.element(4, 'a', nested))
                client.run({'insert': 'c'}, sequences=[('documents', [document])])
            self.assertTrue(client.run({'validate': 'c', 'full': True})['valid'])
            self.assertEqual(client.run({'count': 'c'})['n'], 3)

    def test_a_temporary_collection_that_is_listed_twice(self):
        """A start takes it away, and comes to it again."""
        with self.run_server() as running, hostile.Connection(running.port) as client:
            for name in ('one', 'two'):
                client.run({'create': name, 'temp': True})
        with open(self.path('hostile.0'), 'r+b') as file:
            data = file.read()
            self.assertIn(b'hostile.two\0', data)
            file.seek(0)
            file.write(data.replace(b'hostile.two\0', b'hostile.one\0'))
        with self.run_server() as running, hostile.Connection(running.port) as client:
            client.run({'insert': 'one', 'documents': [{'_id': 1}]})
            self.assertEqual(client.run({'count': 'one'})['n'], 1)

    def test_large_definitions_of_indexes(self):
        """A client that may make them must not make the database unusable after the next start."""
        pad = 'x' * (15 << 20)
        with self.run_server() as running, hostile.Connection(running.port) as client:
            client.run({'insert': 'whole', 'documents': [{'_id': 1}]})
            with self.assertRaises(hostile.Refused):
                for i in range(20):
                    client.run({'createIndexes': 'c', 'indexes': [
                        {'key': {'a%d' % i: 1}, 'name': 'a%d' % i, 'pad': pad}]})
        with self.run_server() as running, hostile.Connection(running.port) as client:
            self.assertEqual(client.run({'count': 'whole'})['n'], 1)

    def test_tools_that_meet_pipes(self):
        mongod = hostile.Case.server.program
        for number, name in enumerate(['journal/j._0', 'x.0', 'x.ns', 'mongod.lock']):
            os.mkfifo(self.path(name))
            for tool in (['journal_dump', self.dbpath],
                         ['journal_dump', self.path('journal', 'j._0')],
                         ['dbpath_check', self.dbpath],
                         ['mongod', '--dbpath', self.dbpath, '--salvage',
                          os.path.join(self.folder, 'dump-%d' % number)]):
                with self.subTest(name=name, tool=tool[0]):
                    tool[0] = os.path.join(os.path.dirname(mongod), tool[0])
                    done = subprocess.run(tool, capture_output=True, text=True, check=False,
                                          timeout=hostile.ANSWER_SECONDS_MAX)
                    self.assertNotEqual(0, done.returncode)
                    self.assertNotEqual('', done.stdout + done.stderr)
            os.remove(self.path(name))

    def test_names_that_are_none(self):
        """They are neither opened nor served nor deleted."""
        for name in ('a b.ns', 'a.b.ns', '..ns', 'y' * 64 + '.ns', 'a\\b.ns', 'a\n.ns'):
            put(self.path(name))
        before = tree(self.dbpath)
        with self.run_server() as running, hostile.Connection(running.port) as client:
            names = [entry['name'] for entry in
                     client.run({'listDatabases': 1}, 'admin')['databases']]
            self.assertLessEqual(set(names), {'local', 'admin', 'a\n'})
        after = tree(self.dbpath)
        for path, what in before.items():
            if path.endswith('.ns'):
                self.assertEqual(after[path], what)

    def test_databases_that_are_called_as_the_servers_own_folders(self):
        with self.run_server('--directoryperdb') as running, \
                hostile.Connection(running.port) as client:
            for name in ('journal', '_tmp', 'Journal'):
                with self.assertRaises(hostile.Refused):
                    client.run({'insert': 'c', 'documents': [{'_id': 1}]}, name)
                client.run({'dropDatabase': 1}, name)
            client.run({'insert': 'c', 'documents': [{'_id': 1}], 'writeConcern': {'j': True}})
        with self.run_server('--directoryperdb') as running, \
                hostile.Connection(running.port) as client:
            self.assertEqual(client.run({'count': 'c'})['n'], 1)
