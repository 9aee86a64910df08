"""The page for man and the completion of ./lab: every command and every option is in both, man and
bash take them."""

import re
import shutil
import subprocess
import tempfile
import unittest

import bare  # noqa: F401: where lab is
from lab import bench, commands, describe
from lab.command_line import Parser


def parsers(lab):
    """(title, the words in front, the parser) of everything that has a help."""
    for name, command in lab.commands.items():
        yield name, [name], command.parser([])
        for title, words, parser in command.inner():
            for word in words:
                yield '%s %s' % (name, title), [name, word], parser


def own_options(parser):
    """What argparse takes, or else what the text names."""
    own = parser.options() if isinstance(parser, Parser) else []
    return own or re.findall(r'(?<![\w-])--[a-zA-Z][\w-]*', parser.format_help())


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab, cls.page = commands.make_lab(), describe.man()

    def test_has_every_command_and_every_option(self):
        sections = dict(each.split('\n', 1) for each in self.page.split('.SS ./lab ')[1:])
        tried = 0
        for title, words, parser in parsers(self.lab):
            for option in own_options(parser):
                tried += 1
                self.assertIn('\\fB%s\\fR' % option.replace('-', '\\-'),
                              sections[title.replace('-', '\\-')], words)
        self.assertGreater(tried, 100)
        for name, command in self.lab.commands.items():
            self.assertIn(describe.escaped(command.summary[1:]), sections[name])
        for name in bench.EXPERIMENTS:
            self.assertIn('bench ' + name.replace('-', '\\-'), sections)

    @unittest.skipUnless(shutil.which('groff'), 'groff is not installed')
    def test_is_taken_without_a_warning(self):
        run = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-rLL=110n'], input=self.page,
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual(run.stderr, '')
        self.assertIn('./lab bench iibench', run.stdout)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab, cls.script = commands.make_lab(), describe.bash()

    def complete(self, *asked):
        """For each list of words what bash offers for the last one."""
        calls = ''.join('COMP_WORDS=(./lab %s) COMP_CWORD=%d\n_lab\necho "${COMPREPLY[@]}"\n'
                        % (' '.join("'%s'" % word for word in words), len(words))
                        for words in asked)
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(['bash', '-u', '-c', self.script + calls], cwd=folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        return [line.split() for line in run.stdout.split('\n')[:-1]]

    def test_offers_every_option_where_it_is_one(self):
        every = list(parsers(self.lab))
        for (_, words, parser), offered in zip(every, self.complete(*(
                [*words, '--'] for _, words, _ in every))):
            self.assertEqual(set(offered), {'--help', *own_options(parser)}, words)
