"""journal-waiter-commits in the original trees (upstream map 7b).

The one statement in which a thread waits for the journal thread is wrapped: a lone waiter makes the
cycle's commit itself. Nothing else about cycles changes; a mutex of ours tells whether one is on.
"""

from port.recipe import sections
from port.shared import COUNT_WAITERS, NOTIFY, OLD, REMAP_TURN
from port.steps import AroundDefinition, Include, Replace, Wrap

CODE = sections(__file__[:-2] + 'code')

STEPS = [
    *COUNT_WAITERS,
    *REMAP_TURN,
    Include('dur.cpp', 'dur_options.h', 'dur_journal.h', only=OLD),
    AroundDefinition('dur.cpp', 'bool DurableImpl::awaitCommit', where='before', only=OLD,
                     captures={'waiters': NOTIFY}, code=CODE['commitForLoneWaiter']),
    Wrap('dur.cpp', 'awaitBeyondNow (', scope='bool DurableImpl::awaitCommit', only=OLD,
         code='if ( !commitForLoneWaiter() ) {'),
    Replace('dur.cpp', 'durThreadGroupCommit ( )', scope='void durThread', only=OLD,
            code='runCycle( durThreadGroupCommit )'),
]
