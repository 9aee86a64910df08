"""All commands of ./lab."""

from lab import base, bench, measuring, products, serving, testing, upstream
from lab.command_line import Lab

ORDER = ('run', 'test', 'serve', 'shell', 'trace', 'bench', 'report', 'crash', 'pr', 'port', 'docs',
         'package', 'setup')  # in ./lab --help


def main(words):
    every = {}
    for group in (measuring, bench, testing, serving, products, upstream):
        every.update(group.COMMANDS)
    lab = Lab({name: every[name] for name in ORDER})
    try:
        arguments = lab.parse(words)
        arguments.run(arguments.words)
    except KeyboardInterrupt:
        base.give_up('stopped', base.EXIT_INTERRUPTED)
