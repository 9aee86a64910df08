"""./lab bench: patches against the base, experiments, the base's operations, the load client."""

import sys

from lab import base, measuring, needs, selections
from lab.command_line import HELP, Parser

WINDOWS_PATCH = 'journal-no-write-through'  # measured by a model of its effect
COUNTS_JOURNAL_BYTES = 'journal-cumulative-stats'  # a base that counts, and is the same otherwise


class Experiment:
    """A script of perf/, and what it needs beside the base and the full series."""

    def __init__(self, script, *programs, counts=False, need=needs.measuring, words=()):
        self.script, self.programs, self.counts, self.need = script, programs, counts, need
        self.words = words


EXPERIMENTS = {
    'peers': Experiment('compare', 'floor_server'),
    'floor': Experiment('compare', 'floor_server', words=['--only', 'floor,mongod-dur,PostgreSQL']),
    'iibench': Experiment('insert_benchmark', 'iibench', 'journal_dump', counts=True),
    'write-concern': Experiment('write_concern', 'insert_latency', 'delay_router'),
    'linkbench': Experiment('linkbench', 'linkbench_mongodb'),
    'append': Experiment('append'),
    'transactions': Experiment('transactions', 'transfers_mongodb'),
    'sweep': Experiment('sweep'),
    'failover': Experiment('failover', 'failover_writer', need=needs.failover),
    'growth': Experiment('growth', 'iibench', counts=True)}


def build_base(*more):
    selections.build('none', 'mongod', *measuring.PROGRAMS, *more)


def experiment(name, words):
    script = EXPERIMENTS[name]
    experiment_parser(name).check(words)
    script.need()
    build_base(*script.programs)
    if script.counts:
        selections.build(COUNTS_JOURNAL_BYTES, 'mongod')
    selections.build('all', 'mongod')
    base.become_script(script.script, *script.words, *words)


def experiment_parser(name):
    return measuring.script_parser(EXPERIMENTS[name].script, './lab bench ' + name)


def operations(words):
    """./lab bench base."""
    operations_parser().check(words)
    needs.measuring()
    build_base()
    base.become_script('base', *words)


def operations_parser():
    return measuring.script_parser('base', './lab bench base')


def patches(slugs, words):
    """Some patches, words has them too; or all."""
    patches_parser(words[0]).check(words)
    needs.measuring()
    if '--estimate' not in words:
        build_base()
        for selection in ['all', *selections.needed_by(slugs), *slugs]:
            selections.build(selection, 'mongod')
    base.become_script('ab', *words)


def patches_parser(word):
    return measuring.script_parser('ab', './lab bench',
                                   usage='./lab bench %s [OPTION...]'
                                   % ('all' if word == 'all' else 'PATCH...'))


def windows_parser():
    return measuring.script_parser('write_through', './lab bench ' + WINDOWS_PATCH)


def windows_patch(words):
    windows_parser().check(words)
    needs.measuring()
    selections.build('none', 'append_cost')
    base.become_script('write_through', *words)


def load(words):
    load_parser(words[0]).check(words[1:])
    load_client(words)


def load_client(words):
    needs.measuring()
    build_base()
    base.become(selections.program('none', 'load_client'), *words)


WORKLOADS = ['insert', 'ping', 'find_one', 'find_raw', 'range_scan',
             *('ycsb_' + letter for letter in 'abcdef')]


def load_parser(workload):
    """What perf/load_client.c takes, which need not be built yet (test_lab_options.py)."""
    parser = Parser('./lab bench ' + workload, add_help=False,
                    epilog='./lab bench --help-load says what they are for.')
    for name in ('uri', 'port', 'collection', 'clients', 'seconds', 'warmup', 'bytes', 'text',
                 'batch', 'documents'):
        parser.add_argument('--' + name)
    for name in ('no-journal', 'index', 'old-wire', 'raw'):
        parser.add_argument('--' + name, action='store_true')
    return parser


def named(words):
    """The patches in front of the options; ends the process where a word is none, and the first
    none and no workload."""
    slugs = []
    for word in words:
        if word.startswith('-'):
            break
        if word in selections.patches():
            slugs.append(word)
        elif slugs:
            selections.give_up_without_patch(word)
        elif word not in WORKLOADS:
            base.say("no patch, experiment or workload '%s'; the experiments are %s, "
                     './lab bench --help-load lists the workloads, and the patches are'
                     % (word, ' '.join([*EXPERIMENTS, 'base'])))
            print(selections.listed(), file=sys.stderr)
            sys.exit(base.EXIT_USAGE)
        else:
            break
    return slugs


def bench(words):
    what = words[0] if words else ''
    if what == '--help-load':
        load_client(['--help'])
    elif not what or what.startswith('-'):
        base.say('which patch, experiment or workload%s?'
                 % (' comes before "%s"' % what if what else ''))
        base.give_up_with_help(bench_parser([]))
    elif what in EXPERIMENTS:
        experiment(what, words[1:])
    elif what == 'base':
        operations(words[1:])
    elif what == 'all':
        patches([slug for slug in selections.patches() if slug != WINDOWS_PATCH], words)
    elif slugs := named(words):
        if what == WINDOWS_PATCH:
            windows_patch(words[1:])
        else:
            patches(slugs, words)
    else:
        load(words)


def bench_parser(words):
    """That of the first word, where it has options of its own."""
    word = words[0] if words else ''
    if word in EXPERIMENTS:
        return experiment_parser(word)
    if word == 'base':
        return operations_parser()
    if word == WINDOWS_PATCH:
        return windows_parser()
    if word == 'all' or word in selections.patches():
        return patches_parser(word)
    if word in WORKLOADS:
        return load_parser(word)
    return Parser('./lab bench', add_help=False, usage=HELP['bench'],
                  epilog='The patches are\n' + selections.listed())


def first_words():
    return [*EXPERIMENTS, 'base', 'all', *selections.patches(), *WORKLOADS]


def inner_helps():
    """(title, the first words that it is about, their Parser)."""
    slugs = [slug for slug in selections.patches() if slug != WINDOWS_PATCH]
    return [*((name, [name], experiment_parser(name)) for name in EXPERIMENTS),
            ('base', ['base'], operations_parser()),
            ('PATCH', ['all', *slugs], patches_parser('')),
            (WINDOWS_PATCH, [WINDOWS_PATCH], windows_parser()),
            ('WORKLOAD', WORKLOADS, load_parser('WORKLOAD'))]


COMMANDS = {
    'bench': {'form': '[WHAT]', 'parser': bench_parser, 'run': bench, 'words': first_words,
              'inner': inner_helps,
              'summary': "a patch against the base, the base's operations, other servers, a load"}}
