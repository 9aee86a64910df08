"""What ./lab installs, asks for, waits for and leaves behind on a machine where nothing is."""

import os
import shutil
import signal
from unittest import mock

import any_server
from bare import NOTES, PYTHON, TOP, Bare

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
