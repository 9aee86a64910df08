# shellcheck shell=bash
# shellcheck disable=SC2154 # ./lab sets top and build
# What `./lab COMMAND --help` prints. Sourced by ./lab; installs nothing and needs nothing but sed.

help_lab() {
    cat << 'END'
./lab run                  the main job: measure durable inserts, option by option, print the ladder
./lab test [PART...]       all tests, or some
./lab serve [SELECTION] [OPTION...]
                           a server to use, on data/ and 127.0.0.1:27017
./lab shell [ARGUMENT...]  mongosh on that server
./lab trace [WHAT] PID     watch a running server: its journal's system calls, where time goes
./lab bench [WHAT]         a patch against the base, the base's operations, other servers, a load
./lab report               one page of what was measured: findings, where we lose, tables, plots
./lab crash [SELECTION]    power cuts and kills on a simulated disk, as many as you like
./lab pr SLUG              the text for the upstream ticket of a patch
./lab port --tree DIR      the patches on your own checkout of the original server
./lab docs [SELECTION]     docs/options.md, man page and shell completion, from the programs
./lab package [SELECTION]  a Debian package, and a tarball of the sources with the patches applied
./lab setup [PART...]      only install what is missing

./lab COMMAND --help says more about each.

SELECTION says which patches the server is built with: none (the base), all (the series; the
default), upto:SLUG (the series up to that patch) or SLUG,SLUG (those alone).

Everything that is made goes into build/; delete it to start over (the server's data is in data/).
On Debian 12 what is missing is installed first, with sudo where needed.
END
}

help_run() {
    cat << 'END'
./lab run [OPTION...]

Builds the base and the full series, and drives durable inserts with 1, 8 and 64 clients into the
base, each option and all together, in rounds, with the disk by itself before and after each cell.
Traces the journal's system calls, and prints the table; its first lines say whether the machine
was quiet enough. Writes build/results/<time>.json and .html. Ctrl-C ends it with what is measured.

  --seconds N      of each cell (0.5)
  --rounds N       how often each server has its turn (5)
  --clients LIST   numbers of clients, e.g. 1,8,64
  --device-delay MS
                   makes the disk slower: every flush takes so much longer, e.g. 8 for a hard
                   disk, 0.5 for a SATA SSD; all titles say it (bench PATCH takes it too)
  --server 'NAME=PATH OPTIONS'
                   any other mongod as a line of its own, e.g. one that ./lab port has made:
                   'ported=/opt/mongod --smallfiles --journalCommitInterval 2'; may be given again

The first time: about 10 minutes on two cores, 1.0 GB in build/. Later: about 3 minutes.
END
}

help_test() {
    cat << 'END'
./lab test                          what guards every change: the usual parts
./lab test --all                    the long ones too, which takes hours
./lab test PART...                  some parts
./lab test PART -- ARGUMENT...      one part, with arguments of its own, e.g.
                                    ./lab test unit -- journal       rooms with that in their name
                                    ./lab test js -- core/           files with that in their path
                                    ./lab test crash -- --rounds 200

END
    sed -n 's/^\([a-z0-9-]*\) *| *\([a-z]*\) *|.*| *\([^|]*\)$/\1|\2|\3/p' \
        "$top/tests/parts.txt" | while IFS='|' read -r name when what; do
        [ "$when" = usual ] || what="$what (long)"
        printf '  %-22s %s\n' "$name" "$what"
    done
    cat << 'END'

The first time: about 30 minutes on two cores, 3.4 GB in build/. Ends with "N passed, N failed".
END
}

help_serve() {
    cat << 'END'
./lab serve [SELECTION] [OPTION...]     builds mongod and starts it; Ctrl-C stops it

Options are mongod's own (./lab serve none --help lists those of the base). Without --dbpath the
data is in data/.

  ./lab serve                                    the full series, every option at its default
  ./lab serve --config conf/durable.yaml         the recommended profile
  ./lab serve none --journalCommitInterval 2     the base with a short commit interval
  ./lab serve --port 27020 --dbpath /srv/old     another port, another directory

END
    printf 'SELECTION: none, all, upto:PATCH or PATCH,PATCH. The patches are\n'
    list_patches
}

help_shell() {
    cat << 'END'
./lab shell [ARGUMENT...]     mongosh, on 127.0.0.1:27017 by default

  ./lab shell --port 27020
  ./lab shell --eval 'db.serverStatus().dur'

Installed from npm into build/; sends no usage data anywhere.
END
}

help_trace() {
    cat << 'END'
./lab trace [WHAT] PID     watches a running server for some seconds
./lab trace [WHAT] --server 'NAME=PATH OPTIONS' [--clients 1]
                           starts any mongod on scratch data, loads it, watches it, ends it

  writes   system calls per journal commit (what you get when nothing is named)
  chain    one insert from message to reply, call by call
  waits    what threads wait for
  profile  where processor time goes (perf)
  stages   ./lab trace stages [URI]: the times of a commit's stages, from serverStatus
END
}

# help_bench [WHAT...]: of an experiment what its script says of itself.
help_bench() {
    local script
    script=$(experiment_of "${1:-}")
    if [ -n "$script" ]; then
        printf './lab bench %s [OPTION...]\n\n' "$1"
        sed -n '2,/^"""$/p' "$top/perf/$script.py" \
            | sed "s/^\"\"\"//; s|$script\.py|./lab bench $1|"
        return
    fi
    cat << 'END'
./lab bench PATCH... [OPTION...]   patches, each alone against the base, and in the full series with
                                   conf/durable.yaml without and with its option, in turn;
                                   all for every patch (an hour; --estimate says it closer, shorter
                                   with --runs N --seconds N), --headers to put the figures into
                                   patches/
                                   (that for Windows by a model of its effect, by itself)
./lab bench PATCH --server 'NAME=PATH OPTIONS'
                                   that mongod too, without the patch's option and with it
./lab bench peers                  the full series beside other engines, those that are installed:
                                   PostgreSQL, MariaDB, MyRocks, FerretDB, SQLite, LMDB, RocksDB,
                                   WiredTiger; --install gets them all first, --uri adds any
                                   MongoDB-compatible server
./lab bench iibench [--rows N]     the insert benchmark of the article: what base and series write
                                   for a row with three indexes, and where the bytes come from
./lab bench write-concern          the latency of single inserts with w:0, w:1 and j:1, the journal
                                   beside the data and on another device; through pymongo and C
./lab bench linkbench              a social graph's requests, beside PostgreSQL, InnoDB and MyRocks
./lab bench append                 the smallest durable insert beside SQL servers: rates, calls,
                                   flushes, last write times
./lab bench sweep                  durable inserts by commit interval, by clients, by size, and with
                                   the journal on a device of its own; plots
./lab bench growth [--rows N]      what a durable insert costs as a collection grows
                                   (--help behind one of these says more)
./lab bench base                   what the base's operations cost beside a ping; its memory
./lab bench WORKLOAD [OPTION...]   the load client by itself, against ./lab serve, e.g.
                                   ./lab bench insert --clients 8 --seconds 5
./lab bench --help-load            the load client's workloads and options

END
    printf 'The patches are\n'
    list_patches
}

help_report() {
    cat << 'END'
./lab report [RESULT.json...] [--output STEM]

One page of results that are kept: first what was found, where we lose and on what the time goes,
then plots and tables of each. Without names: of each kind of measurement the newest of yours in
build/results/, and where you have made none the one that the repository keeps in perf/results/.
Measures nothing.

  --output STEM    writes STEM.html, and the same without plots as STEM.txt (build/results/report)
END
}

help_crash() {
    cat << 'END'
./lab crash [SELECTION] [OPTION...]     power cuts and kills on a simulated disk

Runs a server through random histories (inserts, index builds, drops, compact, repair, renames,
fsync with lock, restarts, ...) and checks what a power cut or a kill may leave at each call to the
disk: the server must start from it, show one of the commits from the last acknowledged one on,
and be valid, for dbpath_check too. Recoveries are cut as well, three deep. Each history has other
settings; with patches, no option of theirs, each, and each two, alternating.

  --states N     how many states (20000); about 500 in a second on two cores
  --seed S       other histories (1)
  --jobs N       threads that check states (one for each core)
  --at H:C       only the state at call C of history H, as a failure prints it; H:0 is the whole
                 history H
  --log          with --at: what the servers say

  ./lab crash --states 1000000 --seed 42        about half an hour
  ./lab crash none --seed 42 --at 17:523 --log  one state again

SELECTION: none, all (the default), upto:PATCH or PATCH,PATCH.
END
}

help_pr() {
    cat << 'END'
./lab pr PATCH [--tree DIR]
                    prints what to paste into the upstream ticket: the problem, the change, figures;
                    with --tree the change in that checkout too, and how to see it there

END
    printf 'The patches are\n'
    list_patches
}

help_port() {
    cat << 'END'
./lab port --tree DIR [--patches SLUG,...] [--apply] [--series OUT] [--force]

The patches on your own checkout of the original server, 2.4, 2.6 or 3.4: finds the places by
identifiers and prints a git diff with our code there. docs/upstreaming.md walks through it.

  --tree DIR          root of the checkout: the folder that has src/mongo
  --patches SLUG,...  which changes; without it all that this version can have
  --apply             write the change into the tree, all files or none
  --series OUT        write a quilt series, one patch per slug, into this new or empty folder
  --force             go on although the working tree is not clean

Exit codes
   0  done; what this version cannot have or has already is named on stderr
   2  options that do not go together, or an unknown slug
   3  DIR is no tree of a version that the recipes know
   4  the working tree is not clean (or no git checkout, for --apply)
   5  already applied
   6  partly applied, or changed by hand since
   7  moved: a file, a definition or an anchor is not there
   8  ambiguous: a definition or an anchor is there more than once
   9  a slug that was named cannot be had in this version, or is in it already
  10  DIR or OUT could not be written, or git is missing; DIR is as it was

END
    printf 'The slugs are\n'
    (cd "$top/patches/upstream" && printf '  %s\n' *.py | sed 's/\.py$//')
}

help_docs() {
    cat << 'END'
./lab docs [SELECTION]     builds the base, the full series and SELECTION (the full series when none
                           is named), and writes what they say about their options:

  docs/options.md                                          the base's options, then those of patches
  build/SELECTION/share/man/man1/mongod.1                  the page for man
  build/SELECTION/share/bash-completion/completions/mongod completion for bash

mongod --describe markdown|man|bash prints the same by itself.
END
}

help_package() {
    cat << 'END'
./lab package [SELECTION]  builds the last commit with these patches (all), in build/package/:

  mongod-dur_VERSION_ARCH.deb         server and tools, service, /etc/mongod-dur.yaml, man pages
  mongod-dur-dbgsym_VERSION_ARCH.deb  the debugging symbols
  mongod-dur-VERSION.tar.xz           the sources with the patches applied; scons patches=none
                                      builds them; the same commit gives the same bytes

VERSION carries the selection, e.g. 0.1.0+all. lintian has the last word. Six minutes on two
cores. docs/operating.md says how to install and run it.
END
}

help_setup() {
    cat << 'END'
./lab setup             installs what building, testing and measuring need: Debian packages (about
                        0.4 GB, and 1.0 GB for Windows programs; some minutes the first time),
                        Python and npm packages into build/
./lab setup PART...     what building needs, and these parts of the tests: ./lab setup windows
                        (./lab test --help lists them)
END
}

list_patches() { sed -n 's/^\([a-z].*\)\.patch.*/  \1/p' "$top/patches/series"; }
