"""Makes items of pytest of the parts of the tests, and lets runs end as ./lab test does.

`pytest tests/parts.txt` has an item for each line: a process of its own whose closing line is read.
Its markers are its name, `usual` or `long`, and `alone` where it measures what others would
disturb: it waits until no other part is at work. What several parts need is built before they
begin, the longest begin first, and the last line of any run is "N passed, N failed[, N skipped]".
Ctrl-C ends also what parts have started. ./lab test calls it (tools/lab/testing.py)."""

import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest

import choice
import full_run
import parts
import server

TIMES = os.path.join(parts.TOP, 'build', 'test-times.json')  # seconds of each part's last run here
SCRATCH = os.path.join(parts.TOP, 'build', 'scratch')
SILENCE_SECONDS_MAX = 20  # after that it is said what is still going on
ENDING_SECONDS_MAX = 5  # of what is left after Ctrl-C, until it is killed
EXIT_INTERRUPTED = 130
TAKES_LONG = 'takes_long'  # a marker of tests
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
CLOSING_LINE = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$')
FAILURE = re.compile(r'^(FAIL|FAILED|ERROR)\b')


class PartFailed(Exception):
    """Its output says of what."""


def is_part(node_id):
    return 'parts.txt::' in node_id


def known_times():
    try:
        return json.loads(pathlib.Path(TIMES).read_text('utf-8'))
    except (OSError, ValueError):
        return {}


def in_order(every, workers):
    """The longest first, so that none is left over at the end; those that run alone last. A worker
    is given two at its start: behind each of the first ones comes one of the shortest."""
    times = known_times()
    beside = sorted((each for each in every if not each.is_alone),
                    key=lambda part: times.get(part.name, part.seconds), reverse=True)
    for place in range(1, min(2 * workers, len(beside)), 2):
        beside.insert(place, beside.pop())
    return beside + [each for each in every if each.is_alone]


@contextlib.contextmanager
def turn(is_alone, listed_in):
    """Until no part of that list is at work that this one must not run beside."""
    with open(listed_in, encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH)
        yield


def lines_of(process):
    """The lines that a process prints; None whenever it was silent for long."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put('')

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=SILENCE_SECONDS_MAX)
        except queue.Empty:
            yield None
            continue
        if not line:
            return
        yield line


def run_part(part, arguments, say, say_at_work):
    """Says one part's output line by line; returns [passed, failed, skipped]."""
    command = part.with_arguments(arguments)
    started, counts = time.monotonic(), None
    # No `with`: after Ctrl-C it would close the pipe while another thread reads from it.
    process = subprocess.Popen(command, cwd=parts.TOP, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors='replace')
    for line in lines_of(process):
        if line is None:
            say_at_work('   %s is at work, %.0f s by now\n' % (part.name,
                                                               time.monotonic() - started))
        elif closing := CLOSING_LINE.match(line):
            counts = [int(number or 0) for number in closing.groups()]
        else:
            say(line)
    process.wait()
    process.stdout.close()
    if counts is None:
        say('FAIL %s: %s ended with exit code %d and no closing line\n'
            % (part.name, ' '.join(command), process.returncode))
        counts = [0, 1, 0]
    elif process.returncode != 0 and counts[1] == 0:
        say('FAIL %s: exit code %d although no test failed\n' % (part.name, process.returncode))
        counts[1] = 1
    elif not sum(counts):
        say('FAIL %s: no test was run%s\n' % (
            part.name, '; does %s name one?' % ' '.join(arguments) if arguments else ''))
        counts[1] = 1
    return counts


class PartItem(pytest.Item):
    def __init__(self, *, part, **more):
        super().__init__(**more)
        self.part = part
        for name in part.markers():
            self.add_marker(name)

    def runtest(self):
        arguments = shlex.split(self.config.getoption('part_arguments'))
        shown, lives = [], self.config.getoption('capture') == 'no'

        def say_at_once(line):
            print(line, end='', flush=True)

        with turn(self.part.is_alone, self.path):
            started = time.monotonic()
            counts = run_part(self.part, arguments, say_at_once if lives else shown.append,
                              say_at_once if lives else lambda line: None)
            seconds = time.monotonic() - started
        self.add_report_section('call', 'part', ''.join(shown))
        self.user_properties += [('part', self.part.name), ('counts', counts),
                                 ('seconds', round(seconds))]
        if counts[1]:
            raise PartFailed(self.part.name)

    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value) if excinfo.errisinstance(PartFailed) else \
            super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.part.name


class PartsFile(pytest.File):
    def collect(self):
        for part in parts.read_parts(self.path).values():
            register(self.config, part)
            yield PartItem.from_parent(self, name=part.name, part=part)


def pytest_collect_file(file_path, parent):
    is_list = file_path.name == os.path.basename(parts.LIST)
    return PartsFile.from_parent(parent, path=file_path) if is_list else None


def pytest_addoption(parser):
    parser.addoption('--part-arguments', default='', metavar='WORDS',
                     help='for the only part that is named')
    parser.addoption('--selection', type=choice.selection, default='none', help='patches to build')
    parser.addoption('--sanitize', type=choice.sanitizer, default='',
                     help='address,undefined or thread')
    parser.addoption('--whole', action='store_true', help='also what takes long')


@pytest.fixture(scope='session')
def programs(request):
    """Builds these programs; returns the path of the first one."""
    def build_some(*names):
        engine = os.environ.get(server.ENGINE)
        targets = [*names, *(['engine_%s.so' % engine.lower()] if engine else [])]
        os.makedirs(SCRATCH, exist_ok=True)
        return os.path.join(server.build(request.config.getoption('selection'),
                                         request.config.getoption('sanitize'), targets),
                            'bin', names[0])
    return build_some


def register(config, part):
    for name in part.markers():
        config.addinivalue_line('markers', '%s: of tests/parts.txt' % name)


def pytest_configure(config):
    config.addinivalue_line('markers', '%s: runs with --whole, and when it is named' % TAKES_LONG)
    if not hasattr(config, 'workerinput'):
        config.pluginmanager.register(Run(config), 'run-of-parts')


def pytest_collection_modifyitems(config, items):
    if items and all(isinstance(item, PartItem) for item in items):
        workers = getattr(config, 'workerinput', {}).get('workercount', 1)
        places = {part.name: place for place, part in
                  enumerate(in_order([item.part for item in items], workers))}
        items.sort(key=lambda item: places[item.name])
    elif not config.getoption('whole') and not config.getoption('keyword'):
        left_out = [item for item in items if item.get_closest_marker(TAKES_LONG)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def build(chosen):
    """Builds what the parts need, with one call for each selection of patches, and tells them by
    the environment; where something does not compile, they say so themselves."""
    wanted, built = {}, []
    for part in chosen:
        for word in part.builds:
            selection, target = word.split(':')
            wanted.setdefault(selection, {})[target] = None
    for selection, targets in wanted.items():
        print('== building patches=%s ==' % selection, flush=True)
        if subprocess.run(server.scons(selection) + ['-k', *targets], cwd=parts.TOP,
                          stdin=subprocess.DEVNULL).returncode == 0:
            built += ['%s:%s' % (selection, target) for target in targets]
    server.note_built(built)


def children():
    """The children of this process; of a thread that has ended another one takes them over."""
    while True:
        found = []
        try:
            for thread in os.listdir('/proc/self/task'):
                with open('/proc/self/task/%s/children' % thread, encoding='ascii') as file:
                    found += map(int, file.read().split())
            return found
        except (FileNotFoundError, ProcessLookupError):
            continue


def end_children():
    """After Ctrl-C, which has reached the parts too: waits until they have cleaned up, and kills
    what is left. Servers are in groups of their own, which Ctrl-C does not reach; those of a child
    that has ended become ours, and are next."""
    limit = time.monotonic() + ENDING_SECONDS_MAX
    while left := children():
        for child in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if time.monotonic() > limit:
                    os.kill(child, signal.SIGKILL)
                os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)


class Run:
    """What is said of a run, and taken down of it, by the process that the user has started."""

    def __init__(self, config):
        self.arguments = config.getoption('part_arguments')
        named = [word.split('::') for word in config.args if is_part(word)]
        self.is_own_list = all(path == parts.LIST for path, _ in named)
        self.listed = parts.read_parts(named[0][0] if named else parts.LIST)
        self.chosen = [self.listed[name] for _, name in named]
        self.left = {part.name: known_times().get(part.name, part.seconds) for part in self.chosen}
        self.at_once = max(config.getoption('numprocesses', 0) or 1, 1)
        self.begun, self.begun_at, self.failures = 0, {}, []
        self.totals, self.outcomes = [0, 0, 0], {}
        self.is_interrupted, self.is_closing = False, True
        self.lock = threading.Lock()  # of `begun_at`, the times at which parts began
        self.record = full_run.Record(parts.TOP)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self):
        # What parts leave behind becomes a child of this process, servers too.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if len(self.chosen) > 1:
            build(self.chosen)
            threading.Thread(target=self.say_what_is_at_work, daemon=True).start()

    def say_what_is_at_work(self):
        while True:
            time.sleep(3 * SILENCE_SECONDS_MAX)
            with self.lock:
                if self.begun_at:
                    print('   at work: ' + ', '.join(
                        '%s, %.0f s' % (name, time.monotonic() - begun)
                        for name, begun in self.begun_at.items()), flush=True)

    def guess(self):
        seconds = sum(self.left.values()) / self.at_once
        return ('about %d min left' % round(seconds / 60) if seconds >= 90 else
                'about %d s left' % round(seconds))

    def pytest_runtest_logstart(self, nodeid):
        name = nodeid.split('::')[-1]
        if name in self.left and is_part(nodeid):
            self.begun += 1
            with self.lock:
                self.begun_at[name] = time.monotonic()
            print('== %s == (%d of %d, %s)' % (name, self.begun, len(self.chosen), self.guess()),
                  flush=True)

    def pytest_runtest_logreport(self, report):
        properties = dict(report.user_properties)
        if not is_part(report.nodeid):
            order = ('passed', 'skipped', 'failed')
            before = self.outcomes.get(report.nodeid, 'passed')
            self.outcomes[report.nodeid] = max(before, report.outcome, key=order.index)
        elif 'counts' in properties and report.when == 'call':
            self.part_ended(properties['part'], properties['counts'], properties['seconds'],
                            ''.join(text for title, text in report.sections
                                    if title.endswith('part call')))

    def part_ended(self, name, counts, seconds, shown):
        with self.lock:
            self.begun_at.pop(name, None)
        self.left.pop(name, None)
        self.failures += [line for line in shown.splitlines() if FAILURE.match(line)]
        print('%s-- %s: %d passed, %d failed, %d skipped, %.0f s'
              % (shown, name, *counts, seconds), flush=True)
        self.totals = [total + count for total, count in zip(self.totals, counts)]
        if not self.arguments and self.is_own_list:
            self.take_down(name, counts, seconds)

    def take_down(self, name, counts, seconds):
        times = {**known_times(), name: seconds}
        with open(TIMES, 'w', encoding='utf-8') as file:
            json.dump(times, file)
        if not self.listed[name].is_usual:
            print(self.record.add(name, counts, seconds), end='', flush=True)

    def pytest_report_teststatus(self, report):
        return (report.outcome, '', '') if is_part(report.nodeid) else None

    def pytest_keyboard_interrupt(self):
        self.is_interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if self.is_interrupted:
            session.exitstatus = EXIT_INTERRUPTED
        self.is_closing = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            print('no test has %s in its name' % (session.config.getoption('keyword') or 'a word'))
        for outcome in self.outcomes.values():
            self.totals[('passed', 'failed', 'skipped').index(outcome)] += 1
        usual = [part for part in self.listed.values() if part.is_usual]
        if self.is_own_list and self.chosen == usual and not self.left:
            self.record.add_usual(self.totals)

    def pytest_unconfigure(self):
        """The last lines of all."""
        if self.is_interrupted:
            end_children()
            print('lab: stopped', file=sys.stderr)
        elif self.is_closing:
            for line in self.failures * (len(self.chosen) > 1):
                print(line)
            print('%d passed, %d failed' % tuple(self.totals[:2])
                  + (', %d skipped' % self.totals[2] if self.totals[2] else ''), flush=True)
