"""Inputs for the fuzz targets to begin with, made of the recorded cases of tests/oracle/ and of the
fixtures. Nothing of it is kept under version control.

Usage: python3 tests/fuzz/corpora.py FOLDER [TARGET...]     writes FOLDER/TARGET/*"""

import functools
import hashlib
import json
import lzma
import os
import re
import struct
import sys
import tarfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORACLE = os.path.join(TOP, 'tests', 'oracle')
sys.path.insert(0, ORACLE)

import ejson  # noqa: E402

DOCUMENTS_MAX = 4     # beside the first one of an input
BYTES_MAX = 4096      # of an input; longer cases make a fuzzer slow
INPUTS_MAX = 1500     # of a target


@functools.cache
def lines(name):
    """Of a file of recorded cases; several targets read each."""
    with lzma.open(os.path.join(ORACLE, name + '.jsonl.xz'), 'rt', encoding='utf-8') as file:
        return [ejson.loads(line) for line in file]


def encoded(*documents):
    """Documents one after the other; None where that is too long or cannot be written."""
    try:
        data = b''.join(map(ejson.encode, documents))
    except (KeyError, TypeError, ValueError, RecursionError, struct.error):
        return None  # e.g. a pattern of an answer
    return data if len(data) <= BYTES_MAX else None


def with_documents(first, documents):
    """The first document, and as many of the others as fit."""
    for count in range(DOCUMENTS_MAX, 0, -1):
        data = encoded(first, *(documents[:count] or [ejson.Doc()]))
        if data is not None:
            yield data
            return


def collections(names):
    """{name: its documents} of the data lines in these files, then the cases."""
    known, cases = {}, []
    for name in names:
        for line in lines(name):
            if line.get('id') is None:
                known.setdefault(line.get('collection'), []).extend(line.get('docs') or [])
            else:
                cases.append(line)
    return known, cases


def arguments(case, *operations):
    """The arguments of each operation of a case that is one of these."""
    for step in [case.get('op')] + (case.get('steps') or []):
        for name, value in step or []:
            if name in operations and isinstance(value, ejson.Doc):
                yield value


def before(case):
    return (case.get('before') or ejson.Doc()).get('docs') or []


def filters():
    known, cases = collections(['find', 'plan'])
    for case in cases:
        for found in arguments(case, 'find', 'count', 'distinct', 'explain'):
            wanted = found.get('filter', found.get('query'))
            if isinstance(wanted, ejson.Doc):
                yield found, wanted, known.get(case.get('on'), [])


def match():
    for _, wanted, documents in filters():
        yield from with_documents(wanted, documents)


def projection():
    for found, wanted, documents in filters():
        shown = found.get('projection')
        if isinstance(shown, ejson.Doc):
            yield from with_documents(
                ejson.Doc([('filter', wanted), ('projection', shown)]), documents)


def update():
    for case in lines('write'):
        for found in arguments(case, 'update'):
            for item in found.get('updates') or []:
                yield from with_documents(item, before(case))
        for found in arguments(case, 'findAndModify'):
            if isinstance(found.get('update'), ejson.Doc):
                item = ejson.Doc([('q', found.get('query') or ejson.Doc()),
                                  ('u', found.get('update')), ('upsert', True)])
                yield from with_documents(item, before(case))


def pipeline():
    known, cases = collections(['aggregate'])
    for case in cases:
        for found in arguments(case, 'aggregate'):
            stages = found.get('pipeline')
            if isinstance(stages, list) and not isinstance(stages, ejson.Doc):
                yield from with_documents(ejson.Doc([('pipeline', stages)]),
                                          known.get(case.get('on'), []))


def index_keys():
    for name in ('key', 'find', 'write'):
        for line in lines(name):
            data = line if line.get('id') is None else line.get('before') or ejson.Doc()
            documents = data.get('docs') or []
            for keys, options in data.get('indexes') or []:
                first = ejson.Doc([('key', keys), ('name', 'i')]) + (options or ejson.Doc())
                for start in range(0, min(len(documents), 40) or 1, DOCUMENTS_MAX):
                    yield from with_documents(ejson.Doc(first), documents[start:])


def search_key():
    for documents in collections(['find', 'key', 'aggregate'])[0].values():
        for start in range(0, len(documents), 3):
            yield encoded(*documents[start:start + 3])


def ordered_key():
    yield from search_key()
    # Bytes of a key: how many are of types, these, the rest.
    for key in ('2e0101', '70907800009101', '6861000070010178180101', '98010000000100000002',
                '2a02fe7fffffffffffffffff', '2d3fe000000000000000', '23' + '7f' * 8 + 'fe'):
        for types in (b'', b'\1', b'\2'):
            yield bytes([len(types)]) + types + bytes.fromhex(key)


# What the recorded cases have none of: messages by their kinds, commands; and attempts, which look
# for what is not theirs.
with open(os.path.join(TOP, 'tests', 'fuzz', 'commands.json'), encoding='utf-8') as _file:
    OLD_MESSAGES, MORE_COMMANDS, ATTEMPTS = json.load(_file).values()


def docs(value):
    """The same with documents for dictionaries."""
    if isinstance(value, dict):
        return ejson.Doc([(name, docs(inner)) for name, inner in value.items()])
    return [docs(inner) for inner in value] if isinstance(value, list) else value


def access():
    for who in ('unknown', 'reader', 'writer', 'keeper', 'admin'):
        first = docs({who: True})
        for attempt in ATTEMPTS + MORE_COMMANDS:
            yield encoded(first, docs(attempt))
            yield encoded(first, docs(dict(attempt, **{'$db': 'r'})))
        yield encoded(first, *map(docs, ATTEMPTS[:10]))
        yield encoded(first, *map(docs, ATTEMPTS[10:20]))
        yield encoded(first, *map(docs, ATTEMPTS[20:]))


def commands():
    on_disk = docs({'mmapv1': True})
    filling = docs({'insert': 'c', 'documents': [{'_id': n, 'a': n % 3} for n in range(4)]})
    old = [docs({name: 'd.c', **dict(fields)}) for name, fields in OLD_MESSAGES.items()]
    for sequence in ([filling, *old], [filling, *map(docs, MORE_COMMANDS[:15])],
                     [filling, *map(docs, MORE_COMMANDS[15:])],
                     *([filling, each] for each in map(docs, MORE_COMMANDS))):
        yield encoded(*sequence)
        yield encoded(on_disk, *sequence)
    for case in lines('shapes'):
        yield encoded(*(case.get('setup') or []), ejson.Doc(case.get('command')))
    for case in lines('write'):
        steps = [ejson.Doc([(name, 'c')] + [pair for pair in value if pair[0] != 'collection'])
                 for step in [case.get('op')] + (case.get('steps') or [])
                 for name, value in step or [] if isinstance(value, ejson.Doc)]
        first = docs({'insert': 'c', 'documents': []})
        first[1] = ('documents', before(case))
        yield encoded(first, *steps) if before(case) else encoded(*steps)


def document():
    for produce in (match, update, pipeline):
        for data in produce():
            size, = struct.unpack_from('<i', data)
            yield data[:size]
    yield from search_key()


def messages():
    for name in ('wire', 'wire-journal'):
        for case in lines(name):
            sent = []
            for step in case.get('steps'):
                if step.get('send') is None:
                    continue
                text = re.sub(r'\((\w\w)\*(\d+)\)',
                              lambda found: found[1] * min(int(found[2]), 100), step.get('send'))
                sent.append(bytes.fromhex(text))
            yield sent


def framing():
    for sent in messages():
        data = b''.join(sent)[:BYTES_MAX]
        yield data + b'\xff\xff'
        yield data[:500] + b'\x07\x00'


# The order of message.cpp.
OPCODES = [2004, 2005, 2002, 2001, 2006, 2013, 2007, 1, 2012]


def message():
    for sent in messages():
        for each in sent:
            if len(each) < 16:
                continue
            opcode, = struct.unpack_from('<i', each, 12)
            if opcode in OPCODES:
                yield bytes([OPCODES.index(opcode)]) + each[16:BYTES_MAX]
    # OP_MSG is younger than the recordings.
    for case in lines('shapes'):
        for command in [case.get('command')] + (case.get('setup') or []):
            body = encoded(ejson.Doc(list(command) + [('$db', 'test')]))
            if body:
                yield b'\x05' + struct.pack('<iB', 0, 0) + body
                listed = struct.pack('<i', 4 + 10 + len(body)) + b'documents\0' + body
                yield b'\x05' + struct.pack('<iB', 0, 1) + listed + b'\0' + body


def expressions(value):
    """(pattern, flags) of every regular expression in a value."""
    if isinstance(value, ejson.Doc):
        found = value.get('$regularExpression')
        if isinstance(found, ejson.Doc):
            yield found.get('pattern', ''), found.get('options', '')
        elif isinstance(value.get('$regex'), str):
            yield value.get('$regex'), str(value.get('$options', ''))
        for _, inner in value:
            yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner[1] if isinstance(value, ejson.Doc) else inner)


# What the recorded cases have none of.
PATTERNS = [('(a*)*b', ''), ('^\\Qa.b\\E', 'x'), ('\\Aab', 'm'), ('^a|b', ''), ('(?i)^a', ''),
            ('^a#c\n b', 'x'), ('[\\w-.]', ''), ('\\x{e4}', ''), ('(?P<n>a)\\k<n>', ''),
            ('^ab?', ''), ('^a{0}b', ''), ('(?<=a)b', ''), ('\\p{L}+', 'i'), ('(?R)?a', '')]


def script():
    for line in lines('script'):
        yield from (text.encode('utf-8', 'surrogatepass') for text in texts(line))


def regex():
    found, words = set(PATTERNS), set()
    for name in ('find', 'write', 'plan'):
        for line in lines(name):
            for part in (line.get('op'), line.get('steps')):
                found.update(expressions(part))
            for text in texts(line.get('docs')):
                if len(text) < 60:
                    words.add(text)
    words = sorted(words) or ['a']
    for number, (pattern, flags) in enumerate(sorted(found)):
        for text in ('abc', words[number % len(words)]):
            yield b'\0'.join(part.encode('utf-8', 'surrogatepass') for part in
                             (pattern, flags, text))


def stored_key():
    """Compact and traditional keys (mmapv1 spec 6.5) of some values."""
    values = [b'\x01', b'\x02', b'\x04' + struct.pack('<d', 1.5), b'\x14' + struct.pack('<d', 7),
              b'\x24' + struct.pack('<d', 1e10), b'\x06\x03abc', b'\x06\x00', b'\x07\x34four',
              b'\x08' + bytes(12), b'\x0a', b'\x0b', b'\x0c' + struct.pack('<q', -1), b'\x0e']
    for value in values:
        yield value
        yield bytes([value[0] | 0x40]) + value[1:] + values[5] + values[5]
    for data in search_key():
        if data:
            size, = struct.unpack_from('<i', data)
            yield b'\xff' + data[:size] + b'\x14'


def operations(kinds, others):
    """Sequences of two or three bytes: each kind twice, then all of them."""
    every = b''
    for kind in range(kinds):
        one = bytes([kind]) + others
        yield one + one
        every += one
    yield every


def bucket():
    for data in operations(8, b'\x11\x02'):
        yield b'\0' + data * 3
        yield b'\x02' + bytes(12) + data


def damages():
    """Changed words, each as damaged_database.cpp takes it apart."""
    for word in range(0, 16000, 1600):
        yield struct.pack('<HBI', word, word // 1600 % 16, word)


def database():
    for data in operations(24, b'\x04'):
        yield b'\0' + data * 2
        for damage in damages():
            yield b'\x01' + damage + data


def offline():
    every = list(damages())
    for number, damage in enumerate(every):
        yield b'\x01' + damage
        yield b'\x05' + b''.join((every + every)[number:number + 5])


def journal():
    fixture = os.path.join(TOP, 'tests', 'fixtures', 'mmapv1-2.6-powercut.tar.xz')
    with tarfile.open(fixture) as archive:
        for member in archive:
            if os.path.basename(member.name).startswith('j._'):
                data = archive.extractfile(member).read(5 * 8192)
                yield b'\x01' + data
                yield b'\x05' + data[:2 * 8192]
    # Operations as journal.cpp takes them apart: names 0 to 21, then what each needs.
    for name in range(22):
        write = bytes([0, name, 2, 8]) + b'some text'[:8] + struct.pack('<HB', 128, name % 3)
        created = bytes([4, name, 1, 4])
        dropped = bytes([5, name])
        for mode in (0, 2, 8, 32):
            yield bytes([mode, 3]) + created + write + write + b'\0'
            yield bytes([mode, 1]) + write + b'\0' + bytes([1]) + dropped + b'\0'
    # Blocks of journal-insert-entries: a write, entries in order, one that does not fit.
    context = bytes([0, 0])
    write = bytes([6, 1, 0, 1, 100, 4]) + b'data' + bytes([1, 1])
    for mode in (64, 96):
        yield bytes([mode, 2]) + context + write + context + b'\0'
        for positions in ((0, 1, 2), (0, 0, 0), (0, 5)):
            entries = b''.join(bytes([1, 1, position, 3]) + b'key' + bytes([1, 8, 0])
                               for position in positions)
            block = bytes([6, 0, len(positions) - 1]) + entries + b'\1'
            yield bytes([mode, 1]) + context + block + b'\0'


TARGETS = {function.__name__: function for function in (
    framing, message, document, regex, script, stored_key, bucket, database, offline, journal,
    match, update, projection, pipeline, index_keys, search_key, ordered_key, commands, access)}


def write(folder, target):
    """Writes a target's inputs, each once; returns how many."""
    inputs = {hashlib.sha1(data).hexdigest(): data for data in TARGETS[target]() if data}
    place = os.path.join(folder, target)
    os.makedirs(place, exist_ok=True)
    names = sorted(inputs)[:INPUTS_MAX]  # in no order, so that all kinds are there
    for name in names:
        with open(os.path.join(place, name), 'wb') as file:
            file.write(inputs[name])
    return len(names)


def main():
    folder, wanted = sys.argv[1], sys.argv[2:] or sorted(TARGETS)
    for target in wanted:
        print('%-12s %5d inputs' % (target, write(folder, target)))


if __name__ == '__main__':
    main()
