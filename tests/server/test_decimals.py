"""Decimals are calculated with as Python's module decimal does it with 34 digits: the same digits,
the same exponents. Random numbers, the same by pipelines, groups and updates.

Functions that no standard rounds exactly (exp, logarithms, powers) may be off in their last digits.
"""

import decimal
import math
import os
import random
import unittest
from decimal import Decimal

import pymongo
import pymongo.errors
from bson.decimal128 import Decimal128
from bson.int64 import Int64

import server
from process_case import ProcessCase

OPTIONS = ['--smallfiles', '--nssize', '1']
# As decimal128; Python refuses a remainder whose quotient has more digits, so that has its own.
CONTEXT = decimal.Context(prec=34, Emax=6144, Emin=-6143, clamp=1, rounding=decimal.ROUND_HALF_EVEN,
                          traps=[])
WIDE = decimal.Context(prec=14000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
# What exp and its like may be off, of the value.
NEAR = Decimal('1E-31')
CASES = 400 * int(os.environ.get('TEST_EFFORT', '1'))


def random_decimal(chance):
    digits = ''.join(chance.choice('0123456789') for _ in range(chance.choice((1, 2, 5, 17, 34))))
    exponent = chance.choice((0, 0, -2, -2, 3, -len(digits), chance.randint(-40, 40),
                              chance.randint(-6176, 6111)))
    value = Decimal(chance.choice(('', '-')) + digits + 'E%d' % exponent)
    return Decimal128(CONTEXT.plus(value)) if value else Decimal128(value)


def random_number(chance):
    kind = chance.randrange(8)
    if kind == 0:
        return chance.randint(-1000, 1000)
    if kind == 1:
        return Int64(chance.randint(-2 ** 63, 2 ** 63 - 1))
    if kind == 2:
        return chance.choice((0.1, -2.5, 1e10, chance.uniform(-100, 100),
                              chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30)))
    return random_decimal(chance)


def to_decimal(value):
    """A double counts with the 15 digits that are certain."""
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, float):
        return Decimal('%.14e' % value) if value else Decimal(0)
    return Decimal(int(value))


def remainder(a, b):
    """With the smaller of the two exponents, however large the quotient is."""
    exact = WIDE.remainder(a, b)
    return CONTEXT.plus(exact) if exact else exact.quantize(
        Decimal((0, (1,), min(a.as_tuple().exponent, b.as_tuple().exponent))), context=WIDE)


def at_places(value, places, rounding):
    unit = Decimal((0, (1,), -places))
    result = value.quantize(unit, rounding=rounding, context=CONTEXT)
    return value if result.is_nan() else result


def to_integral(value, rounding):
    return value.to_integral_value(rounding=rounding, context=CONTEXT)


EXACT = {
    'add': ({'$add': ['$a', '$b']}, CONTEXT.add),
    'subtract': ({'$subtract': ['$a', '$b']}, CONTEXT.subtract),
    'multiply': ({'$multiply': ['$a', '$b']}, CONTEXT.multiply),
    'divide': ({'$cond': [{'$eq': ['$b', 0]}, 'none', {'$divide': ['$a', '$b']}]},
               lambda a, b: CONTEXT.divide(a, b) if b else None),
    'mod': ({'$cond': [{'$eq': ['$b', 0]}, 'none', {'$mod': ['$a', '$b']}]},
            lambda a, b: remainder(a, b) if b else None),
    'sum': ({'$sum': ['$a', '$b', 1]}, None),
    'ceil': ({'$ceil': '$d'}, lambda d: to_integral(d, decimal.ROUND_CEILING)),
    'floor': ({'$floor': '$d'}, lambda d: to_integral(d, decimal.ROUND_FLOOR)),
    'round': ({'$round': '$d'}, lambda d: at_places(d, 0, decimal.ROUND_HALF_EVEN)),
    'round_2': ({'$round': ['$d', 2]}, lambda d: at_places(d, 2, decimal.ROUND_HALF_EVEN)),
    'round_less_3': ({'$round': ['$d', -3]}, lambda d: at_places(d, -3, decimal.ROUND_HALF_EVEN)),
    'trunc_5': ({'$trunc': ['$d', 5]}, lambda d: at_places(d, 5, decimal.ROUND_DOWN)),
    'abs': ({'$abs': '$d'}, lambda d: d.copy_abs()),
    'sqrt': ({'$sqrt': {'$abs': '$d'}}, lambda d: CONTEXT.sqrt(d.copy_abs())),
    'text': ({'$toString': '$d'}, str),
    'compare': ({'$cmp': ['$d', '$e']}, None),
}
NEARLY = {
    'exp': ({'$exp': '$s'}, CONTEXT.exp),
    'ln': ({'$cond': [{'$eq': ['$d', 0]}, 'none', {'$ln': {'$abs': '$d'}}]},
           lambda d: CONTEXT.ln(d.copy_abs()) if d else None),
    'log10': ({'$cond': [{'$eq': ['$d', 0]}, 'none', {'$log10': {'$abs': '$d'}}]},
              lambda d: CONTEXT.log10(d.copy_abs()) if d else None),
    'pow': ({'$pow': [{'$abs': '$s'}, '$t']}, lambda s, t: CONTEXT.power(s.copy_abs(), t)),
}


class Decimals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(server.scratch())
        running = cls.enterClassContext(server.Server(
            ProcessCase.program, os.path.join(folder, 'db'), OPTIONS))
        cls.client = pymongo.MongoClient(running.uri)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.chance = random.Random(ProcessCase.seed)
        self.db = self.client.decimals
        self.db.c.drop()

    def assert_same(self, found, expected, what):
        """The same number with the same exponent."""
        self.assertIsInstance(found, Decimal128, what)
        # A driver's text of NaN tells no kinds of it apart.
        self.assertEqual(str(found), str(Decimal128(expected)), what)

    def assert_near(self, found, expected, what):
        self.assertIsInstance(found, Decimal128, what)
        found = found.to_decimal()
        if found.is_nan() or not found.is_finite() or not expected.is_finite():
            return self.assertEqual(str(found), str(expected), what)
        # The smallest numbers have fewer digits.
        allowed = max(WIDE.multiply(expected.copy_abs(), NEAR), Decimal('1E-6175'))
        self.assertLessEqual(WIDE.subtract(found, expected).copy_abs(), allowed, what)

    def test_expressions(self):
        documents = []
        for _ in range(CASES):
            a, b = random_decimal(self.chance), random_number(self.chance)
            if self.chance.randrange(2):
                a, b = b, a
            small = Decimal128(Decimal(self.chance.randint(-10 ** 9, 10 ** 9)).scaleb(-7))
            power = Decimal128(Decimal(self.chance.randint(-9000, 9000)).scaleb(-3))
            documents.append({'a': a, 'b': b, 'd': random_decimal(self.chance),
                              'e': random_decimal(self.chance), 's': small, 't': power})
        self.db.c.insert_many(documents)
        for name, (expression, expected) in {**EXACT, **NEARLY}.items():
            results = list(self.db.c.aggregate([{'$project': {name: expression}},
                                                {'$sort': {'_id': 1}}]))
            self.assertEqual(len(results), CASES)
            for document, result in zip(documents, results, strict=True):
                self.check(name, document, result[name], expected)

    def check(self, name, document, found, expected):
        a, b, d, e, s, t = (to_decimal(document[key]) for key in 'abdest')
        what = (name, document)
        if name == 'compare':
            return self.assertEqual(found, (d > e) - (d < e), what)
        if name == 'text':
            return self.assertEqual(found, str(Decimal128(d)), what)
        if name == 'sum':  # decimals first, then the others
            numbers = sorted((document['a'], document['b']),
                             key=lambda v: not isinstance(v, Decimal128))
            total = Decimal(0)
            for number in numbers:
                if isinstance(number, Decimal128):
                    total = CONTEXT.add(total, to_decimal(number))
            others = [n for n in numbers if not isinstance(n, Decimal128)] + [1]
            whole = sum(int(n) for n in others if not isinstance(n, float))
            total = CONTEXT.add(total, Decimal(whole))
            for number in others:
                if isinstance(number, float):
                    total = CONTEXT.add(total, to_decimal(number))
            return self.assert_same(found, total, what)
        if name in ('add', 'multiply', 'subtract', 'divide', 'mod'):
            value = expected(a, b)
        elif name == 'pow':
            if not s and t <= 0:
                return None
            value = expected(s, t)
        else:
            value = expected(s if name == 'exp' else d)
        if value is None:
            return self.assertEqual(found, 'none', what)
        if name in NEARLY:
            return self.assert_near(found, value, what)
        if name == 'add' and not isinstance(document['a'], float):  # begins with a whole 0
            value = CONTEXT.add(CONTEXT.add(Decimal(0), a), b)
        if name == 'multiply':
            value = CONTEXT.multiply(CONTEXT.multiply(Decimal(1), a), b)
        return self.assert_same(found, value, what)

    def test_groups(self):
        documents = [{'_id': i, 'g': self.chance.randrange(8), 'v': random_decimal(self.chance)
                      if self.chance.randrange(3) else self.chance.randint(-1000, 1000)}
                     for i in range(CASES)]
        documents += [{'_id': CASES + g, 'g': g, 'v': Decimal128('0.00')} for g in range(8)]
        self.db.c.insert_many(documents)
        results = {found['_id']: found for found in self.db.c.aggregate([
            {'$sort': {'_id': 1}},
            {'$group': {'_id': '$g', 'sum': {'$sum': '$v'}, 'avg': {'$avg': '$v'},
                        'min': {'$min': '$v'}, 'max': {'$max': '$v'},
                        'dev': {'$stdDevPop': {'$cond': [{'$lt': [{'$abs': '$v'}, 10 ** 6]}, '$v',
                                                         'x']}}}}])}
        for group in range(8):
            values = [d['v'] for d in documents if d['g'] == group]
            total = Decimal(0)
            for value in values:
                if isinstance(value, Decimal128):
                    total = CONTEXT.add(total, value.to_decimal())
            whole = sum(value for value in values if isinstance(value, int))
            if whole:
                total = CONTEXT.add(total, Decimal(whole))
            found = results[group]
            self.assert_same(found['sum'], total, group)
            self.assert_same(found['avg'], CONTEXT.divide(total, Decimal(len(values))), group)
            numbers = [to_decimal(value) for value in values]
            self.assertEqual(to_decimal(found['min']), min(numbers))
            self.assertEqual(to_decimal(found['max']), max(numbers))
            self.assertIsInstance(found['dev'], float)
            near = [float(n) for n in numbers if abs(n) < 10 ** 6]
            mean = math.fsum(near) / len(near)
            self.assertAlmostEqual(
                found['dev'],
                math.sqrt(math.fsum((n - mean) ** 2 for n in near) / len(near)), places=4)

    def test_updates(self):
        values = {}
        for i in range(CASES // 4):
            old = random_number(self.chance)
            self.db.c.insert_one({'_id': i, 'v': old})
            values[i] = old
        for i, old in values.items():
            operand = random_decimal(self.chance)
            for operator, combine in (('$inc', CONTEXT.add), ('$mul', CONTEXT.multiply)):
                self.db.c.update_one({'_id': i}, {operator: {'v': operand}})
                found = self.db.c.find_one({'_id': i})['v']
                self.assert_same(found, combine(to_decimal(old), operand.to_decimal()),
                                 (operator, old, operand))
                old = found

    def test_equal_numbers(self):
        """Whatever its exponent, a number is one value to groups, distinct and unique indexes."""
        spellings = {}
        for _ in range(60):
            value = Decimal(self.chance.randint(-400, 400)).scaleb(self.chance.randint(-3, 2))
            self.db.c.insert_one({'v': Decimal128(value)})
            spellings.setdefault(value, []).append(value)
        for value in list(spellings)[:20]:
            if value == int(value):
                self.db.c.insert_one({'v': int(value)})
                spellings[value].append(value)
        for index in (False, True):
            if index:
                self.db.c.create_index('v')
            groups = {to_decimal(found['_id']): found['n'] for found in self.db.c.aggregate(
                [{'$group': {'_id': '$v', 'n': {'$sum': 1}}}])}
            self.assertEqual(groups, {value: len(all_) for value, all_ in spellings.items()})
            self.assertEqual(sorted(to_decimal(v) for v in self.db.c.distinct('v')),
                             sorted(spellings))
            ordered = [to_decimal(d['v']) for d in self.db.c.find().sort('v', 1)]
            self.assertEqual(ordered, sorted(ordered))
            for value, all_ in spellings.items():
                self.assertEqual(self.db.c.count_documents(
                    {'v': Decimal128(CONTEXT.multiply(value, Decimal('1.000')))}), len(all_))
        self.db.u.drop()
        self.db.u.create_index('v', unique=True)
        for value in spellings:
            self.db.u.insert_one({'v': Decimal128(value)})
            with self.assertRaises(pymongo.errors.DuplicateKeyError):
                self.db.u.insert_one(
                    {'v': Decimal128(CONTEXT.multiply(value, Decimal('1.00')))})


if __name__ == '__main__':
    unittest.main()
