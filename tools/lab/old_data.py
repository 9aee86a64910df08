"""./lab check, salvage, backup, restore, copy: data as files (docs/operating.md)."""

import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile

from lab import base, install, needs, selections
from lab.command_line import HELP, Parser

PER_DATABASE = '--directoryperdb'
BACKUP = os.path.join(base.TOP, 'tools', 'backup.py')


def directory(words, command, form):
    """The data directory that the first word names."""
    if not words or words[0].startswith('-'):
        base.give_up_with_help(PARSERS[command](words))
    if not os.path.isdir(words[0]):
        base.give_up("there is no directory '%s'; %s" % (words[0], form))
    refuse_other_engines(words[0])
    return words[0]


def engine_of(place):
    try:
        with open(os.path.join(place, 'storage.bson'), 'rb') as file:
            named = re.search(rb'\x02engine\0.{4}(\w+)\0', file.read(), re.S)
    except FileNotFoundError:
        return 'mmapv1'
    return named.group(1).decode() if named else 'unknown'


def refuse_other_engines(place):
    """What follows reads files of mmapv1."""
    engine = engine_of(place)
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


def program(name, *more):
    needs.compiler()
    selections.build('all', name, *more)
    return selections.program('all', name)


def server_on(place):
    """The command that starts a server of ours on a data directory, which is to be named."""
    engine = engine_of(place)
    if engine == 'mmapv1':
        return [program('mongod'), *layout(place, [])]
    return [program('mongod', 'engines=mmapv1,' + engine, 'engine_%s.so' % engine.lower()),
            '--storageEngine', engine]


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
    if arguments.to or arguments.log:
        restore_to(arguments)
        return
    if not os.path.isdir(arguments.source):
        base.give_up("there is no folder '%s' with a dump" % arguments.source)
    refuse_no_address(arguments.target)
    needs.begin()
    install.drivers()
    base.become(base.DRIVER_PYTHON, os.path.join(base.TOP, 'tools', 'restore_dump.py'), *words)


@contextlib.contextmanager
def served(place):
    """The address of a server of ours on a data directory, for as long as the context lasts."""
    mongod = server_on(place)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix='lab-copy-') as folder:
        log = os.path.join(folder, 'mongod.log')
        run = subprocess.run(
            # What has expired since is copied, too.
            [*mongod, '--dbpath', place, '--port', str(port), '--nounixsocket', '--fork',
             '--setParameter', 'ttlMonitorEnabled=false', '--logpath', log],
            stdout=subprocess.DEVNULL, check=False)
        if run.returncode != 0:
            said = ''
            with contextlib.suppress(OSError), open(log, encoding='utf-8',
                                                    errors='replace') as file:
                said = file.read()
            base.give_up('no server starts on %s:\n%s' % (place, failure(said)))
        try:
            yield 'mongodb://127.0.0.1:%d' % port
        finally:
            subprocess.run([mongod[0], '--dbpath', place, '--shutdown'],
                           stdout=subprocess.DEVNULL, check=False)


def backup(words):
    if not words:
        base.give_up_with_help(PARSERS['backup'](words))
    arguments = PARSERS['backup'](words).check(words)
    refuse_no_address(arguments.source)
    needs.begin()
    install.drivers()
    base.become(base.DRIVER_PYTHON, BACKUP, 'copy', arguments.source,
                os.path.abspath(arguments.target))


def restore_to(arguments):
    """The backup stays as it is; what is made of it gets its name once it is complete."""
    source, target, log = arguments.source, arguments.target, arguments.log
    if not (arguments.to and log):
        base.give_up('--to TIME and --log LOG need each other', base.EXIT_USAGE)
    for place in (source, log):
        if '://' not in place and not os.path.isdir(place):
            base.give_up("there is no directory '%s'" % place)
    unfinished = target + '.unfinished'
    if '://' in target or os.path.exists(target) or os.path.exists(unfinished):
        base.give_up("'%s' is to be a new directory" % target)
    needs.begin()
    install.drivers()
    replay = [*server_on(source), '--replayTo', arguments.to, '--replayOplog']

    def said_of(place):
        return subprocess.run([*replay, os.devnull, '--dbpath', place], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False).stdout
    if '--replayTo: ' in (said := said_of(os.devnull)):  # before anything is copied
        base.give_up(failure(said))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, unfinished, ignore_errors=True)
        folder = stack.enter_context(tempfile.TemporaryDirectory(
            prefix='lab-restore-', dir=os.path.dirname(os.path.abspath(target))))
        base.say('copying ' + source)
        shutil.copytree(source, unfinished)
        said = said_of(unfinished)
        if not (copied := re.search(r'the end of the copy is (\d+:\d+)', said)):
            base.give_up(failure(said))
        if '://' not in log:
            log = stack.enter_context(served(shutil.copytree(log, os.path.join(folder, 'log'))))
        entries = os.path.join(folder, 'oplog.bson')
        base.say('reading the log from %s on' % copied[1])
        if subprocess.run([base.DRIVER_PYTHON, BACKUP, 'log', log, copied[1], entries],
                          check=False).returncode != 0:
            raise SystemExit(base.EXIT_FAILED)
        with subprocess.Popen([*replay, entries, '--dbpath', unfinished], stdout=subprocess.PIPE,
                              text=True) as run:
            for line in run.stdout:
                if 'replay: ' in line or 'ERROR: ' in line:
                    print(line, end='', flush=True)
        if run.returncode != 0:
            base.give_up('%s was not brought to %s' % (source, arguments.to))
        os.rename(unfinished, target)


def failure(said):
    lines = said.splitlines()
    return '\n'.join([line for line in lines if 'ERROR: ' in line] or lines[:1])


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
    parser.add_argument('--to', metavar='TIME', help='of the state that is wanted of a backup')
    parser.add_argument('--log', metavar='LOG', help='where its set has the entries up to it')
    parser.add_argument('source', metavar='FOLDER', help='with a dump, or a backup')
    parser.add_argument('target', metavar='TO', nargs='?', default='mongodb://127.0.0.1:27017',
                        help='the address of a server (%(default)s); with --to a new directory')
    return parser


def backup_parser(_):
    parser = Parser('./lab backup', add_help=False, usage=HELP['backup'])
    parser.add_argument('source', metavar='URI', help='the address of a server')
    parser.add_argument('target', metavar='DIR', help="a new directory, of the server's machine")
    return parser


PARSERS = {
    'check': lambda _: Parser('./lab check', add_help=False, usage=HELP['check']),
    'salvage': lambda _: Parser('./lab salvage', add_help=False, usage=HELP['salvage']),
    'backup': backup_parser,
    'restore': restore_parser,
    'copy': copy_parser}

COMMANDS = {
    'check': {'form': 'DIR', 'summary': 'a data directory: what is in it, what is wrong',
              'parser': PARSERS['check'], 'run': check},
    'salvage': {'form': 'DIR OUT', 'summary': 'what can be read of a damaged one',
                'parser': PARSERS['salvage'], 'run': salvage},
    'backup': {'form': 'URI DIR', 'summary': 'a copy of a server that goes on',
               'parser': PARSERS['backup'], 'run': backup},
    'restore': {'form': 'FOLDER [TO]',
                'summary': 'a dump into a server; a backup of a set up to a time',
                'parser': PARSERS['restore'], 'run': restore},
    'copy': {'form': 'FROM TO', 'summary': 'all databases of a server or a directory to another',
             'parser': PARSERS['copy'], 'run': copy}}
