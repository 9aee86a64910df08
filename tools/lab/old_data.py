"""./lab check, salvage, restore, copy: data of an old server, or a damaged one
(docs/operating.md)."""

import contextlib
import glob
import os
import re
import socket
import subprocess
import tempfile

from lab import base, install, needs, selections
from lab.command_line import HELP, Parser

PER_DATABASE = '--directoryperdb'


def directory(words, command, form):
    """The data directory that the first word names."""
    if not words or words[0].startswith('-'):
        base.give_up_with_help(PARSERS[command](words))
    if not os.path.isdir(words[0]):
        base.give_up("there is no directory '%s'; %s" % (words[0], form))
    refuse_other_engines(words[0])
    return words[0]


def refuse_other_engines(place):
    """What follows reads files of mmapv1."""
    try:
        with open(os.path.join(place, 'storage.bson'), 'rb') as file:
            named = re.search(rb'\x02engine\0.{4}(\w+)\0', file.read(), re.S)
    except FileNotFoundError:
        return
    engine = named.group(1).decode() if named else 'unknown'
    if engine != 'mmapv1':
        base.give_up("'%s' has the files of a storage engine other than mmapv1, %s: start a server "
                     "on it (mongod --dbpath %s --storageEngine %s), then ./lab copy from its "
                     "address, or run validate on its collections; docs/engines.md"
                     % (place, engine, place, engine))


def layout(place, words):
    """What mongod and dbpath_check have to be given where each database has a folder."""
    folders = [os.path.dirname(path) for path in glob.glob(glob.escape(place) + '/*/*.ns')
               if os.path.basename(path) == os.path.basename(os.path.dirname(path)) + '.ns']
    return [PER_DATABASE] if folders and PER_DATABASE not in words else []


def program(name):
    needs.compiler()
    selections.build('all', name)
    return selections.program('all', name)


def check(words):
    place = directory(words, 'check', './lab check DIR')
    base.become(program('dbpath_check'), *words, *layout(place, words))


def salvage(words):
    form = './lab salvage DIR OUT: the data directory, and a new one for what can be read'
    place = directory(words, 'salvage', form)
    if len(words) < 2 or words[1].startswith('-'):
        base.give_up(form, base.EXIT_USAGE)
    base.become(program('mongod'), '--dbpath', place, '--salvage', *words[1:],
                *layout(place, words))


def refuse_no_address(word):
    if '://' not in word:
        base.give_up("'%s' is no address of a server; one begins with mongodb://" % word)


def restore(words):
    if not words:
        base.give_up_with_help(PARSERS['restore'](words))
    arguments = PARSERS['restore'](words).check(words)
    if not os.path.isdir(arguments.source):
        base.give_up("there is no folder '%s' with a dump" % arguments.source)
    refuse_no_address(arguments.target)
    needs.begin()
    install.drivers()
    base.become(base.DRIVER_PYTHON, os.path.join(base.TOP, 'tools', 'restore_dump.py'), *words)


@contextlib.contextmanager
def served(place):
    """The address of a server of ours on a data directory, for as long as the context lasts."""
    mongod = program('mongod')
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix='lab-copy-') as folder:
        log = os.path.join(folder, 'mongod.log')
        run = subprocess.run(
            # What has expired since is copied, too.
            [mongod, '--dbpath', place, '--port', str(port), '--nounixsocket', '--fork',
             '--setParameter', 'ttlMonitorEnabled=false', '--logpath', log, *layout(place, [])],
            stdout=subprocess.DEVNULL)
        if run.returncode != 0:
            errors = []
            with contextlib.suppress(OSError), open(log, encoding='utf-8',
                                                    errors='replace') as file:
                errors = [line for line in file if 'ERROR: ' in line]
            base.give_up('no server starts on %s:\n%s' % (place, ''.join(errors[-5:]).rstrip()))
        try:
            yield 'mongodb://127.0.0.1:%d' % port
        finally:
            subprocess.run([mongod, '--dbpath', place, '--shutdown'], stdout=subprocess.DEVNULL)


def copy(words):
    if not words:
        base.give_up_with_help(PARSERS['copy'](words))
    arguments = PARSERS['copy'](words).check(words)
    source, target = arguments.source, arguments.target
    if os.path.isdir(target):
        base.give_up("'%s' is a directory; TO is a server, such as ./lab serve --dbpath %s starts"
                     % (target, target))
    place = os.path.isdir(source)
    if place:
        refuse_other_engines(source)
    # A server would make files of its own in any directory.
    if place and not layout(source, []) and not any(
            glob.glob(glob.escape(source) + pattern) for pattern in ('/*.ns', '/journal/j._*')):
        base.give_up("there is no database in '%s': no file whose name ends in .ns" % source)
    if not place and '://' not in source:
        base.give_up("there is no directory '%s'; an address begins with mongodb://" % source)
    refuse_no_address(target)
    needs.begin()
    install.drivers()
    script = [base.DRIVER_PYTHON, os.path.join(base.TOP, 'tools', 'copy_databases.py'),
              *(word for name in arguments.database or () for word in ('--database', name))]
    if not place:
        base.become(*script, source, target)
    with served(source) as address:
        code = subprocess.run([*script, address, target]).returncode
    raise SystemExit(code)


def copy_parser(_):
    parser = Parser('./lab copy', add_help=False, usage=HELP['copy'])
    add_database(parser)
    parser.add_argument('source', metavar='FROM', help='an address, or a data directory of mmapv1')
    parser.add_argument('target', metavar='TO', help='the address of a server')
    return parser


def add_database(parser):
    parser.add_argument('--database', action='append', metavar='NAME',
                        help='this one; may be given again (all)')


def restore_parser(_):
    parser = Parser('./lab restore', add_help=False, usage=HELP['restore'])
    add_database(parser)
    parser.add_argument('source', metavar='FOLDER', help='with a dump')
    parser.add_argument('target', metavar='TO', nargs='?', default='mongodb://127.0.0.1:27017',
                        help='the address of a server (%(default)s)')
    return parser


PARSERS = {
    'check': lambda _: Parser('./lab check', add_help=False, usage=HELP['check']),
    'salvage': lambda _: Parser('./lab salvage', add_help=False, usage=HELP['salvage']),
    'restore': restore_parser,
    'copy': copy_parser}

COMMANDS = {
    'check': {'form': 'DIR', 'summary': 'a data directory: what is in it, what is wrong',
              'parser': PARSERS['check'], 'run': check},
    'salvage': {'form': 'DIR OUT', 'summary': 'what can be read of a damaged one',
                'parser': PARSERS['salvage'], 'run': salvage},
    'restore': {'form': 'FOLDER [TO]', 'summary': 'a dump into a server',
                'parser': PARSERS['restore'], 'run': restore},
    'copy': {'form': 'FROM TO', 'summary': 'all databases of a server or a directory to another',
             'parser': PARSERS['copy'], 'run': copy}}
