"""Cuts the power of a disk in software, and checks what a server finds on it.

A server runs on a file system on a loop device on a file that logs every block written
and every flush (block_log.c). Clients write, the server is killed and started again, the system
writes pages back in between. Then, for flushes chosen by the seed, or all: a disk is made of what
was written until there, and perhaps of some of what was written between that flush and the next
one, in any selection and cut at a sector; the file system is mounted, a server started on it. All
that was acknowledged with j: true before is there, of the later steps of each client the first few
(load.py), every collection is valid.

Needs root, FUSE and loop devices; XFS needs xfsprogs. What it cannot see: what lies below a block
device (a disk that lies about flushes), and states within a call that never reach the device.
The same seed chooses the same work and states, not the same schedule. A failure keeps the log."""

import argparse
import copy
import itertools
import os
import random
import shutil
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'tests/crash')]

import block_log  # noqa: E402
import choice  # noqa: E402
import disk  # noqa: E402
import load  # noqa: E402
import reading  # noqa: E402
import server  # noqa: E402
import set_member  # noqa: E402
import totals  # noqa: E402
from driver import Owner  # noqa: E402

WRITERS = 4
DEAF_STATES = 60  # one of so many must show that a deaf server loses something
DISK_BYTES = 1 << 30
OPTIONS = ['--smallfiles', '--nssize', '2', '--syncdelay', '1', '--nounixsocket']
OF_A_SET = ['--replSet', 'rs0', '--oplogSize', '16']
INTERVAL = ['--journalCommitInterval', '3']
PROFILE = ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]


def started(kind, program, dbpath, options):
    running = kind(program, dbpath, options)
    if '--replSet' in options:
        set_member.become_primary(running.port)
    return running


class Clock:
    """Where in the log we are: everything written to the disk before now lies in front of it."""

    def __init__(self, path):
        self.path = path

    def now(self):
        return os.stat(self.path).st_size


class Writer(load.Writer):
    """Remembers when each step began and when it was acknowledged."""

    def __init__(self, clock, story, *arguments):
        super().__init__(*arguments)
        self.clock, self.story = clock, story

    def begin(self, steps):
        self.story.append((self.clock.now(), 'begin', list(steps)))
        super().begin(steps)

    def done(self, durable):
        super().done(durable)
        if durable:
            self.story.append((self.clock.now(), 'sure', None))


def owner_at(number, story, state):
    """What may be there of one writer on a disk in that state."""
    owner = Owner(number)
    for when, what, value in story:
        if what == 'begin':
            if when >= state.until:
                break
            owner.tail += value
            owner.pending = value
        elif what == 'stopping':
            if when < state.until:
                owner.refusal = ''  # the last operation may be in pieces
        elif when >= state.sure:
            continue
        elif what == 'sure':
            for step in owner.tail:
                step(owner.state)
            owner.tail, owner.pending = [], []
        else:  # found by a server that had recovered
            load.become(value)(owner.state)
            owner.tail, owner.pending, owner.refusal = [], [], None
    return owner


class History:
    """A server at work on a disk that logs."""

    def __init__(self, kind, program, one, clock, chance, options):
        self.kind, self.program, self.clock = kind, program, clock
        self.chance, self.options = chance, options
        self.dbpath = os.path.join(one.mount_point, 'db')
        self.stories = [[] for _ in range(WRITERS)]
        self.acknowledged = 0

    def start(self):
        return started(self.kind, self.program, self.dbpath, self.options)

    def begin(self):
        """Returns how long the log is when all is set up for good."""
        with self.start() as running:
            load.make_shared(running.port)
        now = self.clock.now()
        state = {reading.SHARED: reading.Collection(indexes=load.SHARED_INDEXES)}
        for story in self.stories:
            story.append((0, 'found', state))
        return now

    def life(self, writes):
        """A server from its start to its end, after so many durable writes."""
        with self.start() as running:
            client = load.Modern(running.port)
            found = reading.read_all(client, WRITERS)
            client.close()
            for story, state in zip(self.stories, found):
                # A copy: the writer goes on with the other one.
                story.append((self.clock.now(), 'found', copy.deepcopy(state)))
            enough, ending = threading.Event(), threading.Event()
            left = [writes]

            def watch(event):
                if event == 'ack':
                    left[0] -= 1
                    if left[0] <= 0:
                        enough.set()

            writers = [Writer(self.clock, self.stories[number], number, found[number],
                              self.chance.random(), running.port, watch, ending)
                       for number in range(WRITERS)]
            for writer in writers:
                writer.ACTIONS = dict(writer.ACTIONS, build=1, drop_database=2)
                if '--replSet' in self.options:
                    # Half of all; there a multi-update may be several commits.
                    writer.ACTIONS.update(transact=100, multi=0)
                    writer.dialects = (load.Modern, load.Modern)
                writer.start()
            while not enough.wait(0.01) and any(writer.is_alive() for writer in writers):
                self.write_back()
            ending.set()
            if self.chance.random() < 0.3:
                for story in self.stories:
                    story.append((self.clock.now(), 'stopping', None))
                running.stop()
            else:
                running.kill()
        for writer in writers:
            writer.join()
            self.acknowledged += writer.acknowledged
            if writer.error or writer.lost_connection:
                raise reading.Failure('writer %d failed: %s\n%s' % (
                    writer.number, writer.error or 'lost its connection', running.tail()))

    def write_back(self):
        for folder, _, names in os.walk(self.dbpath):
            for name in names:
                if self.chance.random() < 0.2:
                    disk.begin_writeback(os.path.join(folder, name))


class Campaign:
    """One file system, one history, many cuts."""

    def __init__(self, stage, folder, arguments, kind, seed):
        self.program = os.path.join(stage, 'bin', 'mongod')
        self.recorder = os.path.join(stage, 'bin', 'block_log')
        self.folder, self.arguments, self.kind = folder, arguments, kind
        self.chance = random.Random(seed)
        self.sector = self.chance.choice((512, 4096))
        self.options = OPTIONS + (PROFILE if arguments.selection == 'all' else INTERVAL)
        if self.chance.random() < 0.5:
            self.options.append('--directoryperdb')
        if arguments.transactions:
            self.options += OF_A_SET
        self.image, self.log_path, self.base = (
            os.path.join(folder, name) for name in ('image', 'log', 'base'))

    def record(self, server_kind=server.Server):
        with open(self.image, 'wb') as file:
            file.truncate(DISK_BYTES)
        clock = Clock(self.log_path)
        with disk.Disk(self.recorder, self.image, os.path.join(self.folder, 'recorded'),
                       self.log_path, self.sector) as one:
            one.attach()
            one.format(self.kind)
            one.mount(self.kind)
            self.history = History(server_kind, self.program, one, clock, self.chance, self.options)
            self.first = self.history.begin()
            for _ in range(self.arguments.lives):
                self.history.life(self.arguments.writes // self.arguments.lives)
            self.last = clock.now()
        os.unlink(self.image)

    def choose_states(self, log):
        """In the order of the log."""
        ends = [log.entries[at].end for at in log.flushes]
        possible = [number for number, end in enumerate(ends) if self.first <= end <= self.last]
        if not possible:  # nothing was flushed: a deaf server
            possible = [max(number for number, end in enumerate(ends) if end < self.first)]
        count = self.arguments.states
        chosen = possible * (count // len(possible)) \
            + self.chance.sample(possible, count % len(possible))
        return [block_log.choose(log, flush, self.chance, self.sector) for flush in sorted(chosen)]

    def check_all(self, quiet=False):
        """Returns how many states were checked."""
        log = block_log.Log(self.log_path)
        applied = 0
        with open(self.base, 'wb') as base:
            base.truncate(DISK_BYTES)
            states = self.choose_states(log)
            print('     %s with sectors of %d bytes: %d durable writes, %d flushes, %d MB of log'
                  % (self.kind, self.sector, self.history.acknowledged, len(log.flushes),
                     len(log.map) >> 20), flush=True)
            for number, state in enumerate(states, 1):
                for entry in log.entries[applied:log.flushes[state.flush] + 1]:
                    log.apply(entry, base.fileno())
                applied = log.flushes[state.flush] + 1
                try:
                    survived = self.check(log, state, 'state-%d' % number)
                except (reading.Failure, server.ServerError, disk.DiskError) as failure:
                    raise reading.Failure('state %d: %s: %s' % (number, state.describe(),
                                                                failure)) from failure
                if not quiet:
                    print('ok   %s, state %d: %s; %s' % (self.kind, number, state.describe(),
                                                         survived), flush=True)
        log.close()
        return len(states)

    def check(self, log, state, name):
        folder = os.path.join(self.folder, name)
        with disk.Disk(self.recorder, self.base, folder, sector=self.sector) as one:
            with open(one.file, 'r+b', buffering=0) as file:
                for entry, count in state.extra:
                    log.apply(entry, file.fileno(), count)
            one.attach()
            one.mount(self.kind)
            running = started(server.Server, self.program, os.path.join(one.mount_point, 'db'),
                              self.options)
            try:
                client = load.Modern(running.port)
                found = reading.read_all(client, WRITERS)
                client.close()
            finally:
                running.kill()
        steps = survived = 0
        for number, story in enumerate(self.history.stories):
            owner = owner_at(number, story, state)
            steps += len(owner.tail)
            survived += load.settle(owner, found[number])[0]
        shutil.rmtree(folder)
        return '%d of %d steps had survived' % (survived, steps)


def deaf(stage):
    """A class of servers whose syncs do nothing."""
    class Deaf(server.Server):
        def command_line(self):
            return ['env', 'LD_PRELOAD=' + os.path.join(stage, 'bin', 'deaf.so')] \
                + super().command_line()
    return Deaf


def notices_a_deaf_server(stage, folder, arguments, kind):
    """Whether this part sees what it is for."""
    campaign = Campaign(stage, folder, argparse.Namespace(
        states=DEAF_STATES, writes=100, lives=1, selection=arguments.selection,
        transactions=arguments.transactions), kind, arguments.seed)
    campaign.record(deaf(stage))
    try:
        campaign.check_all(quiet=True)
    except (reading.Failure, server.ServerError) as failure:
        print('ok   %s: what a server without syncs loses is seen: %s'
              % (kind, str(failure).split('\n', maxsplit=1)[0][:150]), flush=True)
        return True
    return False


def try_kind(tally, stage, scratch, arguments, kind):
    folder = tempfile.mkdtemp(prefix='blocks-', dir=scratch)
    campaign = Campaign(stage, folder, arguments, kind, arguments.seed)
    try:
        campaign.record()
        passed = campaign.check_all()
        with tempfile.TemporaryDirectory(prefix='deaf-', dir=scratch) as other:
            if not notices_a_deaf_server(stage, other, arguments, kind):
                raise reading.Failure('in %d states nothing is lost by a server without syncs: '
                                      'this part sees nothing' % DEAF_STATES)
    except (reading.Failure, server.ServerError, disk.DiskError) as failure:
        print('FAIL %s: %s\n     log of the disk: %s' % (kind, failure,
                                                        os.path.relpath(folder, TOP)))
        tally.add(kind, 0, 1)
    else:
        shutil.rmtree(folder)
        tally.add(kind, passed + 1, 0)


def main():
    parser = choice.parser(__doc__)
    parser.add_argument('--states', type=choice.count(), default=8,
                        help='disks to check, for each file system; default 8')
    parser.add_argument('--writes', type=choice.count(), default=200,
                        help='durable writes to record, for each file system; default 200')
    parser.add_argument('--lives', type=choice.count(), default=2,
                        help='so often the server is started during the run; default 2')
    parser.add_argument('--seed', type=choice.count(0), default=random.randrange(10 ** 6))
    parser.add_argument('--selection', type=choice.selection, default='none',
                        help='of patches; all goes with conf/durable.yaml; default none')
    parser.add_argument('--transactions', action='store_true',
                        help='on wiredTiger and rocksdb, in a set of one: half of the writes are '
                             'in transactions')
    parser.add_argument('kinds', nargs='*', help='file systems: ext4, xfs; default both')
    arguments = parser.parse_args()
    kinds = choice.exactly(arguments.kinds, list(disk.FORMAT), 'file system')
    tally = totals.Totals()
    reason = disk.why_not()
    if reason:
        tally.close_skipped(reason)
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    targets, engines = ['mongod', 'block_log', 'deaf.so'], [None]
    if arguments.transactions:
        engines = ['wiredTiger', 'rocksdb']
        targets += ['engine_%s.so' % each.lower() for each in engines]
        os.environ[server.ENGINE] = ','.join(engines)
    stage = server.build(arguments.selection, '', targets)
    print('--seed %d' % arguments.seed, flush=True)
    for engine, kind in itertools.product(engines, kinds):
        reason = disk.why_not(kind)
        if reason:
            print('skipped: %s: %s' % (kind, reason))
            tally.skipped += 1
            continue
        if engine:
            os.environ[server.ENGINE] = engine
            print('     ' + engine)
        try_kind(tally, stage, scratch, arguments, kind)
    tally.close()


if __name__ == '__main__':
    main()
