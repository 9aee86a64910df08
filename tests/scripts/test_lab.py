"""The words of ./lab on a machine where nothing is installed: help comes at once, what means
nothing is answered with what does, and all else goes on to installing.
"""

import os
import re
import subprocess
import unittest
from unittest import mock

from bare import PYTHON, TOP, Bare
from lab import base, bench, clustering, commands, products
import run_cluster
import server

EXPERIMENTS = {
    'linkbench': ['--nodes', '--server', '--uri', '--port', '--old-wire', '--lazy', '--engines',
                  '--memory'],
    'sweep': ['--what', '--device-delay'],
    'iibench': ['--rows', '--server', '--uri', '--old-wire'], 'peers': ['--uri', '--odbc'],
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
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual((asked.returncode, asked.stdout), (0, ''))

    def test_it_lists_every_command_and_every_patch(self):
        said = self.lab('--help')[1]
        for name in commands.ORDER:
            self.assertRegex(said, r'(?m)^\./lab %s ' % name)
        for name in ('serve', 'bench'):
            for slug in self.slugs:
                self.assertIn('  %s\n' % slug, self.lab(name, '--help')[1])


class Words(Bare):
    def test_a_wrong_value_is_answered_in_a_sentence(self):
        for words, part in ((['run', '--rounds', 'x'], "'x' is no number"),
                            (['run', '--rounds'], 'expected one argument'),
                            (['run', '--server', 'x'], 'NAME=PATH'),
                            (['bench', 'sweep', '--what', 'x'], "no sweep 'x'"),
                            (['crash', '--states', 'x'], "'x' is no number"),
                            (['crash', '--at', '7'], "'7' is no H:C"),
                            (['bench', 'iibench', '--port', 'x'], "'x' is no port"),
                            (['trace', '--server', 'x=/nosuch'], "no file '/nosuch'")):
            with self.subTest(words):
                code, said = self.lab(*words)
                self.assertEqual(code, 2)
                self.assertRegex(said, '^lab: argument --[a-z]+: .*--help says more\n$')
                self.assertIn(part, said)
        self.assertEqual(self.noted(), '')

    def test_a_wrong_word_is_answered_with_the_right_ones_before_anything_is_installed(self):
        for words, answers in ((['nosuch'], ['--help']), (['test', 'nosuch'], ['unit', 'arm64']),
                               (['test', 'unit', 'js', '--', 'nosuch'], ['exactly one part']),
                               (['serve', 'nosuch'], self.slugs), (['docs', 'nosuch'], self.slugs),
                               (['serve', 'upto:nosuch'], self.slugs),
                               (['serve', self.slugs[0] + ',nosuch'], self.slugs),
                               (['package', 'nosuch'], self.slugs), (['pr', 'nosuch'], self.slugs),
                               (['bench', self.slugs[0], 'nosuch'], self.slugs),
                               (['bench', 'pears'], ['peers', 'iibench', 'linkbench'] + self.slugs),
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
                               (['bench', self.slugs[0], '--nosuch'], ['--runs', '--keep']),
                               (['bench', bench.WINDOWS_PATCH, '--nosuch'],
                                ['--appends', '--headers']),
                               (['setup', 'nosuch'], ['unit', 'arm64']),
                               (['setup', 'unit', '--', 'x'], ["'--'"]),
                               (['trace', 'nosuch'], ['writes', 'stages'])):
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
                      ['bench', self.slugs[0], self.slugs[1], '--runs', '1', '--headers'],
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
        self.assertEqual(set(parser.options()),
                         set(re.findall(r'^  (--[a-z-]+)', said, re.MULTILINE)))
        for action in parser._actions:  # what takes a value has its name there
            if action.dest != 'help':
                self.assertEqual(action.nargs is None, bool(re.search(
                    r'^  %s [A-Z]' % action.option_strings[0], said, re.MULTILINE)), action)

    def test_the_load_client(self):
        said = self.options_in_help('load_client')
        self.check(bench.load_parser('insert'), said)
        listed = said.split('\n  --')[0]
        self.assertEqual(set(re.findall(r'(?:^|  )([a-z]+_?[a-z]+) {2,}', listed, re.MULTILINE)),
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
