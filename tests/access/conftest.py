"""Access control against real servers: logging in, roles, users, what unknown clients get."""

import access
import pytest


@pytest.fixture(scope='session', autouse=True)
def program(programs):
    access.Case.program = programs('mongod')
    access.Case.options = ['--smallfiles', '--nssize', '1']
