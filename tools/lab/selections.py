"""Which patches a server is built with, and compiling it."""

import os
import subprocess
import sys

from lab import base

import staging

# Of the build, where tests run ./lab; as in perf/measuring.py.
VARIANT = os.environ.get('MEASURED_VARIANT', '')

SELECTION = 'SELECTION: none, all%s, upto:PATCH or PATCH,PATCH. The patches are\n'


def patches():
    return staging.series(base.TOP)


def words():
    """What may stand for a selection, for completion: a first word of several commands."""
    return ['none', 'all', *patches()]


def needed_by(slugs):
    """What patches depend on, each once."""
    return dict.fromkeys(need for slug in slugs for need in staging.needed_by(base.TOP, slug))


def listed():
    """The patches, for a help."""
    return '\n'.join('  ' + slug for slug in patches())


def give_up_without_patch(slug):
    base.say("no patch '%s'; give none, all, upto:PATCH or PATCH,PATCH of these:" % slug)
    print(listed(), file=sys.stderr)
    sys.exit(base.EXIT_USAGE)


def check(selection):
    if selection in ('none', 'all'):
        return
    is_prefix = selection.startswith('upto:')
    for slug in [selection.removeprefix('upto:')] if is_prefix else selection.split(','):
        if slug not in patches():
            give_up_without_patch(slug)


def leading(words):
    """(the selection in front of these words, the words behind it); all where there is none."""
    if not words or words[0].startswith('-'):
        return 'all', words
    check(words[0])
    return words[0], words[1:]


def only(command, words):
    """The selection that is all that these words may be."""
    selection = words[0] if words else 'all'
    check(selection)
    if words[1:]:
        base.give_up("./lab %s does not know what to do with '%s'; ./lab %s --help says more"
                     % (command, words[1], command))
    return selection


def folder(selection, *path, variant=VARIANT):
    return os.path.join(base.BUILD, staging.select(base.TOP, selection).name + variant, *path)


def program(selection, name, variant=VARIANT):
    return folder(selection, 'bin', name, variant=variant)


def build(selection, *targets, variant=VARIANT):
    base.say('building patches=%s (%s)' % (selection, ' '.join(targets)))
    with subprocess.Popen(['scons', '-Q', 'patches=' + selection,
                           *(['checks=1'] if variant else []), *targets], cwd=base.TOP) as scons:
        try:
            code = scons.wait()
        except KeyboardInterrupt:  # it has reached scons too, which writes down what is done
            scons.wait()
            base.give_up('stopped; what is compiled is kept', base.EXIT_INTERRUPTED)
    if code != 0:
        base.give_up("the build of patches=%s failed; the compiler's message is above" % selection)
