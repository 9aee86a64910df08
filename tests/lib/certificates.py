"""Certificates for tests: an authority, a server's and clients' certificates that it signs, and one
of a stranger. Made by the program openssl, with keys that are good for this run.
"""

import os
import subprocess

CA_CONFIG = '''
[ca]
default_ca = only
[only]
database = %(folder)s/index.txt
crlnumber = %(folder)s/crlnumber
default_md = sha256
default_crl_days = 30
'''
KEY_PASSWORD = 'key password'


class Certificates:
    """Paths of PEM files: ca, server, encrypted (the same with an encrypted key), client, revoked,
    crl, stranger (signed by another authority)."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.ca, other = self._authority('ca'), self._authority('other')
        self.server = self._signed('server', 'ca', 'subjectAltName=IP:127.0.0.1,DNS:localhost')
        self.client = self._signed('client', 'ca', 'extendedKeyUsage=clientAuth')
        self.revoked = self._signed('revoked', 'ca', 'extendedKeyUsage=clientAuth')
        self.stranger = self._signed('stranger', 'other', 'extendedKeyUsage=clientAuth')
        self.other = other
        self.encrypted = self._encrypted('encrypted', 'server')
        self.crl = self._revocations()

    def path(self, name):
        return os.path.join(self.folder, name)

    def _run(self, *words):
        run = subprocess.run(['openssl', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=False)
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
        with open(extensions, 'w', encoding='ascii') as file:
            file.write(extension + '\n')
        self._run('x509', '-req', '-in', request, '-CA', self.path(authority + '.pem'),
                  '-CAkey', self.path(authority + '.key'), '-CAcreateserial', '-days', '30',
                  '-extfile', extensions, '-out', certificate)
        return self._joined(name, certificate, key)

    def _joined(self, name, *paths):
        out = self.path(name + '.both.pem')
        with open(out, 'w', encoding='ascii') as file:
            for path in paths:
                with open(path, encoding='ascii') as part:
                    file.write(part.read())
        os.chmod(out, 0o600)
        return out

    def _encrypted(self, name, other):
        key = self.path(name + '.key')
        self._run('pkey', '-aes256', '-in', self.path(other + '.key'), '-out', key,
                  '-passout', 'pass:' + KEY_PASSWORD)
        return self._joined(name, self.path(other + '.crt'), key)

    def _revocations(self):
        config, crl = self.path('ca.config'), self.path('crl.pem')
        with open(config, 'w', encoding='ascii') as file:
            file.write(CA_CONFIG % {'folder': self.folder})
        for name, text in (('index.txt', ''), ('crlnumber', '01\n')):
            with open(self.path(name), 'w', encoding='ascii') as file:
                file.write(text)
        authority = ['-config', config, '-keyfile', self.path('ca.key'), '-cert', self.ca]
        self._run('ca', *authority, '-revoke', self.path('revoked.crt'))
        self._run('ca', *authority, '-gencrl', '-out', crl)
        return crl
