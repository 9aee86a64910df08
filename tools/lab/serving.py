"""./lab serve, ./lab shell: a server to use, and a shell on it."""

import contextlib
import glob
import os
import re

from lab import base, needs, selections
from lab.command_line import HELP, Parser

NAMES_A_PLACE = re.compile(r'^[^#\n]*dbpath', re.IGNORECASE | re.M)
NOT_IN_FRONT = {'--fork', '--shutdown'}  # what follows is no server that Ctrl-C stops
ONLY_TELLS = {'--help', '-h', '--version'}
SHELL_SETTINGS = '{"enableTelemetry":false,"disableGreetingMessage":true}\n'


def has_config(options):
    return any(word == '-f' or word.split('=')[0] == '--config' for word in options)


def has_place(options):
    """Whether these options of mongod, or the configuration file that they name, say where the data
    is."""
    config = ''
    for before, word in zip([''] + options, options):
        name, _, value = word.partition('=')
        if name == '--dbpath':
            return True
        if before in ('--config', '-f'):
            config = word
        elif name == '--config' and value:
            config = value
    with contextlib.suppress(OSError), open(config, encoding='utf-8', errors='replace') as file:
        return bool(NAMES_A_PLACE.search(file.read()))
    return False


def split(words):
    """(selection, options of mongod); ends the process where a word is neither."""
    has_selection = words[:1] not in ([], ['--']) and not words[0].startswith('-')
    selection, options = selections.leading(words)
    if has_selection and options and not options[0].startswith('-'):
        base.give_up("one selection, and then options of mongod: not '%s' behind '%s' (more than "
                     'one patch: PATCH,PATCH)' % (options[0], selection))
    if options[:1] == ['--']:
        options = options[1:]
    if options and not options[0].startswith('-'):
        base.give_up("'%s' is no option of mongod: those begin with --; a selection of patches "
                     'comes before all options (./lab serve --help lists them)' % options[0])
    return selection, options


def a_built_one(selection):
    """A mongod that is built, of this selection where there is one: any of them ends any other."""
    built = [path for path in (selections.program(selection, 'mongod'),
                               *sorted(glob.glob(os.path.join(base.BUILD, '*', 'bin', 'mongod'))))
             if os.path.exists(path)]
    if not built:
        base.give_up('no mongod is built here, so none of this checkout runs: nothing to shut down')
    return built[0]


def serve(words):
    selection, options = split(words)
    if '--shutdown' in options:
        mongod = a_built_one(selection)
    else:
        needs.compiler()
        selections.build(selection, 'mongod')
        mongod = selections.program(selection, 'mongod')
    if ONLY_TELLS & set(options):
        base.become(mongod, *options)
    place = [] if has_place(options) else ['--dbpath', base.DATA]
    if place:
        os.makedirs(base.DATA, exist_ok=True)
    profile = []
    if selection == 'all' and not has_config(options) and '--shutdown' not in options:
        profile = ['--config', os.path.join(base.TOP, 'conf', 'durable.yaml')]
    if not NOT_IN_FRONT & set(options):
        base.say('starting mongod (%s%s)%s; Ctrl-C stops it' % (
            selection, ', conf/durable.yaml' if profile else '',
            ' on data/; ./lab shell talks to it' if place else ''))
    base.become(mongod, *profile, *place, *options)


def serve_parser(_):
    return Parser('./lab serve', add_help=False, usage=HELP['serve'],
                  epilog=selections.SELECTION % '' + selections.listed())


def shell(words):
    program = needs.shell()
    # A home of its own, with settings by which the shell sends nothing and prints no greeting.
    home = os.path.join(base.BUILD, 'shell')
    settings = os.path.join(home, '.mongodb', 'mongosh', 'config')
    os.makedirs(os.path.dirname(settings), exist_ok=True)
    if not os.path.exists(settings):
        with open(settings, 'w', encoding='utf-8') as file:
            file.write(SHELL_SETTINGS)
    os.environ['HOME'] = home
    base.become(*program, '--quiet', *words)


def shell_parser(_):
    return Parser('./lab shell', add_help=False, usage=HELP['shell'])


COMMANDS = {
    'serve': {'form': '[SELECTION] [OPTION...]', 'asked_first': True,
              'summary': 'a server to use, on data/ and 127.0.0.1:27017', 'parser': serve_parser,
              'run': serve, 'words': selections.words},
    'shell': {'form': '[ARGUMENT...]', 'asked_first': True, 'summary': 'mongosh on that server',
              'parser': shell_parser, 'run': shell}}
