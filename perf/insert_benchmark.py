#!/usr/bin/env python3
"""Question: what does the insert benchmark of the article of 2014 write, here and now?

Rows with three secondary indexes (iibench.c) go into a server of the base: each row durable before
the next (sync, commits every 2 ms), acknowledged at once with a commit every 300 ms (lazy), and
without a journal; and into the full series with conf/durable.yaml, durable. For each: the columns
of the article. Then, from a journal that a kill has left, where the bytes of an insert come from.
Usage:    insert_benchmark.py [--rows 100000] [--clients 1] [--text 100] [--only NAME,...]
          (./lab bench iibench builds what it needs)
          Ctrl-C ends it with what is measured so far.
Needs:    some 2 KB of disk for each row.
Columns:  bytes/doc   of a row as it is sent
          device MB   written by the device from the first row to a full flush after the last one,
                      by its own counters: others' writes too, see the first line
          B/insert    the same for each row
          log B/insert   journal bytes for each row: before compression, compressed with framing,
                      and with padding. Counted by the server: the base is built with
                      journal-cumulative-stats, which changes nothing else
          data B/insert  what is left of B/insert without the journal: data files, pages written
                      again and again
Not for:  rates of small runs: the trees must outgrow the caches before the article's rates show.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import machine
import measuring

import server

TOP = measuring.TOP
EXIT_INTERRUPTED = 130
STATS = 'journal-cumulative-stats'
COUNTED = ['--journalCumulativeStats']
RUNS = [  # name, selection, options, whether rows are durable
    ('base, sync', STATS, ['--journalCommitInterval', '2'] + COUNTED, True),
    ('base, lazy', STATS, ['--journalCommitInterval', '300'] + COUNTED, False),
    ('base, no journal', STATS, ['--nojournal'], False),
    ('series, sync', 'all', measuring.PROFILE, True),
]
SAMPLE_ROWS = 2000  # whose journal is taken apart
SMALL_BYTES = 40    # of a write that is a header, a link or a count and no content


def iibench(running, rows, arguments, durable, progress=True):
    run = subprocess.run(
        [os.path.join(TOP, 'build', 'none', 'bin', 'iibench'), '--uri', running.uri, '--clients',
         str(arguments.clients), '--text', str(arguments.text)]
        + ['--lazy'] * (not durable) + ['--progress'] * progress + [str(rows)],
        stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def totals(running):
    found = measuring.command(running, 'admin', {'serverStatus': 1}).get('dur', {}).get('total', {})
    return {name: int(found.get(name, 0)) for name in
            ('journaledBytes', 'uncompressedBytes', 'paddingBytes', 'commits')}


def written(device):
    counters = machine.device_counters(machine.lines_of('/proc/diskstats'), device)
    return counters[1] if counters else None


def measure(run, arguments, folder):
    """One line of the table."""
    name, selection, options, durable = run
    device = machine.device_of(folder)
    with tempfile.TemporaryDirectory(prefix='iibench-', dir=folder) as own, \
            server.Server(measuring.program_of(selection), os.path.join(own, 'db'),
                          ['--bind_ip', '127.0.0.1'] + options) as running:
        os.sync()
        before, disk_before = totals(running), written(device)
        cpu_before = measuring.cpu_seconds(running.pid)[0]
        row = iibench(running, arguments.rows, arguments, durable)
        row['server_cpu_us'] = 1e6 * (measuring.cpu_seconds(running.pid)[0] - cpu_before) / \
            row['rows']
        measuring.command(running, 'admin', {'fsync': 1})
        log = {key: (value - before[key]) / row['rows'] for key, value in totals(running).items()}
        if disk_before is not None:
            row['device_bytes'] = written(device) - disk_before
            row['data_bytes_per_insert'] = (row['device_bytes'] / row['rows']
                                            - log['journaledBytes'])
    row.update(name=name, log_raw=log['uncompressedBytes'], log_padded=log['journaledBytes'],
               log_compressed=log['journaledBytes'] - log['paddingBytes'],
               commits_per_insert=log['commits'])
    return row


WRITE = re.compile(r'^    write    (\S+) +@(\d+) +(\d+) bytes', re.M)


def kind_of(file, offset, size, extents):
    """What a journaled write was for."""
    if file.endswith('.ns'):
        return 'free lists, counts, roots of the trees (.ns)'
    if any(name == file and begin <= offset < begin + length for name, begin, length in extents):
        return ('record: header and document' if size > SMALL_BYTES else
                'links between records and free space')
    return ('trees: nodes and keys moved or written' if size > SMALL_BYTES else
            'trees: headers and counts of nodes')


def record_extents(running):
    """[(file, offset, bytes)] of the collection's own extents."""
    found = measuring.command(running, 'perf', {'validate': 'iibench', 'full': True})
    extents = []
    for each in found['extents']:
        number, offset = each['loc'].split(':')
        extents.append(('perf.%d' % int(number, 16), int(offset, 16), int(each['size'])))
    return extents


def sources(arguments, folder):
    """{kind: (bytes, writes) for each insert} of what a lone durable client journals."""
    with tempfile.TemporaryDirectory(prefix='iibench-', dir=folder) as own:
        dbpath = os.path.join(own, 'db')
        with server.Server(measuring.program_of('none'), dbpath,
                           ['--bind_ip', '127.0.0.1', '--journalCommitInterval', '2']) as running:
            row = iibench(running, SAMPLE_ROWS, argparse.Namespace(**{**vars(arguments),
                                                                     'clients': 1}), True, False)
            extents = record_extents(running)
            running.kill()
        out = subprocess.run([os.path.join(TOP, 'build', 'none', 'bin', 'journal_dump'), dbpath],
                             stdout=subprocess.PIPE, check=True, text=True).stdout
    return split_by_kind(out, extents, row['rows'])


def split_by_kind(dump, extents, rows):
    found = collections.defaultdict(lambda: [0, 0])
    for file, offset, size in WRITE.findall(dump):
        if not file.startswith('perf.'):
            continue
        each = found[kind_of(file, int(offset), int(size), extents)]
        each[0] += int(size)
        each[1] += 1
    return {kind: (size / rows, count / rows) for kind, (size, count) in found.items()}


def megabytes(count):
    return '' if count is None else '%.1f' % (count / 1e6)


def table(result):
    lines = ['%d rows, %d client%s; %s, %s' % (
        result['rows'], result['clients'], 's' * (result['clients'] > 1),
        result['host']['file_system'], 'Linux ' + result['host']['kernel'])]
    if result.get('stopped'):
        lines.append('It was ended before its end: %s.' % result['stopped'])
    lines += ['', '%-18s%9s%9s%9s%10s%10s%9s  %-24s%9s%8s' % (
        '', 'bytes', 'seconds', 'inserts', 'device', 'bytes', 'doc', 'log bytes for an insert',
        'data', 'cpu'), '%-18s%9s%9s%9s%10s%10s%9s  %8s%8s%8s%9s%8s' % (
            '', '/doc', '', '/s', 'MB', '/insert', 'MB/s', 'raw', 'packed', 'padded', '/insert',
            'us')]
    for row in result['lines']:
        device = row.get('device_bytes')
        lines.append('%-18s%9.0f%9.1f%9.0f%10s%10s%9.2f  %8.0f%8.0f%8.0f%9s%8.0f' % (
            row['name'], row['document_bytes'], row['seconds'], row['per_second'],
            megabytes(device), '' if device is None else '%.0f' % (device / row['rows']),
            row['document_bytes'] * row['per_second'] / 1e6, row['log_raw'], row['log_compressed'],
            row['log_padded'], '' if device is None else '%.0f' % row['data_bytes_per_insert'],
            row['server_cpu_us']))
    if result.get('sources'):
        lines += ['', 'What a lone durable client journals, in the base, after %d rows:'
                  % SAMPLE_ROWS, '%-46s%14s%16s' % ('', 'bytes/insert', 'writes/insert')]
        lines += ['%-46s%14.0f%16.1f' % (kind, size, count) for kind, (size, count) in
                  sorted(result['sources'].items(), key=lambda item: -item[1][0])]
    return '\n'.join(line.rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rows', type=rows_of, default=100000)
    parser.add_argument('--clients', type=measuring.count, default=1)
    parser.add_argument('--text', type=measuring.count, default=100)
    parser.add_argument('--only', type=lambda text: text.split(','), default=(),
                        metavar='NAME,...', help='runs whose names contain one of these')
    arguments = parser.parse_args()
    measuring.check_only(arguments.only, [run[0] for run in RUNS])
    measuring.interruptible()
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    result = {'rows': arguments.rows, 'clients': arguments.clients, 'lines': [],
              'host': machine.host(scratch)}
    try:
        for run in RUNS:
            if not arguments.only or any(word.lower() in run[0].lower() for word in arguments.only):
                measuring.say(run[0])
                result['lines'].append(measure(run, arguments, scratch))
        measuring.say('taking a journal apart')
        result['sources'] = sources(arguments, scratch)
    except KeyboardInterrupt:
        result['stopped'] = 'interrupted'
    if not result['lines']:
        measuring.end_without('insert_benchmark.py', 'interrupted before anything was measured')
    print(table(result))
    path = measuring.keep(result, 'iibench-%s' % time.strftime('%Y%m%dT%H%M%S'))
    print('\nThe figures are in ' + os.path.relpath(path, TOP))
    if 'stopped' in result:
        sys.exit(EXIT_INTERRUPTED)


def rows_of(text):
    """For argparse."""
    return measuring.large_count(text, 100, 10 ** 9, 'rows')


if __name__ == '__main__':
    main()
