"""Runs clang-tidy with the root's .clang-tidy over src/. Slow, some seconds a file: not in the
usual run. Usage: python3 tests/tree/tidy.py [FILTER]     FILTER is a part of a path, e.g. journal/
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAGE = os.path.join(TOP, 'build', 'none')


def run_file(name):
    run = subprocess.run(['clang-tidy', '-p', '.', '--quiet', name], cwd=STAGE,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return name, run.returncode, run.stdout


def main():
    if not shutil.which('clang-tidy'):
        sys.exit('tidy: clang-tidy is missing; apt-get install clang-tidy')
    subprocess.run(['scons', '-s', 'patches=none', 'compile_commands'], cwd=TOP, check=True)
    with open(os.path.join(STAGE, 'compile_commands.json'), encoding='utf-8') as file:
        names = [entry['file'] for entry in json.load(file)
                 if all(wanted in entry['file'] for wanted in sys.argv[1:])]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, output in pool.map(run_file, names):
            failed += code != 0
            print('%s %s' % ('FAIL' if code else 'ok  ', name), flush=True)
            if code:
                print(output, flush=True)
    print('%d passed, %d failed' % (len(names) - failed, failed))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
