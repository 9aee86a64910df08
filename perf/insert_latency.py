#!/usr/bin/env python3
"""Question: how long does each single insert of a lone Python program take, with a given write
concern?

perf/insert_latency.c through pymongo: the same options but --clients, the same JSON object.
Usage:    insert_latency.py [--uri URI] [--concern w:N|w:majority|j:1] [--bytes N]
                            [--seconds-max S] COUNT"""

import argparse
import json
import os
import re
import sys
import time

import bson.int64
import pymongo

FRAME_BYTES = 26  # of a document but its text


def concern_of(name):
    """The write concern that w:N, w:majority or j:1 means."""
    if name == 'j:1':
        return pymongo.WriteConcern(w=1, j=True)
    words = name.removeprefix('w:')
    return pymongo.WriteConcern(w=int(words) if words.isdigit() else words)


def name_of_concern(text):
    if not re.fullmatch('w:([0-9]{1,2}|majority)|j:1', text):
        raise argparse.ArgumentTypeError("'%s' is neither w: and a number of members, w:majority, "
                                         'nor j:1' % text)
    return text


def measure(client, arguments):
    """The JSON object; raises RuntimeError when a document has not arrived."""
    plain = client.perf.latency
    plain.drop()
    text = 'x' * (arguments.bytes - FRAME_BYTES)
    plain.insert_one({'_id': bson.int64.Int64(0), 't': text})
    collection = plain.with_options(write_concern=concern_of(arguments.concern))
    latencies, clock = [], time.perf_counter
    cpu_before, start = sum(os.times()[:2]), clock()
    before, limit = start, start + arguments.seconds_max
    while len(latencies) < arguments.count and before < limit:
        collection.insert_one({'_id': bson.int64.Int64(len(latencies) + 1), 't': text})
        after = clock()
        latencies.append(after - before)
        before = after
    cpu = sum(os.times()[:2]) - cpu_before
    # On the connection that the inserts went over, so that none is on its way any more.
    found = client.perf.command('count', 'latency')['n'] - 1
    if found != len(latencies):
        raise RuntimeError('%d of %d documents have arrived' % (found, len(latencies)))
    return {'client': 'pymongo', 'concern': arguments.concern, 'clients': 1,
            'inserts': len(latencies), 'document_bytes': arguments.bytes, 'seconds': before - start,
            'client_cpu_us': cpu * 1e6 / len(latencies),
            'latencies_us': [round(each * 1e6, 2) for each in latencies]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--uri', default='mongodb://127.0.0.1:27017')
    parser.add_argument('--port', dest='uri', type='mongodb://127.0.0.1:{}'.format)
    parser.add_argument('--concern', type=name_of_concern, default='j:1')
    parser.add_argument('--bytes', type=int, default=200)
    parser.add_argument('--seconds-max', type=float, default=3600)
    parser.add_argument('count', type=int, metavar='COUNT')
    arguments = parser.parse_args()
    try:
        with pymongo.MongoClient(arguments.uri, maxPoolSize=1,
                                 serverSelectionTimeoutMS=5000) as client:
            print(json.dumps(measure(client, arguments)))
    except (pymongo.errors.PyMongoError, RuntimeError) as error:
        sys.exit('insert_latency.py: %s: %s' % (arguments.uri, error))


if __name__ == '__main__':
    main()
