"""Any mongod beside ours: the options --server 'NAME=PATH OPTIONS', a binary, and --uri, one that
runs already, of the measurements.

The binary gets a port, a directory and 127.0.0.1 from here, all else from OPTIONS. It counts as
started when it answers, so that its log may look as it wants. Servers before wire version 9 are
refused by today's drivers: those are loaded and asked the old way (old_wire.c, OP_QUERY)."""

import argparse
import contextlib
import os
import re
import shlex
import signal
import sys
import tempfile
import time

import late

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import messages  # noqa: E402
import server  # noqa: E402

pymongo = late.Module('pymongo')

NAME_MAX = 30  # what the tables have room for
PORT_MAX = 65535
DRIVER_WIRE_MIN = 9  # of the drivers here (wire spec 1b)
SELECTION_MS_MAX = 5000  # as the C programs wait for a server
GIVEN_HERE = ('--port', '--dbpath', '--fork', '--shutdown')
HELP = ("another mongod beside ours, e.g. 'ported=/opt/mongod --smallfiles "
        "--journalCommitInterval 2'; may be given again")


class Named:
    """A server as --server names it."""

    def __init__(self, name, program, options):
        self.name, self.program, self.options = name, program, options
        self.old_wire = None  # set by probe()

    def shown_program(self):
        """For results: without the path of this checkout, where it is in it."""
        return self.program.removeprefix(TOP + os.sep)

    def start(self, dbpath, options=(), kind=None):
        """`kind`: a class below AnyServer."""
        return (kind or AnyServer)(self.program, dbpath, self.options + list(options))

    def has(self, option):
        """Whether OPTIONS has that option, with its value in the same word or in the next."""
        return any(word.split('=', 1)[0] == option for word in self.options)


def parse(text):
    """A Named; argparse turns the errors into a sentence and exit code 2."""
    name, equals, rest = text.partition('=')
    name = name.strip()
    if not equals or not name or '/' in name:
        raise argparse.ArgumentTypeError(
            "'%s' does not begin with NAME=; write 'NAME=PATH OPTIONS'" % text)
    if len(name) > NAME_MAX or not name.isprintable():
        raise argparse.ArgumentTypeError(
            "the name '%s' is no text of at most %d characters" % (name, NAME_MAX))
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            "%s: cannot split '%s' into words: %s" % (name, rest, error)) from None
    if not words:
        raise argparse.ArgumentTypeError('%s: no path of a mongod behind the =' % name)
    program = os.path.abspath(os.path.expanduser(words[0]))
    if not os.path.isfile(program):
        raise argparse.ArgumentTypeError("%s: there is no file '%s'" % (name, program))
    if not os.access(program, os.X_OK):
        raise argparse.ArgumentTypeError("%s: '%s' is not executable" % (name, program))
    named = Named(name, program, words[1:])
    for option in GIVEN_HERE:
        if named.has(option):
            raise argparse.ArgumentTypeError(
                '%s: leave %s out; each run has a port and a directory of its own, and the server '
                'stays in the foreground' % (name, option))
    return named


def add_option(parser, **more):
    parser.add_argument('--server', dest='servers', metavar="'NAME=PATH OPTIONS'", type=parse,
                        action='append', default=[], help=HELP, **more)


def at_port(text):
    """For argparse: the address of a server of this machine."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= PORT_MAX):
        raise argparse.ArgumentTypeError("'%s' is no port; give a number from 1 to %d"
                                         % (text, PORT_MAX))
    return 'mongodb://127.0.0.1:%d' % int(text)


def add_uri(parser):
    parser.add_argument('--uri', help='a MongoDB-compatible server that runs already, too')
    parser.add_argument('--port', dest='uri', type=at_port, metavar='PORT',
                        help='the same, one of this machine')


def add_running(parser):
    """--uri, and how all are loaded."""
    add_uri(parser)
    parser.add_argument('--old-wire', action='store_true',
                        help="loads all as old drivers did; so too where one of --server or --uri "
                        "is too old for today's")


def check_names(parser, servers, taken=()):
    """Ends with 2 when a name is there twice."""
    seen = set(taken)
    for named in servers:
        if named.name in seen:
            parser.error("argument --server: the name '%s' is taken" % named.name)
        seen.add(named.name)


def state_and_parent(pid):
    """As /proc has them; ('', 0) when there is no such process."""
    try:
        with open('/proc/%d/stat' % pid, encoding='ascii', errors='replace') as file:
            state, parent = file.read().rsplit(')', 1)[1].split()[:2]
            return state, int(parent)
    except (FileNotFoundError, ProcessLookupError):
        return '', 0


def has_ended(pid):
    """Whether it is gone, or only waits for its parent's look."""
    return state_and_parent(pid)[0] in ('', 'X', 'Z')


def run_command(running, database, command):
    if running.old_wire:
        return messages.ask_by_query(running.port, database, command, running.host)
    with pymongo.MongoClient(running.uri, serverSelectionTimeoutMS=SELECTION_MS_MAX) as client:
        return client[database].command(command)


def is_too_old(port, host):
    """Whether today's drivers refuse the server there. Raises messages.Refused."""
    greeting = messages.ask_by_query(port, 'admin', {'isMaster': 1}, host)
    return greeting.get('maxWireVersion', 0) < DRIVER_WIRE_MIN


def shown(uri):
    """A URI without its password."""
    return re.sub(r'(://[^/@:]*):[^/@]*@', r'\1:***@', uri)


class Running:
    """A server that runs already. Its process, its directory and its end are not ours to know."""

    pid = None

    def __init__(self, uri):
        self.uri, self.name = uri, shown(uri)
        try:
            self.host, self.port = pymongo.uri_parser.parse_uri(uri)['nodelist'][0]
        except (pymongo.errors.PyMongoError, ValueError) as error:
            raise server.ServerError('--uri: %s: %s' % (self.name, error)) from None
        try:
            self.old_wire = is_too_old(self.port, self.host)
        except messages.Refused:
            self.old_wire = False  # if anything can be said of it the driver says it


class AnyServer(server.Server):
    """A running mongod of any make. `pid` is the mongod's own, also behind a script."""

    host = '127.0.0.1'
    # A process group of its own, so that a script that starts it can be ended with it.
    process_options = {'start_new_session': True}
    ready_seconds_max = 600  # without --smallfiles an old one writes 3 GB of journal files first
    old_wire = None
    own_pid = None

    def command_line(self):
        bind = any(word.split('=', 1)[0] in ('--bind_ip', '--bind_ip_all') for word in self.options)
        return super().command_line() + ([] if bind else ['--bind_ip', '127.0.0.1'])

    def is_ready(self, start_of_log):
        try:
            self.old_wire = is_too_old(self.port, self.host)
            pid = run_command(self, 'admin', {'serverStatus': 1}).get('pid', self.process.pid)
        except (messages.Refused, pymongo.errors.PyMongoError):
            return False
        above = self.own_pid = int(pid)
        while above not in (self.process.pid, 0):
            above = state_and_parent(above)[1]
        return above != 0  # otherwise another process has this port, and ours is about to say so

    @property
    def pid(self):
        return self.own_pid or self.process.pid

    def stop(self):
        """As the base class, but how a foreign server ends is not for us to judge: one that stays
        is killed."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
            self.wait(server.READY_SECONDS_MAX)
        self.kill()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.wait(server.READY_SECONDS_MAX)

    def wait(self, seconds):
        """For the mongod, which may outlive the script that started it, and makes and removes files
        of its directory until it has ended."""
        limit = time.monotonic() + seconds
        while not has_ended(self.pid) and time.monotonic() < limit:
            time.sleep(0.01)

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.stop()
        else:
            self.kill()


def about(running, name, program, options):
    """What a server says it is, and how it can be loaded."""
    info = run_command(running, 'admin', {'buildInfo': 1})
    return {'name': name, 'program': program, 'options': options,
            'version': info.get('version', ''), 'git_version': info.get('gitVersion', ''),
            'old_wire': running.old_wire,
            'takes_old_wire': running.old_wire or takes_old_wire(running)}


def probe(named, folder, options=()):
    """Starts it once, to see before anything is measured that it does. Sets `old_wire`; returns
    what it says it is. Raises ServerError, with its last lines, when it does not start."""
    try:
        with named.start(tempfile.mkdtemp(dir=folder), options) as running:
            named.old_wire = running.old_wire
            return about(running, named.name, named.shown_program(), named.options)
    except (server.ServerError, OSError) as error:
        raise server.ServerError('%s: %s' % (named.name, error)) from None


def takes_old_wire(running):
    """Newer servers answer nothing but a handshake the old way."""
    try:
        messages.ask_by_query(running.port, 'admin', {'ping': 1}, running.host)
        return True
    except messages.Refused:
        return False


def common_wire(described, asked=False):
    """Whether all are loaded the old way, so that all have the same client: when it is asked for or
    one needs it. Raises ServerError when another one does not take it."""
    old = next((each['name'] for each in described if each['old_wire']), None)
    for each in described:
        if (old or asked) and not each['takes_old_wire']:
            raise server.ServerError(
                "%s takes only what old drivers send and %s only what today's do: measure them in "
                'two runs' % (old, each['name']) if old else
                "--old-wire: %s takes only what today's drivers send" % each['name'])
    return asked or old is not None


def survey(arguments, folder):
    """(what each server of --server and --uri is, whether all are loaded the old way). Starts each
    once; raises ServerError when one does not start or answer, and when they do not go together."""
    described = [probe(named, folder) for named in arguments.servers]
    if arguments.uri:
        running = Running(arguments.uri)
        try:
            described.append(about(running, running.name, running.name, []))
        except (messages.Refused, pymongo.errors.PyMongoError) as error:
            raise server.ServerError('%s: %s' % (running.name, error)) from None
    return described, common_wire(described, arguments.old_wire)


def texts(result):
    """A sentence for each server of --server and --uri, and on how all were loaded."""
    for each in result.get('servers', ()):
        yield '%s: %s (%s)' % (each['name'], ' '.join([each['program']] + each['options']),
                               each['version'])
    if result.get('old_wire'):
        yield ('All servers were loaded as old drivers did it, with getLastError behind each '
               'write: it was asked for, or one knows nothing newer.')
