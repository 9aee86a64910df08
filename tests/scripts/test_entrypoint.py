"""The entry point of the image: whose word counts for an option, and what it refuses. A script that
prints its words stands for mongod."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import server

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGINS = {'MONGOD_ROOT_USER': 'a', 'MONGOD_ROOT_PASSWORD': 'b'}


class Entrypoint(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        program = os.path.join(self.folder, 'mongod')
        pathlib.Path(program).write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', 'utf-8')
        os.chmod(program, 0o755)
        self.data = os.path.join(self.folder, 'data')
        os.mkdir(self.data)

    def run_with(self, config, *words, **environment):
        path = os.path.join(self.folder, 'mongod.yaml')
        pathlib.Path(path).write_text(config, 'utf-8')
        environment = {'PATH': self.folder + ':' + os.environ['PATH'], 'MONGOD_CONFIG': path,
                       **environment}
        return subprocess.run([os.path.join(TOP, 'docker/entrypoint'), 'mongod', *words],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)

    def options(self, config, *words, **environment):
        """{option: value} of what mongod gets; each must be there once."""
        run = self.run_with(config, *words, **environment)
        self.assertEqual(run.returncode, 0, run.stdout)
        got, found = run.stdout.splitlines(), {}
        for at, word in enumerate(got):
            if word.startswith('--'):
                name, _, value = word[2:].partition('=')
                self.assertNotIn(name, found, got)
                follows = at + 1 < len(got) and not got[at + 1].startswith('--')
                found[name] = value or (got[at + 1] if follows else '')
        return found

    def refused(self, config, *words, **environment):
        run = self.run_with(config, *words, **environment)
        self.assertEqual(run.returncode, 1, run.stdout)
        return run.stdout

    def test_the_defaults_of_the_image(self):
        found = self.options('storage:\n  journal: {enabled: true}\n', MONGOD_DBPATH=self.data)
        self.assertEqual((found['port'], found['bind_ip'], found['dbpath']),
                         ('27017', '127.0.0.1', self.data))

    def test_a_configuration_is_obeyed(self):
        for config in ('net:\n  port: 27018\n  bindIp: 127.0.0.1  # here\nstorage:\n  dbPath: %s\n',
                       'net: {port: 27018, bindIp: 127.0.0.1}\nstorage: {dbPath: "%s"}\n',
                       'net.port: 27018\nnet.bindIp: 127.0.0.1\nstorage.dbPath: %s\n',
                       'port = 27018\nbind_ip = 127.0.0.1\ndbpath = %s\n'):
            self.assertEqual(set(self.options(config % self.data)), {'config'}, config)

    def test_a_value_on_another_line_is_not_overlooked(self):
        for key in ('port', 'bindIp'):
            said = self.refused('net:\n  %s:\n    27018\n' % key, MONGOD_DBPATH=self.data)
            self.assertIn('the value of ' + key, said)

    def test_what_a_comment_says_does_not_count(self):
        found = self.options('# port: 27018\n# bindIp: 0.0.0.0\n', MONGOD_DBPATH=self.data)
        self.assertEqual((found['port'], found['bind_ip']), ('27017', '127.0.0.1'))

    def test_a_variable_wins_over_the_configuration(self):
        found = self.options('net: {port: 27018}\nstorage: {dbPath: /nowhere}\n',
                             MONGOD_PORT='27019', MONGOD_DBPATH=self.data)
        self.assertEqual((found['port'], found['dbpath']), ('27019', self.data))

    def test_words_win_and_stand_once(self):
        for words, environment in ((('--port', '27020', '--dbpath=' + self.data), {}),
                                   ((), {'MONGOD_OPTIONS': '--port 27020 --dbpath ' + self.data})):
            found = self.options('net: {port: 27018}\n', *words, MONGOD_PORT='27019', **environment)
            self.assertEqual((found['port'], found['dbpath']), ('27020', self.data))
        for words in (('--slowms', '5'), ('-slowms=5',)):
            said = self.refused('', *words, MONGOD_OPTIONS='--slowms=7')
            self.assertIn('--slowms is in MONGOD_OPTIONS and behind', said)
        run = self.run_with('', '--setParameter', 'a=1', MONGOD_DBPATH=self.data,
                            MONGOD_OPTIONS='--setParameter b=2')
        self.assertEqual(run.stdout.splitlines()[-4:],
                         ['--setParameter', 'b=2', '--setParameter', 'a=1'])

    def test_a_configuration_among_the_words(self):
        other = os.path.join(self.folder, 'other.yaml')
        with open(other, 'w', encoding='utf-8') as file:
            file.write('net: {port: 27030}\nstorage: {dbPath: %s}\n' % self.data)
        for words in (('--config', other), ('--config=' + other,), ('-f', other), ('-f' + other,)):
            found = self.options('net: {port: 27018}\n', *words)
            self.assertNotIn('port', found)
            self.assertLessEqual(set(found), {'config', 'bind_ip'})

    def test_every_way_to_write_a_configuration(self):
        for text in ('{"net":{"bindIp":"%s","port":27018},"storage":{"dbPath":"%s"}}',
                     "net: {bindIp: %s,port: 27018}\n"
                     "storage: {journal: {enabled: true},dbPath: '%s'}\n",
                     'net:\r\n  bindIp: "%s" # here\r\n  port: 27018\r\nstorage.dbPath: %s\r\n',
                     '"net": {"port" : 27018, "bindIp" : \'%s\'}\n"storage": {"dbPath" : "%s"}\n',
                     'bind_ip=%s\nport=27018\ndbpath=%s\n'):
            for name in ('data', 'data#1'):
                data = os.path.join(self.folder, name)
                os.makedirs(data, exist_ok=True)
                with self.subTest(text, data=data):
                    if not text.startswith('bind_ip') or '#' not in name:  # an old one ends there
                        self.assertEqual(set(self.options(text % ('127.0.0.1', data))), {'config'})
                    self.assertIn('without logging in',
                                  self.refused(text % ('127.0.0.1,10.0.0.1', data)))

    def test_every_way_to_ask_for_logins(self):
        for text in ('{"net":{"bindIp":"0.0.0.0"},"security":{"authorization":"enabled"}}',
                     "net.bindIp: 0.0.0.0\nsecurity: {authorization: 'enabled',keyFile: x}\n",
                     'bind_ip = 0.0.0.0\nauth = true # here\n', 'bind_ip = 0.0.0.0\nauth = 1\n'):
            with self.subTest(text):
                self.assertNotIn('auth', self.options(text, MONGOD_DBPATH=self.data))
        for text in ('{"net":{"bindIp":"0.0.0.0"},"security":{"authorization":"disabled"}}',
                     'bind_ip = 0.0.0.0\nauth = false\n', 'bind_ip = 0.0.0.0\nauth = 0\n'):
            with self.subTest(text):
                self.assertIn('without logging in', self.refused(text, MONGOD_DBPATH=self.data))

    def test_listening_wider_needs_logins(self):
        at_data = {'MONGOD_DBPATH': self.data}
        for config, words, environment in (
                ('', (), {'MONGOD_BIND_IP': '0.0.0.0'}),
                ('', ('--bind_ip', '0.0.0.0'), {}),
                ('', ('--bind_ip=127.0.0.1,10.0.0.1',), {}),
                ('', ('-bind_ip', '0.0.0.0'), {}),
                ('', (), {'MONGOD_OPTIONS': '--bind_ip 0.0.0.0'}),
                ('net:\n  bindIp: 127.0.0.1,0.0.0.0\n', (), {}),
                ('net.bindIp: 0.0.0.0\n', (), {}),
                ('bind_ip = 0.0.0.0\n', (), {})):
            environment = dict(at_data, **environment)
            self.assertIn('without logging in', self.refused(config, *words, **environment))
            for allowed in (LOGINS, {'MONGOD_WITHOUT_AUTH': 'yes'}):
                self.options(config, *words, **environment, **allowed)
            self.options(config, *words, '--auth', **environment)
            enabled = config + 'security: {authorization: enabled}\n'
            self.options(enabled, *words, **environment)
            self.assertIn('without logging in',
                          self.refused(enabled, *words, '--noauth', **environment))

    def test_the_first_user(self):
        found = self.options('security:\n  authorization: enabled\n', MONGOD_DBPATH=self.data,
                             **LOGINS)
        self.assertIn('firstUserFile', found)
        self.assertNotIn('auth', found)
        os.remove(found['firstUserFile'])
        said = self.refused('', MONGOD_DBPATH=self.data, MONGOD_ROOT_USER='a')
        self.assertIn('belong together', said)

    def test_the_first_user_by_the_names_of_the_usual_image(self):
        usual = {'MONGOD_DBPATH': self.data, 'MONGO_INITDB_ROOT_USERNAME': 'a'}
        password = os.path.join(self.folder, 'password')
        pathlib.Path(password).write_text('b\n', 'utf-8')
        found = self.options('', **usual, MONGO_INITDB_ROOT_PASSWORD_FILE=password)
        self.assertEqual((found['bind_ip'], found['auth']), ('0.0.0.0', ''))
        self.assertEqual(pathlib.Path(found['firstUserFile']).read_text('utf-8'), 'a\nb\n')
        os.remove(found['firstUserFile'])
        self.assertIn('belong together', self.refused('', **usual))
        self.assertIn('give one', self.refused('', **usual, **LOGINS))

    def test_scripts_fill_an_empty_directory_once(self):
        real = os.path.join(server.build('none', '', ['mongod']), 'bin', 'mongod')
        with open(os.path.join(self.folder, 'mongod'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ncase "$*" in *--noauth*) exec %s "$@" --smallfiles ;; esac\n'
                       'printf "%%s\\n" "$@"\n' % real)
        initdb = tempfile.mkdtemp(dir=self.folder)
        given = {'MONGO_INITDB_FOLDER': initdb, 'MONGOD_DBPATH': self.data,
                 'MONGOD_PORT': str(server.free_port()), 'MONGOD_SOCKET_PREFIX': initdb,
                 'MONGOD_OPTIONS': '--replSet rs0 --unixSocketPrefix ' + initdb}

        def write(name, text):
            pathlib.Path(os.path.join(initdb, name)).write_text(text, 'utf-8')
        write('1.js', '')
        self.assertIn('1.js wants mongosh', self.refused('', **given))
        os.remove(os.path.join(initdb, '1.js'))
        write('1.sh', '%s && echo "by ${mongo[0]}"\n' % os.path.join(TOP, 'docker/healthcheck'))
        said = self.run_with('', **given).stdout
        self.assertIn('by mongosh\n', said)
        self.assertEqual(said.splitlines()[-4:-2], ['--replSet', 'rs0'])
        self.assertNotIn('by mongosh', self.run_with('', **given).stdout)
        given['MONGOD_DBPATH'] = tempfile.mkdtemp(dir=self.folder)
        write('2.sh', 'false\n')
        self.assertIn('2.sh failed', self.refused('', **given))
        self.assertIn('did not come to their end', self.refused('', **given))

    def test_a_server_in_the_background_would_end_the_container(self):
        for config, words in (('processManagement: {fork: true}\n', ()), ('fork = true\n', ()),
                              ('', ('--fork',)), ('', ('-fork',))):
            self.assertIn('ends the container',
                          self.refused(config, *words, MONGOD_DBPATH=self.data))
        for config in ('processManagement: {fork: false}\n', '# fork: true\n'):
            self.options(config, MONGOD_DBPATH=self.data)

    def test_a_directory_that_is_none(self):
        self.assertIn('/nowhere, the directory for the data',
                      self.refused('', MONGOD_DBPATH='/nowhere'))
