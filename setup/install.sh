# Installs what the lab needs and is missing. Sourced by ./lab, which sets `top` and `build`.
# Every step first looks whether it is done, so that a second run costs a fraction of a second.

say() { printf 'lab: %s\n' "$*" >&2; }

give_up() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        sudo "$@"
    else
        give_up "need root to run '$*': become root or install sudo, then try again"
    fi
}

# Runs a noisy command with its output in a log file that is shown when the command fails.
quietly() {
    local log="$build/setup.log"
    if ! "$@" > "$log" 2>&1; then
        tail -n 20 "$log" >&2
        give_up "'$*' failed; the whole output is in $log"
    fi
}

apt_is_missing() {
    local package=$1 command=${2:-}
    [ -z "$command" ] || ! command -v "$command" > /dev/null || return 1
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" != installed ]
}

# install_apt LIST: the packages that setup/LIST names, and what a virtual environment needs
install_apt() {
    local missing=() package command
    while read -r package command; do
        if apt_is_missing "$package" "$command"; then missing+=("$package"); fi
    done < <(grep -v '^#' "$top/setup/$1")
    if command -v python3 > /dev/null && ! python3 -c 'import ensurepip' 2> /dev/null; then
        missing+=(python3-venv)
    elif ! command -v python3 > /dev/null; then
        missing+=(python3-venv)
    fi
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get > /dev/null \
        || give_up "this is not Debian; install these yourself, then try again: ${missing[*]}"
    say "installing ${#missing[@]} Debian packages: ${missing[*]}"
    quietly as_root apt-get update
    quietly as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"
}

# install_python NAME REQUIREMENTS: a virtual environment build/NAME
install_python() {
    local venv="$build/$1" requirements="$top/setup/$2"
    if cmp -s "$requirements" "$venv/installed.txt"; then return; fi
    say "installing Python packages into build/$1: $(tr '\n' ' ' < "$requirements")"
    rm -rf "$venv"
    quietly python3 -m venv "$venv"
    quietly "$venv/bin/pip" install --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/installed.txt"
}

# install_npm NAME [NPM OPTION...]: build/NAME/node_modules from the lock file in setup/NAME
install_npm() {
    local from="$top/setup/$1" to="$build/$1"
    if cmp -s "$from/package-lock.json" "$to/installed.json"; then return; fi
    say "installing $1 with npm into build/$1"
    shift
    rm -rf "$to"
    mkdir -p "$to"
    cp "$from/package.json" "$from/package-lock.json" "$to"
    quietly npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund "$@"
    cp "$from/package-lock.json" "$to/installed.json"
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

# The drivers and applications of tests/clients/.
install_clients() {
    install_apt apt-clients.txt
    install_npm node-clients
    install_npm node-apps
}
