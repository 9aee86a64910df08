"""The version of the sources, which stands in src/base/program_version.h and nowhere else."""

import os
import re

FILE = os.path.join('src', 'base', 'program_version.h')


def read(top):
    with open(os.path.join(top, FILE), encoding='utf-8') as file:
        return re.search(r'kProgramVersion = "(\d+\.\d+\.\d+)"', file.read())[1]
