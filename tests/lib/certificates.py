"""Certificates for tests: an authority, a server's and clients' certificates that it signs, and one
of an unknown client. Made by the program openssl, with keys that are good for this run."""

import os
import pathlib
import shutil
import subprocess

CA_CONFIG = '''
[ca]
default_ca = only
[only]
database = %(base)s.index
crlnumber = %(base)s.number
default_md = sha256
default_crl_days = 30
'''
KEY_PASSWORD = 'key password'


class Certificates:
    """Paths of PEM files: ca, server, for_another_name, encrypted (the server's with an encrypted
    key), client, revoked, crl, unknown (signed by another authority)."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.ca, other = self._authority('ca'), self._authority('other')
        self.server = self._signed('server', 'ca', 'subjectAltName=IP:127.0.0.1,DNS:localhost')
        self.for_another_name = self._signed('another-name', 'ca', 'subjectAltName=IP:127.0.0.2')
        self.client = self._signed('client', 'ca', 'extendedKeyUsage=clientAuth')
        self.revoked = self._signed('revoked', 'ca', 'extendedKeyUsage=clientAuth')
        self.unknown = self._signed('unknown', 'other', 'extendedKeyUsage=clientAuth')
        self.other = other
        self.encrypted = self._encrypted('encrypted', 'server')
        self.crl = self.revocations('ca', 'revoked')

    def path(self, name):
        return os.path.join(self.folder, name)

    def _run(self, *words):
        run = subprocess.run(['openssl', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        if run.returncode != 0:
            raise RuntimeError('openssl %s: %s' % (' '.join(words), run.stdout))

    def _authority(self, name):
        key, certificate = self.path(name + '.key'), self.path(name + '.pem')
        self._run('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                  '-days', '30', '-subj', '/CN=authority ' + name, '-keyout', key,
                  '-out', certificate, '-addext', 'keyUsage=critical,keyCertSign,cRLSign')
        return certificate

    def _signed(self, name, authority, extension):
        key, request = self.path(name + '.key'), self.path(name + '.csr')
        certificate, extensions = self.path(name + '.crt'), self.path(name + '.ext')
        self._run('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                  '-subj', '/CN=' + name, '-keyout', key, '-out', request)
        pathlib.Path(extensions).write_text(extension + '\n', 'ascii')
        self._run('x509', '-req', '-in', request, '-CA', self.path(authority + '.pem'),
                  '-CAkey', self.path(authority + '.key'), '-CAcreateserial', '-days', '30',
                  '-extfile', extensions, '-out', certificate)
        return self.joined(name, certificate, key)

    def joined(self, name, *paths):
        out = self.path(name + '.both.pem')
        with open(out, 'w', encoding='ascii') as file:
            for path in paths:
                file.write(pathlib.Path(path).read_text('ascii'))
        os.chmod(out, 0o600)
        return out

    def _encrypted(self, name, other):
        key = self.path(name + '.key')
        self._run('pkey', '-aes256', '-in', self.path(other + '.key'), '-out', key,
                  '-passout', 'pass:' + KEY_PASSWORD)
        return self.joined(name, self.path(other + '.crt'), key)

    def branch(self):
        """A client's certificate that another authority has signed, `branch`, with the
        certificate of that one, which `ca` has signed."""
        self._signed('branch', 'ca', 'basicConstraints=critical,CA:TRUE\n'
                     'keyUsage=critical,keyCertSign,cRLSign')
        shutil.copy(self.path('branch.crt'), self.path('branch.pem'))
        client = self._signed('branch-client', 'branch', 'extendedKeyUsage=clientAuth')
        return self.joined('branch-chain', client, self.path('branch.pem'))

    def revocations(self, authority, *revoked):
        base = self.path('-'.join((authority,) + revoked))
        for name, text in (('.config', CA_CONFIG % {'base': base}), ('.index', ''),
                           ('.number', '01\n')):
            pathlib.Path(base + name).write_text(text, 'ascii')
        by = ['-config', base + '.config', '-keyfile', self.path(authority + '.key'),
              '-cert', self.path(authority + '.pem')]
        for name in revoked:
            self._run('ca', *by, '-revoke', self.path(name + '.crt'))
        self._run('ca', *by, '-gencrl', '-out', base + '.crl')
        return base + '.crl'
