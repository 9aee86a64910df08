"""The words of ./lab on a machine where nothing is installed: help comes at once, what means
nothing is answered with what does, all else installs what it needs; what it asks for, waits for and
leaves behind; its page for man and its completion."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

import any_server
import run_cluster
import server
from bare import Bare, NOTES, PYTHON, TOP
from lab import base, bench, clustering, commands, describe, products
from lab.command_line import Parser

EXPERIMENTS = {
    'linkbench': ['--nodes', '--server', '--uri', '--port', '--old-wire', '--lazy', '--engines',
                  '--memory'],
    'sweep': ['--what', '--device-delay'],
    'iibench': ['--rows', '--server', '--uri', '--old-wire'], 'peers': ['--uri', '--odbc'],
    'floor': ['--only'],
    'write-concern': ['--long-seconds'], 'append': ['--only'], 'growth': ['--memory']}


class Help(Bare):
    def test_it_installs_nothing(self):
        for words in [['--help'], ['-h'], ['help'], *([name, flag] for name in commands.ORDER
                                                      for flag in ('--help', '-h')),
                      *(['help', name] for name in commands.ORDER),
                      ['run', '--rounds', '1', '--help'], ['test', 'unit', '--help'],
                      ['bench', 'insert', '-h'], ['trace', 'chain', '--help']]:
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 0, said)
                if words[-1] not in ('pr', 'port') and words[0] not in ('pr', 'port'):
                    self.assertEqual(said[:6], './lab ')  # those two are programs of their own
        self.assertEqual(self.noted(), '')
        self.assertFalse(os.path.exists(self.build))

    def test_it_needs_no_more_than_python(self):
        ask = ('import importlib, sys; sys.path.insert(0, sys.argv[1])\n'
               'for name in sys.argv[2:]: importlib.import_module(name).make_parser()')
        for scripts in (['trace_server', 'ab', 'base', 'write_through', 'run', 'overview'],
                        [each.script for each in bench.EXPERIMENTS.values()]):
            asked = subprocess.run(  # -S: without any package that was installed
                [PYTHON, '-S', '-c', ask, os.path.join(TOP, 'perf'), *scripts],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual((asked.returncode, asked.stdout), (0, ''))

    def test_it_lists_every_command_and_every_patch(self):
        said = self.lab('--help')[1]
        for name in commands.ORDER:
            self.assertRegex(said, r'(?m)^\./lab %s ' % name)
        for name in ('serve', 'bench'):
            for slug in self.slugs:
                self.assertIn('  %s\n' % slug, self.lab(name, '--help')[1])


class Words(Bare):
    def wrong(self, kind):
        """(words, parts of the answer) of wrong_words.txt."""
        text = pathlib.Path(TOP, 'tests', 'scripts', 'wrong_words.txt').read_text('utf-8')
        text = re.sub(r'\bPATCH\b', self.slugs[0], text.replace('PATCHES', ', '.join(self.slugs)))
        for words, answers in re.findall(r'^%s (.*) -> (.*)$' % kind, text, re.M):
            yield words.replace('WINDOWS', bench.WINDOWS_PATCH).split(), answers.split(', ')

    def test_a_wrong_value_is_answered_in_a_sentence(self):
        for words, (part,) in self.wrong('value'):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 2)
                self.assertRegex(said, '^lab: argument --[a-z]+: .*--help says more\n$')
                self.assertIn(part, said)
        self.assertEqual(self.noted(), '')

    def test_a_wrong_word_is_answered_with_the_right_ones_before_anything_is_installed(self):
        for words, answers in self.wrong('word'):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertIn(code, (1, 2))
                self.assertTrue(said.startswith('lab: '), said)
                for answer in answers:
                    self.assertIn(answer, said)
        self.assertEqual(self.noted(), '')

    def test_what_means_something_goes_on_to_installing(self):
        for words in (['run', '--rounds', '1', '--device-delay', '8', '--server',
                       'x=%s --port-range 1' % os.path.join(self.bin, 'bash')],
                      ['crash', 'none', '--states', '10', '--at', '1:2', '--log', '--seed=3'],
                      ['bench', 'insert', '--clients', '8', '--seconds=5'],
                      ['bench', self.slugs[0], self.slugs[1], '--runs', '1'],
                      ['bench', 'all', '--estimate'], ['bench', '--help-load'],
                      ['bench', bench.WINDOWS_PATCH, '--headers'], ['trace', '1'],
                      ['trace', 'stages'], ['serve', '--', '--port', '1'],
                      ['setup', 'unit', 'js']):
            with self.subTest(words), mock.patch('lab.install.install_packages',
                                                 side_effect=SystemExit(7)) as installed:
                code, said = self.lab(*words)
                self.assertEqual(code, 7, said)
                self.assertIn('g++', installed.call_args[0][0])

    def test_a_selection_with_an_empty_name_is_none(self):
        first, second = self.slugs[:2]
        for selection in ('', ',', 'upto:', first + ',', ',' + first, first + ',,' + second,
                          'upto:%s,%s' % (first, second), 'upto:all', 'all,none'):
            for command in ('serve', 'crash', 'docs', 'package'):
                with self.subTest([command, selection]):
                    code, said = self.lab(command, selection)
                    self.assertEqual(code, 2, said)
                    self.assertIn("no patch '", said)
        self.assertEqual(self.noted(), '')

    def test_a_server_starts_with_its_options_and_a_place(self):
        mongod, data = os.path.join(self.folder, 'mongod'), os.path.join(self.folder, 'data')
        profile = ' --config ' + os.path.join(TOP, 'conf', 'durable.yaml')
        with mock.patch('lab.needs.compiler'), mock.patch('lab.selections.build') as build, \
                mock.patch('lab.selections.program', return_value=mongod):
            for words, selection, became in (
                    ([], 'all', '%s --dbpath %s' % (profile, data)),
                    (['none'], 'none', ' --dbpath ' + data),
                    (['--', '--port', '1'], 'all', '%s --dbpath %s --port 1' % (profile, data)),
                    (['--config', 'x', '--dbpath', 'y'], 'all', ' --config x --dbpath y'),
                    (['--config=x', '--dbpath', 'y'], 'all', ' --config=x --dbpath y'),
                    (['none', '--dbpath', 'x'], 'none', ' --dbpath x'),
                    (['none', '--help'], 'none', ' --help'),
                    (['--version'], 'all', ' --version')):
                with self.subTest(words):
                    code, said = self.lab('serve', *words)
                    self.assertEqual(code, 0)
                    self.assertTrue(said.endswith('became %s%s\n' % (mongod, became)), said)
                    build.assert_called_with(selection, 'mongod')
            build.reset_mock()
            self.assertIn('nothing to shut down', self.lab('serve', '--shutdown')[1])
            self.script(os.path.join(self.build, 'other', 'bin', 'mongod'), '')
            for words in (['--shutdown', '--dbpath', 'y'], ['none', '--shutdown', '--dbpath', 'y']):
                self.assertIn('other/bin/mongod --shutdown --dbpath y\n',
                              self.lab('serve', *words)[1])
            build.assert_not_called()
            self.assertIn('Ctrl-C stops it', self.lab('serve')[1])
            self.assertNotIn('Ctrl-C', self.lab('serve', '--fork')[1])


class Programs(unittest.TestCase):
    """./lab refuses wrong options of programs that need not be built yet. They are these."""

    def options_in_help(self, name):
        program = os.path.join(server.folder_of('none'), 'bin', name)
        if not os.path.exists(program):
            self.skipTest(name + ' is not built')
        with os.popen('"%s" --help' % program) as said:
            return said.read()

    def check(self, parser, said):
        self.assertEqual(set(parser.options()), set(re.findall(r'^  (--[a-z-]+)', said, re.M)))
        for action in parser._actions:  # what takes a value has its name there
            if action.dest != 'help':
                self.assertEqual(action.nargs is None, bool(re.search(
                    r'^  %s [A-Z]' % action.option_strings[0], said, re.M)), action)

    def test_the_load_client(self):
        said = self.options_in_help('load_client')
        self.check(bench.load_parser('insert'), said)
        listed = said.split('\n  --')[0]
        self.assertEqual(set(re.findall(r'(?:^|  )([a-z]+_?[a-z]+) {2,}', listed, re.M)),
                         set(bench.WORKLOADS))

    def test_crash_states(self):
        self.check(products.crash_parser([]), self.options_in_help('crash_states'))


class Clusters(Bare):
    def test_a_name_goes_on(self):
        with open(os.path.join(self.folder, 'cluster.json'), 'w', encoding='ascii'), \
                mock.patch.object(clustering, 'FOLDER', self.folder), \
                mock.patch.object(base, 'DRIVER_PYTHON', PYTHON):
            for words in (['kill', 'm1'], ['cut', 'e2'], ['status', '--watch'], ['down']):
                found = run_cluster.parse(self.lab('cluster', *words)[1].split()[3:])
                self.assertEqual([found.what, found.name or '--watch' * found.watch][:len(words)],
                                 words)


def parsers(lab):
    """(title, the words in front, the parser) of everything that has a help."""
    for name, command in lab.commands.items():
        yield name, [name], command.parser([])
        for title, words, parser in command.inner():
            for word in words:
                yield '%s %s' % (name, title), [name, word], parser


def own_options(parser):
    """What argparse takes, or else what the text names."""
    own = parser.options() if isinstance(parser, Parser) else []
    return own or re.findall(r'(?<![\w-])--[a-zA-Z][\w-]*', parser.format_help())


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab, cls.page = commands.make_lab(), describe.man()

    def test_has_every_command_and_every_option(self):
        sections = dict(each.split('\n', 1) for each in self.page.split('.SS ./lab ')[1:])
        tried = 0
        for title, words, parser in parsers(self.lab):
            for option in own_options(parser):
                tried += 1
                self.assertIn('\\fB%s\\fR' % option.replace('-', '\\-'),
                              sections[title.replace('-', '\\-')], words)
        self.assertGreater(tried, 100)
        for name, command in self.lab.commands.items():
            self.assertIn(describe.escaped(command.summary[1:]), sections[name])
        for name in bench.EXPERIMENTS:
            self.assertIn('bench ' + name.replace('-', '\\-'), sections)

    @unittest.skipUnless(shutil.which('groff'), 'groff is not installed')
    def test_is_taken_without_a_warning(self):
        run = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-rLL=110n'], input=self.page,
                             text=True, capture_output=True, check=True)
        self.assertEqual(run.stderr, '')
        self.assertIn('./lab bench iibench', run.stdout)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab, cls.script = commands.make_lab(), describe.bash()

    def complete(self, *asked):
        """For each list of words what bash offers for the last one."""
        calls = ''.join('COMP_WORDS=(./lab %s) COMP_CWORD=%d\n_lab\necho "${COMPREPLY[@]}"\n'
                        % (' '.join("'%s'" % word for word in words), len(words))
                        for words in asked)
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(['bash', '-u', '-c', self.script + calls], cwd=folder, text=True,
                                 capture_output=True)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        return [line.split() for line in run.stdout.split('\n')[:-1]]

    def test_offers_every_option_where_it_is_one(self):
        every = list(parsers(self.lab))
        for (_, words, parser), offered in zip(every, self.complete(*(
                [*words, '--'] for _, words, _ in every))):
            self.assertEqual(set(offered), {'--help', *own_options(parser)}, words)


SECONDS_MAX = 60  # only ends what hangs
SUDO = ('#!/bin/sh\n[ "$1" != -v ] || exit 0\necho "sudo $*" >> "$NOTES"\nexec "$@"\n')


class Needs(Bare):
    def build_folder_is_filled(self):
        """What goes into build/ seems to be there."""
        for at, list_ in (('venv/installed.txt', 'python.txt'),
                          ('venv-old-driver/installed.txt', 'python-old-driver.txt'),
                          ('venv-mappers/installed.txt', 'python-mappers.txt'),
                          ('venv-docker/installed.txt', 'python-docker.txt'),
                          ('venv-programs/installed.txt', 'python-programs.txt'),
                          ('spring/installed.xml', 'spring/pom.xml'),
                          ('debezium/installed.xml', 'debezium/pom.xml'),
                          ('windows-libs/installed.txt', 'windows/libraries.txt'),
                          ('arm64-libs/installed.txt', 'arm64/libraries.txt'),
                          ('text-libs/installed.txt', 'text/libraries.txt'),
                          *((name + '/installed.json', name + '/package-lock.json')
                            for name in ('mongosh', 'node', 'node-clients', 'node-apps',
                                         'node-programs')),
                          ('mongosh/node_modules/mongosh/bin/mongosh.js', 'apt.txt')):
            path = os.path.join(self.build, at)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(TOP, 'setup', list_), path)
        self.script('node', '#!/bin/sh\necho 20\n')

    def test_a_part_of_the_tests_gets_what_it_needs_and_no_more(self):
        self.build_folder_is_filled()
        needs = {'clients': 'golang-go', 'clients-secured': 'golang-go', 'windows': 'wine64',
                 'tidy': 'clang-tidy-16', 'arm64': 'qemu-user-static', 'docker': 'buildah',
                 'package': 'lintian', 'fuzz': 'clang-16', 'programs': 'maven'}
        self.script('dpkg-query', '#!/bin/sh\ncase "$*" in *%s) ;; *) echo installed ;; esac\n'
                    % '|*'.join(set(needs.values())))
        self.script('dpkg', '#!/bin/sh\necho amd64\n')
        every, usual = set(needs.values()), {needs['clients']}
        for words in ([], ['--all'], ['unit'], ['unit', '--', 'docker'],
                      *([part] for part in needs)):
            wanted = usual if not words else every if words == ['--all'] else \
                {needs[words[0]]} if words[0] in needs else set()
            for command in ('test', 'setup')[:1 if '--' in words or words == ['--all'] else 2]:
                with self.subTest([command, *words]):
                    if os.path.exists(self.notes):
                        os.remove(self.notes)
                    with mock.patch('os.getuid', return_value=0):
                        code, said = self.lab(command, *words)
                    self.assertEqual(code, 0, said)
                    asked = {package for package in needs.values() if package in self.noted()}
                    self.assertEqual(asked, wanted)
                    self.assertLessEqual(self.noted().count(' update\n'), 1)
                    self.assertEqual(' -m pytest ' in said, command == 'test', said)


class Installing(Bare):
    """`serve` with one package that is missing."""

    def setUp(self):
        super().setUp()
        self.script('dpkg-query', '#!/bin/sh\ncase "$*" in *quilt) ;; *) echo installed ;; esac\n')
        self.script('scons', '#!/bin/sh\nexit 3\n')

    def as_user(self, number):
        patch = mock.patch('os.getuid', return_value=number)
        patch.start()
        self.addCleanup(patch.stop)

    def test_without_root_and_sudo_it_says_so(self):
        self.as_user(1000)
        for words in (['run'], ['serve'], ['setup']):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 1)
                self.assertIn('become root or install sudo', said)
        self.assertEqual(self.noted(), '')

    def test_with_sudo_apt_is_run_by_it(self):
        self.as_user(1000)
        self.script('sudo', SUDO)
        self.lab('serve')
        self.assertRegex(self.noted(), r'(?m)^sudo apt-get .* update$')
        self.assertRegex(self.noted(), r'(?m)^sudo env .*apt-get .* install .*quilt')

    def test_it_says_what_it_fetches(self):
        self.as_user(0)
        self.script('apt-get', "#!/bin/sh\ncase \"$*\" in *--print-uris*)\n"
                    "echo \"'http://d/q_1.deb' q_1.deb 1400000 SHA256:0\"\n"
                    "echo \"'http://d/n_1.deb' n_1.deb 11000000 SHA256:0\" ;; esac\n")
        self.assertIn('lab: with what they need they are 2 packages, 12 MB to fetch\n',
                      self.lab('serve')[1])

    def test_what_measuring_does_not_use_is_not_asked_for(self):
        self.as_user(0)
        self.script('dpkg-query', '#!/bin/sh\nexit 1\n')
        for word, asked in (('run', {'quilt', 'strace'}), ('shell', {'nodejs'}),
                            ('crash', {'quilt'}), ('setup', {'quilt', 'strace', 'nodejs',
                                                             'libgtest-dev'})):
            with self.subTest(word), mock.patch('lab.install.python'), \
                    mock.patch('lab.install.npm', side_effect=SystemExit(7)):
                self.lab(word)
                self.assertEqual({name for name in ('quilt', 'strace', 'nodejs', 'libgtest-dev')
                                  if ' %s ' % name in self.noted().replace('\n', ' ')}, asked)
                os.remove(self.notes)

    def test_a_failure_shows_what_the_program_said(self):
        self.as_user(0)
        self.script('apt-get', '#!/bin/sh\necho "E: no such place"\nexit 100\n')
        code, said = self.lab('serve')
        self.assertEqual(code, 1)
        self.assertIn('E: no such place', said)
        self.assertIn('setup.log', said)


class Processes(Bare):
    """What only a process shows: links, locks, Ctrl-C. `setup` meets apt-get first."""

    def setUp(self):
        super().setUp()
        self.copy_sources()
        self.script('sudo', '#!/bin/sh\n[ "$1" != -v ] || exit 0\nexec "$@"\n')

    def test_control_c_while_compiling_is_no_failure(self):
        self.script('dpkg-query', '#!/bin/sh\necho installed\n')
        self.script('scons', '#!/bin/sh\ntrap "exit 2" INT\necho "$$" >> "$NOTES"\n'
                    'while :; do sleep 0.05; done\n')
        with self.start('serve') as process:
            self.wait_for(lambda: self.noted().endswith('\n'))
            os.killpg(process.pid, signal.SIGINT)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
        self.assertIn('lab: stopped', said)
        self.assertNotIn('failed', said)

    def test_two_at_once_install_one_after_the_other(self):
        self.script('apt-get', NOTES + 'while [ ! -e "$HOME/go" ]; do sleep 0.05; done\nexit 1\n')
        with self.start('setup') as first:
            self.wait_for(lambda: 'update' in self.noted())
            with self.start('setup') as second:
                self.read_until(second, 'waiting for it')
                self.assertEqual(self.noted().count('\n'), 1)
                open(os.path.join(self.folder, 'go'), 'w', encoding='utf-8').close()
                for process in (first, second):
                    process.stdout.read()
                    process.wait(timeout=SECONDS_MAX)

    def interrupted(self, output):
        """Ctrl-C while apt-get, which has printed this, is at work: the exit code, what was said,
        and whether apt-get came to its end."""
        self.script('apt-get', '#!/bin/sh\necho "%s"\necho "$$" >> "$NOTES"\n'
                    'while [ ! -e "$HOME/go" ]; do sleep 0.05; done\n'
                    'touch "$HOME/whole"\n' % output)
        with self.start('setup') as process:
            self.wait_for(lambda: self.noted().endswith('\n'))
            os.killpg(process.pid, signal.SIGINT)
            said = self.read_until(process, 'stopping')
            if 'Unpacking' in output:
                self.assertTrue(os.path.exists('/proc/' + self.noted().strip()))
                open(os.path.join(self.folder, 'go'), 'w', encoding='utf-8').close()
            said += process.stdout.read()
            process.wait(timeout=SECONDS_MAX)
            self.wait_for(lambda: not os.path.exists('/proc/' + self.noted().strip()))
        return process.returncode, said, os.path.exists(os.path.join(self.folder, 'whole'))

    def test_control_c_ends_what_apt_has_started(self):
        self.script('apt-get', '#!/bin/sh\n(trap "" INT; echo $$ >> "$NOTES"; exec sleep 100) &\n'
                    'echo $! >> "$NOTES"\nwait\n')
        with self.start('setup') as process:
            self.wait_for(lambda: self.noted().count('\n') == 2)
            os.killpg(process.pid, signal.SIGINT)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
        for pid in self.noted().split():
            self.wait_for(lambda number=pid: any_server.has_ended(int(number)))

    def test_control_c_lets_dpkg_come_to_its_end(self):
        code, said, whole = self.interrupted('Unpacking a package ...')
        self.assertEqual((code, whole), (130, True), said)


class Python(Bare):
    """The machine has no Python yet."""

    def setUp(self):
        super().setUp()
        self.copy_sources()
        os.remove(os.path.join(self.bin, 'python3'))
        os.symlink(shutil.which('ln'), os.path.join(self.bin, 'ln'))
        self.script('apt-get', NOTES + 'case "$*" in *install*) ln -s %s "%s/python3" ;; esac\n'
                    % (PYTHON, self.bin))
        self.script('id', '#!/bin/sh\necho 0\n')

    def test_a_command_installs_it_and_goes_on(self):
        code, said = self.process('test', 'nosuch')
        self.assertEqual(code, 1)
        self.assertIn('lab: installing the Debian package python3\n', said)
        self.assertIn("no test part 'nosuch'", said)
        self.assertRegex(self.noted(), r'apt-get update\n.*apt-get .*install .*python3\n$')
