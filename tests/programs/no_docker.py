"""A plug-in of pytest, for suites that start their servers by Docker: ours runs already."""

import pytest


class Running:
    """What stands for the services of such a suite."""

    def start(self, *_names):
        pass

    def wait_for_service(self, *_arguments, **_options):
        pass


@pytest.fixture(scope='session')
def docker_services():
    return Running()
