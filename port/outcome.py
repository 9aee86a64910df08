"""Exit codes of ./lab port, and the order in which they count when several things are wrong."""

EXIT_CODES = {
    'usage': 2,       # options that do not go together, an unknown slug
    'unknown': 3,     # not a tree that the recipes know
    'unclean': 4,     # changes that are not committed, or no git checkout
    'applied': 5,     # already applied: nothing to do
    'partly': 6,      # partly applied, or changed by hand since
    'moved': 7,       # an anchor, definition or file is not there
    'ambiguous': 8,   # an anchor or definition is there more than once
    'unportable': 9,  # this version cannot have the change, or has it already
    'write': 10,      # the tree or OUT could not be written; the tree is as it was
}
ORDER = ['partly', 'ambiguous', 'moved', 'unportable', 'applied']


def exit_code(kinds):
    """The exit code for the kinds of all findings."""
    return next((EXIT_CODES[kind] for kind in ORDER if kind in kinds), 0)
