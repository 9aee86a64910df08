"""The parts of the tests: the lines of tests/parts.txt."""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(TOP, 'tests', 'parts.txt')
DRIVER_PYTHON = os.path.join(TOP, 'build', 'venv', 'bin', 'python')
PYTHON = {'driver': DRIVER_PYTHON, 'python': sys.executable}
PYTEST = [DRIVER_PYTHON, '-m', 'pytest', '-q', '--no-header', '--tb=short']


class Part:
    """Its command is a script that ends with "N passed, N failed[, N skipped]", or, where the line
    names a folder or a file that is no script, pytest on these tests, which ends so too."""

    def __init__(self, line):
        name, when, python, beside, builds, seconds, command, what = (
            field.strip() for field in line.split('|'))
        self.name, self.what, self.seconds = name, what, float(seconds)
        self.is_usual = {'usual': True, 'long': False}[when]
        self.is_alone = {'alone': True, 'others': False}[beside]
        self.builds = [word for word in builds.split() if word != '-']
        self.is_of_pytest = command.startswith('pytest ')
        self.command = (PYTEST + command.split()[1:] if self.is_of_pytest
                        else [PYTHON[python]] + command.split())

    def with_arguments(self, words):
        """The command for a piece of the part: for pytest a word is one of a test's name."""
        if not self.is_of_pytest:
            return self.command + list(words)
        options = [word for word in words if word.startswith('-')]
        names = [word for word in words if not word.startswith('-')]
        return self.command + options + (['-k', ' or '.join(names)] if names else [])

    def markers(self):
        return (self.name, 'usual' if self.is_usual else 'long') + ('alone',) * self.is_alone


def read_parts(path=LIST):
    with open(path, encoding='utf-8') as file:
        parts = [Part(line) for line in file if line.strip() and not line.startswith('#')]
    return {part.name: part for part in parts}


def choose(parts, words):
    """The parts that the command line means, and the arguments for the only one of them."""
    arguments, has_arguments = [], '--' in words
    if has_arguments:
        arguments = words[words.index('--') + 1:]
        words = words[:words.index('--')]
    if words == ['--all']:
        words = list(parts)
    for word in words:
        if word not in parts:
            raise ValueError("no test part '%s'; there are: %s" % (word, ' '.join(parts)))
    if has_arguments and len(words) != 1:
        raise ValueError('arguments after -- need exactly one part before it')
    return [parts[word] for word in words] or [p for p in parts.values() if p.is_usual], arguments
