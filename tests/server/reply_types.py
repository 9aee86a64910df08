"""The types that fields of replies must have, for any reply and for those of each command (wire
spec 2.0 to 2.5), and the functions that look."""

import datetime
import json
import os

from bson import Binary
from bson.int64 import Int64

DATABASE = 'surface'  # that the commands run on

INT32 = 'int32'
NUMBER = 'number without a fraction'
# path: type. A star stands for every element or field. (Wire spec 2.0 to 2.5.)
ANY_REPLY = {
    'ok': float, 'errmsg': str, 'code': INT32, 'codeName': str, 'localTime': datetime.datetime,
    'cursor.id': Int64, 'cursor.ns': str, 'cursor.firstBatch': list, 'cursor.nextBatch': list,
    'writeErrors.*.index': INT32, 'writeErrors.*.code': INT32, 'writeErrors.*.errmsg': str,
}
TYPES = {'array': list, 'binary': Binary, 'bool': bool, 'date': datetime.datetime, 'double': float,
         'int32': INT32, 'int64': Int64, 'number': NUMBER, 'object': dict, 'string': str}
with open(os.path.join(os.path.dirname(__file__), 'reply_types.json'), encoding='utf-8') as _file:
    OF_COMMAND = {name: {path: TYPES[each] for path, each in paths.items()}
                  for name, paths in json.load(_file).items()}
OPTIONAL = {'helloOk', 'readOnly', 'connectionId'}  # need not be there


def values_at(document, path):
    """Every value that a path with stars leads to. Collection names with a dot are one step."""
    step, _, rest = path.partition('.')
    if step == 'DB':
        second, _, rest = rest.partition('.')
        step = DATABASE + '.' + second
    if isinstance(document, list):
        found = document if step == '*' else []
    elif isinstance(document, dict):
        found = list(document.values()) if step == '*' else \
            [document[step]] if step in document else []
    else:
        found = []
    return [value for one in found for value in (values_at(one, rest) if rest else [one])]


def has_type(value, wanted):
    if wanted is INT32:
        return type(value) is int
    if wanted is NUMBER:
        return type(value) in (int, Int64) or type(value) is float and value == int(value)
    return isinstance(value, wanted) and not (wanted is float and isinstance(value, bool))
