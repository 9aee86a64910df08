"""Tests perf/launch.py: it is as if the script itself was started, but for Ctrl-C."""

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
parser.parse_args()
print('at work', flush=True)
while True:
    time.sleep(0.01)
'''
SECONDS_MAX = 60  # only ends what hangs


class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def script(self):
        path = os.path.join(self.folder.name, 'script.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(SCRIPT)
        return path

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
