"""Kills a server under load, again and again, and checks what recovery brings back.

Each round starts the server on what the last round left, sometimes killing it in the middle of the
recovery first, and checks: every write that was acknowledged with j: true is there; of the later
ones the first few survived, whole, and nothing after them; validate and dbpath_check find nothing.
Then four clients, two for each dialect of the protocol, write (load.py has what they do) until the
process is killed at a moment of the round's kind: after some writes, on the heels of an
acknowledgement, in the middle of a certain operation or index build, while files are made, during a
shutdown, or not at all: a clean shutdown under load, after which all that was answered is there.

After a few rounds another data directory is begun, of the next kind: journal files made in advance,
a folder for each database, a disk that is full, for the data, the journal or both (these need
root), few descriptors, databases that are closed and opened again, with and without a journal in
turn (settings.py). Where something runs out clients may be refused, and each document is then as
before or as after; or the server ends itself.

Prints the seed of each directory. The same seed and kind choose the same options, work and moments,
not the same schedule: with the words that are printed a directory is repeated."""

import os
import random
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import driver  # noqa: E402
import reading  # noqa: E402
import server  # noqa: E402
import settings  # noqa: E402
import totals  # noqa: E402

ROUNDS_OF_A_DIRECTORY = 7
PROFILE = ['--config', os.path.join(TOP, 'conf', 'durable.yaml'), '--journalFileMB', '2']


def slug(kind):
    return kind.name.replace(' ', '-')


def kinds_of(words):
    names = {slug(kind): kind for kind in settings.KINDS}
    return [names[name] for name in choice.exactly(words, list(names), 'kind')]


def server_options(words):
    """`words`, when they can be options of a server: the first of them is one."""
    if words and not words[0].startswith('-'):
        sys.exit("'%s' is no option of a server; %s" % (words[0], 'those stand behind another --; '
                 'a kind is named by --kind, of these: %s' % ' '.join(map(slug, settings.KINDS))))
    return words


def done(one):
    return '%d kills, %d acknowledged durable writes' % (one.kills, one.acknowledged)


def run_directory(stage, scratch, kind, seed, rounds, options):
    """Returns the rounds that went well, whether all did, and what was done."""
    folder = tempfile.mkdtemp(prefix='crash-', dir=scratch)
    try:
        one = driver.make(stage, folder, kind, seed, options)
        print('--seed %d --kind %s --rounds %d: the server has %s'
              % (seed, slug(kind), rounds, ' '.join(one.setting.options)), flush=True)
        passed = 0
        try:
            one.set_up()
            for number in range(1, rounds + 1):
                line = one.round()
                passed += 1
                print('ok   round %d: %s' % (number, line), flush=True)
            one.finish()
        except (reading.Failure, server.ServerError) as failure:
            print('FAIL round %d of --seed %d --kind %s: %s\n     data and log: %s'
                  % (passed + 1, seed, slug(kind), failure, os.path.relpath(folder, TOP)))
            one.keep()
            return passed, False, one.kills
        finally:
            one.setting.close()
    except settings.Impossible:
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)
    return passed, True, done(one)


def main():
    parser = choice.parser(__doc__, 'sanitize')
    parser.add_argument('--rounds', type=choice.count(), default=50,
                        help='all together; default 50')
    parser.add_argument('--seed', type=choice.count(0), default=random.randrange(10 ** 6),
                        help='of the first directory; the next has the next number')
    parser.add_argument('--kind', action='append', default=[],
                        help='only directories of this kind, e.g. full-disk; may be repeated')
    parser.add_argument('--selection', type=choice.selection, default='none',
                        help='of patches; default none')
    parser.add_argument('--profile', action='store_true',
                        help='the server has conf/durable.yaml and small journal files')
    parser.add_argument('options', nargs='*',
                        help='of the server while it has a journal; default %s'
                        % ' '.join(settings.INTERVAL))
    arguments = parser.parse_args()
    kinds = kinds_of(arguments.kind)
    options = (PROFILE if arguments.profile else []) + server_options(arguments.options)
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    if arguments.sanitize:  # its own library wants to be the first
        settings.ClosingDatabases.preloaded = ''
    stage = server.build(arguments.selection, arguments.sanitize,
                         ['mongod', 'dbpath_check', 'moving_maps.so'])
    tally = totals.Totals()
    seed, left, impossible = arguments.seed, arguments.rounds, {}
    while left > 0 and len(impossible) < len(kinds):
        kind = kinds[seed % len(kinds)]
        rounds = min(ROUNDS_OF_A_DIRECTORY, left)
        try:
            passed, well, what = run_directory(stage, scratch, kind, seed, rounds, options)
        except settings.Impossible as reason:
            if kind not in impossible:
                print('skipped: %s: %s' % (kind.name, reason), flush=True)
                impossible[kind] = reason
        else:
            tally.add('%s, %s' % (kind.name, what), passed + well, 0 if well else 1)
            left -= rounds
        seed += 1
    tally.skipped += len(impossible)
    tally.close()


if __name__ == '__main__':
    main()
