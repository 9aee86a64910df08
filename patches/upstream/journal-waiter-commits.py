"""journal-waiter-commits in the original trees (upstream map 7b).

The one statement in which a thread waits for the journal thread is wrapped: a lone waiter makes the
cycle's commit itself. Nothing else about cycles changes; a mutex of ours tells whether one is on.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe
from port.shared import COUNT_WAITERS, NOTIFY, OLD, REMAP_TURN
from port.steps import AroundDefinition, Include, Replace, Wrap

RECIPE = Recipe(
    slug='journal-waiter-commits',
    ticket=None,
    subject='let a lone waiter make the journal commit itself',
    unportable={
        '3.4': 'only its two journal threads can commit; an operation thread has no part in that',
    },
    option=Option(
        name='journalWaiterCommits', yaml='waiterCommits', type='flag',
        help='lets a client that is the only one to wait for a journal commit make it at once, in '
             'its own thread, at any interval',
        store='mongo::dur::durTuning().waiterCommits = value;'),
    header=Header('a lone waiter makes the commit itself.', members='bool waiterCommits;',
                  initial='waiterCommits = false;', quick_if='durTuning().waiterCommits'),
    metrics=Metrics(
        'commits that waiters made, and waiters who left theirs to the journal thread',
        includes=['"mongo/platform/atomic_word.h"'],
        before='''
            // Held by the thread that makes a cycle's commit, the journal's or a lone waiter's.
            // Taken before filesLockedFsync and every other lock of a commit.
            inline mongo::mutex& cycleMutex() {
                static mongo::mutex held("journalCycle");
                return held;
            }

            inline AtomicUInt64& waiterCommitsMade() {
                static AtomicUInt64 count;
                return count;
            }
            inline AtomicUInt64& waiterCommitsLeft() {
                static AtomicUInt64 count;
                return count;
            }''',
        runs_cycles=True, cycle_lock='mongo::mutex::scoped_lock cycle(cycleMutex());',
        code='''
            if (durTuning().waiterCommits) {
                BSONObjBuilder waiters;
                waiters.append("made", static_cast<long long>(waiterCommitsMade().load()));
                waiters.append("left", static_cast<long long>(waiterCommitsLeft().load()));
                b.append("waiterCommits", waiters.obj());
            }'''),
    steps=[
        *COUNT_WAITERS,
        *REMAP_TURN,
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h', only=OLD),
        AroundDefinition('dur.cpp', 'bool DurableImpl::awaitCommit', where='before', only=OLD,
                         captures={'waiters': NOTIFY}, code='''
            static void durThreadGroupCommit();

            // Makes the commit that the caller wants to wait for, where that is quicker: no
            // other waits, the last commit had no more than one waiter (where several waited, more
            // are on their way, and one commit for all is cheaper), and no commit is running. What
            // the caller wrote was handed in when it gave up its lock, and the commit begins
            // after. Returns whether it did.
            static bool commitForLoneWaiter() {
                if ( !durTuning().waiterCommits )
                    return false;
                if ( $waiters.stillWaiting() == 0 && $waiters.lastGroup() <= 1 &&
                     !Lock::isLocked() ) {
                    mongo::mutex::try_lock cycle( cycleMutex() );
                    if ( cycle.ok ) {
                        durThreadGroupCommit();
                        waiterCommitsMade().addAndFetch(1);
                        return true;
                    }
                }
                waiterCommitsLeft().addAndFetch(1);
                return false;
            }'''),
        Wrap('dur.cpp', 'awaitBeyondNow (', scope='bool DurableImpl::awaitCommit', only=OLD,
             code='if ( !commitForLoneWaiter() ) {'),
        Replace('dur.cpp', 'durThreadGroupCommit ( )', scope='void durThread', only=OLD,
                code='runCycle( durThreadGroupCommit )'),
    ],
    try_it='--journalWaiterCommits',
    expect='With one client, lseek, write and fdatasync are made by the thread that has just '
           'received the insert, not by the journal thread: strace -f shows the same thread '
           'number. With several clients both make them.',
)
