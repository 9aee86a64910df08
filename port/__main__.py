"""./lab port: our changes on a user's own checkout of the original server; README.md has the room.

Reads the command line, and says what came of it."""

import argparse
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from port import output, recipe, tree as trees  # noqa: E402
from port.outcome import EXIT_CODES, MEANINGS, exit_code  # noqa: E402
from port.plan import Finding, Plan  # noqa: E402


def fail(kind, text):
    print('lab port: ' + text, file=sys.stderr)
    sys.exit(EXIT_CODES[kind])


DESCRIPTION = """\
The patches on your own checkout of the original server, 2.4, 2.6 or 3.4: finds the places by
identifiers and prints a git diff with our code there. port/README.md walks through it.
"""


def make_parser(known):
    parser = argparse.ArgumentParser(
        prog='./lab port', usage='%(prog)s --tree DIR [--patches SLUG,...] [--apply] '
        '[--series OUT] [--force]', allow_abbrev=False, description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='exit codes:\n   0  done; what this version cannot have or has already is named on '
        'stderr\n%s\nWith 5 to 9 the slugs with such a fault are left out, and the others are '
        'done.\n\nThe slugs are\n  %s'
        % ('\n'.join('  %2d  %s' % (EXIT_CODES[kind], MEANINGS[kind]) for kind in EXIT_CODES),
           '\n  '.join(known)))
    parser.add_argument('--tree', required=True, metavar='DIR',
                        help='root of the checkout: the folder that has src/mongo')
    parser.add_argument('--patches', metavar='SLUG,...',
                        help='which changes; without it all that this version can have')
    parser.add_argument('--apply', action='store_true',
                        help='write the changes into the tree, all files or none')
    parser.add_argument('--series', metavar='OUT',
                        help='write a quilt series, one patch per slug, into this new or empty '
                        'folder')
    parser.add_argument('--force', action='store_true',
                        help='go on although the working tree is not clean')
    return parser


def parse(words, known):
    arguments = make_parser(known).parse_args(words)
    arguments.slugs = None
    if arguments.patches is not None:
        arguments.slugs = [slug.strip() for slug in arguments.patches.split(',')]
        without = recipe.without_recipe()
        for slug in arguments.slugs:
            if slug not in known and slug not in without:
                fail('usage', 'no slug "%s"; there are: %s' % (slug, ' '.join(known)))
    return arguments


def open_tree(root):
    if not os.path.isdir(root):
        fail('unknown', '%s is no folder' % root)
    try:
        return trees.Tree(root)
    except trees.NoTree as error:
        fail('unknown', str(error))


def check_clean(root, writes, force):
    """Ends the process if the tree is not clean. For a tree without git, only writing needs more:
    nothing could undo it."""
    state, text = trees.state(root)
    if force:
        return
    if state == 'dirty':
        fail('unclean', '%s has changes that are not committed:\n%s\ncommit or stash them, or give '
             '--force' % (root, text))
    if state == 'none' and writes:
        fail('unclean', '%s is no git checkout (%s), so nothing could undo what is written; '
             '--force goes on' % (root, text))


def plan_for(root, slugs):
    """(tree, plan) for the slugs, or all. What is left out is named with its reason; ends the
    process if nothing is left."""
    tree = open_tree(root)
    tree.recipes = {each.slug: each for each in recipe.all_recipes()}
    chosen = [each for slug, each in tree.recipes.items() if slugs is None or slug in slugs]
    plan = Plan(tree, chosen, asked=slugs is not None)
    plan.findings += [Finding('unportable', slug, '%s: has no recipe: %s' % (slug, why))
                      for slug, why in recipe.without_recipe().items() if slug in (slugs or ())]
    for note in plan.notes:
        print('lab port: ' + note.sentence, file=sys.stderr)
    for sentence in dict.fromkeys(finding.sentence for finding in plan.findings):
        print('lab port: ' + sentence, file=sys.stderr)
    if not plan.stages:
        print('lab port: nothing was written', file=sys.stderr)
        sys.exit(exit_code({finding.kind for finding in plan.findings}))
    return tree, plan


def main(words):
    arguments = parse(words, [each.slug for each in recipe.all_recipes()])
    if arguments.series is not None and os.path.lexists(arguments.series):
        if not os.path.isdir(arguments.series) or os.listdir(arguments.series):
            fail('write', '%s is there and not an empty folder; name a new one' % arguments.series)
    root = os.path.abspath(arguments.tree)
    open_tree(root)
    check_clean(root, arguments.apply, arguments.force)
    tree, plan = plan_for(root, arguments.slugs)
    slugs = ' '.join(each.slug for each, _ in plan.stages)
    try:
        if arguments.series is not None:
            output.write_series(arguments.series, plan.stages, tree.version, tree.executable)
            print('lab port: %s has the series for %s: %s'
                  % (arguments.series, tree.version, slugs), file=sys.stderr)
        if arguments.apply:
            tree.write(tree.changed())
            print('lab port: applied to %s, a tree of %s: %s; git diff shows it'
                  % (root, tree.version, slugs), file=sys.stderr)
        if not arguments.apply and arguments.series is None:
            sys.stdout.buffer.write(output.diff(tree.changed(), tree.executable))
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        fail('write', '%s; nothing was written into the tree' % error)
    if plan.findings:
        print('lab port: left out, for the reasons above: '
              + ' '.join(dict.fromkeys(finding.slug for finding in plan.findings)), file=sys.stderr)
        sys.exit(exit_code({finding.kind for finding in plan.findings}))


if __name__ == '__main__':
    main(sys.argv[1:])
