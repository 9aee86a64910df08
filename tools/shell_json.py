"""Reads JSON as dumps have it: extended JSON of each kind (canonical, relaxed, that of old tools),
and the forms of a shell, such as NumberInt(1), ISODate("2014-01-01T00:00:00Z") or {a: /x/i}."""

import datetime
import json
import re

from bson import json_util

TOKEN = re.compile(r'''
    (?P<string> "(?:[^"\\]|\\.)*" ) |
    (?P<single> '(?:[^'\\]|\\.)*' ) |
    (?P<call> (?:\bnew\s+)? (?P<name> \b[A-Za-z_]\w* ) \s* \(
        (?P<words> (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [^()"'] )* ) \) ) |
    (?P<field> [A-Za-z_$][\w$.]* ) (?= \s* : ) |
    (?P<regex> / (?P<pattern> (?:[^/\\\n]|\\.)+ ) / (?P<flags> [a-z]* ) ) |
    (?P<key> \b(?:MinKey|MaxKey)\b ) |
    (?P<undefined> \bundefined\b )''', re.VERBOSE)


def milliseconds(word):
    """Of a date as a number, or as ISO 8601 has it: UTC where no zone is named."""
    if isinstance(word, str):
        date = datetime.datetime.fromisoformat(word)
        if date.tzinfo is None:
            date = date.replace(tzinfo=datetime.timezone.utc)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        word = (date - epoch) // datetime.timedelta(milliseconds=1)
    return {'$date': {'$numberLong': str(int(word))}}


def regex(pattern, flags=''):
    return {'$regularExpression': {'pattern': pattern, 'options': ''.join(sorted(flags))}}


CALLS = {
    'NumberInt': lambda number: {'$numberInt': str(int(number))},
    'NumberLong': lambda number: {'$numberLong': str(int(number))},
    'NumberDecimal': lambda number: {'$numberDecimal': str(number)},
    'Number': float,
    'ISODate': milliseconds,
    'Date': milliseconds,
    'ObjectId': lambda digits: {'$oid': digits},
    'Timestamp': lambda time, number: {'$timestamp': {'t': int(time), 'i': int(number)}},
    'BinData': lambda kind, text: {'$binary': {'base64': text, 'subType': '%02x' % kind}},
    'UUID': lambda text: {'$uuid': text},
    'RegExp': regex,
    'MinKey': lambda: {'$minKey': 1},
    'MaxKey': lambda: {'$maxKey': 1},
}


def double_quoted(text):
    inside = re.sub(r"\\(.)|(\")", lambda found: '\\"' if found.group(2) else
                    "'" if found.group(1) == "'" else found.group(0), text[1:-1])
    return '"%s"' % inside


def called(name, words):
    if name not in CALLS:
        raise ValueError('%s(...) is not known' % name)
    words = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"",
                   lambda found: double_quoted(found.group()) if found.group()[0] == "'"
                   else found.group(), words)
    try:
        return json.dumps(CALLS[name](*json.loads('[%s]' % words)))
    except (TypeError, ValueError) as error:
        raise ValueError('%s(%s): %s' % (name, words, error)) from error


def as_json(found):
    kind = found.lastgroup
    if found['call'] is not None:
        return called(found['name'], found['words'])
    if found['regex'] is not None:
        return json.dumps(regex(found['pattern'], found['flags']))
    return {'string': lambda text: text, 'single': double_quoted,
            'field': lambda text: '"%s"' % text,
            'key': lambda text: called(text, ''),
            'undefined': lambda text: '{"$undefined": true}'}[kind](found.group())


def loads(text):
    """What `text` says, as pymongo encodes it. Throws ValueError where it is none of these."""
    try:
        return json.loads(TOKEN.sub(as_json, text), object_pairs_hook=json_util.object_pairs_hook)
    except Exception as error:  # of json, bson and a form whose inside is not what it should be
        raise ValueError(str(error)) from error
