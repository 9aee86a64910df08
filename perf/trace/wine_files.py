#!/usr/bin/env python3
"""Question: what does a Windows program under Wine ask of its files, and in which order?

Not for:  what a file system or a disk of Windows does with it: Wine passes the calls on to Linux.
Usage:    wine_files.py LOG FOLDER   LOG is what a program wrote to standard error under
              WINEDEBUG=-all,+pid,+file,+relay, with the registry as tests/windows/wine.py sets it.
          Wine's own processes write there too: those count that open something in FOLDER.
Needs:    Wine 8, whose words it knows.
Overhead: some 100 us for each call on a file; take no times with it.

Example output (the last lines; a base server that was made three commits):

    open j._0 GENERIC_WRITE FILE_SHARE_READ creation 4 attributes 0xa0000000
    write j._0 8192
    write j._0 8192
    write j._0 8192
    write j._0 8192

Reading it: opens show only where they may write or create; there are also "flush FILE" and "rename
FROM TO". The first write is the file's header. 0x80000000 is write-through, 0x20000000 is no
buffering: a commit is one write, and nothing flushes it. A file's handle is known from its open;
standard output was opened by another process, so what is written there does not show."""

import re
import sys

LINE = re.compile(r'^([0-9a-f]{4,8}):([0-9a-f]{4,8}):(.*)$')
OPEN = re.compile(r'trace:file:CreateFileW (L".*") ((?:[A-Z_]+ )*) ?creation (\d+) '
                  r'attributes (0x[0-9a-f]+)')
OPENED = re.compile(r'trace:file:CreateFileW returning ([0-9A-F]+)$')
WRITE = re.compile(r'trace:file:NtWriteFile \((0x[0-9a-f]+),')
WRITTEN = re.compile(r'trace:file:NtWriteFile = SUCCESS \((\d+)\)')
FLUSH = re.compile(r'Call KERNEL32\.FlushFileBuffers\(([0-9a-f]+)\)')
RENAME = re.compile(r'trace:file:MoveFileWithProgressW \(L"(.*?)",L"(.*?)",')
NO_HANDLE = 0xffffffffffffffff
OPEN_EXISTING = '3'


def name_of(text):
    """The last part of a path as Wine prints it; of a directory with a slash behind it."""
    return re.split(r'[/\\]+', text)[-1]


class Reader:
    """Turns the lines of a log into calls; lines of several processes and threads are mixed."""

    def __init__(self, folder):
        self.folder = folder
        self.at_home = set()  # processes that opened something there
        self.calls = []       # (process, text)
        self.opening = {}     # (process, thread): what it is opening
        self.writing = {}     # (process, thread): handle
        self.files = {}       # (process, handle): name

    def read(self, lines):
        for line in lines:
            match = LINE.match(line.rstrip('\r\n'))
            if match:
                self.read_line((match[1], match[2]), match[3])
        return [text for process, text in self.calls if process in self.at_home]

    def add(self, process, *words):
        self.calls.append((process, ' '.join(words)))

    def read_line(self, thread, text):
        process = thread[0]
        if match := OPEN.search(text):
            self.opening[thread] = match
        elif match := OPENED.search(text):
            self.opened(thread, int(match[1], 16))
        elif match := WRITE.search(text):
            self.writing[thread] = int(match[1], 16)
        elif match := WRITTEN.search(text):
            name = self.files.get((process, self.writing.pop(thread, None)))
            if name:
                self.add(process, 'write', name, match[1])
        elif match := FLUSH.search(text):
            name = self.files.get((process, int(match[1], 16)))
            self.add(process, 'flush', name or 'another file')
        elif match := RENAME.search(text):
            self.add(process, 'rename', name_of(match[1]), name_of(match[2]))

    def opened(self, thread, handle):
        match = self.opening.pop(thread, None)
        if match is None or handle == NO_HANDLE:
            return
        words = match[2].split()
        process, path = thread[0], match[1][2:-1]
        if self.folder in path:
            self.at_home.add(process)
        self.files[process, handle] = name_of(path)
        if 'GENERIC_WRITE' in words or match[3] != OPEN_EXISTING:
            self.add(process, 'open', name_of(path), *words, 'creation', match[3], 'attributes',
                     match[4])


def read(path, folder):
    """The calls in a log. The folder is written with slashes, as the program was given it."""
    with open(path, encoding='utf-8', errors='replace') as file:
        return Reader(folder).read(file)


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    print('\n'.join(read(*sys.argv[1:])))
