"""A server under much load, a kill, and everything that it has promised.

    none:load none:local none:limited all:load
                 SELECTION:DATABASE: up to 64 clients insert one document of 16 MB each, the largest
                 there may be, at the same moment (large.py)
    connections  1,000 connections write at the same time (connections.py)
    collections  10,000 collections (many.py)
    pipelines    a document of 58 MB between the stages of pipelines (pipelines.py)
    memory       a database several times the memory that the server may use (small_memory.py)
    groups       servers in control groups with little memory live (small_groups.py); two groups in
                 a change, all of them with --whole
    soak         all kinds of work on data that do not grow: memory must not either (soak.py)

All that was acknowledged with j: true is there after a kill, and the files are consistent; memory,
without the pages of files, stays below a bound."""

import os
import sys

import client

TOP = client.TOP
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import choice  # noqa: E402
import connections  # noqa: E402
import large  # noqa: E402
import many  # noqa: E402
import pipelines  # noqa: E402
import server  # noqa: E402
import small_groups  # noqa: E402
import small_memory  # noqa: E402
import soak  # noqa: E402
import totals  # noqa: E402

# With how many clients by default.
LARGE = {'none:load': 64, 'none:local': 24, 'none:' + large.LIMITED: 64, 'all:load': 24}
OTHERS = {
    'connections': lambda stage, folder, a: connections.run(stage, folder, a.connections),
    'collections': lambda stage, folder, a: many.run(stage, folder, a.collections),
    'pipelines': lambda stage, folder, a: pipelines.run(stage, folder),
    'memory': lambda stage, folder, a: small_memory.run(stage, folder, a.memory, a.times),
    'groups': lambda stage, folder, a: small_groups.run(folder, a.sanitize, a.whole),
    'soak': lambda stage, folder, a: soak.run(stage, folder, a.seconds),
}


def run_case(case, arguments, directory):
    selection, database = case.split(':') if ':' in case else (arguments.selection, None)
    stage = server.build(selection, arguments.sanitize, ['mongod', 'dbpath_check'])
    if database:
        return large.run(stage, directory, selection, database,
                         arguments.clients or LARGE[case], arguments.megabytes)
    return OTHERS[case](stage, directory, arguments)


def main():
    parser = choice.parser(__doc__, 'sanitize')
    parser.add_argument('--clients', type=choice.count(),
                        help='with large documents; default 64 or 24')
    parser.add_argument('--megabytes', type=choice.count(1, 16), default=16,
                        help='of a large document')
    parser.add_argument('--connections', type=choice.count(), default=1000)
    parser.add_argument('--collections', type=choice.count(), default=10000)
    parser.add_argument('--memory', type=choice.count(), default=128,
                        help='MB that the server may use')
    parser.add_argument('--times', type=choice.count(), default=3,
                        help='the database is so much larger')
    parser.add_argument('--seconds', type=choice.count(), default=15, help='of soak')
    parser.add_argument('--whole', action='store_true',
                        help='groups: of each size, each profile, each load')
    parser.add_argument('--selection', type=choice.selection, default='none',
                        help='of patches, for the cases without one; default none')
    parser.add_argument('cases', nargs='*', help='default: all of them')
    arguments = parser.parse_args()
    cases = choice.exactly(arguments.cases, list(LARGE) + list(OTHERS), 'case')
    tally = totals.Totals()
    for case in cases:
        with server.scratch('load-') as directory:
            try:
                said = run_case(case, arguments, directory)
            except client.Skipped as reason:
                print('skipped: %s: %s' % (case, reason), flush=True)
                tally.skipped += 1
            except (client.Failure, server.ServerError, OSError) as failure:
                print('     %s' % failure)
                tally.add(case, 0, 1)
            else:
                tally.add('%s: %s' % (case, said), 1, 0)
    tally.close()


if __name__ == '__main__':
    main()
