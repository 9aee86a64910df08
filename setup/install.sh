# shellcheck shell=bash
# shellcheck disable=SC2154 # ./lab sets top and build
# Installs what the lab needs and is missing. Sourced by ./lab, which sets `top` and `build`.
# Every step first looks whether it is done, so that a second run costs a fraction of a second.

say() { printf 'lab: %s\n' "$*" >&2; }

give_up() {
    say "$*"
    exit 1
}

# need_root WHAT: before anything is hidden in a log, so that the sentence and sudo's question show.
need_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo > /dev/null \
        || give_up "need root to $1: become root or install sudo, then try again"
    sudo -v || give_up "need root to $1, and sudo did not allow it"
}

# A place for all that is made, writable for us: a sentence, where it is another user's. A user
# without a home (a service's, a container's) has the caches of compiler and npm there.
need_build() {
    local place
    mkdir -p "$build" 2> /dev/null \
        || give_up "cannot make $build: what is built and installed goes there. Take a copy of" \
            'the sources that you may write to'
    for place in "$build" "$build"/*; do
        [ -w "$place" ] || [ ! -e "$place" ] || [ "$place" = "$build/docker" ] \
            || give_up "$place is not yours to write; was it made as another user? Give build/ to" \
                'yourself with chown -R, or delete it'
    done
    if [ ! -w "${HOME:-/nonexistent}" ]; then
        mkdir -p "$build/home"
        export HOME=$build/home
    fi
}

# Only one lab installs at a time; the others say that they wait. Held until that lab ends.
take_turn() {
    need_build
    if [ -z "${turn_taken:-}" ]; then
        exec 8> "$build/setup.lock"
        if ! flock -n 8; then
            say "another ./lab is installing; waiting for it"
            flock 8
        fi
        turn_taken=yes
    fi
}
end_turn() {
    [ -n "${turn_taken:-}" ] || return 0
    exec 8>&-
    turn_taken=
}

# attempt [--as-root] COMMAND...: runs a noisy command with its output in a log file; returns its
# exit code. Says now and then what it is at. Ctrl-C ends it, as soon as it can be ended without
# harm. As root: with sudo when another user runs the lab.
attempt() {
    local log="$build/setup.log" worker status=0 seconds=0 last sudo=()
    if [ "$1" = --as-root ]; then
        shift
        [ "$(id -u)" -eq 0 ] || sudo=(sudo)
    fi
    # The command itself and no shell around it, which would keep signals from it.
    "${sudo[@]}" "$@" > "$log" 2>&1 8>&- &
    worker=$!
    trap 'say "stopping; waiting until that can be left"; stop_worker; say "stopped"; exit 130' \
        INT TERM
    while [ -d "/proc/$worker" ]; do
        sleep 1 &
        wait $! || true
        seconds=$((seconds + 1))
        if [ $((seconds % 20)) -eq 0 ]; then
            last=$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-70)
            say "  ${seconds} s: ${last:-at work}"
        fi
    done
    wait "$worker" || status=$?
    trap - INT TERM
    return "$status"
}

# Ends what attempt() runs, and waits for its end. dpkg is let go on: cut off, it would leave
# packages half installed. Only root may signal sudo, and it passes on nothing from its own
# group: what it has started is signalled instead.
stop_worker() {
    local doomed
    if ! grep -Eq '^(Selecting previously|Preparing to unpack|Unpacking|Setting up) ' "$log"; then
        # What it has started goes on when only it ends: pip, and what npm runs.
        doomed=$(processes_under "$worker")
        [ ${#sudo[@]} -gt 0 ] || doomed="$worker $doomed"
        # shellcheck disable=SC2086 # more than one number
        "${sudo[@]}" kill -TERM $doomed 2> /dev/null || true
    fi
    wait "$worker" 2> /dev/null || true
}

# processes_under PID: those that it has started, and those that these have started.
processes_under() {
    local child
    cat "/proc/$1/task/"*/children 2> /dev/null | tr ' ' '\n' | while read -r child; do
        echo "$child"
        processes_under "$child"
    done
}

# quietly [--as-root] COMMAND...: the same; a failure ends the lab, with the end of the output.
quietly() {
    attempt "$@" || failed "$@"
}
failed() {
    tail -n 20 "$build/setup.log" >&2
    give_up "'$*' failed; the whole output is in $build/setup.log"
}

# apt-get waits for others at the lock of dpkg, but not at that of its lists.
apt_update() {
    local until=$((SECONDS + 600))
    while ! attempt --as-root apt-get -o DPkg::Lock::Timeout=600 update; do
        { grep -q 'Could not get lock' "$build/setup.log" && [ $SECONDS -lt $until ]; } \
            || failed apt-get update
        say 'another program fetches package lists; waiting for it'
        sleep 5
    done
}

apt_is_missing() {
    local package=$1 command=${2:-}
    [ -z "$command" ] || ! command -v "$command" > /dev/null || return 1
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" != installed ]
}

# missing_of LIST...: the packages of setup/LIST that are not there.
missing_of() {
    local package command
    while read -r package command; do
        if apt_is_missing "$package" "$command"; then echo "$package"; fi
    done < <(cd "$top/setup" && grep -hv '^#' "$@")
}

# apt_install PACKAGE...
apt_install() {
    command -v apt-get > /dev/null \
        || give_up "this is not Debian; install these yourself, then try again: $*"
    need_root 'install Debian packages'
    say "installing $# Debian packages: $*"
    apt_update
    # apt waits when something else on the machine holds its lock.
    quietly --as-root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
        install -y --no-install-recommends "$@"
}

# install_apt LIST...: the packages that setup/LIST names, and what a virtual environment needs
install_apt() {
    local missing=()
    mapfile -t missing < <(missing_of "$@")
    if ! command -v python3 > /dev/null || ! python3 -c 'import ensurepip' 2> /dev/null; then
        missing+=(python3-venv)
    fi
    [ ${#missing[@]} -gt 0 ] || return 0
    take_turn
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | while read -r package; do
        if apt_is_missing "$package"; then echo "$package"; fi
    done)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
    end_turn
}

need_python() {
    command -v python3 > /dev/null || install_apt python3.txt
}

# Before anything is installed: a place for it, and the first time what it will cost.
begin_installing() {
    need_build
    if [ ! -e "$build/none" ] && [ ! -e "$build/all" ]; then
        say 'the first time: some minutes for installing and compiling; then build/ holds 1.0 GB' \
            'after ./lab run, 3.4 GB after ./lab test'
    fi
}

# What compiling a server needs.
install_compiler() {
    begin_installing
    install_apt apt-build.txt
}

# What building, testing and measuring need.
install_tools() {
    begin_installing
    install_apt apt-build.txt apt.txt
}

# What the tests need beside that, for all parts but "clients".
install_tests() {
    install_python venv python.txt
    install_python venv-old-driver python-old-driver.txt
    install_shell
}

# The drivers and applications of tests/clients/.
install_clients() {
    install_apt apt-clients.txt
    install_python venv-mappers python-mappers.txt
    install_npm node-clients
    install_npm node-apps
}

# The cross compiler, Wine, and the libraries for Windows in build/windows-libs. A machine that
# cannot have them goes without: that part of the tests then says so in a sentence.
install_windows() {
    local list="$top/setup/windows/libraries.txt" libs="$build/windows-libs"
    if [ -z "$(missing_of apt-windows.txt)" ] && cmp -s "$list" "$libs/installed.txt"; then
        return
    fi
    if [ "$(dpkg --print-architecture 2> /dev/null)" != amd64 ]; then
        say 'no Windows programs here: Wine runs them on Debian for amd64 only'
        return
    fi
    (
        install_apt apt-windows.txt
        take_turn
        if ! cmp -s "$list" "$libs/installed.txt"; then
            say 'building libraries for Windows from Debian sources into build/windows-libs'
            quietly python3 "$top/setup/windows/libraries.py"
        fi
        end_turn
    ) || say 'the part "windows" of the tests will be skipped'
}

# What tests/crash/blocks/ needs. Without root it is skipped, and needs nothing.
install_blocks() {
    [ "$(id -u)" -ne 0 ] || install_apt apt-blocks.txt
}

# What tests/arm64/ needs: the cross compiler, qemu, and the libraries in build/arm64-libs.
install_arm64() {
    local list="$top/setup/arm64/libraries.txt" libs="$build/arm64-libs"
    install_apt apt-arm64.txt
    if cmp -s "$list" "$libs/installed.txt"; then return; fi
    take_turn
    if ! cmp -s "$list" "$libs/installed.txt"; then
        say 'fetching libraries for arm64 from Debian into build/arm64-libs'
        quietly python3 "$top/setup/arm64/libraries.py"
    fi
    end_turn
}

# What tests/fuzz/ needs: clang with libFuzzer.
install_fuzz() {
    install_apt apt-fuzz.txt
}

# What tests/tree/tidy.py needs.
install_tidy() {
    install_apt apt-tidy.txt
}

# What tests/docker/ needs. The images themselves are built as root, or that is skipped.
install_docker() {
    install_apt apt-docker.txt
    install_python venv-docker python-docker.txt
}

# What ./lab package and tests/package/ need.
install_package() {
    install_apt apt-package.txt
}

# install_python NAME REQUIREMENTS: a virtual environment build/NAME
install_python() {
    local venv="$build/$1" requirements="$top/setup/$2"
    if cmp -s "$requirements" "$venv/installed.txt"; then return; fi
    take_turn
    if ! cmp -s "$requirements" "$venv/installed.txt"; then
        say "installing Python packages into build/$1: $(tr '\n' ' ' < "$requirements")"
        rm -rf "$venv"
        quietly python3 -m venv "$venv"
        quietly "$venv/bin/pip" install --disable-pip-version-check -r "$requirements"
        cp "$requirements" "$venv/installed.txt"
    fi
    end_turn
}

# install_npm NAME [NPM OPTION...]: build/NAME/node_modules from the lock file in setup/NAME
install_npm() {
    local name=$1 from="$top/setup/$1" to="$build/$1"
    shift
    if cmp -s "$from/package-lock.json" "$to/installed.json"; then return; fi
    take_turn
    if ! cmp -s "$from/package-lock.json" "$to/installed.json"; then
        say "installing $name with npm into build/$name"
        rm -rf "$to"
        mkdir -p "$to"
        cp "$from/package.json" "$from/package-lock.json" "$to"
        quietly npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund "$@"
        cp "$from/package-lock.json" "$to/installed.json"
    fi
    end_turn
}

# The driver inside mongosh wants Node.js 20; Debian 12 has 18.
install_shell() {
    install_npm mongosh --omit=optional
    node_program=$(command -v node)
    local major
    major=$(node -p 'process.versions.node.split(".")[0]')
    if [ "$major" -lt 20 ]; then
        install_npm node
        node_program=$(echo "$build"/node/node_modules/node-linux-*/bin/node)
    fi
    export MONGOSH_NODE=$node_program
    export MONGOSH_MAIN=$build/mongosh/node_modules/mongosh/bin/mongosh.js
    [ -f "$MONGOSH_MAIN" ] || give_up "mongosh is not where it should be: $MONGOSH_MAIN"
}
