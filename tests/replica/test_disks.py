"""Members whose disk is full: they say so, lose nothing, and go on when there is room."""

import os
import subprocess
import unittest

from pymongo import errors

import server
from set_member import OPTIONS, PRIMARY, SECONDARY, STARTUP2, wait_until
from sets import Case, Member

ROOMY_MB = 640
MB = 1 << 20
LARGE_LOG = ['256' if option == '32' else option for option in OPTIONS]
NO_SPACE_CHECK = ['--journalOptions', '64']
# The folders and sizes are those of its files. The libraries of the other engines end the process.
of_mmapv1 = unittest.skipIf(os.environ.get(server.ENGINE), 'about the files of mmapv1')


class Disks(Case):
    def mount(self, path):
        """A file system in memory, which root alone can make."""
        os.makedirs(path, exist_ok=True)
        run = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%dm,mode=0700' % ROOMY_MB,
                              'replica-test', path], stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            self.skipTest('no file system can be mounted here: ' + run.stderr.strip())
        # When the member that is started there later has ended.
        self.addCleanup(subprocess.run, ['umount', path], check=True)
        return path

    def resize(self, path, free_mb):
        info = os.statvfs(path)
        used = (info.f_blocks - info.f_bfree) * info.f_frsize
        subprocess.run(['mount', '-o', 'remount,size=%d' % (used + free_mb * MB), path], check=True)

    def add(self, first):
        second = self.enterContext(
            Member(os.path.join(self.folder, 'small'), OPTIONS + NO_SPACE_CHECK))
        self.members.append(second)
        first.run('replSetReconfig', self.config(2))
        return second

    def write(self, first, megabytes):
        first.client.load.numbered.insert_many({'pad': 'x' * MB} for _ in range(megabytes))

    def wait_for_text(self, member, text):
        def is_there():
            with open(member.log_path, encoding='utf-8', errors='replace') as log:
                return text in log.read()
        wait_until('the log has "%s"; %s' % (text, member.tail(5)), is_there)

    @of_mmapv1
    def test_data_files_have_no_room(self):
        first, _ = self.begin(1, LARGE_LOG)
        self.mount(os.path.join(self.folder, 'small'))
        data = os.path.join(self.folder, 'small')
        self.mount(os.path.join(data, 'journal'))
        second = self.add(first)
        self.wait_for_state(second, SECONDARY)
        self.resize(data, 1)
        self.write(first, 100)
        self.wait_for_text(second, 'cannot follow: ')
        self.assertIn('the disk is full', second.status()['members'][1]['infoMessage'])
        self.assertEqual(second.state(), SECONDARY)
        self.assertGreater(first.position()['ts'], second.position()['ts'])
        self.resize(data, ROOMY_MB)
        self.wait_until_equal(second, first)
        self.assertEqual(second.status()['members'][1]['infoMessage'], '')

    @of_mmapv1
    def test_the_first_copy_has_no_room(self):
        first, _ = self.begin(1, LARGE_LOG)
        self.write(first, 100)
        data = self.mount(os.path.join(self.folder, 'small'))
        self.mount(os.path.join(data, 'journal'))
        self.resize(data, 100)
        second = self.add(first)
        self.wait_for_text(second, 'cannot follow: ')
        self.assertEqual(second.state(), STARTUP2)
        self.resize(data, ROOMY_MB)
        self.wait_for_state(second, SECONDARY)
        self.wait_until_equal(second, first)

    def test_a_primary_has_no_room_for_its_term(self):
        """It says so, and takes writes without a restart once there is room."""
        data = self.mount(os.path.join(self.folder, 'small'))
        first = self.enterContext(Member(data, OPTIONS + NO_SPACE_CHECK))
        self.members.append(first)
        first.run('replSetInitiate', self.config(1))
        first.client.test.first.insert_one({'_id': 1})
        first.kill()
        self.resize(data, 8)
        first.start_again()
        # A log whose file is there has room.
        self.assertEqual(first.state(), SECONDARY if os.environ.get(server.ENGINE) else PRIMARY)
        with self.assertRaises(errors.PyMongoError):
            self.write(first, 64)
        self.resize(data, ROOMY_MB)
        self.wait_for_state(first, PRIMARY)
        self.write(first, 1)
        entries = first.client.local['oplog.rs'].count_documents({'op': 'i', 'ns': 'load.numbered'})
        self.assertEqual(first.client.load.numbered.count_documents({}), entries)

    @of_mmapv1
    def test_the_journal_has_no_room(self):
        first, _ = self.begin(1, LARGE_LOG)
        journal = self.mount(os.path.join(self.folder, 'small', 'journal'))
        second = self.add(first)
        self.wait_for_state(second, SECONDARY)
        self.resize(journal, 0)
        self.write(first, 100)
        # As any server that cannot write its journal.
        wait_until('it ends', lambda: second.process.poll() is not None)
        self.wait_for_text(second, 'journal')
        self.resize(journal, ROOMY_MB)
        second.start_again()
        self.wait_until_equal(second, first)
