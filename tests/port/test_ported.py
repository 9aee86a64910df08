"""What the inserted code does: small trees of 2.x with all recipes, compiled and run."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from small_trees import HERE, SmallTree, build

DOTTED = {'journalSkipCompressionBytes': 'skipCompressionBytes', 'journalCompressor': 'compressor',
          'journalPadBytes': 'padBytes', 'journalPreallocate': 'preallocate',
          'journalFileMB': 'fileMB', 'journalCommitDelay': 'commitDelay',
          'journalCumulativeStats': 'cumulativeStats', 'journalCommitInterval': 'commitIntervalMs',
          'journalWaiterCommits': 'waiterCommits', 'journalOpenGateBytes': 'openGateBytes',
          'journalNoWriteThrough': 'noWriteThrough', 'dbpath': None}


class Ported:
    """The program of a version's tree, with all recipes or none, and a directory to run it in."""

    programs = {}

    def __init__(self, version):
        self.version = version
        if version not in self.programs:
            with SmallTree(version) as small:
                small.port()
                program = os.path.join(tempfile.mkdtemp(prefix='ported-'), 'ported')
                flag = '#define HAS_MONGOD_OPTIONS\n' if version == '2.6' else ''
                with open(os.path.join(HERE, 'ported.cpp'), encoding='utf-8') as file:
                    text = flag + file.read()
                small.write('main.cxx', text)
                errors = build(small, os.path.join(small.root, 'main.cxx'), program)
                assert not errors, errors
                self.programs[version] = program
        self.folder = tempfile.mkdtemp(prefix='ported-journal-')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, options, actions):
        """(exit code, output); options by their command-line names."""
        words = []
        for name, value in dict(options, dbpath=self.folder).items():
            if self.version == '2.6':
                name = 'storage.journal.' + DOTTED[name] if DOTTED[name] else 'storage.dbPath'
            words.append('%s=%s' % (name, value))
        run = subprocess.run([self.programs[self.version], self.folder] + words + ['--']
                             + actions.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=300)
        return run.returncode, run.stdout

    def path(self, name):
        return os.path.join(self.folder, name)


def number(name, text):
    return float(re.search(r'\b%s: ([\d.]+)' % name, text)[1])


class Behaviour(unittest.TestCase):
    versions = ('2.4', '2.6')

    @classmethod
    def tearDownClass(cls):
        for program in Ported.programs.values():
            shutil.rmtree(os.path.dirname(program))
        Ported.programs.clear()

    def ran(self, options, actions, code=0):
        """[output of each version]; each must have ended with this code."""
        outputs = []
        for version in self.versions:
            with Ported(version) as ported:
                found, output = ported.run(options, actions)
                self.assertEqual(found, code, (version, options, output))
                outputs.append(output)
        return outputs

    def test_defaults_change_nothing(self):
        for output in self.ran({}, 'start ask ask read report'):
            self.assertIn('version 49 41', output)
            self.assertIn('sections 2 bytes %d' % (8192 + 2 * 8192), output)
            self.assertIn('tag', output)
            for name in ('cumulativeStats', 'unitBytes', 'stored', 'uncompressed', 'IntervalMs'):
                self.assertNotIn(name, output)

    def test_bad_values_end_the_start_with_2(self):
        for name, value in (('journalPadBytes', '512'), ('journalCompressor', 'zlib'),
                            ('journalSkipCompressionBytes', '1048577'),
                            ('journalPreallocate', 'yes'), ('journalFileMB', '4097'),
                            ('journalCommitInterval', '300.5'), ('journalCommitInterval', '-1')):
            for output in self.ran({name: value}, '', code=2):
                self.assertIn('--' + name, output)

    def test_sections_of_4096_are_written_and_read(self):
        for output in self.ran({'journalPadBytes': '4096'}, 'start ask ask ask read report'):
            self.assertIn('version 4a 41', output)
            self.assertIn('sections 3 bytes %d' % (8192 + 3 * 4096), output)
            self.assertIn('unitBytes: 4096', output)

    def test_stored_sections(self):
        # Ten raw bytes: the varint is 0a, the tag of a literal of ten 24.
        for options in ({'journalCompressor': 'none'}, {'journalSkipCompressionBytes': '68'}):
            for output in self.ran(options, 'start ask read report'):
                self.assertIn('tag 24 a', output)
                self.assertIn('Bytes: 10', output)
        for output in self.ran({'journalSkipCompressionBytes': '67'}, 'start ask read report'):
            self.assertIn('tag 73 43', output)  # 's' of "some bytes" after the mark 'C'
            self.assertIn('storedSections: 0', output)

    def test_preallocation(self):
        for version in self.versions:
            with Ported(version) as ported:
                ported.run({'journalPreallocate': 'always'}, 'start ask')
                names = sorted(os.path.basename(p) for p in glob.glob(ported.path('*')))
                self.assertEqual(names, ['j._0', 'prealloc.1', 'prealloc.2'])
                self.assertGreaterEqual(os.path.getsize(ported.path('j._0')), 1 << 20)
                os.truncate(ported.path('prealloc.1'), 4096)
                with open(ported.path('prealloc.2'), 'wb') as file:
                    file.truncate(1 << 20)  # a hole
                # Recovery recycles j._0 into the free slot; the others are written anew.
                ported.run({'journalPreallocate': 'always'}, 'start')
                for name in ('j._0', 'prealloc.1', 'prealloc.2'):
                    info = os.stat(ported.path(name))
                    self.assertGreaterEqual(info.st_size, 1 << 20)
                    self.assertGreaterEqual(info.st_blocks * 512, 1 << 20, name)
                # Never: those of an earlier run stay, and none is used.
                ported.run({'journalPreallocate': 'never'}, 'start ask')
                self.assertLess(os.path.getsize(ported.path('j._0')), 1 << 20)
                self.assertTrue(os.path.exists(ported.path('prealloc.1')))
                # Auto: files of an earlier run decide, as ever.
                os.unlink(ported.path('j._0'))
                ported.run({}, 'start')
                self.assertGreaterEqual(os.path.getsize(ported.path('j._0')), 1 << 20)
            with Ported(version) as ported:
                ported.run({}, 'start ask')
                self.assertFalse(glob.glob(ported.path('prealloc.*')))
            with Ported(version) as ported:
                os.mkdir(ported.path('prealloc.1'))
                self.assertEqual(ported.run({'journalPreallocate': 'always'}, 'start')[0], 0)

    def test_files_of_a_chosen_size(self):
        for version in self.versions:
            for value, megabytes in (('0', 1), ('2', 2)):
                with Ported(version) as ported:
                    ported.run({'journalPreallocate': 'always', 'journalFileMB': value}, 'start')
                    for name in ('j._0', 'prealloc.1', 'prealloc.2'):
                        self.assertEqual(os.path.getsize(ported.path(name)) >> 20, megabytes)

    def test_totals(self):
        for output in self.ran({'journalCumulativeStats': 'true'},
                               'start ask ask early report appends'):
            self.assertEqual(number('earlyCommits', output[output.index('cumulativeStats'):]), 1)
            total = output[output.index('cumulativeStats'):]
            self.assertEqual(number('sections', total), 2)
            self.assertEqual(number('acknowledgedWaiters', total), 2)
            self.assertEqual(number('journaledBytes', total), 2 * 8192)
            self.assertEqual(number('uncompressedBytes', total), 20)
            self.assertEqual(number('paddingBytes', total), 2 * (8192 - 20 - 11 - 32))
            # Two sections and the file's header, and the speed test of 5 appends.
            self.assertEqual(number('syncCalls', total), 8)
            self.assertEqual(number('syncCalls', total),
                             int(re.search(r'appends (\d+)', output)[1]))
            self.assertEqual(len(re.findall('p99Micros', total)), 4)
            self.assertEqual(number('count', total[total.index('writeToJournal'):]), 2)

    def test_by_demand_all_are_served_and_nothing_done_while_idle(self):
        for interval in ('0', '0.5', '1.9'):
            for output in self.ran({'journalCommitInterval': interval,
                                    'journalCumulativeStats': 'true'},
                                   'start ask asks 1 asks 8 report idle idle report'):
                first, second = [line for line in output.split('\n') if 'cumulativeStats' in line]
                self.assertEqual(number('acknowledgedWaiters', first), 1 + 50 + 400)
                total = [line[line.index('cumulativeStats'):] for line in (first, second)]
                self.assertEqual(number('commits', total[0]), number('commits', total[1]))
                self.assertIn('journalCommitIntervalMs: ' + interval, first)

    def test_by_demand_writes_without_a_waiter_are_committed(self):
        for interval in ('0', '0.5'):
            for output in self.ran({'journalCommitInterval': interval},
                                   'start ask write committed read'):
                self.assertIn('sections 2', output)

    def test_commits_by_demand_are_delayed_by_option(self):
        asked = {'journalCommitInterval': '0', 'journalCumulativeStats': 'true'}
        for output in self.ran(dict(asked, journalCommitDelay='true'),
                               'start asks 1 report asks 8 report'):
            one, eight = [line for line in output.split('\n') if 'cumulativeStats' in line]
            self.assertEqual(number('delays', one), 0, 'a lone client has no group')
            self.assertGreater(number('delays', eight), 0)
            self.assertGreater(number('complete', eight), 0)
            self.assertEqual(number('acknowledgedWaiters', eight), 50 + 400)
        for output in self.ran(asked, 'start asks 8 report'):
            self.assertNotIn('commitDelay', output)

    def test_quick_commits_do_not_remap_more_often(self):
        for output in self.ran({'journalCommitInterval': '0', 'journalCumulativeStats': 'true'},
                               'start asks 2 report remaps'):
            total = output[output.index('cumulativeStats'):]
            self.assertLessEqual(int(re.search(r'remaps (\d+)', output)[1]),
                                 number('commits', total) / 10)

    def test_a_lone_waiter_commits_for_itself(self):
        for interval in ({}, {'journalCommitInterval': '0'}):
            options = dict(interval, journalWaiterCommits='true', journalCumulativeStats='true')
            for output in self.ran(options, 'start asks 1 report asks 8 report'):
                one, eight = [line for line in output.split('\n') if 'cumulativeStats' in line]
                # The journal thread may have been at it once in a while.
                self.assertGreater(number('made', one), 10)
                for line, waiters in ((one, 50), (eight, 450)):
                    self.assertEqual(number('made', line) + number('left', line), waiters)
                    self.assertEqual(number('acknowledgedWaiters', line), waiters)
                self.assertGreater(number('left', eight), 0)

    def test_writers_pass_a_commit_up_to_the_bound(self):
        for output in self.ran({'journalOpenGateBytes': '52428800'}, 'start asks 4 read report'):
            self.assertEqual(number('stopped', output), 0)
            self.assertEqual(number('passed', output), 200)
        for output in self.ran({'journalOpenGateBytes': '1'}, 'start declare declare report'):
            self.assertEqual(number('passed', output), 1)
            self.assertEqual(number('stopped', output), 1)

    def test_write_through_is_a_matter_of_windows(self):
        with Ported('2.4') as ported:
            code, output = ported.run({'journalNoWriteThrough': 'true'}, '')
            self.assertEqual(code, 2)
            self.assertIn('only on Windows', output)

    def test_at_run_time(self):
        for output in self.ran({}, 'start interval 0 ask idle report interval 5 ask report '
                               'interval 0.25 ask report'):
            shown = re.findall(r'{journalCommitInterval: (\S+)}', output)
            self.assertIn(shown, (['0', '5', '0.25'], ['0', '5', '0']))  # the latter is 2.4
            self.assertEqual(re.findall(r'journalCommitIntervalMs: ([\d.]+)', output),
                             ['0', '5', '0.25'])
        for version in self.versions:
            for value in ('-1', '500', 'nan'):
                with Ported(version) as ported:
                    self.assertNotEqual(ported.run({}, 'interval ' + value)[0], 0)
