"""./lab port and ./lab pr --tree from outside: what is printed and written, what is refused with
which exit code, and that what was applied can be undone."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from small_trees import RECIPES, TOP, VERSIONS, SmallTree, git, lab, portable, recipe

PAD = 'journal-pad-bytes'
STATS = 'journal-cumulative-stats'
NO_RECIPE = 'journal-awake'


def slugs_of(text):
    return re.findall(r'^(journal-[\w-]+)\.patch$', text, re.M)


class Output(unittest.TestCase):
    def test_help_at_once(self):
        code, out, _ = lab('port', '--help', env={'PATH': '/usr/bin:/bin'})
        self.assertEqual(code, 0)
        for slug in RECIPES:
            self.assertIn(slug, out.decode())

    def test_a_git_diff_that_applies_and_is_undone(self):
        for version in VERSIONS:
            for crlf in (False, True):
                with SmallTree(version, crlf=crlf, checkout=True) as small, \
                        tempfile.NamedTemporaryFile() as file:
                    before = small.contents()
                    code, diff, err = small.lab()
                    self.assertEqual(code, 0, err)
                    self.assertEqual(small.contents(), before)
                    self.assertTrue(diff.startswith(b'diff --git a/src/mongo/'))
                    file.write(diff)
                    file.flush()
                    self.assertEqual(git(small.root, 'apply', '--check', file.name), (0, ''))
                    git(small.root, 'apply', file.name)
                    after = small.contents()
                    git(small.root, 'apply', '-R', file.name)
                    self.assertEqual(small.contents(), before)
                    code, out, err = small.lab('--apply')
                    self.assertEqual((code, out), (0, b''), err)
                    self.assertEqual(small.contents(), after)
                    self.assertIn('applied to', err)
                    git(small.root, 'stash', '-u')
                    self.assertEqual(small.contents(), before)

    def test_each_slug_alone_is_applied_and_undone(self):
        for version in VERSIONS:
            with SmallTree(version, checkout=True) as small:
                before = small.contents()
                for slug in portable(version):
                    self.assertEqual(small.lab('--patches', slug, '--apply')[0], 0)
                    self.assertNotEqual(small.contents(), before)
                    git(small.root, 'checkout', '.')
                    git(small.root, 'clean', '-fdq')
                    self.assertEqual(small.contents(), before)

    def test_a_series_that_quilt_pushes_and_pops(self):
        for version, crlf in (('2.4', False), ('2.6', False), ('3.4', True)):
            with SmallTree(version, crlf=crlf, checkout=True) as small:
                before = small.contents()
                patches = os.path.join(small.root, 'patches')
                code, out, err = small.lab('--series', patches)
                self.assertEqual((code, out), (0, b''), err)
                with open(os.path.join(patches, 'series'), encoding='utf-8') as file:
                    self.assertEqual(slugs_of(file.read()), portable(version))
                series = small.contents()
                quilt = dict(os.environ, QUILT_PATCHES='patches', QUILT_PATCH_OPTS='--fuzz=0 -p1')
                for command in ('push', 'pop'):
                    run = subprocess.run(['quilt', '--quiltrc', '/dev/null', command, '-a'],
                                         cwd=small.root, env=quilt, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)
                    self.assertEqual(run.returncode, 0, run.stdout)
                    self.assertNotRegex(run.stdout, 'offset|fuzz')
                    if command == 'push':
                        with SmallTree(version, crlf=crlf) as whole:
                            whole.port()
                            for path, text in whole.contents().items():
                                self.assertEqual(small.read(path), text, path)
                shutil.rmtree(os.path.join(small.root, '.pc'))
                self.assertEqual(small.contents(), series)
                shutil.rmtree(patches)
                self.assertEqual(small.contents(), before)

    def test_every_patch_of_a_series_says_what_it_is(self):
        with SmallTree('2.6', checkout=True) as small, tempfile.TemporaryDirectory() as out:
            self.assertEqual(small.lab('--series', os.path.join(out, 'new'))[0], 0)
            for slug in portable('2.6'):
                with open(os.path.join(out, 'new', slug + '.patch'), encoding='latin-1') as file:
                    text = file.read()
                self.assertRegex(text, r'\ASubject: .*%s' % (RECIPES[slug].ticket or ''))
                self.assertIn('diff --git a/src/mongo', text)

    def test_a_relative_tree_is_the_callers(self):
        with SmallTree('2.6') as small:
            code, diff, err = lab('port', '--tree', 'src/..', '--patches', PAD, cwd=small.root)
            self.assertEqual(code, 0, err)
            self.assertIn(b'padBytes', diff)

    def test_the_mode_of_files_stays(self):
        with SmallTree('2.6', checkout=True) as small:
            path = os.path.join(small.root, small.path('dur_recover.cpp'))
            os.chmod(path, 0o755)
            git(small.root, 'commit', '-qam', 'mode')
            self.assertIn(b'100755', small.lab('--patches', PAD)[1])
            self.assertEqual(small.lab('--patches', PAD, '--apply')[0], 0)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o755)

    def test_git_settings_of_the_user_do_not_matter(self):
        with SmallTree('2.6', checkout=True) as small:
            diff = small.lab('--patches', PAD)[1]
            home = os.path.join(small.root, '.git', 'home')
            os.mkdir(home)
            with open(os.path.join(home, '.gitconfig'), 'w', encoding='utf-8') as file:
                file.write('[diff]\n\tnoprefix = true\n\texternal = false\n\tcontext = 9\n'
                           '[color]\n\tui = always\n[core]\n\tautocrlf = true\n')
            env = {'HOME': home, 'GIT_EXTERNAL_DIFF': '/bin/false'}
            self.assertEqual(small.lab('--patches', PAD, env=env)[1], diff)

    def test_pr_has_a_text_for_every_slug(self):
        with SmallTree('2.4', checkout=True) as small:
            for slug in RECIPES:
                code, out, err = lab('pr', slug, '--tree', small.root)
                self.assertEqual(code, 0, err)
                self.assertIn(RECIPES[slug].try_it, out.decode())
                self.assertIn(b'EVIDENCE', out)
                self.assertEqual(lab('pr', slug)[1], out[:out.index(b'\nTO REPRODUCE IN')])

    def test_pr_has_the_change_and_how_to_see_it(self):
        for version in VERSIONS:
            with SmallTree(version, checkout=True) as small:
                code, out, err = lab('pr', PAD, '--tree', small.root)
                self.assertEqual(code, 0, err)
                text = out.decode()
                for part in ('PROBLEM', 'scons', '--journalPadBytes 4096', 'strace', 'fdatasync',
                             version, 'FinePaddingVersion'):
                    self.assertIn(part, text)
                self.assertEqual(out[out.index(b'diff --git'):], small.lab('--patches', PAD)[1])
                self.assertEqual(lab('pr', PAD, '--tree', '/no/such')[0], 3)


class Refusals(unittest.TestCase):
    def refused(self, small, code, *words, parts=()):
        before = small.contents()
        found, out, err = small.lab(*words)
        self.assertEqual((found, out), (code, b''), err)
        for part in parts:
            self.assertIn(part, err)
        self.assertNotIn('Traceback', err)
        self.assertEqual(small.contents(), before)

    def test_usage(self):
        with SmallTree('2.6', checkout=True) as small:
            self.refused(small, 2, '--patches', 'journal-none', parts=['no slug "journal-none"'])
            self.refused(small, 2, '--patches', '')
            self.refused(small, 2, '--patch', PAD)
            self.refused(small, 2, PAD)
        self.assertEqual(lab('port')[0], 2)
        self.assertEqual(lab('port', '--apply')[0], 2)

    def test_no_tree(self):
        for folder in ('/no/such/folder', '/dev/null'):
            self.assertEqual(lab('port', '--tree', folder)[0], 3)
        with SmallTree('2.6') as small:
            self.assertEqual(lab('port', '--tree', os.path.join(small.root, 'src'))[0], 3)
            for path in ('db/mongod_options.cpp', 'db/commands/parameters.cpp'):
                os.unlink(os.path.join(small.root, 'src/mongo', path))
            self.refused(small, 3, parts=['older than 2.4'])
            os.unlink(os.path.join(small.root, 'src/mongo/db/dur_journal.cpp'))
            self.refused(small, 3, parts=['dur_journal.cpp'])

    def test_changes_that_are_not_committed(self):
        with SmallTree('2.6', checkout=True) as small:
            path = small.path('dur_recover.cpp')
            small.write(path, small.read(path) + '// more\n')
            for words in ((), ('--apply',), ('--series', os.path.join(small.root, 'out'))):
                self.refused(small, 4, *words, parts=[path, '--force'])
            git(small.root, 'add', '-A')
            self.refused(small, 4, '--apply', parts=[path])
            self.assertEqual(small.lab('--apply', '--force')[0], 0)
            self.assertIn('// more', small.read(path))

    def test_files_that_git_does_not_know_are_no_changes(self):
        with SmallTree('2.6', checkout=True) as small:
            small.write('notes.txt', 'mine\n')
            self.assertEqual(small.lab('--apply')[0], 0)

    def test_without_git_only_writing_needs_force(self):
        with SmallTree('2.6') as small:
            self.assertEqual(small.lab()[0], 0)
            self.refused(small, 4, '--apply', parts=['no git checkout'])
            self.assertEqual(small.lab('--apply', '--force')[0], 0)

    def test_applied_and_partly_applied(self):
        with SmallTree('2.6', checkout=True) as small:
            self.assertEqual(small.lab('--apply')[0], 0)
            git(small.root, 'add', '-A')
            git(small.root, 'commit', '-qm', 'ported')
            for slug in portable('2.6'):
                self.refused(small, 5, '--patches', slug, '--apply',
                             parts=[slug, 'already applied', 'src/mongo/', '`'])
            self.refused(small, 5, '--apply')
            path = small.path('dur_recover.cpp')
            small.edit(path, 'sectionLenWithPadding( unit )', 'sectionLenWithPadding()')
            git(small.root, 'commit', '-qam', 'half')
            self.refused(small, 6, '--patches', PAD, '--apply',
                         parts=[PAD, 'partly applied', path, 'sectionLenWithPadding'])
            self.refused(small, 6, '--apply')

    def test_moved_and_ambiguous_alone_write_nothing(self):
        with SmallTree('2.6', checkout=True) as small:
            path = small.path('dur_recover.cpp')
            small.edit(path, 'fileId = h.fileId;', 'fileId = h.fileNumber;')
            git(small.root, 'commit', '-qam', 'moved')
            for words in ((), ('--apply',), ('--series', os.path.join(small.root, 'out'))):
                self.refused(small, 7, '--patches', PAD, *words,
                             parts=[PAD, path, '`fileId = h . fileId`', 'nothing was written'])
            small.edit(path, 'fileId = h.fileNumber;', 'fileId = h.fileId; fileId = h.fileId;')
            git(small.root, 'commit', '-qam', 'twice')
            self.refused(small, 8, '--patches', PAD, '--apply',
                         parts=[PAD, path, '2 times', '`fileId = h . fileId`'])
            self.assertEqual(lab('pr', PAD, '--tree', small.root)[0], 8)

    def test_not_portable(self):
        for version in VERSIONS:
            with SmallTree(version, checkout=True) as small:
                had = portable(version)
                for slug in RECIPES:
                    if slug in had:
                        continue
                    self.refused(small, 9, '--patches', slug, parts=[slug])
                    code, _, err = small.lab()
                    self.assertEqual(code, 0)
                    self.assertIn(slug, err)

    def test_a_folder_for_the_series_that_is_taken(self):
        with SmallTree('2.6', checkout=True) as small:
            self.refused(small, 10, '--series', small.root, parts=['not an empty folder'])
            self.refused(small, 10, '--series', os.path.join(small.root, small.path('dur.cpp')))

    @unittest.skipIf(os.geteuid() == 0, 'root may write everywhere')
    def test_a_folder_that_cannot_be_written(self):
        with SmallTree('2.6', checkout=True) as small:
            folder = os.path.join(small.root, 'src/mongo/util')
            os.chmod(folder, 0o555)
            try:
                self.refused(small, 10, '--apply')
            finally:
                os.chmod(folder, 0o755)


class LeftOut(unittest.TestCase):
    """A slug that does not fit, for whatever reason, does not stop the others."""

    def port_of(self, small, code, out, parts, *words):
        """What ./lab port changes, which must be what the other slugs alone change."""
        before = small.contents()
        found, diff, err = small.lab(*words)
        self.assertEqual(found, code, err)
        self.assertIn('left out, for the reasons above: %s\n' % out, err)
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(small.contents(), before)
        self.assertTrue(diff.startswith(b'diff --git'))
        found, nothing, err = small.lab('--apply', *words)
        self.assertEqual((found, nothing), (code, b''), err)
        self.assertIn('left out', err)
        after = small.contents()
        git(small.root, 'checkout', '.')
        git(small.root, 'clean', '-fdq')
        self.assertEqual(small.contents(), before)
        return after

    def others(self, small, without):
        """The tree with all slugs but one, asked for by name."""
        names = [slug for slug in portable(small.version) if slug != without]
        code, _, err = small.lab('--apply', '--patches', ','.join(names))
        self.assertEqual(code, 0, err)
        after = small.contents()
        git(small.root, 'checkout', '.')
        git(small.root, 'clean', '-fdq')
        return after

    def test_moved_ambiguous_and_gone(self):
        old, moved, twice = ('fileId = h.fileId;', 'fileId = h.fileNumber;',
                             'fileId = h.fileId; fileId = h.fileId;')
        for version in VERSIONS:
            with SmallTree(version, checkout=True) as small:
                path = small.path('dur_recover.cpp')
                for code, text in ((7, moved), (8, twice)):
                    small.edit(path, old, text)
                    git(small.root, 'commit', '-qam', 'another')
                    self.assertEqual(self.port_of(small, code, PAD, [path]),
                                     self.others(small, PAD), (version, code))
                    old = text
                old = 'fileId = h.fileId;'

    def test_a_file_that_only_one_slug_edits_is_gone(self):
        slug = 'journal-no-write-through'
        with SmallTree('3.4', checkout=True) as small:
            path = small.path('logfile.cpp')
            git(small.root, 'rm', '-q', path)
            git(small.root, 'commit', '-qm', 'gone')
            self.port_of(small, 7, slug, ['%s: %s' % (slug, path), 'there is no such file'])

    def test_what_was_named_and_cannot_be_had_here(self):
        cannot = 'journal-waiter-commits'
        with SmallTree('3.4', checkout=True) as small:
            self.port_of(small, 9, cannot, ['not for 3.4'], '--patches', PAD + ',' + cannot)

    def test_what_was_named_and_has_no_recipe(self):
        reasons = recipe.without_recipe()
        self.assertIn(NO_RECIPE, reasons)
        with SmallTree('2.6', checkout=True) as small:
            sentence = '%s: has no recipe: %s' % (NO_RECIPE, reasons[NO_RECIPE])
            self.port_of(small, 9, NO_RECIPE, [sentence], '--patches', PAD + ',' + NO_RECIPE)
            code, diff, err = small.lab('--patches', NO_RECIPE)
            self.assertEqual((code, diff), (9, b''), err)
            self.assertIn(sentence, err)
            done = subprocess.run([sys.executable, os.path.join(TOP, 'perf', 'pr.py'), NO_RECIPE,
                                   '--tree', small.root], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (9, ''), done.stderr)
            self.assertIn(sentence, done.stderr)

    def test_what_was_named_and_is_there_already(self):
        with SmallTree('2.6', checkout=True) as small:
            self.assertEqual(small.lab('--patches', STATS, '--apply')[0], 0)
            git(small.root, 'add', '-A')
            git(small.root, 'commit', '-qm', 'ported')
            self.port_of(small, 5, STATS, ['already applied'], '--patches', PAD + ',' + STATS)

    def test_partly_applied(self):
        with SmallTree('2.6', checkout=True) as small:
            self.assertEqual(small.lab('--patches', PAD, '--apply')[0], 0)
            small.edit(small.path('dur_recover.cpp'), 'sectionLenWithPadding( unit )',
                       'sectionLenWithPadding()')
            git(small.root, 'add', '-A')
            git(small.root, 'commit', '-qm', 'half')
            self.port_of(small, 6, PAD, ['partly applied'])

    def test_a_series_has_the_others(self):
        with SmallTree('2.6', checkout=True) as small, tempfile.TemporaryDirectory() as out:
            small.edit(small.path('dur_recover.cpp'), 'fileId = h.fileId;', 'fileId = h.number;')
            git(small.root, 'commit', '-qam', 'moved')
            out = os.path.join(out, 'new')
            self.assertEqual(small.lab('--series', out)[0], 7)
            with open(os.path.join(out, 'series'), encoding='utf-8') as file:
                self.assertEqual(slugs_of(file.read()),
                                 [slug for slug in portable('2.6') if slug != PAD])


class AllOrNone(unittest.TestCase):
    def test_a_write_that_fails_half_way_is_undone(self):
        from port import tree as trees
        for failing in range(1, 8):
            with SmallTree('2.6') as small:
                before = small.contents()
                tree, _ = small.plan()
                calls = []
                replace = trees._replace

                def fail_at(path, text, calls=calls, failing=failing, replace=replace):
                    calls.append(path)
                    if len(calls) == failing:
                        raise OSError('no space left')
                    replace(path, text)

                trees._replace = fail_at
                try:
                    with self.assertRaises(OSError):
                        tree.write(tree.changed())
                finally:
                    trees._replace = replace
                self.assertEqual(small.contents(), before)
