"""journal-waiter-commits in the original trees (upstream map 7b).

The one statement in which a thread waits for the journal thread is wrapped: a lone waiter makes the
cycle's commit itself. Nothing else about cycles changes; a mutex of ours tells whether one is on.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.shared import COUNT_WAITERS, NOTIFY, OLD, REMAP_TURN
from port.steps import AroundDefinition, Include, Replace, Wrap

CODE = sections(__file__[:-2] + 'code')

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
        before=CODE['metrics, before'],
        runs_cycles=True, cycle_lock='mongo::mutex::scoped_lock cycle(cycleMutex());',
        code=CODE['metrics']),
    steps=[
        *COUNT_WAITERS,
        *REMAP_TURN,
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h', only=OLD),
        AroundDefinition('dur.cpp', 'bool DurableImpl::awaitCommit', where='before', only=OLD,
                         captures={'waiters': NOTIFY}, code=CODE['commitForLoneWaiter']),
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
