"""The replica set of the article of 2013, for write_concern.py --replicas: four members in two
places, and what an insert takes when other members have to have it.

In one place are the primary, a secondary and the clients, in the other two secondaries. The places
are network namespaces of this machine, the lines perf/delay_router.c, with the round trips of the
article. All members share the processors and the disk of this machine."""

import contextlib
import functools
import os
import statistics
import textwrap
import time

import articles
import claims
import experiment
import late
import measuring
import single_inserts

import network
import server

pymongo = late.Module('pymongo')

NEAR_MS, FAR_MS = 0.864, 71.187  # round trips of the article
PLACES = (0, 0, 1, 1)            # of the members; the first one is the primary
NEAR, FAR = 1, 2                 # a member that stands for each line from the primary
ECHOES = {NEAR: 20, FAR: 5}      # round trips of the line alone, before and after each cell
ALONE, OF_SET = 'alone', 'set'
ALONE_CONCERNS = ('w:0', 'w:1', 'j:1')
CONCERNS = ALONE_CONCERNS + ('w:2', 'w:3')
# The member whose line a concern waits for.
LINES = {'w:2': NEAR, 'w:3': FAR}
SERVERS = [  # name, selection, options
    ('base', 'none', []),
    ('conf/durable.yaml', 'all', measuring.PROFILE),
]
# For the guess of the time left, ms of an insert.
EXPECTED_MS = {'w:0': 0.2, 'w:1': 0.3, 'j:1': 35, 'w:2': 35, 'w:3': 110}
STEADY_SECONDS_MAX = 120  # only ends a copy that hangs
SET = 'rs0'
HEADS = '%-18s%-7s%-8s%-8s%-5s%-22s%9s%9s%9s%9s%10s%7s%7s'


class Distant(server.Server):
    """A server in a node of the network."""

    def __init__(self, net, node, program, dbpath, options):
        self.net, self.node = net, node
        super().__init__(program, dbpath, options)

    def command_line(self):
        return self.net.command(self.node, super().command_line() + [
            '--bind_ip', '127.0.0.1,' + network.address(self.node), '--nounixsocket'])

    @property
    def host(self):
        return '%s:%d' % (network.address(self.node), self.port)

    @property
    def uri(self):
        return 'mongodb://%s/?directConnection=true' % self.host

    def run_command(self, *words, **more):
        with pymongo.MongoClient(self.uri) as client:
            return client.admin.command(*words, **more)


def connect_places(net):
    for one, place in enumerate(PLACES):
        for other in range(one):
            net.set_both(one, other, (NEAR_MS if PLACES[other] == place else FAR_MS) / 2)


def wait_until_steady(primary):
    limit = time.monotonic() + STEADY_SECONDS_MAX
    states = []
    while states != [1] + [2] * (len(PLACES) - 1):
        if time.monotonic() > limit:
            raise RuntimeError('the members do not become secondaries: their states are %s'
                               % states)
        time.sleep(0.1)
        states = [member['state'] for member in primary.run_command('replSetGetStatus')['members']]


@contextlib.contextmanager
def serve(net, rung, kind, folder):
    _, selection, options = rung
    program, options = measuring.program_of(selection), measuring.COMMON + options
    with contextlib.ExitStack() as stack:
        if kind == ALONE:
            yield stack.enter_context(Distant(net, 0, program, folder, options))
            return
        members = [stack.enter_context(Distant(net, node, program, '%s-%d' % (folder, node),
                                               options + ['--replSet', SET]))
                   for node in range(len(PLACES))]
        members[0].run_command('replSetInitiate', {'_id': SET, 'version': 1, 'members': [
            {'_id': node, 'host': member.host, 'priority': int(node == 0)}
            for node, member in enumerate(members)]})
        wait_until_steady(members[0])
        yield members[0]


def echoes(net):
    """{line: {'least_ms', 'p50_ms'}} of the lines by themselves, now."""
    found = {}
    for node, count in ECHOES.items():
        times = net.round_trips_ms(node, count)
        found[str(node)] = {'least_ms': min(times), 'p50_ms': statistics.median(times)}
    return found


def one_cell(net, running, cell, count):
    """A run of clients, with the lines by themselves before and after it."""
    _, _, concern, client, clients = cell
    before = echoes(net)
    run = single_inserts.run(running, client, concern, count, clients=clients)
    run.update(lines_before=before, lines_after=echoes(net))
    latencies = sorted(run['latencies_us'])
    run['p99_us'] = latencies[-(-99 * len(latencies) // 100) - 1]
    run['per_second'] = run['inserts'] / run['seconds']
    if clients > 1:
        del run['latencies_us']  # of no use in thousands
    return run


def cells_of(arguments):
    """(server, kind, concern, client, number of clients) of each cell."""
    return [(rung[0], kind, concern, client, clients) for rung in SERVERS
            for kind in (ALONE, OF_SET) for concern in CONCERNS if concern in arguments.concerns
            and (kind == OF_SET or concern in ALONE_CONCERNS) for clients in arguments.clients
            for client in (('pymongo', 'C') if clients == 1 else ('C',))]


def row_of(result, cell):
    names = ('server', 'kind', 'concern', 'client', 'clients')
    for row in result['rows']:
        if tuple(row[name] for name in names) == cell:
            return row
    result['rows'].append(dict(zip(names, cell), runs=[]))
    return result['rows'][-1]


def measure(trial, arguments, net):
    cells = cells_of(arguments)
    planned = arguments.rounds * (sum(0.8 + EXPECTED_MS[cell[2]] * arguments.inserts / 1e3
                                      for cell in cells) + 8 * len(SERVERS))
    progress = measuring.announced(planned, len(cells) * arguments.rounds)
    for number in range(arguments.rounds):
        trial.look_at_others()
        for rung in SERVERS:
            for kind in (ALONE, OF_SET):
                own = [cell for cell in cells if cell[:2] == (rung[0], kind)]
                if not own:
                    continue
                with trial.fresh() as dbpath, serve(net, rung, kind, dbpath) as running:
                    for cell in own:
                        progress.step('%s, %s, %s, %s, %s; round %d of %d' % (
                            *cell[:4], experiment.plural(cell[4], 'client'), number + 1,
                            arguments.rounds))
                        run = trial.cell(functools.partial(one_cell, net, running, cell,
                                                           arguments.inserts))
                        row_of(trial.result, cell)['runs'].append(run)


def middle_ms(row):
    """What an insert takes in the middle: the median of the rounds."""
    return statistics.median(run['p50_us'] for run in row['runs']) / 1e3


def line_ms(row, line):
    """The round trip of a line by itself in the middle, beside the cells of a row."""
    return statistics.median(run[when][str(line)]['p50_ms'] for run in row['runs']
                             for when in ('lines_before', 'lines_after'))


def found_row(result, *cell):
    return next((row for row in result['rows'] if row['runs'] and cell == tuple(
        row[name] for name in ('server', 'kind', 'concern', 'client', 'clients'))), None)


def times_line(row):
    """How many round trips of its line an insert takes in the middle; None where it waits for
    none."""
    line = LINES.get(row['concern']) if row['kind'] == OF_SET else None
    return line and middle_ms(row) / line_ms(row, line)


def articles_rows():
    """The table of the article, with a column for each concern."""
    for name in ('average', 'least', 'most'):
        figures = articles.row('write-concerns', name)
        yield name, ['%g' % figures['w=0'], '%g' % figures['w=1'],
                     '%g, %g' % (figures['j=1, disk'], figures['j=1, SSD']),
                     '%g' % figures['w=2'], '%g' % figures['w=3']]


def own_rows(result, name, client):
    """The same of ours: the set, one client."""
    rows = [found_row(result, name, OF_SET, concern, client, 1) for concern in CONCERNS]
    for what, field, pick in (('average', 'mean_us', statistics.median),
                              ('least', 'least_us', min), ('most', 'most_us', max)):
        yield what, ['%.2f' % (pick(run[field] for run in row['runs']) / 1e3) if row else ''
                     for row in rows]


def beside_article(result):
    form = '%-34s%-10s' + '%15s' * len(CONCERNS)
    yield form % ('one client, ms', '', *CONCERNS)
    for what, words in articles_rows():
        yield form % ('the article, pymongo (disk, SSD)' if what == 'average' else '', what, *words)
    for name, *_ in SERVERS:
        for client in ('pymongo', 'C'):
            if any(found_row(result, name, OF_SET, concern, client, 1) for concern in CONCERNS):
                for what, words in own_rows(result, name, client):
                    yield form % ('%s, %s' % (name, client) if what == 'average' else '', what,
                                  *words)


def line_of(row):
    runs, times = row['runs'], times_line(row)
    return HEADS % (
        row['server'], row['kind'], row['concern'], row['client'], row['clients'],
        experiment.spread([run['mean_us'] / 1e3 for run in runs], '%.2f'),
        '%.2f' % (min(run['least_us'] for run in runs) / 1e3), '%.2f' % middle_ms(row),
        '%.2f' % (statistics.median(run['p99_us'] for run in runs) / 1e3),
        '%.2f' % (max(run['most_us'] for run in runs) / 1e3),
        '%.0f' % statistics.median(run['per_second'] for run in runs),
        '%.2f' % times if times else '',
        '%.0f' % (sum(run['server_cpu_us'] * run['inserts'] for run in runs)
                  / sum(run['inserts'] for run in runs)))


def findings(result):
    """Sentences: w:2 and w:3 beside their lines, w:1 and j:1 beside a server without a set."""
    said = []
    for name, *_ in SERVERS:
        for concern in LINES:
            row = found_row(result, name, OF_SET, concern, 'C', 1)
            if row:
                line = line_ms(row, LINES[concern])
                said.append('%s: an insert with %s takes %.2f ms in the middle, and the line by '
                            'itself %.2f ms: %.2f round trips, %.2f ms more than one.'
                            % (name, concern, middle_ms(row), line, middle_ms(row) / line,
                               middle_ms(row) - line))
        for concern in ('w:1', 'j:1'):
            of_set, alone = [found_row(result, name, kind, concern, 'C', 1)
                             for kind in (OF_SET, ALONE)]
            if of_set and alone:
                said.append('%s: with %s it takes %.3f ms on the set and %.3f ms without a set: '
                            '%+.0f %%.' % (name, concern, middle_ms(of_set), middle_ms(alone),
                                           100 * (middle_ms(of_set) / middle_ms(alone) - 1)))
    return said


def table(result):
    lines = experiment.head(result)
    rows = [row for row in result['rows'] if row['runs']]
    for line, what in ((NEAR, 'in one place'), (FAR, 'to the other place')):
        every = [run[when][str(line)] for row in rows for run in row['runs']
                 for when in ('lines_before', 'lines_after')]
        lines.append('The line %s by itself: %.3f ms a round trip at least, %s in the middle.' % (
            what, min(each['least_ms'] for each in every),
            experiment.spread([each['p50_ms'] for each in every], '%.3f')))
    lines += ['', 'Single inserts of %d bytes, %d by each client in each of %s.' % (
        result['document_bytes'], result['inserts'],
        experiment.plural(result['rounds'], 'round')), '', *beside_article(result), '',
              HEADS % ('ms', '', 'concern', 'client', 'n', 'average', 'least', 'p50', 'p99', 'most',
                       'inserts/s', 'lines', 'cpu us')]
    lines += map(line_of, rows)
    lines += textwrap.wrap(
        '"lines": how many round trips of its line an insert takes in the middle. "cpu us": of the '
        'server that is written to, an insert. "alone": without a set.', experiment.WIDTH)
    for text in findings(result):
        lines += textwrap.wrap(text, experiment.WIDTH, subsequent_indent='   ')
    lines += claims.lines('replicas', result)
    return '\n'.join(line.rstrip() for line in lines)


def run(arguments):
    """./lab bench write-concern --replicas, whole."""
    router = os.path.join(experiment.PROGRAMS, 'delay_router')
    why = network.missing(router)
    if why:
        measuring.end_without('write_concern.py', '--replicas is skipped: ' + why)
    with experiment.scratch('replicas-', arguments) as folder, \
            network.Network(router, len(PLACES)) as net:
        connect_places(net)
        net.enter(0)
        trial = experiment.Experiment(folder, arguments)
        trial.result.update(rows=[], round_trips_ms=[NEAR_MS, FAR_MS], inserts=arguments.inserts,
                            document_bytes=200, rounds=arguments.rounds)
        result = trial.run(functools.partial(measure, arguments=arguments, net=net))
    experiment.finish('write_concern.py', result, any(row['runs'] for row in result['rows']), table,
                      'write-concern-replicas')
