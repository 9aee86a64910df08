"""An error that sends its reader to a backup or to dbpath_check is about a file that is cut or
damaged, and says how to get out what can be read: base::fail(base::Damaged{code}, ...) appends it.
"""

import glob
import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALL = re.compile(r'base::fail\((?P<code>[^,]+),\s*(?P<text>(?:"(?:[^"\\]|\\.)*"\s*)+)')
OF_DAMAGE = re.compile(r'from a backup|from a copy|dbpath_check')
# What is built again from the documents, and a disk that is only full.
OF_OTHERS = re.compile(r'build it again|make room')


def violations(name, text):
    for match in CALL.finditer(text):
        said = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group('text')))
        if OF_DAMAGE.search(said) and not OF_OTHERS.search(said) \
                and 'Damaged{' not in match.group('code'):
            yield '%s:%d: %s' % (name, text.count('\n', 0, match.start()) + 1, said)


class Damage(unittest.TestCase):
    def test_errors_about_damage_say_what_to_do(self):
        found, calls = [], 0
        for path in sorted(glob.glob(os.path.join(TOP, 'src', '**', '*.cpp'), recursive=True)):
            with open(path, encoding='utf-8') as file:
                text = file.read()
            found += violations(os.path.relpath(path, TOP), text)
            calls += text.count('base::Damaged{')
        self.assertEqual(found, [])
        self.assertGreater(calls, 20)

    def test_others_are_found(self):
        for text, count in (('base::fail(5, "bad; restore it "\n"from a backup", x);', 1),
                            ('base::fail(base::Damaged{5}, "restore it from a backup");', 0),
                            ('base::fail(5, "check it with dbpath_check, build it again");', 0),
                            ('base::fail(5, "bad");', 0)):
            self.assertEqual(len(list(violations('f', text))), count, text)


if __name__ == '__main__':
    sys.exit(unittest.main())
