"""What durable inserts are compared with, a file for each kind. In reading order:

    peer.py         what every peer is: serve(), insert()
    mongod.py       our server, and any other that speaks its protocol
    floor.py        the least that a server and a client can do
    postgresql.py   PostgreSQL
    mariadb.py      MariaDB with InnoDB, and with MyRocks
    ferretdb.py     FerretDB on SQLite and on PostgreSQL
    iibench.py      PostgreSQL and InnoDB with the rows of ./lab bench iibench
    embedded.py     libraries: SQLite, LMDB, RocksDB, WiredTiger; their C programs are NAME_load.c
                    over embedded_load.c
    odbc.py         any database by its ODBC driver, where --odbc names one
    syncs.py        how many syncs an insert costs, by strace

A new one is a class with a docstring for its settings, and a line in `every`."""

from peers.embedded import LMDB, RocksDB, SQLite, WiredTiger
from peers.ferretdb import FerretDB, FerretPostgreSQL
from peers.floor import Floor, RawMongod
from peers.mariadb import MariaDB, MyRocks
from peers.mongod import Mongod
from peers.postgresql import PostgreSQL


def every(folder):
    """All of them, with their data in `folder`."""
    return [kind(folder) for kind in (Mongod, RawMongod, Floor, PostgreSQL, MariaDB, MyRocks,
                                      FerretDB, FerretPostgreSQL, SQLite, LMDB, RocksDB,
                                      WiredTiger)]
