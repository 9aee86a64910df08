"""NOTICE names every library that is linked, and docs/dependencies.md says why it is used."""

import ast
import os
import re
import unittest

from test_style import TOP, tracked_files

# What the linker calls it -> its name on both pages; None: part of the system's C library.
NAMES = {'boost_program_options': 'Boost', 'bson-1.0': 'libbson', 'crypto': 'OpenSSL',
         'ssl': 'OpenSSL', 'fmt': 'fmt', 'idn': 'Libidn', 'pcre2-8': 'PCRE2', 'snappy': 'snappy',
         'yaml-cpp': 'yaml-cpp', 'mongoc-1.0': 'libmongoc', 'mongoclient': 'libmongoclient',
         'boost_thread': 'Boost', 'boost_system': 'Boost', 'pq': 'libpq',
         'mariadb': 'MariaDB Connector/C', 'rocksdb': 'RocksDB', 'wiredtiger': 'WiredTiger',
         's2': 'S2', 'icui18n': 'ICU', 'icuuc': 'ICU',
         'bidgcc000': 'Intel Decimal Floating-Point Math Library',
         '../text-libs/lib/libsnowball2010.a': 'Snowball', 'm': None}


def read(name):
    with open(os.path.join(TOP, name), encoding='utf-8') as file:
        return file.read()


def linked():
    """{library: the SConscripts that link it}."""
    found = {}
    for name in tracked_files():
        if name.endswith('SConscript'):
            for list_ in re.findall(r'\blibs=(\[[^\]]*\])', read(name)):
                for library in ast.literal_eval(list_):
                    found.setdefault(library, []).append(name)
    return found


class Notice(unittest.TestCase):
    def test_names_what_is_linked(self):
        libraries = linked()
        self.assertGreater(len(libraries), 8)
        notice, reasons = read('NOTICE'), read('docs/dependencies.md')
        for library, scripts in libraries.items():
            self.assertIn(library, NAMES, '%s: give it a name here, and a licence in NOTICE'
                          % scripts)
            name = NAMES[library]
            if name:
                self.assertRegex(notice, r'(?m)^  %s(?: |$)' % re.escape(name))
                self.assertIn(name, reasons)

    def test_names_nothing_that_is_not_used(self):
        for name in re.findall(r'^  (\S(?:\S| (?! |\())*)', read('NOTICE'), re.MULTILINE):
            if not name.startswith(('libstdc++', 'glibc')):
                self.assertIn(re.sub(r' [\d.]+$', '', name), read('docs/dependencies.md'))
