"""A disk that logs its writes and flushes (block_log.c), as a loop device with a file system on it.

Needs root, /dev/fuse and loop devices; why_not() says what is missing."""

import ctypes
import os
import shutil
import subprocess
import time

FORMAT = {  # all blocks are written at once: nothing is left for later in the background
    'ext4': ['mkfs.ext4', '-q', '-F', '-E', 'nodiscard,lazy_itable_init=0', '-m', '0'],
    'xfs': ['mkfs.xfs', '-q', '-f', '-K'],
}
PACKAGE = {'ext4': 'e2fsprogs', 'xfs': 'xfsprogs'}
SYNC_FILE_RANGE_WRITE = 2
SECONDS_MAX = 60  # only ends a wait that hangs


class DiskError(Exception):
    """A step failed; the text has what the program said."""


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise DiskError('%s: %s' % (' '.join(words), done.stdout.strip()))
    return done.stdout.strip()


def unmount(place):
    """What is let go, as a loop device, may be held a moment longer."""
    limit = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return run('umount', place)
        except DiskError as error:
            if 'busy' not in str(error) or time.monotonic() > limit:
                raise
        time.sleep(0.02)


def why_not(kind=None):
    """Why there can be no such disk here, or with a kind of file system: why not that one; None
    where it can be."""
    if kind:
        if not shutil.which(FORMAT[kind][0], path=os.environ['PATH'] + ':/usr/sbin:/sbin'):
            return '%s is missing (package %s)' % (FORMAT[kind][0], PACKAGE[kind])
        with open('/proc/filesystems', encoding='ascii') as file:
            if kind not in file.read().split():
                return 'this kernel has no %s' % kind
        return None
    if os.geteuid() != 0:
        return 'a disk that logs its writes needs root'
    for path in ('/dev/fuse', '/dev/loop-control'):
        if not os.path.exists(path):
            return 'a disk that logs its writes needs %s, which is not here' % path
    return None


class Disk:
    """`folder` gets the file and the mount point; with a log see block_log.c. `sector` in bytes."""

    def __init__(self, program, image, folder, log=None, sector=512):
        os.makedirs(os.path.join(folder, 'mounted'), exist_ok=True)
        self.file, self.mount_point = (os.path.join(folder, name) for name in ('disk', 'mounted'))
        open(self.file, 'wb').close()
        self.loop, self.is_mounted = None, False
        self.process = subprocess.Popen([program, image, self.file] + ([log] if log else []),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != 'ready\n':
            raise DiskError(self.process.stderr.read().strip())
        self.sector = sector

    def attach(self):
        self.loop = run('losetup', '--find', '--show', '--sector-size', str(self.sector), self.file)

    def format(self, kind):
        run(*FORMAT[kind], self.loop)

    def mount(self, kind):
        run('mount', '-t', kind, '-o', 'noatime', self.loop, self.mount_point)
        self.is_mounted = True

    def close(self):
        """Takes it apart, as far as it was put together."""
        if self.is_mounted:
            unmount(self.mount_point)
        if self.loop:
            run('losetup', '-d', self.loop)
        unmount(self.file)
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def begin_writeback(path):
    """Lets the system write the dirty pages of a file, as it may at any time: without a flush."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        library.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE)
    finally:
        os.close(fd)
