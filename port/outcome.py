"""Exit codes of ./lab port, and the order in which they count when several slugs are left out."""

EXIT_CODES = {
    'usage': 2, 'unknown': 3, 'unclean': 4, 'applied': 5, 'partly': 6, 'moved': 7, 'ambiguous': 8,
    'unportable': 9, 'write': 10}
MEANINGS = {  # for --help
    'usage': 'options that do not go together, or an unknown slug',
    'unknown': 'DIR is no tree of a version that the recipes know',
    'unclean': 'the working tree is not clean (or no git checkout, for --apply)',
    'applied': 'already applied',
    'partly': 'partly applied, or changed by hand since',
    'moved': 'moved: a file, a definition or an anchor is not there',
    'ambiguous': 'ambiguous: a definition or an anchor is there more than once',
    'unportable': 'a slug that was named has no recipe, cannot be had in this version, or is in '
                  'it already',
    'write': 'DIR or OUT could not be written, or git is missing; DIR is as it was',
}
ORDER = ['partly', 'ambiguous', 'moved', 'unportable', 'applied']


def exit_code(kinds):
    """The exit code for the kinds of all findings."""
    return next((EXIT_CODES[kind] for kind in ORDER if kind in kinds), 0)
