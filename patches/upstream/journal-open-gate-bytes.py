"""journal-open-gate-bytes in the original trees (upstream map 7c).

A commit holds groupCommitMutex through its I/O, and every writer that hands in what it has declared
takes it too. With the option writers take a mutex of their own there, chosen at start-up. What they
hand in during a commit belongs to the next one: the running one has read and reset the job under a
global lock that excluded them."""

from port.recipe import sections
from port.shared import OLD
from port.steps import After, AroundDefinition, Include, Parameter, Replace

JOB_H, JOB = 'dur_commitjob.h', 'dur_commitjob.cpp'

CODE = sections(__file__[:-2] + 'code')

STEPS = [
    After(JOB_H, 'SimpleMutex groupCommitMutex ;', inside='CommitJob', only=OLD,
          code=CODE['the latch']),
    Include(JOB, 'dur_options.h', 'dur_stats.h', only=OLD),
    Replace(JOB, 'groupCommitMutex ( "groupCommit" )', only=OLD, inside='CommitJob::CommitJob',
            code='groupCommitMutex( "groupCommit" ), handInMutex( "handIn" ),\n'
                 'handInBytes( 0 ), handInPage( 0 )'),
    AroundDefinition(JOB, 'CommitJob::noteOp', where='before', only=OLD,
                     code=CODE['handInLatch']),
    Replace(JOB, 'commitJob . groupCommitMutex', scope='ThreadLocalIntents::unspool', only=OLD,
            code='commitJob.admitHandIn()'),
    Replace(JOB, 'lk ( groupCommitMutex )', scope='CommitJob::noteOp', only=OLD,
            code='lk( admitHandIn() )'),
    Replace(JOB, 'groupCommitMutex . dassertLocked', scope='CommitJob::note',
            part='groupCommitMutex', only=OLD, code='handInLatch()'),
    After(JOB, 'dassertLocked (', scope='CommitJob::note', only=OLD,
          captures={'start': Parameter(JOB, 'CommitJob::note'),
                    'length': Parameter(JOB, 'CommitJob::note', 1)},
          code='countHandIn( $start, $length );'),
    After(JOB, '_commits ++', only=OLD, inside='CommitJob::commitingBegin',
          code='handInBytes = 0;'),
]
