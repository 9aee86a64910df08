"""What every peer is, and what those that are servers share."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time

STARTING_SECONDS_MAX = 60  # only ends a start that hangs
TEXT_BYTES = 170           # with keys and headers some 200 bytes a row
WARMUP_SECONDS = 0.3       # where the client can


def program(name, *folders):
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ['PATH'], '/usr/sbin']))


def as_user(name):
    """Keyword arguments of a process for a server that refuses to run as root."""
    return {'user': name, 'group': pwd.getpwnam(name).pw_gid} if os.getuid() == 0 else {}


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True, **options).stdout


def wait_until_up(process, check):
    limit = time.monotonic() + STARTING_SECONDS_MAX
    while subprocess.run(check, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).returncode != 0:
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError('%s does not come up' % process.args[0])
        time.sleep(0.05)


@contextlib.contextmanager
def running(command, check, log, **options):
    """A server process until the end of the block."""
    with open(log, 'w', encoding='utf-8') as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, **options)
    try:
        wait_until_up(process, check)
        yield process
    finally:
        process.terminate()
        process.wait()


class Peer:
    """One engine that is compared. `programs` are what it needs; None for what is not there.

    Inside `with peer.serve():` insert(clients, seconds) makes durable inserts and returns a dict:
    per_second; inserts, all that it made, warm-up included; and where the engine runs in the client
    cpu_seconds for them. `name` and `settings` go into the table; `package` is what Debian calls
    it."""

    name = settings = package = None
    cache_mb = 256  # what a server keeps of its data in memory of its own
    in_process = False  # the engine runs inside the client
    text_bytes = TEXT_BYTES  # of a row that insert() makes; servers heed it
    user = None  # of a server that refuses to run as root
    pid = None  # of the server, while it runs

    def __init__(self, data, programs):
        self.data, self.programs = data, programs
        self.sockets = None  # while it runs

    def hint(self):
        """What to do about what is missing; nothing where nothing is known."""
        return 'apt install ' + self.package if self.package else ''

    def install(self):
        """What no package has."""

    def pids(self):
        """The processes whose time counts, with all below them, and in which the file system calls
        of one insert of a lone client are counted; none: in what insert() starts."""
        return [self.pid] if self.pid else []

    def missing(self):
        return ', '.join(name for name, path in self.programs.items() if not path)

    @contextlib.contextmanager
    def folders(self):
        """A data directory, and one for sockets, whose path must be short; the server's own."""
        with tempfile.TemporaryDirectory(prefix='peers-') as self.sockets:
            os.chmod(self.sockets, 0o755)
            os.makedirs(self.data)
            if self.user and os.getuid() == 0:
                shutil.chown(self.sockets, self.user)
                shutil.chown(self.data, self.user)
            yield
