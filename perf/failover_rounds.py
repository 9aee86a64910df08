"""The rounds of failover.py, whose help needs none of these modules."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymongo

import measuring

sys.path.insert(0, os.path.join(measuring.TOP, 'tools'))

import cluster  # noqa: E402

CONCERNS = ('1', 'majority')
WRITERS = ('pymongo', 'node', 'c')
WRITER = os.path.join(measuring.TOP, 'perf', 'failover_writers', 'writer')
NODE_DRIVER = os.path.join(measuring.TOP, 'build', 'node-clients', 'node_modules', 'mongodb')
CUT_TIMEOUT_MS = 2000
# A driver with its usual ones waits for a silent member for 10 s and more.
OF_A_CUT = '&socketTimeoutMS=500&connectTimeoutMS=500&heartbeatFrequencyMS=500'
# So long a driver of one thread does not ask a member again to which its connection has failed.
COOL_DOWN = 5


class Writer:
    """A process, and its last acknowledged write."""

    def __init__(self, name, concern, uri):
        self.name = '%s, w: %s' % (name, concern)
        command = {'pymongo': [sys.executable, WRITER + '.py'],
                   'node': [os.environ.get('MONGOSH_NODE', 'node'), WRITER + '.js', NODE_DRIVER],
                   'c': [os.path.join(measuring.programs(), 'failover_writer')]}[name]
        self.process = subprocess.Popen([*command, uri, concern], stdout=subprocess.PIPE, text=True)
        self.changed = threading.Condition()
        self.last, self.gap, self.after = 0, 0, None
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            begun, ended = map(float, line.split())
            with self.changed:
                self.last, self.gap = ended, max(self.gap, ended - (self.last or ended))
                if self.after is not None and begun > self.after:
                    self.after = None
                    self.changed.notify_all()

    def mark(self):
        with self.changed:
            self.gap = 0

    def await_gap(self):
        """The longest time between two answers since then, up to one to what is asked from now."""
        with self.changed:
            self.after = time.monotonic()
            if not self.changed.wait_for(lambda: self.after is None, cluster.SECONDS_MAX):
                raise cluster.ClusterError('%s writes no more' % self.name)
            return self.gap


def fill(uri, megabytes):
    """The log with so much of small entries."""
    with pymongo.MongoClient(uri) as client:
        documents, small = client.failover.filler, [{} for _ in range(5000)]
        for _ in range(megabytes * 1000 // 5 // 100):  # 100 bytes each in the log
            documents.insert_many([dict(each) for each in small])


def fail(found, primary, kind):
    """Returns what it has killed, which may take a while to end."""
    killed = []
    if kind == 'cut':
        found.etcds[primary.number % len(found.etcds)].lead()  # on another machine
        found.cut(primary.name)
    elif kind == 'step-down':
        with contextlib.suppress(pymongo.errors.AutoReconnect):
            primary.run('replSetStepDown', 1, seconds=30)  # it may be the next one's heir
    else:
        killed = [primary]
        if kind == 'both':
            killed.append(next(each for each in found.etcds if each.state() == 'leader'))
    for each in killed:
        each.send(signal.SIGKILL)
    return killed


def measure(found, writers, arguments, rows):
    for number in range(arguments.rounds):
        primary = found.wait_for_primary()
        for writer in writers:
            writer.mark()
        begun = time.monotonic()
        killed = fail(found, primary, arguments.kind)
        cluster.wait_until('another one', lambda: found.primary() not in (None, primary))
        for writer in writers:
            rows[writer.name].append(writer.await_gap())
        for each in killed:
            each.kill()
        found.up()
        time.sleep(max(0, begun + COOL_DOWN + 0.5 - time.monotonic()))  # each knows all members
        slowest = max(times[-1] for times in rows.values())
        measuring.say('round %d of %d: %.2f s' % (number + 1, arguments.rounds, slowest))


def table(kind, rows):
    lines = ['%-24s%8s%8s%8s%8s%8s' % (kind, 'rounds', 'p50', 'p90', 'p99', 'max')]
    for name, times in rows.items():
        ordered = sorted(times)
        at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))]
              for share in (0.5, 0.9, 0.99, 1)] if ordered else []
        lines.append('%-24s%8d' % (name, len(times)) + ''.join('%8.3f' % each for each in at))
    return '\n'.join(lines)


def run(arguments):
    options = ['--oplogSize', '1000', '--smallfiles', '--noprealloc', *arguments.options.split()]
    settings = {'electionTimeoutMillis': CUT_TIMEOUT_MS} if arguments.kind == 'cut' else {}
    os.makedirs(os.path.join(measuring.TOP, 'build', 'scratch'), exist_ok=True)
    rows, writers = {}, []
    with tempfile.TemporaryDirectory(dir=os.path.join(measuring.TOP, 'build', 'scratch')) as folder:
        found = cluster.Cluster(folder, measuring.program_of(arguments.selection), options,
                                has_network=arguments.kind == 'cut', free_ports=True)
        try:
            found.up(settings)
            fill(found.uri, arguments.megabytes)
            uri = found.uri + (OF_A_CUT if arguments.kind == 'cut' else '')
            writers = [Writer(name, concern, uri) for name in WRITERS for concern in CONCERNS]
            rows = {writer.name: [] for writer in writers}
            for writer in writers:
                writer.await_gap()  # a gap begins with an answer
            measure(found, writers, arguments, rows)
        except KeyboardInterrupt:
            measuring.say('ended early')
        except cluster.ClusterError:
            found.keep_logs(os.path.join(measuring.TOP, 'build', 'results', 'failover-failed'))
            raise
        finally:
            for writer in writers:
                writer.process.kill()
            found.down()
    print(table(arguments.kind, rows))
    print(measuring.keep({'kind': arguments.kind, 'seconds': rows}, 'failover-' + arguments.kind))
