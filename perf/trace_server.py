#!/usr/bin/env python3
"""Question: as the tools in trace/, of a server that is started for the trace.

Starts the server on scratch data, loads it with inserts, j:true, lets the tool watch it, and ends
both. Any mongod: one that only old drivers can use is loaded as they did it.
Usage:    trace_server.py TOOL --server 'NAME=PATH OPTIONS' [--clients 1] [OPTION of the tool...]
          (./lab trace [WHAT] --server 'NAME=PATH OPTIONS')
Needs:    what the tool needs; the load client in build/none/bin."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import any_server
import measuring

import server

TOP = measuring.TOP
LOAD_SECONDS = 1e6  # until it is ended
FIRST_INSERT_SECONDS_MAX = 60  # only ends a wait for a load that hangs


def is_under_way(tool, running):
    """Whether inserts have begun; for the stages also whether the server has figures of them."""
    if tool == 'commit_stages':
        dur = measuring.command(running, 'admin', {'serverStatus': 1}).get('dur')
        return not dur or dur['commits'] > 0
    return measuring.command(running, 'perf', {'count': 'load'})['n'] > 0


def watch(tool, running, clients, words):
    """Loads the server, and runs the tool on it; returns its exit code."""
    load = subprocess.Popen(
        [os.path.join(measuring.programs(), 'load_client'), 'insert', '--uri', running.uri,
         '--clients', str(clients), '--seconds', str(LOAD_SECONDS), '--warmup', '0']
        + ['--old-wire'] * running.old_wire, stdout=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + FIRST_INSERT_SECONDS_MAX
        while not is_under_way(tool, running):
            if load.poll() is not None or time.monotonic() > limit:
                raise server.ServerError('no insert succeeds; its log ends with\n' + running.tail())
            time.sleep(0.01)
        target = running.uri if tool == 'commit_stages' else str(running.pid)
        return subprocess.run([sys.executable, os.path.join(TOP, 'perf', 'trace', tool + '.py'),
                               *words, target]).returncode
    finally:
        load.terminate()
        load.wait()


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False)
    parser.add_argument('tool')
    any_server.add_option(parser, required=True)
    parser.add_argument('--clients', type=measuring.count, default=1)
    return parser


def main():
    parser = make_parser()
    arguments, words = parser.parse_known_args()
    if len(arguments.servers) > 1:
        parser.error('argument --server: one server at a time')
    measuring.interruptible()
    named = arguments.servers[0]
    scratch = os.path.join(TOP, 'build', 'scratch')
    os.makedirs(scratch, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix='trace-', dir=scratch) as folder, \
                named.start(os.path.join(folder, 'db')) as running:
            measuring.say('tracing %s, %d client%s with j:true'
                          % (named.name, arguments.clients, 's' * (arguments.clients > 1)))
            code = watch(arguments.tool, running, arguments.clients, words)
    except (server.ServerError, OSError) as error:
        sys.exit('trace_server.py: %s: %s' % (named.name, error))
    sys.exit(code)


if __name__ == '__main__':
    main()
