"""Runs the tests that django-mongodb-backend's source package has, in one process.

Usage: django_suite.py TESTS REPORT; the report is a JSON object of test: passed, failed or skipped.
Some of its tests need those of Django itself, which its package has not: they fail on import."""

import json
import os
import sys
import unittest
import warnings

import django_project
from django.test.runner import DiscoverRunner
from django.utils.deprecation import RemovedInDjango60Warning

# geometry needs libraries and an index that is refused; searches are Atlas's
LEFT_OUT = ('gis_tests_', 'atlas_search_')


class Outcomes(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.found = {}

    def stopTest(self, test):
        super().stopTest(test)
        self.found.setdefault(test.id(), 'passed')

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.found[test.id()] = 'failed'

    def addError(self, test, err):
        super().addError(test, err)
        self.found[test.id()] = 'failed'

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.found[test.id()] = 'failed'

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.found[test.id()] = 'failed'

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.found[test.id()] = 'skipped'


class Runner(DiscoverRunner):
    report = None

    def get_resultclass(self):
        return Outcomes

    def suite_result(self, suite, result, **kwargs):
        with open(self.report, 'w', encoding='utf-8') as file:
            json.dump(result.found, file)
        return super().suite_result(suite, result, **kwargs)


def main():
    tests, Runner.report = sys.argv[1:]
    warnings.simplefilter('error', RemovedInDjango60Warning)  # as Django runs its tests
    sys.path.insert(0, tests)
    apps = sorted(name for name in os.listdir(tests) if name.endswith('_') and name not in LEFT_OUT)
    django_project.begin(apps, MIGRATION_MODULES={'auth': None, 'contenttypes': None})
    return 1 if Runner(interactive=False).run_tests(apps) else 0


if __name__ == '__main__':
    sys.exit(main())
