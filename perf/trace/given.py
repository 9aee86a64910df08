"""The tools' arguments by argparse: types, each with a sentence for what it cannot be; and their
end where this machine lacks something."""

import argparse
import math
import os
import sys

SECONDS_MAX = 86400
EXIT_MISSING_FACILITY = 3


def refuse(text):
    print('%s: %s' % (os.path.basename(sys.argv[0]), text), file=sys.stderr)
    sys.exit(EXIT_MISSING_FACILITY)


def parser(description):
    """Its help shows the page as it stands."""
    return argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def time_above(text, above, wanted):
    """A time that is more than `above` and not negative; `wanted` says what to give."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (above < value < SECONDS_MAX and value >= 0):
        raise argparse.ArgumentTypeError("'%s' is no time; give %s" % (text, wanted))
    return value


def seconds(text):
    """A time above 0."""
    return time_above(text, 0, 'seconds above 0, for instance 0.5')


def rows(text):
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError("'%s' is no number of rows" % text)
    return int(text)


def rate(text):
    """How often a second something is looked at."""
    value = time_above(text, 0, 'a number a second, for instance 200')
    return int(value) if value == int(value) else value


def process(text):
    """The number of a process. Whether there is one is for the tool to say."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError("'%s' is no number of a process" % text)
    return int(text)
