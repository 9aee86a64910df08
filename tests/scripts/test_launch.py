"""Tests perf/launch.py: arguments are looked at without a measurement, Ctrl-C ends any script."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAUNCH = os.path.join(TOP, 'perf', 'launch.py')
SCRIPT = '''
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument('--count', type=int)
%s = parser.%s()
print('at work', flush=True)
while True:
    time.sleep(0.01)
'''
SECONDS_MAX = 60  # only ends what hangs


class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def script(self, names='arguments', call='parse_args'):
        path = os.path.join(self.folder.name, 'script.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(SCRIPT % (names, call))
        return path

    def check(self, path, *words):
        return subprocess.run([sys.executable, LAUNCH, '--check', path, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=SECONDS_MAX, check=False)

    def test_right_arguments_start_nothing(self):
        for names, call in (('arguments', 'parse_args'), ('arguments, rest', 'parse_known_args')):
            run = self.check(self.script(names, call), '--count', '3')
            self.assertEqual((run.returncode, run.stdout), (0, ''))

    def test_wrong_arguments_are_refused_as_by_the_script(self):
        for words, said in ((['--count', 'x'], 'invalid int'), (['x'], 'unrecognized arguments: x'),
                            (['--nosuch'], 'unrecognized arguments: --nosuch')):
            run = self.check(self.script(), *words)
            self.assertEqual(run.returncode, 2)
            self.assertIn('script.py: error: ', run.stdout)
            self.assertIn(said, run.stdout)

    def test_those_of_every_script_that_lab_starts_are_checked(self):
        for name in ('run', 'ab', 'base', 'compare', 'linkbench', 'append', 'sweep', 'growth',
                     'write_concern', 'insert_benchmark', 'write_through'):
            run = self.check(os.path.join(TOP, 'perf', name + '.py'), '--nosuch')
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertIn('unrecognized arguments: --nosuch', run.stdout)
            self.assertNotIn('Traceback', run.stdout)

    def test_tools_that_watch_a_server_refuse_what_is_no_time_and_no_process(self):
        for name in ('journal_writes', 'insert_chain', 'commit_profile', 'off_cpu',
                     'commit_stages'):
            for words, said in ((['--seconds', '-1', '1'], 'is no time'),
                                (['--seconds', 'nan', '1'], 'is no time'),
                                (['1x'], 'is no number of a process'),
                                (['0'], 'is no number of a process')):
                if name == 'commit_stages' and 'process' in said:
                    continue
                run = self.check(os.path.join(TOP, 'perf', 'trace', name + '.py'), *words)
                self.assertEqual(run.returncode, 2, run.stdout)
                self.assertIn(said, run.stdout)

    def test_control_c_ends_it_with_a_sentence(self):
        with subprocess.Popen(
                [sys.executable, LAUNCH, self.script()], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT,
                                                 signal.SIG_DFL)) as process:
            self.assertEqual(process.stdout.readline(), 'at work\n')
            process.send_signal(signal.SIGINT)
            said = process.stdout.read()
            self.assertEqual(process.wait(timeout=SECONDS_MAX), 130, said)
        self.assertEqual(said.strip(), 'lab: stopped')


if __name__ == '__main__':
    unittest.main()
