"""Checks that the rooms of src/ know only whom they may know.

Reads the arrows from the SConscripts, so that the build and this check cannot disagree, and looks
at every #include "..." of every source file.
Run: python3 tests/tree/check_includes.py [SOURCE FOLDER]"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arrows(source, word='needs'):
    """{folder of a room: folders it may include from}, as the SConscripts say: with test_needs for
    word, those that only its tests may."""
    folders, needs = {}, {}
    for folder, _, files in os.walk(source):
        if 'SConscript' not in files:
            continue
        name = os.path.basename(folder)
        folders[name] = os.path.relpath(folder, source)

        def room(name=name, **fields):
            needs[name] = fields.get(word, ())

        with open(os.path.join(folder, 'SConscript'), encoding='utf-8') as script:
            exec(script.read(), {'Import': lambda _: None, 'room': room})  # our own build files
    return {folders[name]: {folders[need] for need in needs[name]} for name in folders}


def room_of(path, rooms):
    """The innermost room that a path relative to src/ lies in."""
    return max([room for room in rooms if path.startswith(room + '/')], key=len, default=None)


def is_for_tests(path):
    """Whether only tests may include it, or it is one."""
    return '/testing/' in path or '/contract/' in path or bool(re.search(r'_(test|bench)\.', path))


def includes(source):
    """(path, line, what it includes) of every #include "..."; paths are relative to src/."""
    for folder, _, files in sorted(os.walk(source)):
        for name in sorted(files):
            if not name.endswith(('.cpp', '.h')):
                continue
            path = os.path.relpath(os.path.join(folder, name), source)
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                for number, line in enumerate(file, 1):
                    include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                    if include:
                        yield path, number, include.group(1)


def violations(source):
    """Sentences, one for each include that crosses a border the wrong way or names no room, and
    for each room that one lists and does not use."""
    allowed, tests = arrows(source), arrows(source, 'test_needs')
    unused = {(room, need) for room in allowed for need in allowed[room] | tests[room]}
    for path, number, included in includes(source):
        where = 'src/%s:%d' % (path, number)
        room = room_of(path, allowed)
        target = room_of(included, allowed)
        unused.discard((room, target))
        if target is None:
            yield '%s: "%s" is not in a room' % (where, included)
        elif target not in {room} | allowed[room] | (tests[room] if is_for_tests(path) else set()):
            yield '%s: %s may not include %s' % (where, room, included)
        elif is_for_tests(included) and not is_for_tests(path):
            yield '%s: %s is for tests only' % (where, included)
        elif not os.path.exists(os.path.join(source, included)):
            yield '%s: "%s" does not exist' % (where, included)
    for room, need in sorted(unused):
        yield 'src/%s/SConscript: %s is needed by no file' % (room, need)


if __name__ == '__main__':
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, 'src')))
    for sentence in found:
        print(sentence)
    sys.exit(1 if found else 0)
