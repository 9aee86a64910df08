"""The same as writer.c by pymongo."""

import contextlib
import sys
import time

import pymongo


def main():
    uri, concern = sys.argv[1:]
    documents = pymongo.MongoClient(uri).failover.get_collection(
        'c', write_concern=pymongo.WriteConcern(1 if concern == '1' else concern))
    while True:
        begun = time.monotonic()
        with contextlib.suppress(pymongo.errors.PyMongoError):
            documents.insert_one({})
            print('%.6f %.6f' % (begun, time.monotonic()), flush=True)
        time.sleep(0.002)


if __name__ == '__main__':
    main()
