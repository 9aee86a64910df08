"""journal-open-gate-bytes in the original trees (upstream map 7c).

A commit holds groupCommitMutex through its I/O, and every writer that hands in what it has declared
takes it too. With the option writers take a mutex of their own there, chosen at start-up. What they
hand in during a commit belongs to the next one: the running one has read and reset the job under a
global lock that excluded them.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.shared import OLD
from port.steps import After, AroundDefinition, Include, Parameter, Replace

JOB_H, JOB = 'dur_commitjob.h', 'dur_commitjob.cpp'

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-open-gate-bytes',
    ticket=None,
    subject='let writers go on while a journal commit is written',
    unportable={
        '3.4': 'its writers do so already: no lock of theirs is held through the I/O of a commit',
    },
    option=Option(
        name='journalOpenGateBytes', yaml='openGateBytes', type='unsigned',
        help='lets writers go on while a journal commit is written, as long as less than so many '
             'bytes of touched pages wait for the next one, 0 to 52428800; at 0 they wait for the '
             'disk',
        refuse='value > 52428800', message='must be a whole number from 0 to 52428800',
        store='mongo::dur::durTuning().openGateBytes = value;'),
    header=Header(
        'writers that hand in do not wait for a running commit while less than so many bytes are '
        'handed in for the next one; 0: they do. Not to be changed later. Below it, how often '
        'writers passed so, and how often they were stopped.',
        includes=['"mongo/platform/atomic_word.h"'],
        members='''
            unsigned openGateBytes;
            AtomicUInt64 handInsPassed;
            AtomicUInt64 handInsStopped;''',
        initial='openGateBytes = 0;'),
    metrics=Metrics('writers that did not wait for a commit, and those that did', CODE['metrics']),
    steps=[
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
    ],
    try_it='--journalOpenGateBytes 8388608',
    expect='The calls are those of the unpatched server. Run a writer that asks for no durability '
           'beside: its inserts go on between write and the end of fdatasync, '
           'and serverStatus().dur.openGateBytes.passed counts them.',
    notes={'2.4': 'The bound counts what is declared, repeated declarations too.',
           '2.6': 'The bound counts what is declared, repeated declarations too.'},
)
