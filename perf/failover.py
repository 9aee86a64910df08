#!/usr/bin/env python3
"""Question: for how long does a set of three take no write when its primary fails?

Round after round: the primary fails, and each of six writers (pymongo, the Node.js driver and the C
driver, with w: 1 and w: "majority") notes how long it has no acknowledged write; then all is
started again. The log holds 250 MB of small entries before. All share this machine.
Usage:    failover.py [--kind kill] [--rounds 200] [--megabytes 250] [--only NAME,...]
          (./lab bench failover builds what it needs)
          Ctrl-C ends it with what is measured so far.
Kinds:    kill        kill -9 of the primary
          both        the same, and of etcd's leader at once
          cut         the primary's machine is cut off silently, at electionTimeout 2 s (root);
                      drivers with socketTimeoutMS 500, else they wait for it for 10 s and more
          step-down   rs.stepDown() on the primary
Columns:  seconds between two answers, at most"""

import measuring

KINDS = ('kill', 'both', 'cut', 'step-down')


def make_parser():
    parser = measuring.parser(__doc__)
    parser.add_argument('--kind', choices=KINDS, default='kill', help='what fails (kill)')
    parser.add_argument('--rounds', type=int, default=200, metavar='N', help='of each (200)')
    parser.add_argument('--megabytes', type=int, default=250, metavar='N', help='in the log (250)')
    parser.add_argument('--selection', default='all', help='of patches (all)')
    parser.add_argument('--options', default='', help='further options of each mongod')
    return parser


def main():
    arguments = make_parser().parse_args()
    import failover_rounds  # pylint: disable=import-outside-toplevel
    failover_rounds.run(arguments)


if __name__ == '__main__':
    main()
