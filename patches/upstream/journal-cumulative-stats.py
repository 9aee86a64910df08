"""journal-cumulative-stats in the original trees (upstream map 6).

The old counters forget after 3 seconds, by a memset over their struct; so the sums stand beside it.
Each is added to where the old metric is, under the same lock. What several threads may count at
once, early commits and waiters, is atomic. The option only shows them.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe
from port.steps import After, AfterEach, Count, Include

OLD = ('2.4', '2.6')
NEW = ('3.4',)

RECIPE = Recipe(
    slug='journal-cumulative-stats',
    ticket='SERVER-13186',
    subject='add journal counters that are not reset',
    option=Option(
        name='journalCumulativeStats', yaml='cumulativeStats', type='flag',
        help='shows journal counters since the start of the server, never reset, as '
             'dur.cumulativeStats in serverStatus',
        store='mongo::dur::durTuning().cumulativeStats = value;'),
    header=Header('serverStatus().dur.cumulativeStats is shown.', members='bool cumulativeStats;',
                  initial='cumulativeStats = false;'),
    metrics=Metrics(
        'all since the start of the server',
        includes=['<sstream>', '"mongo/platform/atomic_word.h"'],
        before='''
            // Counted by threads that hold no lock in common.
            inline AtomicUInt64& earlyCommitsTotal() {
                static AtomicUInt64 count;
                return count;
            }
            inline AtomicUInt64& acknowledgedWaitersTotal() {
                static AtomicUInt64 count;
                return count;
            }

            inline long long toLong(unsigned long long value) {
                return static_cast<long long>(value);
            }

            // Upper end of the bucket that a part (0 to 1) of all times reaches, in microseconds.
            inline unsigned long long percentileMicros(const StageTimes& times, double part) {
                const double wanted = part * static_cast<double>(times.count);
                unsigned long long seen = 0;
                for (int i = 0; i < StageTimes::Buckets && times.count > 0; i++) {
                    seen += times.buckets[i];
                    if (static_cast<double>(seen) >= wanted) {
                        const unsigned long long end = StageTimes::upperEnd(i);
                        return end < times.longest ? end : times.longest;
                    }
                }
                return 0;
            }

            inline BSONObj stageMetrics(const StageTimes& times) {
                BSONObjBuilder b;
                b.append("count", toLong(times.count));
                b.append("totalMicros", toLong(times.micros));
                b.append("p50Micros", toLong(percentileMicros(times, 0.50)));
                b.append("p95Micros", toLong(percentileMicros(times, 0.95)));
                b.append("p99Micros", toLong(percentileMicros(times, 0.99)));
                b.append("maxMicros", toLong(times.longest));
                BSONObjBuilder histogram;
                for (int i = 0; i < StageTimes::Buckets; i++) {
                    if (times.buckets[i] == 0)
                        continue;
                    std::ostringstream name;
                    name << StageTimes::upperEnd(i);
                    histogram.append(name.str(), toLong(times.buckets[i]));
                }
                if (times.count > 0)
                    b.append("histogram", histogram.obj());
                return b.obj();
            }

            inline BSONObj totalMetrics() {
                const Totals& t = totals();
                BSONObjBuilder b;
                b.append("commits", toLong(t.commits));
                b.append("earlyCommits", toLong(earlyCommitsTotal().load()));
                b.append("commitsInWriteLock", toLong(t.commitsInWriteLock));
                b.append("sections", toLong(t.sections));
                b.append("journaledBytes", toLong(t.journaledBytes));
                b.append("uncompressedBytes", toLong(t.uncompressedBytes));
                b.append("paddingBytes", toLong(t.paddingBytes));
                b.append("writeToDataFilesBytes", toLong(t.writeToDataFilesBytes));
                b.append("syncCalls", toLong(t.syncCalls));
                b.append("acknowledgedWaiters", toLong(acknowledgedWaitersTotal().load()));
                BSONObjBuilder stages;
                stages.append("prepLogBuffer", stageMetrics(t.prepLogBuffer));
                stages.append("writeToJournal", stageMetrics(t.writeToJournal));
                stages.append("writeToDataFiles", stageMetrics(t.writeToDataFiles));
                stages.append("remapPrivateView", stageMetrics(t.remapPrivateView));
                b.append("stages", stages.obj());
                return b.obj();
            }''',
        code='''
            if (durTuning().cumulativeStats)
                b.append("cumulativeStats", totalMetrics());'''),
    steps=[
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h'),
        After('dur_stats.h', 'extern Stats stats', inside='Stats', code='''

            // The times of one stage of a commit, in microseconds. Four buckets make a doubling, so
            // that a percentile is at most a quarter too high. Like Totals all 0 at first, since
            // there is one and it is static.
            struct StageTimes {
                enum { Buckets = 128 };
                unsigned long long micros, longest, count, buckets[Buckets];

                void record(unsigned long long us) {
                    micros += us;
                    count++;
                    if (us > longest)
                        longest = us;
                    int i = 0;
                    while (i < Buckets - 1 && us > upperEnd(i))
                        i++;
                    buckets[i]++;
                }

                // The highest time that a bucket holds. The last one holds all above, too.
                static unsigned long long upperEnd(int bucket) {
                    if (bucket < 4)
                        return bucket;
                    const unsigned long long quarter = bucket % 4;
                    return ((quarter + 5) << (bucket / 4 - 1)) - 1;
                }
            };

            // What the journal has done since the start of the server. Each is counted where the
            // metric of the last interval is, under the same lock, and read without one.
            struct Totals {
                unsigned long long commits, commitsInWriteLock, sections, journaledBytes;
                unsigned long long uncompressedBytes, paddingBytes, writeToDataFilesBytes;
                unsigned long long syncCalls;
                StageTimes prepLogBuffer, writeToJournal, writeToDataFiles, remapPrivateView;
            };

            inline Totals& totals() {
                static Totals sums;
                return sums;
            }'''),
        After('dur_commitjob.cpp', '_commits ++', code='totals().commits++;', only=OLD,
              inside='CommitJob::commitingBegin'),
        After('dur.cpp', '_commits ++', code='totals().commits++;', only=NEW),
        After('dur.cpp', '_earlyCommits ++', code='earlyCommitsTotal().addAndFetch(1);', only=OLD,
              inside='DurableImpl::commitNow'),
        After('dur.cpp', 'awaitBeyondNow (', scope='bool DurableImpl::awaitCommit', outermost=True,
              code='acknowledgedWaitersTotal().addAndFetch(1);', only=OLD),
        After('dur.cpp', '_commitsInWriteLock ++', code='totals().commitsInWriteLock++;'),
        Count('dur.cpp', '_remapPrivateViewMicros +=', inside='REMAPPRIVATEVIEW',
              code='totals().remapPrivateView.record($operand);'),
        Count('dur_preplogbuffer.cpp', '_prepLogBufferMicros +=', inside='PREPLOGBUFFER',
              code='totals().prepLogBuffer.record($operand);'),
        Count('dur_journal.cpp', '_writeToJournalMicros +=', inside='WRITETOJOURNAL',
              code='totals().writeToJournal.record($operand);'),
        Count('dur_journal.cpp', '_uncompressedBytes +=', scope='Journal::journal',
              code='totals().uncompressedBytes += $operand;'),
        Count('dur_journal.cpp', '_journaledBytes +=', scope='Journal::journal', code='''
            totals().journaledBytes += $operand;
            totals().sections++;
            totals().paddingBytes +=
                $operand - reinterpret_cast<const JSectHeader*>(b.buf())->sectionLen();'''),
        Count('dur_writetodatafiles.cpp', '_writeToDataFilesMicros +=', only=OLD,
              inside='WRITETODATAFILES',
              code='totals().writeToDataFiles.record($operand);'),
        Count('dur_journal_writer.cpp', '_writeToDataFilesMicros +=', only=NEW,
              code='totals().writeToDataFiles.record($operand);'),
        Count('dur_recover.cpp', '_writeToDataFilesBytes +=', inside='RecoveryJob::write', code='''
            if ( !_recovering )  // what recovery copies is no work of this server
                totals().writeToDataFilesBytes += $operand;'''),
        AfterEach('dur_journal.cpp', 'synchronousAppend (', scope='Journal::journal',
                  code='totals().syncCalls++;'),
        AfterEach('dur_journal.cpp', 'synchronousAppend (', scope='Journal::_open', times=2,
                  code='totals().syncCalls++;'),
        AfterEach('dur_journal.cpp', 'synchronousAppend (', scope='_preallocateIsFaster',
                  code='totals().syncCalls++;'),
    ],
    try_it='--journalCumulativeStats',
    expect='The calls are those of the unpatched server. db.serverStatus().dur.cumulativeStats '
           'counts from the start: journaledBytes divided by sections is the size of a write.',
)
