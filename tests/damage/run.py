"""Damages data directories and journals, and looks at what the programs make of it.

Bits are flipped, numbers overwritten, pages zeroed, files cut and removed: in directories of a 2.6
server and of our own (several databases, one folder for each, rings, many indexes, free extents),
and in journals that have yet to be replayed. Of each:
  dbpath_check     ends by itself; each error names a file and an offset
  mongod --salvage ends by itself, changes nothing, and writes a dump that can be read
  mongod           starts, answers and lives on, or refuses with exit code 100 and a sentence
  its journal      what is recovered is the first so many commits, whole, and the log says where it
                   ended; or the start is refused
Then the tests of salvage.py.
Prints the seed of each case that fails: --seed N --cases 1 repeats it."""

import os
import random
import re
import shutil
import subprocess
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import bson  # noqa: E402
import choice  # noqa: E402
import directories  # noqa: E402
import pymongo  # noqa: E402
import salvage  # noqa: E402
import server  # noqa: E402
import totals  # noqa: E402

PARTS = ['data', 'journal', 'salvage']
SECONDS_MAX = 120  # only ends what hangs
CLIENT_MS_MAX = 60000
FINDING = re.compile(r'  ERROR: \S.* at 0x[0-9a-f]+: .+: \S')
ENDED = re.compile(r'recover .*/j\._\d+: \d+ sections, up to offset \d+')


class Failure(Exception):
    """A program did something else than the page above says."""


class Programs:
    def __init__(self, stage):
        self.mongod = os.path.join(stage, 'bin', 'mongod')
        self.checker = os.path.join(stage, 'bin', 'dbpath_check')

    def check(self, path, options):
        """Runs dbpath_check; returns whether it finds no error."""
        done = subprocess.run([self.checker, path] + options, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX,
                              env=dict(os.environ, **server.SANITIZER_ENVIRONMENT))
        text = done.stdout.decode(errors='replace')
        if done.returncode not in (0, 1, 2):
            raise Failure('dbpath_check ended with %d:\n%s' % (done.returncode, text[-3000:]))
        errors = [line for line in text.split('\n') if line.startswith('  ERROR')]
        if done.returncode == 1 and not errors:
            raise Failure('dbpath_check finds errors and names none:\n' + text[-3000:])
        if done.returncode == 2 and 'dbpath_check: ' not in text:
            raise Failure('dbpath_check refuses without a word:\n' + text[-3000:])
        for line in errors:
            if not FINDING.match(line):
                raise Failure('no file, offset and meaning: ' + line)
        return done.returncode == 0

    def salvage(self, path, options, expected):
        """Runs mongod --salvage; compares where it says that nothing is damaged."""
        out = path + '.out'
        shutil.rmtree(out, ignore_errors=True)
        before = salvage.stamps(path)
        code, text, complaint = salvage.run(self.mongod, path, out, options)
        if code not in (salvage.WHOLE, salvage.DAMAGED, salvage.REFUSED):
            raise Failure('--salvage ended with %d:\n%s%s'
                          % (code, text[-3000:], complaint[-3000:]))
        if salvage.stamps(path) != before:
            raise Failure('--salvage changed the dbpath')
        if code == salvage.REFUSED:
            raise Failure('--salvage refused: ' + complaint)
        dump = salvage.read(out)
        if code == salvage.WHOLE and expected is not None:
            for ns, (documents, _, _) in expected.items():
                if len(dump[ns][0]) != len(documents):
                    raise Failure('--salvage says that nothing is damaged, but %s lacks documents'
                                  % ns)
        shutil.rmtree(out)
        return sum(len(documents) for documents, _ in dump.values())

    def serve(self, path, options):
        try:
            return server.Server(self.mongod, path, directories.OPTIONS + options), ''
        except server.ServerError as error:
            text = str(error)
            if 'ended with %d' % salvage.REFUSED not in text or 'terminating' not in text:
                raise Failure('the start ended otherwise:\n' + text[-4000:]) from error
            return None, text


def ask(client):
    """Reads everything and changes something; each command is answered, somehow."""
    def some(call):
        try:
            return call()
        except (pymongo.errors.OperationFailure, pymongo.errors.InvalidName, bson.errors.BSONError):
            return None

    for name in some(client.list_database_names) or []:
        db = client[name]
        for collection in some(lambda: db.list_collection_names()) or []:  # noqa: B023
            some(lambda: list(db[collection].find(max_time_ms=CLIENT_MS_MAX)))  # noqa: B023
            some(lambda: db.command('validate', collection, full=True))  # noqa: B023
            some(lambda: db[collection].insert_one({'_id': 'new'}))  # noqa: B023
    some(lambda: client.fresh.c.insert_one({'_id': 1}))
    client.admin.command('ping')


def data_case(programs, directory, pages, chance, path):
    directories.copy(directory.path, path)
    names = sorted({chance.choice(directory.files()) for _ in range(chance.choice([1, 1, 1, 2]))})
    how = '; '.join(directories.damage(path, name, chance, pages[name]) for name in names)
    try:
        consistent = programs.check(path, directory.options)
        documents = programs.salvage(path, directory.options, None if not consistent
                                     else directory.expected)
        running, refusal = programs.serve(path, directory.options)
        if running:
            with running, pymongo.MongoClient(running.uri, socketTimeoutMS=CLIENT_MS_MAX) as client:
                ask(client)
    except (Failure, server.ServerError, pymongo.errors.PyMongoError,
            subprocess.TimeoutExpired) as error:
        raise Failure('%s, %s: %s' % (directory.name, how, error)) from error
    return '%s, %s: %s, %d documents, %s' % (
        directory.name, how, 'consistent' if consistent else 'errors', documents,
        'refused' if refusal else 'served')


def journal_case(programs, directory, chance, path):
    directories.copy(directory.path, path)
    journal = os.path.join(path, 'journal')
    name = chance.choice(sorted(name for name in os.listdir(journal) if name.startswith('j._')))
    whole = os.path.join(journal, name)
    how = directories.damage(journal, name, chance, directories.used_pages(whole))
    log = path + '.log'
    if os.path.exists(log):
        os.remove(log)
    try:
        running, refusal = programs.serve(path, [])
        if refusal:
            return '%s, %s: refused' % (directory.name, how)
        with running, pymongo.MongoClient(running.uri) as client:
            ids = [each['_id'] for each in client.j.c.find({'_id': {'$type': 'int'}})]
        if directory.name == 'journaled' and ids != list(range(len(ids))):
            raise Failure('no prefix was recovered: %r' % ids)
        with open(log, encoding='utf-8', errors='replace') as file:
            said = ENDED.search(file.read())
        if os.path.exists(whole) and not said and not how.endswith('missing'):
            raise Failure('the log does not say where the journal ended')
        if not programs.check(path, []):
            raise Failure('what was recovered is not consistent')
        return '%s, %s: %d of %d commits' % (directory.name, how, len(ids), directories.JOURNALED)
    except (Failure, server.ServerError, pymongo.errors.PyMongoError,
            subprocess.TimeoutExpired) as error:
        raise Failure('%s, %s: %s' % (directory.name, how, error)) from error


def campaign(name, case, cases, seed, tally):
    passed = failed = 0
    for number in range(seed, seed + cases):
        try:
            print('ok   %s, seed %d: %s'
                  % (name, number, case(number, random.Random(number))), flush=True)
            passed += 1
        except Failure as failure:
            failed += 1
            print('FAIL %s, seed %d: %s' % (name, number, failure), flush=True)
    tally.add(name, passed, failed)


def main():
    parser = choice.parser(__doc__, 'selection', 'sanitize')
    parser.add_argument('--cases', type=choice.count(), default=40,
                        help='damaged directories, each kind in turn; half as many journals')
    parser.add_argument('--seed', type=choice.count(0), default=1)
    parser.add_argument('parts', nargs='*')
    arguments = parser.parse_args()
    parts = choice.exactly(arguments.parts, PARTS, 'part')
    programs = Programs(server.build(arguments.selection, arguments.sanitize,
                                     ['mongod', 'dbpath_check']))
    tally = totals.Totals()
    with server.scratch('damage-') as folder:
        path = os.path.join(folder, 'damaged')
        whole = [directories.own(programs.mongod, folder, per_db) for per_db in (False, True)]
        if 'data' in parts:
            undamaged = whole + [directories.fixture(programs.mongod, folder)]
            pages = {each.name: {name: directories.used_pages(os.path.join(each.path, name))
                                 for name in each.files()} for each in undamaged}

            def data(number, chance):
                directory = undamaged[number % len(undamaged)]
                return data_case(programs, directory, pages[directory.name], chance, path)
            campaign('data', data, arguments.cases, arguments.seed, tally)
        if 'journal' in parts:
            journals = [directories.journaled(programs.mongod, folder)] * 3 + [
                directories.powercut(folder)]
            campaign('journal', lambda number, chance: journal_case(
                programs, journals[number % len(journals)], chance, path),
                     (arguments.cases + 1) // 2, arguments.seed, tally)
        if 'salvage' in parts:
            salvage.Salvage.program, salvage.Salvage.whole = programs.mongod, whole
            tally.run('salvage', unittest.defaultTestLoader.loadTestsFromTestCase(salvage.Salvage))
    tally.close()


if __name__ == '__main__':
    main()
