"""Drives durable inserts into several servers in turn, and prints their rates side by side.

Usage: python3 docker/compare.py [--results FOLDER] [--rounds 5] [--seconds 3] [--clients 1,8,64]
                                 NAME=URI...
The load client must be built (scons patches=none load_client). Within a round each server has its
turn; the table shows the median of the rounds with the lowest and the highest."""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOAD_CLIENT = os.path.join(TOP, 'build', 'none', 'bin', 'load_client')


def server(text):
    name, equals, uri = text.partition('=')
    if not equals or not uri.startswith('mongodb://'):
        raise argparse.ArgumentTypeError("'%s' is not NAME=mongodb://..." % text)
    return name, uri


def numbers(text):
    try:
        found = [int(word) for word in text.split(',')]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError("'%s' is no list of whole numbers from 1" % text)
    return found


def inserts(uri, clients, seconds):
    """Durable inserts a second."""
    run = subprocess.run([LOAD_CLIENT, 'insert', '--uri', uri, '--clients', str(clients),
                          '--seconds', str(seconds)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit('compare.py: the load client failed on %s' % uri)
    return json.loads(run.stdout)['per_second']


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--results', metavar='FOLDER')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=3)
    parser.add_argument('--clients', type=numbers, default=[1, 8, 64])
    parser.add_argument('servers', nargs='+', type=server, metavar='NAME=URI')
    arguments = parser.parse_args()
    rates = {name: {count: [] for count in arguments.clients} for name, _ in arguments.servers}
    for turn in range(arguments.rounds):
        for count in arguments.clients:
            for name, uri in arguments.servers:
                print('round %d of %d: %s, %d clients' % (turn + 1, arguments.rounds, name, count),
                      file=sys.stderr, flush=True)
                rates[name][count].append(inserts(uri, count, arguments.seconds))
    print('durable inserts a second (j: true, 200 bytes), median (lowest..highest)\n')
    print('%-10s' % 'clients' + ''.join('%-28d' % count for count in arguments.clients))
    for name, cells in rates.items():
        print('%-10s' % name + ''.join(
            '%-28s' % ('%.0f (%.0f..%.0f)' % (statistics.median(cells[count]), min(cells[count]),
                                              max(cells[count])))
            for count in arguments.clients))
    if arguments.results:
        now = datetime.datetime.now(datetime.timezone.utc)
        path = os.path.join(arguments.results, now.strftime('compare-%Y%m%dT%H%M%SZ.json'))
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'servers': dict(arguments.servers), 'seconds': arguments.seconds,
                       'inserts_per_second': rates}, file, indent=1)
        print('\nThe figures are in ' + path)


if __name__ == '__main__':
    main()
