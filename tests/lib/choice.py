"""What is named on the command line of a part must be there: otherwise a sentence with the names of
what there is, before anything is built."""

import argparse
import math
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'site_scons'))

import staging  # noqa: E402

MINUTES_MAX = 7 * 24 * 60


def parser(description, *options):
    """Of a part: with its page as it stands, and with --selection and --sanitize if they are
    named."""
    made = argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    if 'selection' in options:
        made.add_argument('--selection', type=selection, default='none', help='of patches')
    if 'sanitize' in options:
        made.add_argument('--sanitize', type=sanitizer, default='')
    return made


def exactly(words, known, what):
    """`words`, or all of `known` where there are none."""
    for word in words:
        if word not in known:
            sys.exit("no %s '%s'; there are: %s" % (what, word, ' '.join(known)))
    return list(words) or list(known)


def with_any(words, known, what):
    """Those of `known` that contain one of the words; all where there are none."""
    for word in words:
        if not any(word in name for name in known):
            sys.exit("no %s has '%s' in its name; there are: %s" % (what, word, ' '.join(known)))
    return [name for name in known if not words or any(word in name for word in words)]


def count(least=1, most=10 ** 9):
    """A type for argparse: a whole number."""
    def parse(text):
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError("'%s' is no number; give a whole one from %d to %d"
                                             % (text, least, most))
        return int(text)
    return parse


def minutes(text):
    """A type for argparse: a time of up to a week."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MINUTES_MAX:
        raise argparse.ArgumentTypeError("'%s' is no time; give minutes above 0, up to %d"
                                         % (text, MINUTES_MAX))
    return value


def selection(text):
    """A type for argparse: what scons takes for patches=."""
    try:
        staging.select(TOP, text)
    except staging.StagingError as error:
        raise argparse.ArgumentTypeError(
            '%s; there are: none all %s' % (error, ' '.join(staging.series(TOP)))) from error
    return text


def sanitizer(text):
    """A type for argparse: what scons takes for sanitize=."""
    if text not in staging.SANITIZERS:
        raise argparse.ArgumentTypeError("'%s' is none; give %s" % (
            text, ' or '.join(filter(None, staging.SANITIZERS))))
    return text
