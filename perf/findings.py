"""What a kept result shows, in sentences: where we stand beside the others, where we lose, and on
what the time goes. One function for each kind of result; each returns Findings.

Comparisons are within one result: figures of different runs are of different moments."""

import dataclasses
import statistics

import ab_table
import linkbench_tables
import plots
import replicas
import write_concern

OURS = 'mongod-dur'
MANY = 'the quickest other'


@dataclasses.dataclass
class Findings:
    """Sentences. `lost`: those of `found` where another server is ahead of us, or where an option
    of ours costs something."""

    found: list = dataclasses.field(default_factory=list)
    lost: list = dataclasses.field(default_factory=list)
    times: list = dataclasses.field(default_factory=list)  # on what the time goes

    def compare(self, text, ratio):
        """`ratio`: ours by theirs, where more is better."""
        (self.found if ratio >= 1 else self.lost).append(
            text + ': %.2f times' % ratio if ratio < 10 else text + ': %.0f times' % ratio)


def number(value):
    return plots.number(value, 0 if value >= 100 else 1)


def clients_text(count):
    return plots.plural(int(count))


def middle(runs, name):
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def ours_of(names):
    return next((name for name in names if name.startswith(OURS)), None)


def beside_others(each, skip=()):
    """Of {name: {'runs': {clients: runs}}}: ours beside the best of the others, by rate and by
    processor time."""
    found, ours = Findings(), ours_of(each)
    for count in each[ours]['runs'] if ours else ():
        mine = each[ours]['runs'][count]
        others = {name: row['runs'][count] for name, row in each.items()
                  if name != ours and not name.startswith(('base', *skip))
                  and not row.get('in_process') and row['runs'].get(count)}
        if not mine or not others:
            continue
        rates = {name: middle(runs, 'per_second') for name, runs in others.items()}
        best, rate = max(rates, key=rates.get), middle(mine, 'per_second')
        found.compare('%s: %s durable inserts a second, %s %s (%s)' % (
            clients_text(count), number(rate), MANY, number(rates[best]), best),
            rate / rates[best])
        found.times += lone_time(mine, rate) if int(count) == 1 else []
        cost = middle(mine, 'cpu_us')
        costs = {name: middle(runs, 'cpu_us') for name, runs in others.items()}
        costs = {name: cpu for name, cpu in costs.items() if cpu}
        if cost and costs:
            least = min(costs, key=costs.get)
            found.compare('%s, inserts in a second of the processor: %s, the best other %s (%s)' % (
                clients_text(count), number(1e6 / cost), number(1e6 / costs[least]), least),
                costs[least] / cost)
    return found


def lone_time(runs, rate):
    floor = statistics.median([run[name] for run in runs for name in
                               ('floor_before', 'floor_after') if run.get(name)] or [0])
    if not floor:
        return []
    whole, disk, cpu = round(1e6 / rate), round(1e6 / floor), middle(runs, 'cpu_us')
    if disk >= whole:
        return ['1 client: an insert took %d us, less than the %d of a write by the disk alone '
                'beside it: the disk was slower then, and on what the time went is not known' % (
                    whole, disk)]
    return ['1 client: of the %d us of an insert the disk alone takes %d; the other %d are '
            'processor time of server and client and the waking of one by the other%s' % (
                whole, disk, whole - disk,
                '. The server\'s own processor time is %.0f us, in part while the disk works' % cpu
                if cpu else '')]


def of_peers(result):
    found = beside_others(result['peers'], ('floor', OURS))
    raw, floor = (next((row['runs'] for name, row in result['peers'].items()
                        if name.startswith(begin) and name.endswith('raw client')), {})
                  for begin in (OURS, 'floor'))
    for count in raw:
        if raw[count] and floor.get(count):
            found.found.append('%s, behind the client that costs least: %.2f of the floor' % (
                clients_text(count),
                middle(raw[count], 'per_second') / middle(floor[count], 'per_second')))
    return found


def of_append(result):
    return beside_others(result['contenders'])


def of_ladder(result):
    found, rows = Findings(), result['rows']
    for count in plots.clients_of(rows):
        shown = [row for row in rows if row['clients'] == count]
        last = [row for row in shown if row['selection'] is not None][-1]
        for row in shown:
            if plots.kind(row) == plots.BASE:
                found.compare('%s: %s durable inserts a second by %s, %s by "%s"' % (
                    clients_text(count), number(last['per_second']), last['name'],
                    number(row['per_second']), row['name']), last['per_second'] / row['per_second'])
        if count == 1:
            found.times += lone_time([dict(run, cpu_us=run['server_cpu_us'])
                                      for run in last['runs']], last['per_second'])
        found.times.append('%s, %s: %.1f of %d processors are busy, %.0f %% of that in the kernel; '
                           'an insert costs %.0f us in the server and %.0f in the client' % (
                               clients_text(count), last['name'], last['processors'],
                               result['host']['cores'], 100 * last['kernel_share'],
                               last['server_cpu_us'], last['client_cpu_us']))
    return found


def of_linkbench(result):
    found = Findings()
    shown = linkbench_tables.measured(result)
    if 'engines' in result:
        return of_engines(shown)
    ours = ours_of(shown)
    others = [name for name in shown if name != ours and not name.startswith('base')]
    if not ours or not others:
        return found
    rates = {name: middle(each['runs'], 'per_second') for name, each in shown.items()}
    best = max(others, key=rates.get)
    found.compare('%s requests a second, %s %s (%s)' % (
        number(rates[ours]), MANY, number(rates[best]), best), rates[ours] / rates[best])
    for kind in linkbench_tables.KINDS:
        mine = linkbench_tables.kind_of(shown[ours]['runs'], kind)[1]
        theirs = {name: linkbench_tables.kind_of(shown[name]['runs'], kind)[1] for name in others}
        theirs = {name: average for name, average in theirs.items() if average}
        if mine and theirs:
            best = min(theirs, key=theirs.get)
            found.compare('%s takes %.3f ms on average, %.3f on %s' % (
                kind, mine, theirs[best], best), theirs[best] / mine)
    cpu = middle(shown[ours]['runs'], 'server_cpu_us')
    if cpu:
        found.times.append('a request costs %.0f us in the server and %.0f in its client; on %s '
                           '%.0f and %.0f' % (
                               cpu, middle(shown[ours]['runs'], 'client_cpu_us'), best,
                               middle(shown[best]['runs'], 'server_cpu_us') or 0,
                               middle(shown[best]['runs'], 'client_cpu_us')))
    return found


def of_engines(shown):
    found, (first, *_) = Findings(), shown
    rate, stored = (middle(shown[first]['runs'], name) for name in ('per_second', 'stored_bytes'))
    for name, each in shown.items():
        own, bytes_ = middle(each['runs'], 'per_second'), middle(each['runs'], 'stored_bytes')
        text = '%s: %s requests a second' % (name, number(own))
        if name != first:
            text += ', %.2f times %s' % (own / rate, first)
            text += ', and %.2f times its bytes' % (bytes_ / stored) if bytes_ and stored else ''
        found.found.append(text)
    return found


def of_iibench(result):
    found = Findings()
    for row in result['lines']:
        if not row['runs']:
            continue
        parts = [(form, middle(row['runs'], name)) for form, name in (
            ('%s bytes of log before compression', 'log_raw'),
            ('%s bytes of log written', 'log_padded'),
            ('%s bytes of data files', 'data_bytes_per_insert'))]
        found.found.append('%s: %s inserts a second%s' % (
            row['name'], number(middle(row['runs'], 'per_second')),
            ''.join('%s%s' % (', ' if place else '; for each ', form % number(value))
                    for place, (form, value) in enumerate(
                        part for part in parts if part[1]))))
    for kind, (size, _) in sorted((result.get('sources') or {}).items(),
                                  key=lambda item: -item[1][0])[:3]:
        found.times.append('%s: %s bytes journaled for an insert' % (kind, number(size)))
    return found


def of_replicas(result):
    return Findings(found=replicas.findings(result))


def of_write_concern(result):
    return Findings(found=[write_concern.explanation(result)])


def of_sweep(result):
    """What a server named "series..." makes beside the one named "base..." in its place."""
    found = Findings()
    for sweep in dict.fromkeys(row['sweep'] for row in result['rows']):
        rows = [row for row in result['rows'] if row['sweep'] == sweep]
        places = {}
        for row in rows:
            places.setdefault((row['name'].split(',', 1)[1:] or [''])[0] + str(row['x']),
                              {})[row['name'].split(',', 1)[0].split()[0]] = row
        ratios = [(pair['series']['per_second'] / pair['base']['per_second'], pair['series'])
                  for pair in places.values() if {'series', 'base'} <= pair.keys()]
        if ratios:
            found.found.append('by %s: the series makes %s to %s times the inserts of the base' % (
                sweep, plots.times(min(ratios, key=lambda each: each[0])[0]),
                plots.times(max(ratios, key=lambda each: each[0])[0])))
            found.lost += ['by %s, at %g: %.2f times the base' % (sweep, row['x'], ratio)
                           for ratio, row in ratios if ratio < 1]
    return found


def of_transactions(result):
    found = Findings()
    rates = {name: {clients: statistics.median(run['per_second'] for run in runs)
                    for clients, runs in each['runs'].items() if runs}
             for name, each in result['transfers'].items()}
    theirs = rates.pop('PostgreSQL', {})
    for name, ours in rates.items():
        for clients in ours.keys() & theirs.keys():
            found.compare('%s, durable transfers of %s, beside PostgreSQL'
                          % (name, clients_text(clients)), ours[clients] / theirs[clients])
    return found


def of_growth(result):
    found = Findings()
    for name in dict.fromkeys(row['name'] for row in result['lines']):
        rows = [row for row in result['lines'] if row['name'] == name and row['runs']]
        if len(rows) > 1:
            first, last = ((row['rows'], middle(row['runs'], 'per_second'))
                           for row in (rows[0], rows[-1]))
            found.found.append('%s: %s durable rows a second beside %s rows, %s beside %s' % (
                name, number(first[1]), plots.number(first[0]), number(last[1]),
                plots.number(last[0])))
    return found


def of_write_through(result):
    """What the model of write-through counts; its times are those of a loop device."""
    def per_append(mode, name):
        return statistics.median(run[mode][name] / run[mode]['appends'] for run in result['runs'])
    return Findings(found=[
        'an append into written blocks costs %s flushes and %s KB where the file system notes the '
        'time of each write, %s and %s where it need not' % tuple(
            number(per_append(mode, name)) for mode in ('overwrite_sync', 'overwrite_datasync')
            for name in ('flushes', 'kilobytes'))])


def of_patch(result):
    """What the option changes, alone and in the full series; lost where each of enough pairs became
    slower."""
    found = Findings()
    for block in result['blocks']:
        for half in ('alone', 'company'):
            if half not in block:
                continue
            _, changes = ab_table.paired(block[half], lambda row: row['per_second'])
            if changes is None:
                continue
            text = '%s, %s: %s inserts a second' % (
                block['workload'],
                'alone' if half == 'alone' else 'with the whole series',
                ab_table.shown_change(changes).strip())
            lost = len(changes) >= ab_table.PAIRS_MIN and max(changes) < 0
            (found.lost if lost else found.found).append(text)
    return found
