"""The rows of the insert benchmark in SQL servers: the table of iibench.c with its three indexes,
values from the same ranges, and one row a transaction, by the load tools that come with them.

Each class is a peer (peer.py) that insert_benchmark.py asks as it asks its own servers: prepare(),
fill(), flush(), log(), stored_bytes()."""

from peers.mariadb import MariaDB, slap_seconds
from peers.peer import run
from peers.postgresql import PostgreSQL, pgbench_rate

# As in iibench.c.
CASH_REGISTERS, CUSTOMERS, PRODUCTS, PRICE_MAX = 1000, 100000, 10000, 500
COLUMNS = 'dateandtime, cashregisterid, customerid, productid, price, text'
INDEXES = ('price, customerid', 'cashregisterid, price, customerid',
           'price, dateandtime, customerid')


def filled(rows, seconds):
    return {'rows': rows, 'seconds': seconds, 'per_second': rows / max(seconds, 1e-9)}


class PostgreSQLRows(PostgreSQL):
    name = 'PostgreSQL, sync'
    settings = PostgreSQL.settings + ', full_page_writes too'

    def query(self, text):
        return run(self.client('psql') + ['-q', '-A', '-t', '-c', text]).strip()

    def prepare(self):
        self.query('create table iibench (id bigserial primary key, dateandtime timestamp, '
                   'cashregisterid int, customerid int, productid int, price double precision, '
                   'text text)')
        for columns in INDEXES:
            self.query('create index on iibench (%s)' % columns)

    def fill(self, rows, clients, text_bytes):
        path = self.sockets + '/rows.sql'
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\\set register random(0, %d)\n\\set customer random(0, %d)\n'
                       '\\set product random(0, %d)\n' % (CASH_REGISTERS - 1, CUSTOMERS - 1,
                                                          PRODUCTS - 1)
                       + '\\set price (random(0, %d) / 1000.0 + :customer) / 100.0\n'
                       % (1000 * PRICE_MAX - 1)
                       + 'insert into iibench (%s) values (now(), :register, :customer, :product, '
                         ":price, '%s');\n" % (COLUMNS, 'x' * text_bytes))
        each = max(1, rows // clients)
        made = pgbench_rate(run(self.client('pgbench') + [
            '-n', '-M', 'prepared', '-f', path, '-c', str(clients),
            '-j', '2' if clients > 1 else '1', '-t', str(each), 'postgres']))
        return filled(made['inserts'], made['inserts'] / made['per_second'])

    def flush(self):
        self.query('checkpoint')

    def log(self):
        return {'log_raw': int(self.query(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))}

    def stored_bytes(self):
        return int(self.query("select pg_total_relation_size('iibench')"))


class InnoDBRows(MariaDB):
    """As the article had it: no second write of pages, and pages of 8 KB."""

    name = 'InnoDB, sync'
    settings = MariaDB.settings + ', no doublewrite, pages of 8 KB'
    made_with = ['--innodb-page-size=8k']
    options = MariaDB.options + ['--innodb-doublewrite=0', *made_with]

    def query(self, text):
        return run(self.client('mariadb') + ['-N', '-B', '-e', text, 'perf']).strip()

    def prepare(self):
        self.query('create table iibench (id bigint auto_increment primary key, dateandtime '
                   'datetime(3), cashregisterid int, customerid int, productid int, price double, '
                   'text text%s) engine=innodb' % ''.join(', key (%s)' % columns
                                                          for columns in INDEXES))

    def fill(self, rows, clients, text_bytes):
        each = max(1, rows // clients)
        seconds = slap_seconds(run(self.client('mariadb-slap') + [
            '--create-schema=perf', '--no-drop', '--csv', '--concurrency=%d' % clients,
            '--number-of-queries=%d' % (each * clients),
            "--query=insert into iibench (%s) values (now(3), floor(rand() * %d), @customer := "
            "floor(rand() * %d), floor(rand() * %d), (rand() * %d + @customer) / 100, '%s')"
            % (COLUMNS, CASH_REGISTERS, CUSTOMERS, PRODUCTS, PRICE_MAX, 'x' * text_bytes)]))
        return filled(each * clients, seconds)

    def flush(self):
        """All changed pages of the table go to the disk before it can be exported."""
        self.query('flush tables iibench for export; unlock tables')

    def log(self):
        found = dict(line.split('\t') for line in self.query(
            "show global status where variable_name in ('Innodb_lsn_current', "
            "'Innodb_os_log_written')").splitlines())
        return {name: int(found[variable]) for name, variable in (
            ('log_raw', 'Innodb_lsn_current'), ('log_padded', 'Innodb_os_log_written'))
            if variable in found}

    def stored_bytes(self):
        return int(self.query("select file_size from information_schema.innodb_sys_tablespaces "
                              "where name = 'perf/iibench'"))


class InnoDBLazyRows(InnoDBRows):
    name = 'InnoDB, lazy'
    settings = InnoDBRows.settings.replace('commit=1', 'commit=2')
    options = InnoDBRows.options + ['--innodb-flush-log-at-trx-commit=2']


EVERY = (InnoDBRows, InnoDBLazyRows, PostgreSQLRows)
