"""Servers that ask for a login, and that speak TLS."""

import os
import urllib.parse

import certificates
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


class TlsServer(Server):
    """The same, encrypted."""

    def __init__(self, program, dbpath, options=()):
        self.files = certificates.Certificates(dbpath.rstrip('/') + '.certificates')
        super().__init__(program, dbpath, ['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile',
                                           self.files.server, *options])

    @property
    def uri(self):
        return super().uri + '&tls=true&tlsCAFile=' + urllib.parse.quote(self.files.ca, safe='/')


def private(path, flags):
    return os.open(path, flags, 0o600)
