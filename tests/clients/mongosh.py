"""mongosh as a person uses it: its banner, help, every `show`, statistics, explain.

Lines are typed at its prompt; what it prints for each is matched. Nothing that it prints may be an
error or a warning, but for what stands in EXPECTED_COMPLAINTS.
Usage: mongosh.py NODE MAIN-OF-MONGOSH"""

import os
import re
import subprocess
import sys
import unittest

import case

NODE, MAIN = sys.argv[1:3]
SECONDS_MAX = 120  # only ends a shell that hangs

BANNER = r'Connecting to:\s+mongodb://.*\nUsing MongoDB:\s+\d+\.\d+\.\d+\nUsing Mongosh:\s+2\.'

# Lines, and below each the pattern of what is printed for it. Of startupWarnings: the disk may read
# ahead more than the server likes.
with open(os.path.join(os.path.dirname(__file__), 'mongosh.txt'), encoding='utf-8') as _file:
    TYPED = re.findall(r'^(\S.*)\n    (.*)$', _file.read().replace('PORT', str(case.PORT)), re.M)

# The shell speaks of itself here, or of Node.js.
EXPECTED_COMPLAINTS = re.compile(
    r'Deprecation warnings:\n(  - .*\n)+See .*\n|DeprecationWarning: .*\n|startupWarnings'
    r'|The server generated these startup warnings')


class Shell(unittest.TestCase):
    def test_a_session_at_the_prompt(self):
        environment = dict(os.environ, HOME=os.environ['MONGOD_SCRATCH'], NO_COLOR='1')
        run = subprocess.run([NODE, MAIN, case.URI], env=environment,
                             input=''.join(line + '\n' for line, _ in TYPED) + 'exit\n',
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=SECONDS_MAX)
        self.assertEqual(run.returncode, 0, run.stdout)
        banner, *printed = re.split(r'^(?:test|shop)> ', run.stdout, flags=re.M)
        self.assertRegex(banner, BANNER)
        self.assertEqual(len(printed), len(TYPED) + 1, run.stdout)
        for (line, pattern), answer in zip(TYPED, printed):
            with self.subTest(line):
                self.assertTrue(re.search(pattern, answer.rstrip('\n'), re.M), answer)
        complaints = re.sub(EXPECTED_COMPLAINTS, '', run.stdout)
        for word in ('rror', 'arning', 'Uncaught', 'deprecat', 'not supported', 'compatib'):
            lines = [each for each in complaints.splitlines() if word in each
                     and not each.startswith('    ')]  # the texts of help()
            self.assertEqual(lines, [])


if __name__ == '__main__':
    case.main(Shell)
