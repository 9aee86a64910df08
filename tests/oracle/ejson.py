"""Canonical Extended JSON to BSON and back, exactly.

Drivers cannot write some deprecated types and change others when they read; a replay of recorded
answers needs the bytes. Documents of JSON are Doc, lists of pairs, so that order and repeated names
survive on the way to the server. A server's answers are made of dicts, lists and strings in the
form that json.loads gives for the recorded ones."""

import base64
import json
import struct


class Doc(list):
    """A document as a list of (name, value) pairs."""

    def get(self, name, default=None):
        for key, value in self:
            if key == name:
                return value
        return default


def loads(text):
    """JSON with documents as Doc."""
    return json.loads(text, object_pairs_hook=Doc)


def plain(value):
    """Doc to dict, recursively: the form of decode()."""
    if isinstance(value, Doc):
        return distinct((name, plain(item)) for name, item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def distinct(pairs):
    """A dict; a name that is there already gets a number."""
    fields = {}
    for name, value in pairs:
        key, count = name, 1
        while key in fields:
            count += 1
            key = '%s (%d)' % (name, count)
        fields[key] = value
    return fields


def number(value):
    """The Python number of a decoded or plain value; None when it is none."""
    if isinstance(value, Doc):
        value = dict(value)
    if isinstance(value, dict) and len(value) == 1:
        (kind, text), = value.items()
        if kind in ('$numberInt', '$numberLong'):
            return int(text)
        if kind == '$numberDouble':
            return float(text)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return None


# ---- to BSON ----

def encode(document):
    pairs = document.items() if isinstance(document, dict) else document
    body = b''.join(_element(name, value) for name, value in pairs)
    return struct.pack('<i', len(body) + 5) + body + b'\0'


def _element(name, value):
    kind, data = _value(value)
    return bytes([kind]) + _cstring(name) + data


def _cstring(text):
    return text.encode('utf-8', 'surrogatepass') + b'\0'


def _string(text):
    data = _cstring(text)
    return struct.pack('<i', len(data)) + data


def _binary(fields):
    data, subtype = base64.b64decode(fields['base64']), int(fields['subType'], 16)
    if subtype == 2:
        data = struct.pack('<i', len(data)) + data
    return struct.pack('<iB', len(data), subtype) + data


def _code(fields):
    if '$scope' not in fields:
        return 13, _string(fields['$code'])
    body = _string(fields['$code']) + encode(fields['$scope'])
    return 15, struct.pack('<i', len(body) + 4) + body


_SPECIAL = {
    '$numberInt': lambda text: (16, struct.pack('<i', int(text))),
    '$numberLong': lambda text: (18, struct.pack('<q', int(text))),
    '$numberDouble': lambda text: (1, struct.pack('<d', float(text))),
    '$oid': lambda text: (7, bytes.fromhex(text)),
    '$date': lambda value: (9, struct.pack('<q', number(value))),
    '$binary': lambda value: (5, _binary(dict(value))),
    '$regularExpression': lambda value: (
        11, _cstring(dict(value)['pattern']) + _cstring(dict(value)['options'])),
    '$timestamp': lambda value: (17, struct.pack('<II', dict(value)['i'], dict(value)['t'])),
    '$minKey': lambda _: (255, b''),
    '$maxKey': lambda _: (127, b''),
    '$undefined': lambda _: (6, b''),
    '$symbol': lambda text: (14, _string(text)),
    '$dbPointer': lambda value: (
        12, _string(dict(value)['$ref']) + bytes.fromhex(dict(dict(value)['$id'])['$oid'])),
}


def _value(value):
    """(type number, bytes) of one value."""
    if value is None:
        return 10, b''
    if isinstance(value, bool):
        return 8, bytes([value])
    if isinstance(value, str):
        return 2, _string(value)
    if isinstance(value, float):
        return 1, struct.pack('<d', value)
    if isinstance(value, int):
        return (16, struct.pack('<i', value)) if -2**31 <= value < 2**31 \
            else (18, struct.pack('<q', value))
    if isinstance(value, (Doc, dict)):
        fields = dict(value)
        names = list(fields)
        if names and names[0] == '$code':
            return _code(fields)
        if len(names) == 1 and names[0] in _SPECIAL and _is_special(names[0], fields[names[0]]):
            return _SPECIAL[names[0]](fields[names[0]])
        return 3, encode(value)
    return 4, encode(Doc((str(index), item) for index, item in enumerate(value)))


def _is_special(name, value):
    """Tells {$date: {$numberLong}} from a document that merely has such a field."""
    if name in ('$numberInt', '$numberLong', '$numberDouble', '$oid', '$symbol'):
        return isinstance(value, str)
    if name == '$date':
        return number(value) is not None
    if name in ('$minKey', '$maxKey'):
        return value == 1
    return name == '$undefined' or isinstance(value, (Doc, dict))


# ---- from BSON ----

TYPE_NAMES = {1: 'double', 2: 'string', 3: 'object', 4: 'array', 5: 'binData', 6: 'undefined',
              7: 'objectId', 8: 'bool', 9: 'date', 10: 'null', 11: 'regex', 12: 'dbPointer',
              13: 'javascript', 14: 'symbol', 15: 'javascriptWithScope', 16: 'int',
              17: 'timestamp', 18: 'long', 127: 'maxKey', 255: 'minKey'}


def decode(data, start=0):
    """The document at `start`, as plain values, the way that a recorded driver showed it: undefined
    as null, a symbol as a string, a DBPointer as a DBRef, the last of repeated names."""
    return {name: value for name, _, value in elements(data, start)}


def decode_exactly(data, start=0):
    """As decode, but with every type and every element as itself."""
    return distinct((name, value) for name, _, value in _elements(data, start, True))


def elements(data, start=0):
    return _elements(data, start, False)


def _elements(data, start, exact):
    length, = struct.unpack_from('<i', data, start)
    at, end = start + 4, start + length - 1
    while at < end:
        kind = data[at]
        name, at = _read_cstring(data, at + 1, exact)
        value, at = _read(kind, data, at, exact)
        yield name, kind, value


def _text(data, exact):
    """Bytes that are no UTF-8 were replaced by the driver."""
    return data.decode('utf-8', 'surrogateescape' if exact else 'replace')


def _read_string(data, at, exact):
    length, = struct.unpack_from('<i', data, at)
    return _text(data[at + 4:at + 3 + length], exact), at + 4 + length


def _read_cstring(data, at, exact):
    stop = data.index(0, at)
    return _text(data[at:stop], exact), stop + 1


def _read(kind, data, at, exact):
    """(value, position behind it)"""
    if kind == 1:
        value, = struct.unpack_from('<d', data, at)
        return {'$numberDouble': _double(value)}, at + 8
    if kind == 2:
        return _read_string(data, at, exact)
    if kind in (3, 4):
        length, = struct.unpack_from('<i', data, at)
        if kind == 4:
            return [value for _, _, value in _elements(data, at, exact)], at + length
        return (decode_exactly if exact else decode)(data, at), at + length
    if kind == 5:
        return _read_binary(data, at, exact)
    if kind == 6:
        return {'$undefined': True} if exact else None, at
    if kind == 7:
        return {'$oid': data[at:at + 12].hex()}, at + 12
    if kind == 8:
        return bool(data[at]), at + 1
    if kind == 9:
        value, = struct.unpack_from('<q', data, at)
        return {'$date': {'$numberLong': str(value)}}, at + 8
    if kind == 10:
        return None, at
    if kind == 11:
        pattern, at = _read_cstring(data, at, exact)
        options, at = _read_cstring(data, at, exact)
        return {'$regularExpression': {'pattern': pattern, 'options': options}}, at
    if kind == 12:
        name, at = _read_string(data, at, exact)
        value = {'$ref': name, '$id': {'$oid': data[at:at + 12].hex()}}
        return {'$dbPointer': value} if exact else value, at + 12
    if kind == 13:
        text, at = _read_string(data, at, exact)
        return {'$code': text}, at
    if kind == 14:
        text, at = _read_string(data, at, exact)
        return {'$symbol': text} if exact else text, at
    if kind == 15:
        length, = struct.unpack_from('<i', data, at)
        text, inner = _read_string(data, at + 4, exact)
        scope = (decode_exactly if exact else decode)(data, inner)
        return {'$code': text, '$scope': scope}, at + length
    if kind == 16:
        return {'$numberInt': str(struct.unpack_from('<i', data, at)[0])}, at + 4
    if kind == 17:
        increment, seconds = struct.unpack_from('<II', data, at)
        return {'$timestamp': {'t': seconds, 'i': increment}}, at + 8
    if kind == 18:
        return {'$numberLong': str(struct.unpack_from('<q', data, at)[0])}, at + 8
    return ({'$minKey': 1} if kind == 255 else {'$maxKey': 1}), at


def _read_binary(data, at, exact):
    length, subtype = struct.unpack_from('<iB', data, at)
    payload = data[at + 5:at + 5 + length]
    if subtype == 2 and not exact:
        payload = payload[4:]  # the old subtype repeats the length inside
    return {'$binary': {'base64': base64.b64encode(payload).decode(),
                        'subType': '%02x' % subtype}}, at + 5 + length


def _double(value):
    if value != value:
        return 'NaN'
    if value in (float('inf'), float('-inf')):
        return 'Infinity' if value > 0 else '-Infinity'
    return repr(value)
