"""What perf/run.py and perf/ab.py share: the settings they compare, and one measurement of one.

Rates, latencies and CPU time are taken without strace; the journal's calls come from a second run
under strace, which slows it."""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'perf',
                                                         'perf/trace')]

import any_server  # noqa: E402
import given  # noqa: E402
import journal_writes  # noqa: E402
import staging  # noqa: E402

EXIT_INTERRUPTED = 130

# Everywhere: the default of 1 GB a journal file only makes starts slow.
COMMON = ['--smallfiles']
# At the default of 100 ms a commit waits so long that nothing else shows.
SHORT = ['--journalCommitInterval', '2']
PROFILE = ['--config', os.path.join(TOP, 'conf', 'durable.yaml')]


def measurable():
    """The patches that can be measured with a server, here: their headers name perf/ab.py."""
    return [slug for slug in staging.series(TOP) if header_of(slug)['Measured-by'] == 'perf/ab.py']


def header_of(slug):
    return staging.header_fields(os.path.join(TOP, 'patches', slug + '.patch'))


def option_of(slug):
    """The option of a patch as it is measured, from the header of the patch."""
    fields = header_of(slug)
    name, value = '--' + fields['Option'], fields['Measured-value']
    return ([name] if value == 'on' else [name, value]), fields.get('Measured-base', '').split()


def base_of(slug):
    """The selection that a patch alone is compared with: none, or what it depends on."""
    return ','.join(staging.needed_by(TOP, slug)) or 'none'


def sides(slug):
    """Options of the base, and of the server with the option."""
    own, base = option_of(slug)
    return [words if SHORT[0] in words else SHORT + words for words in (base, own)]


def profile_without(names, folder):
    """Options like PROFILE's, for a copy in `folder` without these YAML names."""
    keys = '|'.join(name.rsplit('.', 1)[1] for name in names)
    path = os.path.join(folder, 'without.yaml')
    with open(PROFILE[1], encoding='utf-8') as source, open(path, 'w', encoding='utf-8') as copy:
        copy.writelines(line for line in source if not re.match(r'\s*(%s):' % keys, line))
    return ['--config', path]


def programs(selection='none'):
    """The folder of the programs of a selection of patches; tests of these scripts measure those
    of another build."""
    return os.path.join(TOP, 'build', selection + os.environ.get('MEASURED_VARIANT', ''), 'bin')


def variant_words():
    """Of scons, for what lands in the folder of programs()."""
    return ['checks=1'] if os.environ.get('MEASURED_VARIANT') else []


def build(names, *words):
    """Builds by scons; ends the program with the names where that fails."""
    if subprocess.run(['scons', '-Q', *variant_words(), *words], cwd=TOP,
                      stdout=sys.stderr).returncode != 0:
        sys.exit('%s: %s could not be built; the message is above'
                 % (os.path.basename(sys.argv[0]), names))


def program_of(selection):
    return os.path.join(programs(selection), 'mongod')


def keep(result, name):
    """Writes a result that no header or page quotes; returns its path."""
    folder = os.path.join(TOP, 'build', 'results')
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
    return path


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def on_core(core):
    """What is started inside runs on that core alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


seconds = given.seconds
parser = given.parser


def seconds_or_none(text):
    """For argparse: a time, or 0."""
    return given.time_above(text, -1, 'seconds, 0 or more')


def count(text):
    """For argparse: a whole number from 1 to 10000."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 10000):
        raise argparse.ArgumentTypeError("'%s' is no number; give a whole one from 1 to 10000"
                                         % text)
    return int(text)


def large_count(least, most, what):
    """A type for argparse: a whole number, e.g. 100000 or 1e6."""
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and value == int(value)):
            raise argparse.ArgumentTypeError("'%s' is no number of %s; give a whole one from %d to "
                                             '%d' % (text, what, least, most))
        return int(value)
    return parse


def result_with(*fields):
    """For argparse: a kept result, of the kind that has these fields."""
    def parse(path):
        try:
            result = json.loads(pathlib.Path(path).read_text('utf-8'))
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError('%s cannot be read: %s' % (path, error)) from error
        if not isinstance(result, dict) or not all(field in result for field in fields):
            raise argparse.ArgumentTypeError('%s is no result of this measurement' % path)
        return result
    return parse


def clients(text):
    """For argparse: numbers of clients with commas between them, each once."""
    return list(dict.fromkeys([count(word.strip()) for word in text.split(',')]))


def add_turns(parser, what, default_seconds, rounds=5):
    """--seconds and --rounds of an experiment in which each `what` has its turn."""
    parser.add_argument('--seconds', type=seconds, default=default_seconds, metavar='S',
                        help='of each cell (%(default)s)')
    parser.add_argument('--rounds', type=count, default=rounds, metavar='N',
                        help='how often each %s has its turn (%%(default)s)' % what)


def add_device_delay(parser):
    parser.add_argument('--device-delay', type=milliseconds, default=0, metavar='MS',
                        help='makes the disk slower: every flush takes so much longer, e.g. 8 for '
                        'a hard disk, 0.5 for a SATA SSD')


def add_only(parser, what):
    """--only of an experiment with several contenders; check_only() looks at its words. A comma
    with a space behind it belongs to a name, as in 'series, sync'."""
    parser.add_argument('--only', type=lambda text: re.split(',(?! )', text), default=(),
                        metavar='NAME,...',
                        help='%s whose names contain one of these; all without it' % what)


def add_install(parser):
    parser.add_argument('--install', action='store_true',
                        help='installs the packages of the others first')


def milliseconds(text):
    """For argparse: of a delay, above 0, up to a second."""
    value = given.time_above(text, 0, 'milliseconds above 0, for instance 8')
    if value > 1000:
        raise argparse.ArgumentTypeError("'%s' is too long; give 1000 ms at most" % text)
    return value


def delay_device(programs, delay_ms):
    """From now on what is started here finds each flush longer by that (device_delay.c)."""
    if delay_ms:
        os.environ['LD_PRELOAD'] = os.path.join(programs, 'device_delay.so')
        os.environ['DEVICE_DELAY_US'] = '%d' % (delay_ms * 1000)


class Progress:
    """Says "n of m, about t left" for each step of a plan."""

    def __init__(self, planned_seconds, steps):
        self.planned_seconds, self.steps = planned_seconds, steps
        self.done, self.started = 0, None

    def step(self, what):
        """Before each step."""
        now = time.monotonic()
        self.started = self.started or now
        left = self.planned_seconds * (1 - self.done / self.steps)
        if self.done:
            # Half by the plan, half by what it has taken so far: machines differ.
            left = (left + (now - self.started) / self.done * (self.steps - self.done)) / 2
        self.done += 1
        say('%d of %d, about %s left: %s' % (self.done, self.steps, duration(left), what))


def announced(planned_seconds, steps):
    say('This takes about %s; Ctrl-C ends it with what is measured so far.'
        % duration(planned_seconds))
    return Progress(planned_seconds, steps)


def duration(length):
    return '%.0f s' % length if length < 100 else '%.0f min' % (length / 60)


def check_only(words, names):
    """Ends with a sentence when a word of --only is in none of the names."""
    for word in words:
        if not any(word.lower() in name.lower() for name in names):
            sys.exit("--only: nothing has '%s' in its name; there are: %s"
                     % (word, ', '.join(names)))


def end_without(script, why):
    """Ends when nothing was measured; with 130 after Ctrl-C, which is no failure."""
    print('%s: %s' % (script, why), file=sys.stderr)
    sys.exit(EXIT_INTERRUPTED if why.startswith('interrupted') else 1)


def interruptible():
    """From now on an end by SIGTERM cleans up as one by Ctrl-C does."""
    def interrupt(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupt)


def cpu_seconds(pid):
    """(all, in the kernel) processor time of a process so far."""
    fields = pathlib.Path('/proc/%d/stat' % pid).read_text('utf-8').rsplit(')', 1)[1].split()
    ticks = os.sysconf('SC_CLK_TCK')
    return (int(fields[11]) + int(fields[12])) / ticks, int(fields[12]) / ticks


def command(running, database, words):
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

    def floor_now(self, seconds):
        """The disk alone, now: durable 4 KB overwrites of a file that stays until `folder` goes."""
        run = subprocess.run([self.program('sync_floor'), '-k', '-s', str(seconds), self.folder],
                             stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)['overwrite_4k']

    def flush_cost(self, seconds):
        """Cells of 4 KB flushes: appended or not, O_DIRECT or not, at several depths."""
        run = subprocess.run([self.program('sync_floor'), '-m', '-s', str(seconds), self.folder],
                             stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)['flush_cost']

    def load(self, uri, clients, workload=('insert',)):
        run = subprocess.run([self.program('load_client'), *workload, '--uri', uri, '--clients',
                              str(clients), '--seconds', str(self.seconds), '--warmup',
                              str(self.warmup)] + ['--old-wire'] * self.old_wire, cwd=TOP,
                             stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def measure_plain(self, running, clients, workload=('insert',)):
        """Rate, latencies, and the server's CPU time per operation; without strace."""
        cpu_before = cpu_seconds(running.pid)
        row = self.load(running.uri, clients, workload)
        whole = self.seconds + self.warmup
        cpu, kernel = (after - before for before, after in
                       zip(cpu_before, cpu_seconds(running.pid)))
        inserts = max(1, row['per_second'] * whole)
        row.update(server_cpu_us=cpu * 1e6 / inserts, server_kernel_us=kernel * 1e6 / inserts)
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
