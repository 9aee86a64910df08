"""The contenders of perf/run.py in rounds: in each round every server once, on fresh data, with
each number of clients, and the disk alone before and after each of these cells.

A cell's share of the disk is taken against its two neighbours, since a disk changes from one
moment to the next. What cannot be so is marked (cells.py)."""

import os

import cells
import measuring
from experiment import FLOOR_SECONDS, IDLE_SECONDS, START_SECONDS, WARMUP_SECONDS

TRACED_SECONDS = 0.3  # counts are the same in the long run


class Ladder:
    """`arguments`: seconds, clients, rounds."""

    def __init__(self, rungs, arguments):
        self.rungs, self.arguments = list(rungs), arguments
        self.rows, self.rounds_whole = {}, 0
        self.progress = measuring.Progress(self.estimate_seconds(), len(self.rungs) * len(
            arguments.clients) * (arguments.rounds + 1))

    def estimate_seconds(self):
        clients, rounds = len(self.arguments.clients), self.arguments.rounds
        timed = self.arguments.seconds + WARMUP_SECONDS + FLOOR_SECONDS
        return len(self.rungs) * (
            rounds * (START_SECONDS + FLOOR_SECONDS + clients * timed)
            + clients * (TRACED_SECONDS + 2 * WARMUP_SECONDS)) + rounds * IDLE_SECONDS

    def measure(self, trial):
        """Fills `rows`; what is there when it is interrupted is usable. The traced runs come in
        the first round, so that no column is empty after it."""
        visits = 0
        for number, rung in trial.rounds(self.arguments.rounds, self.rungs):
            self.visit(trial, rung, number)
            visits += 1
            self.rounds_whole = visits // len(self.rungs)

    def visit(self, trial, rung, number):
        name, selection, options, start = rung
        with trial.fresh() as dbpath, start(dbpath) as running:
            for clients in self.arguments.clients:
                self.progress.step('round %d of %d, %s, %d client%s' % (
                    number + 1, self.arguments.rounds, name, clients, 's' * (clients > 1)))
                run = trial.cell(lambda count=clients: trial.tools.measure_plain(running, count))
                row = self.rows.setdefault((name, clients), {
                    'name': name, 'clients': clients, 'selection': selection,
                    'options': [word.replace(measuring.TOP + os.sep, '') for word in options],
                    'document_bytes': run['document_bytes'], 'seconds': trial.tools.seconds,
                    'runs': []})
                row['runs'].append(run)
                measuring.say('    %.0f inserts/s, p50 %.2f ms'
                              % (run['per_second'], run['p50_us'] / 1e3))
                cells.summarize(row)
            if number == 0:
                self.trace(trial, name, running)

    def trace(self, trial, name, running):
        tools = measuring.Bench(trial.tools.programs, trial.folder, TRACED_SECONDS,
                                WARMUP_SECONDS, trial.tools.old_wire)
        for clients in self.arguments.clients:
            self.progress.step('traced, %s, %d client%s' % (name, clients, 's' * (clients > 1)))
            row = self.rows[name, clients]
            row['traced'] = tools.measure_traced(running, clients)
            cells.summarize(row)

    def in_order(self):
        """The rows as the ladder goes, whatever the rounds began with."""
        return [self.rows[name, clients] for name, _, _, _ in self.rungs
                for clients in self.arguments.clients if (name, clients) in self.rows]
