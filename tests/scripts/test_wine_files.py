"""Tests perf/trace/wine_files.py and the comparison of tests/windows/run.py on a log of Wine's."""

import importlib.util
import os
import unittest

import wine_files

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# As Wine 8 prints it: a service of Wine's, then a program that opens a journal file, gets its
# handle by another line, and is mixed with the service. T stands for trace:file, A for
# attributes.
START = r'''
0038:003c:T:CreateFileW L"\\\\.\\pipe\\svcctl" GENERIC_READ GENERIC_WRITE  creation 3 A 0x0
00e8:00ec:T:CreateFileW L"Z:/x/db/j._0" GENERIC_WRITE FILE_SHARE_READ  creation 4 A 0xa0000000
0038:003c:T:CreateFileW returning 0000000000000040
00e8:00ec:T:NtCreateFile handle=0x21d208 access=40100080 name=L"\\??\\Z:\\x\\db\\j._0"
00e8:00ec:T:CreateFileW returning 0000000000000044
0038:003c:T:NtWriteFile (0x40,(nil),(nil),0x00000044,(nil))
0038:003c:T:NtWriteFile = SUCCESS (68)
'''
COMMIT = '''
00e8:010c:T:WriteFile 0000000000000044 8192
00e8:010c:T:NtWriteFile (0x44,(nil),(nil),(nil),0x00002000,(nil))
00e8:00ec:T:NtWriteFile (0xc,(nil),(nil),0x00000044,(nil))
00e8:00ec:T:NtWriteFile = SUCCESS (68)
00e8:010c:T:NtWriteFile = SUCCESS (8192)
'''
FLUSH = '''
00e8:010c:Call KERNEL32.FlushFileBuffers(00000044) ret=140012c52
00e8:010c:Ret  KERNEL32.FlushFileBuffers() retval=00000001 ret=140012c52
'''
OPENED = 'open j._0 GENERIC_WRITE FILE_SHARE_READ creation 4 attributes 0xa0000000'


def read(text):
    text = text.replace(':T:', ':trace:file:').replace(' A ', ' attributes ')
    return wine_files.Reader('Z:/x/db').read(text.splitlines())


class WineFiles(unittest.TestCase):
    def test_writes_and_flushes_belong_to_the_file_of_their_handle(self):
        self.assertEqual(read(START + COMMIT + COMMIT + FLUSH),
                         [OPENED, 'write j._0 8192', 'write j._0 8192', 'flush j._0'])

    def test_flushes_of_what_was_opened_elsewhere_show(self):
        self.assertEqual(read(START + FLUSH.replace('00000044', '00000050'))[-1],
                         'flush another file')


class Templates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = os.path.join(TOP, 'tests', 'windows', 'run.py')
        spec = importlib.util.spec_from_file_location('windows_run', path)
        cls.run_module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.run_module)

    def difference(self, text):
        template = self.run_module.Template('base')
        template.start = [OPENED]
        return self.run_module.difference(template, read(text))

    def test_the_number_of_commits_is_found_again(self):
        commits = self.run_module.COMMITS
        self.assertTrue(all(commits % n for n in range(2, commits)), 'it is prime')
        self.assertEqual(self.difference(START + COMMIT * commits), '')
        self.assertIn('23 calls', self.difference(START + COMMIT * (commits - 1)))
        self.assertIn('25 calls', self.difference(START + COMMIT * (commits + 1)))

    def test_what_must_not_be_is_named(self):
        whole = START + COMMIT * self.run_module.COMMITS
        self.assertIn('0x20000000', self.difference(whole.replace('0xa0000000', '0x20000000')))
        self.assertIn("call 2 is 'write j._0 4096'",
                      self.difference(whole.replace('SUCCESS (8192)', 'SUCCESS (4096)', 1)))
        self.assertIn("call 3 is 'flush j._0'",
                      self.difference(START + COMMIT + FLUSH + COMMIT * 22))
