"""./lab cluster: three members with elections and the three etcds for them."""

import os

from lab import base, install, needs, selections, serving
from lab.command_line import HELP, Parser

FOLDER = os.path.join(base.BUILD, 'cluster')
WORDS = ('up', 'status', 'kill', 'cut', 'down')


def run(*words):
    base.become(base.DRIVER_PYTHON, os.path.join(base.TOP, 'tools', 'run_cluster.py'),
                '--folder', FOLDER, *words)


def up(words):
    own = []
    if '--electionTimeout' in words[:-1]:
        at = words.index('--electionTimeout')
        own, words = words[at:at + 2], words[:at] + words[at + 2:]
    selection, options = serving.split(words)
    needs.compiler()
    install.debian('apt-cluster.txt')
    install.drivers()
    selections.build(selection, 'mongod')
    if selection == 'all' and not serving.has_config(options):
        options = ['--config', os.path.join(base.TOP, 'conf', 'durable.yaml'), *options]
    run('up', *own, '--program', selections.program(selection, 'mongod'),
        *('--option=' + option for option in options))


def cluster(words):
    parser = cluster_parser(words)
    if not words:
        base.give_up_with_help(parser)
    if words[0] not in WORDS:
        parser.error("'%s' is none of %s" % (words[0], ' '.join(WORDS)))
    if words[0] == 'up':
        up(words[1:])
    arguments = parser.check(words)
    if not os.path.exists(os.path.join(FOLDER, 'cluster.json')):
        base.give_up('there is no cluster: ./lab cluster up makes one')
    run(arguments.what, *([arguments.name] if arguments.name else []),
        *(['--watch'] if arguments.watch else []))


def cluster_parser(_):
    parser = Parser('./lab cluster', usage=HELP['cluster'], add_help=False)
    parser.add_argument('what', metavar='WHAT', choices=WORDS, help=' '.join(WORDS))
    parser.add_argument('name', metavar='NAME', nargs='?', help='of a member or an etcd')
    parser.add_argument('--watch', action='store_true', help='the whole screen, each second')
    return parser


COMMANDS = {'cluster': {'form': 'up|status|kill|cut|down', 'parser': cluster_parser, 'run': cluster,
                        'summary': 'three members that elect their primary, to look at and to kill',
                        'words': lambda: [*WORDS]}}
