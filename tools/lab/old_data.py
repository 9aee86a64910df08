"""./lab check, salvage, restore, copy: data of an old server, or a damaged one
(docs/old-data.md)."""

import os

from lab import base, install, needs, selections
from lab.command_line import Parser


def directory(words, command, form):
    """The directory that the first word names."""
    if not words or words[0].startswith('-'):
        base.give_up_with_help(PARSERS[command](words))
    if not os.path.isdir(words[0]):
        base.give_up("there is no directory '%s'; %s" % (words[0], form))
    return words[0]


def check(words):
    directory(words, 'check', './lab check DIR')
    needs.compiler()
    selections.build('all', 'dbpath_check')
    base.become(selections.program('all', 'dbpath_check'), *words)


def salvage(words):
    place = directory(words, 'salvage', './lab salvage DIR OUT')
    if len(words) != 2:
        base.give_up('./lab salvage DIR OUT: the data directory, and a new one for what can be '
                     'read', base.EXIT_USAGE)
    needs.compiler()
    selections.build('all', 'mongod')
    base.become(selections.program('all', 'mongod'), '--dbpath', place, '--salvage', words[1])


def with_driver(script, words):
    needs.begin()
    install.drivers()
    base.become(base.DRIVER_PYTHON, os.path.join(base.TOP, 'tools', script), *words)


def restore(words):
    if not words:
        base.give_up_with_help(PARSERS['restore'](words))
    with_driver('restore_dump.py', words)


def copy(words):
    if not words:
        base.give_up_with_help(PARSERS['copy'](words))
    with_driver('copy_databases.py', words)


PARSERS = {
    'check': lambda _: Parser('./lab check', add_help=False, usage='''\
./lab check DIR [OPTION...]     looks at a data directory of ours or of an old mongod (2.4, 2.6),
                                changes nothing: what is in it, and what is wrong

No server may run on it. --db NAME for one database, --quiet for faults only. Exit code 1: there
are faults. ./lab salvage DIR OUT gets out what can be read.'''),
    'salvage': lambda _: Parser('./lab salvage', add_help=False, usage='''\
./lab salvage DIR OUT           writes what can be read of a damaged data directory into the new
                                directory OUT, as mongodump would; changes nothing in DIR

Then ./lab serve --dbpath NEW for a new server, and ./lab restore OUT. Where the server still starts
on DIR, start it first: it replays the journal, which a salvage does not.'''),
    'restore': lambda _: Parser('./lab restore', add_help=False, usage='''\
./lab restore [--database NAME]... FOLDER [TO]     a dump into a server

FOLDER is what ./lab salvage, mongod --salvage or mongodump wrote; TO an address such as
mongodb://127.0.0.1:27017, which is the default. Installs pymongo into build/ where that is
missing.'''),
    'copy': lambda _: Parser('./lab copy', add_help=False, usage='''\
./lab copy [--database NAME]... FROM TO     all databases of one server to another, compared at the
                                            end; any versions of the two

  ./lab serve --dbpath OLD --port 27017                          the old files, served
  ./lab copy mongodb://127.0.0.1:27017 mongodb://127.0.0.1:27018     to a current server''')}

COMMANDS = {
    'check': {'form': 'DIR', 'summary': 'a data directory: what is in it, what is wrong',
              'parser': PARSERS['check'], 'run': check},
    'salvage': {'form': 'DIR OUT', 'summary': 'what can be read of a damaged one',
                'parser': PARSERS['salvage'], 'run': salvage},
    'restore': {'form': 'FOLDER [TO]', 'summary': 'a dump into a server',
                'parser': PARSERS['restore'], 'run': restore},
    'copy': {'form': 'FROM TO', 'summary': 'all databases of one server to another',
             'parser': PARSERS['copy'], 'run': copy}}
