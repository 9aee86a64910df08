"""Fixtures of pytest, each started at its first use and ended with the session."""

import mongod_dur
import pytest


@pytest.fixture(scope='session')
def mongod_uri():
    with mongod_dur.temporary() as address:
        yield address


@pytest.fixture(scope='session')
def mongod_set_uri():
    with mongod_dur.temporary(replica_set='rs0') as address:
        yield address
