#!/usr/bin/env python3
"""Copies of a running server, and the log of a set for what came behind one.

Usage: backup.py copy URI DIR         a copy in a new directory of the server's machine
       backup.py log URI SINCE FILE   the entries from SINCE (seconds:increment) on, into a file

Ctrl-C ends a copy. Needs pymongo 3.11 or newer.
"""

import sys
import threading

import pymongo
from bson.timestamp import Timestamp
from pymongo import errors

SECONDS_BETWEEN = 2


def show_progress(client, is_over, running):
    while not is_over.wait(SECONDS_BETWEEN):
        for operation in client.admin.command('currentOp')['inprog']:
            if operation.get('msg', '').startswith('createBackup'):
                running.add(operation['opid'])
                print(operation['msg'], flush=True)


def copy(client, directory):
    is_over, running = threading.Event(), set()
    threading.Thread(target=show_progress, args=(client, is_over, running), daemon=True).start()
    try:
        reply = client.admin.command({'createBackup': 1, 'backupDir': directory})
    except KeyboardInterrupt:
        for operation in running:
            client.admin.command('killOp', op=operation)
        raise
    finally:
        is_over.set()
    print('%s: complete; writes waited %.2f s' % (directory, reply['blockedMillis'] / 1000))


def log(client, since, path):
    wanted = {'ts': {'$gte': Timestamp(*map(int, since.split(':')))}}
    with open(path, 'wb') as file:
        for batch in client.local['oplog.rs'].find_raw_batches(wanted, oplog_replay=True):
            file.write(batch)


def main():
    what, uri, *rest = sys.argv[1:]
    try:
        with pymongo.MongoClient(uri, serverSelectionTimeoutMS=5000) as client:
            {'copy': copy, 'log': log}[what](client, *rest)
    except (errors.PyMongoError, ValueError, OSError) as error:
        sys.exit('backup.py: %s' % error)


if __name__ == '__main__':
    main()
