"""Requests 6 and 7 of the article of 2014, less redo and data files written once, at several sizes.

A kept result of ./lab bench iibench has one number of rows and one of clients, and all its servers
in turn. The table `sizes` of docs/articles.md has a line for each server that waits for the disk,
below the article's own."""

import articles
import claims
import kept_results

HEADS = ('rows, clients', 'server', 'inserts/s', 'longest, ms', 'bytes written an insert',
         'of them log', 'log before padding and compression', 'beside the log')
# --server 'files of 4 GB=build/all/bin/mongod --config conf/durable.yaml --journalFileMB 4096'
# --server 'memory of 4 GB=...', the same with --dataFileWritesMB 4096
LARGE_FILES, LARGE_MEMORY = 'files of 4 GB, sync', 'memory of 4 GB, sync'
# (line of the experiment, what it is)
SERVERS = (('base, sync', 'base at 2 ms'), ('series, at commit', 'series without the two patches'),
           ('series, at flush', 'data files at the flush'),
           ('series, sync', 'and entries for inserts'),
           (LARGE_FILES, 'and journal files of 4 GB'),
           (LARGE_MEMORY, 'and memory of 4 GB for changed pages'), ('InnoDB, sync', 'InnoDB'),
           ('PostgreSQL, sync', 'PostgreSQL'))


def of_article():
    """Its lines have no patch."""
    for name in (claims.SYNC, claims.INNODB):
        row = articles.row('insert-benchmark', name)
        log, raw = row[claims.LOG], row[claims.RAW]
        yield ('the article: %s, 1' % format(claims.THEIR_ROWS, ','), name.split(',')[0],
               shown(row[claims.RATE]), '', shown(row[claims.WRITTEN]), shown(log), shown(raw),
               shown(row[claims.WRITTEN] - log))


def shown(value):
    return '' if value is None else format(value, ',.0f')


def of_result(result):
    for name, what in SERVERS:
        def of(field, name=name):
            return claims.of_line(name, field)(result)
        if of('per_second') is None:
            continue
        written, longest = claims.per_row(name, 'device_bytes')(result), of('max_us')
        yield ('%s, %d' % (format(result['rows'], ','), result['clients']), what,
               shown(of('per_second')), shown(longest and longest / 1e3), shown(written),
               shown(of('log_padded')), shown(of('log_raw')), shown(of('data_bytes_per_insert')))


def has_patches(result):
    """Results from before the patches have no place in the table."""
    return any(claims.of_line(line, 'per_second')(result) is not None
               for line in ('series, at flush', LARGE_FILES))


# Smaller runs fit into every cache; ./lab report has them.
ROWS_LEAST = 1000000


def table():
    lines = [HEADS, *of_article()]
    for result in filter(has_patches, kept_results.iibench_by_size()):
        if result['rows'] >= ROWS_LEAST:
            lines += of_result(result)
    return articles.markdown([list(line) for line in lines])
