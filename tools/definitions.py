"""Options of collections and definitions of indexes, from any server or dump to a server: what is
sent of them, in which other forms where the target refuses that, and how the two compare.

They are mappings, with documents in them as they came: a number keeps its type on the way."""

import hashlib
import re

ID_KEY = [('_id', 1)]
NAMESPACE_BYTES_MAX = 127  # "db.collection.$index", in servers up to 4.0 and ours

# What is about the files of the server that it was on.
OF_ITS_FILES = ('create', 'autoIndexId', 'flags', 'usePowerOf2Sizes', '$nExtents', 'temp', 'uuid',
                'idIndex')
KNOWN_OPTIONS = ('capped', 'size', 'max', 'viewOn', 'pipeline', 'collation', 'validator',
                 'validationLevel', 'validationAction', 'storageEngine', 'indexOptionDefaults',
                 'timeseries', 'expireAfterSeconds', 'clusteredIndex', 'encryptedFields',
                 'changeStreamPreAndPostImages')
OF_A_RING = ('capped', 'size', 'max')
# The same without the option.
DEFAULTS = {'validationLevel': 'strict', 'validationAction': 'error', 'capped': False}
NO_LIMIT = 2 ** 31 - 1
RING_BYTES_MIN, RING_BYTES_STEP = 4096, 256

# How it was or is built, and where. dropDups would remove documents.
OF_ITS_BUILD = ('v', 'ns', '_id', 'dropDups')
KNOWN_OF_INDEXES = ('key', 'name', 'unique', 'background', 'sparse', 'expireAfterSeconds',
                    'hashVersion', 'collation', 'hidden', 'storageEngine',
                    'partialFilterExpression', 'wildcardProjection', 'columnstoreProjection',
                    'prepareUnique', 'clustered', 'weights', 'default_language',
                    'language_override', 'textIndexVersion', '2dsphereIndexVersion', 'bits', 'min',
                    'max', 'bucketSize')
FLAGS = ('unique', 'sparse', 'hidden', 'background', 'capped')
KINDS = ('2d', '2dsphere', 'text', 'hashed', 'geoHaystack', 'columnstore', 'wildcard', 'queryable')
SIMPLE = {'locale': 'simple'}


def is_document(value):
    return hasattr(value, 'items')


def is_number(value):
    return hasattr(value, '__float__') and not isinstance(value, bool) or hasattr(value, 'bid')


def is_true(value):
    """As an old server takes it for a flag."""
    return value is not None and value is not False and not (is_number(value) and value == 0)


def without(mapping, names):
    return {name: value for name, value in mapping.items() if name not in names}


def only(mapping, names):
    return {name: value for name, value in mapping.items() if name in names}


def plain(value):
    """To compare: the order of fields counts, the type of a number does not."""
    if is_document(value):
        return [(name, plain(each)) for name, each in value.items()]
    if isinstance(value, (list, tuple)):
        return ['list', *map(plain, value)]
    return (value, isinstance(value, bool))


def with_flags(mapping):
    """Those that are no booleans are for some servers none at all."""
    return {name: is_true(value) if name in FLAGS else value for name, value in mapping.items()}


def prepared(mapping):
    """A collation goes without its version."""
    return {name: (without(value, ('version',)) if is_document(value) else value)
            if name == 'collation' else value for name, value in mapping.items()}


def comparable(name, value):
    out = plain(value)
    return sorted(out) if name == 'collation' and is_document(value) else out


# Collections.

def options_to_send(options):
    """Without `capped` the size was that of the first extent."""
    ring = is_true(options.get('capped'))
    return prepared(without(options, OF_ITS_FILES if ring else (*OF_ITS_FILES, 'size', 'max')))


def milder_options(options):
    """What is sent in turn where the target refuses them. A view without what it shows would be a
    collection."""
    yield options
    forms = [with_flags(only(options, KNOWN_OPTIONS))]
    if 'viewOn' not in options:
        forms.append(only(forms[0], (*OF_A_RING, 'collation')))
        forms.append(only(forms[0], OF_A_RING if is_true(options.get('capped')) else ()))
        forms.append({})
    for before, form in zip([options, *forms], forms):
        if plain(form) != plain(before):
            yield form


def comparable_options(options):
    out = with_flags(options_to_send(options))
    if is_number(out.get('size')):
        out['size'] = max(RING_BYTES_MIN, -(-int(out['size']) // RING_BYTES_STEP) * RING_BYTES_STEP)
    if is_number(out.get('max')) and not 0 < out['max'] < NO_LIMIT:
        del out['max']
    if is_document(out.get('collation')) and plain(out['collation']) == plain(SIMPLE):
        del out['collation']
    return {name: comparable(name, value) for name, value in out.items()
            if name not in DEFAULTS or value != DEFAULTS[name]}


# Indexes.

def is_of_id(definition):
    key = definition.get('key')
    return is_document(key) and list(key.items()) == ID_KEY


def index_to_send(definition, collation):
    """`collation`: of the collection that it is of, or None. An index that names none has the
    simple one; one that is made without would get that of the collection."""
    out = prepared(without(definition, OF_ITS_BUILD))
    if collation is not None and 'collation' not in out:
        out['collation'] = SIMPLE
    return out


def direction(value):
    if is_number(value) and value == value and value != 0 or value in KINDS:
        return value
    return 1


def with_directions(definition):
    return {**definition, 'key': {name: direction(value)
                                  for name, value in definition['key'].items()}}


def name_of(key):
    return '_'.join('%s_%s' % (name, value if isinstance(value, (int, float, str)) else '')
                    for name, value in key.items())


def with_possible_name(definition, namespace):
    """Cut to the length that each server takes, and still its own."""
    name = definition.get('name')
    if not isinstance(name, str) or name in ('', '*') or '\0' in name:
        name = name_of(definition['key'])
    room = NAMESPACE_BYTES_MAX - len((namespace + '.$').encode())
    encoded = name.encode()
    if len(encoded) > room:
        mark = '_' + hashlib.sha256(encoded).hexdigest()[:8]
        name = encoded[:max(0, room - len(mark))].decode(errors='ignore') + mark
    return {**definition, 'name': name}


def milder_definitions(definition, namespace):
    """What is sent in turn where the target refuses it: each of them holds the same documents in
    the same order."""
    yield definition
    for change in (lambda form: only(form, KNOWN_OF_INDEXES), with_flags, with_directions,
                   lambda form: with_possible_name(form, namespace),
                   lambda form: without(form, ('expireAfterSeconds',))):
        milder = change(definition)
        if plain(milder) != plain(definition):
            yield milder
        definition = milder


def comparable_index(definition):
    out = with_flags(prepared(without(definition, (*OF_ITS_BUILD, 'background'))))
    out.setdefault('collation', SIMPLE)
    return {name: comparable(name, value) for name, value in out.items()
            if name not in FLAGS or value}


def differences(wanted, found):
    """What to say of two comparable mappings: the names whose values differ."""
    return sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))


def changes(asked, kept):
    """In words, what was sent in place of a definition or of options."""
    words = []
    lost = sorted(set(asked) - set(kept))
    if lost:
        words.append('without %s' % ', '.join(lost))
    for name in kept:
        if name in FLAGS and name in asked and is_true(asked[name]) == kept[name]:
            continue  # it says the same
        if name not in asked or plain(asked[name]) != plain(kept[name]):
            words.append('%s: %s' % (name, dict(kept[name]) if is_document(kept[name])
                                     else kept[name]))
    return '; '.join(words)


def short(error):
    return re.sub(r', full error: .*', '', str(error), flags=re.S)
