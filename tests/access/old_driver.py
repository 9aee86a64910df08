"""pymongo 3.13 against a server that asks for a login: makes users with its own methods, logs in,
also as two users on one connection. Usage: old_driver.py PORT USER PASSWORD. Fails by an exception.
"""

import sys
import warnings

import pymongo
from pymongo import errors

warnings.simplefilter('ignore', DeprecationWarning)
PORT, USER, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def client(**fields):
    return pymongo.MongoClient('127.0.0.1', PORT, **fields)


def refused(code, work, *arguments):
    try:
        work(*arguments)
    except errors.OperationFailure as error:
        assert error.code == code, error
    else:
        raise AssertionError('not refused')


assert pymongo.version == '3.13.0'
for mechanism in ('DEFAULT', 'SCRAM-SHA-1', 'SCRAM-SHA-256'):
    root = client(username=USER, password=PASSWORD, authMechanism=mechanism)
    root.old.c.insert_one({'mechanism': mechanism})
    wrong = client(username=USER, password='wrong', authMechanism=mechanism)
    refused(18, wrong.old.c.find_one)

root.old.add_user('reader', 'pw', roles=['read'])
root.older.add_user('writer', 'pw', roles=['readWrite'])
both = client()
refused(13, both.old.c.find_one)
both.old.authenticate('reader', 'pw')
assert both.old.c.count_documents({}) == 3
refused(13, both.older.c.insert_one, {})
both.older.authenticate('writer', 'pw', mechanism='SCRAM-SHA-1')
both.older.c.insert_one({})
assert both.old.c.count_documents({}) == 3
both.old.logout()
refused(13, both.old.c.find_one)
refused(18, both.old.authenticate, 'reader', 'wrong')
root.old.remove_user('reader')
refused(18, both.old.authenticate, 'reader', 'pw')
