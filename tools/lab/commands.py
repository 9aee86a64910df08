"""All commands of ./lab."""

from lab import (base, bench, clustering, measuring, old_data, patching, products, release, serving,
                 testing, upstream)
from lab.command_line import Lab

ORDER = ('run', 'test', 'serve', 'shell', 'cluster', 'trace', 'bench', 'measure', 'report', 'crash',
         'check', 'salvage', 'backup', 'restore', 'copy', 'patch', 'pr', 'port', 'docs', 'package',
         'release', 'setup')  # in ./lab --help


def make_lab():
    every = {}
    for group in (measuring, bench, testing, serving, clustering, old_data, products, patching,
                  upstream, release):
        every.update(group.COMMANDS)
    return Lab({name: every[name] for name in ORDER})


def main(words):
    try:
        arguments = make_lab().parse(words)
        arguments.run(arguments.words)
    except KeyboardInterrupt:
        base.give_up('stopped', base.EXIT_INTERRUPTED)
