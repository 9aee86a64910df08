"""One server from outside. --seed is for the cuts of test_retries.py."""

import os
import random

import process_case
import pytest


def pytest_addoption(parser):
    parser.addoption('--seed', type=int, default=random.randrange(1 << 30),
                     help='of what is random')


@pytest.fixture(scope='session', autouse=True)
def program(programs, request):
    case = process_case.ProcessCase
    case.program = programs('mongod', 'refuse_calls.so')
    case.preloaded = os.path.join(os.path.dirname(case.program), 'refuse_calls.so')
    case.seed = request.config.getoption('seed')
    print('seed %d' % case.seed)
