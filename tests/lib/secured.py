"""Servers that ask for a login."""

import os
import urllib.parse

import server

USER, PASSWORD = 'root', 'the first: p@ss/word'


class Server(server.Server):
    """With --auth, and a first user of role root."""

    def __init__(self, program, dbpath, options=()):
        path = dbpath.rstrip('/') + '.first-user'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8', opener=private) as file:
            file.write('%s\n%s\n' % (USER, PASSWORD))
        super().__init__(program, dbpath, ['--auth', '--firstUserFile', path, *options])

    @property
    def uri(self):
        return 'mongodb://%s:%s@127.0.0.1:%d/?directConnection=true&authSource=admin' % (
            USER, urllib.parse.quote(PASSWORD, safe=''), self.port)


def private(path, flags):
    return os.open(path, flags, 0o600)
