"""A data directory, its server, and rounds of load and kill on it (run.py says what a round is)."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))

import load  # noqa: E402
import reading  # noqa: E402
import server  # noqa: E402
import settings  # noqa: E402
from reading import SHARED, Collection, Failure  # noqa: E402

WRITERS = 4
ANY_FILE, SHUTDOWN, STOP, BUILDING = 'a new file', 'shutdown', 'stop', 'building'
# Kinds of moments; each round takes the next one of a shuffled list.
MOMENTS = ['writes', 'writes', 'ack', 'ack', ANY_FILE, SHUTDOWN, STOP, 'batch', 'multi', 'push',
           'grow', 'index', BUILDING, BUILDING, 'drop', 'drop_database']
REFUSED = 'refused'  # instead of some of these where something runs out
STARTED_BY_ACKS = ('writes', ANY_FILE, SHUTDOWN, STOP)
REFUSALS_MAX, ACKS_MAX = 40, 400  # a round ends after so many, whatever it waits for
EXIT_FATAL, EXIT_DBPATH = 14, 100


class Killer:
    """Decides when a round's kill is due. Writers call watch(); the driver waits in wait()."""

    def __init__(self, moment, chance, dbpath, longer):
        self.moment, self.dbpath = moment, dbpath
        self.left = chance.randrange(1, 80)
        self.delay = chance.random() * {'writes': 0.05, 'ack': 0}.get(moment, 0.01)
        if moment not in ('writes', 'ack'):
            self.left = chance.randrange(1, 4)
        self.left *= longer
        self.process = None
        self.ending = threading.Event()  # set before anything ends the server
        self.lock = threading.Lock()
        self.due = threading.Event()
        self.acknowledged = self.refused = 0

    def watch(self, event):
        with self.lock:
            self.acknowledged += event == 'ack'
            self.refused += event == REFUSED
            if event == ('ack' if self.moment in STARTED_BY_ACKS else self.moment):
                self.left -= 1
                if self.left == 0:
                    if self.moment == 'ack':
                        self.ending.set()
                        self.process.kill()
                    self.due.set()
            if self.refused >= REFUSALS_MAX or self.acknowledged >= ACKS_MAX:
                self.due.set()

    def wait(self, writers):
        """Returns when the kill is due, or when every writer has ended."""
        while not self.due.wait(0.005) and any(writer.is_alive() for writer in writers):
            pass
        if self.moment == ANY_FILE:
            before = self.files()
            while self.files() <= before and any(writer.is_alive() for writer in writers) \
                    and self.refused < REFUSALS_MAX and self.acknowledged < ACKS_MAX:
                pass  # the file may be there for a few microseconds only
        elif self.delay:
            time.sleep(self.delay)

    def files(self):
        found = set()
        for folder in ('', 'journal', '_tmp'):
            try:
                found.update(folder + '/' + name
                             for name in os.listdir(os.path.join(self.dbpath, folder)))
            except FileNotFoundError:
                pass
        return found


class Preloaded(server.Server):
    """`words` before the command, of env."""

    def __init__(self, words, *arguments):
        self.words = words
        super().__init__(*arguments)

    def command_line(self):
        return self.words + super().command_line()


class Owner:
    """What is known of one writer's data between two rounds: see load.Writer."""

    def __init__(self, number):
        self.number, self.state, self.tail, self.pending = number, {}, [], []
        self.refusal = None


class Driver:
    """`chance` decides everything that is not up to the schedule."""

    def __init__(self, stage, folder, setting, chance):
        self.program = os.path.join(stage, 'bin', 'mongod')
        self.checker = os.path.join(stage, 'bin', 'dbpath_check')
        self.folder, self.setting, self.chance = folder, setting, chance
        self.dbpath = os.path.join(folder, 'db')
        self.preloaded = []
        if setting.preloaded:
            self.preloaded += ['env', 'LD_PRELOAD=' + os.path.join(stage, 'bin', setting.preloaded)]
        self.owners = [Owner(number) for number in range(WRITERS)]
        self.moments = []
        self.start_seconds = 0.0
        self.needs_repair = False  # killed while it had no journal
        self.kills = self.acknowledged = 0

    # --- starting ---

    def start(self):
        self.setting.before_start()
        begin = time.monotonic()
        running = Preloaded(self.preloaded, self.program, self.dbpath, self.setting.options)
        self.start_seconds = time.monotonic() - begin
        return running

    def set_up(self):
        os.makedirs(self.dbpath)
        self.setting.make(self.dbpath)
        with self.start() as running:
            load.make_shared(running.port)
        for owner in self.owners:
            owner.state[SHARED] = Collection(indexes=load.SHARED_INDEXES)

    def popen(self, options):
        with open(self.dbpath + '.log', 'ab') as log:
            return subprocess.Popen(
                self.preloaded + [self.program, '--port', str(self.chance.randrange(20000, 30000)),
                                  '--dbpath', self.dbpath] + options, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=dict(os.environ, **server.SANITIZER_ENVIRONMENT))

    def kill_during_start(self):
        """Starts it a few times and kills it before it is ready, or just then."""
        kills = self.chance.choice((0, 0, 1, 2))
        for _ in range(kills):
            self.setting.before_start()
            process = self.popen(self.setting.options)
            time.sleep(self.chance.random() * self.start_seconds)
            process.kill()
            if process.wait() not in (-signal.SIGKILL, server.EXIT_PORT_IN_USE):
                raise Failure('a start ended with %d by itself:\n%s'
                              % (process.returncode, self.log_tail()))
        self.kills += kills
        return kills

    def lock_path(self):
        return os.path.join(self.dbpath, 'mongod.lock')

    def has_journal_files(self):
        folder = os.path.join(self.dbpath, 'journal')
        return os.path.isdir(folder) and any(name.startswith('j._') for name in os.listdir(folder))

    def run_to_end(self, options):
        """The exit code of a start that is expected to end by itself."""
        while True:
            code = self.popen(options).wait(timeout=server.READY_SECONDS_MAX)
            if code != server.EXIT_PORT_IN_USE:
                return code

    def must_refuse(self, options, sentence):
        code = self.run_to_end(options)
        if code != EXIT_DBPATH or sentence not in self.log_tail():
            raise Failure('a start that must be refused ended with %d:\n%s'
                          % (code, self.log_tail()))

    def choose_journal(self):
        """For a setting that goes with and without one."""
        layout = self.setting.layout
        if self.needs_repair:
            self.must_refuse(layout + ['--nojournal'], 'old lock file')
            self.must_refuse(layout + self.setting.of_journal, 'old lock file')
            code = self.run_to_end(layout + ['--nojournal', '--repair'])
            if code != 0:
                raise Failure('the repair ended with %d:\n%s' % (code, self.log_tail()))
            self.needs_repair = False
            # Cut in the middle of a move, a document is at both places, and the index goes.
            if 'index _id_ is dropped: E11000' in self.log_tail(100):
                shutil.rmtree(self.dbpath)
                self.owners = [Owner(number) for number in range(WRITERS)]
                self.set_up()
        if self.has_journal_files():
            self.must_refuse(layout + ['--nojournal'], 'journal/ files are present')
            self.setting.journal = True
        elif os.path.getsize(self.lock_path()) > 0:
            # Killed just when its journal had no files: dropDatabase removes them.
            self.must_refuse(layout + ['--nojournal'], 'old lock file')
            self.setting.journal = True
        else:
            self.setting.choose_mode()

    def log_tail(self, lines=20):
        with open(self.dbpath + '.log', encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-lines:])

    # --- a round ---

    def round(self):
        """Starts, checks, writes, kills. Returns a line about it."""
        if isinstance(self.setting, settings.Alternating):
            self.choose_journal()
        if not self.moments:
            moments = MOMENTS + list(self.setting.moments)
            self.moments = self.chance.sample(moments, len(moments))
        moment = self.moments.pop()
        if self.setting.refusal and self.chance.random() < 0.5:
            moment = REFUSED
        killer = Killer(moment, self.chance, self.dbpath, self.setting.longer)
        starts = self.kill_during_start() if self.setting.journal else 0
        with self.start() as running:
            survived = self.check(running)
            if self.chance.random() < 0.5:
                self.check_files(running)
            killer.process = running.process
            writers = [self.writer(owner, running.port, killer) for owner in self.owners]
            for writer in writers:
                writer.start()
            self.setting.under_load(running)
            killer.wait(writers)
            ended = self.end(running, killer)
        self.settle_accounts(writers, killer.moment, ended)
        self.kills += 1
        self.acknowledged += killer.acknowledged
        return ('%d of %s steps had survived; %s by %s after %d durable writes%s%s'
                % (sum(survived[0]), survived[1], ended, repr(killer.moment), killer.acknowledged,
                   ', %d refusals' % killer.refused if killer.refused else '',
                   ', %d starts killed before' % starts if starts else ''))

    def writer(self, owner, port, killer):
        writer = load.Writer(owner.number, owner.state, self.chance.random(), port, killer.watch,
                             killer.ending, self.setting.journal,
                             self.setting.refusal or self.setting.interruption, self.setting.spread)
        writer.ACTIONS = dict(writer.ACTIONS, **self.setting.actions)
        if killer.moment in (ANY_FILE, REFUSED, 'grow', 'drop', 'drop_database', 'index'):
            # Let it happen soon.
            writer.ACTIONS = dict(writer.ACTIONS, grow=15, index=12, drop=9, drop_database=6)
        if killer.moment == BUILDING and owner.number < 2:  # one for each dialect
            writer.ACTIONS = {'build': 1}
        return writer

    def end(self, running, killer):
        """Ends the server as the round wants it; says how it ended."""
        killer.ending.set()
        process = running.process
        if killer.moment in (SHUTDOWN, STOP):
            process.terminate()
            try:
                process.wait(server.READY_SECONDS_MAX if killer.moment == STOP
                             else self.chance.random() * 0.3)
            except subprocess.TimeoutExpired as hangs:
                if killer.moment == STOP:
                    running.kill()
                    raise Failure('the shutdown hangs:\n' + running.tail()) from hangs
        running.kill()
        code = process.returncode
        self.needs_repair = not self.setting.journal and os.path.getsize(self.lock_path()) > 0
        if code == 0 and killer.moment in (SHUTDOWN, STOP):
            return 'stopped'
        if code == EXIT_FATAL and self.setting.may_end \
                and re.search(settings.FATAL, running.tail()):
            return 'ended itself'
        if code != -signal.SIGKILL or killer.moment == STOP:
            raise Failure('the server ended with %d:\n%s' % (code, running.tail()))
        return 'killed'

    def settle_accounts(self, writers, moment, ended):
        """What may be there at the next start."""
        for writer in writers:
            writer.join()
            if writer.error:
                raise Failure('writer %d failed before the end: %s' % (writer.number, writer.error))
            if writer.lost_connection and ended != 'ended itself' and not self.setting.may_end:
                raise Failure('writer %d lost its connection:\n%s'
                              % (writer.number, self.log_tail()))
            if ended == 'stopped':
                writer.stopped()
            owner = self.owners[writer.number]
            owner.state, owner.tail, owner.pending = writer.state, writer.tail, writer.pending
            # A kill without a journal can leave the last operation half done, a shutdown that of
            # many documents.
            in_pieces = not self.setting.journal or moment in (SHUTDOWN, STOP)
            owner.refusal = '' if in_pieces else writer.refusal

    # --- checks ---

    def check(self, running):
        """Compares what is there with what may be there, and settles what was under way."""
        client = load.Modern(running.port)
        found = reading.read_all(client, WRITERS)
        client.close()
        survived = []
        steps = sum(len(owner.tail) for owner in self.owners)
        for owner in self.owners:
            count, owner.state = load.settle(owner, found[owner.number])
            survived.append(count)
            owner.tail, owner.pending = [], []
        return survived, steps

    def check_files(self, running):
        """Runs dbpath_check on a copy of the data files, as a backup would be taken."""
        copy = os.path.join(self.folder, 'copy')
        client = load.Modern(running.port)
        client.command('admin', {'fsync': 1, 'lock': True})
        os.mkdir(copy)
        names = [name for name in os.listdir(self.dbpath) if name.startswith('crash')
                 and name not in self.left_by_drops()]
        subprocess.run(['cp', '-r', '--sparse=always'] + names + [copy], cwd=self.dbpath,
                       check=True)
        client.command('admin', {'fsyncUnlock': 1})
        client.close()
        self.run_checker(copy)
        shutil.rmtree(copy)

    def left_by_drops(self):
        """Data files without a namespace file: a kill came while their database was dropped. The
        server and dbpath_check speak of them; a new database of that name removes them."""
        names = os.listdir(self.dbpath)
        if '--directoryperdb' in self.setting.layout:
            return [name for name in names if name.startswith('crash') and not os.path.exists(
                os.path.join(self.dbpath, name, name + '.ns'))]
        return [name for name in names if re.fullmatch(r'crash\w*\.\d+', name)
                and name.split('.')[0] + '.ns' not in names]

    def run_checker(self, dbpath):
        layout = [option for option in self.setting.layout if option == '--directoryperdb']
        run = subprocess.run([self.checker, '--quiet', dbpath] + layout, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise Failure('dbpath_check ended with %d:\n%s' % (run.returncode, run.stdout))

    def keep(self):
        """After a failure: copies what would go with a memory file system."""
        if self.setting.mounted:
            subprocess.run(['cp', '-a', '--sparse=always', self.dbpath, self.dbpath + '.kept'],
                           check=True)

    def finish(self):
        if isinstance(self.setting, settings.Alternating):
            self.choose_journal()
        with self.start() as running:
            self.check(running)
        for name in self.left_by_drops():
            path = os.path.join(self.dbpath, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        self.run_checker(self.dbpath)


def make(stage, folder, kind, seed, options):
    """The driver that a seed means, with its setting."""
    chance = random.Random(seed)
    return Driver(stage, folder, kind(chance, options), chance)
