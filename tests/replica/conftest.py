"""Replica sets of several real servers on this machine: a copy under writes, kills of primary and
secondaries, what each state refuses, a secondary that is made the primary, hand-overs, backups with
the log, full disks, catalogues. TESTS_ENGINE=rocksdb in the environment is for another engine."""

import pytest
import sets


@pytest.fixture(scope='session', autouse=True)
def program(programs):
    sets.Case.program = programs('mongod')
