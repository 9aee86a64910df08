"""The command line: ./lab and its subcommands for argparse, in our sentences.

Most words of a command are for another program: its selection and the options of mongod, a patch
and the options of a script. So a subcommand takes all its words (Command) and says what to make of
them: `parser` is what its help shows, and refuses what it does not know (Parser)."""

import argparse
import os
import re

from lab import base

COLUMN = 27  # of the summaries
WIDTH = 100

# What commands are for, by their names: it stands below lines `==== NAME` of a file.
with open(os.path.join(os.path.dirname(__file__), 'help.txt'), encoding='utf-8') as _file:
    HELP = dict(re.findall(r'^==== ([^\n]+)\n(.*?)\n(?===== |\Z)', _file.read(), re.M | re.S))


def formatter(prog):
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=20, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """What follows ./lab COMMAND. Words that it does not know are answered with those it does."""

    def __init__(self, prog, **more):
        super().__init__(prog=prog, allow_abbrev=False, formatter_class=formatter, **more)

    def format_help(self):
        return super().format_help().removeprefix('usage: ')

    def error(self, message):
        base.give_up('%s; %s --help says more' % (message, self.prog), base.EXIT_USAGE)

    def options(self):
        """The names of the options, without those for help."""
        return [name for action in self._actions for name in action.option_strings
                if name.startswith('--') and name != '--help']

    def check(self, words):
        """Ends the process where a word means nothing; returns what argparse made of them."""
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            word, known = unknown[0].split('=')[0], ' '.join(self.options())
            base.give_up("no option '%s'; %s has: %s" % (word, self.prog, known)
                         if word.startswith('-') else
                         "'%s' means nothing to %s; it has: %s" % (word, self.prog, known))
        return arguments


class Command(argparse.ArgumentParser):
    """A subcommand of ./lab.

    summary   what ./lab --help says of it
    form      what follows its name there
    parser    of (words): the Parser whose help answers --help among these words
    run       of (words): does it
    asked_first    only a first word asks for help: later ones are options of another program

    What completion offers beside the options that its help names, each of ():
    words     as the first word
    more      as later ones
    inner     [(title, first words that have a help of their own, the Parser of that help)]"""

    def __init__(self, summary, parser, run, form='', asked_first=False, words=list, more=list,
                 inner=list, **rest):
        super().__init__(add_help=False, **rest)
        self.summary, self.form, self.run = summary, form, run
        self.parser, self.asked_first = parser, asked_first
        self.words, self.more, self.inner = words, more, inner

    def parse_known_args(self, args=None, namespace=None):
        """Called by argparse, with what follows the command's name."""
        if self.wants_help(args):
            self.parser([word for word in args if word not in ('-h', '--help')]).print_help()
            self.exit()
        return argparse.Namespace(run=self.run, words=args), []

    def wants_help(self, words):
        """Whether it is ./lab that is asked. What is behind -- is for a part of the tests."""
        words = words[:1] if self.asked_first else words
        words = words[:words.index('--')] if '--' in words else words
        return '-h' in words or '--help' in words

    def line(self):
        head = ('%s %s' % (self.prog, self.form)).strip()
        return (head.ljust(COLUMN) if len(head) < COLUMN else head + '\n' + ' ' * COLUMN) \
            + self.summary


class Lab(argparse.ArgumentParser):
    """./lab itself. `commands` are {name: what Command takes}."""

    def __init__(self, commands):
        super().__init__(prog='./lab', add_help=False, allow_abbrev=False)
        subparsers = self.add_subparsers(parser_class=Command, required=True)
        for name, about in commands.items():
            subparsers.add_parser(name, **about)
        self.commands = subparsers.choices

    def format_help(self):
        return '\n'.join(command.line() for command in self.commands.values()) \
            + '\n\n' + HELP['end'] + '\n'

    def parse(self, words):
        """The command that the words name and its own words; help ends the process."""
        if not words:
            base.give_up_with_help(self)
        if words[0] in ('-h', '--help', 'help'):
            words = words[1:2] + ['--help'] + words[2:]
        if words == ['--help']:
            self.print_help()
            self.exit()
        if words[0] not in self.commands:
            base.give_up("no command '%s'; ./lab --help lists them" % words[0])
        return self.parse_args(words)
