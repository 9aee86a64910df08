#!/usr/bin/env python3
"""Question: how fast are durable inserts, where does the time go, and what could the disk do?

Measures the disk alone, then inserts with j:true from 1, 8 and 64 clients into a server of its own
at the default commit interval and at 2 ms; then the same again under strace for the journal's
system calls. Prints a table; writes build/results/<time>.json and an HTML report beside it.
Usage:    run.py [--seconds 4] [--selection none] [--clients 1,8,64]    (./lab run builds first)
Needs:    strace; 300 MB on the disk that holds build/. Takes about a minute.
Overhead: rates and latencies are taken without strace; the columns under "traced" come from a
          second run that strace slows.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests', 'perf/trace')]

import journal_writes  # noqa: E402
import report  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402

SETTINGS = [('default', []), ('2 ms', ['--journalCommitInterval', '2'])]


def say(text):
    print(text, file=sys.stderr, flush=True)


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
        'kernel': platform.release(),
        'file_system': output_of('stat', '-f', '-c', '%T', folder),
        'commit': output_of('git', 'rev-parse', 'HEAD'),
    }


def cpu_seconds(pid):
    """User and system time of a process so far."""
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Bench:
    def __init__(self, programs, folder, seconds):
        self.programs, self.folder, self.seconds = programs, folder, seconds

    def program(self, name):
        return os.path.join(self.programs, name)

    def floor(self):
        run = subprocess.run([self.program('sync_floor'), '-s', str(self.seconds), self.folder],
                             stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def load(self, running, clients, warmup=1.0):
        run = subprocess.run(
            [self.program('load_client'), 'insert', '--uri', running.uri, '--clients',
             str(clients), '--seconds', str(self.seconds), '--warmup', str(warmup)],
            stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def measure(self, running, clients):
        """One row: a run without strace, then one with it."""
        cpu_before = cpu_seconds(running.pid)
        row = self.load(running, clients, warmup=0.5)
        whole = self.seconds + 0.5
        row['server_cpu_us'] = ((cpu_seconds(running.pid) - cpu_before) * 1e6
                                / max(1, row['per_second'] * whole))
        traced = {}

        def trace():
            traced['commits'], traced['seconds'] = journal_writes.trace(running.pid, self.seconds)

        tracer = threading.Thread(target=trace)
        tracer.start()
        slowed = self.load(running, clients, warmup=0.5)
        tracer.join()
        row['traced'] = journal_writes.average(traced['commits'], traced['seconds'])
        row['traced']['inserts_per_commit'] = (
            slowed['per_second'] * traced['seconds'] / max(1, len(traced['commits'])))
        return row


def table(result):
    floor = result['floor']
    lines = ['', 'The disk alone: %.0f durable 4 KB overwrites/s (p50 %.3f ms, p99 %.3f ms),'
             % (floor['overwrite_4k']['per_second'], floor['overwrite_4k']['p50_us'] / 1e3,
                floor['overwrite_4k']['p99_us'] / 1e3),
             '                %.0f durable 8 KB appends/s    (p50 %.3f ms, p99 %.3f ms).'
             % (floor['append_8k']['per_second'], floor['append_8k']['p50_us'] / 1e3,
                floor['append_8k']['p99_us'] / 1e3),
             '', '                                                      | traced, per commit',
             'interval clients  inserts/s   p50 ms   p99 ms  cpu us | inserts   bytes writes syncs']
    for row in result['rows']:
        traced = row['traced']
        lines.append('%-8s %7d %10.1f %8.2f %8.2f %7.0f | %7.1f %7.0f %6.2f %5.2f' % (
            row['interval'], row['clients'], row['per_second'], row['p50_us'] / 1e3,
            row['p99_us'] / 1e3, row['server_cpu_us'],
            traced['inserts_per_commit'],
            traced.get('bytes_per_commit', 0), traced.get('writes_per_commit', 0),
            traced.get('syncs_per_commit', 0)))
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=4)
    parser.add_argument('--selection', default='none')
    parser.add_argument('--clients', default='1,8,64')
    arguments = parser.parse_args()
    name = staging.select(TOP, arguments.selection).name
    programs = os.path.join(TOP, 'build', name, 'bin')
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    folder = tempfile.mkdtemp(prefix='run-', dir=scratch)
    bench = Bench(programs, folder, arguments.seconds)
    result = {'time': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
              'selection': name, 'host': host(folder), 'rows': []}
    say('measuring the disk alone')
    result['floor'] = bench.floor()
    for interval, options in SETTINGS:
        with server.Server(bench.program('mongod'), os.path.join(folder, 'db'), options) as running:
            for clients in [int(number) for number in arguments.clients.split(',')]:
                say('inserting: interval %s, %d clients' % (interval, clients))
                row = bench.measure(running, clients)
                row.update(interval=interval, options=options)
                result['rows'].append(row)
    print(table(result))
    results = os.path.join(TOP, 'build', 'results')
    os.makedirs(results, exist_ok=True)
    path = os.path.join(results, result['time'].replace(':', '') + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
    print('\nThe figures are in %s, with plots in %s'
          % (os.path.relpath(path, TOP), os.path.relpath(report.write(path), TOP)))
    shutil.rmtree(folder)


if __name__ == '__main__':
    main()
