"""Checks what is made from the descriptions of the options: docs/options.md is what the two
programs say, the page for man is well-formed, bash completes, and the headers of the patches agree.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import options_page
import program_version
import server
import staging

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SELECTIONS = ('none', 'all')


def setUpModule():
    for selection in SELECTIONS:
        server.build(selection, '', ['mongod'])


def program_of(selection):
    return os.path.join(server.folder_of(selection), 'bin', 'mongod')


def described(selection, form='markdown'):
    return options_page.described(program_of(selection), form)


def names_in_help(selection):
    text = subprocess.run([program_of(selection), '--help'], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return re.findall(r'^  (?:-\w, )?--(\w+)', text, re.M)


class OptionsPage(unittest.TestCase):
    def test_the_committed_page_is_what_the_programs_say(self):
        committed = pathlib.Path(os.path.join(TOP, 'docs', 'options.md')).read_text('utf-8')
        self.assertEqual(committed, options_page.page(*map(described, SELECTIONS)),
                         'run ./lab docs')

    def test_it_has_every_option_once(self):
        for selection in SELECTIONS:
            page = described(selection)
            for name in names_in_help(selection):
                self.assertEqual(page.count('\n### --%s\n' % name), 1, name)

    def test_the_base_speaks_of_no_patch(self):
        page = described('none')
        for slug in staging.series(TOP):
            self.assertNotIn(slug, page)


class PatchHeaders(unittest.TestCase):
    def test_fields_agree_with_the_program(self):
        blocks = options_page.blocks(described('all'))
        for slug in staging.series(TOP):
            with self.subTest(slug=slug):
                fields = staging.header_fields(os.path.join(TOP, 'patches', slug + '.patch'))
                block = blocks['### --' + fields['Option']]
                self.assertIn('`%s`' % fields['Yaml'], block)
                self.assertRegex(block, r'- Patch: .*`%s`' % slug)
                self.assertIn('- Default: %s\n' % fields['Default'], block + '\n')


class Values(unittest.TestCase):
    """What a page says that an option takes is what the program takes, by every way to give it."""

    TAKEN, REFUSED = 100, 2  # exit codes: the dbpath of these tests does not exist
    # They end the program before it looks; need a file or an option beside them; take a level in
    # other forms; are of an engine that only some builds have (jstests/engines/).
    OTHERS = ('--help', '--version', '--describe', '--tlsMode', '--clusterAuthMode', '--oplogSize',
              '--verbose', '--rocksdbCacheSizeGB', '--rocksdbConfigString',
              '--wiredTigerCacheSizeGB', '--wiredTigerEngineConfigString',
              # What a number promises may not be here: jstests/options/startup.js.
              'announcedMaxWireVersion')

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = os.path.join(folder.name, 'mongod.conf')

    @staticmethod
    def samples(facts):
        """(values that are taken, values that are not), by the line of an option's values."""
        said = re.search(r'^- Values: (.*)$', facts, re.M)[1]
        number = re.match(r'a (whole )?number(?: from (-?\d+))?(?: to (\d+))?', said)
        if number:
            least, most = ([int(each)] if each else [] for each in number.groups()[1:])
            return (least + most, [each - 1 for each in least] + [each + 1 for each in most]
                    + ['x', '0x10', '8k', ''] + ['1.5'] * bool(number[1]))
        if said == 'on or off':
            return [], ['12x']
        if said.startswith('text'):
            return [], []
        return re.split(', | or ', said), ['nosuch']

    @staticmethod
    def nested(path, value):
        """A value in YAML, below a name with dots."""
        *outer, last = path.split('.')
        return ''.join('%s%s:\n' % ('  ' * depth, name) for depth, name in enumerate(outer)) \
            + "%s%s: %s\n" % ('  ' * len(outer), last, value if value != '' else "''")

    def ways(self, heading, facts, value):
        """(what it is called in a failure, words, text of a configuration file) for each way."""
        name = heading.removeprefix('### ')
        if not name.startswith('--'):
            yield 'parameter', ['--setParameter=%s=%s' % (name, value)], ''
            return
        yield 'command line', ['%s=%s' % (name, value)], ''
        yaml = re.search(r'^- YAML: `([^`]+)`$', facts, re.M)
        if yaml:
            yield 'YAML', [], self.nested(yaml[1], value)

    def exit_code(self, program, words, text):
        if text:
            pathlib.Path(self.config).write_text(text, 'utf-8')
            words = ['--config', self.config]
        return subprocess.run([program, '--dbpath', '/nosuch', *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode

    def test_limits_are_those_of_the_page(self):
        for selection in SELECTIONS:
            program = program_of(selection)
            tried = 0
            for heading, facts in options_page.blocks(described(selection)).items():
                taken, refused = self.samples(facts)
                if heading.removeprefix('### ') in self.OTHERS:
                    continue
                for code, values in ((self.TAKEN, taken), (self.REFUSED, refused)):
                    for value in values:
                        for way, words, text in self.ways(heading, facts, value):
                            tried += 1
                            with self.subTest([selection, heading, way, value]):
                                self.assertEqual(self.exit_code(program, words, text), code)
            self.assertGreater(tried, 200)

    def test_what_means_nothing_is_refused_by_every_way(self):
        for words, text in ((['--nosuch'], ''), (['--setParameter=nosuch=1'], ''),
                            (['--config', '/nosuch/file'], ''), (['--storageEngine=other'], ''),
                            (['--journal', '--nojournal'], ''), (['--fork'], ''),
                            ([], 'storage:\n  nosuch: 1\n'), ([], 'nosuch = 1\n'),
                            ([], 'storage: [\n')):
            with self.subTest([words, text]):
                self.assertEqual(self.exit_code(program_of('none'), words, text), self.REFUSED)


class ManPage(unittest.TestCase):
    def test_names_the_version(self):
        for selection in SELECTIONS:
            self.assertIn('"mongod\\-dur %s"' % program_version.read(TOP),
                          described(selection, 'man').split('\n')[0])

    def test_has_every_option(self):
        for selection in SELECTIONS:
            page = described(selection, 'man')
            for name in names_in_help(selection):
                self.assertIn('\\fB\\-\\-%s\\fR' % name, page)

    @unittest.skipUnless(shutil.which('groff'), 'groff is not installed')
    def test_is_taken_without_a_warning(self):
        for selection in SELECTIONS:
            run = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-rLL=100n'],
                                 input=described(selection, 'man'), text=True,
                                 capture_output=True, check=True)
            self.assertEqual(run.stderr, '')
            self.assertIn('storage.dbPath', run.stdout)


class Completion(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(self.folder, 'data'))
        with open(os.path.join(self.folder, 'data.conf'), 'w', encoding='utf-8'):
            pass

    def complete(self, *words, selection='all'):
        """What bash offers for the last word."""
        script = described(selection, 'bash') + '''
compopt() { :; }  # only where bash itself completes
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_mongod
printf '%s\\n' "${COMPREPLY[@]}"
'''
        run = subprocess.run(['bash', '-u', '-c', script, 'bash', 'mongod', *words],
                             cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        return run.stdout.split()

    def test_names_of_options(self):
        self.assertEqual(self.complete('--dbp'), ['--dbpath'])
        self.assertEqual(sorted(self.complete('--')),
                         sorted('--' + name for name in names_in_help('all')))
        self.assertEqual(self.complete('--journalPad'), ['--journalPadBytes'])
        self.assertEqual(self.complete('--journalPad', selection='none'), [])
        self.assertEqual(self.complete('--configs'), [], 'refused')

    def test_values(self):
        self.assertEqual(self.complete('--timeStampFormat', 'iso'),
                         ['iso8601-utc', 'iso8601-local'])
        self.assertEqual(self.complete('--journalPreallocate', ''), ['auto', 'always', 'never'])
        self.assertEqual(self.complete('--dbpath', 'da'), ['data'])
        self.assertEqual(sorted(self.complete('-f', 'da')), ['data', 'data.conf'])
        self.assertEqual(self.complete('--port', ''), [])
        self.assertEqual(self.complete('--setParameter', 'ttl'), ['ttlMonitorEnabled='])
        self.assertEqual(self.complete('--smallfiles', '--dbp'), ['--dbpath'])
