"""MariaDB with InnoDB and with MyRocks, by mariadb-slap."""

import contextlib
import glob
import os
import re

from peers.peer import Peer, as_user, program, run, running

SLAP_SECONDS_MIN = 1e-3  # what mariadb-slap counts in


def slap_seconds(out):
    """Seconds, from what mariadb-slap --csv prints: engine, kind of load, average, shortest,
    longest, clients, queries per client."""
    found = re.search(r'^[^,\n]*,[^,\n]*,([\d.]+),[\d.]+,[\d.]+,\d+,\d+$', out, re.M)
    if not found:
        raise RuntimeError('mariadb-slap printed no line of figures:\n' + out)
    return max(float(found[1]), SLAP_SECONDS_MIN)


class MariaDB(Peer):
    name = 'MariaDB InnoDB'
    settings = 'innodb_flush_log_at_trx_commit=1, no binary log'
    package = 'mariadb-server'
    user = 'mysql'
    engine = 'innodb'
    made_with = []  # options that a data directory must be made with, too
    options = ['--innodb-flush-log-at-trx-commit=1', '--innodb-flush-method=O_DIRECT']
    cache_option = '--innodb-buffer-pool-size'

    def __init__(self, folder):
        super().__init__(os.path.join(folder, 'mariadb'),
                         {name: program(name) for name in
                          ('mariadb-install-db', 'mariadbd', 'mariadb-slap', 'mariadb-admin',
                           'mariadb')})
        self.rates = {}

    def client(self, name):
        return [self.programs[name], '--no-defaults', '--socket', self.sockets + '/socket',
                '--user', 'root']

    @contextlib.contextmanager
    def serve(self):
        user = as_user(self.user)
        with self.folders():
            run([self.programs['mariadb-install-db'], '--no-defaults', '--datadir=' + self.data,
                 '--auth-root-authentication-method=normal', '--skip-test-db', *self.made_with],
                cwd=self.sockets, **user)
            with running([self.programs['mariadbd'], '--no-defaults', '--datadir=' + self.data,
                          '--socket', self.sockets + '/socket', '--skip-networking',
                          '--max-connections=300', *self.options,
                          '%s=%dM' % (self.cache_option, self.cache_mb)],
                         self.client('mariadb-admin') + ['ping'], self.sockets + '/log',
                         cwd=self.sockets, **user) as process:
                run(self.client('mariadb') + ['-e', 'create database perf; create table perf.load_ '
                    '(id bigint auto_increment primary key, text varchar(200)) '
                    'engine=' + self.engine])
                self.pid = process.pid
                yield

    def slap(self, clients, inserts):
        """Inserts a second. mariadb-slap counts inserts, not seconds."""
        return inserts / slap_seconds(run(self.client('mariadb-slap') + [
            '--create-schema=perf', '--no-drop', '--csv',
            "--query=insert into load_ (text) values ('%s')" % ('x' * self.text_bytes),
            '--concurrency=%d' % clients, '--number-of-queries=%d' % inserts]))

    def insert(self, clients, seconds):
        made = 0
        if clients not in self.rates:  # how many are some tenths of a second
            made = clients * 200
            self.rates[clients] = self.slap(clients, made)
        inserts = max(clients, round(self.rates[clients] * seconds / clients) * clients)
        self.rates[clients] = self.slap(clients, inserts)
        return {'per_second': self.rates[clients], 'inserts': made + inserts}


class MyRocks(MariaDB):
    name = 'MariaDB MyRocks'
    settings = 'rocksdb_flush_log_at_trx_commit=1, no binary log'
    package = 'mariadb-plugin-rocksdb'
    engine = 'rocksdb'
    options = ['--plugin-load-add=ha_rocksdb', '--rocksdb-flush-log-at-trx-commit=1',
               '--innodb-buffer-pool-size=16M']
    cache_option = '--rocksdb-block-cache-size'

    def __init__(self, folder):
        super().__init__(folder)
        self.data = os.path.join(folder, 'myrocks')
        plugin = glob.glob('/usr/lib/mysql/plugin/ha_rocksdb.so')
        self.programs['ha_rocksdb.so'] = plugin and plugin[0]
