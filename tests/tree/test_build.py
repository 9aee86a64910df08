"""Tests of the build itself: borders between rooms, staging of patches, reproducible programs.

Each check has a sample that passes and one that fails, in a small tree of its own."""

import difflib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import check_includes
import staging

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES = ''.join('line %d\n' % number for number in range(1, 31))

PATCH = 'From: An Author\nSubject: change a line\n\n' + ''.join(difflib.unified_diff(
    LINES.splitlines(True), LINES.replace('line 12', 'line twelve').splitlines(True),
    'a/src/base/text.h', 'b/src/base/text.h'))


class SmallTree(unittest.TestCase):
    def setUp(self):
        os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
        self.top = tempfile.mkdtemp(dir=os.path.join(TOP, 'build', 'scratch'))
        self.addCleanup(shutil.rmtree, self.top)
        self.write('src/base/SConscript', "Import('room')\nroom()\n")

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(text, 'utf-8')

    def read(self, path):
        return pathlib.Path(os.path.join(self.top, path)).read_text('utf-8')


class Borders(SmallTree):
    def violations(self):
        return list(check_includes.violations(os.path.join(self.top, 'src')))

    def setUp(self):
        super().setUp()
        self.write('src/os/SConscript', "Import('room')\nroom(needs=['base'])\n")
        self.write('src/base/a.h', '#pragma once\n')
        self.write('src/os/b.h', '#pragma once\n#include "base/a.h"\n')

    def test_this_tree_keeps_its_borders(self):
        self.assertEqual(list(check_includes.violations(os.path.join(TOP, 'src'))), [])

    def test_allows_a_listed_room(self):
        self.write('src/os/c.cpp', '#include "base/a.h"\n#include "os/b.h"\n#include <vector>\n')
        self.assertEqual(self.violations(), [])

    def test_refuses_an_arrow_back(self):
        self.write('src/base/c.cpp', '#include "os/b.h"\n')
        self.assertEqual(self.violations(), ['src/base/c.cpp:1: base may not include os/b.h'])

    def test_refuses_what_is_in_no_room(self):
        self.write('src/os/c.cpp', '#include "b.h"\n')
        self.assertEqual(self.violations(), ['src/os/c.cpp:1: "b.h" is not in a room'])

    def test_refuses_a_need_without_an_include(self):
        self.write('src/os/b.h', '#pragma once\n')
        self.assertEqual(self.violations(), ['src/os/SConscript: base is needed by no file'])

    def test_allows_tests_what_they_need_themselves(self):
        self.write('src/base/SConscript', "Import('room')\nroom(test_needs=['os'])\n")
        self.assertEqual(self.violations(), ['src/base/SConscript: os is needed by no file'])
        self.write('src/base/a_test.cpp', '#include "os/b.h"\n')
        self.assertEqual(self.violations(), [])
        self.write('src/base/c.cpp', '#include "os/b.h"\n')
        self.assertEqual(self.violations(), ['src/base/c.cpp:1: base may not include os/b.h'])


class Staging(SmallTree):
    def setUp(self):
        super().setUp()
        self.write('src/base/text.h', LINES)
        self.write('patches/series', '# title\nchange-twelve.patch\nnew-file.patch\n')
        self.write('patches/change-twelve.patch', PATCH)
        self.write('patches/new-file.patch', 'Subject: add a file\n\n--- /dev/null\n'
                   '+++ b/src/base/new.h\n@@ -0,0 +1 @@\n+new\n')

    def stage(self, wish):
        return staging.stage(self.top, staging.select(self.top, wish))

    def test_names_follow_the_selection(self):
        for wish, name in (('none', 'none'), ('all', 'all'), ('new-file', 'new-file'),
                           ('upto:change-twelve', 'upto-change-twelve'),
                           ('new-file,change-twelve', 'change-twelve+new-file')):
            self.assertEqual(staging.select(self.top, wish).name, name)

    def test_none_is_the_source_itself(self):
        self.assertEqual(self.stage('none'), 'build/none')
        self.assertEqual(self.read('build/none/src/base/text.h'), LINES)
        self.assertIn('return {};', self.read('build/none/src/base/applied_patches.cpp'))

    def test_all_applies_the_series(self):
        self.stage('all')
        self.assertIn('line twelve', self.read('build/all/src/base/text.h'))
        self.assertEqual(self.read('build/all/src/base/new.h'), 'new\n')
        self.assertIn('"change-twelve",\n        "new-file",\n',
                      self.read('build/all/src/base/applied_patches.cpp'))
        self.assertEqual(self.read('src/base/text.h'), LINES)

    def test_options_of_patches_are_included_by_one_header(self):
        header = '#pragma once\n'
        self.write('src/journal/patch_options.h', header)
        for name in ('say_more', 'say_less'):
            self.write('patches/%s.patch' % name, 'Subject: x\n\n--- /dev/null\n+++ b/src/journal/'
                       'options/%s.h\n@@ -0,0 +1 @@\n+new\n--- /dev/null\n+++ b/src/journal/'
                       'options/%s.cpp\n@@ -0,0 +1 @@\n+new\n' % (name, name))
        self.write('patches/series', 'say_more.patch\nsay_less.patch\n')
        include = '#include "journal/options/%s.h"\n'
        for wish, wanted in (('none', ''), ('say_more', '\n' + include % 'say_more'),
                             ('all', '\n' + include % 'say_less' + include % 'say_more')):
            self.stage(wish)
            name = staging.select(self.top, wish).name
            self.assertEqual(self.read('build/%s/src/journal/patch_options.h' % name),
                             header + wanted)
        self.assertEqual(self.read('src/journal/patch_options.h'), header)

    def test_a_second_run_touches_nothing(self):
        self.stage('all')
        path = os.path.join(self.top, 'build/all/src/base/text.h')
        os.utime(path, (1, 1))
        self.stage('all')
        self.assertEqual(os.stat(path).st_mtime, 1)

    def test_one_build_of_a_folder_at_a_time(self):
        script = ('import staging, sys; turn = staging.take_turn(*sys.argv[1:]);'
                  'print("mine", flush=True)')

        def start(folder):
            return subprocess.Popen(
                [sys.executable, '-c', script, self.top, folder], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
                env=dict(os.environ, PYTHONPATH=os.path.join(TOP, 'site_scons')))

        first = staging.take_turn(self.top, 'build/none')
        with start('build/all') as other:
            self.assertEqual(other.communicate(), ('mine\n', ''))
        with start('build/none') as second:
            self.assertIn('build/none; waiting', second.stderr.readline())
            self.assertIsNone(second.poll())
            first.close()
            self.assertEqual(second.communicate(), ('mine\n', ''))

    def test_a_vanished_file_vanishes(self):
        self.stage('new-file')
        os.remove(os.path.join(self.top, 'src/base/text.h'))
        self.stage('new-file')
        self.assertFalse(os.path.exists(os.path.join(self.top, 'build/new-file/src/base/text.h')))

    def test_systems_are_those_that_there_are(self):
        base = staging.select(TOP, 'none')
        for sanitize, platform, text in (('', 'amiga', 'give linux, arm64 or windows'),
                                         ('thread', 'windows', 'no sanitizers')):
            with self.assertRaisesRegex(staging.StagingError, text):
                staging.stage(self.top, base, sanitize, platform)
        self.assertEqual(staging.stage(self.top, base, '', 'windows'), 'build/none-windows')
        self.assertEqual(staging.stage(self.top, base, '', 'arm64'), 'build/none-arm64')

    def test_builds_with_checks_and_without_hardening_have_folders_of_their_own(self):
        base = staging.select(TOP, 'none')
        for variant in ('checked', 'unhardened'):
            self.assertEqual(staging.stage(self.top, base, variant=variant),
                             'build/none-' + variant)
        for sanitize, platform in (('thread', 'linux'), ('', 'arm64')):
            with self.assertRaisesRegex(staging.StagingError, 'leave out'):
                staging.stage(self.top, base, sanitize, platform, 'unhardened')

    def test_what_a_patch_depends_on_is_applied_too(self):
        self.write('patches/series', 'one.patch\ntwo.patch\nthree.patch\n')
        for slug, needed in (('one', 'none'), ('two', 'one'), ('three', 'two')):
            self.write('patches/%s.patch' % slug, 'Subject: x\n\nDepends: %s\n\n--- a/x\n' % needed)
        self.assertEqual(staging.select(self.top, 'three').slugs, ['one', 'two', 'three'])
        self.assertEqual(staging.select(self.top, 'two').name, 'one+two')
        self.assertEqual(staging.select(self.top, 'one').slugs, ['one'])

    def test_refuses_an_unknown_patch(self):
        with self.assertRaisesRegex(staging.StagingError, "no patch 'nothing'"):
            staging.select(self.top, 'upto:nothing')

    def test_refuses_a_patch_that_does_not_apply(self):
        self.write('src/base/text.h', LINES.replace('line 12', 'line XII'))
        with self.assertRaisesRegex(staging.StagingError, 'does not apply with --fuzz=0'):
            self.stage('all')

    def test_refuses_fuzz(self):
        self.write('src/base/text.h', LINES.replace('line 9', 'line IX'))
        with self.assertRaisesRegex(staging.StagingError, 'does not apply with --fuzz=0'):
            self.stage('all')

    def test_refuses_an_offset_in_the_series(self):
        self.write('src/base/text.h', 'line 0\n' + LINES)
        with self.assertRaisesRegex(staging.StagingError, 'only at an offset'):
            self.stage('all')


# A room small enough to be built often: a header, a source, a test.
FILES = ('SConscript', 'applied_patches.h', 'crc32c.h', 'crc32c.cpp', 'crc32c_test.cpp')
# The real ones take long to compile.
PRECOMPILED = {'precompiled.h': '#pragma once\n#include <string>\n',
               'testing/precompiled.h': '#pragma once\n#include <gtest/gtest.h>\n'}


class Products(unittest.TestCase):
    def test_they_have_nothing_that_only_tests_use(self):
        subprocess.run(['scons', '-s', 'patches=none', 'checks=1', 'commands'], cwd=TOP, check=True)
        made = json.loads(pathlib.Path(os.path.join(TOP, 'build', 'none-checked',
                                                    'commands.json')).read_text('utf-8'))['made']
        found = {name: [each for each in objects if '/testing/' in each]
                 for name, objects in made.items() if name.startswith('lib/')}
        self.assertTrue(found['lib/libsched_testing.a'])
        self.assertEqual({name: objects for name, objects in found.items()
                          if objects and not name.endswith('_testing.a')}, {})


class Reproducible(unittest.TestCase):
    """Builds a room with its test in two places, without a cache, and compares the bytes."""

    def test_two_folders_give_the_same_bytes(self):
        scratch = os.path.join(TOP, 'build', 'scratch')
        os.makedirs(scratch, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            first, second = [self.build(os.path.join(folder, name)) for name in ('x', 'longer/y')]
        self.assertTrue(first)
        self.assertEqual(first, second)

    def build(self, top):
        shutil.copytree(os.path.join(TOP, 'site_scons'), os.path.join(top, 'site_scons'))
        shutil.copy(os.path.join(TOP, 'SConstruct'), top)
        base = os.path.join(top, 'src', 'base')
        os.makedirs(os.path.join(base, 'testing'))
        for name in FILES:
            shutil.copy(os.path.join(TOP, 'src', 'base', name), base)
        for name, text in PRECOMPILED.items():
            pathlib.Path(os.path.join(base, name)).write_text(text, 'utf-8')
        environment = dict(os.environ, CCACHE_DISABLE='1')
        subprocess.run(['scons', '-s', 'patches=none', 'opt=-O0 -g', 'libs', 'test_base'],
                       cwd=top, env=environment, check=True)
        made = {}
        for kind in ('product', 'tests'):
            header = os.path.join(top, 'build', 'none', 'precompiled', kind + '.h')
            self.assertTrue(os.path.exists(header + '.gch'))
        # By these sums ccache shares objects between checkouts.
        for name in ('bin/test_base', 'lib/libbase.a', 'precompiled/product.h.gch.sum',
                     'precompiled/tests.h.gch.sum'):
            made[name] = pathlib.Path(os.path.join(top, 'build', 'none', name)).read_bytes()
        return made
