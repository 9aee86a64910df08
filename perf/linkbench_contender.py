"""One database that takes part in linkbench.py, through its own client program (graph/)."""

import contextlib
import json
import os
import subprocess

import compare
import experiment

MONGODB_CLIENT = 'linkbench_mongodb'


class Contender:
    """`serve()` is a block in which the database runs; in it `words` are what its client needs
    and `pid`, where it is ours to know, is the process whose time counts."""

    def __init__(self, name, settings, client, serve):
        self.name, self.settings, self.client, self.serve = name, settings, client, serve
        self.words, self.pid = [], None

    def run(self, phase, arguments):
        program = os.path.join(experiment.PROGRAMS, self.client)
        return json.loads(subprocess.run(
            [program, *self.words, '--nodes', str(arguments.nodes), '--clients',
             str(arguments.clients), '--seconds', str(arguments.seconds), '--interval',
             str(arguments.interval)] + ['--lazy'] * arguments.lazy
            + ['--old-wire'] * (arguments.old_wire and self.client == MONGODB_CLIENT)
            + ['--transactions'] * (arguments.transactions and self.client == MONGODB_CLIENT)
            + [phase],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout)

    def load(self, arguments):
        return self.run('load', arguments)

    def request(self, arguments):
        """The requests with the server's processor time for one."""
        before = compare.cpu_seconds(self.pid) if self.pid else 0
        run = self.run('request', arguments)
        if self.pid:
            run['server_cpu_us'] = ((compare.cpu_seconds(self.pid) - before) * 1e6
                                    / max(1, run['requests_in_all']))
        return run

    def check(self, arguments):
        return self.run('check', arguments)


def of_peer(peer, settings, client, words_of):
    """A contender that is one of the peers of ./lab bench peers."""
    @contextlib.contextmanager
    def serve():
        with peer.serve():
            contender.pid, contender.words = peer.pid, words_of(peer)
            yield
    contender = Contender(peer.name, settings, client, serve)
    return contender


def of_named(named, folder):
    @contextlib.contextmanager
    def serve():
        with named.start(os.path.join(folder, named.name)) as running:
            contender.pid, contender.words = running.pid, ['--address', running.uri]
            yield
    contender = Contender(named.name, ' '.join([named.shown_program()] + named.options),
                          MONGODB_CLIENT, serve)
    return contender
