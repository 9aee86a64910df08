"""What the cases of the load test share: a connection, a server that is watched, its memory."""

import os
import re
import subprocess
import sys

import bson

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib')]

import messages  # noqa: E402
import server  # noqa: E402

ANSWER_SECONDS_MAX = 600  # generous: a server that does not answer by then hangs
MB = 1 << 20


class Failure(Exception):
    """The server died, refused, or lost something."""


class Skipped(Exception):
    """This machine does not allow the case; the text says what is missing."""


class Client(messages.Connection):
    seconds_max = ANSWER_SECONDS_MAX

    def run(self, command, database, documents=None):
        """The reply to a command; `documents` is (name, encoded documents) of a second section."""
        self.ask(command, database, documents)
        return self.answer(next(iter(command)))

    def ask(self, command, database, documents=None):
        """Sends a command and does not wait."""
        self.send_message(dict(command, **{'$db': database}),
                          [(documents[0], [documents[1]])] if documents else [])

    def answer(self, what):
        return checked(self.receive_message(), what)


def checked(document, what):
    """The document of a reply, given as bytes, without an error."""
    reply = bson.decode(document)
    if reply['ok'] != 1 or 'writeErrors' in reply or 'writeConcernError' in reply:
        raise Failure('%s: %r' % (what, reply))
    return reply


def documents_of(client, database, command):
    reply = client.run(command, database)['cursor']
    yield from reply['firstBatch']
    while reply['id']:
        reply = client.run({'getMore': bson.Int64(reply['id']),
                            'collection': reply['ns'].split('.', 1)[1]}, database)['cursor']
        yield from reply['nextBatch']


class Watched:
    """A server in a folder that is killed and started again; the case ends with close()."""

    def __init__(self, stage, directory, options, kind=server.Server):
        self.program = os.path.join(stage, 'bin', 'mongod')
        self.checker = os.path.join(stage, 'bin', 'dbpath_check')
        self.dbpath = os.path.join(directory, 'db')
        self.options, self.kind = options, kind
        self.running = None

    def start(self):
        self.running = self.kind(self.program, self.dbpath, self.options)
        return self.running.port

    def kill(self):
        code = self.running.process.poll()
        self.running.kill()
        if code is not None:
            raise Failure('the server ended with %d\n%s' % (code, self.errors()))

    def close(self):
        """Ends it cleanly and checks the files."""
        self.running.stop()
        run = subprocess.run([self.checker, '--quiet', self.dbpath], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise Failure('dbpath_check ended with %d:\n%s' % (run.returncode, run.stdout))

    def errors(self):
        with open(self.running.log_path, encoding='utf-8', errors='replace') as log:
            bad = ''.join(line for line in log if 'ERROR' in line or 'SEVERE' in line)
        return bad or self.running.tail()

    def memory(self, field='RssAnon'):
        """Bytes of a field of /proc/PID/status. RssAnon: memory of its own, without the pages of
        files, which the system takes back when it wants them."""
        with open('/proc/%d/status' % self.running.pid, encoding='ascii') as file:
            found = re.search(r'^%s:\s*(\d+) kB' % field, file.read(), re.M)
        if not found:  # the process is a zombie
            raise Failure('the server has ended\n' + self.errors())
        return int(found.group(1)) * 1024

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.running.pid))

    def threads(self):
        return len(os.listdir('/proc/%d/task' % self.running.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.running and self.running.process.poll() is None:
            self.running.kill()


def at_most(what, value, limit, unit=MB):
    if value > limit:
        raise Failure('%s: %.1f, more than %.1f' % (what, value / unit, limit / unit))
