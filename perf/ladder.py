"""The contenders of perf/run.py in rounds: in each round every server once, on fresh data, with
each number of clients, and the disk alone before and after each of these cells.

A cell's share of the disk is taken against its two neighbours, since a disk changes from one
moment to the next. What cannot be so is marked: marks() and MARKS.
"""

import contextlib
import os
import shutil
import statistics
import tempfile

import machine
import measuring

FLOOR_SECONDS = 0.1   # the disk alone, beside each cell
TRACED_SECONDS = 0.3  # counts are the same in the long run
WARMUP_SECONDS = 0.15
START_SECONDS = 0.35  # of a server, with its end; for the guess of the time left
IDLE_SECONDS = 0.3    # of each look at what others do

MARKS = (
    ('~', 'floor_moved', 'the disk alone changed by more than %.1f times from before the cell to '
     'after it, in so many rounds: the share means little' % machine.FLOOR_MOVED_MAX),
    ('!', 'above_floor', 'a lone client had more durable inserts than the disk alone makes writes, '
     'in so many rounds, which cannot be: the disk was quicker during the cell than beside it'),
)


def share_of(run):
    """Of the disk alone, which is the mean of before and after."""
    return run['per_second'] / statistics.mean((run['floor_before'], run['floor_after']))


def has_moved(run):
    low, high = sorted((run['floor_before'], run['floor_after']))
    return high > machine.FLOOR_MOVED_MAX * low


def summarize(row):
    """Fills in what the table shows of a row from its `runs`: medians of rates, latencies and
    shares with the least and the greatest rate; processor time over all inserts; how many runs
    have which mark."""
    runs = row['runs']
    rates = [run['per_second'] for run in runs]
    row.update(per_second=statistics.median(rates), per_second_min=min(rates),
               per_second_max=max(rates), share_of_floor=statistics.median(map(share_of, runs)),
               floor_moved=sum(map(has_moved, runs)),
               above_floor=sum(row['clients'] == 1 and share_of(run) > 1 for run in runs))
    for name in ('p50_us', 'p99_us'):
        row[name] = statistics.median(run[name] for run in runs)
    for name in ('server_cpu_us', 'server_kernel_us', 'client_cpu_us', 'client_kernel_us'):
        row[name] = (sum(run[name] * run['per_second'] for run in runs)
                     / max(sum(rates), 1e-9))
    cpu = row['server_cpu_us'] + row['client_cpu_us']
    row['kernel_share'] = (row['server_kernel_us'] + row['client_kernel_us']) / max(cpu, 1e-9)
    row['processors'] = cpu * row['per_second'] / 1e6
    traced = row.get('traced')
    if traced:
        for name in ('bytes', 'writes', 'syncs'):
            row[name + '_per_insert'] = (traced.get(name + '_per_commit', 0)
                                         / max(traced['inserts_per_commit'], 1e-9))


def marks(row):
    """For example '~2 !1'; empty for a row without."""
    return ' '.join('%s%d' % (sign, row[name]) for sign, name, _ in MARKS if row.get(name))


def explanations(rows):
    """What the marks in these rows mean."""
    return ['%s  %s' % (sign, text) for sign, name, text in MARKS
            if any(row.get(name) for row in rows)]


def noise(rows):
    """The noise band: the median over the rows of half the range of the rounds, as a share."""
    return statistics.median((row['per_second_max'] - row['per_second_min'])
                             / 2 / max(row['per_second'], 1e-9) for row in rows)


class Ladder:
    def __init__(self, rungs, clients, tools, rounds):
        self.rungs, self.clients, self.tools, self.rounds = list(rungs), clients, tools, rounds
        self.rows, self.floors, self.idle = {}, [], []
        self.rounds_whole = 0
        self.progress = measuring.Progress(self.estimate_seconds(), self.steps())

    def steps(self):
        return len(self.rungs) * len(self.clients) * (self.rounds + 1)

    def estimate_seconds(self):
        timed = self.tools.seconds + WARMUP_SECONDS + FLOOR_SECONDS
        return len(self.rungs) * (
            self.rounds * (START_SECONDS + FLOOR_SECONDS + len(self.clients) * timed)
            + len(self.clients) * (TRACED_SECONDS + 2 * WARMUP_SECONDS)) \
            + self.rounds * IDLE_SECONDS

    def floor(self):
        found = self.tools.floor_now(FLOOR_SECONDS)['per_second']
        self.floors.append(found)
        return found

    def look_at_others(self):
        self.idle.append(machine.idle_watch(self.tools.folder, IDLE_SECONDS))

    def measure(self):
        """Fills `rows`; what is there when it is interrupted is usable. The traced runs come in
        the first round, so that no column is empty after it."""
        for number in range(self.rounds):
            self.look_at_others()
            # The order turns from round to round, so that no server always follows the same one.
            turn = number * len(self.rungs) // self.rounds
            for rung in self.rungs[turn:] + self.rungs[:turn]:
                self.visit(rung, number)
            self.rounds_whole = number + 1

    def visit(self, rung, number):
        name, selection, options, start = rung
        with self.fresh() as dbpath, start(dbpath) as running:
            before = self.floor()
            for clients in self.clients:
                self.progress.step('round %d of %d, %s, %d client%s' % (
                    number + 1, self.rounds, name, clients, 's' * (clients > 1)))
                run = self.tools.measure_plain(running, clients)
                after = self.floor()
                run.update(floor_before=before, floor_after=after)
                before = after
                row = self.rows.setdefault((name, clients), {
                    'name': name, 'clients': clients, 'selection': selection,
                    'options': [word.replace(measuring.TOP + os.sep, '') for word in options],
                    'document_bytes': run['document_bytes'], 'seconds': self.tools.seconds,
                    'runs': []})
                row['runs'].append(run)
                summarize(row)
            if number == 0:
                self.trace(name, running)

    def trace(self, name, running):
        tools = measuring.Bench(self.tools.programs, self.tools.folder, TRACED_SECONDS,
                                WARMUP_SECONDS, self.tools.old_wire)
        for clients in self.clients:
            self.progress.step('traced, %s, %d client%s' % (name, clients, 's' * (clients > 1)))
            row = self.rows[name, clients]
            row['traced'] = tools.measure_traced(running, clients)
            summarize(row)

    @contextlib.contextmanager
    def fresh(self):
        """A new directory, gone afterwards."""
        folder = tempfile.mkdtemp(prefix='ladder-', dir=self.tools.folder)
        try:
            yield os.path.join(folder, 'db')
        finally:
            shutil.rmtree(folder)

    def in_order(self):
        """The rows as the ladder goes, whatever the rounds began with."""
        return [self.rows[name, clients] for name, _, _, _ in self.rungs
                for clients in self.clients if (name, clients) in self.rows]

    def floors_moved(self):
        """Share of the cells beside which the disk alone changed too much."""
        runs = [run for row in self.rows.values() for run in row['runs']]
        return sum(map(has_moved, runs)) / max(1, len(runs))
