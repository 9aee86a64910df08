"""Asks the server for every command it has, over both kinds of message, and checks the replies.

- The commands of a recorded MongoDB 2.6 are all known, or refused as docs/differences.md lists.
- Every reply keeps the typing rules that drivers rely on, whatever was asked.
- What came after 2.6 and would change a result is refused by every command that could carry it."""

import decimal
import json
import lzma
import os
import random
import re
import threading
import time
import types
import unittest
from decimal import Decimal

import bson
import pymongo
from bson.decimal128 import Decimal128
from bson.int64 import Int64

import messages
import server
from command_requests import FAIL, NEVER, OF_TODAY, REQUESTS, SESSION
from process_case import ProcessCase
from reply_types import ANY_REPLY, DATABASE, OF_COMMAND, OPTIONAL, has_type, values_at

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIONS = ['--smallfiles', '--nssize', '1', '--setParameter', 'enableTestCommands=1']
# Parts of replies that only mmapv1 has, and what another engine (tests/engines/) cannot do.
OF_MMAPV1 = ('dur.', 'backgroundFlushing.', 'dataFileVersion.', 'extentCount', 'extentFreeList.')
if os.environ.get(server.ENGINE):
    FAIL['journalLatencyTest'] = 115


def is_left_out(path):
    return bool(os.environ.get(server.ENGINE)) and path.startswith(OF_MMAPV1)


class Commands(unittest.TestCase):
    client = None
    port = None

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(server.scratch())
        running = cls.enterClassContext(server.Server(
            ProcessCase.program, os.path.join(folder, 'db'), OPTIONS))
        cls.client, cls.port = pymongo.MongoClient(running.uri), running.port
        cls.addClassCleanup(cls.client.close)
        cls.listed = cls.client.admin.command('listCommands')['commands']
        cls.refused = {name: entry['help'] for name, entry in cls.listed.items()
                       if entry['help'].startswith('not supported: ')}
        cls.pages = {}
        for page in ('differences.md', 'compatibility.md'):
            with open(os.path.join(TOP, 'docs', page), encoding='utf-8') as file:
                cls.pages[page] = file.read()

    def fill(self):
        db = self.client[DATABASE]
        db.command('dropAllUsersFromDatabase')
        db.command('dropAllRolesFromDatabase')
        for name in db.list_collection_names():
            if not name.startswith('system.'):
                db.drop_collection(name)
        db.c.insert_many({'_id': i, 'a': i % 3} for i in range(5))
        db.create_collection('ring', capped=True, size=10000)
        db.ring.insert_many({'_id': i} for i in range(5))

    def ask(self, db, request):
        """The reply to a command by OP_MSG, also when it is an error."""
        try:
            return self.client[db].command(request)
        except pymongo.errors.OperationFailure as error:
            return error.details

    def ask_old_way(self, db, request):
        with messages.Connection(self.port) as connection:
            return bson.decode(connection.by_query(db, request))

    def request(self, name):
        request = REQUESTS[name] or {name: 1}
        return {key: value.replace('DB', DATABASE) if isinstance(value, str) else value
                for key, value in request.items()}

    def database(self, name):
        return 'admin' if self.listed[name]['adminOnly'] else DATABASE

    def check_types(self, name, reply):
        for rules in (ANY_REPLY, OF_COMMAND.get(name, {}) if reply['ok'] else {}):
            for path, wanted in rules.items():
                for value in values_at(reply, path):
                    self.assertTrue(has_type(value, wanted),
                                    '%s: %s is %r, should be %s' % (name, path, value, wanted))

    def check_error(self, request, reply, code=None):
        self.assertEqual(reply['ok'], 0.0, request)
        for field in ('errmsg', 'code', 'codeName'):
            self.assertIn(field, reply, request)
        self.check_types('', reply)
        if code is not None:
            self.assertEqual(reply['code'], code, (request, reply))

    # ---- the registry ----

    def test_there_is_a_request_for_every_command(self):
        self.assertEqual(sorted(set(REQUESTS) | set(self.refused) | NEVER), sorted(self.listed))

    def test_every_command_of_a_recorded_server_is_known(self):
        path = os.path.join(TOP, 'tests', 'oracle', 'shapes.jsonl.xz')
        with lzma.open(path, 'rt', encoding='utf-8') as file:
            types = next(case['reply_types'] for case in map(json.loads, file)
                         if case['id'] == 'shape-listCommands-0001')
        matches = (re.fullmatch(r'commands\.\[?(.+?)\]?\.adminOnly', path) for path in types)
        names = {match.group(1) for match in matches if match}
        self.assertGreater(len(names), 140)
        self.assertEqual(sorted(names - set(self.listed)), [])
        newer = set(self.listed) - names
        told = ''.join(self.pages.values())
        self.assertEqual(sorted(name for name in newer if '`%s`' % name not in told), [])

    def test_what_is_refused_is_documented_and_the_other_way_round(self):
        section = self.pages['differences.md'].split('\nRefused, with')[1].split('\n\nAlso:')[0]
        rows = re.findall(r'^- (\d+), [^:]*: ((?:.|\n(?!- ))+)', section, re.M)
        documented = {name: int(code) for code, names in rows
                      for name in re.findall(r'`([^`]+)`', names)}
        for name in self.refused:
            self.assertIn(name, documented)
        for name, code in documented.items():
            reply = self.ask('admin', {name: 1})
            self.check_error(name, reply, code)
            self.assertIn('%s is not supported: ' % name, reply['errmsg'])

    # ---- typing ----

    def test_types_of_replies(self):
        for name in REQUESTS:
            for ask in (self.ask, self.ask_old_way):
                with self.subTest(command=name, by=ask.__name__):
                    self.fill()
                    reply = ask(self.database(name), self.request(name))
                    self.check_types(name, reply)
                    fails = OF_TODAY if ask == self.ask_old_way and name in OF_TODAY else FAIL
                    if name in fails:
                        self.check_error(name, reply, fails[name])
                        continue
                    self.assertEqual(reply['ok'], 1.0, reply)
                    for path in OF_COMMAND.get(name, {}):
                        if path not in OPTIONAL and '*' not in path and not is_left_out(path):
                            self.assertTrue(values_at(reply, path), '%s: no %s' % (name, path))

    def test_types_of_getmore(self):
        self.fill()
        cursor = self.ask(DATABASE, {'find': 'c', 'batchSize': 2})['cursor']
        reply = self.ask(DATABASE, {'getMore': cursor['id'], 'collection': 'c'})
        self.check_types('getMore', reply)
        self.assertEqual([len(reply['cursor']['nextBatch']), reply['cursor']['id']], [3, 0])

    def test_types_of_failures(self):
        """Arguments of a wrong kind give a reply that keeps the rules, whatever it is."""
        for name in sorted(REQUESTS):
            for odd in (None, '', 'no.such', -1, 1.5, [], {}, {'$a': 1}, True, b'x',
                        bson.MaxKey(), 2 ** 40):
                request = dict(self.request(name))
                request[name] = odd
                with self.subTest(command=name, argument=odd):
                    if name in ('sleep', 'journalLatencyTest', 'fsync', 'repairDatabase'):
                        continue
                    reply = self.ask(self.database(name), request)
                    self.check_types('', reply)
                    if not reply['ok']:
                        self.check_error(request, reply)
        self.assertEqual(self.ask('admin', {'ping': 1})['ok'], 1.0)

    def test_help_of_every_command(self):
        for name in REQUESTS:
            reply = self.ask(self.database(name), {name: 1, 'help': True})
            self.assertEqual([type(reply['help']), type(reply['lockType'])], [str, int], name)

    # ---- what must never be ignored ----

    def test_transactions_are_refused_by_every_command(self):
        for name in REQUESTS:
            for extra in ({'txnNumber': Int64(1)}, {'startTransaction': True},
                          {'autocommit': False}):
                self.fill() if name in ('drop', 'dropDatabase') else None
                request = dict(self.request(name), lsid={'id': SESSION}, **extra)
                self.check_error(request, self.ask(self.database(name), request), 20)

    # By the old message: the driver puts a session of its own into every other one.
    def test_sessions_are_accepted_and_change_nothing(self):
        for name in REQUESTS:
            if name in OF_TODAY:
                continue
            self.fill()
            request = dict(self.request(name), lsid={'id': SESSION})
            request['$clusterTime'] = {'clusterTime': bson.Timestamp(1, 1)}
            reply = self.ask_old_way(self.database(name), request)
            self.assertEqual(reply['ok'], 0.0 if name in FAIL else 1.0, (request, reply))
            request['lsid'] = {'id': b'no UUID'}
            self.check_error(request, self.ask_old_way(self.database(name), request), 207)

    def check_refused(self, request):
        """Refused as a whole, or as the only item of a write command; never done."""
        self.fill()
        before = list(self.client[DATABASE].c.find())
        reply = self.ask(DATABASE, request)
        self.assertTrue(reply['ok'] == 0.0 or reply.get('writeErrors'), (request, reply))
        self.assertEqual(list(self.client[DATABASE].c.find()), before, request)
        error = reply if reply['ok'] == 0.0 else reply['writeErrors'][0]
        self.assertIn(error['code'], (2, 9, 14, 20, 67, 72, 115, 123, 197), (request, reply))

    def test_read_and_write_concerns(self):
        for name in ('find', 'count', 'distinct', 'aggregate'):
            for level in ('snapshot', 'linearizable', 'no such level'):
                self.check_refused(dict(self.request(name), readConcern={'level': level}))
            self.check_refused(dict(self.request(name),
                                    readConcern={'atClusterTime': bson.Timestamp(1, 1)}))
            for level in ('local', 'available', 'majority'):
                reply = self.ask(DATABASE, dict(self.request(name), readConcern={'level': level}))
                self.assertEqual(reply['ok'], 1.0, reply)
        for name in ('insert', 'update', 'delete', 'findAndModify', 'createIndexes', 'drop',
                     'create', 'dropIndexes'):
            self.check_refused(dict(self.request(name), writeConcern={'w': 2}))
            self.check_refused(dict(self.request(name), writeConcern={'w': 'rack'}))
            self.fill()
            reply = self.ask(DATABASE, dict(self.request(name), writeConcern={'w': 'majority'}))
            self.assertEqual(reply['ok'], 1.0, reply)

    def test_projections_that_compute(self):
        """By OP_MSG as $project computes, by the old messages taken for true."""
        self.fill()
        for value in ('$a', ['$a'], {'$add': ['$a', 1]}, None, 'text', {'x': 1}):
            stages = [{'$match': {'_id': 1}}, {'$project': {'b': value}}]
            made = self.ask(DATABASE, {'aggregate': 'c', 'pipeline': stages, 'cursor': {}})
            made = made['cursor']['firstBatch']
            request = {'find': 'c', 'filter': {'_id': 1}, 'projection': {'b': value}}
            self.assertEqual(self.ask(DATABASE, request)['cursor']['firstBatch'], made, value)
            self.assertEqual(self.ask(DATABASE, {'explain': request})['ok'], 1.0, value)
            reply = self.ask(DATABASE, {'findAndModify': 'c', 'query': {'_id': 1},
                                        'update': {'$set': {'z': 9}}, 'fields': {'b': value}})
            self.assertEqual([reply['value']], made, value)
        for code, projection in ((51270, {'b': {}}), (16410, {'$a': 1}),
                                 (72, {'b': '$a', 'c': {'$slice': 1}})):
            find = {'find': 'c', 'projection': projection}
            for request in (find, {'explain': find},
                            {'findAndModify': 'c', 'query': {}, 'update': {'$set': {'a': 9}},
                             'fields': projection}):
                self.assertEqual(self.ask(DATABASE, request)['code'], code, request)
        for value in (1, True, 1.5, Int64(1), {'$slice': 1}, {'$elemMatch': {'x': 1}}):
            reply = self.ask(DATABASE, {'find': 'c', 'projection': {'b': value}})
            self.assertEqual(reply['ok'], 1.0, reply)
        reply = self.ask_old_way(DATABASE, {'find': 'c', 'filter': {'_id': 1},
                                            'projection': {'a': '$x'}})
        self.assertEqual(reply['cursor']['firstBatch'], [{'_id': 1, 'a': 1}])

    def test_the_catalogue_among_the_collections(self):
        self.fill()
        listed = [entry['name'] for entry in self.ask(DATABASE, {'listCollections': 1})
                  ['cursor']['firstBatch']]
        self.assertEqual(listed, ['c', 'ring'])
        listed = [entry['name'] for entry in self.ask_old_way(DATABASE, {'listCollections': 1})
                  ['cursor']['firstBatch']]
        self.assertEqual(listed, ['c', 'ring', 'system.indexes'])
        catalogue = self.client[DATABASE]['system.indexes']
        self.assertEqual(catalogue.count_documents({'name': '_id_'}), 2)

    def test_empty_modifiers(self):
        self.fill()
        update = {'update': 'c', 'updates': [{'q': {'_id': 1}, 'u': {'$set': {}}}]}
        reply = self.ask(DATABASE, update)
        self.assertEqual([reply['ok'], reply['n'], reply['nModified']], [1.0, 1, 0])
        upsert = {'update': 'c', 'updates': [{'q': {'_id': 77}, 'u': {'$setOnInsert': {}},
                                              'upsert': True}]}
        self.assertEqual(self.ask(DATABASE, upsert)['upserted'], [{'index': 0, '_id': 77}])
        self.assertEqual(self.client[DATABASE].c.find_one({'_id': 77}), {'_id': 77})
        modify = {'findAndModify': 'c', 'query': {'_id': 1}, 'update': {'$set': {}}}
        self.assertEqual(self.ask(DATABASE, modify)['value'], {'_id': 1, 'a': 1})
        self.assertEqual(self.ask_old_way(DATABASE, update)['writeErrors'][0]['code'], 9)
        self.check_error(modify, self.ask_old_way(DATABASE, modify), 9)

    def test_queries_of_other_kinds(self):
        """JavaScript, places: refused wherever a filter is taken, with a text that says so."""
        for filter_, word in (({'$where': 'true'}, r'\$where'),
                              ({'a': {'$near': [1, 2]}}, '[nN]ear')):
            for request in (
                    {'find': 'c', 'filter': filter_},
                    {'count': 'c', 'query': filter_},
                    {'distinct': 'c', 'key': 'a', 'query': filter_},
                    {'aggregate': 'c', 'pipeline': [{'$match': filter_}], 'cursor': {}},
                    {'findAndModify': 'c', 'query': filter_, 'remove': True},
                    {'update': 'c', 'updates': [{'q': filter_, 'u': {'$set': {'a': 9}}}]},
                    {'delete': 'c', 'deletes': [{'q': filter_, 'limit': 0}]}):
                self.fill()
                reply = self.ask(DATABASE, request)
                self.assertTrue(reply['ok'] == 0.0 or reply.get('writeErrors'), (request, reply))
                error = reply if reply['ok'] == 0.0 else reply['writeErrors'][0]
                self.assertRegex(error['errmsg'], word, request)
                self.assertEqual(self.client[DATABASE].c.count_documents({'a': {'$lt': 3}}), 5)

    def test_a_cursor_is_one_requests_at_a_time(self):
        """Also while that waits for the next document of a collection."""
        self.fill()
        session = self.client.start_session()  # that of the cursor; the driver would take any

        def ask(request):
            return self.client[DATABASE].command(request, check=False, session=session)

        opened = ask({'find': 'ring', 'tailable': True, 'awaitData': True})
        more = {'getMore': opened['cursor']['id'], 'collection': 'ring'}
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(ask({**more, 'maxTimeMS': 60000})))
        thread.start()
        limit = time.monotonic() + 60
        while not any(op['op'] == 'getmore'
                      for op in self.client.admin.command('currentOp')['inprog']):
            self.assertLess(time.monotonic(), limit)
        self.check_error('getMore', ask(more), 12051)
        self.client[DATABASE].ring.insert_one({'_id': 'next'})
        thread.join()
        self.assertEqual([each['_id'] for each in waiting[0]['cursor']['nextBatch']], ['next'])
        self.assertEqual(ask({**more, 'maxTimeMS': 1})['ok'], 1.0)
        session.end_session()

    def test_later_stages(self):
        for stage in ('$lookup', '$graphLookup', '$changeStream', '$merge', '$unionWith',
                      '$geoNear', '$bucket', '$setWindowFields', '$densify', '$fill', '$search'):
            reply = self.ask(DATABASE, {'aggregate': 'c', 'pipeline': [{stage: {}}], 'cursor': {}})
            self.check_error(stage, reply)
            self.assertIn(stage, reply['errmsg'])

    # ---- long operations ----

    def test_a_background_build_yields_is_listed_and_killed(self):
        """The size grows until the build is met at work."""
        admin, db = self.client.admin, self.client[DATABASE]
        self.fill()
        outcome = []

        def build():
            outcome.append(self.ask(DATABASE, {'createIndexes': 'c', 'indexes': [
                {'key': {'text': 1}, 'name': 'built', 'background': True}]}))

        def building():
            return [op for op in admin.command('currentOp')['inprog']
                    if op.get('msg', '').startswith('Index Build (background): ')]

        for attempt in range(5):
            db.c.insert_many({'text': '%d' % (i * 7919 % 100003)} for i in range(60000 << attempt))
            outcome.clear()
            thread = threading.Thread(target=build)
            thread.start()
            while thread.is_alive():
                seen = building()
                if not seen:
                    continue
                db.c.insert_one({'text': 'between'})
                again = building()
                if not again:
                    break
                self.assertEqual(again[0]['opid'], seen[0]['opid'])
                self.assertEqual(set(again[0]['progress']), {'done', 'total'})
                admin.command('killOp', op=seen[0]['opid'])
                break
            thread.join()
            if not outcome[0]['ok']:
                self.check_error('createIndexes', outcome[0], 11601)
                self.assertNotIn('built', db.c.index_information())
                self.assertTrue(db.command('validate', 'c', full=True)['valid'])
                return
            db.c.drop_index('built')
        self.fail('the build was never met at work')


CONTEXT = decimal.Context(prec=34, Emax=6144, Emin=-6143, clamp=1, traps=[])  # as decimal128
WIDE = decimal.Context(prec=14000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
# Of random numbers: a and d of all sizes, b of all types, s and t small. True: off at the end.
TABLE = [
    ({'$add': ['$a', '$b']}, lambda v: CONTEXT.add(CONTEXT.add(0, v.a), v.b), False),
    ({'$sum': ['$b', '$a']}, lambda v: CONTEXT.add(CONTEXT.add(0, v.b), v.a), False),
    ({'$subtract': ['$b', '$a']}, lambda v: CONTEXT.subtract(v.b, v.a), False),
    ({'$multiply': ['$a', '$b']}, lambda v: CONTEXT.multiply(v.a, v.b), False),
    ({'$divide': ['$b', '$a']}, lambda v: CONTEXT.divide(v.b, v.a), False),
    ({'$mod': ['$s', '$t']}, lambda v: CONTEXT.remainder(v.s, v.t), False),
    ({'$ceil': '$s'}, lambda v: v.s.to_integral_value(decimal.ROUND_CEILING), False),
    ({'$floor': '$s'}, lambda v: v.s.to_integral_value(decimal.ROUND_FLOOR), False),
    ({'$round': ['$s', 2]}, lambda v: v.s.quantize(Decimal('0.01')), False),
    ({'$trunc': ['$s', -1]}, lambda v: v.s.quantize(Decimal('1E1'), decimal.ROUND_DOWN), False),
    ({'$sqrt': {'$abs': '$d'}}, lambda v: CONTEXT.sqrt(v.d.copy_abs()), False),
    ({'$exp': '$s'}, lambda v: CONTEXT.exp(v.s), True),
    ({'$ln': {'$abs': '$d'}}, lambda v: CONTEXT.ln(v.d.copy_abs()), True),
    ({'$log10': {'$abs': '$d'}}, lambda v: CONTEXT.log10(v.d.copy_abs()), True),
    ({'$pow': [{'$abs': '$s'}, '$t']}, lambda v: CONTEXT.power(v.s.copy_abs(), v.t), True)]


def to_decimal(value):  # of a double the 15 digits that are certain
    return value.to_decimal() if isinstance(value, Decimal128) else Decimal(
        '%.14e' % value if isinstance(value, float) else value)


class Decimals(unittest.TestCase):
    def test_random_numbers(self):
        chance = random.Random(ProcessCase.seed)

        def number(exponents, digits=34):
            value = chance.choice((1, -1)) * chance.randint(1, 10 ** chance.randint(1, digits) - 1)
            return Decimal128(CONTEXT.plus(Decimal(value).scaleb(chance.choice(exponents), WIDE)))
        sizes = (0, -2, -2, 3, chance.randint(-40, 40), chance.randint(-6176, 6000))
        documents = [{'_id': i, 'a': number(sizes), 'd': number(sizes), 's': number((-7, -1), 9),
                      't': number((-3,), 4), 'b': chance.choice((number(sizes), chance.randint(
                          1, 2 ** 62), chance.uniform(1e-9, 99)))} for i in range(300)]
        with server.scratch() as folder, server.Server(ProcessCase.program, folder, (
                '--smallfiles',)) as running, pymongo.MongoClient(running.uri) as client:
            client.d.c.insert_many(documents)
            for expression, expected, off in TABLE:
                for document in client.d.c.aggregate([{'$addFields': {'x': expression}}]):
                    v = types.SimpleNamespace(**{n: to_decimal(x) for n, x in document.items()})
                    wanted = expected(v)
                    if not off or not wanted.is_finite():
                        self.assertEqual(str(document['x']), str(Decimal128(wanted)), document)
                    elif WIDE.abs(v.x - wanted) > Decimal('1E-6175'):
                        self.assertLess(WIDE.divide(abs(v.x - wanted), abs(wanted)), 1E-31)
            for one in documents[:75]:
                for operator, make in (('$inc', CONTEXT.add), ('$mul', CONTEXT.multiply)):
                    client.d.c.update_one({'_id': one['_id']}, {operator: {'b': one['a']}})
                    wanted = make(to_decimal(one['b']), one['a'].to_decimal())
                    one['b'] = client.d.c.find_one(one['_id'])['b']
                    self.assertEqual(str(one['b']), str(Decimal128(wanted)), one)
            client.d.c.create_index('t')
            values = {to_decimal(each['t']) for each in documents}
            found = client.d.c.distinct('t') + [
                each['_id'] for each in client.d.c.aggregate([{'$group': {'_id': '$t'}}])]
            self.assertEqual(sorted(map(to_decimal, found)), sorted([*values, *values]))
