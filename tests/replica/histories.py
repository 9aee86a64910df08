"""Whether a history of transactions over lists is one that snapshot isolation allows.

A transaction appends values to lists and reads lists as wholes. No value is appended twice, so that
what a read shows tells which transactions it follows and which come after it. The names of the
faults are Adya's: G0, G1a, G1b, G1c; G-single is a cycle with one anti-dependency (a lost update,
read skew); G2 has several, of which no two follow each other. A cycle with two in a row is write
skew: snapshot isolation allows it, and a checker that never finds one is blind."""

import collections
import graphlib

OK, FAILED, UNKNOWN = 'ok', 'failed', 'unknown'
APPEND, READ = 'append', 'read'


class Transaction:
    """`steps`: (APPEND, list, value) or (READ, list, its values), in order."""

    def __init__(self, name, steps=(), outcome=UNKNOWN):
        self.name, self.steps, self.outcome = name, list(steps), outcome

    def __repr__(self):
        return '%s %s %s' % (self.name, self.outcome, self.steps)

    def appended(self):
        """{list: its values}"""
        found = collections.defaultdict(list)
        for kind, key, value in self.steps:
            if kind == APPEND:
                found[key].append(value)
        return found

    def seen(self, faults):
        """{list: what it held before this transaction's own values}; each of its reads has to show
        the same, with its own values at the end."""
        own, found = collections.defaultdict(list), {}
        for kind, key, value in self.steps:
            if kind == APPEND:
                own[key].append(value)
                continue
            others = value[:len(value) - len(own[key])]
            if value != others + own[key] or found.setdefault(key, others) != others:
                faults.append('internal: list %s of %s' % (key, self))
        return found


class History:
    """All transactions until some time, and what the lists hold in the end."""

    def __init__(self, transactions, final):
        self.transactions, self.order, self.faults = transactions, final, []
        # One that has failed may have read what a kill took away.
        self.seen = {each: each.seen(self.faults) for each in transactions if each.outcome == OK}
        self.owners = {(key, value): each for each in transactions
                       for key, values in each.appended().items() for value in values}

    def check(self):
        """Returns (faults, whether there is write skew)."""
        self.check_lists()
        self.check_wholes()
        self.check_reads()
        if self.faults:
            return self.faults, False
        writes, reads, anti = self.edges()
        # Twice each transaction: reached by a dependency (0), or by an anti-dependency (1), behind
        # which there may be no other one.
        apart = [((one, way), (other, 0)) for one, other in writes + reads for way in (0, 1)
                 ] + [((one, 0), (other, 1)) for one, other in anti]
        for name, edges in (('G0', writes), ('G1c', writes + reads), ('G-single or G2', apart)):
            cycle = cycle_of(edges)
            if cycle:
                self.faults.append('%s: %s' % (name, cycle))
                break
        return self.faults, cycle_of(writes + reads + anti) is not None

    def check_lists(self):
        for key, values in self.order.items():
            if len(set(values)) != len(values):
                self.faults.append('twice in a list: %s %s' % (key, values))
            for value in values:
                owner = self.owners.get((key, value))
                if owner is None or owner.outcome == FAILED:
                    self.faults.append('G1a: %s in %s by %s' % (value, key, owner))

    def check_wholes(self):
        """What is acknowledged is there, and of what is not, all or nothing."""
        for each in self.transactions:
            wanted = [(key, value) for key, values in each.appended().items() for value in values]
            there = [value in self.order.get(key, ()) for key, value in wanted]
            if each.outcome != FAILED and not all(there) and (each.outcome == OK or any(there)):
                self.faults.append('lost: %s of %s' % (wanted, each))

    def check_reads(self):
        for each, seen in self.seen.items():
            for key, values in seen.items():
                if values != self.order.get(key, [])[:len(values)]:
                    self.faults.append('not the first of a list: %s, %s: %s'
                                       % (key, self.order.get(key), each))
                elif values:
                    last = self.owners[key, values[-1]]
                    if last.appended()[key][-1] != values[-1]:
                        self.faults.append('G1b: %s in the midst of %s' % (each, last))

    def edges(self):
        """(who wrote before whom, who read what whom wrote, who read before whom wrote)"""
        writes, reads, anti = [], [], []
        for key, values in self.order.items():
            owners = [self.owners[key, value] for value in values]
            writes += zip(owners, owners[1:])
        for each, seen in self.seen.items():
            for key, values in seen.items():
                order = self.order.get(key, [])
                if values:
                    reads.append((self.owners[key, values[-1]], each))
                if len(values) < len(order):
                    anti.append((each, self.owners[key, order[len(values)]]))
        return [[(one, other) for one, other in edges if one is not other]
                for edges in (writes, reads, anti)]


def cycle_of(edges):
    sorter = graphlib.TopologicalSorter()
    for one, other in edges:
        sorter.add(other, one)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None
