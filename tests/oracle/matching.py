"""Compares answers with recorded ones, by the rules of README.md."""

import hashlib
import json
import re

import ejson

# A recorded wrapper code, and the specific codes that say the same to a client of today.
SPECIFIC = {
    10334: {2, 17419, 17420},
    67: {85, 86},
    13118: {14},
    10088: {171},
}
# A recorded code for a request with a field that is missing, unknown or of another type, or with
# what is no name of a collection, and those that it has by OP_MSG (src/command/request/fields.h).
OF_FIELDS = {
    2: {14, 27},
    9: {14, 40414, 73},
    10065: {14},
    13111: {14, 40414},
    16949: {14},
    16954: {14},
    16955: {40415},
    16956: {14},
    17246: {73},
}
# The reply had no code (-1), or that of a failed check without a number (0).
NO_CODE = (-1, 0)
WRAPPERS_OF_ANY = {16836, 16837}
# What a query was at when it failed. Old messages have this code, commands the inner one, or by
# OP_MSG one of those for scores and operands.
STAGES_OF_QUERIES = {17007, 17144, 17287}
OF_QUERIES = {14, 27, 17307, 17308, 17312, 31138, 40218}


def code_matches(wanted, inner, found, by_old_message=True, over_msg=False):
    """Whether an error code is the recorded one or a more specific one for the same."""
    if wanted in STAGES_OF_QUERIES:
        return found == (wanted if by_old_message or inner is None else inner) or (
            over_msg and found in OF_QUERIES)
    if wanted in NO_CODE or found in (wanted, inner):
        return True
    if wanted in WRAPPERS_OF_ANY and inner is None:
        return 0 < found < 1000 or found in SPECIFIC[10334]
    return found in SPECIFIC.get(wanted, ()) or (over_msg and found in OF_FIELDS.get(wanted, ()))


def show(value):
    return json.dumps(value, ensure_ascii=False)


def equal_numbers(wanted, found):
    left, right = ejson.number(wanted), ejson.number(found)
    return left is not None and right is not None and (left == right or left != left != right)


def differences(operation, want, answer, unordered, dialect):
    """Sentences on what differs between a recorded answer and ours."""
    kind, want, answer = dict(operation), ejson.plain(want), ejson.plain(answer)
    if 'code' in want or 'code' in answer:
        by_old_message = 'explain' in kind or ('find' in kind and dialect == 'old')
        return _code_differences(want, answer, by_old_message, dialect == 'new')
    if any(name in kind for name in TELLING):
        return told_differences(want, answer)
    found = []
    for name, wanted in want.items():
        if name not in answer:
            found.append('%s is missing, recorded: %s' % (name, show(wanted)[:300]))
            continue
        if not _same(name, wanted, answer[name], unordered):
            found.append('%s is %s, recorded: %s'
                         % (name, show(answer[name])[:400], show(wanted)[:400]))
    for name in ('errors', 'upserted'):
        if name in answer and name not in want:
            found.append('%s is %s, recorded: none' % (name, show(answer[name])[:300]))
    return found


def _code_differences(want, answer, by_old_message, over_msg):
    if 'code' not in answer:
        return ['it succeeded with %s, recorded: code %s' % (show(answer)[:300], show(want))]
    found = answer['code']
    if 'code' not in want:
        return ['it failed with code %s, recorded: %s' % (found, show(want)[:300])]
    wanted, inner = ejson.number(want['code']), ejson.number(want.get('inner'))
    if code_matches(wanted, inner, found, by_old_message, over_msg):
        return []
    return ['code %s, recorded: %s%s' % (found, wanted, ' (%s)' % inner if inner else '')]


def _same(name, wanted, found, unordered):
    if name in ('docs', 'values') and (unordered or name == 'values'):
        return sorted(map(show, wanted)) == sorted(map(show, found))
    if name in ('reply', 'plan'):
        return wanted.keys() == found.keys() and all(
            _same_path(path, value, found[path]) for path, value in wanted.items())
    if name == 'errors':
        return len(wanted) == len(found) and all(
            equal_numbers(left[0], right[0])
            and code_matches(ejson.number(left[1]), None, ejson.number(right[1]))
            for left, right in zip(wanted, found))
    return show(wanted) == show(found) or equal_numbers(wanted, found)


def _same_path(path, wanted, found):
    if path.split('.')[-1] == 'code' and ejson.number(wanted) is not None:
        return code_matches(ejson.number(wanted), None, ejson.number(found))
    return show(wanted) == show(found) or equal_numbers(wanted, found)


# Fields of replies whose number may have another type (wire spec 2.0), and those we leave out.
NUMBER_FIELDS = ('ok', 'n')
DROPPED_FIELDS = ('bad cmd',)
# Where error codes stand: in the reply itself, and in each of its write errors.
CODE_PLACE = re.compile(r'(writeErrors\.\d+\.)?')
# Texts for people may differ.
TEXT_FIELDS = ('err', 'errmsg', '$err')

# ---- shapes ----

def shape_differences(fields, raw):
    """Compares names, types and stable values of a reply given as bytes."""
    types, values = {}, {}
    _walk(raw, '', types, values)
    found = []
    for path, wanted in ejson.plain(fields['reply_types']).items():
        names = wanted if isinstance(wanted, list) else [wanted]
        if path.split('.')[0] in DROPPED_FIELDS:
            continue
        if path in NUMBER_FIELDS and types.get(path) in NUMBER_KINDS.values():
            continue
        if 'number' in names and types.get(path) in NUMBER_KINDS.values():
            continue
        if types.get(path) not in names:
            found.append('%s is %s, recorded: %s' % (path, types.get(path, 'missing'), wanted))
    for path, wanted in ejson.plain(fields['reply_values']).items():
        if path.split('.')[-1] in TEXT_FIELDS:
            continue
        if path in values and not (show(values[path]) == show(wanted)
                                   or equal_numbers(wanted, values[path])):
            found.append('%s is %s, recorded: %s' % (path, show(values[path]), show(wanted)))
    return found


def _walk(raw, prefix, types, values):
    for name, kind, value in ejson.elements(raw):
        path = prefix + ('[%s]' % name if '.' in name else name)
        types[path], values[path] = ejson.TYPE_NAMES[kind], value
        if kind in (3, 4):
            inner = value if kind == 3 else {str(at): item for at, item in enumerate(value)}
            _walk(ejson.encode(inner), path + '.', types, values)


# ---- documents of wire conversations ----

# A document with one of these is the server's own, and may have further fields.
REPLY_FIELDS = ('ok', 'err', '$err', 'errmsg')
NUMBER_KINDS = {'$numberInt': 'int', '$numberLong': 'long', '$numberDouble': 'double'}
KINDS = {'$oid': 'objectId', '$date': 'date', '$timestamp': 'timestamp', '$binary': 'binData',
         '$regularExpression': 'regex', '$minKey': 'minKey', '$maxKey': 'maxKey',
         '$code': 'javascript', **NUMBER_KINDS}


def kind_of(value):
    """The type of a plain value by the recordings' names."""
    if value is None:
        return 'null'
    if isinstance(value, bool):
        return 'bool'
    if isinstance(value, str):
        return 'string'
    if isinstance(value, list):
        return 'array'
    return KINDS.get(next(iter(value), None), 'object')


def kind_matches(wanted, value):
    if wanted in ('number', 'cursor'):
        return ejson.number(value) is not None
    return kind_of(value) == wanted


def _is_text(wanted):
    return isinstance(wanted, str) or (isinstance(wanted, dict) and '$long' in wanted)


def document_differences(wanted, found, shape, ignored, path=''):
    """Sentences on what differs between two documents of a reply."""
    differing = []
    names = [name for name in wanted if name not in ignored
             and not (name in DROPPED_FIELDS and not path)]
    for name in names:
        where = path + name
        if name not in found:
            differing.append('%s is missing' % where)
        elif name in TEXT_FIELDS and _is_text(wanted[name]):
            if not isinstance(found[name], str):
                differing.append('%s is no text' % where)
        elif name == 'code' and CODE_PLACE.fullmatch(path) \
                and ejson.number(wanted[name]) is not None:
            if not code_matches(ejson.number(wanted[name]), None, ejson.number(found[name])):
                differing.append('%s is %s, recorded: %s'
                                 % (where, show(found[name]), show(wanted[name])))
        elif name in NUMBER_FIELDS and not path and equal_numbers(wanted[name], found[name]):
            continue
        else:
            differing += _value_differences(wanted[name], found[name], shape, ignored, where)
    own = shape or any(name in wanted for name in REPLY_FIELDS)
    extra = [name for name in found if name not in wanted and name not in ignored]
    if extra and not own:
        differing.append('%s%s: not recorded' % (path, ', '.join(extra)))
    common = [name for name in found if name in names]
    if not differing and common != names and not own:
        differing.append('%sfields in another order' % path)
    return differing


def _value_differences(wanted, found, shape, ignored, where):
    if isinstance(wanted, dict) and '$any' in wanted:
        if kind_matches(wanted['$any'], found):
            return []
        return ['%s is %s, recorded: %s' % (where, kind_of(found), wanted['$any'])]
    if isinstance(wanted, dict) and '$long' in wanted and isinstance(found, str):
        length, digest = wanted['$long'][1:]
        data = found.encode('utf-8', 'surrogatepass')
        same = ejson.number(length) == len(data) and hashlib.sha1(data).hexdigest() == digest
        return [] if same else ['%s is another long text' % where]
    if isinstance(wanted, list) and isinstance(found, list):
        return _list_differences(wanted, found, shape, ignored, where)
    if isinstance(wanted, dict) and isinstance(found, dict) and kind_of(wanted) == 'object':
        return document_differences(wanted, found, shape, ignored, where + '.')
    if show(wanted) == show(found):
        return []
    return ['%s is %s, recorded: %s' % (where, show(found)[:200], show(wanted)[:200])]


def _list_differences(wanted, found, shape, ignored, where):
    if shape:
        return ['%s.%d has none of the recorded shapes' % (where, at)
                for at, item in enumerate(found)
                if all(_value_differences(kind, item, shape, ignored, where) for kind in wanted)
                and wanted]
    if len(wanted) != len(found):
        return ['%s has %d elements, recorded: %d' % (where, len(found), len(wanted))]
    return [text for at, (left, right) in enumerate(zip(wanted, found))
            for text in _value_differences(left, right, shape, ignored, '%s.%d' % (where, at))]


# ---- what a server tells about itself ----

# Operations of observing.py.
TELLING = ('message', 'profile', 'log', 'delta', 'running')
# The texts of an error in a line of the log, and the length of a reply that may have such a text.
TEXTS_OF_LINE = [(re.compile(r'(?s)exception: .* code:'), 'exception: TEXT code:'),
                 (re.compile(r'(?s)assertion (\d+) .* (ns:\S+ query:)'), r'assertion \1 TEXT \2')]
LENGTH_OF_REPLY = re.compile(r'reslen:\d+')
# Commands in whose replies `n` or `ok` is of another number type than in ours (wire spec 2.0), and
# by how much ours are longer for that.
LONGER_REPLIES = {'count': -4, 'insert': 4, 'update': 4, 'delete': 4}
COMMAND_OF_LINE = re.compile(r'^command \S+ command: (\w+) ')


def told_differences(want, answer, path=''):
    """Sentences on what differs between two answers of an operation of observing.py."""
    if want.keys() != answer.keys():
        return ['%s%s, recorded: %s' % (path, ', '.join(answer), ', '.join(want))]
    found = []
    for name, wanted in want.items():
        where, ours = path + name, answer[name]
        if name == 'lines':
            found += _differing_items(where, lines_without_texts(map(with_our_types, wanted)),
                                      lines_without_texts(ours))
        elif name in ('docs', 'more', 'entries', 'inprog') and len(wanted) == len(ours):
            compare = {'docs': _document_told, 'more': told_differences}.get(name, _entry_told)
            for at, (left, right) in enumerate(zip(wanted, ours)):
                found += compare(left, right, path='%s.%d.' % (where, at))
        elif name == 'gle' and wanted and ours:
            found += _document_told(wanted, ours, path='gle.')
        elif name == 'delta':
            found += ['%s grew by %s, recorded: %s' % (part, ours.get(part, 0),
                                                       show(wanted.get(part, 0)))
                      for part in {**wanted, **ours}
                      if not equal_numbers(wanted.get(part, 0), ours.get(part, 0))]
        elif show(wanted) != show(ours) and not equal_numbers(wanted, ours):
            found.append('%s is %s, recorded: %s' % (where, show(ours)[:600], show(wanted)[:600]))
    return found


def _document_told(wanted, ours, path):
    """A document that is the server's own has the recorded fields in their order."""
    found = [path + text for text in document_differences(wanted, ours, False, ())]
    order = [name for name in ours if name in wanted]
    return found + ['%s has the order %s, recorded: %s' % (path, ', '.join(ours), ', '.join(wanted))
                    ] * (not found and order != list(wanted))


def _entry_told(wanted, ours, path):
    """An entry of the profiler, or an operation in progress."""
    found = []
    for name in {**wanted, **ours}:
        left, right = wanted.get(name), ours.get(name)
        if name == 'exception' and left and right:
            continue
        if name == 'exceptionCode' and left and right \
                and code_matches(ejson.number(left), None, ejson.number(right)):
            continue
        if name == 'responseLength' and 'exception' in wanted and right:
            continue
        if name == 'responseLength' and equal_numbers(
                ejson.number(left) + longer_by(next(iter(wanted.get('command', {})), '')), right):
            continue
        if show(left) != show(right):
            found.append('%s%s is %s, recorded: %s'
                         % (path, name, show(right)[:400], show(left)[:400]))
    return found


def longer_by(command):
    return LONGER_REPLIES.get(command, 0)


def with_our_types(line):
    """A recorded line with the length of a reply that has our number types."""
    command = COMMAND_OF_LINE.match(line)
    longer = longer_by(command[1]) if command else 0
    return LENGTH_OF_REPLY.sub(
        lambda match: 'reslen:%d' % (int(match[0].split(':')[1]) + longer), line)


def lines_without_texts(lines):
    """Lines of the log without texts of errors. Once there is one, the replies behind it may have
    it too: getLastError's, and that of a write command."""
    found, failed = [], False
    for line in lines:
        for pattern, kept in TEXTS_OF_LINE:
            line = pattern.sub(kept, line)
        failed = failed or ' TEXT ' in line
        found.append(LENGTH_OF_REPLY.sub('reslen:N', line) if failed else line)
    return found


def _differing_items(where, wanted, ours):
    rows = max(len(wanted), len(ours))
    pairs = zip(wanted + [None] * (rows - len(wanted)), ours + [None] * (rows - len(ours)))
    return ['%s.%d is\n       %s\n     recorded:\n       %s' % (where, at, right, left)
            for at, (left, right) in enumerate(pairs) if left != right]
