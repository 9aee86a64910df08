"""The list of mutants fits the sources: each one still applies, its test exists, every safety rule
is broken by some, and no call of sync is left out. tests/mutants/run.py runs them."""

import os
import re
import unittest

from test_citations import files_of_patches, gtests_of, rules_of_the_journal
from test_style import TOP, read, tracked_files

import mutants

# Where everything that becomes durable is declared.
SYNCING = ('src/journal/', 'src/storage/mmapv1/', 'src/storage/fsync_lock.cpp', 'src/command/')
ASIDE = ('src/storage/mmapv1/salvage/',)  # writes somewhere else, from files that no server uses
CONTRACT = re.compile(r'^#include "(storage/[\w/]*contract\w*\.h)"', re.M)
SYNC = re.compile(r'(?:^|[.>])(?:sync|sync_data|sync_directory|flush|flush_all|truncate_here)\('
                  r'[^;]*;$')


def room_of(path):
    folder = os.path.dirname(path)
    while not os.path.exists(os.path.join(TOP, folder, 'SConscript')):
        folder = os.path.dirname(folder)
    return os.path.basename(folder)


def with_contracts(text):
    """A test file, with those of the contract suites that it includes."""
    return '\n'.join([text] + [mutants.source('src/' + name) for name in CONTRACT.findall(text)])


def tests_of_rooms():
    """{(room, Suite.Name)} of the whole tree."""
    return {(room_of(name), test) for name in tracked_files()
            if name.startswith('src/') and name.endswith('_test.cpp')
            for test in gtests_of(with_contracts(mutants.source(name)))} | {
                (room_of(name), test) for name, text in files_of_patches().items()
                if name.endswith('_test.cpp') for test in gtests_of(text)}


def syncs_in(text):
    """The statements, without indentation, that make something durable."""
    lines = [line.strip() for line in text.split('\n')]
    return [line for line in lines if SYNC.search(line) and not line.startswith('//')]


SAMPLE = read('tests/tree/mutants_sample.txt')


class Lists(unittest.TestCase):
    def test_samples(self):
        found, kept = mutants.parse(SAMPLE, 'a.txt')
        self.assertEqual([mutant.name for mutant in found], ['first', 'second'])
        self.assertEqual((found[0].room, found[0].test, found[0].path),
                         ('journal', 'A.B', 'src/a.cpp'))
        self.assertEqual(found[0].apply('a();\n  stays();\n\n'.replace('\n\n', '\n  goes();\n')),
                         'a();\nstays();\ncomes();\n')
        self.assertEqual(found[1].apply('    goes();\nb();'), 'b();')
        self.assertEqual(found[0].gtest_filter(), 'A.B:*/A.B/*')
        self.assertEqual((kept[0].path, kept[0].line), ('src/a.cpp', 'x.sync();'))
        for text, times in (('goes();', 'nowhere'), ('stays();\ngoes();\n' * 2, '2 times')):
            with self.assertRaisesRegex(mutants.MutantError, times):
                found[0].apply(text)
        for bad, fault in ((SAMPLE.replace('killer: journal A.B\n', ''), 'lacks its killer'),
                           (SAMPLE.replace('- goes();\n+ comes();\n', ''), 'changes nothing'),
                           ('what\n', 'no mutant begins'), (SAMPLE + 'kept: x\n', 'not FILE'),
                           (SAMPLE.replace('breaks: another', 'campaign: some\nbreaks: another'),
                            'not a number of states')):
            with self.assertRaisesRegex(mutants.MutantError, fault):
                mutants.parse(bad, 'a.txt')

    def test_a_mutant_that_the_campaign_finds(self):
        alone = SAMPLE.replace('killer: journal A.C', 'campaign: 300')
        both = SAMPLE.replace('killer: journal A.C',
                              'killer: journal A.C\ncampaign: none, a reason')
        found = [mutants.parse(text, 'a.txt')[0][1] for text in (alone, both)]
        self.assertEqual([(one.room, one.states, one.no_state) for one in found],
                         [('', 300, ''), ('journal', 0, 'a reason')])
        with self.assertRaisesRegex(mutants.MutantError, 'lacks its killer'):
            mutants.parse(alone.replace('300', 'none, a reason'), 'a.txt')

    def test_a_mutant_of_a_patch(self):
        found, _ = mutants.parse(SAMPLE.replace('mutant: second', 'patch: a-b\n\nmutant: second'),
                                 'a.txt')
        self.assertEqual([(mutant.patch, mutant.selection()) for mutant in found],
                         [('', 'none'), ('a-b', 'all')])

    def test_syncs_are_found(self):
        self.assertEqual(syncs_in('  file->sync();\n// a.sync();\nvoid sync();\n'
                                  '  flush_all(true);\nfiles.open(x)->sync();\nsync_journal();\n'),
                         ['file->sync();', 'flush_all(true);', 'files.open(x)->sync();'])

    def test_every_mutant_applies_and_its_test_exists(self):
        listed, _ = mutants.read_all()
        tests = tests_of_rooms()
        found = []
        for mutant in listed:
            try:
                mutant.apply(mutant.source())
            except (mutants.MutantError, OSError, KeyError) as error:
                found.append(str(error))
            if mutant.room and (mutant.room, mutant.test) not in tests:
                found.append('%s: test_%s has no test %s' % (mutant.where, mutant.room,
                                                             mutant.test))
        self.assertEqual(found, [], '\n' + '\n'.join(found))
        self.assertGreater(len(listed), 100)

    def test_every_safety_rule_is_broken(self):
        listed, _ = mutants.read_all()
        rules = set(rules_of_the_journal())
        broken = {label for mutant in listed for label in re.findall(r'\bJ\d+\b', mutant.breaks)}
        self.assertEqual(broken - rules, set())
        self.assertEqual(rules - broken, set(), 'no mutant breaks these')

    def test_every_sync_has_its_mutant(self):
        listed, kept = mutants.read_all()
        removed = {(mutant.path, line) for mutant in listed for line in mutant.removed}
        kept = {(one.path, one.line) for one in kept}
        there = {(name, line) for name in tracked_files() if name.startswith(SYNCING)
                 and not name.startswith(ASIDE) and name.endswith('.cpp')
                 and not name.endswith(('_test.cpp', '_bench.cpp')) and '/testing/' not in name
                 for line in syncs_in(mutants.source(name))}
        self.assertEqual(sorted(there - removed - kept), [], 'a sync that no mutant removes')
        self.assertEqual(sorted(kept - there), [], 'kept, but not there')
