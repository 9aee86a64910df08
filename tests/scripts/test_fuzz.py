"""Tests of what runs the fuzz targets: that each has inputs to begin with, and that what libFuzzer
says is understood."""

import importlib.util
import os
import struct
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FUZZ = os.path.join(TOP, 'tests', 'fuzz')

import corpora
import kept

# By its path: other folders have a run.py, too.
_spec = importlib.util.spec_from_file_location('fuzz_run', os.path.join(FUZZ, 'run.py'))
fuzz_run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz_run)


def targets_of_the_build():
    """Names and sources that the SConscript declares."""
    found = {}

    def fuzz_target(name, needs, also=()):
        assert needs
        found[name] = [name + '.cpp', *also]

    with open(os.path.join(FUZZ, 'SConscript'), encoding='utf-8') as script:
        exec(script.read(), {'Import': lambda _: None, 'fuzz_target': fuzz_target})
    return found


class Corpora(unittest.TestCase):
    def test_each_target_has_its_source_and_its_inputs(self):
        targets = targets_of_the_build()
        self.assertEqual(sorted(targets), sorted(corpora.TARGETS))
        for name, sources in targets.items():
            for source in sources:
                self.assertTrue(os.path.exists(os.path.join(FUZZ, source)), source)
            with self.subTest(name):
                self.assertTrue(any(data for data in corpora.TARGETS[name]()))

    def test_inputs_of_documents_are_documents(self):
        for data in list(corpora.match())[:200]:
            at = 0
            while at < len(data):
                size, = struct.unpack_from('<i', data, at)
                at += size
                self.assertEqual(data[at - 1], 0)
            self.assertEqual(at, len(data))
            self.assertLessEqual(len(data), corpora.BYTES_MAX)


class Kept(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build')))

    def test_only_what_no_recorded_input_reaches_is_kept(self):
        recorded, found = (os.path.join(self.place, name) for name in ('recorded', 'found'))
        for folder, name in ((recorded, 'old'), (found, 'new')):
            os.mkdir(folder)
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(name)

        def merging(options, **more):  # as libFuzzer does it, which finds all of the second new
            into, *folders = options[-2:]
            return subprocess.Popen(['cp', os.path.join(folders[0], 'new'), into], **more)

        self.assertEqual(kept.merge(merging, recorded, [found]), {'new': b'new'})
        self.assertIsNone(kept.merge(lambda options, **more: subprocess.Popen(['false'], **more),
                                     recorded, [found]))
        self.assertEqual(sorted(os.listdir(self.place)), ['found', 'recorded'])

    def test_each_archive_belongs_to_a_target_and_has_its_figures(self):
        figures = kept.read_figures()
        archives = {name.split('.')[0] for name in os.listdir(kept.KEPT)
                    if name.endswith('.tar.xz')}
        self.assertEqual(archives, set(figures))
        self.assertLessEqual(archives, set(corpora.TARGETS))
        for target, (_, _, inputs, _, _) in figures.items():
            with tempfile.TemporaryDirectory(dir=self.place) as folder:
                self.assertEqual(kept.unpack(target, folder), inputs, target)
