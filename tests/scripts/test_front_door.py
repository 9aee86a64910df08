"""The front door, ./lab, on a machine where nothing is installed: what it says, asks for, waits for
and leaves behind. Programs that install are replaced by scripts that note what they were asked.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = ['run', 'test', 'serve', 'shell', 'trace', 'bench', 'report', 'crash', 'pr', 'port',
            'docs', 'package', 'setup']
SECONDS_MAX = 60  # only ends what hangs

# Besides those of the shell, what ./lab may use before anything is installed.
PROGRAMS = ['bash', 'cat', 'cmp', 'cp', 'cut', 'dirname', 'env', 'flock', 'grep', 'head', 'id',
            'kill', 'mkdir', 'readlink', 'rm', 'sed', 'sleep', 'tail', 'touch', 'tr']
NOTHING_INSTALLED = '#!/bin/sh\nexit 1\n'
NOTES = '#!/bin/sh\necho "$0 $*" >> "$NOTES"\n'


def has_ended(pid):
    """Whether a process is gone, or only waits for its parent's look."""
    try:
        with open('/proc/%s/stat' % pid, encoding='ascii') as file:
            return file.read().rsplit(')', 1)[1].split()[0] == 'Z'
    except OSError:
        return True


class FrontDoor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='door-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.top = os.path.join(self.folder, 'checkout')
        shutil.copytree(os.path.join(TOP, 'setup'), os.path.join(self.top, 'setup'))
        for name in ('lab', 'patches/series', 'tests/parts.txt', 'perf/load_client.c', 'perf/ab.py',
                     'perf/base.py', 'perf/write_through.py'):
            os.makedirs(os.path.dirname(os.path.join(self.top, name)), exist_ok=True)
            shutil.copy(os.path.join(TOP, name), os.path.join(self.top, name))
        os.makedirs(os.path.join(self.top, 'patches', 'upstream'))
        with open(os.path.join(self.top, 'patches', 'series'), encoding='utf-8') as file:
            self.slugs = re.findall(r'^([a-z0-9-]+)\.patch', file.read(), re.MULTILINE)
        for slug in self.slugs:
            open(os.path.join(self.top, 'patches', slug + '.patch'), 'w', encoding='utf-8').close()
        self.bin = os.path.join(self.folder, 'bin')
        os.makedirs(self.bin)
        for name in PROGRAMS:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.notes = os.path.join(self.folder, 'notes')
        self.script('dpkg-query', NOTHING_INSTALLED)
        self.script('apt-get', NOTES)

    def script(self, name, text):
        path = os.path.join(self.bin, name)  # of an absolute name, that
        if os.path.lexists(path):
            os.remove(path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)

    def be_an_ordinary_user(self):
        """Not root, whichever user runs the test."""
        self.script('id', '#!/bin/sh\necho 1000\n')

    def start(self, *words):
        return subprocess.Popen(
            [os.path.join(self.top, 'lab'), *words], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
            # Tests started in the background ignore Ctrl-C, and their children do too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={'PATH': self.bin, 'HOME': self.folder, 'NOTES': self.notes})

    def lab(self, *words):
        """(exit code, what it says)."""
        with self.start(*words) as process:
            said, _ = process.communicate(timeout=SECONDS_MAX)
            return process.returncode, said

    def noted(self):
        if not os.path.exists(self.notes):
            return ''
        with open(self.notes, encoding='utf-8') as file:
            return file.read()

    def wait_for(self, condition):
        limit = time.monotonic() + SECONDS_MAX
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def read_until(self, process, text):
        said = ''
        while text not in said:
            line = process.stdout.readline()
            self.assertTrue(line, said)
            said += line
        return said

    # ---- help ----

    def test_help_installs_nothing(self):
        for words in [['--help'], ['-h'], ['help'], *([name, flag] for name in COMMANDS
                                                      for flag in ('--help', '-h')),
                      *(['help', name] for name in COMMANDS), ['run', '--rounds', '1', '--help'],
                      ['test', 'unit', '--help'], ['bench', 'insert', '-h'],
                      ['trace', 'chain', '--help']]:
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual((code, said[:6]), (0, './lab '), said)
        self.assertEqual(self.noted(), '')
        self.assertFalse(os.path.exists(os.path.join(self.top, 'build')))

    def test_help_behind_an_experiment_is_what_its_script_says(self):
        os.makedirs(os.path.join(self.top, 'perf'), exist_ok=True)
        for word, script in (('write-concern', 'write_concern'), ('linkbench', 'linkbench'),
                             ('append', 'append'), ('sweep', 'sweep'), ('growth', 'growth'),
                             ('peers', 'compare'), ('iibench', 'insert_benchmark')):
            shutil.copy(os.path.join(TOP, 'perf', script + '.py'), os.path.join(self.top, 'perf'))
            for words in (['bench', word, '--help'], ['help', 'bench', word],
                          ['bench', word, '--rounds', '1', '-h']):
                with self.subTest(words):
                    code, said = self.lab(*words)
                    self.assertEqual(code, 0)
                    self.assertTrue(said.startswith('./lab bench %s [OPTION...]\n\nQuestion: '
                                                    % word), said)
                    self.assertRegex(said, r'(?m)^Usage:    \./lab bench %s \[--' % word)
        self.assertEqual(self.noted(), '')

    def test_help_lists_every_part_of_the_tests(self):
        said = self.lab('test', '--help')[1]
        with open(os.path.join(TOP, 'tests', 'parts.txt'), encoding='utf-8') as file:
            parts = [line.split('|')[0].strip() for line in file if re.match(r'[a-z]', line)]
        self.assertGreater(len(parts), 15)
        for part in parts:
            self.assertRegex(said, r'(?m)^  %s ' % re.escape(part))

    # ---- words that mean nothing ----

    def test_a_wrong_option_of_an_experiment_is_answered_with_the_right_ones(self):
        for word, script, known in (('linkbench', 'linkbench', ['--nodes', '--server', '--lazy']),
                                    ('sweep', 'sweep', ['--what', '--device-delay']),
                                    ('iibench', 'insert_benchmark', ['--rows'])):
            shutil.copy(os.path.join(TOP, 'perf', script + '.py'), os.path.join(self.top, 'perf'))
            code, said = self.lab('bench', word, '--rounds=2', '--nosuch', '1')
            self.assertEqual(code, 1)
            for each in ["no option '--"] + known:
                self.assertIn(each, said)
        self.assertEqual(self.noted(), '')

    def test_a_wrong_word_is_answered_with_the_right_ones_before_anything_is_installed(self):
        for words, answers in ((['nosuch'], ['--help']), (['test', 'nosuch'], ['unit', 'arm64']),
                               (['test', 'unit', 'js', '--', 'nosuch'], ['exactly one part']),
                               (['serve', 'nosuch'], self.slugs), (['docs', 'nosuch'], self.slugs),
                               (['serve', 'upto:nosuch'], self.slugs),
                               (['serve', self.slugs[0] + ',nosuch'], self.slugs),
                               (['package', 'nosuch'], self.slugs), (['pr', 'nosuch'], self.slugs),
                               (['bench', self.slugs[0], 'nosuch'], self.slugs),
                               (['bench', 'nosuch'], self.slugs),
                               (['run', '--nosuch', '1'], ['--seconds', '--rounds', '--server']),
                               (['run', 'nosuch'], ['--seconds', '--rounds', '--server']),
                               (['run', '--rounds', '1', 'nosuch'], ["'nosuch'", '--rounds']),
                               (['crash', 'all', 'nosuch'], ['--states', '--at']),
                               (['crash', '--log', 'nosuch'], ["'nosuch'", '--at']),
                               (['crash', '-x'], ['--states', '--at']),
                               (['bench'], ['linkbench', 'WORKLOAD'] + self.slugs),
                               (['bench', '--rounds', '1'], ['linkbench'] + self.slugs),
                               (['bench', '.*'], self.slugs),
                               (['bench', 'insert', '--nosuch=1'], ['--clients', '--old-wire']),
                               (['bench', 'base', '--nosuch'], ['--rounds', '--server']),
                               (['bench', 'all', '--nosuch'], ['--runs', '--headers']),
                               (['bench', self.slugs[0], '--nosuch'], ['--runs', '--scratch']),
                               (['bench', 'windows-journal-no-write-through', '--nosuch'],
                                ['--appends', '--headers']),
                               (['setup', 'nosuch'], ['unit', 'arm64']),
                               (['setup', 'unit', '--', 'x'], ["'--'"]),
                               (['trace', 'nosuch'], ['writes', 'stages'])):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertIn(code, (1, 2))
                for answer in answers:
                    self.assertIn(answer, said)
        self.assertEqual(self.noted(), '')

    def test_behind_a_dash_a_word_without_meaning_is_refused_too(self):
        for words, answers in ((['run'], ['--seconds']), (['test'], ['one part']),
                               (['serve'], ['--help']), (['serve', 'none'], ['--help']),
                               (['trace'], ['which process']),
                               (['bench'], ['linkbench'] + self.slugs), (['crash'], ['--states']),
                               (['pr'], self.slugs), (['docs'], self.slugs),
                               (['package'], self.slugs), (['setup'], ["'--'"])):
            with self.subTest(words):
                code, said = self.lab(*words, '--', 'nosuch')
                self.assertIn(code, (1, 2))
                self.assertTrue(said.startswith('lab: '), said)
                for answer in answers:
                    self.assertIn(answer, said)
        self.assertEqual(self.noted(), '')

    def test_what_means_something_goes_on_to_installing(self):
        for words in (['run', '--rounds', '1', '--device-delay', '8', '--server', 'x=y --port 1'],
                      ['crash', 'none', '--states', '10', '--at', '1:2', '--log', '--seed=3'],
                      ['bench', 'insert', '--clients', '8', '--seconds=5'],
                      ['bench', self.slugs[0], self.slugs[1], '--runs', '1', '--headers'],
                      ['bench', 'windows-journal-no-write-through', '--headers'],
                      ['serve', '--', '--port', '1'], ['setup', 'unit', 'js']):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertRegex(said, r'lab: installing \d+ Debian packages')
                self.assertNotIn('no option', said)

    def test_a_part_of_the_tests_gets_what_it_needs_and_no_more(self):
        self.all_is_installed()
        self.build_folder_is_filled()
        needs = {'clients': 'golang-go', 'clients-secured': 'golang-go', 'windows': 'wine64',
                 'tidy': 'clang-tidy', 'arm64': 'qemu-user-static', 'docker': 'buildah',
                 'package': 'lintian', 'fuzz': 'clang-16'}
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
                    code, said = self.lab(command, *words)
                    self.assertEqual(code, 0, said)
                    asked = {package for package in needs.values() if package in self.noted()}
                    self.assertEqual(asked, wanted)

    def test_a_server_waits_for_no_tools_of_the_tests(self):
        self.all_is_installed()
        self.script('dpkg-query', NOTHING_INSTALLED)
        self.lab('serve')
        self.assertRegex(self.noted(), r'install .* g\+\+ ')
        self.assertNotIn(' npm ', self.noted())
        os.remove(self.notes)
        self.lab('shell')
        self.assertRegex(self.noted(), r'install .* g\+\+ .* npm ')

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

    def test_words_that_nothing_would_look_at_are_refused(self):
        for words in (['docs', 'all', 'x'], ['package', 'none', 'x'], ['setup', 'x'],
                      ['serve', 'none', self.slugs[0]], ['serve', self.slugs[0], self.slugs[1]],
                      ['crash', '--nosuch'], ['help', 'nosuch'], ['trace'], ['trace', 'waits'],
                      ['trace', '--seconds', 'x']):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 1, said)
                self.assertRegex(said, "^lab: .*('|process|selection)")
        self.assertEqual(self.noted(), '')

    # ---- where it is called from ----

    def test_a_link_to_it_will_do(self):
        link = os.path.join(self.folder, 'link')
        os.symlink(os.path.join(self.top, 'lab'), link)
        run = subprocess.run([link, 'test', 'nosuch'], cwd='/', stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False,
                             env={'PATH': self.bin, 'HOME': self.folder, 'CDPATH': self.folder})
        self.assertIn("no test part 'nosuch'", run.stdout)

    def all_is_installed(self):
        """For tests of what comes after installing: what is built says its words."""
        self.script('dpkg-query', '#!/bin/sh\necho installed\n')
        self.script('python3', '#!/bin/sh\ncase "$*" in *staging.py*) echo all ;; esac\n')
        self.script('scons', NOTES)
        built = os.path.join(self.top, 'build', 'all', 'bin')
        os.makedirs(built)
        self.script(os.path.join(built, 'mongod'), '#!/bin/sh\necho "mongod $*"\n')

    def build_folder_is_filled(self):
        """What goes into build/ seems to be there."""
        for at, list_ in (('venv/installed.txt', 'python.txt'),
                          ('venv-old-driver/installed.txt', 'python-old-driver.txt'),
                          ('venv-mappers/installed.txt', 'python-mappers.txt'),
                          ('venv-docker/installed.txt', 'python-docker.txt'),
                          ('windows-libs/installed.txt', 'windows/libraries.txt'),
                          ('arm64-libs/installed.txt', 'arm64/libraries.txt'),
                          *((name + '/installed.json', name + '/package-lock.json')
                            for name in ('mongosh', 'node', 'node-clients', 'node-apps')),
                          ('mongosh/node_modules/mongosh/bin/mongosh.js', 'apt.txt')):
            path = os.path.join(self.top, 'build', at)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(TOP, 'setup', list_), path)
        self.script('node', '#!/bin/sh\necho 20\n')

    def test_data_is_where_an_option_or_the_configuration_says(self):
        self.all_is_installed()
        for text in ('storage:\n  dbPath: /srv/a\n', 'dbpath = /srv/a\n',
                     'storage: {dbPath: /srv/a}\n'):
            with open(os.path.join(self.folder, 'own.conf'), 'w', encoding='utf-8') as file:
                file.write(text)
            for words in (['--config', 'own.conf'], ['--config=own.conf'], ['-f', 'own.conf'],
                          ['--port', '1', '--config', 'own.conf'], ['--dbpath', 'x'],
                          ['--dbpath=x']):
                with self.subTest([text, words]):
                    code, said = self.lab('serve', *words)
                    self.assertEqual(code, 0, said)
                    self.assertIn('mongod %s\n' % ' '.join(words), said)
        with open(os.path.join(self.folder, 'own.conf'), 'w', encoding='utf-8') as file:
            file.write('# dbPath is elsewhere\nnet: {port: 1}\n')
        for words in ([], ['--config', 'own.conf'], ['-f', 'nosuch'], ['--port', '1']):
            said = self.lab('serve', *words)[1]
            self.assertIn('mongod --dbpath %s/data' % self.top, said)

    def test_control_c_while_compiling_is_no_failure(self):
        self.all_is_installed()
        self.script('scons', '#!/bin/sh\ntrap "exit 2" INT\necho "$$" >> "$NOTES"\n'
                    'while :; do sleep 0.05; done\n')
        with self.start('serve') as process:
            self.wait_for(lambda: self.noted().endswith('\n'))
            os.killpg(process.pid, signal.SIGINT)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
        self.assertIn('lab: stopped', said)
        self.assertNotIn('failed', said)

    # ---- installing ----

    def test_a_folder_of_another_user_is_answered_in_a_sentence(self):
        self.script('mkdir', '#!/bin/sh\nexit 1\n')  # root may write anywhere
        for words in (['serve'], ['run'], ['test', 'unit'], ['shell'], ['report'], ['setup']):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 1)
                self.assertRegex(said, r'^lab: cannot make .*/build: ')
        self.assertEqual(self.noted(), '')

    def test_without_root_and_sudo_it_says_so(self):
        self.be_an_ordinary_user()
        for words in (['run'], ['pr', self.slugs[0]], ['setup']):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 1)
                self.assertIn('become root or install sudo', said)
        self.assertEqual(self.noted(), '')

    def test_with_sudo_apt_is_run_by_it(self):
        self.be_an_ordinary_user()
        self.script('sudo', '#!/bin/sh\n[ "$1" != -v ] || exit 0\necho "sudo $*" >> "$NOTES"\n'
                            'exec "$@"\n')
        self.lab('pr', self.slugs[0])
        self.assertRegex(self.noted(), r'(?m)^sudo apt-get .* update$')
        self.assertRegex(self.noted(), r'(?m)^sudo env .*apt-get .* install .*python3')

    def test_a_failure_shows_what_the_program_said(self):
        self.script('apt-get', '#!/bin/sh\necho "E: no such place"\nexit 100\n')
        code, said = self.lab('pr', self.slugs[0])
        self.assertEqual(code, 1)
        self.assertIn('E: no such place', said)
        self.assertIn('setup.log', said)

    def test_it_waits_for_others_at_the_lock_of_the_lists(self):
        self.script('apt-get', '#!/bin/sh\necho "$*" >> "$NOTES"\n'
                    'case "$*" in *update*) ;; *) exit 0 ;; esac\n'
                    '[ ! -e "$HOME/free" ] || exit 0\ntouch "$HOME/free"\n'
                    'echo "E: Could not get lock /var/lib/apt/lists/lock"\nexit 100\n')
        said = self.lab('pr', self.slugs[0])[1]
        self.assertIn('waiting for it', said)
        self.assertEqual(self.noted().count(' update\n'), 2)
        self.assertEqual(self.noted().count(' install '), 1)

    def test_two_at_once_install_one_after_the_other(self):
        self.script('apt-get', NOTES + 'while [ ! -e "$HOME/go" ]; do sleep 0.05; done\n')
        with self.start('pr', self.slugs[0]) as first:
            self.wait_for(lambda: 'update' in self.noted())
            with self.start('pr', self.slugs[0]) as second:
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
        with self.start('pr', self.slugs[0]) as process:
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
        with self.start('pr', self.slugs[0]) as process:
            self.wait_for(lambda: self.noted().count('\n') == 2)
            os.killpg(process.pid, signal.SIGINT)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
        for pid in self.noted().split():
            self.wait_for(lambda number=pid: has_ended(number))

    def test_control_c_ends_apt(self):
        code, said, whole = self.interrupted('Get:1 some package')
        self.assertEqual((code, whole), (130, False), said)
        self.assertIn('stopped', said)

    def test_control_c_lets_dpkg_come_to_its_end(self):
        code, said, whole = self.interrupted('Unpacking a package ...')
        self.assertEqual((code, whole), (130, True), said)


if __name__ == '__main__':
    unittest.main()
