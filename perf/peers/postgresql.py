"""PostgreSQL, by pgbench."""

import contextlib
import glob
import os
import re

from peers.peer import Peer, as_user, program, run, running


def pgbench_rate(out):
    """Of what pgbench prints: "tps = 4221.5 (without initial ...)", and how many there were."""
    rate = re.search(r'^tps = ([\d.]+)', out, re.M)
    made = re.search(r'actually processed: (\d+)', out)
    if not rate or not made:
        raise RuntimeError('pgbench printed no line "tps = ...":\n' + out)
    return {'per_second': float(rate[1]), 'inserts': int(made[1])}


class PostgreSQL(Peer):
    name = 'PostgreSQL'
    settings = 'synchronous_commit and fsync on, as by default'
    package = 'postgresql-15'
    user = 'postgres'

    def __init__(self, folder):
        bins = sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1:]
        super().__init__(os.path.join(folder, 'postgresql'),
                         {name: program(name, *bins)
                          for name in ('initdb', 'postgres', 'pgbench', 'psql')})

    def client(self, name):
        return [self.programs[name], '-h', self.sockets, '-U', 'postgres']

    @contextlib.contextmanager
    def serve(self):
        user = as_user(self.user)
        with self.folders():
            run([self.programs['initdb'], '-D', self.data, '-A', 'trust', '-U', 'postgres'],
                cwd=self.sockets, **user)
            query = self.client('psql') + ['-q', '-c']
            with running([self.programs['postgres'], '-D', self.data, '-k', self.sockets, '-h', '',
                          '-c', 'shared_buffers=%dMB' % self.cache_mb, '-c', 'max_connections=300'],
                         query + ['select 1'], self.sockets + '/log', cwd=self.sockets,
                         **user) as process:
                run(query + ['create table load (id bigserial primary key, text text)'])
                with open(self.sockets + '/insert.sql', 'w', encoding='utf-8') as file:
                    file.write("insert into load (text) values ('%s');\n" % ('x' * self.text_bytes))
                self.pid = process.pid
                yield

    def insert(self, clients, seconds):
        return pgbench_rate(run(self.client('pgbench') + [
            '-n', '-M', 'prepared', '-f', self.sockets + '/insert.sql', '-c', str(clients),
            '-j', '2' if clients > 1 else '1', '-T', str(max(1, round(seconds))), 'postgres']))
