"""What perf/run.py and perf/ab.py share: the settings they compare, and one measurement of one.

Rates, latencies and CPU time are taken without strace; the journal's calls come from a second run
under strace, which slows it.
"""

import contextlib
import json
import os
import platform
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'perf',
                                                         'perf/trace')]

import any_server  # noqa: E402
import journal_writes  # noqa: E402
import staging  # noqa: E402

# Everywhere: the default of 1 GB a journal file only makes starts slow.
COMMON = ['--smallfiles']
# At the default of 100 ms a commit waits so long that nothing else shows.
SHORT = ['--journalCommitInterval', '2']
PROFILE = ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]

def measurable():
    """The patches that can be measured with a server, here: their headers name perf/ab.py."""
    return [slug for slug in staging.series(TOP)
            if header_of(slug)['Measured-by'] == 'perf/ab.py']


def header_of(slug):
    return staging.header_fields(os.path.join(TOP, 'patches', slug + '.patch'))


def option_of(slug):
    """The option of a patch as it is measured, from the header of the patch."""
    fields = header_of(slug)
    name, value = '--' + fields['Option'], fields['Measured-value']
    return ([name] if value == 'on' else [name, value]), fields.get('Measured-base', '').split()


def sides(slug):
    """Options of the base, and of the server with the option."""
    own, base = option_of(slug)
    return [words if SHORT[0] in words else SHORT + words for words in (base, own)]


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def on_core(core):
    """What is started meanwhile runs on that core alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def output_of(*command):
    """Standard output of a command, stripped; empty when it cannot be run."""
    try:
        return subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout.strip()
    except OSError:
        return ''


def host(folder):
    """What a reader needs to compare this result with another."""
    return {
        'cpu': output_of('sh', '-c', "sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1"),
        'cores': os.cpu_count(),
        'kernel': platform.release().split('-')[0],
        'file_system': output_of('findmnt', '-n', '-o', 'FSTYPE', '-T', folder),
        'mount_options': output_of('findmnt', '-n', '-o', 'OPTIONS', '-T', folder),
        'disk': output_of('findmnt', '-n', '-o', 'SOURCE', '-T', folder),
        'source': output_of('git', 'log', '-1', '--format=%H', '--', 'src'),
    }


def cpu_seconds(pid):
    """User and system time of a process so far."""
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def command(running, database, words):
    """The reply of a command, of ours or any other server."""
    return any_server.run_command(running, database, words)


class Bench:
    """`old_wire`: load and ask as old drivers did, since one of the servers knows nothing newer."""

    def __init__(self, programs, folder, seconds, warmup=0.5, old_wire=False):
        self.programs, self.folder = programs, folder
        self.seconds, self.warmup, self.old_wire = seconds, warmup, old_wire

    def program(self, name):
        return os.path.join(self.programs, name)

    def floor(self):
        run = subprocess.run([self.program('sync_floor'), '-s', str(self.seconds), self.folder],
                             stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def load(self, uri, clients, workload=('insert',)):
        run = subprocess.run(
            [self.program('load_client'), *workload, '--uri', uri, '--clients', str(clients),
             '--seconds', str(self.seconds), '--warmup', str(self.warmup)]
            + ['--old-wire'] * self.old_wire,
            stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def measure_plain(self, running, clients, workload=('insert',)):
        """Rate, latencies, and the server's CPU time per operation; without strace."""
        cpu_before = cpu_seconds(running.pid)
        row = self.load(running.uri, clients, workload)
        whole = self.seconds + self.warmup
        row['server_cpu_us'] = ((cpu_seconds(running.pid) - cpu_before) * 1e6
                                / max(1, row['per_second'] * whole))
        return row

    def measure_traced(self, running, clients, workload=('insert',)):
        """What a commit does to the journal, on average, from a run under strace that is traced
        from before its first insert to after its last."""
        tracer = journal_writes.Tracer(running.pid)
        self.load(running.uri, clients, workload)
        commits = journal_writes.commits_of(tracer.stop())
        inserts = command(running, 'perf', {'count': 'load'})['n']
        row = journal_writes.average(commits, tracer.seconds)
        row['inserts_per_commit'] = inserts / max(1, len(commits))
        return row

    def measure(self, running, clients):
        """One row: a run without strace, then one with it."""
        row = self.measure_plain(running, clients)
        row['traced'] = self.measure_traced(running, clients)
        return row
