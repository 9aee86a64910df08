"""The tests of ./lab port: on small trees of our own, since no original tree is here."""

import small_trees


def pytest_configure(config):
    small_trees.WHOLE = config.getoption('whole')
