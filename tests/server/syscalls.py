"""Compares the journal's system calls with the templates of perf/templates/.

A template lists how a start and a shutdown open files of the journal directory ("open", file, exact
flags and mode), and what one group commit with a small insert does to them, one call a line: name,
file, and for writes the bytes. Any other call on a file of the journal is a difference. Its head
says for which patches and options. One client makes 23 durable inserts, each after the last was
acknowledged, so the trace must be the template 23 times: a lost fdatasync passes every other test,
but not this one.

The base's template is also held against the full series with every option at its default.
"life" is no template: it follows the base's journal files through flush, rotation, fsync with lock,
dropDatabase and shutdown.
Usage: build/venv/bin/python tests/server/syscalls.py [TEMPLATE...]       e.g. base life"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import pymongo
from pymongo import write_concern

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'perf/trace')]

import journal_writes  # noqa: E402
import server  # noqa: E402
import staging  # noqa: E402
from totals import Totals  # noqa: E402

TEMPLATES = os.path.join(TOP, 'perf', 'templates')
COMMITS = 23
EVERYTHING = '%desc,%file'  # that has to do with a file
# Files of a dbpath are opened beneath it: by a folder's descriptor and the rest of the path.
OPEN = re.compile(r'openat2\(\d+<[^>]*>, "(?:[^"]*/)?journal/([^"/]+)", '
                  r'\{flags=([A-Z_|]+)(?:, mode=(0\d+))?[,}]')


def read_template(name):
    """Returns (patches, options, opens, calls) of a template."""
    text = pathlib.Path(os.path.join(TEMPLATES, name + '.txt')).read_text('utf-8')
    fields = dict(re.findall(r'^# (patches|options): (.*)$', text, re.M))
    calls = [line for line in text.splitlines() if line and not line.startswith('#')]
    opens = [line for line in calls if line.startswith('open ')]
    return fields['patches'], fields['options'].split(), opens, calls[len(opens):]


def observe(program, options, folder):
    """The calls on journal files that COMMITS durable inserts make, in the template's form."""
    concern = write_concern.WriteConcern(w=1, j=True)
    with server.Server(program, os.path.join(folder, 'db'), options) as running, \
            pymongo.MongoClient(running.uri) as client:
        collection = client.trace.get_collection('c', write_concern=concern)
        collection.insert_one({'_id': 0, 'text': 'x' * 100})  # makes the files
        tracer = journal_writes.Tracer(running.pid, EVERYTHING)
        for number in range(COMMITS):
            collection.insert_one({'_id': 1 + number, 'text': 'x' * 100})
        calls = tracer.stop()
    journal = os.path.join(os.path.realpath(running.dbpath), 'journal') + os.sep
    return [' '.join([call, path[len(journal):]]
                     + ([str(result)] if call in journal_writes.WRITES else []))
            for _, call, path, result, _ in calls if path.startswith(journal)]


def observe_opens(program, options, folder):
    """How a start on an empty directory and a clean shutdown open files of the journal."""
    log, wrapper = os.path.join(folder, 'opens'), os.path.join(folder, 'traced')
    with open(wrapper, 'w', encoding='utf-8') as file:
        # -D: the server stays the child of this process, and strace watches from beside.
        file.write('#!/bin/sh\nexec strace -D -f -y -e trace=openat2 -o %s %s "$@"\n'
                   % (log, program))
    os.chmod(wrapper, 0o755)
    with server.Server(wrapper, os.path.join(folder, 'db-opens'), options):
        pass
    with open(log, encoding='utf-8', errors='replace') as file:
        matches = [OPEN.search(line) for line in file]
    return [' '.join(['open', match[1], match[2]] + ([match[3]] if match[3] else []))
            for match in matches if match and 'O_PATH' not in match[2]]


LIFE_CALLS = 'openat2,write,pwrite64,fdatasync,fsync,ftruncate,unlinkat'
LIFE_LINE = re.compile(r'(\w+)\(\d+<([^>]*)>(?:, "([^"]*)")?(.*)')
BY_NAME = ('openat2', 'unlinkat')  # their descriptor is that of a folder


def life_steps():
    """[(step, [call, ...])] of life.txt."""
    with open(os.path.join(TOP, 'tests', 'server', 'life.txt'), encoding='utf-8') as file:
        return [(name, calls.split(', ')) for name,
                calls in re.findall(r'^(\w.*): (.*)$', file.read(), re.M)]


def read_life(lines, journal):
    """The calls on a journal directory in a trace, in the words of life.txt."""
    found, unsynced = [], None
    for line in lines:
        match = LIFE_LINE.search(line)
        path = match and match[2]
        if path and match[1] in BY_NAME:
            path = os.path.join(path, match[3])
        if not path or os.path.dirname(path) != journal and path != journal:
            continue
        call, name = match[1], os.path.basename(path)
        if call == 'unlinkat':
            found.append('unlink ' + name)
        elif call == 'openat2':
            if 'O_CREAT' in match[4] and ('lsn' not in name or 'O_TRUNC' in match[4]):
                found.append('open ' + name)
        elif call == 'write':
            if unsynced:
                found.append('write %s before a sync' % name)
            unsynced = name
        elif call == 'fdatasync':
            if unsynced == name and found[-1:] != ['commit ' + name]:
                found.append('commit ' + name)
            unsynced = None
        else:
            found.append('%s %s' % (call, name))
    return found


def run_life(totals):
    """Leads a server through the steps of life.txt under strace and compares."""
    program = os.path.join(server.build('none', '', ['mongod']), 'bin', 'mongod')
    with tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build', 'scratch')) as folder:
        folder = os.path.realpath(folder)
        log, wrapper = os.path.join(folder, 'life'), os.path.join(folder, 'traced')
        with open(wrapper, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexec strace -D -f -y -s 0 -e trace=%s -o %s %s "$@"\n'
                       % (LIFE_CALLS, log, program))
        os.chmod(wrapper, 0o755)
        dbpath = os.path.join(folder, 'db')
        options = ['--smallfiles', '--nssize', '1', '--nopreallocj', '--syncdelay', '0']
        concern = write_concern.WriteConcern(w=1, j=True)
        with server.Server(wrapper, dbpath, options) as running, \
                pymongo.MongoClient(running.uri) as client:
            collection = client.life.get_collection('c', write_concern=concern)
            collection.insert_one({'_id': 0})
            client.admin.command('fsync')
            collection.insert_one({'_id': 1})
            rotated = os.path.join(dbpath, 'journal', 'j._1')
            while not os.path.exists(rotated):
                collection.insert_many([{'b': os.urandom(1 << 20)} for _ in range(8)])
            collection.insert_one({'_id': 2})
            client.admin.command('fsync', lock=True)
            client.admin.command('fsyncUnlock')
            collection.insert_one({'_id': 3})
            client.drop_database('life')
            collection.insert_one({'_id': 4})
        with open(log, encoding='utf-8', errors='replace') as file:
            seen = read_life(file, os.path.join(dbpath, 'journal'))
    expected = []
    for _, calls in life_steps():
        if calls[0] != (expected[-1] if expected else ''):  # commits run into one another
            expected.append(calls[0])
        expected += calls[1:]
    found = difference(expected, seen)
    if found:
        print('the life of a journal: %s; all: %s' % (found, ', '.join(seen)))
    totals.add('the life of a journal', not found, bool(found))


def difference(expected, seen):
    """The first place where the two differ, in words; empty when they are equal."""
    for number, (wanted, found) in enumerate(zip(expected, seen), 1):
        if wanted != found:
            return "call %d is '%s', the template says '%s'" % (number, found, wanted)
    if len(expected) != len(seen):
        return '%d calls, the template says %d; the last one is %s' % (
            len(seen), len(expected), seen[-1] if seen else 'missing')
    return ''


def run(name, patches, options, opens, calls, totals):
    program = os.path.join(server.build(patches, '', ['mongod']), 'bin', 'mongod')
    with tempfile.TemporaryDirectory(dir=os.path.join(TOP, 'build', 'scratch')) as folder:
        found = (difference(opens, observe_opens(program, options, folder))
                 or difference(calls * COMMITS, observe(program, options, folder)))
    if found:
        print('%s with patches=%s: %s' % (name, patches, found))
    totals.add('%s, patches=%s' % (name, patches), not found, bool(found))


def main():
    known = ['life'] + sorted(name[:-len('.txt')] for name in os.listdir(TEMPLATES)
                              if name.endswith('.txt'))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='TEMPLATE', help='all of ' + ' '.join(known))
    names = parser.parse_args().names or known
    for name in names:
        if name not in known:
            parser.error("no template '%s'; there are: %s" % (name, ' '.join(known)))
    os.makedirs(os.path.join(TOP, 'build', 'scratch'), exist_ok=True)
    totals = Totals()
    if 'life' in names:
        run_life(totals)
    for name in names:
        if name == 'life':
            continue
        patches, options, opens, calls = read_template(name)
        run(name, patches, options, opens, calls, totals)
        if name == 'base' and staging.series(TOP):
            run(name, 'all', options, opens, calls, totals)
    totals.close()


if __name__ == '__main__':
    main()
