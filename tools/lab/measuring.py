"""./lab run, ./lab trace, ./lab report: measurements by the scripts of perf/. bench.py has the
rest."""

import importlib
import re

from lab import base, install, needs, selections
from lab.command_line import HELP, Parser

# What every measurement runs beside the servers.
PROGRAMS = ['load_client', 'sync_floor', 'device_delay.so']


def script_parser(name, prog, usage=None, description=None, epilog=None):
    """The options of a script in perf/, as the script itself makes them."""
    script = importlib.import_module(name).make_parser()
    if description is None:
        description = called(script.description, name + '.py', prog)
    return Parser(prog, usage=usage or prog + ' [OPTION...]', description=description,
                  epilog=epilog, parents=[script], add_help=False)


def called(description, script, prog):
    """A script's own words for its help, where it is called by another name: the words of a usage
    that go on under it keep their column."""
    lines, moved = [], 0
    for line in description.splitlines():
        if line.startswith('Usage: '):
            moved = (len(prog) - len(script)) * (script in line)
        elif moved and not line.lstrip().startswith('['):
            moved = 0
        else:
            line = ' ' * moved + line
        lines.append(line.replace(script, prog))
    return '\n'.join(lines)


def run(words):
    run_parser([]).check(words)
    needs.measuring()
    selections.build('none', 'mongod', *PROGRAMS)
    selections.build('all', 'mongod')
    base.become_script('run', *words)


def run_parser(_):
    return script_parser('run', './lab run', description=HELP['run, description'],
                         epilog='The first time: about 10 minutes on two cores, 1.0 GB in build/. '
                         'Later: about 5 minutes.')


def report(words):
    report_parser([]).check(words)
    install.debian()  # no list: only what makes a virtual environment
    install.drivers()
    base.become_script('overview', *words)


def report_parser(_):
    return script_parser('overview', './lab report',
                         usage='./lab report [RESULT.json...] [--output STEM | --picture]',
                         description=HELP['overview, description'])


# ---- trace ----

class Tool:
    """A tool that watches a server: its script in perf/trace/."""

    def __init__(self, script, what):
        self.script, self.what = script, what


TOOLS = {
    'writes': Tool('journal_writes',
                   'system calls per journal commit (what you get when nothing is named)'),
    'chain': Tool('insert_chain', 'one insert from message to reply, call by call'),
    'waits': Tool('off_cpu', 'what threads wait for'),
    'profile': Tool('commit_profile', 'where processor time goes (perf)'),
    'stages': Tool('commit_stages',
                   "./lab trace stages [URI]: the times of a commit's stages, from serverStatus")}


def trace(words):
    name = 'writes'
    if words and re.fullmatch('[a-z][a-z-]*', words[0]):
        name, words = words[0], words[1:]
    if name not in TOOLS:
        base.give_up("no trace '%s'; there are: %s" % (name, ' '.join(TOOLS)))
    starts = any(word.split('=')[0] == '--server' for word in words)
    if not starts and name != 'stages' and not any(re.fullmatch('[0-9]+', word) for word in words):
        base.give_up('which process? name its number (pgrep mongod), or start one with --server')
    script = TOOLS[name].script
    if starts:  # the options that are not of trace_server.py are the tool's
        script_parser('trace_server', './lab trace').parse_known_args([script, *words])
    needs.measuring()
    if starts:
        selections.build('none', 'load_client')
        base.become_script('trace_server', script, *words)
    base.become_script('trace/' + script, *words)


def trace_parser(_):
    return Parser('./lab trace', add_help=False, usage=HELP['trace'],
                  description='\n'.join('  %-7s  %s' % (name, tool.what)
                                        for name, tool in TOOLS.items()))


def measure(words):
    measure_parser([]).check(words)
    needs.measuring()
    base.become_script('measure_all', *words)


def measure_parser(_):
    return script_parser('measure_all', './lab measure')


COMMANDS = {
    'measure': {'form': '[PIECE...]', 'parser': measure_parser, 'run': measure,
                'summary': 'measure and keep all that pages and headers say, over several nights'},
    'run': {'parser': run_parser, 'run': run,
            'summary': 'the main job: measure durable inserts, option by option, print the ladder'},
    'trace': {'form': '[WHAT] PID', 'parser': trace_parser, 'run': trace, 'words': lambda: [*TOOLS],
              'summary': "watch a running server: its journal's system calls, where time goes"},
    'report': {'parser': report_parser, 'run': report,
               'summary': 'one page of what was measured: findings, where we lose, tables, plots'}}
