"""mongosh as a person uses it: its banner, help, every `show`, statistics, explain.

Lines are typed at its prompt; what it prints for each is matched. Nothing that it prints may be an
error or a warning, but for what stands in EXPECTED_COMPLAINTS.
Usage: mongosh.py NODE MAIN-OF-MONGOSH
"""

import os
import re
import subprocess
import sys
import unittest

import case

NODE, MAIN = sys.argv[1:3]
SECONDS_MAX = 120  # only ends a shell that hangs

BANNER = r'Connecting to:\s+mongodb://.*\nUsing MongoDB:\s+\d+\.\d+\.\d+\nUsing Mongosh:\s+2\.'

# line: what is printed for it
TYPED = [
    ('use shop', r'^switched to db shop$'),
    ('db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}])', r"insertedIds: \{ '0': 1, '1': 2 \}"),
    ('db.c.createIndex({a: 1})', r'^a_1$'),
    ('help', r'Shell Help:'),
    ('db.help()', r'Database Class'),
    ('db.c.help()', r'Collection Class'),
    ('show dbs', r'^local +\d+\.\d+ MiB\nshop +\d+\.\d+ MiB$'),
    ('show databases', r'^shop '),
    ('show collections', r'^c$'),
    ('show tables', r'^c$'),
    ('show users', r'^\[\]$'),
    ('show roles', r"role: 'readWrite',\s+db: 'shop',\s+isBuiltin: true"),
    ('show profile', r'^db.system.profile is empty.'),
    ('show logs', r"'global', 'startupWarnings'"),
    ('show log global', r'waiting for connections on port %d' % case.PORT),
    # The disk may read ahead more than the server likes.
    ('show startupWarnings', r'^$|WARNING: Readahead'),
    ('db.stats()', r"db: 'shop',\s+collections: \d+,\s+views: 0,\s+objects: \d+,"),
    ('db.stats(1024)', r"db: 'shop',"),
    ('db.c.stats()', r"count: 2,\s+size: \d+,\s+storageSize: \d+,(.|\n)*ns: 'shop.c'"),
    ('db.c.stats({indexDetails: true}).nindexes', r'^2$'),
    ('db.c.dataSize() + db.c.totalIndexSize() + db.c.storageSize()', r'^\d+$'),
    ('db.c.totalSize()', r'^\d+$'),
    ('db.c.latencyStats()', r"reads: \{ latency: Long\('\d+'\), ops: Long\('\d+'\) \}"),
    ("db.c.aggregate([{$indexStats: {}}]).toArray().map(each => each.name).sort()",
     r"^\[ '_id_', 'a_1' \]$"),
    ('db.printCollectionStats()', r"ns: 'shop.c'"),
    ('db.c.getIndexes()', r"name: '_id_'(.|\n)*name: 'a_1'"),
    ('db.c.find({a: 1}).explain()', r"stage: 'IXSCAN',(.|\n)*indexName: 'a_1'"),
    ("db.c.find({a: 1}).explain('queryPlanner')", r'queryPlanner: \{'),
    ("db.c.find({a: 1}).explain('executionStats')",
     r'nReturned: 1,\s+executionTimeMillis: \d+,\s+totalKeysExamined: 1,\s+totalDocsExamined: 1,'),
    ("db.c.find({a: 1}).explain('allPlansExecution')", r'executionStats: \{'),
    ("db.c.explain('executionStats').count({a: 1})", r'executionSuccess: true'),
    ("db.c.explain().update({a: 1}, {$set: {b: 1}})", r"indexName: 'a_1'"),
    ('db.c.explain().remove({a: 1})', r"indexName: 'a_1'"),
    ("db.c.explain().distinct('a')", r'queryPlanner: \{'),
    ('db.c.explain().aggregate([{$match: {a: 1}}])', r"indexName: 'a_1'"),
    ('db.c.explain().findAndModify({query: {a: 1}, update: {$set: {b: 1}}})', r"'a_1'"),
    ('db.c.find()', r'^\[ \{ _id: 1, a: 1 \}, \{ _id: 2, a: 2 \} \]$'),
    ('db.c.findOneAndUpdate({_id: 1}, {$set: {b: 1}}, {returnDocument: "after"})',
     r'^\{ _id: 1, a: 1, b: 1 \}$'),
    ('db.c.countDocuments({a: {$gt: 1}})', r'^1$'),
    ('db.c.validate().valid', r'^true$'),
    ('db.c.isCapped()', r'^false$'),
    ('db.getProfilingStatus()', r'was: 0, slowms: 100'),
    ('db.setProfilingLevel(0)', r'was: 0'),
    ('db.setLogLevel(1).was.verbosity', r'^0$'),
    ('db.getLogComponents().verbosity', r'^1$'),
    ('db.setLogLevel(0).was.verbosity', r'^1$'),
    ('db.serverStatus().process', r'^mongod$'),
    ('db.serverStatus({repl: 0}).ok', r'^1$'),
    ('db.currentOp().inprog.length > 0', r'^true$'),
    ('db.hostInfo().ok + db.serverCmdLineOpts().ok + db.listCommands().ok', r'.'),
    ('db.serverBuildInfo().version === db.version()', r'^true$'),
    ('db.getCollectionInfos({name: "c"})', r"name: 'c',\s+type: 'collection'"),
    ('db.fsyncLock().ok', r'^1$'),
    ('db.fsyncUnlock().ok', r'^1$'),
    ('session = db.getMongo().startSession(); session.getDatabase("shop").c.countDocuments()',
     r'^2$'),
    ('session.getDatabase("shop").c.find().batchSize(1).toArray().length', r'^2$'),
    ('session.endSession(); db.adminCommand({killAllSessions: []}).ok', r'^1$'),
    ('db.adminCommand({startSession: 1}).timeoutMinutes', r'^30$'),
    ('db.getSiblingDB("admin").aggregate([{$listLocalSessions: {}}]).toArray().length > 0',
     r'^true$'),
    ('db.c.renameCollection("d")', r'ok: 1'),
    ('db.d.drop()', r'^true$'),
    ('db.dropDatabase()', r"ok: 1, dropped: 'shop'|dropped: 'shop', ok: 1"),
]

# The shell speaks of itself here, or of Node.js.
EXPECTED_COMPLAINTS = re.compile(
    r'Deprecation warnings:\n(  - .*\n)+See .*\n|DeprecationWarning: .*\n|startupWarnings'
    r'|The server generated these startup warnings')


class Shell(unittest.TestCase):
    def test_a_session_at_the_prompt(self):
        environment = dict(os.environ, HOME=os.environ['MONGOD_SCRATCH'], NO_COLOR='1')
        run = subprocess.run([NODE, MAIN, case.URI], env=environment,
                             input=''.join(line + '\n' for line, _ in TYPED) + 'exit\n',
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=SECONDS_MAX)
        self.assertEqual(run.returncode, 0, run.stdout)
        banner, *printed = re.split(r'^(?:test|shop)> ', run.stdout, flags=re.MULTILINE)
        self.assertRegex(banner, BANNER)
        self.assertEqual(len(printed), len(TYPED) + 1, run.stdout)
        for (line, pattern), answer in zip(TYPED, printed):
            with self.subTest(line):
                self.assertTrue(re.search(pattern, answer.rstrip('\n'), re.MULTILINE), answer)
        complaints = re.sub(EXPECTED_COMPLAINTS, '', run.stdout)
        for word in ('rror', 'arning', 'Uncaught', 'deprecat', 'not supported', 'compatib'):
            lines = [each for each in complaints.splitlines() if word in each
                     and not each.startswith('    ')]  # the texts of help()
            self.assertEqual(lines, [])


if __name__ == '__main__':
    case.main(Shell)
