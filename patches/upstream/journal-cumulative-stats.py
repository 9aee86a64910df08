"""journal-cumulative-stats in the original trees (upstream map 6).

The old counters forget after 3 seconds, by a memset over their struct; so the sums stand beside it.
Each is added to where the old metric is, under the same lock. What several threads may count at
once, early commits and waiters, is atomic. The option only shows them."""

from port.recipe import sections
from port.steps import After, AfterEach, Count, Include

CODE = sections(__file__[:-2] + 'code')
OLD = ('2.4', '2.6')
NEW = ('3.4',)

STEPS = [
    Include('dur.cpp', 'dur_options.h', 'dur_journal.h'),
    After('dur_stats.h', 'extern Stats stats', inside='Stats',
          code=CODE['StageTimes and Totals']),
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
]
