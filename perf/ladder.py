"""The contenders of perf/run.py in rounds: in each round every server once, on fresh data, with
each number of clients, and the disk alone before and after each of these cells.

A cell's share of the disk is taken against its two neighbours, since a disk changes from one
moment to the next. What cannot be so is marked (cells.py).
"""

import contextlib
import os
import shutil
import tempfile

import cells
import machine
import measuring

FLOOR_SECONDS = 0.1   # the disk alone, beside each cell
TRACED_SECONDS = 0.3  # counts are the same in the long run
WARMUP_SECONDS = 0.15
START_SECONDS = 0.35  # of a server, with its end; for the guess of the time left
IDLE_SECONDS = 0.3    # of each look at what others do


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
                cells.summarize(row)
            if number == 0:
                self.trace(name, running)

    def trace(self, name, running):
        tools = measuring.Bench(self.tools.programs, self.tools.folder, TRACED_SECONDS,
                                WARMUP_SECONDS, self.tools.old_wire)
        for clients in self.clients:
            self.progress.step('traced, %s, %d client%s' % (name, clients, 's' * (clients > 1)))
            row = self.rows[name, clients]
            row['traced'] = tools.measure_traced(running, clients)
            cells.summarize(row)

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
        return sum(map(cells.has_moved, runs)) / max(1, len(runs))
