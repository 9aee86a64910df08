#!/usr/bin/env python3
"""Question: what does the smallest durable append cost here, beside SQL servers, and what do they
ask of the file system for it?

The experiment of the article of 2013 in C#: the smallest row, or document, made durable at a time,
by one client and by eight. It was a SQL server on Windows then; here PostgreSQL and MariaDB stand
for it. Round after round in turn, each over a Unix socket by the C client that comes with it, with
the disk alone before and after each cell. Then once more under strace, and with an eye on the log's
last write time, for what an insert costs in calls.
Usage:    append.py [--seconds 2] [--rounds 5] [--clients 1,8] [--only NAME,...]
          (./lab bench append builds what it needs; --install first installs the others)
          Ctrl-C ends it with what is measured so far.
Needs:    any of postgresql-15, mariadb-server, mariadb-plugin-rocksdb (Debian); strace.
Columns:  flushes, device writes    of the device by its own counters, for an insert; of all
          log of fs    transactions of the file system's own log for an insert, where the kernel
                       tells (ext4): each makes sizes and times durable, by a second write
          fsync        for an insert: calls that must write the file's times too; with a write
                       before it each is a transaction of that log
          data only    fdatasync, O_DSYNC and RWF_DSYNC: they leave the times alone where neither
                       place nor size of the data changes
          time moved   how often a second the last write time of the log moved, as stat() sees it:
                       in memory, in ticks of the kernel's clock. What of it reaches the disk is in
                       the two columns before
Not for:  rows of an ordinary size (./lab bench peers)."""

import contextlib
import os
import re
import statistics
import threading
import time

import claims
import compare
import experiment
import machine
import measuring

import peers
import peers.mariadb
import peers.mongod
import peers.postgresql
import peers.syncs

TRACED_SECONDS = 0.7
LOOK_SECONDS = 0.0005  # from one stat() to the next
SMALLEST_TEXT = 1
KINDS = (peers.mongod.BaseDefault, peers.mongod.BaseShort, peers.mongod.Mongod,
         peers.postgresql.PostgreSQL, peers.mariadb.MariaDB, peers.mariadb.MyRocks)


def log_transactions(device, folder='/proc/fs/jbd2'):
    """How many transactions a device's ext4 has made; None where the kernel does not tell."""
    try:
        names = [name for name in os.listdir(folder) if name.rsplit('-', 1)[0] == device]
        with open(os.path.join(folder, names[0], 'info'), encoding='ascii') as file:
            return int(re.match(r'(\d+) transactions', file.read())[1])
    except (OSError, IndexError, TypeError):
        return None


def flushes(device, lines):
    """Flush requests that a device has answered, from /proc/diskstats; None where it has none of
    these counters (Linux before 5.5)."""
    for line in lines:
        words = line.split()
        if len(words) > 18 and words[2] == device:
            return int(words[18])
    return None


class Counters:
    """Of the device and its file system, from construction to per_insert()."""

    def __init__(self, device):
        self.device = device
        self.before = self.read()

    def read(self):
        lines = machine.lines_of('/proc/diskstats')
        writes = machine.device_counters(lines, self.device)
        return {'device_writes': writes and writes[0], 'device_bytes': writes and writes[1],
                'flushes': flushes(self.device, lines),
                'log_transactions': log_transactions(self.device)}

    def per_insert(self, inserts):
        after = self.read()
        return {name: None if None in (before, after[name]) else (after[name] - before) / inserts
                for name, before in self.before.items()}


class TimeWatch:
    """How often the last write time of any of some files moves, from construction to stop()."""

    def __init__(self, paths):
        self.paths, self.moved, self.ended = list(paths), 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.started = time.monotonic()
        self.thread.start()

    def times(self):
        found = []
        for path in self.paths:
            with contextlib.suppress(OSError):
                found.append((path, os.stat(path).st_mtime_ns))
        return found

    def look(self):
        before = self.times()
        while not self.ended.wait(LOOK_SECONDS):
            now = self.times()
            self.moved += now != before
            before = now

    def stop(self):
        """Moves a second."""
        self.ended.set()
        self.thread.join()
        return self.moved / max(time.monotonic() - self.started, 1e-9)


def traced(peer):
    """What a lone client's insert asks of the file system; and of which file most."""
    trace = peers.syncs.Trace(peer.pid)
    inserts = max(1, peer.insert(1, TRACED_SECONDS)['inserts'])
    found = trace.stop(peers.syncs.tally)
    files = found.pop('files')
    row = {name: count / inserts for name, count in found.items()}
    most = sorted(files, key=lambda path: -files[path][0])
    row['files'] = [[os.path.relpath(path, peer.data), files[path][0] / inserts,
                     files[path][1] / inserts] for path in most[:3]]
    row['log'] = most[0] if most else None
    return row


def cell(trial, peer, clients, seconds, log):
    """One run with the counters of device and file system, and the moves of the log's time."""
    counters = Counters(trial.result['device'])
    watch = TimeWatch([log] if log else []) if clients == 1 else None
    try:
        run = compare.measure_cell(peer, clients, seconds)
    finally:
        moved = watch.stop() if watch else None
    run.update(counters.per_insert(max(1, run['inserts'])), time_moved=moved)
    return run


def measure(trial, arguments):
    chosen, logs = list(compare.installed([kind(trial.folder) for kind in KINDS],
                                          arguments.only)), {}
    for peer in chosen:
        peer.text_bytes = SMALLEST_TEXT

    def row_of(peer):
        row = traced(peer)
        logs[peer.name] = row.pop('log')
        return {'settings': peer.settings, 'traced': row}
    compare.measure_in_turns(
        trial, trial.result['contenders'], chosen, arguments, row_of, lambda peer, clients: cell(
            trial, peer, clients, arguments.seconds, logs[peer.name]))


def of(runs, name, form='%.2f'):
    """The median as text."""
    value = experiment.middle([run.get(name) for run in runs])
    return '' if value is None else form % value


RATES = '%-26s%6s  %-24s%8s%8s%10s%10s%9s'
CALLS = '%-26s%8s%9s%8s%11s%12s  %s'


def table(result):
    lines = experiment.head(result) + ['', RATES % (
        '', 'cli.', 'inserts/s', 'ms', 'cpu us', 'flushes', 'device', 'log of'),
        RATES % ('', '', 'median (min..max)', 'each', 'server', '/insert', 'writes', 'fs')]
    for name, each in result['contenders'].items():
        for clients, runs in each['runs'].items():
            if not runs:
                continue
            rates = [run['per_second'] for run in runs]
            lines.append(RATES % (
                name, clients, experiment.spread(rates),
                '%.2f' % (1e3 * int(clients) / statistics.median(rates)),
                of(runs, 'cpu_us', '%.0f'), of(runs, 'flushes'), of(runs, 'device_writes'),
                of(runs, 'log_transactions')))
    lines += ['', 'Of a lone client\'s insert, under strace:', CALLS % (
        '', 'writes', 'bytes', 'fsync', 'data only', 'time moved', 'written most'),
        CALLS % ('', '', '', '', '', 'a second', '')]
    for name, each in result['contenders'].items():
        row = each['traced']
        alone = each['runs'].get(1, each['runs'].get('1', []))
        lines.append(CALLS % (
            name, '%.2f' % row['writes'], '%.0f' % row['bytes'], '%.2f' % row['fsyncs'],
            '%.2f' % row['datasyncs'], of(alone, 'time_moved', '%.0f'),
            ', '.join('%s (%.2f)' % (path, writes) for path, writes, _ in row['files'][:2])))
    lines += ['', 'fsync writes the file\'s times too, so that an append costs a second write, in '
              'the file system\'s own', 'log; what is in "data only" does not, where the file was '
              'written before and keeps its size.']
    lines += ['%s: %s' % (name, each['settings']) for name, each in result['contenders'].items()]
    lines += claims.lines('append', result)
    return '\n'.join(line.rstrip() for line in lines)


def make_parser():
    return compare.parser_of(__doc__, 'contender', [1, 8])


def main():
    arguments = make_parser().parse_args()
    if arguments.install:
        compare.install_packages({kind('unused').package for kind in KINDS
                                  if kind.package and kind('unused').missing()}, 'append.py')
    compare.run_contenders('append', arguments, measure, 'contenders', table)


if __name__ == '__main__':
    main()
