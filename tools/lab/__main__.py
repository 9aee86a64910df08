"""./lab: installs what is missing, then calls scons, mongosh or a script that does the work.

commands.py       all commands: what ./lab --help lists
command_line.py   the subcommands for argparse
base.py           where things are, sentences
selections.py     which patches a server is built with; compiling it
needs.py          what each use needs: Debian, Python and npm packages, libraries
install.py        how those are installed
attempt.py        a noisy program with its output in a log, ended by Ctrl-C without harm
testing.py        the commands test, setup
serving.py        serve, shell
clustering.py     cluster
measuring.py      run, trace, report
bench.py          bench
old_data.py       check, salvage, restore, copy
patching.py       patch
products.py       crash, docs, package
release.py        release
describe.py       the page for man and the completion of all this
upstream.py       pr, port

Nothing here needs more than Debian 12's Python: it runs before anything is installed."""

import os
import signal
import sys

# perf/ and tests/ have modules of the same names as some of this package.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from lab import commands  # noqa: E402

if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ./lab --help | head
    commands.main(sys.argv[1:])
