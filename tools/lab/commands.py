"""All commands of ./lab."""

from lab import (base, bench, measuring, old_data, patching, products, serving, testing,
                 upstream)
from lab.command_line import Lab

ORDER = ('run', 'test', 'serve', 'shell', 'trace', 'bench', 'report', 'crash', 'check', 'salvage',
         'restore', 'copy', 'patch', 'pr', 'port', 'docs', 'package', 'setup')  # in ./lab --help


def main(words):
    every = {}
    for group in (measuring, bench, testing, serving, old_data, products, patching,
                  upstream):
        every.update(group.COMMANDS)
    lab = Lab({name: every[name] for name in ORDER})
    try:
        arguments = lab.parse(words)
        arguments.run(arguments.words)
    except KeyboardInterrupt:
        base.give_up('stopped', base.EXIT_INTERRUPTED)
