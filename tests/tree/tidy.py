"""Runs clang-tidy with the root's .clang-tidy over src/. Slow, some seconds a file: not in the
usual run. Of tests the analyzer of paths is left out: what it goes through there is GoogleTest's
macros, for four fifths of the time. So is performance. Benchmarks are tests here. A file that
passed passes again at once while it is the same, with all that it includes and its comments.
Usage: python3 tests/tree/tidy.py [FILTER...]     parts of a path, e.g. journal/"""

import concurrent.futures
import glob
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAGE = os.path.join(TOP, 'build', 'none')
PASSED = os.path.join(TOP, 'build', 'tidy')  # an empty file for each text that passed


def text_of(entry):
    """What the compiler reads of a file: the headers' too, with comments, as some are for
    clang-tidy. None where it does not compile."""
    run = subprocess.run(['clang++-16', *shlex.split(entry['command'])[1:], '-E', '-C'],
                         cwd=STAGE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.stdout if run.returncode == 0 else None


def run_file(entry, rules):
    name = entry['file']
    is_test = name.endswith(('_test.cpp', '_bench.cpp')) or '/testing/' in name
    command = ['clang-tidy-16', '-p', '.', '--quiet',
               *['--checks=-clang-analyzer-*,-performance-*'] * is_test, name]
    text = text_of(entry)
    stamp = text and os.path.join(PASSED, hashlib.sha256(
        b'\0'.join([rules, ' '.join(command).encode(), text])).hexdigest())
    if stamp and os.path.exists(stamp):
        return name, 0, ''
    run = subprocess.run(command, cwd=STAGE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True)
    if stamp and run.returncode == 0:
        with open(stamp, 'w', encoding='ascii'):
            pass
    return name, run.returncode, run.stdout


def has_all(path, words):
    return all(word in path for word in words)


def check_words(words):
    """That a file has all of them in its path: otherwise a sentence with the rooms."""
    paths = [os.path.relpath(path, TOP)
             for path in glob.glob(os.path.join(TOP, 'src', '**', '*.cpp'), recursive=True)]
    if not any(has_all(path, words) for path in paths):
        rooms = sorted({path.split(os.sep)[1] + '/' for path in paths})
        sys.exit("no file has '%s' in its path; the rooms of src/ are: %s"
                 % ("' and '".join(words), ' '.join(rooms)))


def main():
    check_words(sys.argv[1:])
    if not shutil.which('clang-tidy-16'):
        sys.exit('tidy: clang-tidy-16 is missing; apt-get install clang-tidy-16')
    subprocess.run(['scons', '-s', 'patches=none', 'compile_commands'], cwd=TOP, check=True)
    with open(os.path.join(STAGE, 'compile_commands.json'), encoding='utf-8') as file:
        entries = [entry for entry in json.load(file) if has_all(entry['file'], sys.argv[1:])]
    with open(os.path.join(TOP, '.clang-tidy'), 'rb') as file:
        rules = file.read()
    os.makedirs(PASSED, exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, output in pool.map(lambda entry: run_file(entry, rules), entries):
            failed += code != 0
            print('%s %s' % ('FAIL' if code else 'ok  ', name), flush=True)
            if code:
                print(output, flush=True)
    print('%d passed, %d failed' % (len(entries) - failed, failed))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
