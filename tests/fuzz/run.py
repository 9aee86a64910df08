"""Runs the fuzz targets: clang's libFuzzer over decoders, parsers and damaged files.

Usage: tests/fuzz/run.py [TARGET...] [--minutes 1] [--jobs 2] [--keep] [--selection none]
       tests/fuzz/run.py TARGET --input FILE       one input once, as a finding is repeated

Every target begins with inputs from the recorded cases (corpora.py), with those under version
control that long runs found (kept.py), and with those that an earlier run here found, in
build/fuzz/. --keep puts what is found under version control, too. A finding ends its target; the
file that shows it is named. Limits for an input are those of its contract: 5 s, 512 MB, a stack of
8 MB."""

import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import corpora  # noqa: E402
import kept  # noqa: E402
import staging  # noqa: E402
import systems  # noqa: E402
from totals import Totals  # noqa: E402

PLACE = os.path.join(TOP, 'build', 'fuzz')
INPUT_SECONDS_MAX = 5
MEMORY_MB_MAX = 512
STACK_BYTES = 8 << 20
PROGRESS_SECONDS = 15
LINES_SHOWN = 60  # of a finding
JOBS_MAX = 256

ENVIRONMENT = {
    # Freed memory kept for longer would count as memory used.
    'ASAN_OPTIONS': 'detect_leaks=1:quarantine_size_mb=16:handle_abort=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
    'ASAN_SYMBOLIZER_PATH': '/usr/bin/llvm-symbolizer-' + systems.CLANG,
}
PULSE = re.compile(r'^#(\d+)\s+\w+\s+cov: (\d+) .*exec/s: (\d+) rss: (\d+)Mb')
LOADED = re.compile(r'Loaded \d+ modules +\((\d+) inline 8-bit counters\)')
SAVED = re.compile(r'Test unit written to (\S+)')


def limit_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES))


def build(selection, targets):
    """Returns the folder of the programs."""
    print('building %s' % ' '.join(targets), flush=True)
    command = ['scons', '-Q', 'fuzz=1', 'patches=' + selection]
    if subprocess.run(command + ['fuzz_' + target for target in targets], cwd=TOP).returncode != 0:
        sys.exit('the build of the fuzz targets failed; the compiler\'s message is above')
    return os.path.join(TOP, 'build', staging.select(TOP, selection).name
                        + staging.VARIANTS['fuzz'], 'bin')


def start(program, options, **more):
    # Leaks are looked for at the end: doing it after inputs takes most of the time.
    limits = ['-timeout=%d' % INPUT_SECONDS_MAX, '-rss_limit_mb=%d' % MEMORY_MB_MAX,
              '-detect_leaks=0']
    return subprocess.Popen([program, *limits, *options], preexec_fn=limit_stack,
                            env=dict(os.environ, **ENVIRONMENT), **more)


class Run:
    def __init__(self, target, program, minutes):
        self.target, self.program, self.seconds = target, program, round(minutes * 60)
        self.executions = self.edges = self.edges_in_all = self.memory_mb = 0
        self.processor_seconds, self.finding, self.tail = 0.0, None, []

    def folder(self, kind):
        path = os.path.join(PLACE, kind, self.target)
        os.makedirs(path, exist_ok=True)
        return path

    def run(self):
        """Returns whether all went well."""
        recorded = corpora.write(os.path.join(PLACE, 'recorded'), self.target)
        known = kept.unpack(self.target, self.folder('kept'))
        print('%s: %d recorded inputs, %d kept ones, %d found here earlier, %d s'
              % (self.target, recorded, known, len(os.listdir(self.folder('found'))),
                 self.seconds), flush=True)
        options = ['-max_total_time=%d' % self.seconds,
                   '-artifact_prefix=%s/' % self.folder('findings'),
                   self.folder('found'), self.folder('kept'), self.folder('recorded')]
        shown = started = time.monotonic()
        with start(self.program, options, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   text=True, errors='replace') as process:
            for line in process.stderr:
                self.read(line)
                if time.monotonic() - shown > PROGRESS_SECONDS:
                    shown = time.monotonic()
                    print('   %s: %.0f s, %s' % (self.target, shown - started, self.figures()),
                          flush=True)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.processor_seconds = usage.ru_utime + usage.ru_stime
        if process.returncode == 0:
            return True
        print(''.join(self.tail[:LINES_SHOWN]) + 'a finding in %s, exit code %d; the input: %s'
              % (self.target, process.returncode, self.finding or 'not written'))
        if self.finding:
            print('once more: ./lab test fuzz -- %s --input %s'
                  % (self.target, os.path.relpath(self.finding, TOP)))
        return False

    def keep(self):
        """Returns whether what was found is under version control now."""
        inputs = kept.merge(lambda options, **more: start(self.program, options, **more),
                            self.folder('recorded'), [self.folder('found'), self.folder('kept')])
        if inputs is not None:
            kept.keep(self.target, inputs, self.processor_seconds, self.executions, self.edges,
                      self.edges_in_all)
        return inputs is not None

    def read(self, line):
        pulse, loaded, saved = PULSE.match(line), LOADED.search(line), SAVED.search(line)
        if pulse:
            self.executions, self.edges, _, self.memory_mb = map(int, pulse.groups())
        elif loaded:
            self.edges_in_all = int(loaded[1])
        elif saved:
            self.finding = saved[1]
        elif self.tail or re.search(r'ERROR|BROKEN PROMISE|runtime error|^==\d+==', line):
            self.tail.append(line)  # from the first line of a report on

    def figures(self):
        return '%d inputs tried, %d of %d edges, %d MB' % (
            self.executions, self.edges, self.edges_in_all, self.memory_mb)

    def figures_at_the_end(self):
        return '%s, %.0f s of processor' % (self.figures(), self.processor_seconds)


def repeat(program, path):
    """One input, with all that the program says."""
    with start(program, [path]) as process:
        pass
    print('%d passed, %d failed' % (process.returncode == 0, process.returncode != 0))
    sys.exit(1 if process.returncode else 0)


def main():
    parser = choice.parser(__doc__, 'selection')
    parser.add_argument('--minutes', type=choice.minutes, default=1)
    parser.add_argument('--jobs', type=choice.count(most=JOBS_MAX), default=os.cpu_count(),
                        help='targets at a time; one for each processor')
    parser.add_argument('--keep', action='store_true',
                        help='put what is found into tests/fuzz/kept/')
    parser.add_argument('--input', type=os.path.abspath)
    parser.add_argument('targets', nargs='*')
    arguments = parser.parse_args()
    targets = choice.exactly(arguments.targets, list(corpora.TARGETS), 'fuzz target')
    totals = Totals()
    try:
        systems.Fuzz()
    except staging.StagingError as error:
        totals.close_skipped(str(error))
    if arguments.input and len(arguments.targets) != 1:
        sys.exit('--input needs the one target that it is for')
    programs = build(arguments.selection, targets)
    if arguments.input:
        repeat(os.path.join(programs, 'fuzz_' + targets[0]), arguments.input)
    runs = [Run(target, os.path.join(programs, 'fuzz_' + target), arguments.minutes)
            for target in targets]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for run, well in zip(runs, pool.map(Run.run, runs)):
            totals.add('%s, %s' % (run.target, run.figures_at_the_end()), int(well), int(not well))
            if arguments.keep and not run.keep():
                totals.add('%s, keeping what it found' % run.target, 0, 1)
    totals.close()


if __name__ == '__main__':
    main()
