"""What the experiments of perf/ share: the disk alone beside each cell, a look at what others do
before and after, and what is measured when they are interrupted.

A script makes an Experiment, gives run() a function that measures into `result`, and ends with
finish(), which prints, keeps, draws and knows the exit code."""

import contextlib
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

import cells
import machine
import measuring

import server

TOP = measuring.TOP
PROGRAMS = measuring.programs()
EXIT_INTERRUPTED = 130
WIDTH = 100
FLOOR_SECONDS = 0.1   # the disk alone, beside each cell
WARMUP_SECONDS = 0.15
START_SECONDS = 0.35  # of a server, with its end; for the guess of the time left
IDLE_SECONDS = 0.3    # of each look at what others do
FLOOR_FRESH_SECONDS = 0.5  # so long the floor after a cell is the one before the next cell too


class Experiment:
    """One run in a scratch folder of its own. `result` is what will be kept."""

    def __init__(self, folder, arguments, old_wire=False):
        self.folder = folder
        self.delay_ms = getattr(arguments, 'device_delay', 0)
        self.tools = measuring.Bench(PROGRAMS, folder, getattr(arguments, 'seconds', 1),
                                     WARMUP_SECONDS, old_wire)
        self.result = {
            'time': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
            'host': machine.host(folder), 'device': machine.device_of(folder),
            'load': os.getloadavg()[0], 'device_delay_ms': self.delay_ms,
            'idle': [], 'floors': []}
        self.moved, self.latest = [], {}

    def floor(self, folder=None):
        """Durable 4 KB overwrites a second by the disk alone, now."""
        folder = folder or self.folder
        tools = measuring.Bench(PROGRAMS, folder, FLOOR_SECONDS)
        rate = tools.floor_now(FLOOR_SECONDS)['per_second']
        self.latest[folder] = time.monotonic(), rate
        if folder == self.folder:
            self.result['floors'].append(rate)
        return rate

    def cell(self, measure, folder=None):
        """What measure() returns, a dict, with the disk alone before and after it; of another
        folder than ours where one is given."""
        folder = folder or self.folder
        taken, rate = self.latest.get(folder, (0, 0))
        before = (rate if time.monotonic() - taken < FLOOR_FRESH_SECONDS else self.floor(folder))
        run = measure()
        run.update(floor_before=before, floor_after=self.floor(folder))
        self.moved.append(cells.has_moved(run))
        return run

    @contextlib.contextmanager
    def fresh(self):
        """The path of a data directory that is not there yet, gone afterwards with its log."""
        own = tempfile.mkdtemp(prefix='cell-', dir=self.folder)
        try:
            yield os.path.join(own, 'db')
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def look_at_others(self):
        self.result['idle'].append(machine.idle_watch(self.folder, IDLE_SECONDS))

    def rounds(self, count, contenders):
        """(number of the round, contender), each in turn, in each round another one first. What
        leaves the list has no turn in the next round."""
        for number in range(count):
            self.look_at_others()
            first = number * len(contenders) // count
            for each in contenders[first:] + contenders[:first]:
                yield number, each

    def run(self, measure):
        """Calls measure(self); what is in `result` stays usable when it is interrupted or fails
        (`stopped` says by what)."""
        watch = machine.Watch(self.folder)
        try:
            self.look_at_others()
            measure(self)
            self.look_at_others()
        except KeyboardInterrupt:
            self.result['stopped'] = 'interrupted'
        except (server.ServerError, subprocess.CalledProcessError, OSError, RuntimeError) as error:
            self.result['stopped'] = said_by(error)
        self.result.update(steal=watch.end()['steal'],
                           floors_moved=sum(self.moved) / max(1, len(self.moved)))
        return self.result


def said_by(error):
    """In one line: what failed, with the words of a program or the line of a log that say why."""
    output = (getattr(error, 'stderr', None) or getattr(error, 'stdout', None) or '')
    if isinstance(output, bytes):
        output = output.decode(errors='replace')
    first, *log = str(error).strip().splitlines() + output.strip().splitlines()
    why = [line for line in log if 'ERROR' in line][-1:] or log[-1:]
    return ' '.join(' '.join([first] + why).split())


def scratch(prefix, arguments=None):
    """A folder under build/scratch for the length of a block; from now on an end by a signal cleans
    up, and the device is as slow as was asked for."""
    measuring.interruptible()
    if arguments is not None:
        measuring.delay_device(PROGRAMS, getattr(arguments, 'device_delay', 0))
    folder = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(folder, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=prefix, dir=folder)


def head(result):
    lines = cells.delay_lines(result)
    lines += textwrap.wrap(machine.quiet_text(result), WIDTH)
    if result.get('stopped'):
        lines += textwrap.wrap('It was ended before its end: %s.' % result['stopped'], WIDTH)
    floors = result['floors']
    if floors:
        lines.append('The disk alone, beside each cell: %.0f durable 4 KB overwrites/s '
                     '(%.0f..%.0f in %d looks).'
                     % (statistics.median(floors), min(floors), max(floors), len(floors)))
    return lines


def spread(values, form='%.0f'):
    """Median (least..greatest); nothing for nothing."""
    values = [value for value in values if value is not None]
    if not values:
        return ''
    return ('%s (%s..%s)' % (form, form, form)) % (
        statistics.median(values), min(values), max(values))


def middle(values):
    """The median; None for nothing."""
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def plural(number, word):
    return '%d %s%s' % (number, word, '' if number == 1 else 's')


def conduct(name, arguments, measure, measured, table, draw=None, script=None, fields='', **begun):
    """measure(trial, arguments) fills what begins with these and `fields` of the arguments."""
    with scratch(name + '-', arguments) as folder:
        os.chmod(folder, 0o755)  # servers that are started as another user
        trial = Experiment(folder, arguments)
        trial.result.update({field: getattr(arguments, field) for field in fields.split()}, **begun)
        result = trial.run(lambda trial: measure(trial, arguments))
    finish(script or name + '.py', result, measured(result), table, name, draw)


def has_lines(result):
    return any(row['runs'] for row in result['lines'])


def finish(script, result, measured, table, name, draw=None):
    """Prints the table and keeps the figures and the plots; ends with 130 after Ctrl-C.

    measured    whether there is anything to print
    draw        makes the plots: of (result, path without suffix), returns their paths"""
    stopped = result.get('stopped')
    if not measured:
        measuring.end_without(script, stopped and stopped + ' before anything was measured'
                              or 'there is nothing here that could be measured')
    print(table(result))
    path = measuring.keep(result, '%s-%s' % (name, time.strftime('%Y%m%dT%H%M%S')))
    stem = path[:-len('.json')]
    with open(stem + '.txt', 'w', encoding='utf-8') as file:
        file.write(table(result) + '\n')
    print('\nThe figures are in ' + os.path.relpath(path, TOP))
    for plot in draw(result, stem) if draw else []:
        print('Plot: ' + os.path.relpath(plot, TOP))
    if stopped:
        sys.exit(EXIT_INTERRUPTED if stopped == 'interrupted' else '%s: %s' % (script, stopped))
