"""./lab cluster: looks after the cluster of build/cluster/ (cluster.py)."""

import argparse
import datetime
import os
import shutil
import sys
import time

import cluster

LAST_ELECTIONS = 5


def table(rows):
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows)]
    return '\n'.join('  '.join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def look(found):
    """The two tables of a moment, as text."""
    states = {}
    for member in found.members:
        try:
            states[member.name] = member.run('replSetGetStatus')
        except cluster.errors.PyMongoError:
            states[member.name] = {}
    own = {name: next((each for each in status.get('members', ()) if each.get('self')), {})
           for name, status in states.items()}
    dates = [each['optimeDate'] for each in own.values() if 'optimeDate' in each]
    rows = [('NAME', 'ADDRESS', 'PROCESS', 'STATE', 'TERM', 'BEHIND')]
    for member in found.members:
        status, mine = states[member.name], own[member.name]
        behind = '%d s' % (max(dates) - mine['optimeDate']).total_seconds() if mine else ''
        silent = 'does not answer' if member.is_alive() else 'dead'
        rows.append((member.name, member.host, member.pid, mine.get('stateStr', silent),
                     status.get('term', status.get('coordinator', {}).get('term', '')), behind))
    for etcd in found.etcds:
        rows.append((etcd.name, etcd.host, etcd.pid, etcd.state(), '', ''))
    terms = sorted((when, term, member.name) for member in found.members
                   for when, term in member.terms())
    last = [('%s  term %d: %s' % (when, term, name)) for when, term, name in terms]
    return '%s\n\nlast elections:\n%s' % (table(rows), '\n'.join(last[-LAST_ELECTIONS:]))


def status(found, watches):
    while watches:
        text = look(found)
        print('\033[H\033[2J%s  %s  (Ctrl-C ends this)\n\n%s'
              % (found.uri, datetime.datetime.now().strftime('%H:%M:%S'), text), flush=True)
        time.sleep(1)
    print(look(found))


def up(found, settings):
    print('cluster: starting three etcds and three members in ' + found.folder, flush=True)
    primary = found.up(settings)
    print('%s\n\n%s\n\nkill -9 %d, or ./lab cluster kill %s, shows a failover; '
          './lab cluster status --watch, who leads' % (look(found), found.uri, primary.pid,
                                                       primary.name))


def parse(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument('what', choices=('up', 'status', 'kill', 'cut', 'down'))
    parser.add_argument('name', nargs='?')
    parser.add_argument('--folder', required=True)
    parser.add_argument('--program')
    parser.add_argument('--option', action='append', default=[])
    parser.add_argument('--electionTimeout', type=int)
    parser.add_argument('--watch', action='store_true')
    return parser.parse_args(words)


def main():
    arguments = parse()
    if arguments.what != 'up' and not os.path.exists(os.path.join(arguments.folder,
                                                                  'cluster.json')):
        raise cluster.ClusterError('there is none: ./lab cluster up makes it')
    found = cluster.Cluster(arguments.folder, arguments.program, arguments.option,
                            has_network=os.geteuid() == 0 and bool(shutil.which('ip')))
    if arguments.what in ('kill', 'cut') and arguments.name not in found.programs:
        raise cluster.ClusterError(arguments.what + ' which one? ' + ' '.join(found.programs))
    if arguments.what == 'up':
        timeout = arguments.electionTimeout
        up(found, {'electionTimeoutMillis': timeout} if timeout else {})
    elif arguments.what == 'kill':
        found.programs[arguments.name].kill()
    elif arguments.what == 'cut':
        found.cut(arguments.name)
    elif arguments.what == 'down':
        found.down()
        shutil.rmtree(found.folder)
    else:
        status(found, arguments.watch)


if __name__ == '__main__':
    try:
        main()
    except cluster.ClusterError as error:
        sys.exit('cluster: %s' % error)
    except KeyboardInterrupt:
        sys.exit(130)
