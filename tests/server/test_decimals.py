"""Decimals are calculated with as Python's module decimal does it, digits and exponents."""

import decimal
import random
import types
import unittest
from decimal import Decimal

import pymongo
from bson.decimal128 import Decimal128

import server
from process_case import ProcessCase

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
