"""Modules from outside Python's own, imported when something of them is first used.

./lab asks the scripts here for their options, and refuses wrong ones, before it has installed what
the scripts measure with."""

import importlib


class Module:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self._name), attribute)
