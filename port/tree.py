"""An original source tree: which version it is, where its files are, reading and writing them.

The version is known by its files alone (upstream map 0). All text is kept byte for byte: it is
read as Latin-1, which has a character for every byte."""

import os
import subprocess
import tempfile

from port.source import Problem, Source

TOP = 'src/mongo/'
MMAP_V1 = 'db/storage/mmap_v1/'

# Where files lie (upstream map 1): in the first folder, unless they are named with another one.
OLD_FOLDERS = ('db/', {
    'compress.h': 'util/', 'compress.cpp': 'util/', 'logfile.cpp': 'util/',
    'synchronization.h': 'util/concurrency/', 'synchronization.cpp': 'util/concurrency/',
    'parameters.cpp': 'db/commands/', 'mongos_persistence_stubs.cpp': 's/',
})
FOLDERS = {
    '2.4': OLD_FOLDERS, '2.6': OLD_FOLDERS,
    '3.4': (MMAP_V1, {'mongod_options.cpp': 'db/', 'storage_options.h': 'db/storage/',
                      'storage_options.cpp': 'db/storage/'}),
}


class NoTree(Exception):
    """The folder is no tree that the recipes know; the text says why."""


class Tree:
    def __init__(self, root):
        self.root, self.sources = root, {}
        if not os.path.isdir(os.path.join(root, TOP)):
            raise NoTree('%s has no folder %s: name the root of a checkout of the original server'
                         % (root, TOP))
        self.version = self._version()

    def _version(self):
        if self.exists(MMAP_V1 + 'dur_journal.cpp'):
            return '3.4'
        if not self.exists('db/dur_journal.cpp'):
            raise NoTree('%s has neither %sdb/dur_journal.cpp nor %s%sdur_journal.cpp: there is no '
                         'journal of the memory-mapped store in it'
                         % (self.root, TOP, TOP, MMAP_V1))
        if self.exists('db/mongod_options.cpp'):
            return '2.6'
        if self.exists('db/commands/parameters.cpp'):
            return '2.4'
        raise NoTree('%s has neither %sdb/mongod_options.cpp nor %sdb/commands/parameters.cpp: it '
                     'is older than 2.4, for which there are no recipes' % (self.root, TOP, TOP))

    def exists(self, path):
        return os.path.isfile(os.path.join(self.root, TOP, path))

    def path(self, role):
        """The path below the root of a file that recipes name by its last part."""
        usual, others = FOLDERS[self.version]
        return TOP + others.get(role, usual) + role

    def include_path(self, role):
        return self.path(role)[len('src/'):]

    def executable(self, path):
        place = os.path.join(self.root, path)
        return os.path.exists(place) and bool(os.stat(place).st_mode & 0o100)

    def source(self, role):
        """The file as edited so far."""
        path = self.path(role)
        if path not in self.sources:
            try:
                with open(os.path.join(self.root, path), encoding='latin-1', newline='') as file:
                    self.sources[path] = Source(path, file.read())
            except FileNotFoundError:
                raise Problem('moved', path, None, 'there is no such file') from None
        return self.sources[path]

    def own_source(self, role):
        """The same for a file of ours, which may not exist yet."""
        path = self.path(role)
        if path not in self.sources and not os.path.exists(os.path.join(self.root, path)):
            self.sources[path] = Source(path, '', exists=False)
        return self.source(role)

    def texts(self):
        """{path: text} of all files read or made so far."""
        return {path: source.text for path, source in self.sources.items()}

    def restore(self, texts):
        """Back to what texts() has said; files that were read since stay as read."""
        for path, source in self.sources.items():
            source.text = texts.get(path, source.before or '')

    def changed(self):
        """[(path, text on disk or None, text now)] of the files that edits have changed."""
        return [(path, source.before, source.text) for path,
                source in sorted(self.sources.items()) if source.text != (source.before or '')]

    def write(self, changed):
        """Writes all of `changed` or, when one fails, none; then raises OSError."""
        done = []
        try:
            for path, before, text in changed:
                place = os.path.realpath(os.path.join(self.root, path))
                done.append((place, before))
                _replace(place, text)
        except BaseException:
            for place, before in reversed(done):
                if before is not None:
                    _replace(place, before)
                elif os.path.exists(place):
                    os.unlink(place)
            raise


def _replace(path, text):
    """The file at `path` with this text in one step, with the permissions it has."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix='.port-')
    try:
        with os.fdopen(handle, 'w', encoding='latin-1', newline='') as file:
            file.write(text)
        mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def state(root):
    """('clean' | 'dirty' | 'none', what git says): whether the checkout has uncommitted changes.

    Files that git does not know are no changes; those that we would write are looked at one by one.
    """
    try:
        run = subprocess.run(['git', '-C', root, 'status', '--porcelain', '--untracked-files=no',
                              '--', '.'], capture_output=True, text=True, errors='replace')
    except FileNotFoundError:
        return 'none', 'git is not installed'
    if run.returncode != 0:
        return 'none', (run.stderr.strip().split('\n') or [''])[0]
    if run.stdout:
        return 'dirty', run.stdout.rstrip('\n')
    known = subprocess.run(['git', '-C', root, 'ls-files', '--', TOP], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
    return ('clean', '') if known else ('none', 'its files are not under version control')
